//! Candidate sets: what is refused, and files.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_core::Error;
use dsokr_core::store::{Contents, Stored, Tensor};
use dsokr_decode::{CandidateBlocks, CandidateParts, Candidates, Hubs, Queries, top_k};

use crate::common::{Set, message};

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

fn new(
    ids: &[&str],
    class: &[u32],
    dim: usize,
    rows: &[f32],
    constants: &[f32],
) -> Result<Candidates, Error> {
    let labels = vec![String::new(); ids.len()];
    Candidates::new(CandidateParts {
        ids: texts(ids),
        labels,
        class: class.to_vec(),
        dim,
        coordinates: rows.to_vec(),
        constants: constants.to_vec(),
        ..CandidateParts::default()
    })
}

#[test]
fn candidates_know_their_duplicates() {
    let set = new(&["b", "a", "d", "c"], &[0, 1, 0, 1], 1, &[1.0, 2.0], &[0.0, 0.5]).unwrap();
    assert_eq!((set.len(), set.distinct(), set.duplicates(), set.dim()), (4, 2, 2, 1));
    assert_eq!(
        ["a", "b", "c", "d", "e"].map(|id| set.find(id)),
        [Some(1), Some(0), Some(3), Some(2), None]
    );
    assert_eq!((&*set.members(0), &*set.members(1)), (&[0, 2][..], &[1, 3][..]));
    assert_eq!((set.id(3), set.class_of(3)), ("c", 1));
    let block = set.block(1..2).unwrap();
    assert_eq!((block.constants[0], block.multiplicities[0]), (0.5, 2));
    assert_eq!(message(set.block(1..3)), "distinct candidate rows 1..3, allowed: within 0..2");
}

#[test]
fn contradicting_candidates_are_refused() {
    let refused = |ids: &[&str], class: &[u32], dim, rows: &[f32], constants: &[f32]| {
        message(new(ids, class, dim, rows, constants))
    };
    assert_eq!(refused(&[], &[], 1, &[], &[]), "no candidates, at least 1 is needed");
    assert_eq!(
        refused(&["a"], &[0], 0, &[], &[0.0]),
        "candidates of dimension 0, at least 1 is needed"
    );
    assert_eq!(
        refused(&["a"], &[0], 2, &[1.0], &[0.0]),
        "candidates: 1 values are not a whole number of rows of 2"
    );
    assert_eq!(refused(&["a"], &[0, 0], 1, &[1.0], &[0.0]), "2 classes, expected 1");
    assert_eq!(refused(&["a"], &[0], 1, &[1.0], &[0.0; 2]), "2 constants, expected 1");
    let parts = CandidateParts {
        ids: texts(&["a"]),
        labels: texts(&["A", "B"]),
        dim: 1,
        coordinates: vec![1.0],
        ..CandidateParts::default()
    };
    assert_eq!(message(Candidates::new(parts)), "2 labels, expected 1");
    assert_eq!(
        refused(&["a", "b", "c", "b", "a"], &[0; 5], 1, &[1.0], &[0.0]),
        "candidates 1 and 3 have the same id \"b\""
    );
    assert_eq!(
        refused(&["a", "b"], &[0, 1], 1, &[1.0], &[0.0]),
        "candidate \"b\" is of class 1, allowed: 0..1, the distinct rows"
    );
    assert_eq!(
        refused(&["a", "b"], &[1, 0], 1, &[1.0, 2.0], &[0.0; 2]),
        "candidate \"a\" is of class 1, allowed: 0..=0, since classes are numbered in the order in \
         which they first appear"
    );
    assert_eq!(
        refused(&["a"], &[0], 1, &[1.0, 2.0], &[0.0; 2]),
        "distinct row 1 belongs to no candidate"
    );
    assert_eq!(
        refused(&["a", "b"], &[0, 1], 2, &[1.0, 2.0, 3.0, f32::NAN], &[0.0; 2]),
        "candidate row 1, coordinate 1: NaN is not a finite number"
    );
    assert_eq!(
        refused(&["a"], &[0], 1, &[1.0], &[f32::INFINITY]),
        "candidate row 0, constant: inf is not a finite number"
    );
}

