//! The files of a fitted model, in a folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::kernel::{IntoKernel, named};
use dsokr_basis::sketch::Mixing;
use dsokr_basis::{Basis, Features, OutputKernel, RowSource};
use dsokr_core::Error;
use dsokr_core::store::{self, Stored, Tensor};

use super::model::{KernelModel, Weights};
use super::scaling::Scaling;
use crate::features::{AnchorFeatures, FeatureMap};

/// A file of a model.
struct ModelFile {
    name: &'static str,
    kind: &'static str,
    version: u32,
}

/// The file of a ridge regression.
const RIDGE: ModelFile = ModelFile { name: "ridge.safetensors", kind: "ridge", version: 3 };

/// The file of a machine with a Lipschitz loss.
const LIPSCHITZ: ModelFile = ModelFile { name: "machine.safetensors", kind: "machine", version: 2 };

/// The basis of the inputs of a Lipschitz loss.
const INPUTS: &str = "inputs.safetensors";

impl KernelModel {
    /// Writes the model into a folder, a file atomically. With the anchors and the scaling in it, `ridge.safetensors`
    /// (kind `ridge`, version 3) needs no other file to predict. A Lipschitz loss has `machine.safetensors` (kind `machine`,
    /// version 2) and its basis in `inputs.safetensors`.
    ///
    /// Metadata: `kernel` (as in [`Basis::save`]; missing for a precomputed
    /// kernel), `row_kind`, `row_width`, `rank`, `summary` (JSON); of a machine `summary` and `inputs`, the
    /// [fingerprint](Basis::fingerprint) of its basis. Tensors: `weights` F32 or F64
    /// `[a, p]`, the anchors' rows, or `weights` `[m, p]` and the entries of a sketch of m rows in addition
    /// ([`Mixing::tensors`](dsokr_basis::sketch::Mixing::tensors)), `scaling.scale` and `scaling.centre`; of a machine, and of a Lipschitz loss on a
    /// precomputed kernel, `offset` F64 `[p]`. `belongs` is further metadata, what the model belongs to.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn save(&self, folder: &Path, belongs: &BTreeMap<String, String>) -> Result<(), Error> {
        let mut metadata = belongs.clone();
        let mut put = |key: &str, value: String| drop(metadata.insert(key.into(), value));
        // names and finite numbers: serialising them cannot fail
        put("summary", serde_json::to_string(&self.summary).unwrap_or_default());
        let shape = [self.anchors(), self.width];
        let mut tensors = vec![match &self.weights {
            Weights::Single(weights) => Tensor::f32("weights", &shape, weights),
            Weights::Double(weights) => Tensor::f64("weights", &shape, weights),
        }];
        let ModelFile { name, kind, version } = match &self.map {
            FeatureMap::Basis(basis) => {
                basis.save(&folder.join(INPUTS))?;
                put("inputs", basis.fingerprint());
                tensors.push(Tensor::f64("offset", &[self.width], &self.offset));
                LIPSCHITZ
            }
            FeatureMap::Anchors(AnchorFeatures { kernel, anchors, mixing, .. }) => {
                put("rank", self.width.to_string());
                put_rows(kernel.as_ref(), anchors, &mut metadata);
                tensors.extend(anchors.packed_tensors("anchors"));
                tensors.extend(mixing.iter().flat_map(Mixing::tensors));
                RIDGE
            }
            FeatureMap::Given { inputs } => {
                put("rank", self.width.to_string());
                put("row_kind", "precomputed".into());
                put("row_width", inputs.to_string());
                if !self.offset.is_empty() {
                    tensors.push(Tensor::f64("offset", &[self.width], &self.offset));
                }
                RIDGE
            }
        };
        tensors.extend(self.scaling.iter().flat_map(Scaling::tensors));
        let contents = store::Contents::new(kind, version, &metadata, &tensors);
        contents.write(&folder.join(name))
    }

    /// Opens the file of a folder's model, to see what it belongs to before it is [read](Self::read);
    /// none where none has been written.
    ///
    /// # Errors
    /// The errors of a file that is damaged, or of a different kind or version.
    pub fn open(folder: &Path) -> Result<Option<Stored>, Error> {
        for ModelFile { name, kind, version } in [RIDGE, LIPSCHITZ] {
            let path = folder.join(name);
            if path.exists() {
                return Stored::open(&path, kind, version).map(Some);
            }
        }
        Ok(None)
    }

    /// Reads the model of an opened file, of a built-in or precomputed kernel.
    ///
    /// # Errors
    /// [`Error::File`] for a file whose parts do not belong together, and for a kernel that is not built in.
    pub fn read(stored: &Stored) -> Result<Self, Error> {
        let path = stored.path();
        let map = if path.ends_with(LIPSCHITZ.name) {
            let basis = Basis::load(&path.with_file_name(INPUTS))?;
            let expected = stored.metadata("inputs")?;
            let given = basis.fingerprint();
            if given != expected {
                let message = format!("fitted on the basis {expected}, not on {given}");
                return Err(Error::file(path, message));
            }
            FeatureMap::Basis(Box::new(basis))
        } else if stored.metadata("row_kind")? == "precomputed" {
            FeatureMap::Given { inputs: stored.parsed("row_width", COLUMNS)? }
        } else {
            stored_anchors(stored, Arc::new(named::read(stored, "")?))?
        };
        Self::from_stored(stored, map)
    }

    /// Reads a model that was fitted with `kernel`, which need not be a built-in one.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read); [`Error::File`] for a file of a different kernel.
    pub fn read_with(stored: &Stored, kernel: impl IntoKernel) -> Result<Self, Error> {
        let kernel = kernel.into_kernel();
        named::check(stored, kernel.as_ref())?;
        Self::from_stored(stored, stored_anchors(stored, kernel)?)
    }

    fn from_stored(stored: &Stored, map: FeatureMap) -> Result<Self, Error> {
        let single = stored.describe("weights")?.0.to_string() == "F32";
        let mut model = Self::new(map, Weights::Double(Vec::new()), stored.json("summary")?);
        if let FeatureMap::Basis(basis) = &model.map {
            model.scaling = Scaling::from_stored(stored, basis.width())?;
            model.offset = stored.read("offset", 1)?.1.to_vec();
            model.width = model.offset.len();
        } else {
            model.width = stored.parsed("rank", "a number of coordinates")?;
            model.scaling = Scaling::from_stored(stored, stored.parsed("row_width", COLUMNS)?)?;
            if stored.has("offset") {
                model.offset = stored.shaped("offset", &[model.width])?;
            }
        }
        let shape = [model.anchors(), model.width];
        model.weights = if single {
            Weights::Single(stored.shaped("weights", &shape)?)
        } else {
            Weights::Double(stored.shaped("weights", &shape)?)
        };
        let finite = |at: usize| model.weights.at(at).is_finite();
        let whole = model.offset.iter().all(|value| value.is_finite())
            && (model.offset.is_empty() || (0..shape[0] * shape[1]).all(finite));
        if whole && model.width > 0 {
            Ok(model)
        } else {
            Err(Error::file(stored.path(), "weights or offset are empty or not finite"))
        }
    }
}

const COLUMNS: &str = "a number of columns";

/// Returns the kernel's values with the anchors of a file.
fn stored_anchors(stored: &Stored, kernel: Arc<dyn OutputKernel>) -> Result<FeatureMap, Error> {
    let anchors = Arc::new(read_rows(stored, "anchors", kernel.as_ref())?);
    let size = stored.describe("weights")?.1.first().copied().unwrap_or(0);
    let mixing = Mixing::from_stored(stored, "", size, anchors.len())?;
    Ok(FeatureMap::Anchors(AnchorFeatures::new(kernel, anchors, mixing)))
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
    Features::from_stored(stored, name, kind, stored.parsed("row_width", COLUMNS)?)
}
