//! Downloads from a server on this machine that behaves as badly as servers do.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use flate2::write::GzEncoder;
use serde_json::Value;

use crate::sandbox::{Sandbox, json};

/// A request: method, path, and headers in lower case.
struct Asked {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
}

impl Asked {
    /// The first byte that is wanted, of the version `tag`; 0 for all of them.
    fn start(&self, tag: &str) -> usize {
        let same = self.headers.get("if-range").is_some_and(|own| own == tag);
        let range = self.headers.get("range").filter(|_| same);
        let start =
            range.and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
        start.unwrap_or(0)
    }
}

/// A server, and the requests that it was sent: path and range of each.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers each request by `answer`, which is given the number of requests before for the same path.
    fn new(answer: impl Fn(&Asked, usize, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (asked.clone(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, log, answer) = (stream.unwrap(), log.clone(), answer.clone());
                thread::spawn(move || {
                    let Some(asked) = read(&stream) else { return };
                    let before = {
                        let mut log = log.lock().unwrap();
                        let own = format!("{} {}", asked.method, asked.path);
                        let before =
                            log.iter().filter(|line: &&String| line.starts_with(&own)).count();
                        let range = asked.headers.get("range").cloned().unwrap_or_default();
                        log.push(format!("{own} {range}").trim_end().to_owned());
                        before
                    };
                    answer(&asked, before, &mut stream);
                });
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let mut parts = first.split(' ');
    let (method, path) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let lines = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
    let header = |line: String| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_lowercase(), value.to_owned()))
    };
    Some(Asked { method, path, headers: lines.filter_map(header).collect() })
}

