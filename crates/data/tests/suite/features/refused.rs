//! Files of features that are refused, and with which words.

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{Folder, Outcome, Reader, bytes, npy, read_features, read_packed, safetensors};

/// File name, key, content, and parts of the message.
type Refused<'c> = (&'c str, Option<&'c str>, Vec<u8>, &'c [&'c str]);

#[test]
fn bad_safetensors_are_refused() {
    const NAME: &str = "a.safetensors";
    let nan = bytes(&[1.0, 2.0, 3.0, 4.0, f32::NAN, 6.0], f32::to_le_bytes);
    let infinite = bytes(&[0x3c00u16, 0x7c00], u16::to_le_bytes);
    let too_large = bytes(&[1.0, 1e300], f64::to_le_bytes);
    let good = safetensors(&[("x", "F32", &[1, 2], &[0; 8])]);
    let longer = [good.as_slice(), &[0]].concat();
    let two: &[(&str, &str, &[usize], &[u8])] =
        &[("x", "F32", &[1, 1], &[0; 4]), ("y", "U8", &[1, 1], &[0])];
    refuse(
        read_features,
        &[
            (
                NAME,
                None,
                safetensors(&[("x", "F32", &[2, 3], &nan)]),
                &["\"x\"", "row 1", "column 1", "NaN"],
            ),
            (
                NAME,
                None,
                safetensors(&[("x", "F16", &[2, 1], &infinite)]),
                &["row 1", "column 0", "inf"],
            ),
            (
                NAME,
                None,
                safetensors(&[("x", "F64", &[1, 2], &too_large)]),
                &["row 0, column 1: 1e300", "finite 32-bit number"],
            ),
            (
                NAME,
                None,
                safetensors(two),
                &["the file holds 2 tensors; name one with a key: \"x\", \"y\""],
            ),
            (NAME, Some("z"), safetensors(two), &["\"z\"", "\"x\"", "\"y\""]),
            (NAME, None, safetensors(&[]), &["it holds no tensor"]),
            (NAME, None, safetensors(&[("x", "F32", &[2], &[0; 8])]), &["\"x\"", "shape [2]"]),
            (
                NAME,
                None,
                safetensors(&[("x", "F32", &[1, 1, 2], &[0; 8])]),
                &["\"x\"", "shape [1, 1, 2]"],
            ),
            (NAME, None, safetensors(&[("x", "F32", &[0, 2], &[])]), &["\"x\"", "shape [0, 2]"]),
            (NAME, None, safetensors(&[("x", "F32", &[2, 0], &[])]), &["width 0"]),
            (
                NAME,
                None,
                safetensors(&[("x", "I64", &[1, 1], &[0; 8])]),
                &["\"x\"", "I64", "F32", "U8"],
            ),
            (
                NAME,
                None,
                good[..good.len() - 1].to_vec(),
                &["not a safetensors file, or a truncated one"],
            ),
            (NAME, None, longer, &["not a safetensors file, or a truncated one"]),
            (NAME, None, good[..20].to_vec(), &["not a safetensors file, or a truncated one"]),
            (NAME, None, good[..5].to_vec(), &["not a safetensors file, or a truncated one"]),
            (NAME, None, Vec::new(), &["not a safetensors file, or a truncated one"]),
            (
                NAME,
                None,
                b"\xff\xff\xff\xff\xff\xff\xff\xffxx".to_vec(),
                &["not a safetensors file, or a truncated one"],
            ),
            (
                NAME,
                None,
                b"\x02\0\0\0\0\0\0\0[]".to_vec(),
                &["not a safetensors file, or a truncated one"],
            ),
            (NAME, None, b"\x08\0\0\0\0\0\0\0{\"x\": 1}".to_vec(), &["not a safetensors file"]),
            ("a.npz", None, b"PK".to_vec(), &["not an .npz file"]),
            ("a.npz", Some("x"), b"PK".to_vec(), &["leave key and packed out"]),
            (
                "b.npz",
                None,
                include_bytes!("../../golden/columns.npz").to_vec(),
                &["format = \"csc\": expected \"csr\", which matrix.tocsr() gives"],
            ),
            (
                "b.npz",
                None,
                include_bytes!("../../golden/sparse.npz")[..600].to_vec(),
                &["not an .npz file"],
            ),
            (
                "a.pt",
                None,
                b"PK".to_vec(),
                &["unknown extension \"pt\"; allowed: .safetensors, .npy, .npz"],
            ),
        ],
    );
    refuse(read_packed, &[(NAME, Some("x"), good, &["\"x\"", "U8"])]);
}

#[test]
fn bad_npy_is_refused() {
    const NAME: &str = "a.npy";
    let good = npy("'<f4'", false, "(2, 1)", &[0; 8]);
    let nan = bytes(&[1.0, 2.0, f32::NAN, 4.0, 5.0, 6.0], f32::to_le_bytes);
    let too_large = bytes(&[1.0, -1e300], f64::to_le_bytes);
    let mut version = good.clone();
    version[6] = 9;
    let mut long_header = good.clone();
    long_header[8..10].copy_from_slice(&20_000u16.to_le_bytes());
    refuse(
        read_features,
        &[
            (NAME, None, npy("'<f4'", false, "(3, 2)", &nan), &["row 1, column 0: NaN"]),
            (NAME, None, npy("'<f4'", true, "(3, 2)", &nan), &["row 2, column 0: NaN"]),
            (
                NAME,
                None,
                npy("'<f8'", false, "(2, 1)", &too_large),
                &["row 1, column 0: -1", "finite 32-bit"],
            ),
            (
                NAME,
                None,
                npy("'<f4'", false, "(2,)", &[0; 8]),
                &["the array has shape [2]; features must be a matrix"],
            ),
            (NAME, None, npy("'<f4'", false, "(1, 1, 2)", &[0; 8]), &["shape [1, 1, 2]"]),
            (NAME, None, npy("'<f4'", false, "()", &[0; 4]), &["shape []"]),
            (NAME, None, npy("'<f4'", false, "(0, 2)", &[]), &["shape [0, 2]"]),
            (NAME, None, npy("'<f4'", false, "(2, 0)", &[]), &["shape [2, 0]"]),
            (
                NAME,
                None,
                good[..good.len() - 1].to_vec(),
                &["135 bytes; its header promises 136, so the file is truncated"],
            ),
            (
                NAME,
                None,
                [good.as_slice(), &[0]].concat(),
                &["137 bytes; its header promises 136, so the file is followed by something else"],
            ),
            (NAME, None, good[..100].to_vec(), &["the header ends early"]),
            (NAME, None, good[..7].to_vec(), &["the header ends early"]),
            (NAME, None, good[..3].to_vec(), &["it does not start with \\x93NUMPY"]),
            (NAME, None, Vec::new(), &["it does not start with \\x93NUMPY"]),
            (
                NAME,
                None,
                b"PK\x03\x04 not an array".to_vec(),
                &["it does not start with \\x93NUMPY"],
            ),
            (NAME, None, version, &["format version 9; allowed: 1, 2, 3"]),
            (NAME, None, long_header, &["a header of 20000 bytes; at most 10000"]),
            (
                NAME,
                None,
                npy("'<c8'", false, "(1, 1)", &[0; 8]),
                &["elements of type '<c8'; allowed: f2"],
            ),
            (NAME, None, npy("'<U4'", false, "(1, 1)", &[0; 16]), &["elements of type '<U4'"]),
            (NAME, None, npy("'|O'", false, "(1, 1)", b"pickle"), &["elements of type '|O'"]),
            (
                NAME,
                None,
                npy("[('a', '<f4')]", false, "(1, 1)", &[0; 4]),
                &["elements of type [('a', '<f4')"],
            ),
            (
                NAME,
                None,
                npy("'|b1'", false, "(1, 1)", &[2]),
                &["row 0, column 0: 2 is not a truth value, 0 or 1"],
            ),
            (NAME, None, npy("nonsense", false, "(1, 1)", &[0]), &["elements of type nonsense"]),
            (NAME, None, npy("'<f4'", false, "'2'", &[0]), &["sizes in parentheses"]),
            (
                NAME,
                None,
                npy("'<f4'", false, "(-1, 2)", &[0]),
                &["\"-1\" in the header is not a size"],
            ),
            (
                NAME,
                None,
                npy("'<f4'", false, "(9223372036854775807, 9)", &[0]),
                &["the sizes in the header overflow"],
            ),
            (
                NAME,
                None,
                npy("'<f4'", false, "(99999999999999999999, 9)", &[0]),
                &["\"99999999999999999999\" in the header is not a size"],
            ),
            (
                NAME,
                None,
                npy("'<f4'", false, "(0xFFFFFFFFFFFFFFFF, 9)", &[0]),
                &["\"0xFFFFFFFFFFFFFFFF\" in the header is not a size"],
            ),
            (
                NAME,
                None,
                npy("'<f8'", false, "(4611686018427387904, 1)", &[0]),
                &["shape [4611686018427387904, 1]"],
            ),
            (
                NAME,
                None,
                npy(&"(".repeat(9_000), false, "(1, 1)", &[0]),
                &["elements of type (((("],
            ),
            (
                NAME,
                Some("x"),
                good.clone(),
                &["key \"x\" given, but a .npy file holds one array without a name"],
            ),
        ],
    );
    refuse(
        read_packed,
        &[
            (NAME, None, good.clone(), &["elements of type '<f4'; allowed: u1"]),
            (NAME, Some("x"), good, &["key \"x\" given"]),
            ("a.csv", None, Vec::new(), &["unknown extension \"csv\""]),
        ],
    );
}

/// Returns a file of a sparse matrix of two rows and three columns, with one array replaced.
fn npz(replaced: &str, array: &[u8]) -> Vec<u8> {
    let vector = |values: &[f64]| {
        npy("'<f8'", false, &format!("({},)", values.len()), &bytes(values, f64::to_le_bytes))
    };
    let arrays = [
        ("format", npy("'|S3'", false, "()", b"csr")),
        ("shape", vector(&[2.0, 3.0])),
        ("indptr", vector(&[0.0, 1.0, 2.0])),
        ("indices", vector(&[2.0, 0.0])),
        ("data", vector(&[0.5, 1.5])),
    ];
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, whole) in &arrays {
        let content = if *name == replaced { array } else { whole.as_slice() };
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::default()).expect("an entry");
        archive.write_all(content).expect("memory");
    }
    archive.finish().expect("an archive").into_inner()
}

