//! Answers that all ranks find together.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Shards;
use super::file::Shard;
use crate::blocks::{CandidateBlocks, ScoreBlock};
use crate::candidates::{CandidateParts, Candidates, Columns};
use crate::codes::CodedBlock;
use crate::error::Error;
use crate::scoring::WantedRows;
use crate::standing::{wanted_first, wanted_rows};

/// All candidates, in one place or in shards.
#[derive(Clone, Copy, Debug)]
pub enum AllCandidates<'a> {
    /// Those of a set that each process has whole.
    Whole(&'a Candidates),
    /// Candidates in shards, of which each process holds some.
    Shards(&'a Shards),
}

impl<'a> AllCandidates<'a> {
    /// Number of candidates, duplicates counted.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one candidate")]
    pub fn len(self) -> usize {
        match self {
            Self::Whole(all) => all.len(),
            Self::Shards(shards) => shards.len(),
        }
    }

    /// The names of the columns behind ids and labels.
    pub fn further_names(self) -> Vec<&'a str> {
        match self {
            Self::Whole(all) => all.columns().further_names().collect(),
            Self::Shards(shards) => shards.columns()[2..].iter().map(String::as_str).collect(),
        }
    }

    /// Where candidates are, by id; none for an id without a candidate.
    ///
    /// # Errors
    /// As [`Shards::find`].
    pub fn find<S: AsRef<str>>(self, ids: &[S]) -> Result<Vec<Option<CandidatePlace>>, Error> {
        let find = |all: &Candidates, id: &str| {
            all.find(id).map(|candidate| CandidatePlace { candidate, row: all.class_of(candidate) })
        };
        match self {
            Self::Whole(all) => Ok(ids.iter().map(|id| find(all, id.as_ref())).collect()),
            Self::Shards(shards) => shards.find(ids),
        }
    }

    /// Candidates that have these numbers, with all columns, coordinates and constants: all of a whole set, of
    /// shards those with the numbers, or of no numbers the first.
    ///
    /// # Errors
    /// As [`Shards::some`].
    pub fn some(
        self,
        numbers: impl IntoIterator<Item = usize>,
    ) -> Result<SomeCandidates<'a>, Error> {
        match self {
            Self::Whole(all) => {
                Ok(SomeCandidates { candidates: Cow::Borrowed(all), numbers: None })
            }
            Self::Shards(shards) => shards.some(numbers),
        }
    }

    /// The result of `scan` over all candidates; every process is given the distinct rows `rows` of them.
    pub(crate) fn with_rows<T>(
        self,
        rows: impl Iterator<Item = usize>,
        scan: impl FnOnce(&dyn CandidateBlocks) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self {
            Self::Whole(all) => scan(all),
            Self::Shards(shards) => scan(&GivenRows::from_rows(shards, rows)?),
        }
    }
}

/// Where a candidate is among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidatePlace {
    /// Its number.
    pub candidate: usize,
    /// Its distinct row.
    pub row: u32,
}

/// Candidates by their numbers among all.
#[derive(Clone, Debug, PartialEq)]
pub struct SomeCandidates<'a> {
    /// The candidates, in their order; some of those in shards have the distinct rows numbered anew.
    pub candidates: Cow<'a, Candidates>,
    /// Their numbers among all, ascending; none where these are all.
    pub numbers: Option<Vec<usize>>,
}

impl SomeCandidates<'_> {
    /// The place among these of a candidate by its number among all.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a candidate that is not here.
    pub fn place(&self, number: usize) -> Result<usize, Error> {
        let Some(numbers) = &self.numbers else { return Ok(number) };
        let missing = |_| {
            let allowed = format!("the numbers of {} of the candidates", numbers.len());
            Error::out_of_range(format!("candidate {number}"), allowed)
        };
        numbers.binary_search(&number).map_err(missing)
    }
}

/// The rows of this rank, and some rows that all ranks have been given.
struct GivenRows<'s> {
    shards: &'s Shards,
    /// Of each of those rows its coordinates and its constant, and how many candidates share it.
    given: HashMap<usize, (Vec<f32>, u32)>,
}

