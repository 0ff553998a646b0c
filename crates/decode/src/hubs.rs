use dsokr_basis::Cancellation;
use rayon::prelude::*;

use crate::scoring::{self, Blocking, Buffers, Pass, QueryTile, Score, Span, finite};
use crate::{CandidateBlocks, Error, Hubs, Queries};

impl Hubs {
    /// h(c) of all distinct rows, k = `neighbours`; the constants of the candidates play no part.
    ///
    /// One pass over the candidates, in tiles: time is that of scoring the predictions, memory that of
    /// 2k numbers for each row of the blocks at work. Runs on the current rayon pool; the result
    /// does not depend on its size, on the order of the predictions, or on how the candidates are cut
    /// into blocks.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for k of 0 or above the number of predictions; else as
    /// [`top_rows`](crate::top_rows).
    pub fn of(
        predictions: &Queries,
        candidates: &dyn CandidateBlocks,
        neighbours: usize,
    ) -> Result<Self, Error> {
        let threads = rayon::current_num_threads();
        let mut blocking = Blocking::of(predictions.dim());
        // So few rows that there would be fewer spans than threads are cut finer.
        let share = candidates.rows().div_ceil(4 * threads).max(16);
        blocking.span = blocking.span.min(share);
        Self::of_in(predictions, candidates, neighbours, blocking)
    }

    pub(crate) fn of_in(
        predictions: &Queries,
        candidates: &dyn CandidateBlocks,
        neighbours: usize,
        blocking: Blocking,
    ) -> Result<Self, Error> {
        scoring::check(predictions, candidates)?;
        if neighbours == 0 || neighbours > predictions.len() {
            let predictions = predictions.len();
            return Err(Error::out_of_range(
                format!("{neighbours} neighbours of {predictions} predictions"),
                format!("1 to {predictions}"),
            ));
        }
        let tiles = QueryTile::all(predictions, blocking);
        let cancellation = Cancellation::current();
        let mut means = vec![0.0f32; candidates.rows()];
        means.par_chunks_mut(blocking.span).enumerate().try_for_each_init(
            Buffers::default,
            |buffers, (at, means)| {
                let first = at * blocking.span;
                let span = Span::new(candidates, first..first + means.len(), false)?;
                let mut lists: Vec<_> = means.iter().map(|_| Largest::new(neighbours)).collect();
                for tile in &tiles {
                    cancellation.check()?;
                    Pass::new(tile, &span, blocking.rows, buffers).each(|scores| {
                        let rows = scores.table.chunks_exact(scores.lanes).zip(scores.first_row..);
                        for ((products, row), list) in
                            rows.zip(&mut lists[scores.first_row - first..])
                        {
                            let products = &products[..tile.queries.len()];
                            list.offer(products).map_err(|lane| {
                                let query = tile.queries.start + lane;
                                scoring::not_finite(predictions, query, row, products[lane])
                            })?;
                        }
                        Ok(())
                    })?;
                }
                means.iter_mut().zip(lists).for_each(|(mean, list)| *mean = list.mean());
                Ok::<(), Error>(())
            },
        )?;
        Ok(Self::new(neighbours, means))
    }
}

/// The k largest of numbers that come one tile after another.
struct Largest {
    k: usize,
    /// A number below it is not among them.
    bar: f32,
    /// Up to 2k numbers, the k largest so far among them.
    kept: Vec<f32>,
}

impl Largest {
    fn new(k: usize) -> Self {
        Self { k, bar: f32::NEG_INFINITY, kept: Vec::new() }
    }

    /// Takes numbers in; refuses them with the place of one that is not finite.
    fn offer(&mut self, values: &[f32]) -> Result<(), usize> {
        let largest = values.iter().fold(0, |largest, value| value.magnitude().max(largest));
        if !finite(largest) {
            return Err(values.iter().position(|value| !value.is_finite()).unwrap_or(0));
        }
        for &value in values {
            if value > self.bar {
                self.kept.push(value);
                if self.kept.len() == 2 * self.k {
                    self.cut();
                }
            }
        }
        Ok(())
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

    /// Their mean; in descending order, so that it does not depend on the order they came in.
    fn mean(mut self) -> f32 {
        self.cut();
        self.kept.sort_unstable_by(|a, b| b.total_cmp(a));
        let sum: f64 = self.kept.iter().map(|&value| f64::from(value)).sum();
        (sum / self.k as f64) as f32
    }
}