#[test]
fn parts_that_are_left_out_have_defaults() {
    let full = new(&["a", "b"], &[0, 1], 1, &[1.0, 2.0], &[0.0; 2]).unwrap();
    let ids = texts(&["a", "b"]);
    let coordinates = vec![1.0, 2.0];
    let parts = CandidateParts { ids, dim: 1, coordinates, ..CandidateParts::default() };
    assert_eq!(Candidates::new(parts).unwrap(), full);
}

#[test]
fn a_file_holds_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("candidates.safetensors");
    let set = Set::reals(1, 900, 700, 6);
    let candidates = set.candidates();
    let metadata = BTreeMap::from([("basis".to_string(), "0123".to_string())]);
    candidates.save(&path, &metadata).unwrap();
    assert_eq!(Candidates::load(&path).unwrap(), candidates);
}

#[test]
fn texts_survive_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("candidates.safetensors");
    let ids = texts(&["", "é", "C[C@H](N)C(=O)O"]);
    let labels = texts(&["\n", "", "日本"]);
    let set = Candidates::new(CandidateParts {
        ids,
        labels,
        class: vec![0, 0, 1],
        dim: 1,
        coordinates: vec![1.0, 2.0],
        constants: vec![0.0, -1.5],
        ..CandidateParts::default()
    })
    .unwrap();
    set.save(&path, &BTreeMap::new()).unwrap();
    assert_eq!(Candidates::load(&path).unwrap(), set);
}

#[test]
fn flipped_bits_and_truncations_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("candidates.safetensors");
    Set::integers(2, 5, 4, 2).candidates().save(&path, &BTreeMap::new()).unwrap();
    let good = std::fs::read(&path).unwrap();
    let refused = |what: &str| {
        assert!(matches!(Candidates::load(&path), Err(Error::File { .. })), "loaded: {what}");
    };
    for length in (0..good.len()).step_by(13) {
        std::fs::write(&path, &good[..length]).unwrap();
        refused(&format!("{length} of {} bytes", good.len()));
    }
    let payload = good.len() - 60;
    for at in payload..good.len() {
        let mut flipped = good.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(&path, &flipped).unwrap();
        refused(&format!("bit flipped in byte {at}"));
    }
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Candidates::load(&path), Err(Error::Missing { .. })));
}

/// Writes a well-formed file with one tensor exchanged, or one more.
fn forge(path: &Path, exchange: Tensor) {
    let weights = [0.0, 1.0, 0.0, 2.0];
    let tensors = [
        Tensor::f32("coordinates", &[2, 1], &[1.0, 2.0]),
        Tensor::f32("weights", &[2, 2], &weights),
        Tensor::u64("row_offsets", &[3], &[0, 1, 3]),
        Tensor::u32("members", &[3], &[0, 1, 2]),
        Tensor::u8("ids", &[3], b"abc"),
        Tensor::u64("id_offsets", &[4], &[0, 1, 2, 3]),
        Tensor::u8("labels", &[0], b""),
        Tensor::u64("label_offsets", &[4], &[0, 0, 0, 0]),
        Tensor::u32("by_id", &[3], &[0, 1, 2]),
    ];
    let others = tensors.into_iter().filter(|tensor| tensor.name != exchange.name);
    let tensors: Vec<_> = others.chain([exchange.clone()]).collect();
    Contents::new("candidates", 2, &BTreeMap::new(), &tensors).write(path).unwrap();
}