/// Sends a status, headers and a body as they are, and closes the connection.
fn send(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n");
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

/// Sends the part that is asked for of a body of the version `tag`, of which `sent` bytes arrive.
fn send_part(stream: &mut TcpStream, asked: &Asked, tag: &str, body: &[u8], sent: usize) {
    let start = asked.start(tag);
    let (length, last) = (body.len() - start, body.len() - 1);
    let headers = format!("ETag: {tag}\r\nContent-Length: {length}\r\n");
    let part = &body[start..body.len().min(start.saturating_add(sent))];
    match start {
        0 => send(stream, "200 OK", &headers, part),
        _ => {
            let range = format!("Content-Range: bytes {start}-{last}/{}\r\n", body.len());
            send(stream, "206 Partial Content", &(headers + &range), part);
        }
    }
}

fn body() -> Vec<u8> {
    (0..300_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn sha256(bytes: &[u8]) -> String {
    let sum = ring::digest::digest(&ring::digest::SHA256, bytes);
    sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A table with the data set `own` of one file.
fn table(sandbox: &Sandbox, address: &str, path: &str, more: &str) {
    let text = format!(
        "[own]\ntitle = \"t\"\npage = \"p\"\nlicence = \"CC0-1.0\"\ncitation = \"c\"\n[[own.files]]\nname = \"download\"\n\
         url = \"{address}{path}\"\n{more}\n"
    );
    sandbox.write("sets.toml", &text);
}

fn fetch(sandbox: &Sandbox, more: &[&str]) -> Output {
    let common = [
        "fetch",
        "own",
        "--table",
        "sets.toml",
        "--out",
        "root",
        "--retries",
        "1",
        "--timeout",
        "0.5",
    ];
    let mut command = sandbox.command(&[&common[..], more].concat());
    ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].iter().for_each(|key| {
        command.env_remove(key);
    });
    command.output().unwrap()
}

/// What a call prints that must succeed.
fn fetched(sandbox: &Sandbox) -> Value {
    let output = fetch(sandbox, &["--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    json(&String::from_utf8(output.stdout).unwrap())
}

/// A call that must fail as a run and leave nothing under the data root.
fn fails(sandbox: &Sandbox, expected: &[&str]) {
    let output = fetch(sandbox, &[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    for part in expected {
        assert!(errors.contains(part), "no {part:?} in: {errors}");
    }
    assert!(!sandbox.path("root/own").exists(), "{errors}");
}

const PLAIN: &str = "unpack = \"plain\"\nto = \"own/data.bin\"";

#[test]
fn a_download_that_is_cut_off_goes_on_where_it_stopped() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, before, stream| {
        let sent = if before < 2 { 100_000 } else { usize::MAX };
        send_part(stream, asked, "\"v1\"", &body(), sent);
    });
    table(
        &sandbox,
        &server.address,
        "/a",
        &format!("sha256 = \"{}\"\nbytes = 300000\n{PLAIN}", sha256(&body())),
    );
    let found = fetched(&sandbox);
    assert!(fs::read(sandbox.path("root/own/data.bin")).unwrap() == body());
    assert_eq!(
        (&found["files"][0]["verified"], found["files"][0]["sha256"].as_str()),
        (&true.into(), Some(&*sha256(&body())))
    );
    assert_eq!(server.asked(), ["GET /a", "GET /a bytes=100000-", "GET /a bytes=200000-"]);
    assert!(!sandbox.path("root/.fetch").exists());
    // what is there is not fetched again
    assert_eq!(fetched(&sandbox)["files"][0]["sha256"], Value::Null);
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn a_later_call_goes_on_and_a_changed_file_begins_anew() {
    let sandbox = Sandbox::new();
    let other: Vec<u8> = body().iter().map(|byte| byte ^ 1).collect();
    let expected = other.clone();
    let server = Server::new(move |asked, before, stream| match before {
        0 => send_part(stream, asked, "\"v1\"", &body(), 100_000),
        // it goes away until the first call has given up
        1..=2 => send(stream, "503 Service Unavailable", "Content-Length: 0\r\n", b""),
        _ => send_part(stream, asked, "\"v2\"", &other, usize::MAX),
    });
    table(&sandbox, &server.address, "/a", PLAIN);
    fails(&sandbox, &["503", "2 tries brought nothing new"]);
    let found = fetched(&sandbox);
    assert_eq!(found["files"][0]["verified"], false);
    assert!(fs::read(sandbox.path("root/own/data.bin")).unwrap() == expected);
    assert_eq!(server.asked().last().unwrap(), "GET /a bytes=100000-");
}

#[test]
fn wrong_bytes_are_refused_and_removed() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, before, stream| match before {
        0 => send_part(stream, asked, "\"v1\"", b"wrong", usize::MAX),
        _ => send_part(stream, asked, "\"v1\"", &body(), usize::MAX),
    });
    let sum = sha256(&body());
    table(&sandbox, &server.address, "/a", &format!("sha256 = \"{sum}\"\n{PLAIN}"));
    fails(&sandbox, &[&sum, &sha256(b"wrong"), "/a"]);
    fetched(&sandbox);
    assert_eq!(server.asked(), ["GET /a", "GET /a"]);
    // a table without a checksum: the command says so, and the sum that it saw
    fs::remove_dir_all(sandbox.path("root")).unwrap();
    table(&sandbox, &server.address, "/a", PLAIN);
    let output = String::from_utf8(fetch(&sandbox, &[]).stdout).unwrap();
    assert!(
        output.contains("NOT verified") && output.contains(&sum) && output.contains("CC0-1.0"),
        "{output}"
    );
}

#[test]
fn redirects_are_followed_but_not_for_ever() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, _, stream| match asked.path.as_str() {
        "/moved" => send(stream, "302 Found", "Location: /a\r\nContent-Length: 0\r\n", b""),
        "/a" => send_part(stream, asked, "\"v1\"", &body(), usize::MAX),
        "/nowhere" => send(stream, "302 Found", "Content-Length: 0\r\n", b""),
        "/gone" => send(stream, "404 Not Found", "Content-Length: 4\r\n", b"gone"),
        _ => send(stream, "301 Moved Permanently", "Location: /loop\r\nContent-Length: 0\r\n", b""),
    });
    table(&sandbox, &server.address, "/loop", PLAIN);
    fails(&sandbox, &["/loop", "redirect"]);
    assert!(server.asked().len() < 20, "{:?}", server.asked());
    table(&sandbox, &server.address, "/gone", PLAIN);
    fails(&sandbox, &["/gone", "404"]);
    table(&sandbox, &server.address, "/nowhere", PLAIN);
    fails(&sandbox, &["/nowhere"]);
    table(&sandbox, &server.address, "/moved", PLAIN);
    fetched(&sandbox);
}

#[test]
fn a_server_that_is_slow_or_absent_ends_in_a_time_out() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, _, stream| {
        if asked.path == "/silent" {
            thread::sleep(Duration::from_secs(20));
        }
        send(stream, "200 OK", "Content-Length: 300000\r\n", &body()[..10]);
        thread::sleep(Duration::from_secs(20));
    });
    let begun = Instant::now();
    table(&sandbox, &server.address, "/stops", PLAIN);
    fails(&sandbox, &["/stops", "no byte in 0.5 seconds"]);
    table(&sandbox, &server.address, "/silent", PLAIN);
    fails(&sandbox, &["/silent", "timeout"]);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    table(&sandbox, &format!("http://{closed}"), "/a", PLAIN);
    fails(&sandbox, &[&closed.to_string(), "2 tries"]);
    assert!(begun.elapsed() < Duration::from_secs(15));
}

