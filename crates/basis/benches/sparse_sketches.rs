//! Time, memory and file of a basis whose sketch has few entries.
//!
//! ```sh
//! cargo bench -p dsokr-basis --bench sparse_sketches -- p-sr 100000 1000
//! ```
//!
//! The arguments are the kind of sketch (p-sr, p-sg, accumulation, count-sketch, subsampling, gaussian), the number of
//! rows n, the size m of the sketch, and `linear` for the linear kernel in the place of Tanimoto. Sparsified sketches
//! have a density of 20/n.

#[path = "../../machines/benches/process/mod.rs"]
mod process;

use std::time::Instant;

use dsokr_basis::features::BitRows;
use dsokr_basis::{Basis, Features, Kernel, RowSource, SketchKind, SketchOptions};
use dsokr_core::random::{Generator, below, generator, unit};

/// Columns of a row, as of fingerprints.
const WIDTH: usize = 2048;

/// Rows that are projected.
const PROJECTED: usize = 4096;

/// Sets of columns that rows are variations of.
const TEMPLATES: usize = 500;

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|text| text != "--bench").collect();
    let argument =
        |at: usize, default: &str| arguments.get(at).map_or(default, String::as_str).to_owned();
    let number = |at: usize, default: &str| argument(at, default).parse().expect("a number");
    let n: usize = number(1, "20000");
    let m: usize = number(2, "500");
    let density = (20.0 / n as f64).min(1.0);
    let kind = match argument(0, "p-sr").as_str() {
        "p-sr" => SketchKind::SparsifiedRademacher { density },
        "p-sg" => SketchKind::SparsifiedGaussian { density },
        "accumulation" => SketchKind::Accumulation { terms: 10 },
        "count-sketch" => SketchKind::CountSketch,
        "subsampling" => SketchKind::Subsampling { replacement: false },
        "gaussian" => SketchKind::Gaussian,
        other => panic!("{other} is no kind of sketch"),
    };
    let kernel = if argument(3, "") == "linear" { Kernel::Linear } else { Kernel::Tanimoto };
    let rows = rows(n);
    let queries = rows.select(&(0..PROJECTED.min(n)).collect::<Vec<_>>()).expect("rows");
    let before = process::peak_mib();

    let start = Instant::now();
    let basis = Basis::fit(kernel, &rows, &SketchOptions::new(kind.clone(), m)).expect("a basis");
    let fit = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let projection = basis.project(&queries).expect("coordinates");
    let projected = start.elapsed().as_secs_f64();

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("basis.safetensors");
    basis.save(&path).expect("a file");
    let file = std::fs::metadata(&path).expect("a file").len();

    println!(
        "{}: n = {n}, m = {m}, p = {}, {} anchors, {} threads",
        kind.name(),
        basis.dimension(),
        basis.anchors().map_or(0, RowSource::len),
        rayon::current_num_threads(),
    );
    println!("fit {fit:.2} s; {:.1} µs a projected row", 1e6 * projected / queries.len() as f64);
    println!(
        "file {:.1} MB; peak memory {} MiB, {before} before",
        file as f64 / 1e6,
        process::peak_mib()
    );
    // kernel values by coordinates, which do not depend on signs of eigenvectors
    let product = |i: usize, j: usize| -> f64 {
        let pairs = projection.row(i).iter().zip(projection.row(j));
        pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    };
    println!("products {:.9} {:.9} {:.9}", product(0, 0), product(0, 1), product(2, 7));
}

/// Returns rows of bits that are variations of some templates.
fn rows(n: usize) -> Features {
    let mut random = generator(0, "bench", 0);
    let columns = |random: &mut Generator, count: usize| -> Vec<u32> {
        (0..count).map(|_| below(random, WIDTH as u64) as u32).collect()
    };
    let templates: Vec<Vec<u32>> = (0..TEMPLATES).map(|_| columns(&mut random, 70)).collect();
    let row = |_| {
        let template = &templates[below(&mut random, TEMPLATES as u64) as usize];
        let kept: Vec<u32> = template.iter().copied().filter(|_| unit(&mut random) < 0.6).collect();
        let mut row = [kept, columns(&mut random, 12)].concat();
        row.sort_unstable();
        row.dedup();
        row
    };
    let all: Vec<Vec<u32>> = (0..n).map(row).collect();
    Features::Bits(BitRows::from_indices(WIDTH, all).expect("rows"))
}