/// Sizes, offsets and columns may be of any type. SciPy refuses those that are not whole, too.
#[test]
fn sparse_matrices_have_whole_sizes_offsets_and_columns() -> Outcome {
    const NAME: &str = "a.npz";
    let folder = Folder::new();
    assert_eq!(read_features(&folder.file(NAME, npz("", &[])), None)?.len(), 2);
    let cases: [(&str, &[f64], &str); 11] = [
        ("shape", &[2.0, 3.5], "array \"shape\": 3.5 at 1; allowed: whole numbers from 0"),
        ("shape", &[2.0], "array \"shape\": 1 numbers; 2 are needed"),
        ("shape", &[2.0, 0.0], "2 rows of 0 columns"),
        ("indptr", &[0.4, 1.4, 2.4], "array \"indptr\": 0.4 at 0; allowed: whole numbers from 0"),
        ("indptr", &[-1.0, 1.0, 2.0], "array \"indptr\": -1 at 0"),
        ("indptr", &[1.0, 1.0, 2.0], "array \"indptr\": its offsets do not ascend from 0"),
        ("indptr", &[0.0, 3.0, 2.0], "array \"indptr\": its offsets do not ascend from 0"),
        ("indices", &[1.0, 0.7], "array \"indices\": 0.7 at 1; allowed: whole numbers from 0"),
        ("indices", &[f64::NAN, 1.0], "array \"indices\": NaN at 0"),
        ("indices", &[1.0, 3.0], "array \"indices\": column 3; allowed: 0 to 2"),
        ("data", &[1.0, 2.0, 3.0], "array \"data\": 3 numbers; 2 are needed"),
    ];
    for (array, values, message) in cases {
        let shape = format!("({},)", values.len());
        let content = npz(array, &npy("'<f8'", false, &shape, &bytes(values, f64::to_le_bytes)));
        refuse(read_features, &[(NAME, None, content, &[message])]);
    }
    Ok(())
}