#[test]
fn files_that_contradict_themselves_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("candidates.safetensors");
    forge(&path, Tensor::u8("labels", &[0], b""));
    let candidates = Candidates::load(&path).unwrap();
    assert_eq!(*candidates.members(1), [1, 2]);
    assert_eq!(candidates.find("c"), Some(2));
    for exchange in [
        Tensor::f32("weights", &[2, 2], &[0.0, 1.0, 0.0, 3.0]),
        Tensor::f32("weights", &[2, 2], &[0.0, 0.5, 0.0, 2.0]),
        Tensor::f32("weights", &[2, 2], &[0.0, 1.5, 0.0, 2.0]),
        Tensor::f32("weights", &[2, 2], &[0.0, -3.0, 0.0, 2.0]),
        Tensor::f32("weights", &[2, 2], &[0.0, 1.0, 0.0, 1e20]),
        Tensor::f32("weights", &[4, 1], &[0.0, 1.0, 0.0, 2.0]),
        Tensor::u64("row_offsets", &[3], &[0, 2, 1]),
        Tensor::u64("row_offsets", &[3], &[0, 1, u64::MAX]),
        Tensor::u64("row_offsets", &[3], &[0, 1, 2]),
        Tensor::u64("row_offsets", &[3], &[1, 2, 3]),
        Tensor::u64("row_offsets", &[3], &[0, 0, 3]),
        Tensor::u64("row_offsets", &[2], &[0, 3]),
        Tensor::u32("members", &[3], &[0, 1, 1]),
        Tensor::u32("members", &[3], &[0, 1, 3]),
        Tensor::u32("members", &[3], &[0, 2, 1]),
        Tensor::u64("id_offsets", &[4], &[0, 1, 2, 4]),
        Tensor::u64("id_offsets", &[4], &[0, 2, 1, 3]),
        Tensor::u8("ids", &[3], &[b'a', 0xFF, b'c']),
        Tensor::u32("by_id", &[3], &[0, 1, 3]),
        Tensor::u32("by_id", &[3], &[1, 0, 2]),
        Tensor::u32("by_id", &[3], &[0, 1, 1]),
    ] {
        let name = exchange.name.clone();
        forge(&path, exchange);
        let error = Candidates::load(&path).unwrap_err();
        let refused = matches!(error, Error::File { .. });
        assert!(refused, "{name}: {error}");
    }
    forge(&path, Tensor::f32("coordinates", &[2, 1], &[1.0, f32::NAN]));
    assert_eq!(
        message(Candidates::load(&path)),
        "candidate row 1, coordinate 0: NaN is not a finite number"
    );
    assert!(matches!(Stored::open(&path, "basis", 1), Err(dsokr_core::Error::File { .. })));
}

