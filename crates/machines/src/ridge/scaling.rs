//! The standardisation of columns, and rows that are standardised as they are read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use dsokr_basis::features::{DenseRows, HeldRows, SparseRows, ranges, read};
use dsokr_basis::{Block, Features, RowKind, RowSource};
use dsokr_core::processes::Held;
use dsokr_core::store::{Contents, Stored, Tensor};
use dsokr_core::{Error, RowWeights};

/// Kind and version of the file of a scaling.
const KIND: &str = "scaling";
const VERSION: u32 = 1;

/// The tensor of μ.
const CENTRE: &str = "scaling.centre";

/// Rows in one block.
const ROWS: usize = 4096;

/// Standardisation of input columns: `(x_j − μ_j) / s_j` with the training rows' mean and standard
/// deviation (of the population); a column that never changes has s = 1. Or
/// [weights](Self::relevance) of columns, 1 / s_j, that a first fit learned.
///
/// Kernels of differences, the Gaussian one, do not see μ: without centring, sparse rows and bits
/// stay sparse, and the Gram matrix costs what their non-zeros do.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// μ, where columns are centred. Rounded to 32 bits, columns far from 0 would be shifted.
    pub(super) centre: Option<Vec<f64>>,
    /// 1 / s.
    pub(super) scale: Vec<f32>,
}

/// Rows that are standardised as they are read.
#[derive(derive_more::Debug)]
#[debug("ScaledRows({} × {})", rows.len(), rows.width())]
pub struct ScaledRows<'a> {
    scaling: Scaling,
    rows: &'a dyn RowSource,
}

impl<'a> ScaledRows<'a> {
    /// Creates the standardised rows of others.
    pub fn new(scaling: Scaling, rows: &'a dyn RowSource) -> Self {
        Self { scaling, rows }
    }
}

impl RowSource for ScaledRows<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn width(&self) -> usize {
        self.scaling.width()
    }

    fn kind(&self) -> RowKind {
        self.scaling.kind(self.rows.kind())
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        self.scaling.apply(&read(self.rows, rows)?)
    }

    fn select(&self, indices: &[usize]) -> Result<Features, Error> {
        self.scaling.apply(&self.rows.select(indices)?)
    }
}

impl Scaling {
    /// Computes means and deviations of the given rows, in one pass in `f64`.
    ///
    /// # Errors
    /// [`Error::Value`] when there are no rows; errors from reading them.
    pub fn fit(rows: &dyn RowSource, centred: bool) -> Result<Self, Error> {
        Self::fit_weighted(rows, &RowWeights::equal(), centred)
    }

    /// Fits like [`fit`](Self::fit), counting each row as often as its weight says.
    ///
    /// # Errors
    /// The errors of [`fit`](Self::fit); [`Error::Shape`] unless there is one weight for each row, or none.
    pub fn fit_weighted(
        rows: &dyn RowSource,
        weights: &RowWeights,
        centred: bool,
    ) -> Result<Self, Error> {
        Error::check_count("number of rows", rows.len())?;
        weights.check(rows.len())?;
        let total = weights.total(rows.len());
        let mut moments = vec![(0.0f64, 0.0f64); rows.width()];
        // Sums of differences from the first row: columns far from 0 keep their digits.
        let mut first = vec![0.0f64; rows.width()];
        each(&read(rows, 0..1)?, |_, column, value| first[column] = value.into());
        let mut stored = vec![0.0; rows.width()];
        for range in ranges(0..rows.len(), ROWS) {
            let start = range.start;
            each(&read(rows, range)?, |row, column, value| {
                let weight = weights.get(start + row);
                let from_first = f64::from(value) - first[column];
                moments[column].0 += weight * from_first;
                moments[column].1 += weight * (from_first * from_first);
                stored[column] += weight;
            });
        }
        let mut centre = Vec::with_capacity(first.len());
        let mut scale = Vec::with_capacity(first.len());
        for ((first, stored), (sum, squares)) in first.into_iter().zip(stored).zip(moments) {
            // The values that are not stored are zeros.
            let zeros = total - stored;
            let sum = sum - zeros * first;
            let squares = squares + zeros * first * first;
            let mean = sum / total;
            let deviation = (squares / total - mean * mean).max(0.0).sqrt();
            centre.push(first + mean);
            // below the rounding of the sums it is a column that never changes
            let constant = deviation <= 1e-7 * mean.abs() || deviation == 0.0;
            scale.push(if constant { 1.0 } else { (1.0 / deviation) as f32 });
        }
        Ok(Self { centre: centred.then_some(centre), scale })
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.scale.len()
    }

    /// Returns the same with means rounded to 32 bits, as outputs have them: a prediction gets back what was taken from its
    /// output.
    pub fn in_32_bits(self) -> Self {
        let rounded = |mean: f64| f64::from(mean as f32);
        let centre = self.centre.map(|centre| centre.into_iter().map(rounded).collect());
        Self { centre, ..self }
    }

    /// Returns μ, the means of the columns; none where they are not centred.
    pub fn means(&self) -> Option<&[f64]> {
        self.centre.as_deref()
    }

    /// Returns s, by which each column is divided: its standard deviation.
    pub fn deviations(&self) -> Vec<f64> {
        self.scale.iter().map(|&scale| 1.0 / f64::from(scale)).collect()
    }

