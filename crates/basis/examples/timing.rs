//! Temporary.
use dsokr_basis::features::MappedRows;
use dsokr_basis::*;
use std::time::Instant;
fn main() {
    let p = "/work/shared/data/chebi20/mol2vec.safetensors";
    let idx: Vec<usize> = (0..9244).collect();
    let all = MappedRows::open(p.as_ref(), "mol2vec").unwrap();
    let rows = all.select(&idx).unwrap();
    let mut v = Vec::new();
    for _ in 0..100 {
        let t = Instant::now();
        let b = Basis::fit(Kernel::Cosine, &rows, &SketchKind::Gaussian, 100, 0, 1e-10).unwrap();
        let f = t.elapsed().as_secs_f64();
        let z = b.project(&rows).unwrap();
        let a = t.elapsed().as_secs_f64();
        std::hint::black_box(z);
        v.push((a, f));
    }
    v.sort_by(|a, b| a.0.total_cmp(&b.0));
    println!("min {:?} median {:?}", v[0], v[50]);
    if std::env::args().len() < 2 { return; }
    let bits = MappedRows::open("/work/shared/data/chebi20/morgan.safetensors".as_ref(), "morgan_r2_2048").unwrap();
    let morgan = bits.select(&idx).unwrap();
    let run = |name: &str, k: Kernel, train: &dyn RowSource, test: &dyn RowSource, s: SketchKind, m| {
        let t = Instant::now();
        let b = Basis::fit(k, train, &s, m, 0, 1e-10).unwrap();
        let f = t.elapsed().as_secs_f64();
        let z = b.project(test).unwrap();
        let a = t.elapsed().as_secs_f64() - f;
        let r = z.residuals.iter().sum::<f64>() / z.len() as f64;
        println!("{name} {s:?} m {m} p {} a {:?}: fit {f:.3} project {} rows {a:.3}, residual {r:.3}", b.rank(), b.anchors().map(|a| a.len()), z.len());
    };
    let sr = SketchKind::SparsifiedRademacher { density: 20.0 / 9244.0 };
    run("cosine", Kernel::Cosine, &rows, &all, SketchKind::Gaussian, 300);
    run("cosine", Kernel::Cosine, &rows, &all, SketchKind::Gaussian, 1000);
    run("cosine bits", Kernel::Cosine, &morgan, &bits, SketchKind::Gaussian, 300);
    run("tanimoto", Kernel::Tanimoto, &morgan, &bits, sr.clone(), 100);
    run("tanimoto", Kernel::Tanimoto, &morgan, &bits, SketchKind::Gaussian, 100);
    run("tanimoto", Kernel::Tanimoto, &morgan, &bits, SketchKind::Subsampling { replacement: false }, 1000);
    run("gaussian", Kernel::Gaussian { gamma: 1e-3 }, &rows, &all, sr, 100);
    run("gaussian", Kernel::Gaussian { gamma: 1e-3 }, &rows, &all, SketchKind::Leverage { lambda: 1e-3, pilot: 300 }, 300);
}