#[test]
fn lies_about_lengths_are_found() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, _, stream| {
        let length = match asked.path.as_str() {
            "/short" => 400_000,
            "/long" => 200_000,
            "/huge" => usize::MAX >> 1,
            _ => return send(stream, "200 OK", "", &body()),
        };
        send(stream, "200 OK", &format!("Content-Length: {length}\r\n"), &body());
    });
    let pinned = format!("sha256 = \"{}\"\nbytes = 300000\n{PLAIN}", sha256(&body()));
    table(&sandbox, &server.address, "/short", PLAIN);
    fails(&sandbox, &["/short", "cut off after 300000"]);
    table(&sandbox, &server.address, "/long", &pinned);
    fails(&sandbox, &["/long", "200000 bytes", "300000"]);
    table(&sandbox, &server.address, "/huge", PLAIN);
    fails(&sandbox, &["/huge", "allowed are 4294967296"]);
    // no length at all, and more than allowed
    table(&sandbox, &server.address, "/none", &format!("bytes = 1000\n{PLAIN}"));
    fails(&sandbox, &["/none", "more than 1000 bytes"]);
    table(&sandbox, &server.address, "/none", &pinned);
    fetched(&sandbox);
}

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
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => all.push(path.to_str().unwrap().to_owned()),
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
        fails(&sandbox, &["cannot be unpacked", "allowed are"]);
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
    sandbox.fail(
        &["fetch", "bibtex", "--from", "mine"],
        2,
        &["mine/bibtex.rar", "bibtex-test.arff"],
    );
    sandbox.fail(&["fetch", "bibtecs"], 2, &["\"bibtecs\"", "bibtex, bookmarks, chebi20"]);
    sandbox.write("mine/bibtex-train.arff", "a");
    sandbox.write("mine/bibtex-test.arff", "b");
    let output = sandbox.succeed(&["fetch", "bibtex", "--from", "mine"]);
    assert!(output.contains("cite: I. Katakis") && output.contains("licence: unknown"), "{output}");
    assert_eq!(sandbox.read("data/bibtex/bibtex-test.arff"), "b");
    // a table of comma-separated values becomes lines of SMILES
    sandbox.write("mine/qm9.csv", "mol_id,smiles,mu\ngdb_1,C,0\ngdb_2,\"N\",1\n");
    sandbox.succeed(&["fetch", "qm9", "--from", "mine", "--out", "there"]);
    assert_eq!(sandbox.read("there/qm9/smiles.txt"), "C\nN\n");
    let list = sandbox.succeed(&["fetch"]);
    assert!(["chebi20 ", "qm9 ", "mediamill "].iter().all(|name| list.contains(name)), "{list}");
}

