//! What a metric summarises, query by query.

use dsokr_data::Truth;

use crate::Evaluation;
use crate::labels::label_rows;

/// The values of each query that a metric summarises, so that it can be computed on a resample.
pub(crate) enum Samples {
    /// Its mean.
    Mean(Vec<f64>),
    /// Its median, the mean of the two in the middle for an even number.
    Median(Vec<f64>),
    /// F1 of all labels of all queries together.
    MicroF1(LabelCounts),
    /// The mean over labels of the F1 of a label, those in no set of the queries left out: none of them is predicted
    /// wrongly or rightly.
    MacroF1(LabelCounts),
}

impl Samples {
    /// The metric of the queries at these positions, at least one; a position may occur repeatedly.
    pub fn value(&self, drawn: &[usize]) -> f64 {
        match self {
            Self::Mean(values) => {
                drawn.iter().map(|&query| values[query]).sum::<f64>() / drawn.len() as f64
            }
            Self::Median(values) => {
                let mut values: Vec<f64> = drawn.iter().map(|&query| values[query]).collect();
                let (below, middle, _) =
                    values.select_nth_unstable_by(drawn.len() / 2, f64::total_cmp);
                let upper = *middle;
                let lower = match drawn.len() % 2 {
                    0 => below.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    _ => upper,
                };
                (lower + upper) / 2.0
            }
            Self::MicroF1(counts) => {
                let counts = drawn.iter().flat_map(|&query| &counts.queries[query]);
                let (common, all) = counts.fold((0, 0), add);
                f1(common, all)
            }
            Self::MacroF1(counts) => {
                let mut sums = vec![(0, 0); counts.columns];
                for count in drawn.iter().flat_map(|&query| &counts.queries[query]) {
                    sums[count.0] = add(sums[count.0], count);
                }
                sums.retain(|&(_, all)| all > 0);
                let sum: f64 = sums.iter().map(|&(common, all)| f1(common, all)).sum();
                if sums.is_empty() { 1.0 } else { sum / sums.len() as f64 }
            }
        }
    }
}

/// The labels of the true and the predicted set of each query.
pub(crate) struct LabelCounts {
    /// Number of columns of [`label_rows`].
    pub columns: usize,
    /// Those that are in either set, for each query.
    pub queries: Vec<Vec<LabelCount>>,
}

/// A label that is in one of the two sets or in both, and in how many.
type LabelCount = (usize, u64);

/// Common labels and labels of both sets together, with one more label.
fn add((common, all): (u64, u64), &(_, sets): &LabelCount) -> (u64, u64) {
    (common + u64::from(sets == 2), all + sets)
}

impl LabelCounts {
    /// Those of an evaluation, if outputs are sets of labels.
    pub fn of(evaluation: &Evaluation) -> Option<Self> {
        let Some((Truth::Labels(truth), Truth::Labels(predicted))) = &evaluation.outputs else {
            return None;
        };
        let [truth, predicted] = label_rows(truth, predicted).ok()?;
        let queries = (0..truth.len()).map(|query| {
            let mut sets = vec![0; truth.width()];
            let ones = truth.ones(query).chain(predicted.ones(query));
            ones.for_each(|label| sets[label] += 1);
            let either = sets.into_iter().enumerate().filter(|&(_, sets)| sets > 0);
            either.collect()
        });
        Some(Self { columns: truth.width(), queries: queries.collect() })
    }

    /// Common labels, and labels of both sets together, of each query.
    pub fn sums(&self) -> impl Iterator<Item = (u64, u64)> {
        self.queries.iter().map(|counts| counts.iter().fold((0, 0), add))
    }
}

/// `2c / (t + q)` of c common labels and t + q labels of both sets; 1 for none.
pub(super) fn f1(common: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { 2.0 * common as f64 / all as f64 }
}
