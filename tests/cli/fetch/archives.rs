//! Archives, and files that are there already.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::write::GzEncoder;

use super::{Server, fails, fetch, fetched, send_part, table, unchecked};
use crate::sandbox::Sandbox;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// A tar archive; the crate refuses to write paths that leave the folder, so they are written by hand.
fn tar_gz(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = tar::Builder::new(Vec::new());
    for (path, bytes) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        out.append(&header, *bytes).unwrap();
    }
    gzip(&out.into_inner().unwrap())
}

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (path, bytes) in entries {
        let options = zip::write::SimpleFileOptions::default();
        out.start_file(*path, options).unwrap();
        out.write_all(bytes).unwrap();
    }
    out.finish().unwrap().into_inner()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path))
        } else {
            all.push(path.to_str().unwrap().to_owned())
        }
    }
    all.sort();
    all
}

#[test]
fn archives_are_unpacked_whole_and_nowhere_else() {
    let entries: [(&str, &[u8]); 4] =
        [("../evil", b"x"), ("deep/a.txt", b"aaa"), ("/tmp/b.txt", b"bbb"), ("big", &[0; 100_000])];
    let archives =
        [("zip", zip(&entries)), ("tar-gz", tar_gz(&entries)), ("gzip", gzip(&[b'a'; 1000]))];
    for (kind, archive) in archives {
        let sandbox = Sandbox::new();
        let cut = archive[..archive.len() - 20].to_vec();
        let server = Server::new(move |asked, _, stream| {
            let bytes = if asked.path == "/cut" { &cut } else { &archive };
            send_part(stream, asked, "\"v1\"", bytes, usize::MAX);
        });
        let (wanted, big) = match kind {
            "gzip" => ("to = \"own/a.txt\"", "most_bytes = 100\nto = \"own/a.txt\""),
            _ => (
                "entries = { \"a.txt\" = \"own/a.txt\", \"b.txt\" = \"own/sub/b.txt\" }",
                "most_bytes = 50000\nentries = { big = \"own/big\" }",
            ),
        };
        let own = |path: &str, more: &str| {
            table(&sandbox, &server.address, path, &format!("unpack = \"{kind}\"\n{more}"));
        };
        let before = files(&sandbox.path("."));
        own("/cut", wanted);
        fails(&sandbox, &["cannot be unpacked"]);
        fs::remove_dir_all(sandbox.path("root")).unwrap();
        own("/a", big);
        fails(&sandbox, &["cannot be unpacked", "the limit is"]);
        fs::remove_dir_all(sandbox.path("root")).unwrap();
        if kind != "gzip" {
            own("/a", "entries = { \"a.txt\" = \"own/a.txt\", \"c.txt\" = \"own/c.txt\" }");
            fails(&sandbox, &["no entry \"c.txt\""]);
            fs::remove_dir_all(sandbox.path("root")).unwrap();
        }
        own("/a", wanted);
        fetched(&sandbox);
        assert!(sandbox.read("root/own/a.txt").starts_with("aaa"));
        let new = if kind == "gzip" { 2 } else { 3 };
        assert_eq!(files(&sandbox.path(".")).len(), before.len() + new, "{kind}");
        // places outside the data root are refused before anything is asked
        own("/a", &wanted.replace("own/a.txt", "../a.txt"));
        let output = fetch(&sandbox, &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("without \"..\""));
    }
}

#[test]
fn files_that_are_there_already_are_taken() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("mine")).unwrap();
    let bibtex = ["fetch", "bibtex", "--from", "mine"];
    sandbox.fail(&bibtex, 2, &["mine/bibtex-train.arff", "bibtex/bibtex-train.arff in mine"]);
    sandbox.fail(&["fetch", "bibtecs"], 2, &["\"bibtecs\"", "bibtex, bookmarks, boston, chebi20"]);
    sandbox.write("mine/bibtex-train.arff", "a");
    sandbox.write("mine/bibtex-test.arff", "b");
    sandbox.write("mine/qm9.csv", "mol_id,smiles,mu\ngdb_1,C,0\ngdb_2,\"N\",1\n");
    // the ids and sizes of other files
    let id = "70c6836270dc581b44a922b3ed2e930eee74bb6c";
    sandbox.fail(
        &bibtex,
        1,
        &[
            "error: mine/bibtex-train.arff",
            "git id is 2e65efe2a145dda7ee51d1741299f848e5bf752e",
            id,
        ],
    );
    sandbox.fail(&["fetch", "qm9", "--from", "mine"], 1, &["it has 39 bytes", "29856825"]);
    unchecked(&sandbox);
    let table = ["--table", "sets.toml"];
    let output = sandbox.succeed(&[&bibtex[..], &table].concat());
    assert!(output.contains("cite: I. Katakis") && output.contains("licence: unknown"), "{output}");
    assert_eq!(sandbox.read("data/bibtex/bibtex-test.arff"), "b");
    // a table of comma-separated values becomes lines of SMILES
    let qm9 = ["fetch", "qm9", "--from", "mine", "--out", "there"];
    sandbox.succeed(&[&qm9[..], &table].concat());
    assert_eq!(sandbox.read("there/qm9/smiles.txt"), "C\nN\n");
    let list = sandbox.succeed(&["fetch"]);
    assert!(["chebi20 ", "qm9 ", "mediamill "].iter().all(|name| list.contains(name)), "{list}");
}
