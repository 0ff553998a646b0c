//! Matrix products with strides.

/// A matrix in memory: its first value, and the distances between rows and between columns.
#[derive(Clone, Copy)]
pub struct View {
    pub start: *const f32,
    pub row: usize,
    pub column: usize,
}

impl View {
    /// A matrix whose rows are `width` values apart.
    pub fn rows(start: *const f32, width: usize) -> Self {
        Self { start, row: width, column: 1 }
    }

    /// The transpose.
    pub fn transposed(self) -> Self {
        Self { start: self.start, row: self.column, column: self.row }
    }
}

/// Whether a product may use the thread pool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// The calling thread alone.
    One,
    /// All threads of the pool.
    All,
}

/// `target ← [target +] factor · a b` for a `[m, k]`, b `[k, n]`; the target's rows are `width` apart, and
/// `add` adds to its values. The order of summation does not depend on the number of threads.
///
/// # Safety
/// The views and the target cover these sizes; the target overlaps neither operand, and no other thread
/// uses it; with `add` it has been written.
#[allow(clippy::too_many_arguments)]
pub unsafe fn product(
    (m, n, k): (usize, usize, usize),
    target: *mut f32,
    width: usize,
    add: bool,
    factor: f32,
    a: View,
    b: View,
    threads: Threads,
) {
    let parallelism = match threads {
        Threads::One => gemm::Parallelism::None,
        Threads::All => gemm::Parallelism::Rayon(0),
    };
    // SAFETY: the caller's promise
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            target,
            1,
            width as isize,
            add,
            a.start,
            a.column as isize,
            a.row as isize,
            b.start,
            b.column as isize,
            b.row as isize,
            1.0,
            factor,
            false,
            false,
            false,
            parallelism,
        );
    }
}