impl<'s> GivenRows<'s> {
    /// Gives all ranks some rows, which there are.
    fn from_rows(shards: &'s Shards, rows: impl IntoIterator<Item = usize>) -> Result<Self, Error> {
        let ranks = shards.ranks()?;
        let wanted: BTreeSet<usize> = rows.into_iter().collect();
        if wanted.is_empty() {
            return Ok(Self { shards, given: HashMap::new() });
        }
        let mut numbers = Vec::<u64>::new();
        let mut points = Vec::<f32>::new();
        let read = shards.answering().try_for_each(|own| {
            for &row in wanted.range(own.rows.clone()) {
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
        let rows = numbers.as_chunks().0.iter().zip(points.chunks_exact(shards.dim + 1));
        let row = |(&[row, count], point): (&[u64; 2], &[f32])| {
            (row as usize, (point.to_vec(), count as u32))
        };
        Ok(Self { shards, given: rows.map(row).collect() })
    }
}

impl CandidateBlocks for GivenRows<'_> {
    fn dim(&self) -> usize {
        self.shards.dim
    }

    fn rows(&self) -> usize {
        self.shards.distinct
    }

    fn candidates(&self) -> u64 {
        self.shards.candidates as u64
    }

    fn scored(&self) -> Vec<Range<usize>> {
        self.shards.own.iter().map(|own| own.scored.clone()).collect()
    }

    fn coded(&self, rows: Range<usize>) -> Result<Option<CodedBlock<'_>>, Error> {
        if rows.is_empty() {
            return self.shards.own[0].candidates.coded(0..0);
        }
        let Some(own) = self.shards.holder(&rows) else { return Ok(None) };
        own.candidates.coded(rows.start - own.rows.start..rows.end - own.rows.start)
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        if let 1 = rows.len()
            && let Some((point, count)) = self.given.get(&rows.start)
        {
            let (coordinates, constants) = point.split_at(self.shards.dim);
            return Ok(ScoreBlock {
                coordinates: coordinates.into(),
                constants: constants.into(),
                multiplicities: Cow::Borrowed(std::slice::from_ref(count)),
            });
        }
        let own = self.shards.holder(&rows).ok_or_else(|| {
            let own = self.shards.own.iter().map(|own| format!("{:?}", own.rows));
            let found = format!("distinct candidate rows {}..{}", rows.start, rows.end);
            let allowed = own.collect::<Vec<_>>().join(" and ");
            Error::out_of_range(found, format!("{allowed}, the rows of this rank"))
        })?;
        own.block(rows)
    }
}

impl Shards {
    /// Where candidates are, by id; none for an id without a candidate.
    ///
    /// # Errors
    /// [`Error::Process`] for a rank that cannot be reached.
    pub fn find<S: AsRef<str>>(&self, ids: &[S]) -> Result<Vec<Option<CandidatePlace>>, Error> {
        let mut found = Vec::new();
        for own in self.answering() {
            for (at, id) in ids.iter().enumerate() {
                if let Some(candidate) = own.candidates.find(id.as_ref()) {
                    found.push((at, own.number(candidate), own.row_of(candidate)));
                }
            }
        }
        let mut places = vec![None; ids.len()];
        for (at, candidate, row) in self.joined::<(usize, u32, usize)>(found)? {
            places[at] = Some(CandidatePlace { candidate: candidate as usize, row: row as u32 });
        }
        Ok(places)
    }

