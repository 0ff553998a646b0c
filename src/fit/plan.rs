//! Estimates of a run's memory and time, before it is started.

use std::fmt;
use std::time::{Duration, Instant};

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use rayon::prelude::*;
use serde::Serialize;

use dsokr_core::Processes;
use dsokr_core::memory::resident;
use dsokr_core::processes::Held;

use super::Request;
use super::decoding::Corrections;
use super::reranker::{need as reranker_need, texts_needs};
use crate::config::Checked;
use crate::error::Error;
use crate::learners::learner::Fit;
use crate::targets::Problem;
use crate::targets::memory::{Budget, Bytes, Limit, Need, available};

/// Bytes that the command's allocator takes ahead, and small buffers.
const RESERVE: f64 = 32e6;

/// Seconds that every run takes: files of the run, evaluations of a small table and its report.
const LEAST: f64 = 0.6;

/// The time of a run's products over that of the ones that are timed: some are of narrow matrices, some run on one thread.
const OTHER_SHAPES: f64 = 1.15;

/// The multiplications of a thread, and the bytes of all of them, that take ten seconds or more.
const MANY_PRODUCTS: f64 = 3e11;
const MUCH_TRAFFIC: f64 = 2e11;

/// How long products, and copies, are timed.
const TIMED: Duration = Duration::from_millis(100);

/// Rows and columns of the products that are timed.
const SIDE: usize = 384;

/// The memory and the time that a run will take.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The name of the configuration.
    pub name: String,
    /// Bytes that the program holds with the data.
    pub held: f64,
    /// Needs in addition.
    pub needs: Vec<Need>,
    /// Bytes in all, without those of a GPU.
    pub bytes: f64,
    /// Bytes in all of a GPU; 0 where none is used.
    pub gpu_bytes: f64,
    /// Seconds: what loading the data and preparing the inputs took now, the counted multiplications at the speed of
    /// products that was measured, the bytes read and written at that of a copy, and what every run takes.
    /// Steps on a GPU are not counted.
    pub seconds: f64,
    /// The memory available in addition to the data; none where the system does not say.
    #[serde(skip)]
    pub limit: Option<Limit>,
}

impl Request<'_> {
    /// Loads the data, prepares the inputs, and estimates what the rest of the run takes: a plan for the
    /// configuration, or one for each member of an ensemble.
    ///
    /// # Errors
    /// Errors of the data and of the preparation; [`Error::Memory`] for data that are too large to draw.
    pub fn plan(&self) -> Result<Vec<Plan>, Error> {
        let mut plans = match &self.config.ensemble {
            None => vec![self.plan_of(self.config)?],
            Some(_) => {
                let members = self.config.members()?;
                members.iter().map(|member| self.plan_of(member)).collect::<Result<_, _>>()?
            }
        };
        // measured after the data of all plans have been held, so that what it takes does not count among them
        let speeds = Speeds::measured();
        let least = LEAST / plans.len() as f64;
        for plan in &mut plans {
            plan.seconds += least + speeds.seconds(&plan.needs);
        }
        Ok(plans)
    }

    /// Returns a plan whose seconds are those of loading the data and preparing the inputs alone.
    fn plan_of(&self, config: &Checked) -> Result<Plan, Error> {
        let started = Instant::now();
        let budget = Budget { force: self.force };
        let problem =
            Problem::load(&Processes::default(), config, &self.root, self.processor, budget)?;
        let mut needs = problem.needs(1.0);
        let corrections = Corrections::plan(&problem)?;
        let learned = corrections.further.problem_of_model(&problem)?;
        let learner = learned.config.encoder.learner().prepare(&learned)?;
        let coordinates = problem.most_coordinates();
        let held = resident();
        needs.extend(needs_of_fit(&problem, &corrections, &*learner, coordinates));
        needs.extend(texts_needs(&problem)?);
        needs.push(Need::memory("", "buffers and the allocator's reserve", RESERVE));
        let seconds = started.elapsed().as_secs_f64();
        let gpu_bytes = total(&needs, |need| if need.gpu.is_some() { need.bytes } else { 0.0 });
        let bytes = held + total(&needs, |need| need.bytes) - gpu_bytes;
        let name = config.name.clone();
        Ok(Plan { name, held, needs, bytes, gpu_bytes, seconds, limit: available() })
    }
}

/// Returns the memory that targets and candidates take, and with weights of kernels that are to be found the fit that finds them.
pub(super) fn needs_of_targets(problem: &Problem, learner: &dyn Fit) -> Vec<Need> {
    let mut needs = problem.needs(learner.held_targets().map_or(1.0, Held::share));
    if problem.lacks_weights() {
        needs.extend(learner.needs(problem.most_coordinates()));
    }
    needs
}

