//! Kernel matrices on their way to a kernel machine.

use dsokr_data::config::{DataConfig, OutputFeatures};
use dsokr_data::{DataRoot, Dataset, Source};

use crate::Folder;

/// Pairs of inputs b and a, and a, with two equal kernels from a file: a 2 × 2 matrix of elements of a type.
fn load(descr: &str, bytes: Vec<u8>) -> Dataset {
    let folder = Folder::new();
    folder.file("inputs.tsv", "id\na\nb\n");
    folder.file("train.tsv", "id\tinput\n1\tb\n2\ta\n");
    folder.file("validation.tsv", "id\tinput\n1\ta\n");
    folder.file("outputs.tsv", "id\tname\n1\tx\n2\ty\n");
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2, 2), }}");
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{header:117}\n").bytes());
    file.extend(bytes);
    folder.file("kernel.npy", file);
    let data: DataConfig = toml::from_str(
        "folder = '.'\ninputs = { kind = 'kernels', table = 'inputs.tsv', column = 'input', \
         files = ['kernel.npy', 'kernel.npy'] }",
    )
    .unwrap();
    let features: OutputFeatures =
        toml::from_str("kind = 'ngrams'\ncolumn = 'name'\nmin = 1\nmax = 1").unwrap();
    let outputs = crate::outputs(Some("outputs.tsv"), None, &features);
    let source = Source { data: &data, outputs, seed: 0, input_columns: None };
    let root = DataRoot::find(".", None, Some(&folder.path(""))).unwrap();
    source.load(&root).unwrap()
}

fn in_64_bits(values: [f64; 4]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn values_that_differ_beyond_32_bits_still_differ() {
    let small = 1.0 + f64::EPSILON;
    assert_eq!(small as f32, 1.0);
    let dataset = load("<f8", in_64_bits([small, 0.25, 0.25, 1.0]));
    let train = dataset.train.inputs.kernels().unwrap();
    assert_eq!(train.matrices.len(), 2);
    assert_eq!((train.matrices[0][(0, 0)], train.matrices[0][(1, 1)]), (1.0, small));
    assert_eq!(train.values(), [1.0, 0.25, 0.25, small].repeat(2));
    let validation = dataset.validation.inputs.kernels().unwrap();
    assert_eq!(validation.values(), [0.25, small].repeat(2));
    assert!(dataset.train.inputs.texts().unwrap_err().to_string().contains("values of kernels"));
}

/// Values that differ across the diagonal by the rounding of their numbers are their mean; others are as they were.
#[test]
fn kernels_are_symmetric_up_to_the_rounding_of_their_numbers() {
    let values = |dataset: &Dataset| {
        let train = dataset.train.inputs.kernels().unwrap();
        [train.matrices[0][(0, 1)], train.matrices[0][(1, 0)]]
    };
    let (low, high) = (0.25f32, 0.25 + 4.0 * f32::EPSILON);
    let in_32_bits = |values: [f32; 4]| -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    };
    let mean = 0.5 * (f64::from(low) + f64::from(high));
    assert_eq!(values(&load("<f4", in_32_bits([1.0, high, low, 1.0]))), [mean; 2]);
    let far = values(&load("<f4", in_32_bits([1.0, 0.2501, 0.25, 1.0])));
    assert_eq!(far, [0.25, f64::from(0.2501f32)]);
    // 1, 0.2502, 0.25, 1 in half precision
    let halves = [0x3c00u16, 0x3401, 0x3400, 0x3c00];
    let bytes = halves.iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(values(&load("<f2", bytes)), [0.25 + 0.5 / 4096.0; 2]);
    let exact = [1.0, f64::from(high), f64::from(low), 1.0];
    assert_eq!(values(&load("<f8", in_64_bits(exact))), [exact[2], exact[1]]);
}