/// A program unpacks RAR archives; without one the command says what to do.
#[cfg(unix)]
#[test]
fn rar_archives_need_a_program() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("bin")).unwrap();
    fs::create_dir_all(sandbox.path("mine")).unwrap();
    sandbox.write("mine/bibtex.rar", "Rar!");
    let run = || {
        let mut command = sandbox.command(&["fetch", "bibtex", "--from", "mine"]);
        command.env("PATH", sandbox.path("bin")).output().unwrap()
    };
    let output = run();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("bsdtar") && errors.contains("--from"), "{errors}");
    // one that lists and prints entries as bsdtar does
    let script = "#!/bin/sh\ncase $1 in\n-tf) echo deep/bibtex-train.arff; echo deep/bibtex-test.arff ;;\n\
                  -xOf) echo \"$3\" ;;\nesac\n";
    sandbox.write("bin/bsdtar", script);
    fs::set_permissions(sandbox.path("bin/bsdtar"), fs::Permissions::from_mode(0o755)).unwrap();
    let output = run();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(sandbox.read("data/bibtex/bibtex-test.arff"), "deep/bibtex-test.arff\n");
}

/// The official files of ChEBI-20, cut down, become the tables of the other configurations.
#[test]
fn chebi_20_is_trained_on_in_both_layouts() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("mine")).unwrap();
    let mut next = 0;
    for (own, smiles, count) in
        [("training", "train", 40), ("val", "validation", 8), ("test", "test", 8)]
    {
        let (mut rows, mut table) = (String::new(), "CID\tSMILES\tdescription\n".to_owned());
        for id in next..next + count {
            let (carbons, text) =
                (id % 9 + 1, format!("An alcohol with \"{id}\" and {} carbons.", id % 9 + 1));
            rows += &format!("{id}\t{} {}.5 1\t{text}\n", id % 5, id % 7);
            table += &format!("{id}\t{}O\t{text}\n", "C".repeat(carbons));
        }
        next += count;
        sandbox.write(&format!("mine/{own}.txt"), &rows);
        sandbox.write(&format!("mine/smiles-{smiles}.txt"), &table);
    }
    sandbox.succeed(&["fetch", "chebi20", "--from", "mine"]);
    let molecules = sandbox.read("data/chebi20/molecules.tsv");
    assert!(molecules.starts_with("cid\tsmiles\tcandidate\n0\tCO\t1\n1\tCCO\t1\n"), "{molecules}");
    assert_eq!(molecules.lines().count(), 57);
    let test = sandbox.read("data/chebi20/test.tsv");
    assert!(test.starts_with("cid\tdescription\n48\tAn alcohol with \"48\""), "{test}");
    let encoder = "[sketch]\nsize = 3\n[encoder]\nkind = \"ngram-bag\"\nhidden = [4]\n[training]\nepochs = 2\n\
                   [evaluation]\nsplit = \"test\"\n";
    let tables = format!(
        "[data]\nfolder = \"chebi20\"\nid = \"cid\"\nvalidation = \"val.tsv\"\ntest = \"test.tsv\"\n[output]\ntable = \
         \"molecules.tsv\"\nid = \"cid\"\nlabel = \"smiles\"\ncandidate = {{ column = \"candidate\" }}\nfeatures = {{ kind = \
         \"file\", file = \"mol2vec.safetensors\", key = \"mol2vec\" }}\nkernel = {{ name = \"cosine\" }}\n{encoder}"
    );
    let official = format!(
        "[data]\nsource = \"official\"\nfolder = \"chebi20-official\"\ntest = \"test.txt\"\n[output]\nkernel = {{ name = \
         \"cosine\" }}\n{encoder}"
    );
    sandbox.write("tables.toml", &tables);
    sandbox.write("official.toml", &official);
    let (tables, official) =
        (sandbox.train("tables.toml", &[]), sandbox.train("official.toml", &[]));
    assert_eq!(tables["mrr"], official["mrr"]);
    assert_eq!((&tables["queries"], &tables["candidates"]), (&8.into(), &56.into()));
}

