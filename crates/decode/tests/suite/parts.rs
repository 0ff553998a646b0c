//! Candidates that several ranks score in parts, against one that scores all of them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsokr_core::Error;
use dsokr_core::processes::{Processes, threads};
use dsokr_decode::{
    CandidateBlocks, Candidates, CodedBlock, Combination, Decoded, Ensemble, Hit, Member, Pool,
    Queries, Rank, ScoreBlock, rank_shared, top_rows_shared,
};

use crate::common::{Set, golds, integer_queries, real_queries};

/// Ranks, hits, and what an ensemble of one and of two finds.
type Found = (Vec<Option<Rank>>, Vec<Vec<Hit>>, Vec<Decoded>, Vec<Decoded>);

fn find(
    processes: &Processes,
    rows: &[f32],
    candidates: &Candidates,
    dim: usize,
    gold: &[usize],
    k: usize,
) -> Found {
    let queries = || Queries::new(dim, rows).unwrap();
    let gold: Vec<_> = gold.iter().map(|&gold| Some(candidates.class_of(gold))).collect();
    let member = |name| Member { name, queries: queries(), candidates, normalised: true };
    let rule = Combination::Mean { weights: None, standardise: false };
    let decode = |members| {
        let ensemble = Ensemble::new(members).unwrap().shared_by(processes);
        ensemble.decode(Pool::Shared, &rule, &gold, k).unwrap()
    };
    let top_k = |rule| {
        let ensemble = Ensemble::one(queries(), candidates, None).unwrap().shared_by(processes);
        ensemble.top_k(Pool::Shared, rule, k).unwrap()
    };
    (
        rank_shared(processes, &queries(), &gold, candidates).unwrap(),
        top_k(&rule),
        decode(vec![member("a")]),
        decode(vec![member("a"), member("b")]),
    )
}

#[test]
fn parts_of_the_candidates_find_what_all_of_them_do() {
    for (seed, count, distinct, dim, queries) in
        [(1, 1, 1, 1, 1), (2, 5, 3, 2, 4), (3, 700, 513, 3, 40), (4, 9000, 8500, 30, 20)]
    {
        // small integers tie in large numbers, real numbers never
        for (set, rows) in [
            (Set::integers(seed, count, distinct, dim), integer_queries(seed, queries, dim)),
            (Set::reals(seed, count, distinct, dim), real_queries(seed, queries, dim)),
        ] {
            let candidates = set.candidates();
            let gold = golds(seed, queries, count);
            let k = count.min(12);
            let one = find(&Processes::default(), &rows, &candidates, dim, &gold, k);
            // more ranks than candidates too
            for size in [1, 2, 3, 8] {
                for actual in
                    threads(size, |processes| find(processes, &rows, &candidates, dim, &gold, k))
                {
                    assert!(actual == one, "{size} ranks, {count} candidates");
                }
            }
        }
    }
}

/// Candidates that count the rows that are read of them.
struct Counted<'a>(&'a Candidates, AtomicUsize);

impl CandidateBlocks for Counted<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn rows(&self) -> usize {
        self.0.distinct()
    }

    fn candidates(&self) -> u64 {
        self.0.len() as u64
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        self.1.fetch_add(rows.len(), Ordering::Relaxed);
        self.0.block(rows)
    }
}

#[test]
fn each_process_scores_its_part_on_whatever_thread_it_is() {
    let candidates = &Set::reals(8, 1000, 1000, 3).candidates();
    let rows = real_queries(8, 2, 3);
    let read = |processes: &Processes, shared: bool| {
        let counted = Counted(candidates, AtomicUsize::new(0));
        let queries = Queries::new(3, &rows).unwrap();
        let alone = Processes::default();
        let sharing = if shared { processes } else { &alone };
        let hits = top_rows_shared(sharing, &queries, &counted, 4).unwrap();
        (counted.1.into_inner(), hits)
    };
    let (all, expected) = read(&Processes::default(), false);
    assert_eq!(all, 1000);
    let shared = threads(4, |processes| read(processes, true));
    assert!(shared.iter().all(|(read, hits)| *read == 250 && *hits == expected));
    // a process that is not given the others works alone, and waits for nobody
    let apart = threads(4, |processes| read(processes, processes.rank() > 3));
    assert!(apart.iter().all(|(read, hits)| *read == 1000 && *hits == expected));
}

