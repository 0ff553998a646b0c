use std::ops::Range;

use super::Shards;
use super::given::GivenRows;
use crate::error::{check_len, missing_gold};
use crate::hits::{self, check_k};
use crate::scoring::{WantedRows, check_gold};
use crate::standing::{self, wanted_rows};
use crate::{Candidates, Decoded, Error, Hit, MissingGold, Queries, Standings};

impl Shards {
    /// Distinct rows of the gold candidates, by id; see [`Pool::gold`](crate::Pool::gold).
    ///
    /// # Errors
    /// As [`Pool::gold`](crate::Pool::gold); those of [`find`](Self::find).
    pub fn gold(
        &self,
        queries: &Queries,
        gold: &[String],
        missing: MissingGold,
    ) -> Result<Vec<Option<u32>>, Error> {
        check_len("gold ids", gold.len(), queries.len())?;
        let found = self.find(gold)?.into_iter().zip(gold).enumerate();
        found
            .map(|(query, (place, id))| match (place, missing) {
                (None, MissingGold::Error) => {
                    Err(missing_gold(&queries.name(query), &format!("{id:?}")))
                }
                (place, _) => Ok(place.map(|place| place.row)),
            })
            .collect()
    }

    /// Ranks the gold rows and finds the k best candidates of every query; k may be 0.
    ///
    /// # Errors
    /// As [`rank`](crate::rank) and [`top_k`](crate::top_k); [`dsokr_basis::Error::Process`] for those of other ranks.
    pub fn decode(
        &self,
        queries: &Queries,
        gold: &[Option<u32>],
        k: usize,
    ) -> Result<Vec<Decoded>, Error> {
        if k > 0 {
            check_k(k, self.len() as u64)?;
        }
        check_gold(queries, gold, self.rows)?;
        let given = GivenRows::of(self, gold.iter().flatten().map(|&row| row as usize))?;
        let found = hits::decode(queries, gold, &given, k)?;
        let rows = found.rows.iter().flatten().map(|hit| hit.row);
        let members = self.members(rows, k, None)?;
        Ok(found.decoded(k, |row| members.get(&row).map_or(&[][..], Vec::as_slice).into()))
    }

    /// The k best candidates of every query, best first, ties in the order of the candidates.
    ///
    /// # Errors
    /// As [`top_k`](crate::top_k); [`dsokr_basis::Error::Process`] for those of other ranks.
    pub fn top_k(&self, queries: &Queries, k: usize) -> Result<Vec<Vec<Hit>>, Error> {
        check_k(k, self.len() as u64)?;
        let decoded = self.decode(queries, &vec![None; queries.len()], k)?;
        Ok(decoded.into_iter().map(|query| query.hits).collect())
    }

    /// The best wanted candidates of every query at some places, with where they stand among all candidates; see
    /// [`Ensemble::standings`](crate::Ensemble::standings). `wanted` is about the candidates of [`held`](Self::held).
    ///
    /// # Errors
    /// [`Error::Length`] unless `wanted` has an entry a candidate; else as [`top_k`](Self::top_k).
    pub fn standings(
        &self,
        queries: &Queries,
        wanted: Option<&[bool]>,
        places: Range<usize>,
    ) -> Result<Vec<Standings>, Error> {
        let each = wanted.map(|wanted| self.each_shard(wanted)).transpose()?;
        let rows = each.as_ref().map(|each| {
            WantedRows::new(self.own.iter().zip(each).map(|(own, wanted)| {
                (own.shard.rows.start, wanted_rows(own.shard.candidates.classes(), wanted))
            }))
        });
        let given = GivenRows::of(self, [])?;
        let found = standing::find(queries, &given, rows.as_ref(), places)?;
        let rows = found.iter().flat_map(|found| &found.rows).map(|&(row, _)| row);
        let members = self.members(rows, usize::MAX, each.as_deref())?;
        let of_row = |row: usize| members.get(&row).cloned().unwrap_or_default();
        Ok(found.into_iter().map(|found| found.standings(|score| score, of_row)).collect())
    }

    /// What is said of the candidates of [`held`](Self::held), of each shard.
    fn each_shard<'w>(&self, wanted: &'w [bool]) -> Result<Vec<&'w [bool]>, Error> {
        let held = self.held().map(Candidates::len).sum();
        self.ranks()?.agree(check_len("wanted candidates", wanted.len(), held))?;
        let mut rest = wanted;
        let each = self.held().map(|own| {
            let (own, others) = rest.split_at(own.len());
            rest = others;
            own
        });
        Ok(each.collect())
    }

    /// Number of the candidates of all ranks of which `wanted` is true, which is about those of
    /// [`held`](Self::held).
    ///
    /// # Errors
    /// [`Error::Length`] unless `wanted` has an entry a candidate; [`dsokr_basis::Error::Process`] for a rank that
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
