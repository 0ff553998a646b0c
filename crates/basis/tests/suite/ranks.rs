//! Bases that several ranks fit together. They are threads of this process here.

use std::sync::atomic::{AtomicUsize, Ordering};

use dsokr_basis::features::{JoinedRows, SparseRows};
use dsokr_basis::{
    Basis, Features, Kernel, Projection, RowSource, SketchKind, SketchOptions, Tempering, leverage,
};
use dsokr_core::processes::{same_on_threads, threads};
use dsokr_core::random::generator;
use dsokr_core::{Error, Processes, RowWeights};

use crate::support::*;

const UNIFORM: SketchKind = SketchKind::Subsampling { replacement: false };

/// Asserts that several ranks find what one process finds, bit for bit.
fn assert_shared<T: PartialEq + Send>(
    sizes: &[usize],
    what: &str,
    work: impl Fn(&Processes) -> Result<T, Error> + Sync,
) {
    let one = work(&Processes::default()).unwrap();
    for &size in sizes {
        assert!(
            same_on_threads(size, |processes| work(processes).unwrap()) == one,
            "{what}, {size} ranks"
        );
    }
}

/// Returns what distinguishes bases: a checksum of all numbers, and coordinates.
fn fitted(
    processes: &Processes,
    basis: &Basis,
    rows: &dyn RowSource,
) -> Result<(String, Projection), Error> {
    Ok((basis.fingerprint(), basis.project_shared(processes, rows)?))
}

#[test]
fn several_ranks_fit_the_basis_of_one() {
    let mut random = generator(0, "ranks", 0);
    // three blocks of columns, the last one smaller
    let n = 1100;
    let dense = dense(n, 9, &mut random);
    let bits = bits(n, 70, &mut random);
    let counts = counts(n, 37, &mut random);
    for (kernel, rows) in [
        (Kernel::Cosine, &dense),
        (Kernel::Linear, &bits),
        (Kernel::NGram, &counts),
        (Kernel::Gaussian { gamma: 0.3 }, &dense),
        (Kernel::Tanimoto, &bits),
    ] {
        for kind in [
            UNIFORM,
            SketchKind::Leverage { lambda: 0.01, pilot: 30 },
            SketchKind::Gaussian,
            SketchKind::SparsifiedRademacher { density: 0.05 },
            SketchKind::Accumulation { terms: 200 },
            SketchKind::CountSketch,
        ] {
            let what = format!("{}, {kind:?}", describe(&kernel, rows));
            let options = SketchOptions::new(kind.clone(), 6).with_seed(3);
            // more ranks than blocks too
            assert_shared(&[1, 2, 3, 7], &what, |processes| {
                fitted(
                    processes,
                    &Basis::fit_shared(processes, kernel.clone(), rows, &options)?,
                    rows,
                )
            });
        }
    }
}

/// On a machine of two threads a rank computes two blocks of these at once.
#[test]
fn blocks_that_fill_the_memory_are_summed_in_their_order() {
    let mut random = generator(3, "ranks", 0);
    let rows = dense(2300, 3000, &mut random);
    let options = SketchOptions::new(SketchKind::Gaussian, 300);
    assert_shared(&[2], "wide rows", |processes| {
        Ok(Basis::fit_shared(processes, Kernel::Linear, &rows, &options)?.fingerprint())
    });
}

#[test]
fn more_ranks_than_rows_fit_the_basis_of_one() {
    for (kernel, rows) in cases(4) {
        let what = describe(&kernel, &rows);
        for kind in [UNIFORM, SketchKind::Gaussian, SketchKind::Leverage { lambda: 0.1, pilot: 2 }]
        {
            let options = SketchOptions::new(kind.clone(), 2).with_seed(1);
            let tempering = Tempering { power: 0.5, centred: false, ..Tempering::default() };
            assert_shared(&[3, 6], &what, |processes| {
                let basis = Basis::fit_shared(processes, kernel.clone(), &rows, &options)?;
                fitted(
                    processes,
                    &basis.tempered_weighted(&tempering, &rows, &RowWeights::equal(), processes)?,
                    &rows,
                )
            });
        }
    }
}

