mod refused;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::features::{Block, RowKind, RowSource};
use dsokr_core::store::{Contents, Tensor};
use dsokr_data::feature_file::{self, FeatureFile};
use dsokr_data::{Inputs, Vectors};

use super::{Folder, published};

type Outcome = Result<(), Box<dyn Error>>;

/// Returns a safetensors file of tensors (name, element type, shape, bytes), written by hand.
fn safetensors(tensors: &[(&str, &str, &[usize], &[u8])]) -> Vec<u8> {
    let mut end = 0;
    let header: Vec<String> = tensors
        .iter()
        .map(|(name, element, shape, bytes)| {
            let start = end;
            end += bytes.len();
            format!(
                "\"{name}\":{{\"dtype\":\"{element}\",\"shape\":{shape:?},\"data_offsets\":[{start},{end}]}}"
            )
        })
        .collect();
    let mut header = format!("{{{}}}", header.join(","));
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    tensors.iter().for_each(|tensor| file.extend(tensor.3));
    file
}

/// Returns a .npy file of version 1, written by hand as NEP 1 says.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let mut header =
        format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let padding = (header.len() + 11).next_multiple_of(64) - header.len() - 11;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes());
    file.extend(data);
    file
}

fn bytes<const N: usize, T: Copy>(values: &[T], encode: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| encode(value)).collect()
}

/// Returns all rows, read in blocks of three.
pub fn dense(source: &dyn RowSource) -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for start in (0..source.len()).step_by(3) {
        match source.block(start..source.len().min(start + 3))? {
            Block::Dense(block) => {
                rows.extend(block.values().chunks(block.width()).map(<[f32]>::to_vec));
            }
            other => return Err(format!("{} rows", other.kind()).into()),
        }
    }
    Ok(rows)
}

/// Returns the columns that are set in each row.
fn ones(source: &dyn RowSource) -> Result<Vec<Vec<usize>>, Box<dyn Error>> {
    let Block::Bits(block) = source.block(0..source.len())? else {
        return Err(format!("{} rows", source.kind()).into());
    };
    let set = |words: &[u64]| {
        let columns = 0..source.width();
        columns.filter(|j| words[j / 64] >> (j % 64) & 1 == 1).collect()
    };
    Ok(block.values().chunks(source.width().div_ceil(64)).map(set).collect())
}

fn read_features(path: &Path, key: Option<&str>) -> Result<FeatureFile, dsokr_data::Error> {
    feature_file::read_features(path, key, false)
}

fn read_packed(path: &Path, key: Option<&str>) -> Result<FeatureFile, dsokr_data::Error> {
    feature_file::read_features(path, key, true)
}

type Reader = fn(&Path, Option<&str>) -> Result<FeatureFile, dsokr_data::Error>;

/// Files of `scipy.sparse.save_npz`: entries of the first row are in another order, one of the last row is 0.
#[test]
fn sparse_matrices_of_scipy() -> Outcome {
    let folder = Folder::new();
    let path = folder.file("a.npz", include_bytes!("../golden/sparse.npz"));
    let features = read_features(&path, None)?;
    assert_eq!((features.len(), features.width()), (3, 4));
    let Block::Sparse(rows) = features.block(0..3)? else { return Err("not sparse".into()) };
    assert_eq!(rows.row(0), (&[1, 3][..], &[1.5, -2.0][..]));
    assert_eq!(rows.row(1), (&[][..], &[][..]));
    assert_eq!(rows.row(2), (&[0, 3][..], &[3.0, 0.25][..]));
    Ok(())
}

