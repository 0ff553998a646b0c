//! Answers that all ranks find together.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use dsokr_core::{Error, Processes};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Shards;
use super::file::Shard;
use crate::blocks::{CandidateBlocks, ScoreBlock};
use crate::candidates::{CandidateParts, Candidates, Columns};
use crate::codes::CodedBlock;
use crate::ranked_hits::{wanted_first, wanted_rows};
use crate::scoring::WantedRows;

/// All candidates, in one place or in shards.
#[derive(Clone, Copy, Debug)]
pub enum AllCandidates<'a> {
    /// A set of candidates that each process has whole.
    Whole(&'a Candidates),
    /// Candidates in shards, of which each process holds some.
    Shards(&'a Shards),
}

impl<'a> AllCandidates<'a> {
    /// Returns the number of candidates, duplicates counted.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one candidate")]
    pub fn len(self) -> usize {
        match self {
            Self::Whole(all) => all.len(),
            Self::Shards(shards) => shards.len(),
        }
    }

    /// Returns the names of the columns behind ids and labels.
    pub fn further_names(self) -> Vec<&'a str> {
        match self {
            Self::Whole(all) => all.columns().further_names().collect(),
            Self::Shards(shards) => shards.columns()[2..].iter().map(String::as_str).collect(),
        }
    }

    /// Finds the places of candidates by id; none for an id without a candidate. Of shards, all processes look together.
    ///
    /// # Errors
    /// The errors of [`Shards::find`].
    pub fn find<S: AsRef<str>>(
        self,
        processes: &Processes,
        ids: &[S],
    ) -> Result<Vec<Option<CandidatePlace>>, Error> {
        match self {
            Self::Whole(all) => Ok(ids.iter().map(|id| all.place(id.as_ref())).collect()),
            Self::Shards(shards) => shards.find(processes, ids),
        }
    }

    /// Returns candidates that have these numbers, with all columns, coordinates and constants: all of a whole set, of
    /// shards those with the numbers, or of no numbers the first.
    ///
    /// # Errors
    /// The errors of [`Shards::some`].
    pub fn some(
        self,
        processes: &Processes,
        numbers: impl IntoIterator<Item = usize>,
    ) -> Result<SomeCandidates<'a>, Error> {
        match self {
            Self::Whole(all) => {
                Ok(SomeCandidates { candidates: Cow::Borrowed(all), numbers: None })
            }
            Self::Shards(shards) => shards.some(processes, numbers),
        }
    }

    /// Returns the result of `scan` over all candidates; every process is given the distinct rows `rows` of them.
    pub(crate) fn with_rows<T>(
        self,
        processes: &Processes,
        rows: impl Iterator<Item = usize>,
        scan: impl FnOnce(&dyn CandidateBlocks) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self {
            Self::Whole(all) => scan(all),
            Self::Shards(shards) => scan(&GivenRows::from_rows(processes, shards, rows)?),
        }
    }
}

/// The place of a candidate among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidatePlace {
    /// The number of the candidate.
    pub candidate: usize,
    /// The distinct row of the candidate.
    pub row: u32,
}

impl Candidates {
    /// Returns the place of the candidate with an id, if there is one.
    pub(crate) fn place(&self, id: &str) -> Option<CandidatePlace> {
        let candidate = self.find(id)?;
        Some(CandidatePlace { candidate, row: self.class_of(candidate) })
    }
}

/// Candidates by their numbers among all.
#[derive(Clone, Debug, PartialEq)]
pub struct SomeCandidates<'a> {
    /// The candidates, in their order; some of those in shards have the distinct rows numbered anew.
    pub candidates: Cow<'a, Candidates>,
    /// The numbers of the candidates among all, ascending; none where these are all.
    pub numbers: Option<Vec<usize>>,
}

impl SomeCandidates<'_> {
    /// Returns the place among these of a candidate by its number among all.
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
    /// The coordinates and the constant of each of these rows, and how many candidates share it.
    given: HashMap<usize, (Vec<f32>, u32)>,
}