/// What a header says is compared before its numbers are read. The entry of `large.npz` says that it has the eight petabytes
/// that its header promises.
#[test]
fn arrays_of_an_archive_are_compared_before_they_are_read() {
    const NAME: &str = "a.npz";
    let many = npy("'<f8'", false, "(99999999999,)", &[]);
    let short = npy("'<f8'", false, "(3,)", &[0; 16]);
    refuse(
        read_features,
        &[
            (
                NAME,
                None,
                npz("indptr", &many),
                &["array \"indptr\": 99999999999 numbers; 3 are needed"],
            ),
            (
                NAME,
                None,
                npz("indptr", &short),
                &["array \"indptr\": 144 bytes for 3 numbers of type f8"],
            ),
            (
                NAME,
                None,
                npz("indptr", &npy("'<f8'", false, "(3, 1)", &[0; 24])),
                &["array \"indptr\": shape [3, 1]; allowed: one size"],
            ),
        ],
    );
    if cfg!(target_os = "linux") {
        let large = include_bytes!("../../golden/large.npz").to_vec();
        let parts: &[&str] = &["numbers of array \"indptr\" need about 8.0 PB"];
        refuse(read_features, &[(NAME, None, large, parts)]);
    }
}

#[test]
fn missing_feature_files_and_directories() -> Outcome {
    let folder = Folder::new();
    for name in ["a.npy", "a.safetensors"] {
        for read in [read_features as Reader, read_packed] {
            let error = read(&folder.path(name), None).err().expect("no file");
            assert_eq!(folder.message(error), format!("{name}: no such file"));
        }
        std::fs::create_dir(folder.path(name))?;
        for read in [read_features as Reader, read_packed] {
            let error = read(&folder.path(name), None).err().expect("a directory");
            let expected = format!("{name}: is a directory; a file is needed");
            assert_eq!(folder.message(error), expected);
        }
    }
    Ok(())
}