#[test]
fn numbers_of_every_type_in_safetensors() -> Outcome {
    let expected = [vec![1.0f32, -2.5, 0.0], vec![4.0, 0.125, -8.0]];
    let values: Vec<f32> = expected.concat();
    // Bit patterns written out: sign, exponent and mantissa of IEEE 754 half and of bfloat16.
    let half = [0x3c00u16, 0xc100, 0, 0x4400, 0x3000, 0xc800];
    let brain = [0x3f80u16, 0xc020, 0, 0x4080, 0x3e00, 0xc100];
    let cases = [
        ("F32", bytes(&values, f32::to_le_bytes)),
        ("F64", bytes(&values, |x| f64::from(x).to_le_bytes())),
        ("F16", bytes(&half, u16::to_le_bytes)),
        ("BF16", bytes(&brain, u16::to_le_bytes)),
    ];
    for (element, data) in cases {
        let folder = Folder::new();
        let file = safetensors(&[("x", element, &[2, 3], &data)]);
        let path = folder.file("a.safetensors", file);
        for key in [None, Some("x")] {
            let features = read_features(&path, key)?;
            assert_eq!((features.len(), features.width()), (2, 3), "{element}");
            assert_eq!(dense(&*features)?, expected, "{element}");
        }
    }
    Ok(())
}

/// Vectors of a mapped file stay there. What is read of them is that of rows in memory, and so is the checksum of their
/// tensors, by which a run knows its data.
#[test]
fn vectors_of_a_mapped_file_stay_there() -> Outcome {
    let folder = Folder::new();
    let count: usize = 5000;
    let numbers: Vec<f32> = (0..3 * count).map(|at| (at % 1009) as f32 / 4.0).collect();
    let numbers = bytes(&numbers, f32::to_le_bytes);
    let bits: Vec<u8> = (0..2 * count).map(|at| (at % 251) as u8).collect();
    let file = safetensors(&[("x", "F32", &[count, 3], &numbers), ("y", "U8", &[count, 2], &bits)]);
    let path = folder.file("a.safetensors", file);
    // more rows than are read at once, some of them twice
    let rows: Vec<usize> = (0..count).map(|at| (at * 7) % (count - 3)).collect();
    let checksum = |vectors: &Vectors| -> Result<String, dsokr_data::Error> {
        let tensors: Vec<Tensor> = vectors.tensors("vectors")?;
        Ok(Contents::new("any", 1, &BTreeMap::new(), &tensors).checksum())
    };
    for key in [Some("x"), Some("y")] {
        let source: Arc<dyn RowSource> = read_features(&path, key)?.into();
        let in_file = Vectors::of_rows(&source, rows.clone())?;
        let held = Vectors::from(source.select(&rows)?);
        assert!(in_file.in_file() && !held.in_file(), "{key:?}");
        assert!(in_file == held && in_file.features()? == held.features()?, "{key:?}");
        assert_eq!((in_file.len(), in_file.width()), (held.len(), held.width()));
        assert_eq!(checksum(&in_file)?, checksum(&held)?, "{key:?}");
        assert!(in_file.block(7..4200)? == held.block(7..4200)?, "{key:?}");
        let some = [4999, 0, 0, 17];
        assert!(in_file.select(&some)? == held.select(&some)?, "{key:?}");
        let chosen = Inputs::Vectors(in_file).select(&some)?;
        assert!(chosen == Inputs::Vectors(held).select(&some)?, "{key:?}");
        assert!(matches!(&chosen, Inputs::Vectors(rows) if rows.in_file()), "{key:?}");
        assert!(chosen.select(&[4]).is_err() && Vectors::of_rows(&source, vec![count]).is_err());
    }
    // those of a small .npy file are in memory
    let path = folder.file("a.npy", npy("'<f4'", false, "(1, 1)", &1.5f32.to_le_bytes()));
    let source: Arc<dyn RowSource> = read_features(&path, None)?.into();
    assert!(!Vectors::of_rows(&source, vec![0, 0])?.in_file());
    Ok(())
}

