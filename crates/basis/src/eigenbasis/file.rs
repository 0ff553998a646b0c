//! The file of a basis.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dsokr_core::Error;
use dsokr_core::store::{self, Stored, Tensor};

use super::sum::{SummedBases, WeightedBasis};
use super::{Basis, Projector, Tempered, Tempering};
use crate::features::{Features, RowSource, check_width};
use crate::kernel::{IntoKernel, OutputKernel, named};
use crate::sketch::{Mixing, SketchOptions};

/// The kind in the file's metadata.
const KIND: &str = "basis";

/// The version of its layout.
const VERSION: u32 = 5;

/// Metadata key of the weights and columns of a sum.
const PARTS: &str = "parts";

/// Metadata keys of a tempered basis.
const TEMPERING: &str = "tempering";
const TEMPERED_ROWS: &str = "tempered_rows";

impl Basis {
    /// Writes the basis to a file, atomically: kind `basis`, version 5.
    ///
    /// Metadata: `kernel` and `sketch` (JSON, as in configuration files; a kernel that is not built in
    /// has its [name](OutputKernel::name) under `own_kernel` in the place of `kernel`), `size` (m), `seed`,
    /// `trained_rows` (n), `tolerance`, `row_kind` (dense, bit, sparse), `row_width` (d). Tensors:
    /// `spectrum` F64 `[p]`; `matrix` F32 `[p, d]` for a kernel that is linear in scaled features,
    /// else `weights` F64 `[a, p]` and the anchors' rows ([`Features::tensors`]), or `weights` F64 `[m, p]` and the
    /// entries of W, m × a ([`Mixing::tensors`]), in addition. A tempered basis also
    /// has the metadata `tempering` (JSON) and `tempered_rows`, and where it is centred the tensor
    /// `offset` F64 `[p]`. Where the [zero row](Self::zero_row) has coordinates of its own, these are the tensor `zero` F32
    /// `[p]`. The basis of a
    /// [sum](Self::sum) has the metadata `parts` (JSON, the weight and the first column of each) in the place of the
    /// kernel, the tensor `turn` F32 `[p, P]`, and of each part what is written above, under names that start with
    /// `0.`, `1.` and so on.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        store::Contents::new(KIND, VERSION, &self.metadata(), &self.tensors()).write(path)
    }

    /// Reads a basis of a built-in kernel that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// The errors of [`Stored::open`] for a file that is missing, damaged, or of a different kind or
    /// version; [`Error::File`] for one that contradicts itself, and for a
    /// kernel that is not built in.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::read(&Stored::open(path, KIND, VERSION)?, "")
    }

    /// Creates the basis whose entries have a prefix, of built-in kernels.
    fn read(stored: &Stored, prefix: &str) -> Result<Self, Error> {
        if stored.all_metadata().contains_key(&format!("{prefix}{PARTS}")) {
            let sum = read_parts(stored, prefix)?;
            return Self::read_with(stored, prefix, sum.kernel(), Some(sum));
        }
        Self::read_with(stored, prefix, Arc::new(named::read(stored, prefix)?), None)
    }

    /// Reads a basis that was fitted with `kernel`, which need not be a built-in one.
    ///
    /// The file holds no code: what it says of the kernel is the name, and a kernel of the same name
    /// that computes something else gives wrong coordinates.
    ///
    /// # Errors
    /// The errors of [`load`](Self::load); [`Error::File`] for a file of a different kernel.
    pub fn load_with(path: &Path, kernel: impl IntoKernel) -> Result<Self, Error> {
        let stored = Stored::open(path, KIND, VERSION)?;
        let kernel = kernel.into_kernel();
        named::check(&stored, kernel.as_ref())?;
        Self::read_with(&stored, "", kernel, None)
    }

    fn read_with(
        stored: &Stored,
        prefix: &str,
        kernel: Arc<dyn OutputKernel>,
        sum: Option<SummedBases>,
    ) -> Result<Self, Error> {
        let name = |name: &str| format!("{prefix}{name}");
        let kind = stored.parsed(&name("row_kind"), "dense, bit, sparse")?;
        let width = stored.parsed(&name("row_width"), "a number of columns")?;
        let spectrum: Vec<f64> = stored.read(&name("spectrum"), 1)?.1.to_vec();
        let positive = spectrum.iter().all(|&value| value > 0.0 && value.is_finite());
        if spectrum.is_empty() || !positive || !spectrum.is_sorted_by(|a, b| a >= b) {
            let expected = "eigenvalues above 0, descending".to_owned();
            return Err(stored.bad_shape(&name("spectrum"), &[spectrum.len()], expected));
        }
        let dimension = spectrum.len();
        let map = if let Some(sum) = sum {
            let turn = stored.shaped(&name("turn"), &[dimension, sum.coordinates()])?;
            Projector::Sum { sum, turn }
        } else if stored.has(&name("matrix")) {
            check_width(width)?;
            let matrix = stored.shaped(&name("matrix"), &[dimension, width])?;
            let zero = if stored.has(&name("zero")) {
                stored.shaped(&name("zero"), &[dimension])?
            } else {
                Vec::new()
            };
            Projector::linear(matrix, zero, width, kind)
        } else {
            let anchors = Features::from_stored(stored, &name("anchors"), kind, width)?;
            let count = anchors.len();
            let size = stored.parsed(&name("size"), "a number of rows")?;
            let mixing = Mixing::from_stored(stored, prefix, size, count)?;
            let rows = if mixing.is_some() { size } else { count };
            let weights = stored.shaped(&name("weights"), &[rows, dimension])?;
            Projector::Anchored { weights, mixing, anchors }
        };
        let tempered = read_tempered(stored, prefix, &spectrum)?;
        let basis = Self {
            kernel,
            options: SketchOptions {
                kind: stored.json(&name("sketch"))?,
                size: stored.parsed(&name("size"), "a number of rows")?,
                seed: stored.parsed(&name("seed"), "an integer")?,
                tolerance: stored.parsed(&name("tolerance"), "a number")?,
            },
            trained_rows: stored.parsed(&name("trained_rows"), "a number of rows")?,
            spectrum,
            kind,
            width,
            map,
            tempered,
        };
        basis.kernel.validate(kind)?;
        if matches!(basis.map, Projector::Linear { .. })
            && basis.kernel.feature_scale(1.0).is_none()
        {
            return Err(stored.bad_metadata(&name("kernel"), "a kernel that is linear in features"));
        }
        Ok(basis)
    }

    /// Returns the checksum that the file of this basis has, eight hexadecimal digits: what is trained on
    /// the basis can name it by this.
    pub fn fingerprint(&self) -> String {
        store::Contents::new(KIND, VERSION, &self.metadata(), &self.tensors()).checksum()
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        let projector = match &self.map {
            Projector::Sum { sum, .. } => {
                let listed = sum.parts.iter().map(|part| (part.weight, part.columns.start));
                (PARTS, json(&listed.collect::<Vec<_>>()))
            }
            Projector::Linear { .. } | Projector::Anchored { .. } => {
                named::entry(self.kernel.as_ref())
            }
        };
        let entries = [
            projector,
            ("sketch", json(&self.options.kind)),
            ("size", self.options.size.to_string()),
            ("seed", self.options.seed.to_string()),
            ("trained_rows", self.trained_rows.to_string()),
            ("tolerance", self.options.tolerance.to_string()),
            ("row_kind", self.kind.to_string()),
            ("row_width", self.width.to_string()),
        ];
        let mut all = BTreeMap::from(entries.map(|(key, value)| (key.to_owned(), value)));
        if let Some(tempered) = &self.tempered {
            all.insert(TEMPERING.to_owned(), json(&tempered.tempering));
            all.insert(TEMPERED_ROWS.to_owned(), tempered.rows.to_string());
        }
        if let Projector::Sum { sum, .. } = &self.map {
            for (at, part) in sum.parts.iter().enumerate() {
                let entries = part.basis.metadata().into_iter();
                all.extend(entries.map(|(key, value)| (format!("{at}.{key}"), value)));
            }
        }
        all
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        let dimension = self.dimension();
        let mut tensors = vec![Tensor::f64("spectrum", &[dimension], &self.spectrum)];
        match &self.map {
            Projector::Linear { matrix, zero, .. } => {
                tensors.push(Tensor::f32("matrix", &[dimension, self.width], matrix));
                if !zero.is_empty() {
                    tensors.push(Tensor::f32("zero", &[dimension], zero));
                }
            }
            Projector::Anchored { weights, mixing, anchors } => {
                let count = weights.len() / dimension;
                tensors.push(Tensor::f64("weights", &[count, dimension], weights));
                tensors.extend(mixing.iter().flat_map(Mixing::tensors));
                tensors.extend(anchors.tensors("anchors"));
            }
            Projector::Sum { sum, turn } => {
                tensors.push(Tensor::f32("turn", &[dimension, sum.coordinates()], turn));
                for (at, part) in sum.parts.iter().enumerate() {
                    let part_tensors = part.basis.tensors().into_iter();
                    tensors.extend(
                        part_tensors.map(|tensor| Tensor {
                            name: format!("{at}.{}", tensor.name),
                            ..tensor
                        }),
                    );
                }
            }
        }
        if let Some(offset) = self.offset() {
            tensors.push(Tensor::f64("offset", &[dimension], offset));
        }
        tensors
    }
}

