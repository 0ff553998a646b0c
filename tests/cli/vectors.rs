//! Vectors as inputs: a run is asked by the kinds of files that it can be trained on.

use std::fs;
use std::io::{Cursor, Write};

use crate::sandbox::{BAG, CONFIG, Sandbox, npy};

/// Number of outputs of the sandbox, each with a vector.
const ROWS: usize = 80;
const COLUMNS: usize = 20;

const MACHINE: &str = "kind = \"kernel-machine\"\nlambda = 1e-3";

const INPUTS: &str = r#"
[data.inputs]
kind = "features"
table = "outputs.tsv"
file = "sparse.npz"
"#;

fn bit(row: usize, column: usize) -> bool {
    column < COLUMNS && (row * (2 * column + 3) + column * column) % 7 < 3
}

/// The bits as numbers, with columns of zeros behind them.
fn numbers(columns: usize) -> Vec<u8> {
    let row = |row| (0..columns).map(move |column| f64::from(u8::from(bit(row, column))));
    npy(columns, &(0..ROWS).flat_map(row).collect::<Vec<f64>>())
}

/// An array of NumPy.
fn array(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{header:<117}\n").bytes());
    file.extend(bytes);
    file
}

/// The bits as `numpy.packbits` writes them.
fn packed() -> Vec<u8> {
    let bytes = COLUMNS.div_ceil(8);
    let byte = |row, byte| {
        (8 * byte..8 * (byte + 1)).fold(0u8, |sum, column| 2 * sum + u8::from(bit(row, column)))
    };
    let row = |row| (0..bytes).map(move |at| byte(row, at));
    array("|u1", &format!("{ROWS}, {bytes}"), &(0..ROWS).flat_map(row).collect::<Vec<u8>>())
}

/// The bits as `scipy.sparse.save_npz` writes them.
fn sparse() -> Vec<u8> {
    let ones = |row| (0..COLUMNS).filter(move |&column| bit(row, column));
    let columns: Vec<u64> = (0..ROWS).flat_map(ones).map(|column| column as u64).collect();
    let mut offsets = vec![0u64];
    for row in 0..ROWS {
        offsets.push(offsets[row] + ones(row).count() as u64);
    }
    let whole = |values: &[u64]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        array("<u8", &format!("{},", values.len()), &bytes)
    };
    let mut file = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in [
        ("format.npy", array("|S3", "", b"csr")),
        ("shape.npy", whole(&[ROWS as u64, COLUMNS as u64])),
        ("indptr.npy", whole(&offsets)),
        ("indices.npy", whole(&columns)),
        ("data.npy", whole(&vec![1; columns.len()])),
    ] {
        file.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        file.write_all(&bytes).unwrap();
    }
    file.finish().unwrap().into_inner()
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let put = |name: &str, bytes: &[u8]| {
        fs::write(sandbox.path(&format!("data/small/{name}")), bytes).unwrap();
    };
    for columns in [COLUMNS, 22, 24, 25] {
        put(&format!("ones-{columns}.npy"), &numbers(columns));
    }
    put("halves.npy", &npy(COLUMNS, &[0.5; ROWS * COLUMNS]));
    put("bits.npy", &packed());
    put("sparse.npz", &sparse());
    assert!(CONFIG.contains(BAG));
    let config = CONFIG.replacen(BAG, MACHINE, 1);
    sandbox.write("vectors.toml", &format!("{config}{INPUTS}"));
    sandbox
}

/// The answers of the run to the rows of a file.
fn answers(sandbox: &Sandbox, file: &str) -> String {
    sandbox.succeed(&["predict", "runs/vectors", &format!("data/small/{file}"), "--top", "3"])
}

/// 20 bits are three bytes, 24 columns.
#[test]
fn a_run_on_packed_bits_reads_bytes_and_columns() {
    let sandbox = sandbox();
    let inputs = ["data.inputs.file=bits.npy", "data.inputs.packed=true"];
    sandbox.train("vectors.toml", &[inputs[0], inputs[1], "encoder.kernel.name=tanimoto"]);
    let expected = answers(&sandbox, "bits.npy");
    assert_eq!(expected.lines().count(), ROWS);
    for file in ["ones-20.npy", "ones-22.npy", "ones-24.npy", "sparse.npz"] {
        assert_eq!(answers(&sandbox, file), expected, "{file}");
    }
    for (file, columns) in [("ones-25.npy", "25 columns"), ("halves.npy", "20 columns")] {
        let place = format!("data/small/{file}");
        let says = [file, columns, "24 bits", "3 packed bytes", "17 to 24 columns of 0 and 1"];
        sandbox.fail(&["predict", "runs/vectors", &place], 2, &says);
    }
    for (file, out) in [("bits.npy", "of-bytes.npy"), ("ones-20.npy", "of-columns.npy")] {
        let file = format!("data/small/{file}");
        sandbox.succeed(&["embed", "runs/vectors", &file, "--out", out]);
    }
    let rows = ["of-bytes.npy", "of-columns.npy"].map(|name| fs::read(sandbox.path(name)).unwrap());
    assert_eq!(rows[0], rows[1]);
}

#[test]
fn a_run_on_sparse_rows_reads_its_own_file() {
    let sandbox = sandbox();
    sandbox.train("vectors.toml", &["encoder.kernel.name=linear"]);
    assert_eq!(answers(&sandbox, "sparse.npz").lines().count(), ROWS);
    assert_eq!(answers(&sandbox, "ones-20.npy").lines().count(), ROWS);
    let embed = ["embed", "runs/vectors", "data/small/sparse.npz", "--out", "z.npy"];
    assert!(sandbox.succeed(&embed).contains("80 rows"));
    sandbox.write("rows.mat", "");
    let says = ["rows.mat", ".npy, .npz, .safetensors", ".tsv"];
    sandbox.fail(&["predict", "runs/vectors", "rows.mat"], 2, &says);
}
