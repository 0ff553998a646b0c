//! The correction for hubs, candidates that are near every query.

use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

use crate::blocks::CandidateBlocks;
use crate::error::ensure_allowed;
use crate::queries::Queries;
use crate::scoring::{
    self, Blocking, Buffers, Pass, QueryTile, Score, Span, finite, refuse_infinite,
};

/// How much of a hub each distinct candidate row is: `h(c)`, the mean of the k largest similarities
/// `⟨z_i, ψ̃(c)⟩` over predictions z_i of training queries.
///
/// In many dimensions some points are near everything, and win queries that they have nothing to do
/// with. Scores with the constant `b(c) − w h(c)` in the place of b(c) take that from them: the
/// cross-domain similarity local scaling of Conneau et al. (2018), whose term of the query itself
/// changes no ranks. A weight of 0.5 and 10 neighbours raise the validation MRR on ChEBI-20 with
/// tempered Mol2vec from .38 to .41.
///
/// Two promises are the caller's. The predictions have not seen their own targets (leave-one-out or
/// cross-fitted): others lie on their targets, which become hubs whatever they are. And all
/// predictions, these and the queries that are decoded, are on one scale, for h(c) is subtracted from
/// scores of both long and short ones: give both at unit length ([`Queries::normalised`](crate::Queries::normalised)),
/// which takes candidates of a normalised kernel, whose other constants are 0.
///
/// The means do not depend on the weight, so that it is chosen on validation queries without computing
/// them again:
///
/// ```
/// use dsokr_decode::{CandidateParts, Candidates, Hubs, Queries, top_k};
///
/// let ids = ["hub", "other"].map(String::from).to_vec();
/// let coordinates = vec![1.0, 1.0, 0.0, 1.0];
/// let mut candidates =
///     Candidates::new(CandidateParts { ids, dim: 2, coordinates, ..CandidateParts::default() })?;
/// let held_out = [1.0, 0.0, 0.75, 0.5, 0.5, 0.75];
/// let hubs = Hubs::fit(&Queries::new(2, &held_out)?, &candidates, 2)?;
/// assert_eq!(hubs.means, [1.25, 0.625]);
///
/// let query = Queries::new(2, &[0.25, 1.0])?;
/// let mut winners = Vec::new();
/// for weight in [0.0, 0.5] {
///     candidates = candidates.with_hubs(hubs.clone(), weight)?;
///     winners.push(candidates.id(top_k(&query, &candidates, 1)?[0][0].candidate).to_owned());
/// }
/// assert_eq!(winners, ["hub", "other"]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hubs {
    /// k, how many similarities a mean is of.
    pub neighbours: usize,
    /// h(c) of all distinct rows.
    pub means: Vec<f32>,
}

impl Hubs {
    /// Computes h(c) of all distinct rows with k = `neighbours`. The constants of the candidates play no part.
    ///
    /// The computation is one pass over the candidates, in tiles. It takes the time of scoring the predictions, and the
    /// memory of 2k numbers for each row of the blocks at work. It runs on the current rayon pool. The result does not
    /// depend on the size of the pool, on the order of the predictions, or on how the candidates are cut into blocks.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for k of 0 or above the number of predictions; the errors of
    /// [`top_rows`](crate::top_rows).
    pub fn fit(
        predictions: &Queries,
        candidates: &dyn CandidateBlocks,
        neighbours: usize,
    ) -> Result<Self, Error> {
        let threads = rayon::current_num_threads();
        let mut blocking = Blocking::for_dim(predictions.dim());
        // So few rows that there would be fewer spans than threads are cut finer.
        let share = candidates.rows().div_ceil(4 * threads).max(16);
        blocking.span = blocking.span.min(share);
        scoring::check(predictions, candidates)?;
        let count = predictions.len();
        ensure_allowed(
            (1..=count).contains(&neighbours),
            format_args!("{neighbours} neighbours of {count} predictions"),
            format_args!("1 to {count}"),
        )?;
        let tiles = QueryTile::all(predictions, false);
        let scores = candidates.rows() * tiles.len();
        let stage = Cancellation::current().stage("similarity of the candidates", scores);
        let mut means = vec![0.0f32; candidates.rows()];
        means.par_chunks_mut(blocking.span).enumerate().try_for_each_init(
            Buffers::default,
            |buffers, (at, means)| {
                let first = at * blocking.span;
                let span = Span::new(candidates, first..first + means.len(), false)?;
                let none = Largest { k: neighbours, bar: f32::NEG_INFINITY, kept: Vec::new() };
                let mut lists = vec![none; means.len()];
                for tile in &tiles {
                    stage.advance(means.len())?;
                    Pass::new(tile, &span, blocking.rows, buffers).each(|scores| {
                        let lists = &mut lists[scores.first_row - first..];
                        let mut largest = 0;
                        for (products, list) in scores.table.chunks_exact(scores.lanes).zip(lists) {
                            let products = &products[..tile.queries.len()];
                            let magnitudes = products.iter().map(|product| product.magnitude());
                            largest = magnitudes.fold(largest, u32::max);
                            list.offer(products);
                        }
                        let rows = (scores.first_row..).map(|row| (row, 0.0));
                        if finite(largest) {
                            Ok(())
                        } else {
                            refuse_infinite(predictions, tile, rows, scores.table)
                        }
                    })?;
                }
                means.iter_mut().zip(lists).for_each(|(mean, list)| *mean = list.mean());
                Ok::<(), Error>(())
            },
        )?;
        Ok(Self { neighbours, means })
    }
}

/// The k largest of numbers that come tile by tile.
#[derive(Clone)]
struct Largest {
    k: usize,
    /// A number below it is not among them.
    bar: f32,
    /// Up to 2k numbers that include the k largest so far.
    kept: Vec<f32>,
}

impl Largest {
    fn offer(&mut self, values: &[f32]) {
        for &value in values {
            if value > self.bar {
                self.kept.push(value);
                if self.kept.len() == 2 * self.k {
                    self.cut();
                }
            }
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > self.k {
            self.kept.select_nth_unstable_by(self.k - 1, |a, b| b.total_cmp(a));
            self.kept.truncate(self.k);
        }
        if let Some(least) = self.kept.get(self.k - 1) {
            self.bar = *least;
        }
    }

    /// Returns the mean of the k largest, added in descending order, so that it does not depend on the order in which
    /// they came.
    fn mean(mut self) -> f32 {
        self.cut();
        self.kept.sort_unstable_by(|a, b| b.total_cmp(a));
        let sum: f64 = self.kept.iter().map(|&value| f64::from(value)).sum();
        (sum / self.k as f64) as f32
    }
}
