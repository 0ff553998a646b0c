//! Perfect h of a sketch: the metrics of a model that meets the targets of the validation outputs exactly.

use dsokr_basis::{Basis, Projection};
use dsokr_core::Processes;
use dsokr_data::SplitName;

use crate::decoding::beyond::BeyondSearch;
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::metrics::metric::Needs;
use crate::metrics::scores::Scores;
use crate::targets::{OutputSpace, Problem, fit_basis};

/// The recommended size loses at most this share of the gain of the best size over no basis at all.
const WITHIN: f64 = 0.01;

/// A sketch of the training outputs of a problem.
pub(crate) struct DrawnSketch {
    /// Its basis.
    pub basis: Basis,
    /// The training outputs in it.
    pub targets: Projection,
}

impl DrawnSketch {
    /// Draws a sketch of a size by a seed.
    ///
    /// # Errors
    /// Outputs that the kernel or the sketch does not accept.
    pub(crate) fn draw(problem: &Problem, size: usize, seed: u64) -> Result<Self, Error> {
        let outputs = problem.weighted_rows();
        let basis =
            fit_basis(&problem.config, problem.kernel()?, &outputs, size, seed, &problem.ranks)?;
        let targets = basis.project_shared(&problem.ranks, &problem.rows())?;
        Ok(Self { basis, targets })
    }

    /// Returns the scores of perfect h on the validation split; where molecules are compared, of what a search beyond the
    /// candidates finds for it. The processes rank the candidates together.
    ///
    /// # Errors
    /// Candidates that cannot be placed or ranked.
    pub(crate) fn perfect(
        self,
        processes: &Processes,
        problem: &Problem,
    ) -> Result<Option<Scores>, Error> {
        let config = &problem.config;
        let space = OutputSpace::Basis(self.basis);
        let candidates = space.candidates(&problem.dataset.outputs, &problem.ranks)?;
        let candidates = candidates.joined(&problem.ranks)?;
        let evaluator = Evaluator::new(problem, &space, &candidates)?.shared_by(processes);
        let needs = config.evaluation.metric.needs();
        let compares = [Needs::Graphs, Needs::GraphsOrRankings].contains(&needs);
        let search = match &config.decoding.beyond {
            Some(settings) if compares => {
                let features = &problem.dataset.outputs.features;
                Some(BeyondSearch::for_training(settings, config, &candidates, features, None)?)
            }
            Some(_) | None => None,
        };
        evaluator.perfect(SplitName::Validation, search.as_ref())
    }
}

/// Returns the smallest size whose figure is within 1 % of the best, of its gain over `nothing`; 0 for no sizes.
pub(crate) fn smallest_good_size(
    figures: &[(usize, f64)],
    larger_is_better: bool,
    nothing: f64,
) -> usize {
    let values = figures.iter().map(|(_, figure)| *figure);
    let best = if larger_is_better {
        values.fold(f64::NEG_INFINITY, f64::max)
    } else {
        values.fold(f64::INFINITY, f64::min)
    };
    let within = WITHIN * (best - nothing).abs();
    let is_close = |(_, figure): &&(usize, f64)| (figure - best).abs() <= within;
    figures.iter().find(is_close).map_or(0, |(size, _)| *size)
}
