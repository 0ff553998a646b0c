//! Kernel matrices of 64-bit numbers on their way to a kernel machine.

use dsokr_data::config::{DataConfig, OutputFeatures, OutputSource};
use dsokr_data::{DataRoot, Source};

use crate::Folder;

#[test]
fn values_that_differ_beyond_32_bits_still_differ() {
    let folder = Folder::new();
    folder.file("inputs.tsv", "id\na\nb\n");
    folder.file("train.tsv", "id\tinput\n1\tb\n2\ta\n");
    folder.file("validation.tsv", "id\tinput\n1\ta\n");
    folder.file("outputs.tsv", "id\tname\n1\tx\n2\ty\n");
    let small = 1.0 + f64::EPSILON;
    assert_eq!(small as f32, 1.0);
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }";
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{header:117}\n").bytes());
    file.extend([small, 0.25, 0.25, 1.0].iter().flat_map(|value: &f64| value.to_le_bytes()));
    folder.file("kernel.npy", file);
    let data: DataConfig = toml::from_str(
        "folder = '.'\ninputs = { kind = 'kernels', table = 'inputs.tsv', column = 'input', \
         files = ['kernel.npy', 'kernel.npy'] }",
    )
    .unwrap();
    let features: OutputFeatures =
        toml::from_str("kind = 'ngrams'\ncolumn = 'name'\nmin = 1\nmax = 1").unwrap();
    let outputs = OutputSource {
        table: Some("outputs.tsv"),
        id: "id",
        label: None,
        further: &[],
        candidate: None,
        only_training: false,
        features: &features,
        summands: Vec::new(),
    };
    let source = Source { data: &data, outputs, seed: 0 };
    let root = DataRoot::find(".", None, Some(&folder.path(""))).unwrap();
    let dataset = source.load(&root).unwrap();
    let train = dataset.train.inputs.kernels().unwrap();
    assert_eq!(train.matrices.len(), 2);
    assert_eq!((train.matrices[0][(0, 0)], train.matrices[0][(1, 1)]), (1.0, small));
    assert_eq!(train.values(), [1.0, 0.25, 0.25, small].repeat(2));
    let validation = dataset.validation.inputs.kernels().unwrap();
    assert_eq!(validation.values(), [0.25, small].repeat(2));
    assert!(dataset.train.inputs.texts().unwrap_err().to_string().contains("values of kernels"));
}
