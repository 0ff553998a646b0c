//! Streamed candidates do not pile up in memory. Alone in its process, so that the peak is its own.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use dsokr_basis::store::{Contents, Tensor};
use dsokr_decode::{CandidateBlocks, Error, MappedCandidates, Queries, ScoreBlock, rank, top_rows};

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

/// A line of the status of this process, in KiB: `VmHWM`, the largest resident memory so far, or
/// `VmRSS`, what is resident now.
fn resident(line: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|found| found.strip_prefix(line)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

/// A candidate file of the same rows, one candidate each, without a text for each in memory.
fn save(path: &Path, count: usize) {
    let (generated, no_labels) = (Generated(count), vec![0; count + 1]);
    let block = generated.block(0..count).unwrap();
    let weights: Vec<f32> = (0..2 * count).map(|at| (at % 2) as f32).collect();
    let offsets: Vec<u64> = (0..=count as u64).collect();
    let members: Vec<u32> = (0..count as u32).collect();
    let ids: String = members.iter().map(|candidate| format!("{candidate:08}")).collect();
    let id_offsets: Vec<u64> = offsets.iter().map(|at| at * 8).collect();
    let tensors = [
        Tensor::f32("coordinates", &[count, DIM], &block.coordinates),
        Tensor::f32("weights", &[count, 2], &weights),
        Tensor::u64("row_offsets", &[count + 1], &offsets),
        Tensor::u32("members", &[count], &members),
        Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
        Tensor::u64("id_offsets", &[count + 1], &id_offsets),
        Tensor::u8("labels", &[0], &[]),
        Tensor::u64("label_offsets", &[count + 1], &no_labels),
    ];
    Contents::new("candidates", 1, &BTreeMap::new(), &tensors).write(path).unwrap();
}

/// Resident memory is that of the process, so this file has one test.
#[test]
fn resident_memory_does_not_grow_with_the_candidates() {
    // Every thread has a block in flight, and 100,000 rows do not keep many threads busy.
    let two = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    two.install(|| {
        generated();
        mapped();
    });
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

fn mapped() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<f32> = (0..5 * DIM).map(|value| (value as f32).sin()).collect();
    let queries = Queries::new(DIM, &rows).unwrap();
    let decode = |count: usize| {
        let path = folder.path().join(count.to_string());
        save(&path, count);
        let before = resident("VmRSS");
        let mapped = MappedCandidates::open(&path).unwrap();
        let opened = resident("VmRSS");
        let best = top_rows(&queries, &mapped, 10).unwrap();
        let ranked = resident("VmRSS");
        assert_eq!(best, top_rows(&queries, &Generated(count), 10).unwrap());
        (opened.saturating_sub(before), ranked.saturating_sub(before))
    };
    let few = decode(100_000);
    let many = decode(1_000_000); // 164 MiB
    for (few, many) in [(few.0, many.0), (few.1, many.1)] {
        assert!(many < few + (3 << 10), "resident pages went from {few} to {many} KiB");
    }
}
