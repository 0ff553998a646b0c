//! Several models that rank the same candidates for the same queries.

mod alignment;
mod decode;
mod fit;
mod likelihood;
mod member;
mod models;
mod out_of_pool;
mod rivals;
mod rule;
mod streamed;
mod values;
mod whole;

use dsokr_core::{Error, Processes};

use self::member::member_error;
use self::models::Models;
use crate::candidates::Candidates;
use crate::metrics::Metrics;
use crate::pool::{MissingGold, Pool};
use crate::queries::Queries;
use crate::rank::Rank;
use crate::reranker::Reranker;
use crate::shards::{AllCandidates, Shards};

pub use alignment::Alignment;
pub use fit::{FittedWeights, fit_weights};
pub use likelihood::{LikelyWeights, likely_weights};
pub use member::Member;
pub use out_of_pool::OutOfPoolScores;
pub use rule::Combination;

/// Several models that rank the same candidates for the same queries.
///
/// The ensemble has the candidates of the first member, in its order; all indices and all [`PerQuery`](crate::PerQuery)
/// lists refer to them. Other members may have them in a different order. Candidates that are the same point under
/// every member are one row of the ensemble (the common refinement of the members' classes) and tie bit for bit.
///
/// It stays on the thread that creates it, because its [`Processes`] do. Within a pool of threads it is created there.
///
/// ```
/// use dsokr_decode::{CandidateParts, Candidates, Combination, Ensemble, Member, MissingGold, Pool, Queries};
///
/// let text = |ids: &[&str]| ids.iter().map(|id| id.to_string()).collect::<Vec<_>>();
/// let candidates = |dim, coordinates| {
///     let ids = text(&["a", "b", "c"]);
///     Candidates::new(CandidateParts { ids, dim, coordinates, ..CandidateParts::default() })
/// };
/// let one = candidates(1, vec![1.0, 0.8, 0.0])?;
/// let two = candidates(2, vec![0.0, 1.0, 0.9, 0.1, 0.5, 0.5])?;
/// let members = vec![
///     Member { name: "one", queries: Queries::new(1, &[1.0])?, candidates: &one, normalised: true },
///     Member { name: "two", queries: Queries::new(2, &[1.0, 0.0])?, candidates: &two, normalised: true },
/// ];
/// let ensemble = Ensemble::new(members)?;
/// let gold = ensemble.gold(Pool::Shared, &text(&["b"]), MissingGold::Error)?;
/// let found = ensemble.decode(Pool::Shared, &Combination::default(), &gold, 1)?;
/// assert_eq!(found[0].rank.map(|rank| rank.expected_rank()), Some(1.0));
/// assert!((found[0].hits[0].score - (0.8 + 0.9) / 2.0).abs() < 1e-6);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Ensemble<'a> {
    models: Models<'a>,
    /// The processes that share what is computed.
    processes: Processes,
}

impl<'a> Ensemble<'a> {
    /// Creates an ensemble of at least one member.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no members; [`Error::At`] for queries and candidates of different dimensions;
    /// [`Error::Inconsistent`], with the first difference, for members whose queries (in number, or by id where they
    /// have ids) or candidates differ from the first member's.
    pub fn new(members: Vec<Member<'a>>) -> Result<Self, Error> {
        Ok(Self { models: Models::new(members, None)?, processes: Processes::default() })
    }

    /// Creates an ensemble whose candidates are aligned already. The alignment must be that of these candidates, in the
    /// order of the members; only the numbers of members and of distinct rows are checked.
    ///
    /// # Errors
    /// The errors of [`Ensemble::new`]; [`Error::Shape`] and [`Error::Inconsistent`] for an alignment with other numbers of
    /// members or distinct rows.
    pub fn aligned(members: Vec<Member<'a>>, alignment: &'a Alignment) -> Result<Self, Error> {
        let models = Models::new(members, Some(alignment))?;
        Ok(Self { models, processes: Processes::default() })
    }

    /// Creates an ensemble of one model, with a reranker of its first candidates where there is one. Its errors do
    /// not name a member.
    ///
    /// # Errors
    /// The errors of [`Ensemble::new`] and [`with_rerankers`](Self::with_rerankers).
    pub fn one(
        queries: Queries<'a>,
        candidates: &'a Candidates,
        reranker: Option<&'a Reranker>,
    ) -> Result<Self, Error> {
        let member = Member { name: "", queries, candidates, normalised: false };
        Self::new(vec![member])?.with_rerankers(vec![reranker])
    }

