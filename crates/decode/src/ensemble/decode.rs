use super::combination::Combination;
use super::fold::Values;
use super::member::{Member, member_error};
use super::shared::{Decoded, Ensemble};
use super::streamed;
use super::whole::{self, Sweep};
use crate::topk::check_k;
use crate::{Error, Hit, Pool, Rank};

impl Ensemble<'_> {
    /// Ranks the gold candidates and finds the k best candidates, in one pass; k may be 0.
    ///
    /// `gold` holds distinct rows of the ensemble, as [`Ensemble::gold`] gives them, and `None` for
    /// queries without. The combined score is f64; a candidate is above the gold one if its score
    /// is greater, and tied if it is equal. With one member, ranks and hits are those of
    /// [`Pool::rank`] and [`Pool::top_k`].
    ///
    /// Scores of members are combined tile by tile as they are computed, and no member's score
    /// matrix ever exists. Where all scores of a query are needed at once (rules of ranks,
    /// standardised scores), each thread of the current rayon pool holds the scores of 32 queries
    /// with all candidates for one member at a time, and their combined scores: 384 bytes a
    /// candidate. A thread takes 32 queries at a time then, so a single query keeps one thread busy.
    /// The scores of members with a [second look](crate::Candidates::second_look) are those after it
    /// ([`SecondLook`](crate::SecondLook)); all scores of a query are needed at once then.
    ///
    /// The result does not depend on the number of threads. The order of the members changes sums of scores by
    /// rounding; it does not change sums of ranks and of reciprocal ranks. (Reciprocal ranks are rounded to multiples of about 10⁻¹⁵ T, which neighbours
    /// share beyond rank 10⁷.)
    ///
    /// # Errors
    /// [`Error::Unsupported`] when unstandardised scores of several members are combined and not all
    /// kernels are normalised; [`Error::Length`] unless there is one weight a member, one gold entry
    /// (and one list) a query; [`Error::OutOfRange`] for weights and constants that are not allowed, k
    /// above the number of candidates and gold rows that do not exist; [`Error::Inconsistent`] for
    /// weights that do not sum to 1 and a gold row that is not in its list; [`Error::At`] with
    /// [`Error::NotFinite`] when a score of a member overflows.
    pub fn decode(
        &self,
        pool: Pool,
        rule: &Combination,
        gold: &[Option<u32>],
        k: usize,
    ) -> Result<Vec<Decoded>, Error> {
        let fold = rule.fold(&self.members)?;
        self.check(pool, gold, k)?;
        let looks = |member: &Member| member.candidates.second_look().is_some();
        let plain = matches!(pool, Pool::Shared) && fold.values == Values::Scores;
        if let [member] = &self.members[..]
            && (looks(member) || plain)
        {
            let row = |row: u32| self.refinement.rows[0][row as usize];
            let gold: Vec<Option<u32>> = gold.iter().map(|gold| gold.map(row)).collect();
            let decoded = pool.decode(&member.queries, &gold, member.candidates, k);
            return decoded.map_err(|error| member_error(member, error));
        }
        let sweep = Sweep { ensemble: self, pool, fold: &fold, gold };
        match pool {
            Pool::Shared if plain && !self.members.iter().any(looks) => streamed::decode(&sweep, k),
            Pool::Shared | Pool::PerQuery(_) => whole::decode(&sweep, k),
        }
    }

    /// Ranks the gold candidate of every query; see [`Ensemble::decode`].
    ///
    /// # Errors
    /// As [`Ensemble::decode`].
    pub fn rank(
        &self,
        pool: Pool,
        rule: &Combination,
        gold: &[Option<u32>],
    ) -> Result<Vec<Option<Rank>>, Error> {
        let decoded = self.decode(pool, rule, gold, 0)?;
        Ok(decoded.into_iter().map(|query| query.rank).collect())
    }

    /// The k best candidates of every query, best first, ties in the order of the candidates; see
    /// [`Ensemble::decode`].
    ///
    /// # Errors
    /// As [`Ensemble::decode`]; [`Error::OutOfRange`] for k = 0.
    pub fn top_k(&self, pool: Pool, rule: &Combination, k: usize) -> Result<Vec<Vec<Hit>>, Error> {
        check_k(k, self.candidates().len() as u64)?;
        let decoded = self.decode(pool, rule, &vec![None; self.queries()], k)?;
        Ok(decoded.into_iter().map(|query| query.hits).collect())
    }
}
