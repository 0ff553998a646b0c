use std::collections::{BTreeSet, HashMap};

use super::given::GivenRows;
use super::{OwnShard, Shards};
use crate::standing::wanted_first;
use crate::{CandidateBlocks, CandidateParts, Candidates, Error};

/// Where a candidate is among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub candidate: usize,
    /// Its distinct row.
    pub row: u32,
}

/// Some of the candidates of shards, which every rank has.
#[derive(Clone, Debug, PartialEq)]
pub struct SomeCandidates {
    candidates: Candidates,
    numbers: Vec<usize>,
}

impl SomeCandidates {
    /// The candidates, in their order, with the distinct rows that they have, numbered anew.
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// Their numbers among all, ascending.
    pub fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// The place among these of a candidate by its number among all.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a candidate that is not here.
    pub fn place(&self, number: usize) -> Result<usize, Error> {
        let missing = |_| {
            let allowed = format!("the numbers of {} of the candidates", self.numbers.len());
            Error::out_of_range(format!("candidate {number}"), allowed)
        };
        self.numbers.binary_search(&number).map_err(missing)
    }
}

impl From<SomeCandidates> for Candidates {
    fn from(some: SomeCandidates) -> Self {
        some.candidates
    }
}

impl Shards {
    /// Where candidates are, by id; none for an id that is no candidate's.
    ///
    /// # Errors
    /// [`dsokr_basis::Error::Process`] for a rank that cannot be reached.
    pub fn find<S: AsRef<str>>(&self, ids: &[S]) -> Result<Vec<Option<Place>>, Error> {
        let mut found = Vec::<u64>::new();
        for own in self.answering() {
            for (at, id) in ids.iter().enumerate() {
                if let Some(candidate) = own.shard.candidates.find(id.as_ref()) {
                    let row = own.row_of(candidate);
                    found.extend([at as u64, own.shard.number(candidate).into(), row as u64]);
                }
            }
        }
        let mut places = vec![None; ids.len()];
        for found in self.ranks()?.gather_numbers(&found)? {
            for &[at, candidate, row] in found.as_chunks().0 {
                places[at as usize] =
                    Some(Place { candidate: candidate as usize, row: row as u32 });
            }
        }
        Ok(places)
    }

    /// Some candidates, by number, with ids, labels, coordinates and constants; at least one, and each once.
    ///
    /// # Errors
    /// [`Error::TooFew`] for none; those of damaged files; [`dsokr_basis::Error::Process`] for those of other ranks.
    pub fn some(&self, numbers: impl IntoIterator<Item = usize>) -> Result<SomeCandidates, Error> {
        let wanted: BTreeSet<usize> = numbers.into_iter().collect();
        let ranks = self.ranks()?;
        let (mut counts, mut texts) = (Vec::<u64>::new(), Vec::<u8>::new());
        for own in self.answering() {
            for &number in &wanted {
                let Some(at) = own.shard.candidate(number) else { continue };
                let [id, label] = [own.shard.candidates.id(at), own.shard.candidates.label(at)];
                let numbers = [number, own.row_of(at), id.len(), label.len()];
                counts.extend(numbers.map(|number| number as u64));
                [id, label].iter().for_each(|text| texts.extend_from_slice(text.as_bytes()));
            }
        }
        let counts = ranks.gather_numbers(&counts)?.concat();
        let texts = ranks.gather(&texts)?.concat();
        let mut texts = texts.as_slice();
        let mut text = |length: u64| {
            let (own, rest) = texts.split_at((length as usize).min(texts.len()));
            texts = rest;
            String::from_utf8_lossy(own).into_owned()
        };
        let records = counts.as_chunks().0.iter();
        let mut records: Vec<_> = records
            .map(|&[number, row, id, label]| (number as usize, row as usize, text(id), text(label)))
            .collect();
        records.sort_unstable_by_key(|record| record.0);
        let given = GivenRows::of(self, records.iter().map(|record| record.1))?;
        let mut parts = CandidateParts { dim: self.dim, ..CandidateParts::default() };
        let (mut numbers, mut multiplicities) = (Vec::new(), Vec::new());
        let mut classes = HashMap::new();
        for (number, row, id, label) in records {
            let next = classes.len() as u32;
            let class = *classes.entry(row).or_insert(next);
            if class == next {
                let block = given.block(row..row + 1)?;
                parts.coordinates.extend_from_slice(&block.coordinates);
                parts.constants.extend_from_slice(&block.constants);
                multiplicities.extend_from_slice(&block.multiplicities);
            }
            numbers.push(number);
            parts.ids.push(id);
            parts.labels.push(label);
            parts.class.push(class);
        }
        let candidates = Candidates::new(parts)?.with_multiplicities(multiplicities);
        Ok(SomeCandidates { candidates, numbers })
    }

    /// The first k candidates of some rows, by number; the first wanted one first, where `wanted` says it of the
    /// candidates of each shard of this rank.
    pub(super) fn members(
        &self,
        rows: impl Iterator<Item = usize>,
        k: usize,
        wanted: Option<&[&[bool]]>,
    ) -> Result<HashMap<usize, Vec<u32>>, Error> {
        let chosen: BTreeSet<usize> = rows.collect();
        let mut listed = Vec::<u64>::new();
        for (at, own) in self.own.iter().enumerate().filter(|(_, own)| own.answers) {
            let rows = &own.shard.rows;
            let wanted = wanted.map(|wanted| wanted[at]);
            for &row in chosen.range(rows.clone()) {
                let members = own.shard.candidates.members((row - rows.start) as u32);
                let members = wanted_first(&members, wanted);
                let members = &members[..members.len().min(k)];
                listed.extend([row as u64, members.len() as u64]);
                listed.extend(members.iter().map(|&at| u64::from(own.shard.number(at as usize))));
            }
        }
        let mut members = HashMap::new();
        for listed in self.ranks()?.gather_numbers(&listed)? {
            let mut listed = listed.into_iter();
            while let (Some(row), Some(count)) = (listed.next(), listed.next()) {
                let own = listed.by_ref().take(count as usize).map(|number| number as u32);
                members.insert(row as usize, own.collect());
            }
        }
        Ok(members)
    }

    /// The shards of which this rank answers what others ask.
    fn answering(&self) -> impl Iterator<Item = &OwnShard> {
        self.own.iter().filter(|own| own.answers)
    }
}

impl OwnShard {
    /// The distinct row among all of a candidate of the shard.
    fn row_of(&self, candidate: usize) -> usize {
        self.shard.rows.start + self.shard.candidates.class_of(candidate) as usize
    }
}
