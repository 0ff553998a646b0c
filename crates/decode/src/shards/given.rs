use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::{OwnShard, Shards};
use crate::{CandidateBlocks, CodedBlock, Error, ScoreBlock};

/// The rows of this rank, and some rows that all ranks have been given.
pub(super) struct GivenRows<'s> {
    shards: &'s Shards,
    /// Where each of those rows is in the lists.
    places: HashMap<usize, usize>,
    coordinates: Vec<f32>,
    constants: Vec<f32>,
    multiplicities: Vec<u32>,
}

impl<'s> GivenRows<'s> {
    /// Gives all ranks some rows, which there are.
    pub fn of(shards: &'s Shards, rows: impl IntoIterator<Item = usize>) -> Result<Self, Error> {
        let ranks = shards.ranks()?;
        let wanted: BTreeSet<usize> = rows.into_iter().collect();
        let mut given = Self {
            shards,
            places: HashMap::new(),
            coordinates: Vec::new(),
            constants: Vec::new(),
            multiplicities: Vec::new(),
        };
        if wanted.is_empty() {
            return Ok(given);
        }
        let (mut numbers, mut points) = (Vec::<u64>::new(), Vec::<f32>::new());
        let read = shards.own.iter().filter(|own| own.answers).try_for_each(|own| {
            let rows = &own.shard.rows;
            for &row in wanted.range(rows.clone()) {
                let block = own.block(row..row + 1)?;
                numbers.extend([row as u64, block.multiplicities[0].into()]);
                points.extend_from_slice(&block.coordinates);
                points.push(block.constants[0]);
            }
            Ok::<(), Error>(())
        });
        ranks.agree(read)?;
        let numbers = ranks.gather_numbers(&numbers)?.concat();
        let points = ranks.gather_numbers(&points)?.concat();
        for (&[row, count], point) in
            numbers.as_chunks().0.iter().zip(points.chunks_exact(shards.dim + 1))
        {
            let (constant, coordinates) = (point[shards.dim], &point[..shards.dim]);
            given.places.insert(row as usize, given.constants.len());
            given.coordinates.extend_from_slice(coordinates);
            given.constants.push(constant);
            given.multiplicities.push(count as u32);
        }
        Ok(given)
    }
}

impl OwnShard {
    /// Rows of the shard, by their numbers among all.
    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        let first = self.shard.rows.start;
        self.shard.candidates.block(rows.start - first..rows.end - first)
    }
}

impl CandidateBlocks for GivenRows<'_> {
    fn dim(&self) -> usize {
        self.shards.dim
    }

    fn rows(&self) -> usize {
        self.shards.rows
    }

    fn candidates(&self) -> u64 {
        self.shards.candidates as u64
    }

    fn scored(&self) -> Vec<Range<usize>> {
        self.shards.own.iter().map(|own| own.scored.clone()).collect()
    }

    fn coded(&self, rows: Range<usize>) -> Result<Option<CodedBlock<'_>>, Error> {
        let own = if rows.is_empty() { self.shards.own.first() } else { self.shards.holder(&rows) };
        let Some(own) = own else { return Ok(None) };
        let first = own.shard.rows.start;
        let rows = match rows.is_empty() {
            true => 0..0,
            false => rows.start - first..rows.end - first,
        };
        own.shard.candidates.coded(rows)
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        if let (1, Some(&at)) = (rows.len(), self.places.get(&rows.start)) {
            let dim = self.shards.dim;
            return Ok(ScoreBlock {
                coordinates: Cow::Borrowed(&self.coordinates[at * dim..][..dim]),
                constants: Cow::Borrowed(&self.constants[at..=at]),
                multiplicities: Cow::Borrowed(&self.multiplicities[at..=at]),
            });
        }
        match self.shards.holder(&rows) {
            Some(own) => own.block(rows),
            None => {
                let found = format!("distinct candidate rows {}..{}", rows.start, rows.end);
                let own = self.shards.own.iter().map(|own| format!("{:?}", own.shard.rows));
                let allowed = own.collect::<Vec<_>>().join(" and ");
                Err(Error::out_of_range(found, format!("{allowed}, the rows of this rank")))
            }
        }
    }
}

impl Shards {
    /// The shard of this rank that has these rows.
    fn holder(&self, rows: &Range<usize>) -> Option<&OwnShard> {
        let has =
            |own: &&OwnShard| own.shard.rows.start <= rows.start && rows.end <= own.shard.rows.end;
        self.own.iter().find(has)
    }
}
