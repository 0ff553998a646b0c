use std::path::PathBuf;

use crate::features::RowKind;

/// Everything that can go wrong in this crate; each variant carries the offending values.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// There is no such file.
    #[error("{}: no such file", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a whole safetensors file.
    #[error("{}: not a safetensors file, or a truncated one: {reason}", path.display())]
    NotSafetensors {
        /// The file.
        path: PathBuf,
        /// What the parser found.
        reason: String,
    },
    /// The file holds something else than asked for.
    #[error("{}: holds {found:?}, expected {expected:?}", path.display())]
    WrongKind {
        /// The file.
        path: PathBuf,
        /// The kind in the file; empty when it was not written by dsokr.
        found: String,
        /// The kind asked for.
        expected: String,
    },
    /// The file was written in a version of the format that this program does not read.
    #[error("{}: format version {found}, this program reads version {supported}", path.display())]
    WrongVersion {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: String,
        /// The version that is read.
        supported: u32,
    },
    /// The content does not match the checksum in the header.
    #[error("{}: damaged: checksum of the content {found}, the header says {expected}", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// Checksum of the content, eight hexadecimal digits.
        found: String,
        /// Checksum in the header.
        expected: String,
    },
    /// The file has no tensor of this name.
    #[error("{}: no tensor {name:?}; it holds {available:?}", path.display())]
    MissingTensor {
        /// The file.
        path: PathBuf,
        /// The tensor asked for.
        name: String,
        /// The tensors in the file.
        available: Vec<String>,
    },
    /// A tensor has another element type.
    #[error("{}: tensor {name:?} is {found}, allowed: {allowed}", path.display())]
    WrongDtype {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Its element type.
        found: String,
        /// The element types that are read.
        allowed: &'static str,
    },
    /// A tensor has another shape.
    #[error("{}: tensor {name:?} has shape {found:?}, expected {expected}", path.display())]
    WrongShape {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Its shape.
        found: Vec<usize>,
        /// What was expected, in words.
        expected: String,
    },
    /// The header lacks a metadata key.
    #[error("{}: no metadata {key:?}", path.display())]
    MissingMetadata {
        /// The file.
        path: PathBuf,
        /// The key asked for.
        key: String,
    },
    /// A metadata value cannot be read.
    #[error("{}: metadata {key:?} is {found:?}, expected {allowed}", path.display())]
    BadMetadata {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// Its value.
        found: String,
        /// What was expected, in words.
        allowed: String,
    },
    /// A file cannot be written from these tensors or metadata.
    #[error("{}: cannot write {name:?}: {reason}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The tensor or the metadata key.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A feature is not a finite number.
    #[error("row {row}, column {column}: {value} is not a finite number")]
    NotFinite {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value.
        value: f32,
    },
    /// A feature in a mapped file is not a finite number.
    #[error("{}: {key:?}, row {row}, column {column}: {value} is not a finite number", path.display())]
    NotFiniteInFile {
        /// The file.
        path: PathBuf,
        /// The tensor.
        key: String,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value, as `f32`.
        value: f32,
    },
    /// Rows must have at least one column.
    #[error("rows of width 0: at least one column is needed")]
    ZeroWidth,
    /// Rows wider than the indices can address.
    #[error("rows of width {width}: at most {} columns are allowed", u32::MAX)]
    TooWide {
        /// The width asked for.
        width: usize,
    },
    /// The number of values is not a whole number of rows.
    #[error("{values} values are not a whole number of rows of {per_row}")]
    Ragged {
        /// Number of values.
        values: usize,
        /// Values in a row.
        per_row: usize,
    },
    /// A row has another number of entries than the others.
    #[error("row {row} has {found} entries, expected {expected}")]
    RowLength {
        /// Row, from 0.
        row: usize,
        /// Its number of entries.
        found: usize,
        /// The number of entries expected.
        expected: usize,
    },
    /// A column index lies outside of the row.
    #[error("row {row}: column {column} is outside of 0..{width}")]
    ColumnOutOfRange {
        /// Row, from 0.
        row: usize,
        /// The column.
        column: usize,
        /// The width of a row.
        width: usize,
    },
    /// The columns of a sparse row must increase.
    #[error("row {row}: column {column} follows column {previous}; columns must increase")]
    ColumnOrder {
        /// Row, from 0.
        row: usize,
        /// The column.
        column: u32,
        /// The column before it.
        previous: u32,
    },
    /// Row offsets of a sparse matrix must start at 0, not decrease, and end at its number of entries.
    #[error("sparse offset {position} is {found}, allowed {low}..={high}")]
    SparseOffsets {
        /// Which offset.
        position: usize,
        /// Its value.
        found: usize,
        /// Smallest value allowed.
        low: usize,
        /// Largest value allowed.
        high: usize,
    },
    /// A sparse matrix has another number of columns indices than of values.
    #[error("{indices} column indices for {values} values")]
    SparseLengths {
        /// Number of column indices.
        indices: usize,
        /// Number of values.
        values: usize,
    },
    /// A packed row has a bit set beyond its width.
    #[error("row {row}: a padding bit beyond bit {bits} is set")]
    PaddingBit {
        /// Row, from 0.
        row: usize,
        /// Bits in a row.
        bits: usize,
    },
    /// Rows outside of a set of rows were asked for.
    #[error("rows {start}..{end} of a set of {len}")]
    RowRange {
        /// First row.
        start: usize,
        /// One after the last row.
        end: usize,
        /// Number of rows that there are.
        len: usize,
    },
    /// A row source returned another number of rows than asked for.
    #[error("a row source returned {found} rows for rows {start}..{end}")]
    ShortBlock {
        /// First row asked for.
        start: usize,
        /// One after the last row asked for.
        end: usize,
        /// Number of rows returned.
        found: usize,
    },
    /// Rows of two kinds meet.
    #[error("{found} rows where {expected} rows are needed")]
    KindMismatch {
        /// The kind found.
        found: RowKind,
        /// The kind needed.
        expected: RowKind,
    },
    /// Rows of two widths meet.
    #[error("rows of width {found} where width {expected} is needed")]
    WidthMismatch {
        /// The width found.
        found: usize,
        /// The width needed.
        expected: usize,
    },
    /// A kernel parameter is outside of its range.
    #[error("kernel {kernel}: {parameter} = {value}, allowed: {allowed}")]
    KernelParameter {
        /// The kernel.
        kernel: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
        /// The values allowed.
        allowed: &'static str,
    },
    /// A basis whose kernel is not built in.
    #[error("{}: fitted with the kernel {kernel:?}, which is not built in: it is loaded with that kernel, by Basis::load_with", path.display())]
    OwnKernel {
        /// The file.
        path: PathBuf,
        /// The kernel's name.
        kernel: String,
    },
    /// A basis of another kernel than the one that it is loaded with.
    #[error("{}: fitted with the kernel {found}, not with {given}", path.display())]
    OtherKernel {
        /// The file.
        path: PathBuf,
        /// The kernel in the file.
        found: String,
        /// The kernel given.
        given: String,
    },
    /// A kernel is not defined on rows of this kind.
    #[error("kernel {kernel} is not defined on {found} rows, allowed: {allowed}")]
    KernelRows {
        /// The kernel.
        kernel: &'static str,
        /// The kind of rows.
        found: RowKind,
        /// The kinds allowed.
        allowed: &'static str,
    },
    /// A row holds a value that the kernel has no meaning for.
    #[error("kernel {kernel}: row {row}, column {column} holds {value}, allowed: {allowed}")]
    KernelValue {
        /// The kernel.
        kernel: &'static str,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value.
        value: f32,
        /// The values allowed.
        allowed: &'static str,
    },
    /// There are no rows.
    #[error("no rows: at least one is needed")]
    NoRows,
    /// A sketch of m rows cannot be drawn from n outputs.
    #[error("sketch of size {m} on {n} rows, allowed: 1..={n}")]
    SketchSize {
        /// The size asked for.
        m: usize,
        /// Number of training outputs.
        n: usize,
    },
    /// A sketch parameter is outside of its range.
    #[error("sketch {sketch}: {parameter} = {value}, allowed: {allowed}")]
    SketchParameter {
        /// The sketch.
        sketch: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
        /// The values allowed.
        allowed: String,
    },
    /// A sparsified sketch came out without any non-zero.
    #[error(
        "sketch {sketch}: no non-zero among {m} x {n} entries drawn at density {density}; raise it"
    )]
    EmptySketch {
        /// The sketch.
        sketch: &'static str,
        /// Number of sketch rows.
        m: usize,
        /// Number of training outputs.
        n: usize,
        /// Probability of a non-zero.
        density: f64,
    },
    /// A leverage-score sketch needs the kernel and the rows.
    #[error("a leverage-score sketch depends on the data: draw it with Sketch::fit")]
    DataDependentSketch,
    /// Only leverage-score sketches are drawn from scores.
    #[error("a {sketch} sketch is not drawn from scores, only a leverage-score sketch is")]
    NotByScores {
        /// Name of the sketch.
        sketch: &'static str,
    },
    /// Probabilities must be finite, not negative, and not all zero.
    #[error("probability of row {row} is {value}; they must be finite, at least 0, and not all 0")]
    Probability {
        /// Row, from 0 (the last one when all are zero).
        row: usize,
        /// The value.
        value: f64,
    },
    /// The relative eigenvalue cut-off is outside of its range.
    #[error("tolerance {value}, allowed: 1e-12 to below 1")]
    Tolerance {
        /// The value.
        value: f64,
    },
    /// A power on the spectrum of a basis is outside of its range.
    #[error("tempering: power = {value}, allowed: 0 to 1")]
    Power {
        /// The value.
        value: f64,
    },
    /// A basis can be tempered once.
    #[error("the basis is tempered already; temper the one that was fitted")]
    AlreadyTempered,
    /// Outputs that are all the same point have no principal axes.
    #[error("tempering: the coordinates of {rows} outputs do not vary")]
    NoVariance {
        /// Number of outputs.
        rows: usize,
    },
    /// The sketched kernel matrix is zero: every row has k(y, y) = 0.
    #[error(
        "the sketched kernel matrix is zero (largest eigenvalue {largest}): are all rows zero?"
    )]
    ZeroKernel {
        /// The largest eigenvalue.
        largest: f64,
    },
    /// A product of features is not finite in the arithmetic used.
    #[error(
        "features so large that their products overflow{}: {value}; scale them down",
        in_row(row)
    )]
    Overflow {
        /// Row, from 0, where one row is the cause; none for a sum over many rows.
        row: Option<usize>,
        /// The product.
        value: f64,
    },
    /// The eigendecomposition did not converge.
    #[error("the eigendecomposition of a {size} x {size} matrix did not converge")]
    Eigen {
        /// The size of the matrix.
        size: usize,
    },
    /// A matrix that a Cholesky factorisation needs positive definite is not.
    #[error("a {size} x {size} matrix is not positive definite to rounding; raise the ridge")]
    NotPositive {
        /// The size of the matrix.
        size: usize,
    },
    /// Blocks of zero rows were asked for.
    #[error("blocks of 0 rows: at least 1 is needed")]
    BlockRows,
    /// The options of a featurizer contradict each other.
    #[error("featurizer {featurizer}: {option} = {value}, allowed: {allowed}")]
    Featurizer {
        /// The featurizer.
        featurizer: &'static str,
        /// The option.
        option: &'static str,
        /// Its value.
        value: usize,
        /// The values allowed.
        allowed: String,
    },
    /// A setting of TF-IDF n-grams out of range.
    #[error("{key} = {found}: {allowed}")]
    NgramSetting {
        /// Configuration key.
        key: &'static str,
        /// The value found.
        found: String,
        /// The values allowed.
        allowed: String,
    },
    /// No n-gram is left to learn from.
    #[error("the {texts} training texts give no n-gram: lower min_texts, or give longer texts")]
    EmptyVocabulary {
        /// Number of training texts.
        texts: usize,
    },
    /// A file of a vocabulary could not be read, or holds something else.
    #[error("{}: {reason}", path.display())]
    BadVocabulary {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Two items of a ranking have the same rank.
    #[error("row {row}: item {item} has rank {rank}, which another item has already")]
    Ranking {
        /// Row, from 0.
        row: usize,
        /// The item.
        item: usize,
        /// Its rank.
        rank: u32,
    },
    /// A label that the vocabulary does not hold.
    #[error("row {row}: unknown label {label:?}; {known} labels are known")]
    UnknownLabel {
        /// Row, from 0.
        row: usize,
        /// The label.
        label: String,
        /// Number of known labels.
        known: usize,
    },
}

fn in_row(row: &Option<usize>) -> String {
    row.map_or_else(String::new, |row| format!(" in row {row}"))
}

impl Error {
    /// The same error with its row, counted within a block, counted from the first row of all.
    pub(crate) fn at_rows(mut self, absolute: impl Fn(usize) -> usize) -> Self {
        if let Self::KernelValue { row, .. } = &mut self {
            *row = absolute(*row);
        }
        self
    }
}