/// Numbers of a large .npy file stay there as well, if they lie in it as a block of rows does. A file that is written into is
/// not read any further.
#[test]
fn numbers_of_a_large_npy_file_stay_there() -> Outcome {
    let folder = Folder::new();
    let rows = 1 << 20;
    let mut data = bytes(&[1.0f32, -2.5, 0.0, 3.0], f32::to_le_bytes);
    let shape = format!("({rows}, 16)");
    data.resize(64 * rows, 0);
    data[64 * rows - 4..].copy_from_slice(&7.0f32.to_le_bytes());
    let path = folder.file("a.npy", npy("'<f4'", false, &shape, &data));
    let features = read_features(&path, None)?;
    assert!(features.in_file());
    assert_eq!((features.len(), features.width()), (rows, 16));
    let ends = features.select(&[0, rows - 1])?;
    let Block::Dense(ends) = ends else { panic!("{ends:?}") };
    assert_eq!(ends.values()[..4], [1.0, -2.5, 0.0, 3.0]);
    assert_eq!((ends.values()[16], ends.values()[31]), (0.0, 7.0));
    // packed bits, and numbers by columns
    let bits = folder.file("b.npy", npy("'|u1'", false, &format!("({rows}, 64)"), &data));
    let packed = read_packed(&bits, None)?;
    assert!(packed.in_file() && packed.kind() == RowKind::Bits);
    let columns = folder.file("c.npy", npy("'<f4'", true, &shape, &data));
    assert!(!read_features(&columns, None)?.in_file());
    // a new file takes its place
    std::fs::rename(&columns, &path)?;
    assert!(features.block(0..1).is_ok());
    // packed bits are written into
    std::fs::File::options().append(true).open(&bits)?.set_len(1000)?;
    let error = packed.block(0..1).unwrap_err().to_string();
    assert!(error.contains("b.npy: it has been written into while it was read"), "{error}");
    Ok(())
}

#[test]
fn bytes_in_safetensors_are_packed_bits() -> Outcome {
    let folder = Folder::new();
    let packed = [0b1000_0001u8, 0b0000_0010, 0, 0b0100_0000];
    let file = safetensors(&[("x", "F32", &[1, 1], &[0; 4]), ("y", "U8", &[2, 2], &packed)]);
    let path = folder.file("a.safetensors", file);
    for read in [read_features as Reader, read_packed] {
        let features = read(&path, Some("y"))?;
        assert_eq!((features.len(), features.width()), (2, 16));
        assert_eq!(ones(&*features)?, [vec![0, 7, 14], vec![9]]);
    }
    Ok(())
}

#[test]
fn numbers_of_every_type_in_npy() -> Outcome {
    let expected = [vec![1.0f32, 2.0, 0.0], vec![4.0, 5.0, 127.0]];
    let integers = [1u8, 2, 0, 4, 5, 127];
    let half = [0x3c00u16, 0x4000, 0, 0x4400, 0x4500, 0x57f0];
    let cases = [
        ("'<f2'", bytes(&half, u16::to_le_bytes)),
        ("'>f2'", bytes(&half, u16::to_be_bytes)),
        ("'<f4'", bytes(&integers, |x| f32::from(x).to_le_bytes())),
        ("'>f4'", bytes(&integers, |x| f32::from(x).to_be_bytes())),
        ("'<f8'", bytes(&integers, |x| f64::from(x).to_le_bytes())),
        ("'|i1'", integers.to_vec()),
        ("'<i2'", bytes(&integers, |x| i16::from(x).to_le_bytes())),
        ("'<i4'", bytes(&integers, |x| i32::from(x).to_le_bytes())),
        ("'<i8'", bytes(&integers, |x| i64::from(x).to_le_bytes())),
        ("'>i8'", bytes(&integers, |x| i64::from(x).to_be_bytes())),
        ("'|u1'", integers.to_vec()),
        ("'<u2'", bytes(&integers, |x| u16::from(x).to_le_bytes())),
        ("'<u4'", bytes(&integers, |x| u32::from(x).to_le_bytes())),
        ("'<u8'", bytes(&integers, |x| u64::from(x).to_le_bytes())),
    ];
    let folder = Folder::new();
    for (descr, data) in cases {
        let path = folder.file("a.npy", npy(descr, false, "(2, 3)", &data));
        let features = read_features(&path, None)?;
        assert_eq!(dense(&*features)?, expected, "{descr}");
    }

    let path = folder.file("a.npy", npy("'|b1'", false, "(2, 2)", &[1, 0, 0, 1]));
    let truth = dense(&*read_features(&path, None)?)?;
    assert_eq!(truth, [vec![1.0, 0.0], vec![0.0, 1.0]]);
    let path = folder.file("a.npy", npy("'|i1'", false, "(1, 2)", &[0xff, 0x80]));
    assert_eq!(dense(&*read_features(&path, None)?)?, [vec![-1.0, -128.0]]);
    Ok(())
}

