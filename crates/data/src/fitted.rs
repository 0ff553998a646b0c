use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::features::SparseRows;
use dsokr_basis::store::{Contents, Stored, Tensor};

use crate::Error;

/// The kind of the file.
const KIND: &str = "features";
/// The version of its layout.
const VERSION: u32 = 1;

/// What the columns of outputs' features are, as the outputs of a training gave them: with these, further
/// outputs become rows that the same basis reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FittedFeatures {
    /// Those of each kernel.
    pub(crate) parts: Vec<FittedColumns>,
}

/// The columns of one kernel's features; empty lists where the configuration says all.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FittedColumns {
    /// Number of columns.
    pub width: usize,
    /// N-grams or labels, in the order of their columns.
    pub terms: Vec<String>,
    /// Features of a graph kernel.
    pub features: Vec<u64>,
    /// The values of counts that are columns, where counts are compared exactly.
    pub levels: Vec<(u32, f32)>,
    /// The columns that enough outputs have, where rare ones are left out.
    pub kept: Vec<u32>,
}

impl FittedColumns {
    /// Columns that need nothing but their number.
    pub fn fixed(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Counts as they are, or their levels, or their logarithms, without rare columns; `fitted` are the
    /// columns of an earlier training.
    pub fn counts(
        mut self,
        mut rows: SparseRows,
        log: bool,
        exact: bool,
        min_outputs: usize,
        fitted: Option<&Self>,
    ) -> Result<(Self, SparseRows), Error> {
        if exact {
            self.levels = fitted.map_or_else(|| rows.levels(), |fitted| fitted.levels.clone());
            rows = rows.at_levels(&self.levels)?;
        }
        if min_outputs > 1 {
            self.kept =
                fitted.map_or_else(|| rows.common(min_outputs), |fitted| fitted.kept.clone());
            rows = rows.with_columns(&self.kept)?;
        }
        let rows = if log { rows.log_counts()? } else { rows };
        self.width = rows.width();
        Ok((self, rows))
    }
}

impl FittedFeatures {
    /// Number of columns of all kernels together.
    pub(crate) fn width(&self) -> usize {
        self.parts.iter().map(|part| part.width).sum()
    }

    /// Those of one kernel whose columns need nothing but their number.
    pub(crate) fn fixed(width: usize) -> Self {
        Self { parts: vec![FittedColumns::fixed(width)] }
    }

    /// Writes the file, atomically: kind `features`, version 1. For each part i there is the metadata
    /// `i.width`, and the tensors `i.terms` U8 (a JSON list of texts), `i.features` U64, `i.levels` U32
    /// `[n, 2]` (column, bits of the value in F32) and `i.kept` U32.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let mut metadata = BTreeMap::new();
        let terms: Vec<Vec<u8>> = self
            .parts
            .iter()
            .map(|part| serde_json::json!(part.terms).to_string().into())
            .collect();
        let pair = |&(column, value): &(u32, f32)| [column, value.to_bits()];
        let levels: Vec<Vec<u32>> =
            self.parts.iter().map(|part| part.levels.iter().flat_map(pair).collect()).collect();
        let mut tensors = Vec::new();
        for (i, part) in self.parts.iter().enumerate() {
            metadata.insert(format!("{i}.width"), part.width.to_string());
            let count = |len: usize| [len];
            tensors.extend([
                Tensor::u8(&format!("{i}.terms"), &count(terms[i].len()), &terms[i]),
                Tensor::u64(&format!("{i}.features"), &count(part.features.len()), &part.features),
                Tensor::u32(&format!("{i}.levels"), &[part.levels.len(), 2], &levels[i]),
                Tensor::u32(&format!("{i}.kept"), &count(part.kept.len()), &part.kept),
            ]);
        }
        Ok(Contents::new(KIND, VERSION, &metadata, &tensors).write(path)?)
    }

    /// Reads what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// A file that is missing, damaged, or of another kind or version.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let stored = Stored::open(path, KIND, VERSION)?;
        let part = |i: usize| {
            let (_, terms) = stored.u8(&format!("{i}.terms"), 1)?;
            let terms = serde_json::from_slice(&terms);
            let terms = terms.map_err(|error| Error::file(path, format!("{i}.terms: {error}")))?;
            let (_, levels) = stored.u32(&format!("{i}.levels"), 2)?;
            let levels = levels.as_chunks::<2>().0.iter();
            let width = stored.parsed(&format!("{i}.width"), "a number of columns")?;
            Ok::<_, Error>(FittedColumns {
                width,
                terms,
                features: stored.u64(&format!("{i}.features"), 1)?.1.into_owned(),
                levels: levels.map(|&[column, bits]| (column, f32::from_bits(bits))).collect(),
                kept: stored.u32(&format!("{i}.kept"), 1)?.1.into_owned(),
            })
        };
        let count = stored.all_metadata().len();
        Ok(Self { parts: (0..count).map(part).collect::<Result<_, _>>()? })
    }
}
