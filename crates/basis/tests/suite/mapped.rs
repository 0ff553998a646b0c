//! Rows in memory-mapped files.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::features::{DenseRows, MappedRows, SparseRows, distinct};
use dsokr_basis::{Basis, Features, Kernel, RowKind, RowSource, SketchKind, SketchOptions};
use dsokr_core::Error;
use dsokr_core::random::{generator, unit};
use dsokr_core::store::{self, Stored};
use safetensors::Dtype;
use safetensors::tensor::TensorView;

use crate::support::{expand, refused};

fn write(path: &Path, dtype: Dtype, shape: &[usize], bytes: &[u8]) {
    let view = TensorView::new(dtype, shape.to_vec(), bytes).unwrap();
    let file = safetensors::serialize([("rows", view)], None).unwrap();
    std::fs::write(path, file).unwrap();
}

fn numbers(count: usize) -> Vec<f32> {
    let mut random = generator(0, "mapped", 0);
    (0..count).map(|_| (unit(&mut random) - 0.5) as f32).collect()
}

#[test]
fn every_element_type_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.safetensors");
    let values = numbers(60);
    let halves: Vec<half::f16> = values.iter().map(|&v| half::f16::from_f32(v)).collect();
    let brains: Vec<half::bf16> = values.iter().map(|&v| half::bf16::from_f32(v)).collect();
    let doubles: Vec<f64> = values.iter().map(|&v| f64::from(v) + 1e-12).collect();
    let cases: [(Dtype, &[u8], Vec<f32>); 4] = [
        (Dtype::F32, bytemuck::cast_slice(&values), values.clone()),
        (Dtype::F16, bytemuck::cast_slice(&halves), halves.iter().map(|v| v.to_f32()).collect()),
        (Dtype::BF16, bytemuck::cast_slice(&brains), brains.iter().map(|v| v.to_f32()).collect()),
        (Dtype::F64, bytemuck::cast_slice(&doubles), doubles.iter().map(|&v| v as f32).collect()),
    ];
    for (dtype, bytes, expected) in cases {
        write(&path, dtype, &[12, 5], bytes);
        let rows = MappedRows::open(&path, "rows").unwrap();
        assert_eq!((rows.len(), rows.width(), rows.kind()), (12, 5, RowKind::Dense));
        let expected = Features::Dense(DenseRows::new(5, expected).unwrap());
        for range in [0..12, 3..4, 7..12, 5..5] {
            let actual = expand(&rows.block(range.clone()).unwrap());
            assert_eq!(actual, expand(&expected.block(range).unwrap()), "{dtype}");
        }
        assert_eq!(rows.select(&[11, 0, 1]).unwrap(), expected.select(&[11, 0, 1]).unwrap());
    }
    let packed: Vec<u8> = (0..36).map(|i| i * 7).collect();
    write(&path, Dtype::U8, &[12, 3], &packed);
    let rows = MappedRows::open(&path, "rows").unwrap();
    assert_eq!((rows.len(), rows.width(), rows.kind()), (12, 24, RowKind::Bits));
    let expected = dsokr_basis::features::BitRows::from_packed(24, &packed).unwrap();
    let all: Vec<usize> = (0..12).collect();
    assert_eq!(rows.select(&all).unwrap(), Features::Bits(expected));
}

#[test]
fn what_cannot_be_rows_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.safetensors");
    write(&path, Dtype::I64, &[1, 2], &[0; 16]);
    assert!(refused(MappedRows::open(&path, "rows"), "tensor \"rows\" is I64, allowed: F32"));
    for shape in [&[4][..], &[2, 2, 1], &[]] {
        write(&path, Dtype::F32, shape, &[0; 16][..4 * shape.iter().product::<usize>()]);
        assert!(refused(MappedRows::open(&path, "rows"), "has shape"));
    }
    write(&path, Dtype::F32, &[5, 0], &[]);
    assert!(refused(MappedRows::open(&path, "rows"), "rows of width 0"));
    write(&path, Dtype::F32, &[0, 5], &[]);
    assert!(MappedRows::open(&path, "rows").unwrap().block(0..0).unwrap().is_empty());
    assert!(refused(MappedRows::open(&path, "columns"), "no tensor"));
    std::fs::write(&path, b"not a safetensors file").unwrap();
    assert!(refused(MappedRows::open(&path, "rows"), "not a safetensors file"));
    std::fs::write(&path, b"").unwrap();
    assert!(refused(MappedRows::open(&path, "rows"), "not a safetensors file"));
    assert!(refused(MappedRows::open(&folder.path().join("x"), "rows"), "no such file"));
}

