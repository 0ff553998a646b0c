//! Any bytes as a matrix: npy, safetensors of features or a file of the project, or npz; the first byte says which.
//! The elements that are read are finite, those of npz in ascending columns, and those of the others the same again when they are
//! written.

#![no_main]

use dsokr_basis::Block;
use dsokr_core::store::{Contents, Stored, Tensor};
use dsokr_data::feature_file::read_features;
use dsokr_data::{read_matrix, write_matrix};
use dsokr_fuzz::{choose, file, folder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((name, bytes)) = choose(bytes, &["a.npy", "a.safetensors", "a.npz"]) else { return };
    let path = file(name, bytes);
    for key in [None, Some("rows")] {
        if let Ok(rows) = read_features(&path, key, true) {
            assert!(rows.len() > 0 && rows.width() > 0 && rows.width() % 8 == 0);
            rows.block(0..rows.len()).unwrap();
        }
        let Ok(rows) = read_features(&path, key, false) else { continue };
        let len = rows.len();
        let width = rows.width();
        assert!(len > 0 && width > 0);
        assert!(rows.block(0..len + 1).is_err());
        let block = match rows.block(0..len).unwrap() {
            Block::Dense(block) => block,
            Block::Sparse(block) => {
                for row in 0..len {
                    let (columns, values) = block.row(row);
                    assert!(columns.is_sorted_by(|a, b| a < b));
                    assert!(columns.last().is_none_or(|&last| (last as usize) < width));
                    assert!(columns.len() == values.len());
                    assert!(values.iter().all(|value| value.is_finite()));
                }
                continue;
            }
            Block::Bits(_) => continue,
        };
        let values: Vec<f32> = (0..len).flat_map(|row| block.row(row).to_vec()).collect();
        assert!(values.len() == len * width && values.iter().all(|value| value.is_finite()));
        let again = folder().join("again.npy");
        let mut blocks = [values.clone()].into_iter();
        write_matrix(&again, len, width, || Ok::<_, dsokr_data::Error>(blocks.next())).unwrap();
        let matrix = read_matrix(&again).unwrap();
        assert_eq!((matrix.nrows(), matrix.ncols()), (len, width));
        let same = |at: usize| {
            matrix[(at / width, at % width)].to_bits() == f64::from(values[at]).to_bits()
        };
        assert!((0..values.len()).all(same));
    }
    if name == "a.npy" {
        if let Ok(matrix) = read_matrix(&path) {
            let finite =
                |row: usize| (0..matrix.ncols()).all(|column| matrix[(row, column)].is_finite());
            assert!(matrix.nrows() > 0 && matrix.ncols() > 0 && (0..matrix.nrows()).all(finite));
        }
        return;
    }
    if let Ok(stored) = Stored::open(&path, "basis", 1) {
        let metadata = stored.all_metadata().clone();
        let names: Vec<&str> = stored.names().collect();
        let numbers: Vec<_> = names
            .iter()
            .filter_map(|name| Some((*name, stored.read::<f32>(name, 2).ok()?)))
            .collect();
        let tensors: Vec<Tensor> = numbers
            .iter()
            .map(|(name, (shape, values))| Tensor::f32(name, shape, values))
            .collect();
        let again = Contents::new("basis", 1, &metadata, &tensors);
        let place = folder().join("again.safetensors");
        if again.write(&place).is_err() {
            // names that the format keeps for itself
            return;
        }
        let read = Stored::open(&place, "basis", 1).unwrap();
        assert_eq!(*read.all_metadata(), metadata);
        assert!(tensors.len() < names.len() || read.checksum() == stored.checksum());
    }
});
