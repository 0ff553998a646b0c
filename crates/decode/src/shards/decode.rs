use super::Shards;
use super::given::GivenRows;
use crate::error::check_len;
use crate::gold_tile::check_gold;
use crate::pool::{gold_scores, missing_gold};
use crate::topk::{check_k, of_rows};
use crate::{Decoded, Error, Hit, MissingGold, Queries, rank, top_rows};

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
    /// As [`rank`](crate::rank) and [`top_k`](crate::top_k); [`dsokr_basis::Error::Ranks`] for those of other ranks.
    pub fn decode(
        &self,
        queries: &Queries,
        gold: &[Option<u32>],
        k: usize,
    ) -> Result<Vec<Decoded>, Error> {
        check_gold(queries, gold, self.rows)?;
        let given = GivenRows::of(self, gold.iter().flatten().map(|&row| row as usize))?;
        let ranks = match gold.iter().any(Option::is_some) {
            true => rank(queries, gold, &given)?,
            false => vec![None; queries.len()],
        };
        let hits = match k {
            0 => vec![Vec::new(); queries.len()],
            _ => self.top_k(queries, k)?,
        };
        // of the same rows on all ranks, so that an error of one is that of all
        let scores = gold_scores(queries, gold, &given)?;
        let each = ranks.into_iter().zip(scores).zip(hits);
        Ok(each.map(|((rank, gold_score), hits)| Decoded { rank, gold_score, hits }).collect())
    }

    /// The k best candidates of every query, best first, ties in the order of the candidates.
    ///
    /// # Errors
    /// As [`top_k`](crate::top_k); [`dsokr_basis::Error::Ranks`] for those of other ranks.
    pub fn top_k(&self, queries: &Queries, k: usize) -> Result<Vec<Vec<Hit>>, Error> {
        check_k(k, self.len() as u64)?;
        let given = GivenRows::of(self, [])?;
        let rows = top_rows(queries, &given, k.min(self.rows))?;
        let members = self.members(rows.iter().flatten().map(|hit| hit.row), k)?;
        Ok(of_rows(rows, k, |row| members.get(&row).map_or(&[][..], Vec::as_slice).into()))
    }
}