#[test]
fn a_number_that_is_not_finite_is_named_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.safetensors");
    let mut values = numbers(6000);
    values[3 * 1234 + 2] = f32::NAN;
    write(&path, Dtype::F32, &[2000, 3], bytemuck::cast_slice(&values));
    let rows = MappedRows::open(&path, "rows").unwrap();
    assert!(rows.block(0..1234).is_ok());
    for error in [
        rows.block(1000..1500).unwrap_err(),
        distinct(&rows).unwrap_err(),
        Basis::fit(Kernel::Linear, &rows, &SketchOptions::new(SketchKind::Gaussian, 2))
            .unwrap_err(),
    ] {
        let place = format!("{}: \"rows\", row 1234, column 2: NaN ", path.display());
        assert!(error.to_string().starts_with(&place), "{error}");
    }
    // A double that no f32 can hold.
    write(&path, Dtype::F64, &[1, 1], bytemuck::bytes_of(&1e300f64));
    let error = MappedRows::open(&path, "rows").unwrap().block(0..1).unwrap_err();
    assert!(error.to_string().contains("row 0, column 0: 1e300"), "{error}");
}

#[test]
fn a_mapped_basis_is_the_one_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.safetensors");
    let values = numbers(3000 * 4);
    write(&path, Dtype::F32, &[3000, 4], bytemuck::cast_slice(&values));
    let mapped = MappedRows::open(&path, "rows").unwrap();
    let memory = Features::Dense(DenseRows::new(4, values).unwrap());
    for sketch in [SketchKind::Gaussian, SketchKind::SparsifiedGaussian { density: 0.01 }] {
        let fit = |rows: &dyn RowSource| {
            Basis::fit(Kernel::Cosine, rows, &SketchOptions::new(sketch.clone(), 3)).unwrap()
        };
        let a = fit(&mapped);
        let b = fit(&memory);
        assert_eq!(a.fingerprint(), b.fingerprint());
        assert_eq!(a.project(&mapped).unwrap(), b.project(&memory).unwrap());
    }
}

#[test]
fn tensors_of_a_verified_file_are_rows_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stored.safetensors");
    let values = numbers(60);
    let tensors = [store::Tensor::f32("z", &[12, 5], &values)];
    store::Contents::new("sample", 1, &BTreeMap::new(), &tensors).write(&path).unwrap();
    let rows = MappedRows::from_stored(&Stored::open(&path, "sample", 1).unwrap(), "z").unwrap();
    let expected = Features::Dense(DenseRows::new(5, values).unwrap());
    assert_eq!(rows.select(&[3, 11]).unwrap(), expected.select(&[3, 11]).unwrap());
}

#[test]
fn packed_rows_are_those_that_were_packed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stored.safetensors");
    let columns: Vec<Vec<u32>> = vec![
        vec![],
        vec![0, 1, 127, 128, 254, 255, 383],
        vec![16_383, 32_767],
        vec![16_384],
        vec![2_097_151, 4_194_303, 4_294_967_000],
        vec![],
    ];
    let width = 4_294_967_001;
    let row = |columns: &Vec<u32>| {
        columns.clone().into_iter().zip(1u8..).map(|(at, value)| (at, f32::from(value)))
    };
    let rows = Features::from(SparseRows::from_rows(width, columns.iter().map(row)).unwrap());
    let read = |tensors: &[store::Tensor]| {
        store::Contents::new("sample", 1, &BTreeMap::new(), tensors).write(&path).unwrap();
        let stored = Stored::open(&path, "sample", 1).unwrap();
        Features::from_stored(&stored, "x", RowKind::Sparse, width).unwrap()
    };
    let packed = rows.packed_tensors("x");
    assert_eq!(packed[1].data.len(), 28);
    assert_eq!(read(&packed), rows);
    assert_eq!(read(&rows.tensors("x")), rows);
}

