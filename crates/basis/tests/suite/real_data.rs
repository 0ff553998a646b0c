//! Real outputs: skipped, by name, where the development data are absent.

use std::path::PathBuf;

use dsokr_basis::features::{MappedRows, distinct};
use dsokr_basis::{Basis, Kernel, RowSource, SketchKind, SketchOptions};

use crate::support::{assert_close, brute_force, expand, product, transpose};

/// Returns a file under the data root, `DSOKR_DATA` or `../shared/data` beside the workspace.
pub fn data(test: &str, name: &str) -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let root = std::env::var_os("DSOKR_DATA").map_or(PathBuf::from(default), PathBuf::from);
    let path = root.join(name);
    if !path.exists() {
        println!("skipped: {test}: DSOKR_DATA has no {name}");
        return None;
    }
    Some(path)
}

fn check(kernel: &Kernel, rows: &MappedRows, sketch: &SketchKind, m: usize, unexplained: f64) {
    let train: Vec<usize> = (0..3000).collect();
    let train = rows.select(&train).unwrap();
    let basis = Basis::fit(kernel.clone(), &train, &SketchOptions::new(sketch.clone(), m)).unwrap();
    // Equal fingerprints among the anchors cost a little of the rank.
    assert!(basis.dimension() > 19 * m / 20, "rank {}", basis.dimension());
    let projection = basis.project(&train).unwrap();
    let mean = projection.residuals().iter().sum::<f64>() / 3000.0;
    assert!(mean < unexplained, "{sketch:?}: mean residual {mean}");
    // Products of coordinates against the exact kernel: the error is at most √(r(a) r(b)).
    let few: Vec<usize> = (0..3000).step_by(97).collect();
    let expanded = expand(&train.select(&few).unwrap());
    for (i, a) in few.iter().enumerate() {
        for (j, b) in few.iter().enumerate() {
            let exact = brute_force(kernel, &expanded[i], &expanded[j]);
            let terms = projection.row(*a).iter().zip(projection.row(*b));
            let actual: f64 = terms.map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
            let bound = (projection.residuals()[*a] * projection.residuals()[*b]).sqrt();
            assert!(
                (actual - exact).abs() <= bound + 1e-5,
                "{a}, {b}: {actual}, {exact}, ± {bound}"
            );
        }
    }
}

#[test]
fn cosine_on_mol2vec() {
    let Some(path) = data("cosine_on_mol2vec", "chebi20/mol2vec.safetensors") else { return };
    let rows = MappedRows::open(&path, "mol2vec").unwrap();
    assert_eq!((rows.len(), rows.width()), (35_905, 300));
    check(&Kernel::Cosine, &rows, &SketchKind::Gaussian, 100, 0.03);
    check(&Kernel::Cosine, &rows, &SketchKind::SparsifiedRademacher { density: 0.01 }, 100, 0.03);
    check(&Kernel::Cosine, &rows, &SketchKind::Subsampling { replacement: false }, 100, 0.03);
}

/// With all 300 dimensions the cosine kernel is reproduced.
#[test]
fn full_rank_cosine_on_mol2vec_is_exact() {
    let name = "full_rank_cosine_on_mol2vec_is_exact";
    let Some(path) = data(name, "chebi20/mol2vec.safetensors") else { return };
    let rows = MappedRows::open(&path, "mol2vec").unwrap();
    let few: Vec<usize> = (0..1200).collect();
    let train = rows.select(&few).unwrap();
    let basis = Basis::fit(Kernel::Cosine, &train, &SketchOptions::new(SketchKind::Gaussian, 1200))
        .unwrap();
    assert!(basis.dimension() <= 300);
    let few: Vec<usize> = (0..1200).step_by(30).collect();
    let few = train.select(&few).unwrap();
    let projection = basis.project(&few).unwrap();
    let z: Vec<Vec<f64>> = (0..few.len())
        .map(|i| projection.row(i).iter().map(|&value| value.into()).collect())
        .collect();
    let exact = crate::support::gram(&Kernel::Cosine, &expand(&few));
    assert_close(&product(&z, &transpose(&z)), &exact, 1e-5, name);
}

#[test]
fn tanimoto_on_morgan() {
    let Some(path) = data("tanimoto_on_morgan", "chebi20/morgan.safetensors") else { return };
    let rows = MappedRows::open(&path, "morgan_r2_2048").unwrap();
    assert_eq!((rows.len(), rows.width()), (35_905, 2048));
    check(&Kernel::Tanimoto, &rows, &SketchKind::Subsampling { replacement: false }, 200, 0.7);
    check(&Kernel::Tanimoto, &rows, &SketchKind::SparsifiedRademacher { density: 0.003 }, 200, 0.7);
}

/// 33,010 candidates have 28,066 distinct Mol2vec vectors; all 35,905 rows are searched here.
#[test]
fn mol2vec_has_duplicates() {
    let Some(path) = data("mol2vec_has_duplicates", "chebi20/mol2vec.safetensors") else { return };
    let Some(table) = data("mol2vec_has_duplicates", "chebi20/molecules.tsv") else { return };
    let rows = MappedRows::open(&path, "mol2vec").unwrap();
    let table = std::fs::read_to_string(table).unwrap();
    let lines = table.lines().skip(1).enumerate();
    let candidates: Vec<usize> =
        lines.filter(|(_, line)| line.ends_with("\t1")).map(|(row, _)| row).collect();
    assert_eq!(candidates.len(), 33_010);
    let actual = distinct(&rows.select(&candidates).unwrap()).unwrap();
    assert_eq!(actual.representative.len(), 28_066);
}