#[test]
fn several_ranks_temper_and_sum_as_one() {
    let mut random = generator(1, "ranks", 0);
    // three blocks of outputs, and more coordinates than a rank adds up at once
    let n = 4200;
    let rows = dense(n, 160, &mut random);
    let options = SketchOptions::new(SketchKind::Gaussian, 150);
    for centred in [false, true] {
        let tempering = Tempering { power: 0.5, centred, normalised: true };
        assert_shared(&[2, 3, 5], &format!("{tempering:?}"), |processes| {
            let basis = Basis::fit_shared(processes, Kernel::Linear, &rows, &options)?;
            fitted(
                processes,
                &basis.tempered_weighted(&tempering, &rows, &RowWeights::equal(), processes)?,
                &rows,
            )
        });
    }
    let options = SketchOptions::new(SketchKind::Gaussian, 6);
    let bits = bits(n, 70, &mut random);
    let boxed = |rows: &Features| Box::new(rows.clone()) as Box<dyn RowSource>;
    let joined = JoinedRows::new(vec![boxed(&rows), boxed(&bits)]).unwrap();
    assert_shared(&[2, 3, 5], "a sum", |processes| {
        let first = Basis::fit_shared(processes, Kernel::Linear, &rows, &options)?;
        let second = Basis::fit_shared(processes, Kernel::Tanimoto, &bits, &options)?;
        fitted(
            processes,
            &Basis::sum_weighted(
                vec![(0.6, first), (0.4, second)],
                7,
                &joined,
                &RowWeights::equal(),
                processes,
            )?,
            &joined,
        )
    });
}

#[test]
fn several_ranks_find_the_leverage_scores_of_one() {
    let mut random = generator(2, "ranks", 0);
    let rows = counts(2100, 37, &mut random);
    assert_shared(&[1, 2, 3, 5], "scores", |processes| {
        leverage::scores(Kernel::Cosine, &rows, 1e-3, 60, 4, processes)
    });
}

#[test]
fn several_ranks_project_as_one() {
    for (kernel, rows) in cases(700) {
        let options = SketchOptions::new(UNIFORM, 5);
        let basis = Basis::fit(kernel.clone(), &rows, &options).unwrap();
        assert_shared(&[1, 2, 5], &describe(&kernel, &rows), |processes| {
            basis.project_shared(processes, &rows)
        });
        let shared =
            same_on_threads(3, |processes| basis.project_shared(processes, &rows).unwrap());
        let whole = basis.project(&rows).unwrap();
        assert!(shared == whole);
        // three blocks of rows
        for part in threads(3, |processes| basis.project_part(processes, &rows)) {
            let (held, part) = part.unwrap();
            let held_rows: Vec<usize> = held.each().collect();
            assert!(held_rows.len() <= 256 && held.rows() == 700, "{held:?}");
            assert!(part == whole.select(&held_rows), "{held:?}");
        }
    }
}

#[test]
fn a_rank_reads_its_part() {
    let mut random = generator(5, "ranks", 0);
    let rows = dense(4 * 512 + 100, 6, &mut random);
    let options = SketchOptions::new(SketchKind::Gaussian, 4);
    let read = threads(2, |processes| {
        let read = AtomicUsize::new(0);
        let counted = through(&rows, |source, rows| {
            read.fetch_add(rows.len(), Ordering::Relaxed);
            RowSource::block(source, rows)
        });
        Basis::fit_shared(processes, Kernel::Cosine, &counted, &options)
            .map(|_| read.load(Ordering::Relaxed))
    });
    let read: Vec<usize> = read.into_iter().map(|rank| rank.unwrap()).collect();
    assert_eq!(read, [2 * 512, 2 * 512 + 100]);
}

#[test]
fn a_row_that_a_kernel_refuses_is_named_by_the_rank_that_reads_it() {
    let row = |i: usize| vec![(0, 1.0), (2, if i == 1090 { -3.0 } else { 2.0 })];
    let rows = Features::Sparse(SparseRows::from_rows(4, (0..1100).map(row)).unwrap());
    let options = SketchOptions::new(SketchKind::Gaussian, 2);
    let refused = threads(2, |processes| {
        Basis::fit_shared(processes, Kernel::NGram, &rows, &options).map(|_| ())
    });
    assert!(matches!(refused[0], Err(Error::Process { rank: 1, .. })));
    assert!(matches!(refused[1], Err(Error::Row { row: 1090, .. })), "{refused:?}");
}
