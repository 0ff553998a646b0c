use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::{Basis, Map, Tempered, Tempering};
use crate::features::{Features, RowKind};
use crate::store::{self, Stored, Tensor};
use crate::{Error, Kernel, OutputKernel, SketchOptions};

/// What the file says it is.
const KIND: &str = "basis";

/// The version of the layout below for a basis as it was fitted.
const FITTED: u32 = 1;

/// The version of the layout of a tempered basis. A program that knows the first alone refuses it, and
/// files and fingerprints of the others stay what they were.
const TEMPERED: u32 = 2;

/// Metadata key of a kernel that is not built in.
const OWN_KERNEL: &str = "own_kernel";

/// Metadata keys of a tempered basis.
const TEMPERING: &str = "tempering";
const TEMPERED_ROWS: &str = "tempered_rows";

impl Basis {
    /// Writes the basis to a file, atomically: kind `basis`, version 1, or 2 where it is tempered.
    ///
    /// Metadata: `kernel` and `sketch` (JSON, as in configuration files; a kernel that is not built in
    /// has its [name](OutputKernel::name) under `own_kernel` in the place of `kernel`), `size` (m), `seed`,
    /// `trained_rows` (n), `tolerance`, `row_kind` (dense, bit, sparse), `row_width` (d). Tensors:
    /// `spectrum` F64 `[p]`; `matrix` F32 `[p, d]` for a kernel that is linear in scaled features,
    /// else `weights` F64 `[a, p]` and the anchors' rows ([`Features::tensors`]). A tempered basis also
    /// has the metadata `tempering` (JSON) and `tempered_rows`, and where it is centred the tensor
    /// `offset` F64 `[p]`.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        store::Contents::new(KIND, self.version(), &self.metadata(), &self.tensors()).write(path)
    }

    /// Reads a basis of a built-in kernel that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// Those of [`Stored::open`] for a file that is missing, damaged, or of another kind or
    /// version; [`Error::File`] for one that contradicts itself, and for a
    /// kernel that is not built in.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let stored = Stored::open_versions(path, KIND, FITTED..=TEMPERED)?;
        if let Ok(kernel) = stored.metadata(OWN_KERNEL) {
            return Err(Error::custom_kernel(path, kernel));
        }
        let kernel: Kernel = stored.json("kernel")?;
        Self::read(&stored, Arc::new(kernel))
    }

    /// Reads a basis that was fitted with `kernel`, which need not be a built-in one.
    ///
    /// The file holds no code: what it says of the kernel is the name, and a kernel of the same name
    /// that computes something else gives wrong coordinates.
    ///
    /// # Errors
    /// Those of [`load`](Self::load); [`Error::File`] for a file of another kernel.
    pub fn load_with(path: &Path, kernel: impl OutputKernel + 'static) -> Result<Self, Error> {
        let stored = Stored::open_versions(path, KIND, FITTED..=TEMPERED)?;
        let (key, given) = kernel_entry(&kernel);
        match stored.metadata(key) {
            Ok(found) if found == given => Self::read(&stored, Arc::new(kernel)),
            _ => {
                let own = stored.metadata(OWN_KERNEL);
                let found = own.or_else(|_| stored.metadata("kernel"))?.to_owned();
                Err(Error::other_kernel(path, &found, &given))
            }
        }
    }

    fn read(stored: &Stored, kernel: Arc<dyn OutputKernel>) -> Result<Self, Error> {
        let kind = match stored.metadata("row_kind")? {
            "dense" => RowKind::Dense,
            "bit" => RowKind::Bits,
            "sparse" => RowKind::Sparse,
            _ => return Err(stored.bad_metadata("row_kind", "dense, bit, sparse")),
        };
        let width = stored.parsed("row_width", "a number of columns")?;
        let (_, spectrum) = stored.f64("spectrum", 1)?;
        let spectrum = spectrum.into_owned();
        let positive = spectrum.iter().all(|&value| value > 0.0 && value.is_finite());
        if spectrum.is_empty() || !positive || !spectrum.is_sorted_by(|a, b| a >= b) {
            let expected = "eigenvalues above 0, descending".to_owned();
            return Err(stored.bad_shape("spectrum", &[spectrum.len()], expected));
        }
        let rank = spectrum.len();
        let map = if stored.names().any(|name| name == "matrix") {
            let (shape, matrix) = stored.f32("matrix", 2)?;
            if shape != [rank, width] || width == 0 {
                return Err(stored.bad_shape("matrix", &shape, format!("[{rank}, {width}]")));
            }
            Map::linear(matrix.into_owned(), width, kind)
        } else {
            let anchors = Features::from_stored(stored, "anchors", kind, width)?;
            let count = crate::RowSource::len(&anchors);
            let (shape, weights) = stored.f64("weights", 2)?;
            if shape != [count, rank] {
                return Err(stored.bad_shape("weights", &shape, format!("[{count}, {rank}]")));
            }
            Map::Anchored { weights: weights.into_owned(), anchors }
        };
        let tempered = read_tempered(stored, &spectrum)?;
        let basis = Self {
            kernel,
            options: SketchOptions {
                kind: stored.json("sketch")?,
                size: stored.parsed("size", "a number of rows")?,
                seed: stored.parsed("seed", "an integer")?,
                tolerance: stored.parsed("tolerance", "a number")?,
            },
            trained_rows: stored.parsed("trained_rows", "a number of rows")?,
            spectrum,
            kind,
            width,
            map,
            tempered,
        };
        basis.kernel.validate(kind)?;
        if matches!(basis.map, Map::Linear { .. }) && basis.kernel.feature_scale(1.0).is_none() {
            return Err(stored.bad_metadata("kernel", "a kernel that is linear in features"));
        }
        Ok(basis)
    }

    /// The checksum that the file of this basis has, eight hexadecimal digits: what is trained on
    /// the basis can name it by this.
    pub fn fingerprint(&self) -> String {
        store::Contents::new(KIND, self.version(), &self.metadata(), &self.tensors()).checksum()
    }

    fn version(&self) -> u32 {
        if self.tempered.is_some() { TEMPERED } else { FITTED }
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        let entries = [
            kernel_entry(self.kernel.as_ref()),
            ("sketch", json(&self.options.kind)),
            ("size", self.options.size.to_string()),
            ("seed", self.options.seed.to_string()),
            ("trained_rows", self.trained_rows.to_string()),
            ("tolerance", self.options.tolerance.to_string()),
            ("row_kind", self.kind.to_string()),
            ("row_width", self.width.to_string()),
        ];
        let mut all: BTreeMap<_, _> =
            entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        if let Some(tempered) = &self.tempered {
            all.insert(TEMPERING.to_owned(), json(&tempered.tempering));
            all.insert(TEMPERED_ROWS.to_owned(), tempered.rows.to_string());
        }
        all
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        let rank = self.rank();
        let mut tensors = vec![Tensor::f64("spectrum", &[rank], &self.spectrum)];
        match &self.map {
            Map::Linear { matrix, .. } => {
                tensors.push(Tensor::f32("matrix", &[rank, self.width], matrix));
            }
            Map::Anchored { weights, anchors } => {
                let count = weights.len() / rank;
                tensors.push(Tensor::f64("weights", &[count, rank], weights));
                tensors.extend(anchors.tensors("anchors"));
            }
        }
        if let Some(offset) = self.offset() {
            tensors.push(Tensor::f64("offset", &[rank], offset));
        }
        tensors
    }
}

