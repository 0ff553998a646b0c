//! Streamed candidates do not pile up in memory. The test is in a process of its own to measure its peak of memory.
#![cfg(target_os = "linux")]

use std::ops::Range;

use dsokr_core::Error;
use dsokr_decode::{CandidateBlocks, Queries, ScoreBlock, rank, top_rows};

const DIM: usize = 32;

/// Rows that are computed when they are asked for.
struct Generated(usize);

impl CandidateBlocks for Generated {
    fn dim(&self) -> usize {
        DIM
    }

    fn rows(&self) -> usize {
        self.0
    }

    fn candidates(&self) -> u64 {
        self.0 as u64
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, Error> {
        let count = rows.len();
        let hash = |value: usize| (value as u32).wrapping_mul(0x9E37_79B1) >> 8;
        let values = rows.start * DIM..rows.end * DIM;
        Ok(ScoreBlock {
            coordinates: values.map(|value| hash(value) as f32 / 16_777_216.0 - 0.5).collect(),
            constants: vec![0.0; count].into(),
            multiplicities: vec![1; count].into(),
        })
    }
}

/// Returns a line of the status of this process, in KiB: `VmHWM`, the largest resident memory so far, or
/// `VmRSS`, what is resident now.
fn resident(line: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|actual| actual.strip_prefix(line)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

/// Resident memory belongs to the process, so this file has one test.
#[test]
fn resident_memory_does_not_grow_with_the_candidates() {
    // Every thread has a block in flight, and 100,000 rows do not keep many threads busy.
    let two = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    two.install(generated);
}

fn generated() {
    let rows: Vec<f32> = (0..5 * DIM).map(|value| (value as f32).sin()).collect();
    let queries = Queries::new(DIM, &rows).unwrap();
    let decode = |count: usize| {
        let gold: Vec<_> = (0..5).map(|query| Some(query * (count as u32 / 5))).collect();
        rank(&queries, &gold, &Generated(count)).unwrap();
        top_rows(&queries, &Generated(count), 10).unwrap();
        resident("VmHWM")
    };
    let few = decode(100_000);
    let many = decode(1_000_000); // 122 MiB of coordinates
    assert!(many - few < 4 << 10, "the peak went from {few} to {many} KiB");
}