/// Returns the memory and time of the fit of a prepared learner, of the further fits that its corrections need, and of these
/// corrections, for predictions with so many coordinates.
pub(super) fn needs_of_fit(
    problem: &Problem,
    corrections: &Corrections,
    learner: &dyn Fit,
    coordinates: usize,
) -> Vec<Need> {
    let mut needs = learner.needs(coordinates);
    let further = corrections.further.needs(problem, &needs, coordinates);
    needs.extend(further);
    needs.extend(reranker_need(problem, coordinates));
    needs
}

fn total(needs: &[Need], amount: fn(&Need) -> f64) -> f64 {
    needs.iter().map(amount).sum()
}

/// Returns the seconds that needs take at the speeds measured now. None where they are few, since the measurement takes time too,
/// and where a part of them is on a GPU.
pub(super) fn seconds_of(needs: &[Need]) -> Option<f64> {
    let threads = rayon::current_num_threads() as f64;
    let is_long = total(needs, |need| need.multiplications) > MANY_PRODUCTS * threads
        || total(needs, |need| need.traffic) > MUCH_TRAFFIC;
    let is_on_gpu = needs.iter().any(|need| need.gpu.is_some());
    (is_long && !is_on_gpu).then(|| Speeds::measured().seconds(needs))
}

/// What this machine does in a second, on all threads.
struct Speeds {
    /// Multiplications in single precision.
    multiplications: f64,
    /// Bytes that are read and written.
    copied: f64,
}

impl Speeds {
    /// Returns the seconds that needs take.
    fn seconds(&self, needs: &[Need]) -> f64 {
        let multiplications = total(needs, |need| need.multiplications);
        let traffic = total(needs, |need| need.traffic);
        OTHER_SHAPES * multiplications / self.multiplications + traffic / self.copied
    }

    /// Measures a product of matrices and a copy.
    fn measured() -> Self {
        let threads = rayon::current_num_threads();
        // the mean of many: a run has the speed of a busy processor, not that of its best moment
        let mean = |work: &(dyn Fn(usize) + Sync), amount: f64| {
            (0..threads).into_par_iter().for_each(work);
            let started = Instant::now();
            let mut rounds = 0;
            while started.elapsed() < TIMED {
                (0..threads).into_par_iter().for_each(work);
                rounds += 1;
            }
            amount * (threads * rounds) as f64 / started.elapsed().as_secs_f64().max(1e-9)
        };
        let matrix = Mat::<f32>::from_fn(SIDE, SIDE, |i, j| ((i * j) % 7) as f32);
        let product = |_: usize| {
            let mut out = Mat::<f32>::zeros(SIDE, SIDE);
            let matrix = matrix.as_ref();
            matmul(out.as_mut(), Accum::Replace, matrix, matrix, 1.0, Par::Seq);
            std::hint::black_box(out[(0, 0)]);
        };
        let long = vec![1.0f32; 8 << 20];
        let copy = |_: usize| {
            std::hint::black_box(long.clone());
        };
        let bytes = 2.0 * size_of_val(&long[..]) as f64;
        Self { multiplications: mean(&product, (SIDE as f64).powi(3)), copied: mean(&copy, bytes) }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        writeln!(out, "{}", self.name)?;
        let mut line = |bytes: f64, what: &str, keys: &str| {
            writeln!(out, "{:>10}  {what:<38}  {keys}", Bytes(bytes).to_string())
        };
        line(self.held, "the program and the data", "")?;
        let large = |gpu: bool| {
            let needs = self.needs.iter().filter(move |need| need.gpu.is_some() == gpu);
            needs.filter(|need| need.bytes >= 1e3)
        };
        for need in large(false) {
            line(need.bytes, need.what, &need.keys)?;
        }
        line(self.bytes, "in all", "")?;
        for need in large(true) {
            line(need.bytes, need.what, &format!("{} (GPU)", need.keys))?;
        }
        let gpu = self.needs.iter().find_map(|need| need.gpu);
        if let Some(size) = gpu {
            let size = if size.is_finite() { &format!("of {}", Bytes(size)) } else { "" };
            line(self.gpu_bytes, "in all on the GPU", size)?;
        }
        if let Some(limit) = &self.limit {
            writeln!(out, "available in addition to the data: {limit}")?;
        }
        let seconds = (self.seconds.round() as u64).max(1);
        let time = format!("{seconds} second{}", if seconds == 1 { "" } else { "s" });
        let steps = if gpu.is_some() { "; steps on the GPU come on top" } else { "" };
        writeln!(out, "about {time} at the speeds measured now{steps}")
    }
}