/// Returns a set whose coordinates fill two blocks of a file, the file, and where the coordinates lie in it.
fn mapped(folder: &Path) -> (Candidates, std::path::PathBuf, std::ops::Range<usize>) {
    let path = folder.join("candidates.safetensors");
    let candidates = Set::reals(3, 900, 700, 600).candidates();
    candidates.save_mapped(&path, &BTreeMap::new()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let coordinates: Vec<u8> =
        candidates.coordinates().unwrap().iter().flat_map(|value| value.to_le_bytes()).collect();
    let start = bytes.windows(64).position(|window| window == &coordinates[..64]).unwrap();
    (candidates, path, start..start + coordinates.len())
}

#[test]
fn coordinates_of_a_mapped_file_are_verified_when_they_are_first_used() {
    let folder = tempfile::tempdir().unwrap();
    let (candidates, path, place) = mapped(folder.path());
    let good = std::fs::read(&path).unwrap();
    let read = Candidates::load(&path).unwrap();
    assert_eq!(read, candidates);
    let point = candidates.point(5).unwrap();
    let query = Queries::new(600, &point).unwrap();
    assert_eq!(top_k(&query, &read, 9).unwrap(), top_k(&query, &candidates, 9).unwrap());
    assert_eq!(read.find("c899"), Some(899));

    // a bit of the seventeenth block, in which row 437 begins
    let mut flipped = good.clone();
    flipped[place.start + (1 << 20) + 12] ^= 4;
    std::fs::write(&path, &flipped).unwrap();
    let read = Candidates::load(&path).unwrap();
    assert_eq!(read.point(0).unwrap(), candidates.point(0).unwrap());
    let refused = |error: Error| {
        let message = error.to_string();
        assert!(message.contains("checksum of block 16 of \"coordinates\""), "{message}");
        assert!(matches!(error, Error::File { .. }), "{message}");
    };
    refused(read.point(437).unwrap_err());
    refused(read.coordinates().unwrap_err());
    let best = candidates.point(437).unwrap();
    refused(top_k(&Queries::new(600, &best).unwrap(), &read, 9).unwrap_err());
    refused(read.save(&folder.path().join("copy"), &BTreeMap::new()).unwrap_err());
    assert!(read != candidates);

    // everything else is verified when the file is opened, or changes no answer: codes that are not used are not read
    let hits = top_k(&query, &candidates, 9).unwrap();
    let outside = (0..good.len()).filter(|at| !place.contains(at));
    let mut used = 0;
    for at in outside.step_by(1009) {
        let mut flipped = good.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(&path, &flipped).unwrap();
        let Ok(read) = Candidates::load(&path) else { continue };
        match top_k(&query, &read, 9) {
            Ok(actual) => assert_eq!(actual, hits, "bit flipped in byte {at}"),
            Err(error) => {
                let message = error.to_string();
                assert!(message.contains("of \"code"), "bit flipped in byte {at}: {message}");
                used += 1;
            }
        }
    }
    assert!(used > 100, "{used} flips in codes that are used");
    for length in [8, good.len() / 2, good.len() - 1] {
        std::fs::write(&path, &good[..length]).unwrap();
        assert!(Candidates::load(&path).is_err(), "loaded: {length} of {} bytes", good.len());
    }
    // other readers of the file verify what they read
    std::fs::write(&path, &flipped).unwrap();
    let stored = Candidates::open(&path).unwrap();
    assert!(stored.read::<f32>("coordinates", 2).unwrap_err().to_string().contains("damaged"));
}

#[test]
fn more_candidates_go_behind_those_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("candidates.safetensors");
    let parts = |ids: &[&str], class: &[u32], hashes: &[u64], values: &[f32]| {
        Candidates::new(CandidateParts {
            ids: texts(ids),
            class: class.to_vec(),
            dim: 2,
            coordinates: values.iter().flat_map(|&value| [value, -value]).collect(),
            hashes: hashes.to_vec(),
            ..CandidateParts::default()
        })
        .unwrap()
    };
    let first = parts(&["m", "b", "q"], &[0, 1, 0], &[7, 8], &[1.0, 2.0]);
    let more = || parts(&["c", "a", "z"], &[0, 1, 0], &[9, 8], &[3.0, 4.0]);
    let expected =
        parts(&["m", "b", "q", "c", "a", "z"], &[0, 1, 0, 2, 1, 2], &[7, 8, 9], &[1.0, 2.0, 3.0]);
    first.save_mapped(&path, &BTreeMap::new()).unwrap();
    for before in [first.clone(), Candidates::load(&path).unwrap()] {
        let all = before.with_more(more()).unwrap();
        assert_eq!((all.added(), &*all.members(1)), (3, &[1, 4][..]));
        assert_eq!(all.coordinates().unwrap(), expected.coordinates().unwrap());
        assert_eq!(all.block(1..3).unwrap().coordinates[..], [2.0, -2.0, 3.0, -3.0]);
        let places = ["a", "b", "c", "m", "q", "z", "y"].map(|id| all.find(id));
        assert_eq!(places, [Some(4), Some(1), Some(3), Some(0), Some(2), Some(5), None]);
        let copy = folder.path().join("copy.safetensors");
        for save in [Candidates::save, Candidates::save_mapped] {
            save(&all, &copy, &BTreeMap::new()).unwrap();
            let again = Candidates::load(&copy).unwrap();
            assert_eq!(again, all);
            assert_eq!(again.find("z"), Some(5));
        }
    }
    let same = parts(&["x", "b"], &[0, 1], &[10, 11], &[5.0, 6.0]);
    assert_eq!(message(first.clone().with_more(same)), "candidates 1 and 4 have the same id \"b\"");
    let unknown = new(&["x"], &[0], 2, &[1.0, 1.0], &[0.0]).unwrap();
    assert!(message(first.with_more(unknown)).contains("without hashes"));
}

