use burn::backend::Cube;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{UNITS, buffer, count, cubes, empty, sides, texts, vector};
use crate::operation::Operation;
use crate::rows::{Kind, Rows};

/// Returns the text of a row: the last of `count` whose first row is not behind it.
#[cube]
fn text_of(texts: &[u32], count: u32, row: u32) -> u32 {
    let mut from = 0u32;
    let mut to = count;
    while to - from > 1 {
        let middle = (from + to) / 2;
        if texts[middle as usize] <= row {
            from = middle;
        } else {
            to = middle;
        }
    }
    from
}

/// Copies or sums rows of texts. With `spread` the rows of y are tokens: with `places` each is the row of x of its
/// place from `first` on, otherwise its text's row times its share, which is 0 from text `first` on. Without `spread`
/// they are the sums over the tokens of each place from `first` on, or for each text the mean over its tokens. `width`
/// counts vectors of N elements (a unit has one), `rows` the rows of y, and `count` all texts.
#[cube(launch_unchecked)]
fn rows_of_texts<N: Size>(
    x: &[Vector<f32, N>],
    texts: &[u32],
    y: &mut [Vector<f32, N>],
    rows: u32,
    count: u32,
    first: u32,
    width: u32,
    #[comptime] places: bool,
    #[comptime] spread: bool,
) {
    let at = ABSOLUTE_POS as u32;
    if at < rows * width {
        let row = at / width;
        let column = at % width;
        let mut sum = Vector::<f32, N>::new(0.0f32);
        if comptime!(spread) {
            let text = text_of(texts, count, row);
            let from = texts[text as usize];
            if comptime!(places) {
                sum = x[((first + row - from) * width + column) as usize];
            } else if text < first {
                let share = 1.0f32 / f32::cast_from(texts[text as usize + 1] - from);
                sum = x[(text * width + column) as usize] * Vector::new(share);
            }
        } else if comptime!(places) {
            if row >= first {
                for text in 0..count {
                    let token = texts[text as usize] + row - first;
                    if token < texts[text as usize + 1] {
                        sum += x[(token * width + column) as usize];
                    }
                }
            }
        } else {
            let from = texts[row as usize];
            let to = texts[row as usize + 1];
            let share = Vector::new(1.0f32 / f32::cast_from(to - from));
            for token in from..to {
                sum += x[(token * width + column) as usize] * share;
            }
        }
        y[at as usize] = sum;
    }
}

impl Rows {
    /// Returns the rows of tokens with `spread`, otherwise of places or texts.
    fn launch(&self, x: &CubeTensor, rows: usize, spread: bool) -> CubeTensor {
        let width = sides(x).1;
        let sequences = &self.sequences;
        let y = empty(x, [rows, width]);
        let lanes = vector(width);
        let (first, places) = match self.kind {
            Kind::Places(first) => (first, true),
            Kind::Means(texts) => (texts, false),
        };
        // SAFETY: units beyond the rows do nothing; places and texts are rows of x, which `fused` checks
        unsafe {
            rows_of_texts::launch_unchecked(
                &x.client,
                cubes(x, rows * width / lanes),
                CubeDim::new_1d(UNITS),
                lanes,
                buffer(x),
                texts(sequences, x),
                buffer(&y),
                count(rows),
                count(sequences.texts()),
                count(first),
                count(width / lanes),
                places,
                spread,
            );
        }
        y
    }
}

impl Operation<Cube, 1> for Rows {
    /// Number of rows of the input.
    type Saved = usize;

    fn forward(&self, [x]: [CubeTensor; 1], _: bool) -> (CubeTensor, usize) {
        let (rows, spread) = match self.kind {
            Kind::Places(_) => (self.sequences.rows(), true),
            Kind::Means(texts) => (texts, false),
        };
        (self.launch(&x, rows, spread), sides(&x).0)
    }

    fn backward(self, rows: usize, dy: CubeTensor, [wanted]: [bool; 1]) -> [Option<CubeTensor>; 1] {
        let spread = matches!(self.kind, Kind::Means(_));
        [wanted.then(|| self.launch(&dy, rows, spread))]
    }
}