impl<'s> GivenRows<'s> {
    /// Gives all ranks some rows, which there are.
    fn from_rows(
        processes: &Processes,
        shards: &'s Shards,
        rows: impl IntoIterator<Item = usize>,
    ) -> Result<Self, Error> {
        shards.check_opened_by(processes)?;
        let wanted: BTreeSet<usize> = rows.into_iter().collect();
        if wanted.is_empty() {
            return Ok(Self { shards, given: HashMap::new() });
        }
        let mut numbers = Vec::<u64>::new();
        let mut points = Vec::<f32>::new();
        let read = shards.answering().try_for_each(|shard| {
            for &row in wanted.range(shard.rows.clone()) {
                let block = shard.block(row..row + 1)?;
                numbers.extend([row as u64, block.multiplicities[0].into()]);
                points.extend_from_slice(&block.coordinates);
                points.push(block.constants[0]);
            }
            Ok::<(), Error>(())
        });
        processes.agree(read)?;
        let numbers = processes.gather_numbers(&numbers)?.concat();
        let points = processes.gather_numbers(&points)?.concat();
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

    fn scored(&self, _processes: &Processes) -> Vec<Range<usize>> {
        self.shards.held.iter().map(|shard| shard.scored.clone()).collect()
    }

    fn coded(&self, rows: Range<usize>) -> Result<Option<CodedBlock<'_>>, Error> {
        if rows.is_empty() {
            return self.shards.held[0].candidates.coded(0..0);
        }
        let Some(holder) = self.shards.holder(&rows) else { return Ok(None) };
        holder.candidates.coded(rows.start - holder.rows.start..rows.end - holder.rows.start)
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
        let shard = self.shards.holder(&rows).ok_or_else(|| {
            let held_rows = self.shards.held.iter().map(|shard| format!("{:?}", shard.rows));
            let found = format!("distinct candidate rows {}..{}", rows.start, rows.end);
            let allowed = held_rows.collect::<Vec<_>>().join(" and ");
            Error::out_of_range(found, format!("{allowed}, the rows of this rank"))
        })?;
        shard.block(rows)
    }
}

impl Shards {
    /// Finds the places of candidates by id; none for an id without a candidate.
    ///
    /// # Errors
    /// [`Error::Process`] for a rank that cannot be reached.
    pub fn find<S: AsRef<str>>(
        &self,
        processes: &Processes,
        ids: &[S],
    ) -> Result<Vec<Option<CandidatePlace>>, Error> {
        let mut records = Vec::new();
        for shard in self.answering() {
            for (at, id) in ids.iter().enumerate() {
                if let Some(candidate) = shard.candidates.find(id.as_ref()) {
                    records.push((at, shard.number(candidate), shard.row_of(candidate)));
                }
            }
        }
        let mut places = vec![None; ids.len()];
        for (at, candidate, row) in self.joined::<(usize, u32, usize)>(processes, records)? {
            places[at] = Some(CandidatePlace { candidate: candidate as usize, row: row as u32 });
        }
        Ok(places)
    }

    /// Returns what `record` makes of the candidates of each shard, each shard once, in their order. All ranks get that of all
    /// shards.
    ///
    /// # Errors
    /// [`Error::Process`] for a rank that cannot be reached; [`Error::Inconsistent`] for a record that cannot be written as
    /// JSON or read again.
    pub fn of_each<T: Serialize + DeserializeOwned>(
        &self,
        processes: &Processes,
        record: impl Fn(&Candidates) -> T,
    ) -> Result<Vec<T>, Error> {
        let records = self.answering().map(|shard| record(&shard.candidates)).collect();
        self.joined(processes, records)
    }