#[test]
fn removed_candidates_leave_those_that_were_added_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("candidates.safetensors");
    let parts = |ids: &[&str], class: &[u32], hashes: &[u64], values: &[f32]| {
        let candidates = Candidates::new(CandidateParts {
            ids: texts(ids),
            labels: ids.iter().map(|id| format!("label of {id}")).collect(),
            columns: vec![("note".to_owned(), ids.iter().map(|id| format!("{id}!")).collect())],
            class: class.to_vec(),
            dim: 2,
            coordinates: values.iter().flat_map(|&value| [value, -value]).collect(),
            constants: values.iter().map(|value| value / 4.0).collect(),
            hashes: hashes.to_vec(),
            ..CandidateParts::default()
        });
        let means = values.iter().map(|value| value / 8.0).collect();
        candidates.unwrap().with_hubs(Hubs { neighbours: 2, means }, 0.5).unwrap()
    };
    let first = parts(&["m", "b", "q"], &[0, 1, 0], &[7, 8], &[1.0, 2.0]);
    let more =
        parts(&["c", "y", "z", "a", "x"], &[0, 1, 0, 2, 3], &[9, 10, 8, 11], &[3.0, 4.0, 2.0, 5.0]);
    let all = first.clone().with_more(more).unwrap();
    let without = |candidates: &Candidates, ids: &[&str]| {
        let removed = ids.iter().map(|id| candidates.find(id).unwrap()).collect();
        candidates.clone().without(&removed)
    };
    all.save_mapped(&path, &BTreeMap::new()).unwrap();
    for all in [&all, &Candidates::load(&path).unwrap()] {
        assert_eq!(&without(all, &[]).unwrap(), all);
        // the row of c is that of z too, and comes behind that of y without c
        let rest = parts(&["y", "z"], &[0, 1], &[10, 9], &[4.0, 3.0]);
        let left = without(all, &["a", "c", "x"]).unwrap();
        assert_eq!(left, first.clone().with_more(rest).unwrap());
        assert_eq!(["z", "c", "b"].map(|id| left.find(id)), [Some(4), None, Some(1)]);
        assert_eq!(without(&left, &["y", "z"]).unwrap(), first);
        let message = message(without(all, &["x", "b"]));
        assert!(message.contains("candidate 1") && message.contains("3..8"), "{message}");
    }
}

#[test]
fn labels_and_columns_of_the_first_candidates_are_replaced() {
    let parts = |ids: &[&str], labels: &[&str], notes: &[&str]| {
        Candidates::new(CandidateParts {
            ids: texts(ids),
            labels: texts(labels),
            columns: vec![("note".into(), texts(notes))],
            dim: 1,
            coordinates: vec![1.0, 2.0, 3.0][..ids.len()].to_vec(),
            ..CandidateParts::default()
        })
        .unwrap()
    };
    let all = parts(&["a", "b", "c"], &["A", "B", "C"], &["1", "2", "3"]);
    assert_eq!(all.described_as(&parts(&["a", "b"], &["A", "B"], &["1", "2"])).unwrap(), None);
    for (labels, notes) in [(["A", "x"], ["1", "2"]), (["A", "B"], ["1", "x"])] {
        let described = all.described_as(&parts(&["a", "b"], &labels, &notes)).unwrap();
        let labels = [labels[0], labels[1], "C"];
        let notes = [notes[0], notes[1], "3"];
        assert_eq!(described, Some(parts(&["a", "b", "c"], &labels, &notes)));
    }
    let other = parts(&["b", "a"], &["B", "A"], &["2", "1"]);
    assert!(message(all.described_as(&other)).contains("not the first ones"));
}
