//! Candidates that are added to those of a training, which keep their numbers, and their removal.

use std::collections::{BTreeSet, HashMap};

use dsokr_core::Error;

use super::Candidates;
use super::texts::same_id;
use crate::blocks::check_count;
use crate::classes::Classes;
use crate::error::{check_consistent, ensure_allowed};
use crate::hubs::Hubs;

impl Candidates {
    /// Returns how many candidates, the last ones, were [added](Self::with_more) to those that a training had.
    pub fn added(&self) -> usize {
        self.added
    }

    /// Returns these candidates with the labels and further columns of `first`, which are the first of them; those behind
    /// keep theirs. `None` where they have them already.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for other ids, or other columns.
    pub fn described_as(&self, first: &Self) -> Result<Option<Self>, Error> {
        let count = first.len();
        let is_first = count <= self.len() && self.ids().take(count).eq(first.ids());
        check_consistent(is_first, "candidates that are not the first ones")?;
        let same = |candidate: usize| self.columns.row(candidate).eq(first.columns.row(candidate));
        if self.columns.names().eq(first.columns.names()) && (0..count).all(same) {
            return Ok(None);
        }
        let mut columns = first.columns.clone();
        if count < self.len() {
            let behind: Vec<u32> = (count as u32..self.len() as u32).collect();
            columns = columns.with_more(&self.columns.select(&behind))?;
        }
        Ok(Some(Self { columns, ..self.clone() }))
    }

    /// Returns these candidates, followed by more in the same coordinates. A candidate with the feature row of an
    /// earlier one shares its distinct row. Coordinates of a mapped file stay there.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for an id that both have, for other columns, for hashes of feature rows that are not
    /// known, for a correction for hubs that is not the same, for different dimensions, and for too many candidates;
    /// the errors of [`point`](Self::point).
    pub fn with_more(self, more: Self) -> Result<Self, Error> {
        Error::check_length("coordinates of a candidate", more.dim, self.dim)?;
        check_count(self.len() as u64 + more.len() as u64)?;
        let correction =
            |candidates: &Self| candidates.hubs().map(|(hubs, weight)| (hubs.neighbours, weight));
        let corrected = correction(&self);
        let message = "candidates that are corrected for hubs, and some that are not so";
        check_consistent(corrected == correction(&more), message)?;
        let hashed = !self.hashes.is_empty() && !more.hashes.is_empty();
        check_consistent(hashed, "candidates without hashes of their feature rows")?;
        let by_id = self.by_id_with(&more)?;
        // the row of each row of `more`, and which of these are new
        let mut new = Vec::new();
        let mut rows = Vec::with_capacity(more.distinct());
        for (row, earlier) in self.earlier_rows(&more).into_iter().enumerate() {
            rows.push(earlier.unwrap_or((self.distinct() + new.len()) as u32));
            new.extend(earlier.is_none().then_some(row));
        }
        let means = |set: &Self| set.hubs().map_or_else(Vec::new, |(hubs, _)| hubs.means.clone());
        let mut all_means = means(&self);
        let more_means = means(&more);
        if corrected.is_some() {
            all_means.extend(new.iter().map(|&row| more_means[row]));
        }
        let plain = self.without_hubs();
        let more = more.without_hubs();
        let mut points = Vec::with_capacity(new.len() * plain.dim);
        for &row in &new {
            points.extend_from_slice(&more.point(row)?);
        }
        let pick = |values: &[f32]| new.iter().map(|&row| values[row]).collect::<Vec<f32>>();
        let hashes = plain.hashes.iter().copied();
        let hashes: Vec<u64> = hashes.chain(new.iter().map(|&row| more.hashes[row])).collect();
        let class = (0..plain.len()).map(|candidate| plain.class_of(candidate));
        let more_class = (0..more.len()).map(|candidate| rows[more.class_of(candidate) as usize]);
        let class = class.chain(more_class).collect();
        let all = Self {
            columns: plain.columns.with_more(&more.columns)?,
            classes: Classes::new(class, hashes.len()),
            constants: [&plain.constants[..], &pick(&more.constants)].concat(),
            coordinates: plain.coordinates.with_more(&points),
            codes: None,
            hashes: hashes.into(),
            added: plain.added + more.len(),
            by_id: by_id.into(),
            dim: plain.dim,
            correction: None,
        };
        match corrected {
            Some((neighbours, weight)) => {
                all.with_hubs(Hubs { neighbours, means: all_means }, weight)
            }
            None => Ok(all),
        }
    }