    /// Returns the records of all ranks, in the order of the ranks.
    fn joined<T: Serialize + DeserializeOwned>(
        &self,
        processes: &Processes,
        records: Vec<T>,
    ) -> Result<Vec<T>, Error> {
        self.check_opened_by(processes)?;
        let json = |error: serde_json::Error| Error::inconsistent(error.to_string());
        let all = processes.gather(&serde_json::to_vec(&records).map_err(json)?)?;
        let read = |bytes: &Vec<u8>| serde_json::from_slice::<Vec<T>>(bytes).map_err(json);
        Ok(all.iter().map(read).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Returns some candidates, by number, with all columns, coordinates and constants, each once; the first for no
    /// numbers.
    ///
    /// # Errors
    /// The errors of damaged files; [`Error::Process`] for errors of other ranks.
    pub fn some(
        &self,
        processes: &Processes,
        numbers: impl IntoIterator<Item = usize>,
    ) -> Result<SomeCandidates<'static>, Error> {
        let mut wanted: BTreeSet<usize> = numbers.into_iter().collect();
        if wanted.is_empty() {
            wanted.insert(0);
        }
        let mut records = Vec::new();
        for shard in self.answering() {
            for &number in &wanted {
                let Some(at) = shard.candidate(number) else { continue };
                let cells: Vec<String> =
                    shard.candidates.columns().row(at).map(str::to_owned).collect();
                records.push((number, shard.row_of(at), cells));
            }
        }
        let mut records = self.joined(processes, records)?;
        records.sort_unstable_by_key(|record| record.0);
        let given = GivenRows::from_rows(processes, self, records.iter().map(|record| record.1))?;
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

    /// Returns the first k candidates of some rows, by number; the first wanted one first, where `wanted` says it of
    /// the candidates of [`held`](Self::held).
    pub(crate) fn members(
        &self,
        processes: &Processes,
        rows: impl Iterator<Item = usize>,
        k: usize,
        wanted: Option<&[bool]>,
    ) -> Result<HashMap<usize, Vec<u32>>, Error> {
        let wanted = wanted.map(|wanted| self.each_shard(processes, wanted)).transpose()?;
        let chosen: BTreeSet<usize> = rows.collect();
        let mut listed = Vec::new();
        for (at, shard) in self.held.iter().enumerate().filter(|(_, shard)| shard.answers) {
            let rows = &shard.rows;
            let wanted = wanted.as_ref().map(|wanted| wanted[at]);
            for &row in chosen.range(rows.clone()) {
                let members = shard.candidates.members((row - rows.start) as u32);
                let members = wanted_first(&members, wanted, k);
                let numbers = members.into_iter().map(|at| shard.number(at as usize));
                listed.push((row, numbers.collect()));
            }
        }
        Ok(self.joined::<(usize, Vec<u32>)>(processes, listed)?.into_iter().collect())
    }

    /// Returns the shards about which this rank answers the others.
    fn answering(&self) -> impl Iterator<Item = &Shard> {
        self.held.iter().filter(|shard| shard.answers)
    }

    /// Returns the shard of this rank that has these rows.
    fn holder(&self, rows: &Range<usize>) -> Option<&Shard> {
        let has = |shard: &&Shard| shard.rows.start <= rows.start && rows.end <= shard.rows.end;
        self.held.iter().find(has)
    }

    /// Returns the distinct rows with a wanted candidate, where `wanted` says it of the candidates of
    /// [`held`](Self::held).
    pub(crate) fn wanted_rows(
        &self,
        processes: &Processes,
        wanted: &[bool],
    ) -> Result<WantedRows, Error> {
        let rows = |(shard, wanted): (&Shard, _)| {
            (shard.rows.start, wanted_rows(shard.candidates.classes(), wanted))
        };
        let each = self.each_shard(processes, wanted)?;
        Ok(WantedRows(self.held.iter().zip(each).map(rows).collect()))
    }

    /// Returns the given values of the candidates of [`held`](Self::held), shard by shard.
    fn each_shard<'w>(
        &self,
        processes: &Processes,
        wanted: &'w [bool],
    ) -> Result<Vec<&'w [bool]>, Error> {
        self.check_opened_by(processes)?;
        let held = self.held().map(Candidates::len).sum();
        processes.agree(Error::check_length("wanted candidates", wanted.len(), held))?;
        let mut rest = wanted;
        let each = self.held().map(|candidates| {
            let (shard_wanted, others) = rest.split_at(candidates.len());
            rest = others;
            shard_wanted
        });
        Ok(each.collect())
    }

    /// Returns the number of candidates of all ranks for which `wanted` is true. `wanted` has an entry for each
    /// candidate of [`held`](Self::held).
    ///
    /// # Errors
    /// [`Error::Shape`] unless `wanted` has an entry a candidate; [`Error::Process`] for a rank that
    /// cannot be reached.
    pub fn count_wanted(&self, processes: &Processes, wanted: &[bool]) -> Result<usize, Error> {
        let each = self.each_shard(processes, wanted)?;
        let answering = self.held.iter().zip(each).filter(|(shard, _)| shard.answers);
        let count = |wanted: &[bool]| wanted.iter().filter(|&&wanted| wanted).count() as u64;
        let mut sum: [u64; 1] = [answering.map(|(_, wanted)| count(wanted)).sum()];
        processes.sum(&mut sum)?;
        Ok(sum[0] as usize)
    }
}
