//! How large a sketch should be: *perfect h* against the sketch size.

use std::time::Instant;

use serde::Serialize;

use crate::config::{Checked, SplitName};
use crate::data::{DataRoot, Dataset, Selected};
use crate::fit::{basis, candidates};
use crate::judge::Judge;
use crate::scores::Origin;
use crate::{Error, Recipe, Scores};

/// A curve stops being worth its cost where a further step gains less than this share of the best
/// figure.
const WITHIN: f64 = 0.01;

/// What a sketch of one size allows, over several draws.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// m, the sketch size.
    pub size: usize,
    /// Mean number of coordinates p.
    pub rank: f64,
    /// Mean squared distance of a training output from the span of the basis.
    pub residual: f64,
    /// Mean over the draws of the figure that `training.metric` names.
    pub mean: f64,
    /// Its standard deviation over the draws; 0 for one draw.
    pub deviation: f64,
    /// The scores of each draw.
    pub draws: Vec<Scores>,
    /// Seconds that fitting, projecting and judging took, all draws together.
    pub seconds: f64,
}

/// *Perfect h* (thesis, section 5.3): targets of validation outputs in the place of the encoder's
/// answers, for sketches of growing size. It is what a perfect encoder would reach.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The run's name.
    pub name: String,
    /// The figure, as `training.metric` names it.
    pub metric: String,
    /// The points, in the order of the sizes given.
    pub points: Vec<Point>,
    /// The smallest size within 1 % of the best figure.
    pub recommended: usize,
    /// The eigenvalues of the largest sketch's first draw, descending.
    pub spectrum: Vec<f64>,
}

/// Draws `draws` sketches of each size, by the method and the seed of the configuration (the second
/// draw has the seed after it, and so on), and judges them on the validation split.
///
/// `found` is told of each point as it is known.
///
/// # Errors
/// No size, no draw, or sizes that do not increase; a size above the number of training outputs;
/// whatever is wrong with the data.
pub fn curve<R: Recipe>(
    config: &Checked<R>,
    root: &DataRoot,
    sizes: &[usize],
    draws: usize,
    mut found: impl FnMut(&Point),
) -> Result<Curve, Error> {
    let wrong = |key: &str, found: String, allowed: &str| Error::Value {
        key: key.into(),
        found,
        allowed: allowed.into(),
    };
    if sizes.is_empty() || sizes.windows(2).any(|pair| pair[0] >= pair[1]) || sizes[0] == 0 {
        let allowed = "increasing sizes of at least 1";
        return Err(wrong("--sizes", format!("{sizes:?}"), allowed));
    }
    if draws == 0 {
        return Err(wrong("--draws", "0".into(), "at least 1"));
    }
    let dataset = Dataset::load(config, root)?;
    let rows: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
    let outputs = Selected::new(dataset.outputs.rows.as_ref(), &rows);
    if let Some(&size) = sizes.iter().find(|&&size| size > rows.len()) {
        let allowed = format!("at most {}, the number of training outputs", rows.len());
        return Err(wrong("--sizes", size.to_string(), &allowed));
    }
    let metric = config.training.metric;
    let (mut points, mut spectrum) = (Vec::new(), Vec::new());
    for &size in sizes {
        let started = Instant::now();
        let (mut scores, mut rank, mut residual) = (Vec::new(), 0.0, 0.0);
        for draw in 0..draws {
            let seed = config.seed.wrapping_add(draw as u64);
            let basis = basis(config, &outputs, size, seed)?;
            let targets = basis.project(&outputs)?;
            let candidates = candidates(&basis, &dataset.outputs)?;
            let judge =
                Judge::new(config, root, &dataset, Some(&basis), (&candidates, &Origin::Zero))?;
            scores.extend(judge.perfect(SplitName::Validation)?);
            rank += basis.rank() as f64 / draws as f64;
            let n = (targets.residuals.len() * draws) as f64;
            residual += targets.residuals.iter().sum::<f64>() / n;
            if draw == 0 {
                spectrum = basis.spectrum().to_vec();
            }
        }
        let figures: Vec<f64> = scores.iter().map(|scores| metric.value(scores)).collect();
        let mean = figures.iter().sum::<f64>() / draws as f64;
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        let deviation = (squares / (draws as f64 - 1.0).max(1.0)).sqrt();
        let seconds = started.elapsed().as_secs_f64();
        let point = Point { size, rank, residual, mean, deviation, draws: scores, seconds };
        found(&point);
        points.push(point);
    }
    let recommended = recommended(&points, metric.larger_is_better());
    let metric = metric.to_string();
    Ok(Curve { name: config.name.clone(), metric, points, recommended, spectrum })
}

/// The smallest size within 1 % of the best.
fn recommended(points: &[Point], larger_is_better: bool) -> usize {
    let figures = points.iter().map(|point| point.mean);
    let best = if larger_is_better {
        figures.fold(f64::NEG_INFINITY, f64::max)
    } else {
        figures.fold(f64::INFINITY, f64::min)
    };
    let close = |point: &&Point| (point.mean - best).abs() <= WITHIN * best.abs();
    points.iter().find(close).map_or(0, |point| point.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_size_within_one_percent_is_recommended() {
        let points = |means: &[f64]| -> Vec<Point> {
            let sizes = (1..).map(|size| size * 10);
            let point = |(size, &mean)| Point {
                size,
                rank: 0.0,
                residual: 0.0,
                mean,
                deviation: 0.0,
                draws: Vec::new(),
                seconds: 0.0,
            };
            sizes.zip(means).map(point).collect()
        };
        assert_eq!(recommended(&points(&[0.2, 0.5, 0.896, 0.9, 0.895]), true), 30);
        assert_eq!(recommended(&points(&[4.0, 2.0, 1.009, 1.0]), false), 30);
        assert_eq!(recommended(&points(&[4.0, 2.0, 0.0]), false), 30);
    }
}