/// Whole files whose rows are not valid, with a right checksum.
#[test]
fn stored_rows_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stored.safetensors");
    let read = |tensors: &[store::Tensor], kind| {
        store::Contents::new("sample", 1, &BTreeMap::new(), tensors).write(&path).unwrap();
        Features::from_stored(&Stored::open(&path, "sample", 1).unwrap(), "x", kind, 3)
    };
    let nan = [f32::NAN; 3];
    let dense =
        |shape: &[usize]| read(&[store::Tensor::f32("x.dense", shape, &nan)], RowKind::Dense);
    assert!(matches!(dense(&[1, 3]), Err(Error::NotFinite { row: 0, column: 0, .. })));
    assert!(refused(dense(&[3, 1]), "has shape"));
    let words = [7, 8];
    let bits =
        |shape: &[usize]| read(&[store::Tensor::u64("x.bits", shape, &words)], RowKind::Bits);
    assert!(refused(bits(&[2, 1]), "row 1: a padding bit beyond bit 3"));
    assert!(refused(bits(&[1, 2]), "has shape"));
    for offsets in [[0, u64::MAX], [0, 2], [1, 1]] {
        let tensors = [
            store::Tensor::u64("x.offsets", &[2], &offsets),
            store::Tensor::u32("x.columns", &[1], &[0]),
            store::Tensor::f32("x.values", &[1], &[1.0]),
        ];
        let error = read(&tensors, RowKind::Sparse).unwrap_err();
        assert!(error.to_string().contains("sparse offset"), "{offsets:?}: {error}");
    }
    for (gaps, wrong) in [
        (&[1, 0][..], "column 1 follows column 1"),
        (&[0x80, 0x80, 0x80, 0x80, 0x80, 1, 1], "column"),
        (&[1, 2], "column 3 is outside of 0..3"),
        (&[1], "1 column indices for 2 values"),
        (&[0x81], "1 column indices for 2 values"),
        (&[], "0 column indices for 2 values"),
    ] {
        let tensors = [
            store::Tensor::u64("x.offsets", &[2], &[0, 2]),
            store::Tensor::u8("x.gaps", &[gaps.len()], gaps),
            store::Tensor::f32("x.values", &[2], &[1.0, 2.0]),
        ];
        let error = read(&tensors, RowKind::Sparse).unwrap_err();
        assert!(error.to_string().contains(wrong), "{gaps:?}: {error}");
    }
}

/// After all blocks were read, next to nothing of the file is resident in this process.
#[cfg(target_os = "linux")]
#[test]
fn resident_memory_does_not_grow_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.safetensors");
    let rows = 60_000;
    let width = 100;
    write(&path, Dtype::F32, &[rows, width], bytemuck::cast_slice(&vec![0.5f32; rows * width]));
    let mapped = MappedRows::open(&path, "rows").unwrap();
    let mut most = 0;
    let basis =
        Basis::fit(Kernel::Linear, &mapped, &SketchOptions::new(SketchKind::Gaussian, 2)).unwrap();
    for start in (0..rows).step_by(2048) {
        basis.project_range(&mapped, start..(start + 2048).min(rows)).unwrap();
        most = most.max(resident_kib(&path));
    }
    assert!(most < 2048, "{most} KiB of {} KiB are resident", rows * width * 4 / 1024);
}

/// Returns resident KiB of the mappings of a file.
#[cfg(target_os = "linux")]
fn resident_kib(path: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut ours = false;
    let mut total = 0;
    for line in maps.lines() {
        // The first line of a mapping starts with its address range.
        if line.split(' ').next().is_some_and(|first| first.contains('-')) {
            ours = line.ends_with(&*path.to_string_lossy());
        } else if ours && let Some(rest) = line.strip_prefix("Rss:") {
            total += rest.trim().trim_end_matches(" kB").parse::<usize>().unwrap();
        }
    }
    total
}

/// A header whose length is no multiple of 8 leaves the tensors unaligned; they are copied.
#[test]
fn rows_of_an_unaligned_file_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    let header = br#"{"x":{"dtype":"F64","shape":[2,1],"data_offsets":[0,16]}}"#;
    let header = [&header[..], &b" ".repeat(9 - header.len() % 8)[..]].concat();
    assert_eq!(header.len() % 8, 1);
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend(bytemuck::bytes_of(&[1.5f64, -2.0]));
    std::fs::write(&path, bytes).unwrap();
    let rows = MappedRows::open(&path, "x").unwrap();
    assert_eq!(expand(&rows.block(0..2).unwrap()), [[1.5], [-2.0]]);
}