    /// The records of all ranks, those of the first before those of the second.
    fn joined<T: Serialize + DeserializeOwned>(&self, own: Vec<T>) -> Result<Vec<T>, Error> {
        let json = |error: serde_json::Error| Error::inconsistent(error.to_string());
        let all = self.ranks()?.gather(&serde_json::to_vec(&own).map_err(json)?)?;
        let read = |own: &Vec<u8>| serde_json::from_slice::<Vec<T>>(own).map_err(json);
        Ok(all.iter().map(read).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Some candidates, by number, with all columns, coordinates and constants, each once; the first for no numbers.
    ///
    /// # Errors
    /// Those of damaged files; [`Error::Process`] for those of other ranks.
    pub fn some(
        &self,
        numbers: impl IntoIterator<Item = usize>,
    ) -> Result<SomeCandidates<'static>, Error> {
        let mut wanted: BTreeSet<usize> = numbers.into_iter().collect();
        if wanted.is_empty() {
            wanted.insert(0);
        }
        let mut records = Vec::new();
        for own in self.answering() {
            for &number in &wanted {
                let Some(at) = own.candidate(number) else { continue };
                let cells: Vec<String> =
                    own.candidates.columns().row(at).map(str::to_owned).collect();
                records.push((number, own.row_of(at), cells));
            }
        }
        let mut records = self.joined(records)?;
        records.sort_unstable_by_key(|record| record.0);
        let given = GivenRows::from_rows(self, records.iter().map(|record| record.1))?;
        let mut parts = CandidateParts { dim: self.dim, ..CandidateParts::default() };
        let mut rows = Vec::new();
        let mut numbers = Vec::new();
        let mut classes = HashMap::new();
        for (number, row, cells) in records {
            let next = classes.len() as u32;
            let class = *classes.entry(row).or_insert(next);
            if class == next {
                let block = given.block(row..row + 1)?;
                parts.coordinates.extend_from_slice(&block.coordinates);
                parts.constants.extend_from_slice(&block.constants);
            }
            numbers.push(number);
            rows.push(cells);
            parts.class.push(class);
        }
        let columns = Columns::from_rows(self.columns(), &rows);
        let candidates = Cow::Owned(Candidates::with_columns(columns, parts)?);
        Ok(SomeCandidates { candidates, numbers: Some(numbers) })
    }

    /// The first k candidates of some rows, by number; the first wanted one first, where `wanted` says it of the
    /// candidates of [`held`](Self::held).
    pub(crate) fn members(
        &self,
        rows: impl Iterator<Item = usize>,
        k: usize,
        wanted: Option<&[bool]>,
    ) -> Result<HashMap<usize, Vec<u32>>, Error> {
        let wanted = wanted.map(|wanted| self.each_shard(wanted)).transpose()?;
        let chosen: BTreeSet<usize> = rows.collect();
        let mut listed = Vec::new();
        for (at, own) in self.own.iter().enumerate().filter(|(_, own)| own.answers) {
            let rows = &own.rows;
            let wanted = wanted.as_ref().map(|wanted| wanted[at]);
            for &row in chosen.range(rows.clone()) {
                let members = own.candidates.members((row - rows.start) as u32);
                let members = wanted_first(&members, wanted, k);
                let numbers = members.into_iter().map(|at| own.number(at as usize));
                listed.push((row, numbers.collect()));
            }
        }
        Ok(self.joined::<(usize, Vec<u32>)>(listed)?.into_iter().collect())
    }

    /// The shards about which this rank answers the others.
    fn answering(&self) -> impl Iterator<Item = &Shard> {
        self.own.iter().filter(|own| own.answers)
    }

    /// The shard of this rank that has these rows.
    fn holder(&self, rows: &Range<usize>) -> Option<&Shard> {
        let has = |own: &&Shard| own.rows.start <= rows.start && rows.end <= own.rows.end;
        self.own.iter().find(has)
    }

    /// The distinct rows with a wanted candidate, where `wanted` says it of the candidates of [`held`](Self::held).
    pub(crate) fn wanted_rows(&self, wanted: &[bool]) -> Result<WantedRows, Error> {
        let rows = |(own, wanted): (&Shard, _)| {
            (own.rows.start, wanted_rows(own.candidates.classes(), wanted))
        };
        Ok(WantedRows(self.own.iter().zip(self.each_shard(wanted)?).map(rows).collect()))
    }

    /// The given values of the candidates of [`held`](Self::held), shard by shard.
    fn each_shard<'w>(&self, wanted: &'w [bool]) -> Result<Vec<&'w [bool]>, Error> {
        let held = self.held().map(Candidates::len).sum();
        self.ranks()?.agree(Error::check_length("wanted candidates", wanted.len(), held))?;
        let mut rest = wanted;
        let each = self.held().map(|own| {
            let (own, others) = rest.split_at(own.len());
            rest = others;
            own
        });
        Ok(each.collect())
    }

    /// Number of the candidates of all ranks for which `wanted` is true, which is about those of
    /// [`held`](Self::held).
    ///
    /// # Errors
    /// [`Error::Shape`] unless `wanted` has an entry a candidate; [`Error::Process`] for a rank that
    /// cannot be reached.
    pub fn count_wanted(&self, wanted: &[bool]) -> Result<usize, Error> {
        let each = self.each_shard(wanted)?;
        let answering = self.own.iter().zip(each).filter(|(own, _)| own.answers);
        let count = |wanted: &[bool]| wanted.iter().filter(|&&wanted| wanted).count() as u64;
        let mut sum: [u64; 1] = [answering.map(|(_, wanted)| count(wanted)).sum()];
        self.ranks()?.sum(&mut sum)?;
        Ok(sum[0] as usize)
    }
}