/// Every prefix, and every byte of the header changed: read or refused, never a panic.
#[test]
fn damaged_feature_files_never_panic() {
    let folder = Folder::new();
    let files = [
        ("a.npy", npy("'<f4'", true, "(2, 1)", &[0; 8])),
        ("a.safetensors", safetensors(&[("x", "F32", &[2, 1], &[0; 8])])),
    ];
    for (name, good) in files {
        for place in 0..good.len() {
            let path = folder.file(name, &good[..place]);
            folder.message(read_features(&path, None).err().expect("truncated"));
            for change in [0x01, 0x10, 0x80] {
                let mut changed = good.clone();
                changed[place] ^= change;
                if let Err(error) = read_features(&folder.file(name, changed), None) {
                    folder.message(error);
                }
            }
        }
    }
}

/// Every case is refused with a message that holds all of the given parts.
fn refuse(read: Reader, cases: &[Refused]) {
    for (name, key, content, parts) in cases {
        let folder = Folder::new();
        match read(&folder.file(name, content), *key) {
            Ok(features) => panic!("accepted: {parts:?}: {} rows", features.len()),
            Err(error) => {
                let message = folder.message(error);
                for part in *parts {
                    assert!(message.contains(part), "{part:?} is not in {message:?}");
                }
                assert_eq!(message.matches(name).count(), 1, "{message}");
            }
        }
    }
}
