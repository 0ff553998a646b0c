//! No member's score matrix ever exists. The test is in a process of its own to measure its peak of memory.
#![cfg(target_os = "linux")]

#[path = "suite/common/mod.rs"]
mod common;

use common::{Set, golds, real_queries};
use dsokr_decode::{Combination, Ensemble, Member, Pool, Queries};

const QUERIES: usize = 1000;
const CANDIDATES: usize = 40_000; // a matrix of scores takes 153 MiB

/// Returns the largest resident memory so far, in MiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() >> 10
}

#[test]
fn score_matrices_never_exist() {
    let models = [0, 1, 2].map(|seed| {
        let candidates = Set::reals(seed, CANDIDATES, CANDIDATES - 5000, 4).candidates();
        (candidates, real_queries(seed, QUERIES, 4))
    });
    let members = models.iter().map(|(candidates, rows)| Member {
        name: "run",
        queries: Queries::new(4, rows).unwrap(),
        candidates,
        normalised: true,
    });
    let members: Vec<Member> = members.collect();
    let two = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    two.install(|| {
        let ensemble = Ensemble::new(members).unwrap();
        let gold = golds(0, QUERIES, CANDIDATES);
        let gold: Vec<_> = gold.iter().map(|&c| Some(ensemble.class_of(c))).collect();
        let before = peak();
        let run = |rule: Combination| {
            ensemble.decode(Pool::Shared, &rule, &gold, 10).unwrap();
            peak() - before
        };
        let mean = run(Combination::default());
        assert!(mean < 12, "the mean of scores took {mean} MiB");
        // 32 queries × 40,000 candidates × 12 bytes a thread, 29 MiB in all
        let whole = run(Combination::Mean { weights: None, standardise: true })
            .max(run(Combination::Rank { weights: None }));
        assert!(whole < 60, "rules of ranks took {whole} MiB");
    });
}
