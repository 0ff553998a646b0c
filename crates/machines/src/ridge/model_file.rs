//! The file of a fitted model.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::kernel::{IntoKernel, named};
use dsokr_basis::store::{self, Stored, Tensor};
use dsokr_basis::{Features, OutputKernel, RowSource};

use super::model::{Expansion, RidgeModel, Weights};
use super::scaling::Scaling;
use crate::Error;

/// The kind of the file.
const KIND: &str = "ridge";

/// The version of its layout; of sparse anchors version 1 has all columns.
const VERSION: u32 = 2;

impl RidgeModel {
    /// Writes the model to a file, atomically: kind `ridge`, version 2. With the anchors and the
    /// scaling in it, it needs no other file to predict.
    ///
    /// Metadata: `kernel` (as in [`Basis::save`](dsokr_basis::Basis::save); missing for a precomputed
    /// kernel), `row_kind`, `row_width`, `rank`, `summary` (JSON). Tensors: `weights` F32 or F64
    /// `[a, p]`, the anchors' rows, `scaling.scale` and `scaling.centre`. `belongs` is further
    /// metadata, what the model belongs to.
    ///
    /// # Errors
    /// `Io` of the crate `dsokr-basis`.
    pub fn save(&self, path: &Path, belongs: &BTreeMap<String, String>) -> Result<(), Error> {
        let mut metadata = belongs.clone();
        metadata.insert("rank".into(), self.width.to_string());
        let summary = serde_json::to_string(&self.summary).unwrap_or_default();
        metadata.insert("summary".into(), summary);
        let shape = [self.anchors(), self.width];
        let mut tensors = vec![match &self.weights {
            Weights::Single(weights) => Tensor::f32("weights", &shape, weights),
            Weights::Double(weights) => Tensor::f64("weights", &shape, weights),
        }];
        match &self.map {
            Expansion::Kernel { kernel, anchors } => {
                put_rows(kernel.as_ref(), anchors, &mut metadata);
                tensors.extend(anchors.packed_tensors("anchors"));
            }
            Expansion::Precomputed { inputs } => {
                metadata.insert("row_kind".into(), "precomputed".into());
                metadata.insert("row_width".into(), inputs.to_string());
            }
        }
        tensors.extend(self.scaling.iter().flat_map(Scaling::tensors));
        store::Contents::new(KIND, VERSION, &metadata, &tensors).write(path)
    }

    /// Reads a model of a built-in or precomputed kernel that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// Those of a file that is missing, damaged, or of another kind or version;
    /// [`Error::File`] for one whose parts do not belong together; `OwnKernel` for a kernel that
    /// is not built in.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::from_stored(&Self::open(path)?)
    }

    pub(crate) fn open(path: &Path) -> Result<Stored, Error> {
        Stored::open_versions(path, KIND, 1..=VERSION)
    }

    /// [`load`](Self::load) of an opened file.
    pub(crate) fn from_stored(stored: &Stored) -> Result<Self, Error> {
        if stored.metadata("row_kind")? == "precomputed" {
            return Self::read(stored, None);
        }
        Self::read(stored, Some(Arc::new(named::read(stored, "")?)))
    }

    /// Reads a model that was fitted with `kernel`, which need not be a built-in one.
    ///
    /// # Errors
    /// Those of [`load`](Self::load); [`Error::File`] for a file of another kernel.
    pub fn load_with(path: &Path, kernel: impl IntoKernel) -> Result<Self, Error> {
        let stored = Self::open(path)?;
        let kernel = kernel.into_kernel();
        named::check(&stored, kernel.as_ref())?;
        Self::read(&stored, Some(kernel))
    }

    fn read(stored: &Stored, kernel: Option<Arc<dyn OutputKernel>>) -> Result<Self, Error> {
        let rank: usize = stored.parsed("rank", "a number of coordinates")?;
        let columns: usize = stored.parsed("row_width", "a number of columns")?;
        let summary = stored.json("summary")?;
        let map = match kernel {
            None => Expansion::Precomputed { inputs: columns },
            Some(kernel) => {
                let anchors = read_rows(stored, "anchors", kernel.as_ref())?;
                Expansion::Kernel { kernel, anchors: Arc::new(anchors) }
            }
        };
        let (dtype, shape) = stored.describe("weights")?;
        let weights = match dtype.to_string() == "F32" {
            true => Weights::Single(stored.read("weights", 2)?.1.to_vec()),
            false => Weights::Double(stored.read("weights", 2)?.1.to_vec()),
        };
        let mut model = Self::new(map, weights, summary);
        model.scaling = Scaling::from_stored(stored, columns)?;
        model.width = rank;
        let expected = [model.anchors(), rank];
        if rank == 0 || shape != expected {
            let message = format!("weights have shape {shape:?}, expected {expected:?}");
            return Err(Error::file(stored.path(), message));
        }
        Ok(model)
    }
}

/// Adds a kernel, and what the tensors of rows do not say.
pub(super) fn put_rows(
    kernel: &dyn OutputKernel,
    rows: &Features,
    metadata: &mut BTreeMap<String, String>,
) {
    let kind = ("row_kind", rows.kind().to_string());
    let width = ("row_width", rows.width().to_string());
    let entries = [named::entry(kernel), kind, width];
    metadata.extend(entries.map(|(key, value)| (key.to_owned(), value)));
}

/// Reads rows that [`put_rows`] described, which the kernel must take; their tensors are called `name`.
pub(super) fn read_rows(
    stored: &Stored,
    name: &str,
    kernel: &dyn OutputKernel,
) -> Result<Features, Error> {
    let kind = stored.parsed("row_kind", "dense, bit, sparse")?;
    kernel.validate(kind)?;
    let width = stored.parsed("row_width", "a number of columns")?;
    Features::from_stored(stored, name, kind, width)
}
