use dsokr_basis::random::generator;
use dsokr_basis::{Basis, Projection};
use dsokr_decode::{Candidates, Metrics, PerQuery, Pool, Rank};
use dsokr_nn::Model;
use rand::RngExt;

use crate::config::{Checked, SplitName};
use crate::data::{DataRoot, Dataset, Selected, Split, Structure};
use crate::run::{Report, rank};
use crate::scores::{Scores, compare, drawing, predicted};
use crate::trainer::embed;
use crate::{Error, Prepare, Recipe};

/// Molecules that are drawn.
const EXAMPLES: usize = 20;

/// Ranks splits, and knows their chance level and ceiling.
pub(crate) struct Judge<'a, R> {
    config: &'a Checked<R>,
    dataset: &'a Dataset,
    basis: &'a Basis,
    candidates: &'a Candidates,
    /// Per-query candidate lists of each split, where the configuration names a file of them.
    lists: Vec<(SplitName, PerQuery)>,
}

impl<'a, R: Recipe> Judge<'a, R> {
    pub(crate) fn new(
        config: &'a Checked<R>,
        root: &DataRoot,
        dataset: &'a Dataset,
        basis: &'a Basis,
        candidates: &'a Candidates,
    ) -> Result<Self, Error> {
        let mut lists = Vec::new();
        let mut splits = vec![SplitName::Validation];
        splits.extend((config.evaluation.split == SplitName::Test).then_some(SplitName::Test));
        for name in splits {
            let Some(split) = dataset.split(name) else { continue };
            if let Some(file) = &config.evaluation.candidates {
                lists.push((name, PerQuery::read(&root.file(file), &split.ids, candidates)?));
            }
            // a missing gold is known now, not after the first epoch
            let pool = pool(&lists, name);
            let missing = config.evaluation.missing_gold;
            let gold = pool.gold(&split.ids, &split.ids, candidates, missing)?;
            let metric = config.training.metric;
            if metric.is_a_rank() && name == SplitName::Validation && gold.contains(&None) {
                return Err(Error::Value {
                    key: "training.metric".into(),
                    found: format!("{metric:?}"),
                    allowed: "mrr or hits, since ranks of validation queries are infinite".into(),
                });
            }
        }
        Ok(Self { config, dataset, basis, candidates, lists })
    }

    pub(crate) fn pool(&self, name: SplitName) -> Pool<'_> {
        pool(&self.lists, name)
    }

    fn split(&self, name: SplitName) -> &Split {
        self.dataset.split(name).unwrap_or(&self.dataset.validation)
    }

    pub(crate) fn rank(&self, name: SplitName, z: &[f32]) -> Result<Vec<Option<Rank>>, Error> {
        let ids = &self.split(name).ids;
        rank(ids, z, self.basis, self.candidates, self.pool(name), self.config)
    }

    /// What coordinates `z` `[queries × p]` are worth on a split.
    pub(crate) fn scores(&self, name: SplitName, z: &[f32]) -> Result<Scores, Error> {
        let pool = self.pool(name);
        let ranks = pool.metrics(&self.rank(name, z)?, self.candidates)?;
        let truth = self.split(name).structures.as_deref();
        let molecules =
            |truth| compare(truth, &predicted(z, self.basis.rank(), self.candidates, pool)?);
        Ok(Scores { ranks, molecules: truth.map(molecules).transpose()? })
    }

    /// A random order of the candidates; of molecules, one candidate drawn for each query.
    fn chance(
        &self,
        name: SplitName,
        ranks: &[Option<Rank>],
        m: &Metrics,
    ) -> Result<Scores, Error> {
        let chance = Metrics::chance(ranks, m.candidates, m.duplicate_candidates)?;
        let drawn = |truth: &Vec<Structure>| {
            let mut random = generator(self.config.seed, "chance", 0);
            let candidate = |_: &Structure| random.random_range(0..self.candidates.len());
            let drawn = truth.iter().map(candidate).map(|c| self.candidates.label(c));
            compare(truth, &drawn.map(Structure::of_candidate).collect::<Result<Vec<_>, _>>()?)
        };
        let molecules = self.split(name).structures.as_ref().map(drawn).transpose()?;
        Ok(Scores { ranks: chance, molecules })
    }

    /// Scores with ψ̃(y) in the place of the model's answer; a query without output has rank ∞.
    pub(crate) fn perfect(&self, name: SplitName) -> Result<Scores, Error> {
        let split = self.split(name);
        let known: Vec<usize> = split.outputs.iter().flatten().copied().collect();
        let outputs = Selected::new(self.dataset.outputs.rows.as_ref(), &known);
        let Projection { coordinates, .. } = self.basis.project(&outputs)?;
        let p = self.basis.rank();
        let mut rows = coordinates.chunks_exact(p);
        let mut z = vec![0.0; split.ids.len() * p];
        for (z, output) in z.chunks_exact_mut(p).zip(&split.outputs) {
            if let Some(row) = output.and_then(|_| rows.next()) {
                z.copy_from_slice(row);
            }
        }
        self.scores(name, &z)
    }

    /// The report, and drawings of the first queries where outputs are molecules.
    pub(crate) fn report(
        &self,
        model: &Model<R::Encoder>,
        preparation: &R::Preparation,
    ) -> Result<(Report, Option<String>), Error> {
        let name = self.config.evaluation.split;
        let inputs = preparation.inputs(self.split(name))?;
        let z = embed(model, &inputs, self.config.evaluation.batch);
        let ranks = self.rank(name, &z)?;
        let metrics = self.scores(name, &z)?;
        let chance = self.chance(name, &ranks, &metrics)?;
        let drawn = |truth: &Vec<Structure>| {
            let n = truth.len().min(EXAMPLES);
            let all = predicted(&z, self.basis.rank(), self.candidates, self.pool(name))?;
            drawing(&truth[..n], &all[..n])
        };
        let drawn = self.split(name).structures.as_ref().map(drawn).transpose()?;
        Ok((Report { split: name, chance, perfect_h: self.perfect(name)?, metrics }, drawn))
    }
}

fn pool(lists: &[(SplitName, PerQuery)], name: SplitName) -> Pool<'_> {
    let own = lists.iter().find(|(split, _)| *split == name);
    own.map_or(Pool::Shared, |(_, list)| Pool::PerQuery(list))
}
