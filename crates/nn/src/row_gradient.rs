use burn::tensor::Tensor;

/// The gradient of a table `[rows, p]` of which only some rows have one: a tensor `[touched, 1 + p]` in the
/// place of one of the table's shape. Each of its rows is the number of a table row, ascending, and that
/// row's gradient.
pub struct RowGradient;

impl RowGradient {
    /// The most rows of a table: their numbers are 32-bit floats, which are exact up to 2²⁴.
    pub const ROWS: usize = 1 << 24;

    /// Whether a gradient of a parameter is by rows.
    pub fn is<const D: usize>(gradient: &Tensor<D>, parameter: &Tensor<D>) -> bool {
        D == 2 && gradient.dims()[1] == parameter.dims()[1] + 1
    }

    /// The numbers of the rows, and their gradients.
    pub fn split<const D: usize>(gradient: Tensor<D>) -> [Tensor<D>; 2] {
        let columns = gradient.dims()[1];
        [gradient.clone().narrow(1, 0, 1), gradient.narrow(1, 1, columns - 1)]
    }
}
