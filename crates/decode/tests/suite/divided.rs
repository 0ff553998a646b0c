//! Candidates whose coordinates several ranks hold in parts, against one process that holds all of them.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::sync::Arc;

use dsokr_basis::features::DenseRows;
use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions};
use dsokr_core::Error;
use dsokr_core::processes::{Held, Processes, threads};
use dsokr_decode::{CandidateParts, Candidates};

use crate::common::message;

/// Returns a number for each place, positive or negative.
fn value(at: usize) -> f32 {
    ((at * 7919) % 1013) as f32 / 500.0 - 1.0
}

fn ids(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("c{at}")).collect()
}

/// Asserts that ranks which hold the rows of `place` in parts write the files of one process, `most` rows each, and get
/// its candidates when they have read them.
fn check_divided(
    most: impl Fn(usize) -> usize,
    place: impl Fn(&Processes) -> Result<Candidates, Error> + Sync,
) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, size: usize| folder.path().join(format!("{name}-{size}"));
    let metadata = BTreeMap::from([("run".to_owned(), "1".to_owned())]);
    let one = place(&Processes::default()).unwrap();
    assert!(one.held().is_none());
    let sum = one.coordinates_sum(&Processes::default()).unwrap();
    one.save(&file("whole", 0), &metadata).unwrap();
    one.save_mapped(&file("mapped", 0), &metadata).unwrap();
    // more ranks than blocks of rows too
    for size in [1, 2, 4, 7] {
        let held = threads(size, |processes| {
            let part = place(processes)?;
            let held = part.held().map_or(one.distinct(), Held::len);
            assert_eq!((part.len(), part.distinct()), (one.len(), one.distinct()));
            assert_eq!(part.constants(), one.constants());
            assert_eq!(part.coordinates_sum(processes)?, sum);
            // rows of other ranks are not here
            assert_eq!(part.coordinates().is_ok(), size == 1);
            let written = part.written(processes, |writer| {
                writer.save(&file("whole", size), &metadata)?;
                writer.save_mapped(&file("mapped", size), &metadata)
            })?;
            assert_eq!(written.is_some(), processes.is_first());
            for name in ["whole", "mapped"] {
                let stored = Arc::new(Candidates::open(&file(name, size))?);
                let stored = part.clone().stored_in(&stored)?;
                assert!(stored.held().is_none() && stored == one, "{name}, {size} ranks");
            }
            assert!(part.joined(processes)? == one, "{size} ranks");
            Ok::<_, Error>(held)
        });
        let held: Vec<usize> = held.into_iter().collect::<Result<_, _>>().unwrap();
        assert_eq!(held.iter().sum::<usize>(), one.distinct(), "{size} ranks");
        assert!(held.iter().all(|&held| held <= most(size)), "{size} ranks: {held:?}");
        for name in ["whole", "mapped"] {
            let [written, expected] = [size, 0].map(|size| fs::read(file(name, size)).unwrap());
            assert!(written == expected, "{name}, {size} ranks");
        }
    }
}

#[test]
fn ranks_place_a_part_of_the_candidates_each_and_write_the_file_of_one() {
    let count: usize = 1100;
    let values: Vec<f32> = (0..5 * count).map(value).collect();
    let rows = Features::Dense(DenseRows::new(5, values).unwrap());
    let options = SketchOptions::new(SketchKind::Gaussian, 4);
    let basis = Basis::fit(Kernel::Linear, &rows, &options).unwrap();
    // five blocks of 256 rows
    let most = |size: usize| 256 * count.div_ceil(256).div_ceil(size);
    check_divided(most, |processes| {
        let parts = CandidateParts::in_basis(&basis, &rows, processes)?;
        Candidates::new(CandidateParts { ids: ids(count), ..parts })
    });
}

#[test]
fn candidates_of_several_ranks_are_written_some_at_a_time() {
    // 512 rows are in memory at once
    let count: usize = 520;
    let dim: usize = 1 << 13;
    let coordinates =
        |rows: Range<usize>| (rows.start * dim..rows.end * dim).map(value).collect::<Vec<f32>>();
    let most = |size: usize| count.div_ceil(size);
    check_divided(most, |processes| {
        let part = processes.part(count);
        let held = Held::new(count, std::iter::once(part.clone()));
        let constants = part.clone().map(value).collect();
        let parts = CandidateParts::of_part(held, dim, coordinates(part), constants, processes)?;
        // two candidates share the last row
        let class = (0..count as u32).chain(std::iter::once(count as u32 - 1)).collect();
        Candidates::new(CandidateParts { ids: ids(count + 1), class, ..parts })
    });
}

#[test]
fn a_file_of_other_candidates_is_refused() {
    let candidates = |count: usize, dim: usize| {
        let coordinates = (0..count * dim).map(value).collect();
        let parts = CandidateParts { ids: ids(count), dim, coordinates, ..Default::default() };
        Candidates::new(parts).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("candidates");
    let all = candidates(5, 3);
    for save in [Candidates::save, Candidates::save_mapped] {
        save(&all, &path, &BTreeMap::new()).unwrap();
        let stored = Arc::new(Candidates::open(&path).unwrap());
        // candidates that were added are behind these
        for count in [4, 5] {
            let first = candidates(count, 3);
            assert!(first.clone().stored_in(&stored).unwrap() == first);
        }
        for (count, dim) in [(6, 3), (5, 2)] {
            let error = message(candidates(count, dim).stored_in(&stored));
            let expected = format!("5 rows of 3 coordinates, expected {count} of {dim}");
            assert!(error.ends_with(&expected), "{error}");
        }
    }
}