/// Candidates of which one row, and codes, cannot be read on some rank.
struct Damaged<'a>(&'a Candidates, bool);

impl Damaged<'_> {
    const ROW: usize = 0;

    fn check(&self, damaged: bool) -> Result<(), Error> {
        let error = || dsokr_core::Error::unsupported("it is damaged");
        if self.1 && damaged { Err(error()) } else { Ok(()) }
    }
}

impl CandidateBlocks for Damaged<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn rows(&self) -> usize {
        self.0.distinct()
    }

    fn candidates(&self) -> u64 {
        self.0.len() as u64
    }

    fn coded(&self, rows: Range<usize>) -> Result<Option<CodedBlock<'_>>, Error> {
        self.check(rows.is_empty())?;
        Ok(None)
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        self.check(rows.contains(&Self::ROW))?;
        self.0.block(rows)
    }
}

/// Asserts what each of three ranks reports about work of which one part fails on rank 2.
fn check_errors<T>(work: impl Fn(&Processes, bool) -> Result<T, Error> + Sync, expected: &str) {
    let actual = threads(3, |processes| {
        let error = work(processes, processes.rank() == 2).err().map(|error| error.to_string());
        // in step they meet in the same exchange
        (error.unwrap_or_default(), processes.check_same("next step", "the same").is_ok())
    });
    for (rank, (error, in_step)) in actual.iter().enumerate() {
        assert!(error.contains(expected) && *in_step, "rank {rank}: {error}");
        assert_eq!(error.starts_with("rank 2: "), rank != 2, "rank {rank}: {error}");
    }
}

#[test]
fn what_one_rank_cannot_read_ends_the_work_of_all() {
    let candidates = &Set::reals(5, 60, 60, 3).candidates();
    let rows = real_queries(5, 1, 3);
    let queries = || Queries::new(3, &rows).unwrap();
    // only rank 0 scores the gold row, and all ranks read it
    let gold = [Some(Damaged::ROW as u32)];
    let ranks = |processes: &Processes, fails| {
        rank_shared(processes, &queries(), &gold, &Damaged(candidates, fails))
    };
    check_errors(ranks, "it is damaged");
    let hits = |processes: &Processes, fails| {
        top_rows_shared(processes, &queries(), &Damaged(candidates, fails), 5)
    };
    check_errors(hits, "it is damaged");
}

#[test]
fn a_block_that_is_damaged_on_one_rank_ends_the_work_of_an_ensemble_on_all() {
    let folder = tempfile::tempdir().unwrap();
    let candidates = Set::reals(3, 900, 700, 600).candidates();
    let [good, bad] = ["good", "bad"].map(|name| folder.path().join(name));
    candidates.save_mapped(&good, &BTreeMap::new()).unwrap();
    let bytes = std::fs::read(&good).unwrap();
    let numbers: Vec<u8> =
        candidates.coordinates().unwrap().iter().flat_map(|value| value.to_le_bytes()).collect();
    let start = bytes.windows(64).position(|window| window == &numbers[..64]).unwrap();
    let rows = real_queries(3, 2, 600);
    let decode = |processes: &Processes, path: &std::path::Path, gold: u32| {
        let candidates = Candidates::load(path)?;
        let member = |name| Member {
            name,
            queries: Queries::new(600, &rows).unwrap(),
            candidates: &candidates,
            normalised: true,
        };
        let rule = Combination::Mean { weights: None, standardise: false };
        let ensemble = Ensemble::new(vec![member("a"), member("b")])?.shared_by(processes);
        ensemble.decode(Pool::Shared, &rule, &[Some(gold), None], 3)
    };
    assert!(decode(&Processes::default(), &good, 1).is_ok());
    // in the rows of rank 0, of which the others read the gold one, and in those of rank 2
    for (row, gold) in [(0, 0), (600, 0), (600, 600)] {
        let mut flipped = bytes.clone();
        flipped[start + 4 * 600 * row + 12] ^= 4;
        std::fs::write(&bad, &flipped).unwrap();
        let work = |processes: &Processes, fails| {
            decode(processes, if fails { &bad } else { &good }, gold)
        };
        check_errors(work, "of \"coordinates\"");
    }
}