    /// Returns these candidates without some that were [added](Self::added); the others keep their order. Coordinates of a
    /// mapped file stay there up to the first distinct row that no candidate has any more.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a candidate that was not added; the errors of [`point`](Self::point).
    pub fn without(self, removed: &BTreeSet<usize>) -> Result<Self, Error> {
        let trained = self.len() - self.added;
        let added = trained..self.len();
        for candidate in removed {
            let found = format_args!("removed candidate {candidate}");
            let allowed = format_args!("{trained}..{}, those that were added", added.end);
            ensure_allowed(added.contains(candidate), found, allowed)?;
        }
        let is_kept = |candidate: &u32| !removed.contains(&(*candidate as usize));
        let kept: Vec<u32> = (0..self.len() as u32).filter(is_kept).collect();
        let (class, rows) = self.classes_of(&kept);
        let mut number = vec![None; self.len()];
        for (new, &candidate) in (0..).zip(&kept) {
            number[candidate as usize] = Some(new);
        }
        let by_id = self.by_id.iter().filter_map(|&candidate| number[candidate as usize]);
        let by_id: Vec<u32> = by_id.collect();
        let pick = |values: &[f32]| rows.iter().map(|&row| values[row]).collect::<Vec<f32>>();
        let correction = self.hubs().map(|(hubs, weight)| {
            (Hubs { neighbours: hubs.neighbours, means: pick(&hubs.means) }, weight)
        });
        let plain = self.without_hubs();
        let same = rows.iter().zip(0..).take_while(|&(&row, at)| row == at).count();
        let mut points = Vec::new();
        for &row in &rows[same..] {
            points.extend_from_slice(&plain.point(row)?);
        }
        let hashes: Vec<u64> = rows.iter().filter_map(|&row| plain.hash(row)).collect();
        let left = Self {
            columns: plain.columns.select(&kept),
            classes: Classes::new(class, rows.len()),
            constants: pick(&plain.constants),
            coordinates: plain.coordinates.first(same * plain.dim).with_more(&points),
            codes: None,
            hashes: hashes.into(),
            added: kept.len() - trained,
            by_id: by_id.into(),
            dim: plain.dim,
            correction: None,
        };
        match correction {
            Some((hubs, weight)) => left.with_hubs(hubs, weight),
            None => Ok(left),
        }
    }

    /// Returns the classes of some candidates, numbered anew in the order in which they first appear, and the distinct row that
    /// each class has had.
    fn classes_of(&self, candidates: &[u32]) -> (Vec<u32>, Vec<usize>) {
        let mut number = vec![None; self.distinct()];
        let mut rows = Vec::new();
        let mut classes = Vec::with_capacity(candidates.len());
        for &candidate in candidates {
            let row = self.class_of(candidate as usize) as usize;
            let class = *number[row].get_or_insert(rows.len() as u32);
            if class as usize == rows.len() {
                rows.push(row);
            }
            classes.push(class);
        }
        (classes, rows)
    }

    /// Returns, for each distinct row of further candidates, the row of these with the same features, if there is one.
    fn earlier_rows(&self, more: &Self) -> Vec<Option<u32>> {
        let places: HashMap<u64, usize> =
            more.hashes.iter().enumerate().map(|(row, &hash)| (hash, row)).collect();
        let mut rows = vec![None; more.distinct()];
        for (position, hash) in (0..).zip(&self.hashes[..]) {
            if let Some(&row) = places.get(hash) {
                rows[row] = Some(position);
            }
        }
        rows
    }

    /// Returns the order by ids of these candidates with further ones behind them.
    fn by_id_with(&self, more: &Self) -> Result<Vec<u32>, Error> {
        let mut order = Vec::with_capacity(self.len() + more.len());
        let mut left = &self.by_id[..];
        for &next in &more.by_id[..] {
            let id = more.id(next as usize);
            let before = left.partition_point(|&candidate| self.id(candidate as usize) < id);
            let (smaller, rest) = left.split_at(before);
            let next = self.len() as u32 + next;
            if let Some(&same) = rest.first().filter(|&&first| self.id(first as usize) == id) {
                return Err(same_id(same, next, id));
            }
            order.extend_from_slice(smaller);
            order.push(next);
            left = rest;
        }
        order.extend_from_slice(left);
        Ok(order)
    }
}