/// Times in seconds since 1970 within ten minutes, beside a constant with the rounding of 64 bits.
#[test]
fn columns_that_32_bits_do_not_tell_apart_are_refused_in_training() -> Outcome {
    let times = |offset: f64| -> Vec<f64> {
        (0..200)
            .flat_map(|at| [1.0 + f64::from(at % 2) * 2e-16, offset + 3.0 * f64::from(at)])
            .collect()
    };
    let by_columns = |rows: &[f64]| -> Vec<f64> {
        let column = |column: usize| rows.iter().skip(column).step_by(2).copied();
        column(0).chain(column(1)).collect()
    };
    let folder = Folder::new();
    let files = |offset: f64| {
        let rows = times(offset);
        let numbers = bytes(&rows, f64::to_le_bytes);
        let whole = bytes(&rows, |x| (x as i64).to_le_bytes());
        let columns = bytes(&by_columns(&rows), f64::to_be_bytes);
        [
            ("a.safetensors", safetensors(&[("x", "F64", &[200, 2], &numbers)])),
            ("a.npy", npy("'<f8'", false, "(200, 2)", &numbers)),
            ("b.npy", npy("'<i8'", false, "(200, 2)", &whole)),
            ("c.npy", npy("'>f8'", true, "(200, 2)", &columns)),
        ]
    };
    for (name, file) in files(1.7e9) {
        let path = folder.file(name, file);
        let refused = feature_file::read_training_features(&path, None, false);
        let message = folder.message(refused.err().ok_or(name)?);
        let words = ["in column 1 lie between 1700000000 and 1700000597", "subtract a constant"];
        assert!(words.iter().all(|word| message.contains(word)), "{name}: {message}");
        // queries may be close to each other
        assert_eq!(read_features(&path, None)?.len(), 200, "{name}");
    }
    for (name, file) in files(0.0) {
        let path = folder.file(name, file);
        let rows = feature_file::read_training_features(&path, None, false)?;
        assert_eq!(dense(&*rows)?[199], [1.0, 597.0], "{name}");
    }
    Ok(())
}

/// Ends of spectra between 1e-300 and 1e-60, a constant with the rounding of a solver, and times within one minute, beside a
/// column that varies, are read; without that column nothing would be left.
#[test]
fn columns_of_which_32_bits_leave_nothing_are_read_beside_others() -> Outcome {
    let folder = Folder::new();
    let noise = |at: i32| f64::from(at * 37 % 100) / 100.0;
    let row = |at: i32| {
        let tail = format!("1e-{}", 60 + 2 * (at % 120)).parse().unwrap();
        [
            noise(at),
            tail,
            1.0 + 1e-10 * noise(at),
            1.7e9 + f64::from(at % 60),
            1.0 + 1e-8 * noise(at),
        ]
    };
    let numbers = |columns: std::ops::Range<usize>| -> Vec<f64> {
        (0..200).flat_map(|at| row(at)[columns.clone()].to_vec()).collect()
    };
    let file = |columns: std::ops::Range<usize>| {
        let shape = format!("(200, {})", columns.len());
        npy("'<f8'", false, &shape, &bytes(&numbers(columns), f64::to_le_bytes))
    };
    let path = folder.file("a.npy", file(0..5));
    let rows = feature_file::read_training_features(&path, None, false)?;
    let narrow = row(199).map(|number| number as f32).to_vec();
    assert_eq!(dense(&*rows)?[199], narrow);
    let path = folder.file("b.npy", file(1..5));
    let refused = feature_file::read_training_features(&path, None, false);
    let message = folder.message(refused.err().ok_or("refused")?);
    let words = [
        "in column 0 lie between 1e-298 and 1e-60, too small for 32 bits: multiply all of them by a constant",
        "the numbers in column 1, in column 2, in column 3 apart either",
    ];
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
    Ok(())
}

