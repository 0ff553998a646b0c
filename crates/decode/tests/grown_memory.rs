//! Rules of ranks do not copy the coordinates of a mapped file to which candidates were added. The test is in a process
//! of its own to measure its peak of memory.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;

use dsokr_decode::{CandidateParts, Candidates, Combination, Ensemble, Member, Pool, Queries};

const DIM: usize = 256;
const ROWS: usize = 30_000; // 29 MiB of coordinates, and as much that is added

/// Returns a line of the status of this process, in MiB: `VmHWM`, the largest resident memory so far, or `VmRSS`, what
/// is resident now.
fn resident(line: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|actual| actual.strip_prefix(line)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<usize>().unwrap() >> 10
}

fn candidates(first: usize) -> Candidates {
    let hash = |value: usize| (value as u32).wrapping_mul(0x9E37_79B1) >> 8;
    let values = first * DIM..(first + ROWS) * DIM;
    Candidates::new(CandidateParts {
        ids: (first..first + ROWS).map(|at| format!("c{at}")).collect(),
        dim: DIM,
        coordinates: values.map(|value| hash(value) as f32 / 16_777_216.0 - 0.5).collect(),
        hashes: (first..first + ROWS).map(|row| row as u64).collect(),
        ..CandidateParts::default()
    })
    .unwrap()
}

#[test]
fn ranks_of_grown_candidates_take_scores_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("candidates.safetensors");
    candidates(0).save_mapped(&path, &BTreeMap::new()).unwrap();
    let grown = Candidates::load(&path).unwrap().with_more(candidates(ROWS)).unwrap();
    let rows: Vec<f32> = (0..64 * DIM).map(|value| (value as f32).sin()).collect();
    let queries = Queries::new(DIM, &rows).unwrap();
    let member = Member { name: "run", queries, candidates: &grown, normalised: true };
    let two = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let before = two.install(|| {
        let ensemble = Ensemble::new(vec![member, member]).unwrap();
        // the peak starts anew
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        let before = resident("VmRSS");
        let rule = Combination::Rank { weights: None };
        ensemble.decode(Pool::Shared, &rule, &[None; 64], 10).unwrap();
        before
    });
    let taken = resident("VmHWM").saturating_sub(before);
    // 32 queries × 60,000 rows × 12 bytes a thread, 44 MiB in all, and the file; a copy of all coordinates takes 59 MiB a
    // thread
    assert!(taken < 120, "{taken} MiB");
}