/// How the basis in a file is tempered, if it is.
fn read_tempered(stored: &Stored, spectrum: &[f64]) -> Result<Option<Tempered>, Error> {
    if stored.version() < TEMPERED {
        return Ok(None);
    }
    let tempering: Tempering = stored.json(TEMPERING)?;
    if tempering.validate().is_err() || tempering.changes_nothing() {
        return Err(stored.bad_metadata(TEMPERING, "a tempering with a power from 0 to 1"));
    }
    let (rank, mut offset) = (spectrum.len(), Vec::new());
    if tempering.centred {
        let (shape, values) = stored.f64("offset", 1)?;
        if shape != [rank] || values.iter().any(|value| !value.is_finite()) {
            return Err(stored.bad_shape("offset", &shape, format!("[{rank}], finite numbers")));
        }
        offset = values.into_owned();
    }
    let rows = stored.parsed(TEMPERED_ROWS, "a number of rows")?;
    Ok(Some(Tempered::new(tempering, rows, spectrum, offset)))
}

/// Where a file names the kernel, and as what.
fn kernel_entry(kernel: &dyn OutputKernel) -> (&'static str, String) {
    match kernel.built_in() {
        Some(kernel) => ("kernel", json(kernel)),
        None => (OWN_KERNEL, kernel.name()),
    }
}

/// A kernel or a sketch as JSON; they hold names and finite numbers, which always serialise.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