/// Files of `scipy.sparse.save_npz`: the second of three columns holds times, in `later.npz` beside a row without one, and in
/// `seconds.npz` within a minute, which leaves one value in 32 bits.
#[test]
fn sparse_columns_that_32_bits_do_not_tell_apart_are_refused_in_training() -> Outcome {
    let folder = Folder::new();
    let path = folder.file("a.npz", include_bytes!("../golden/times.npz"));
    let refused = feature_file::read_training_features(&path, None, false);
    let message = folder.message(refused.err().ok_or("refused")?);
    assert!(message.contains("in column 1 lie between 1700000000 and 1700000540"), "{message}");
    assert_eq!(read_features(&path, None)?.len(), 10);
    let path = folder.file("b.npz", include_bytes!("../golden/later.npz"));
    assert_eq!(feature_file::read_training_features(&path, None, false)?.len(), 11);
    let path = folder.file("c.npz", include_bytes!("../golden/seconds.npz"));
    assert_eq!(feature_file::read_training_features(&path, None, false)?.len(), 10);
    Ok(())
}

#[test]
fn fortran_order_is_transposed() -> Outcome {
    // Written by numpy.save(numpy.asfortranarray([[1, -2.5, 3], [4, 5, 6e-8]], '<f2')).
    let mut golden =
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3), }"
            .to_vec();
    golden.extend([b' '; 59]);
    golden.extend(b"\n\x00<\x00D\x00\xc1\x00E\x00B\x01\x00");
    let folder = Folder::new();
    let path = folder.file("a.npy", golden);
    let features = read_features(&path, None)?;
    let smallest = 2f32.powi(-24);
    assert_eq!(dense(&*features)?, [vec![1.0, -2.5, 3.0], vec![4.0, 5.0, smallest]]);

    // Rows 1 to 3 and a fourth, many more than wide.
    let columns: Vec<f32> =
        (0..2).flat_map(|j| (0..1000).map(move |i| (10 * i + j) as f32)).collect();
    let data = bytes(&columns, f32::to_le_bytes);
    let path = folder.file("b.NPY", npy("'<f4'", true, "(1000, 2)", &data));
    let expected: Vec<Vec<f32>> =
        (0..1000).map(|i| vec![(10 * i) as f32, (10 * i + 1) as f32]).collect();
    assert_eq!(dense(&*read_features(&path, None)?)?, expected);
    Ok(())
}

#[test]
fn bytes_in_npy_are_numbers_unless_packed() -> Outcome {
    let folder = Folder::new();
    let path = folder.file("a.npy", npy("'|u1'", false, "(2, 1)", &[0b1000_0010, 1]));
    assert_eq!(dense(&*read_features(&path, None)?)?, [vec![130.0], vec![1.0]]);
    let packed = read_packed(&path, None)?;
    assert_eq!((packed.len(), packed.width()), (2, 8));
    assert_eq!(ones(&*packed)?, [vec![0, 6], vec![7]]);
    Ok(())
}

#[test]
fn published_features() -> Outcome {
    let name = "published_features";
    let Some(vectors) = published(name, "chebi20/mol2vec.safetensors") else {
        return Ok(());
    };
    let Some(prints) = published(name, "chebi20/morgan.safetensors") else {
        return Ok(());
    };
    let vectors = read_features(&vectors, None)?;
    assert_eq!((vectors.len(), vectors.width()), (35_905, 300));
    assert_eq!(vectors.kind(), RowKind::Dense);
    let prints = read_features(&prints, Some("morgan_r2_2048"))?;
    assert_eq!((prints.len(), prints.width()), (35_905, 2_048));
    assert_eq!(prints.kind(), RowKind::Bits);
    Ok(())
}