/// Returns the bases of a sum.
fn read_parts(stored: &Stored, prefix: &str) -> Result<SummedBases, Error> {
    let key = format!("{prefix}{PARTS}");
    let listed: Vec<(f64, usize)> = stored.json(&key)?;
    if listed.is_empty() {
        let allowed = "the weight and the first column of at least one part";
        return Err(stored.bad_metadata(&key, allowed));
    }
    let width = stored.parsed(&format!("{prefix}row_width"), "a number of columns")?;
    let part = |(at, (weight, start)): (usize, (f64, usize))| {
        let basis = Basis::read(stored, &format!("{prefix}{at}."))?;
        let columns = start..start.saturating_add(basis.width);
        if !(weight > 0.0 && weight.is_finite() && columns.end <= width) {
            let allowed = "weights above 0 and columns within the rows";
            return Err(stored.bad_metadata(&key, allowed));
        }
        Ok(WeightedBasis { weight, columns, basis: Arc::new(basis) })
    };
    let parts = listed.into_iter().enumerate().map(part).collect::<Result<Vec<_>, _>>()?;
    Ok(SummedBases { parts, width })
}

/// Returns how the basis in a file is tempered, if it is.
fn read_tempered(
    stored: &Stored,
    prefix: &str,
    spectrum: &[f64],
) -> Result<Option<Tempered>, Error> {
    let key = format!("{prefix}{TEMPERING}");
    if !stored.all_metadata().contains_key(&key) {
        return Ok(None);
    }
    let tempering: Tempering = stored.json(&key)?;
    if tempering.validate().is_err() || tempering.changes_nothing() {
        return Err(stored.bad_metadata(&key, "a tempering with a power from 0 to 1"));
    }
    let dimension = spectrum.len();
    let mut offset = Vec::new();
    if tempering.centred {
        let name = format!("{prefix}offset");
        offset = stored.shaped::<f64>(&name, &[dimension])?;
        if offset.iter().any(|value| !value.is_finite()) {
            return Err(stored.bad_shape(
                &name,
                &[dimension],
                format!("[{dimension}], finite numbers"),
            ));
        }
    }
    let rows = stored.parsed(&format!("{prefix}{TEMPERED_ROWS}"), "a number of rows")?;
    Ok(Some(Tempered::new(tempering, rows, spectrum, offset)))
}

/// Returns a sketch or a tempering as JSON; they hold names and finite numbers, which always serialise.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
