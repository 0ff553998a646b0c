use std::collections::HashMap;

use super::{CandidateParts, Candidates};
use crate::error::check_len;
use crate::{Error, Hubs};

impl Candidates {
    /// How many candidates, the last ones, were [added](Self::with_more) to those that a training had.
    pub fn added(&self) -> usize {
        self.added
    }

    /// These candidates, and behind them more in the same coordinates. One whose feature row is that of an
    /// earlier candidate shares its distinct row.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for an id that both have, for hashes of feature rows that are not known, for
    /// different dimensions, and for a correction for hubs that is not the same; [`Error::OutOfRange`] for
    /// too many.
    pub fn with_more(self, more: Self) -> Result<Self, Error> {
        check_len("coordinates of a candidate", more.dim, self.dim)?;
        let correction =
            |candidates: &Self| candidates.hubs().map(|(hubs, weight)| (hubs.neighbours(), weight));
        let corrected = correction(&self);
        if corrected != correction(&more) {
            let message = "candidates that are corrected for hubs, and some that are not so";
            return Err(Error::Inconsistent(message.into()));
        }
        if self.hashes.is_empty() || more.hashes.is_empty() {
            let message = "candidates without hashes of their feature rows";
            return Err(Error::Inconsistent(message.into()));
        }
        let rows = self.earlier_rows(&more);
        let added = self.added + more.len();
        let (mut means, mut new) = (Vec::new(), Vec::new());
        if let Some((hubs, _)) = self.hubs() {
            means.extend_from_slice(hubs.means());
        }
        let mut count = self.distinct() as u32;
        let rows: Vec<u32> = rows
            .into_iter()
            .enumerate()
            .map(|(row, earlier)| {
                earlier.unwrap_or_else(|| {
                    new.push(row);
                    count += 1;
                    count - 1
                })
            })
            .collect();
        if let Some((hubs, _)) = more.hubs() {
            means.extend(new.iter().map(|&row| hubs.means()[row]));
        }
        let (own, more) = (self.without_hubs(), more.without_hubs());
        let Self {
            mut ids,
            mut labels,
            classes,
            dim,
            mut coordinates,
            mut constants,
            mut hashes,
            ..
        } = own;
        ids.extend(more.ids);
        labels.extend(more.labels);
        let mut class = classes.of;
        class.extend(more.classes.of.iter().map(|&row| rows[row as usize]));
        for row in new {
            coordinates.extend_from_slice(&more.coordinates[row * dim..][..dim]);
            constants.push(more.constants[row]);
            hashes.push(more.hashes[row]);
        }
        let parts = CandidateParts { ids, labels, class, dim, coordinates, constants, hashes };
        let all = Self { added, ..Self::new(parts)? };
        match corrected {
            Some((neighbours, weight)) => all.with_hubs(Hubs::new(neighbours, means), weight),
            None => Ok(all),
        }
    }

    /// For each distinct row of further candidates the row of these with the same features, if there is one.
    pub fn earlier_rows(&self, more: &Self) -> Vec<Option<u32>> {
        let places: HashMap<u64, usize> =
            more.hashes.iter().enumerate().map(|(row, &hash)| (hash, row)).collect();
        let mut rows = vec![None; more.distinct()];
        for (own, hash) in (0..).zip(&self.hashes) {
            if let Some(&row) = places.get(hash) {
                rows[row] = Some(own);
            }
        }
        rows
    }
}