    /// Returns a standardised row as it was before.
    ///
    /// # Panics
    /// If the row has more numbers than there are columns.
    pub fn restore(&self, row: &[f32]) -> Vec<f32> {
        let value = |(column, &value): (usize, &f32)| {
            let centre = self.centre.as_ref().map_or(0.0, |centre| centre[column]);
            (f64::from(value) / f64::from(self.scale[column]) + centre) as f32
        };
        row.iter().enumerate().map(value).collect()
    }

    /// Returns the kind of the rows that it makes of rows of the given kind.
    pub fn kind(&self, rows: RowKind) -> RowKind {
        match (self.centre.is_some(), rows) {
            (true, _) | (false, RowKind::Dense) => RowKind::Dense,
            (false, RowKind::Bits | RowKind::Sparse) => RowKind::Sparse,
            // the enum may grow: dense rows hold any numbers
            (false, _) => RowKind::Dense,
        }
    }

    /// Returns the rows of a block, standardised: dense where they were or where columns are centred, else
    /// sparse.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of a different width; `NotFinite` for a value that overflows.
    pub fn apply(&self, rows: &Block) -> Result<Features, Error> {
        Error::check_length("columns", rows.width(), self.width())?;
        if self.kind(rows.kind()) == RowKind::Sparse {
            let scaled = |row: usize| {
                let mut scaled = Vec::new();
                rows.entries(row, 0..self.width(), |column, value| {
                    scaled.push((column as u32, value * self.scale[column]));
                });
                scaled
            };
            return Ok(SparseRows::from_rows(self.width(), (0..rows.len()).map(scaled))?.into());
        }
        let mut values = vec![0.0f32; rows.len() * self.width()];
        each(rows, |row, column, value| values[row * self.width() + column] = value);
        for row in values.chunks_exact_mut(self.width()) {
            for (column, value) in row.iter_mut().enumerate() {
                let centre = self.centre.as_ref().map_or(0.0, |centre| centre[column]);
                // with means of 32 bits, the numbers are those of a difference in 32 bits
                *value = (f64::from(*value) - centre) as f32 * self.scale[column];
            }
        }
        Ok(DenseRows::new(self.width(), values)?.into())
    }

    /// Returns all rows, standardised; see [`apply`](Self::apply).
    ///
    /// # Errors
    /// The errors of [`apply`](Self::apply); errors from reading the rows.
    pub fn rows(&self, rows: &dyn RowSource) -> Result<Features, Error> {
        self.some_rows(rows, &Held::all(rows.len()))
    }

    /// Returns all rows, standardised, of which some are held in memory; the others are standardised when they are read.
    ///
    /// # Errors
    /// The errors of [`rows`](Self::rows); [`Error::Shape`] unless `held` is of as many rows.
    pub fn held_rows<'a>(
        &self,
        rows: &'a dyn RowSource,
        held: &Held,
    ) -> Result<HeldRows<'static, ScaledRows<'a>>, Error> {
        let scaled = self.some_rows(rows, held)?;
        HeldRows::new(ScaledRows::new(self.clone(), rows), held.clone(), scaled)
    }

    fn some_rows(&self, rows: &dyn RowSource, held: &Held) -> Result<Features, Error> {
        let mut scaled = Features::empty(self.kind(rows.kind()), self.width())?;
        for range in held.ranges().iter().flat_map(|range| ranges(range.clone(), ROWS)) {
            scaled.append(&self.apply(&read(rows, range)?)?)?;
        }
        Ok(scaled)
    }

    /// Writes the scaling into a file of its own.
    ///
    /// # Errors
    /// The file system's errors.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        Contents::new(KIND, VERSION, &BTreeMap::new(), &self.tensors()).write(path)
    }

    /// Reads a file that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// A file that is damaged or of a different kind or version.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let stored = Stored::open(path, KIND, VERSION)?;
        let width = stored.read::<f32>("scaling.scale", 1)?.1.len();
        let missing = || Error::file(path, "no scaling");
        Self::from_stored(&stored, width)?.ok_or_else(missing)
    }

    pub(crate) fn tensors(&self) -> Vec<Tensor<'_>> {
        let mut tensors = vec![Tensor::f32("scaling.scale", &[self.width()], &self.scale)];
        if let Some(centre) = &self.centre {
            tensors.push(Tensor::f64(CENTRE, &[centre.len()], centre));
        }
        tensors
    }

    /// Creates the scaling in a file, if there is one.
    pub(crate) fn from_stored(stored: &Stored, width: usize) -> Result<Option<Self>, Error> {
        if !stored.has("scaling.scale") {
            return Ok(None);
        }
        let scale = stored.read::<f32>("scaling.scale", 1)?.1.to_vec();
        let centre = stored.has(CENTRE).then(|| stored.read::<f64>(CENTRE, 1)).transpose()?;
        let centre = centre.map(|(_, centre)| centre.to_vec());
        let scale_fits = scale.len() == width && scale.iter().all(|value| value.is_finite());
        let centre_fits = centre.as_ref().is_none_or(|centre: &Vec<f64>| {
            centre.len() == width && centre.iter().all(|value| value.is_finite())
        });
        if scale_fits && centre_fits {
            return Ok(Some(Self { centre, scale }));
        }
        let message = format!("the scaling is not that of {width} columns");
        Err(Error::file(stored.path(), message))
    }
}

/// Calls `visit` with row, column and value of what is stored, in order.
fn each(rows: &Block, mut visit: impl FnMut(usize, usize, f32)) {
    for row in 0..rows.len() {
        rows.entries(row, 0..rows.width(), |column, value| visit(row, column, value));
    }
}
