//! The memory and the time that the fit of a prepared machine takes, estimated before it begins.

use dsokr_basis::RowKind;
use dsokr_core::processes::Held;
use dsokr_data::Dataset;
use dsokr_machines::{Cost, FitSize, Solver};

use super::prepared::PreparedMachine;
use crate::config::{Checked, HeldOutPredictions, KernelMachineConfig};
use crate::targets::memory::Need;

/// Multiplications in single precision that take as long as one value of a kernel of sparse rows: 18 ns of parts of molecules,
/// where a core multiplies 42 thousand million times a second.
const SPARSE_VALUE: f64 = 750.0;

impl KernelMachineConfig {
    /// Returns the cost of a fit, including that of the weights of n-grams.
    fn cost(&self, size: &FitSize) -> Cost {
        let cost = self.solver.cost(size);
        let first = if self.learns_columns() {
            self.solver.cost(&FitSize { lambdas: 1, ..*size }).multiplications
        } else {
            0.0
        };
        Cost { multiplications: cost.multiplications + first, ..cost }
    }
}

/// Returns the size of a fit of one λ on all threads, to pairs that have a target each.
fn fit_size(pairs: usize, coordinates: usize) -> FitSize {
    let threads = rayon::current_num_threads();
    FitSize { pairs, targets: pairs, coordinates, lambdas: 1, threads }
}

impl PreparedMachine<'_> {
    /// Returns the memory and time of the fit, of the weights of output kernels, and of the machines without a fold of the pairs.
    pub(super) fn all_needs(&self, coordinates: usize) -> Vec<Need> {
        let settings = self.settings;
        let config = &self.problem.config;
        let dataset = &self.problem.dataset;
        let machine = self.machine_need(coordinates);
        let mut needs = vec![machine.clone()];
        if self.problem.lacks_weights() {
            let need = weights_need(settings, config, dataset);
            // the rest comes when it has been given back
            let outputs = self.problem.needs(self.held.as_ref().map_or(1.0, Held::share));
            let rest = outputs.iter().chain([&machine]).map(|need| need.bytes).sum::<f64>();
            needs.push(Need { bytes: (need.bytes - rest).max(0.0), ..need });
        }
        needs.extend(self.fold_need(coordinates));
        needs
    }

    /// Returns the memory and time of the fit of the machine by itself.
    pub(super) fn machine_need(&self, coordinates: usize) -> Need {
        let Self { settings, problem, rows, .. } = self;
        // without a sketch the targets are places of outputs, which the factor is not applied to
        let coordinates = if problem.config.sketch.full { 0 } else { coordinates };
        let lambdas = settings.lambda.values().len();
        let targets = problem.held_targets();
        let size = FitSize { targets, lambdas, ..fit_size(rows.len(), coordinates) };
        let Cost { bytes, multiplications } = settings.cost(&size);
        let multiplications = multiplications + self.kernel_values(lambdas);
        let keys = match settings.solver.sketch() {
            Some(_) => "encoder.solver.sketch.size",
            None => "encoder.solver.name",
        };
        Need { multiplications, ..Need::memory(keys, "the kernel machine", bytes) }
    }

    /// Returns the memory and time of the machines that are fitted without a fold of the pairs, for a reranker.
    fn fold_need(&self, coordinates: usize) -> Option<Need> {
        let Self { settings, problem, .. } = self;
        let reranker = problem.config.decoding.reranker.as_ref()?;
        if !reranker.refit || settings.held_out() < HeldOutPredictions::Parts {
            return None;
        }
        let folds = reranker.parts(settings.held_out());
        let rest = folds.rest(problem.len());
        let Cost { bytes, multiplications } = settings.cost(&fit_size(rest, coordinates));
        let multiplications = folds.held_out_folds as f64 * multiplications;
        let what = "machines without a fold of the pairs";
        Some(Need { multiplications, ..Need::memory("decoding.reranker", what, bytes) })
    }

    /// Returns the multiplications that take as long as the values of the kernels of inputs, where these are compared with a
    /// sketch.
    fn kernel_values(&self, lambdas: usize) -> f64 {
        let Self { settings, rows, .. } = self;
        let (Some(sketch), Ok((features, _))) = (settings.solver.sketch(), rows.features()) else {
            return 0.0;
        };
        let of_value =
            if features.kind() == RowKind::Sparse { SPARSE_VALUE } else { features.width() as f64 };
        let kernels = settings.summands().count().max(1);
        let passes = match &settings.solver {
            // several λ are compared in a pass of their own
            Solver::Sketched(_) => lambdas.min(2),
            // each λ has a fit of its own
            Solver::ConjugateGradients(_) | Solver::DivideAndConquer(_) | Solver::Lipschitz(_) => {
                lambdas
            }
            Solver::ClosedForm(_) => 1,
        };
        let values = rows.len() as f64 * sketch.size as f64 * (kernels * passes) as f64;
        values * of_value
    }
}

/// Returns the memory and time of the weights of output kernels.
fn weights_need(settings: &KernelMachineConfig, config: &Checked, dataset: &Dataset) -> Need {
    let n = dataset.train.ids.len();
    let candidates = dataset.outputs.candidates.len() as f64;
    let sizes = config.output.summands().map(|kernel| kernel.size.min(n));
    let (width, widest) = sizes.fold((0, 0), |(sum, most), size| (sum + size, size.max(most)));
    let cost = |width| settings.cost(&fit_size(n, width));
    let Cost { bytes, multiplications } = cost(width);
    // the fit with the coordinates of outputs and its targets; then the system with the coordinates,
    // the predictions twice, and the candidates of all kernels while one is being made
    let values = n as f64 * width as f64;
    let fit = bytes + 12.0 * values;
    let scores = cost(0).bytes + 12.0 * values + candidates * (4 * width + 12 * widest) as f64;
    let bytes = fit.max(scores);
    Need { multiplications, ..Need::memory("output.weights", "the weights of the kernels", bytes) }
}
