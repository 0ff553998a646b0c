//! The metric of a sweep against each of its keys.

use std::path::Path;

use dsokr::Error;
use dsokr::sweep::{Sweep, SweepRun};
use plotters::prelude::*;

use super::{Area, COLORS, SIZE, range, said, save};

/// The axis of a key: numbers, on a logarithmic scale where they span more than a factor of ten, or
/// the values side by side.
struct KeyAxis {
    /// The place of each run's value.
    places: Vec<f64>,
    /// What is written at a place.
    label: Box<dyn Fn(f64) -> String>,
    /// Whether every place that is labelled is a whole number.
    values: Option<usize>,
}

/// A panel for each key: a point with its 95 % interval for each run, the best one in red.
pub fn sweep(path: &Path, sweep: &Sweep) -> Result<(), Error> {
    let runs: Vec<&SweepRun> = sweep.runs.iter().filter(|run| run.value.is_some()).collect();
    if runs.is_empty() {
        return Ok(());
    }
    let panels = sweep.keys.len().max(1);
    let width = if panels > 1 { SIZE.0 * 2 / 3 } else { SIZE.0 };
    save(path, (width * panels as u32, SIZE.1), |root| {
        let areas = root.split_evenly((1, panels));
        areas.iter().zip(&sweep.keys).enumerate().try_for_each(|(at, (area, key))| {
            let values: Vec<&str> = runs.iter().map(|run| run.setting[at].as_str()).collect();
            draw(area, key, &format!("validation {}", sweep.metric), &axis(&values), &runs)
        })
    })
}

fn axis(values: &[&str]) -> KeyAxis {
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
    match numbers.filter(|numbers| numbers.iter().all(|number: &f64| number.is_finite())) {
        Some(numbers) => {
            let ends = range(numbers.iter().copied()).unwrap_or(0.0..1.0);
            match ends.start > 0.0 && ends.end > 10.0 * ends.start {
                true => KeyAxis {
                    places: numbers.iter().map(|number| number.log10()).collect(),
                    label: Box::new(|place| short(10f64.powf(place))),
                    values: None,
                },
                false => KeyAxis { places: numbers, label: Box::new(short), values: None },
            }
        }
        None => {
            let mut names: Vec<String> = Vec::new();
            let place = |value: &&str| {
                let known = names.iter().position(|name| name == value);
                known.unwrap_or_else(|| {
                    names.push((*value).to_owned());
                    names.len() - 1
                }) as f64
            };
            let places = values.iter().map(place).collect();
            let count = names.len();
            let label = move |place: f64| {
                let whole = (place - place.round()).abs() < 1e-6 && place > -0.5;
                let name = if whole { names.get(place.round() as usize) } else { None };
                name.cloned().unwrap_or_default()
            };
            KeyAxis { places, label: Box::new(label), values: Some(count) }
        }
    }
}

/// A number in few characters.
fn short(number: f64) -> String {
    let size = number.abs();
    match size == 0.0 || (0.01..10_000.0).contains(&size) {
        true => format!("{}", (number * 1e3).round() / 1e3),
        false => format!("{number:.0e}"),
    }
}

fn draw(
    area: &Area,
    key: &str,
    metric: &str,
    axis: &KeyAxis,
    runs: &[&SweepRun],
) -> Result<(), String> {
    let across = range(axis.places.iter().copied()).unwrap_or(0.0..1.0);
    let margin =
        (0.08 * (across.end - across.start)).max(0.5 * f64::from(u8::from(across.is_empty())));
    let ends = runs.iter().flat_map(|run| {
        let [low, high] = run.ci95.unwrap_or([run.value.unwrap_or(0.0); 2]);
        [low, high]
    });
    let heights = range(ends).unwrap_or(0.0..1.0);
    let above = (0.05 * (heights.end - heights.start)).max(1e-6);
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(
            across.start - margin..across.end + margin,
            heights.start - above..heights.end + above,
        )
        .map_err(said)?;
    chart
        .configure_mesh()
        .x_desc(key)
        .y_desc(metric)
        .x_labels(axis.values.map_or(5, |values| (2 * values).max(2)))
        .x_label_formatter(&|place| (axis.label)(*place))
        .light_line_style(WHITE.mix(0.0))
        .draw()
        .map_err(said)?;
    // the best run is the first one; it is drawn last, above the others
    for (at, (run, &place)) in runs.iter().zip(&axis.places).enumerate().rev() {
        let color = if at == 0 { COLORS[1] } else { COLORS[0] };
        let Some(value) = run.value else { continue };
        if let Some([low, high]) = run.ci95 {
            let bar =
                PathElement::new([(place, low), (place, high)], color.mix(0.4).stroke_width(1));
            chart.draw_series([bar]).map_err(said)?;
        }
        chart.draw_series([Circle::new((place, value), 4, color.filled())]).map_err(said)?;
    }
    Ok(())
}