#[test]
fn wrong_tables_are_refused() {
    let sandbox = Sandbox::new();
    for (more, expected) in [
        (format!("sha256 = \"abc\"\n{PLAIN}"), "64 hexadecimal digits"),
        ("unpack = \"lha\"\nto = \"a\"".to_owned(), "lha"),
        (PLAIN.replace("own/", "/own/"), "own.files.to"),
    ] {
        table(&sandbox, "http://127.0.0.1", "/a", &more);
        let output = fetch(&sandbox, &[]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(expected), "{errors}");
    }
    table(&sandbox, "ftp://127.0.0.1", "/a", PLAIN);
    let output = fetch(&sandbox, &[]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("https:// or http://"));
    sandbox.fail(&["fetch", "own", "--timeout", "0"], 2, &["0.001 to 86400"]);
}

/// A model of the hub is downloaded once into the cache, with weights from a different address, and trains as the
/// same folder does.
#[test]
fn a_pretrained_encoder_comes_from_the_hub() {
    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
    let sandbox = Sandbox::new();
    crate::pretrained::model(&sandbox);
    let model = sandbox.path("model");
    let weights = fs::read(model.join("model.safetensors")).unwrap();
    let server = Server::new(move |asked, before, stream| {
        let name = asked.path.rsplit('/').next().unwrap();
        let known = asked.path.starts_with("/owner/tiny/resolve/main/") || asked.path == "/blob";
        let file = if name == "blob" { "model.safetensors" } else { name };
        let Some(bytes) = fs::read(model.join(file)).ok().filter(|_| known) else {
            return send(stream, "404 Not Found", "Content-Length: 0\r\n", b"");
        };
        let commit = format!("X-Repo-Commit: {COMMIT}\r\n");
        match (name, asked.method.as_str()) {
            ("model.safetensors", _) => {
                let tag = format!("X-Linked-ETag: \"{}\"\r\n", sha256(&bytes));
                let more = "Location: /blob\r\nContent-Length: 0\r\n";
                send(stream, "302 Found", &(commit + &tag + more), b"");
            }
            (_, "HEAD") => {
                let length = format!("Content-Length: {}\r\n", bytes.len());
                send(stream, "200 OK", &(commit + &length), b"");
            }
            // the first answer is damaged
            ("blob", _) if before == 0 => {
                send_part(stream, asked, "\"b\"", &vec![1; bytes.len()], usize::MAX);
            }
            _ => send_part(stream, asked, "\"a\"", &bytes, usize::MAX),
        }
    });
    let set = ["--set", "training.epochs=1", "--json", "--out"];
    let train = |endpoint: &str, folder: &str, out: &str| {
        let folder = format!("encoder.folder={folder}");
        let arguments = [&["train", "small.toml", "--set", &folder][..], &set, &[out]].concat();
        let mut command = sandbox.command(&arguments);
        command.env("HF_ENDPOINT", endpoint).env("HF_HUB_CACHE", sandbox.path("cache"));
        ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "HF_HUB_OFFLINE"].iter().for_each(
            |key| {
                command.env_remove(key);
            },
        );
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, _, errors) = train(&server.address, "hub:owner/tiny", "a");
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("SHA-256") && errors.contains("model.safetensors"), "{errors}");
    let (code, _, errors) = train(&server.address, "hub:owner/none", "a");
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("404") && errors.contains("not in the cache"), "{errors}");
    let (code, found, errors) = train(&server.address, "hub:owner/tiny", "a");
    assert_eq!(code, Some(0), "{errors}");
    let cache = sandbox.path("cache/models--owner--tiny");
    assert_eq!(fs::read_to_string(cache.join("refs/main")).unwrap(), COMMIT);
    let kept = fs::read(cache.join("snapshots").join(COMMIT).join("model.safetensors")).unwrap();
    assert!(kept == weights);
    assert_eq!(fs::read_dir(cache.join("snapshots")).unwrap().count(), 1);
    // nobody answers: the cache is enough, and a model that is not there is named with what to do
    let (code, again, errors) = train("http://127.0.0.1:1", "hub:owner/tiny", "b");
    assert_eq!((code, &again), (Some(0), &found), "{errors}");
    let (code, _, errors) = train("http://127.0.0.1:1", "hub:owner/other", "c");
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("Without network, encoder.folder names a folder"), "{errors}");
    let (_, folder, _) = train("http://127.0.0.1:1", "model", "d");
    assert_eq!(folder, found);
}
