//! Files of kernel matrices as others write them.

use std::path::PathBuf;

use dsokr_data::read_matrix;

fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Returns a file of NumPy 1 or 2: the header is padded so that the numbers start at a multiple of 64.
fn npy(descr: &str, fortran: &str, shape: &str, numbers: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:117}\n").as_bytes());
    bytes.extend(numbers);
    bytes
}

/// `numpy.save` of `[[1.5, −2, 3], [4, 5, 6.25]]` in single precision, and by columns in double.
#[test]
fn matrices_of_numpy() {
    let single = b"\x00\x00\xc0?\x00\x00\x00\xc0\x00\x00@@\x00\x00\x80@\x00\x00\xa0@\x00\x00\xc8@";
    let double = b"\x00\x00\x00\x00\x00\x00\xf8?\x00\x00\x00\x00\x00\x00\x10@\
        \x00\x00\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x14@\
        \x00\x00\x00\x00\x00\x00\x08@\x00\x00\x00\x00\x00\x00\x19@";
    let expected =
        dsokr_basis::Mat::from_fn(2, 3, |i, j| [[1.5, -2.0, 3.0], [4.0, 5.0, 6.25]][i][j]);
    let read = |bytes: &[u8]| {
        let (_folder, path) = file(bytes);
        read_matrix(&path)
    };
    let whole = npy("<f4", "False", "(2, 3)", single);
    assert_eq!((whole.len(), read(&whole).unwrap()), (152, expected.clone()));
    assert_eq!(read(&npy("<f8", "True", "(2, 3)", double)).unwrap(), expected);
    for (bytes, reason) in [
        (npy("<c16", "False", "(1, 3)", double), "elements of type '<c16'; allowed: f2, f4, f8"),
        (npy("<f8", "False", "(6,)", double), "shape [6]; features must be a matrix"),
        (npy("<f8", "False", "(2, 4)", double), "176 bytes; its header promises 192"),
        (npy("<f8", "Maybe", "(2, 3)", double), "fortran_order \"Maybe"),
        (npy("<f8", "False", "(2, x)", double), "\"x\" in the header is not a size"),
        (npy("<f8", "False", "(4611686018427387904, 4)", double), "sizes in the header overflow"),
        (b"PK\x03\x04".to_vec(), "it does not start with"),
        (b"\x93NUMPY\x01\x00\xff\xff{".to_vec(), "at most 10000 are allowed"),
        (b"\x93NUMPY\x09\x00\x01\x00 ".to_vec(), "format version 9; allowed: 1, 2, 3"),
    ] {
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