    /// Creates an ensemble of one model, whose candidates are in shards that these processes have opened. All of them
    /// call the same methods in the same order. The rule does not matter to one model, and queries share all
    /// candidates.
    ///
    /// # Errors
    /// The errors of [`Ensemble::new`].
    pub fn sharded(
        processes: &Processes,
        name: &'a str,
        queries: Queries<'a>,
        shards: &'a Shards,
    ) -> Result<Self, Error> {
        let members = shards.held().take(1);
        let members =
            members.map(|candidates| Member { name, queries, candidates, normalised: false });
        let all = AllCandidates::Shards(shards);
        let models = Models { all, ..Models::new(members.collect(), None)? };
        Ok(Self { models, processes: processes.clone() })
    }

    /// Returns the ensemble with its work divided among processes, each of which has it whole. All of them call the
    /// same methods in the same order, and get the same results; by default a process works by itself.
    pub fn shared_by(self, processes: &Processes) -> Self {
        Self { processes: processes.clone(), ..self }
    }

    /// Sets a reranker of the first candidates of some members, an entry a member; see [`Reranker`].
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one entry a member; for a reranker of queries of a different
    /// dimension, or at the words of other candidates.
    pub fn with_rerankers(self, rerankers: Vec<Option<&'a Reranker>>) -> Result<Self, Error> {
        let models = self.models;
        Error::check_length("rerankers", rerankers.len(), models.members.len())?;
        for (member, reranker) in models.members.iter().zip(&rerankers) {
            let checked = reranker.map_or(Ok(()), |reranker| reranker.check(member.candidates));
            checked.map_err(|error| member_error(member, error))?;
        }
        Ok(Self { models: Models { rerankers, ..models }, ..self })
    }

    /// Returns the members.
    pub fn members(&self) -> &[Member<'a>] {
        &self.models.members
    }

    /// Returns the processes that share the work of the ensemble.
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Returns the candidates of the first member, which all members have, by id.
    pub fn candidates(&self) -> AllCandidates<'a> {
        self.models.all
    }

    /// Returns the number of queries.
    pub fn queries(&self) -> usize {
        self.models.queries()
    }

    /// Returns the number of distinct rows: candidates that differ under some member.
    pub fn distinct(&self) -> usize {
        self.models.distinct()
    }

    /// Returns the distinct row of the ensemble of a candidate, an index below the number of candidates, which are not
    /// in shards.
    pub fn class_of(&self, candidate: usize) -> u32 {
        self.models.class_of(candidate)
    }

    /// Returns distinct rows of the ensemble of the gold candidates, by id; see [`Pool::gold`].
    ///
    /// # Errors
    /// The errors of [`Pool::gold`] and [`AllCandidates::find`].
    pub fn gold(
        &self,
        pool: Pool,
        gold: &[String],
        missing: MissingGold,
    ) -> Result<Vec<Option<u32>>, Error> {
        let queries = self.models.members[0].queries;
        Error::check_length("gold ids", gold.len(), queries.len())?;
        self.models.check_pool(pool, gold.len())?;
        let mut places = self.candidates().find(&self.processes, gold)?;
        if let AllCandidates::Whole(_) = self.candidates() {
            places
                .iter_mut()
                .flatten()
                .for_each(|place| place.row = self.class_of(place.candidate));
        }
        pool.listed(|query| queries.name(query).into_owned(), gold, places, missing)
    }

    /// Returns metrics of the ranks of all queries.
    ///
    /// For [`Pool::PerQuery`], [`Metrics::candidates`] counts the candidates that occur in any list, each once, and
    /// [`Metrics::duplicate_candidates`] those among them that are the same point under every member as an earlier
    /// one of them, in the same list or not.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no queries; unless there is one list a query.
    pub fn metrics(&self, pool: Pool, ranks: &[Option<Rank>]) -> Result<Metrics, Error> {
        self.models.check_pool(pool, ranks.len())?;
        let class_of = |candidate| self.class_of(candidate);
        let (candidates, duplicates) =
            pool.counts(self.candidates().len(), self.distinct(), class_of);
        Metrics::from_ranks(ranks, candidates, duplicates)
    }
}
