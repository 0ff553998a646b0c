//! Runs as one file: written, published, fetched, unpacked, and served as they are.

use std::fs;
use std::io::Write;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{Server, send, send_part, sha256};
use crate::ensembles;
use crate::sandbox::Sandbox;
use crate::served::Served;

const QUERY: &str = "a ring of kind METH and class ANE";

/// A trained run and its archive.
fn archived() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    sandbox.succeed(&["export", "runs/small", "--archive", "model.tar.zst"]);
    sandbox
}

fn search(sandbox: &Sandbox, run: &str) -> String {
    sandbox.succeed(&["search", run, QUERY, "--json"])
}

fn compressed(tar: &[u8]) -> Vec<u8> {
    zstd::encode_all(tar, 3).unwrap()
}

/// Refuses a fetch from a file, and leaves nothing.
fn refused(sandbox: &Sandbox, archive: &str, expected: &[&str]) {
    sandbox.fail(&["fetch", "model", archive, "--out", "there/copy"], 2, expected);
    let left = fs::read_dir(sandbox.path("there")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{archive}");
}

#[test]
fn an_archive_holds_the_run_and_not_where_it_was_made() {
    let sandbox = archived();
    sandbox.succeed(&["export", "runs/small", "--archive", "again.tar.zst"]);
    let read = |name: &str| fs::read(sandbox.path(name)).unwrap();
    assert!(read("model.tar.zst") == read("again.tar.zst"), "equal runs have unequal archives");

    let fetched = sandbox.succeed(&["fetch", "model", "model.tar.zst", "--out", "copy", "--json"]);
    let fetched: serde_json::Value = serde_json::from_str(&fetched).unwrap();
    assert_eq!(fetched["sha256"], sha256(&read("model.tar.zst")));
    assert_eq!(search(&sandbox, "copy"), search(&sandbox, "runs/small"));
    for name in ["checkpoint", "data.json"] {
        assert!(sandbox.path("runs/small").join(name).exists(), "{name}");
        assert!(!sandbox.path("copy").join(name).exists(), "{name}");
    }
    // without --out the run has its own name, and a number where that is taken
    let shown = sandbox.succeed(&["fetch", "model", "model.tar.zst"]);
    assert!(shown.starts_with("runs/small-2: SHA-256"), "{shown}");
    // a text that is no query would be answered all the same
    assert!(shown.contains("dsokr search runs/small-2\n") && !shown.contains('…'), "{shown}");
    let evaluated = sandbox.succeed(&["evaluate", "runs/small-2", "--data", "data", "--json"]);
    assert!(evaluated.contains("\"mrr\""), "{evaluated}");
    // other programs read it too
    let tar = zstd::decode_all(&read("model.tar.zst")[..]).unwrap();
    let mut tar = tar::Archive::new(&tar[..]);
    let mut paths = tar.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().into_owned());
    assert!(paths.any(|path| path.ends_with("small/metrics.json")));
}

#[test]
fn archives_of_ensembles_are_searched_and_served() {
    let sandbox = ensembles::sandbox();
    sandbox.train("several.toml", &[]);
    sandbox.train("ridge.toml", &[]);
    sandbox.succeed(&["export", "runs/several", "--archive", "several.tar.zst"]);
    sandbox.succeed(&["export", "runs/ridge", "--archive", "ridge.tar.zst"]);
    sandbox.succeed(&["fetch", "model", "several.tar.zst", "--out", "copy"]);
    assert_eq!(search(&sandbox, "copy"), search(&sandbox, "runs/several"));

    let body = json!({"texts": [QUERY], "top": 3});
    let from_runs = Served::start(&sandbox, &["runs/several", "runs/ridge"]);
    let from_archives = Served::start(&sandbox, &["several.tar.zst", "ridge.tar.zst"]);
    for model in ["several", "ridge"] {
        let mut body = body.clone();
        body["model"] = model.into();
        let answers = [&from_runs, &from_archives].map(|served| served.ask("/api/search", &body));
        assert_eq!(answers[0]["answers"][0]["hits"], answers[1]["answers"][0]["hits"], "{model}");
    }
}

#[test]
fn archives_of_runs_of_one_name_are_served_by_the_names_of_their_files() {
    let sandbox = archived();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "other/small", "--set", "seed=7"]);
    sandbox.succeed(&["export", "other/small", "--archive", "new.tar.zst"]);
    let served = Served::start(&sandbox, &["model.tar.zst", "new.tar.zst"]);
    let scores = ["model", "new"].map(|model| {
        let body = json!({"texts": [QUERY], "top": 3, "model": model});
        served.ask("/api/search", &body)["answers"][0]["hits"].clone()
    });
    assert_ne!(scores[0], scores[1]);
    // those of one file name by the names of their folders
    let archives = [("model", "v1"), ("new", "v2")].map(|(file, folder)| {
        let archive = format!("{folder}/model.tar.zst");
        fs::create_dir(sandbox.path(folder)).unwrap();
        fs::copy(sandbox.path(&format!("{file}.tar.zst")), sandbox.path(&archive)).unwrap();
        archive
    });
    let served = Served::start(&sandbox, &archives.each_ref().map(String::as_str));
    for (model, expected) in ["v1", "v2"].into_iter().zip(&scores) {
        let body = json!({"texts": [QUERY], "top": 3, "model": model});
        assert_eq!(&served.ask("/api/search", &body)["answers"][0]["hits"], expected, "{model}");
    }
    // one that is given twice cannot be told apart
    let twice = ["serve", "--port", "0", "model.tar.zst", "./model.tar.zst"];
    sandbox.fail(&twice, 2, &["\"model\", twice", "rename the folder, or the archive"]);
}

#[test]
fn a_server_of_run_directories_needs_no_folder_for_temporary_files() {
    let sandbox = archived();
    let serve = |run: &str| {
        let mut command = sandbox.command(&["serve", "--port", "0", run]);
        ["TMPDIR", "TMP", "TEMP"].iter().for_each(|key| {
            command.env(key, sandbox.path("nowhere"));
        });
        command
    };
    let served = Served::spawn(&sandbox, serve("runs/small"), "serve.log");
    let answer = served.ask("/api/search", &json!({"texts": [QUERY], "top": 3}));
    assert_eq!(answer["answers"][0]["hits"].as_array().unwrap().len(), 3);
    let output = serve("model.tar.zst").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("nowhere") && errors.contains("TMPDIR"), "{errors}");
}

#[test]
fn what_is_no_whole_archive_of_a_run_leaves_nothing() {
    let sandbox = archived();
    let whole = fs::read(sandbox.path("model.tar.zst")).unwrap();
    for part in [0, 3, 4, 20, whole.len() / 2, whole.len() - 1] {
        fs::write(sandbox.path("cut.tar.zst"), &whole[..part]).unwrap();
        refused(&sandbox, "cut.tar.zst", &["cut.tar.zst", "damaged"]);
    }
    for at in (10..whole.len()).step_by(whole.len() / 7) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(sandbox.path("changed.tar.zst"), &changed).unwrap();
        refused(&sandbox, "changed.tar.zst", &["changed.tar.zst"]);
    }
    refused(&sandbox, "small.toml", &["damaged, or not an archive of a run"]);
    refused(&sandbox, "absent.tar.zst", &["absent.tar.zst"]);

    let archive = |fill: &dyn Fn(&mut tar::Builder<Vec<u8>>)| {
        let mut tar = tar::Builder::new(Vec::new());
        fill(&mut tar);
        fs::write(sandbox.path("odd.tar.zst"), compressed(&tar.into_inner().unwrap())).unwrap();
    };
    let append = |tar: &mut tar::Builder<Vec<u8>>, path: &str, bytes: &[u8]| {
        // the crate refuses to write paths that leave the folder
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        tar.append(&header, bytes).unwrap();
    };
    archive(&|_| {});
    refused(&sandbox, "odd.tar.zst", &["empty"]);
    for outside in ["small/../../evil", "other/evil", "/tmp/evil", "small"] {
        archive(&|tar| {
            append(tar, "small/config.toml", b"");
            append(tar, outside, b"x");
        });
        refused(&sandbox, "odd.tar.zst", &["not a plain file in the folder small"]);
        assert!(!sandbox.path("evil").exists() && !sandbox.path("there/evil").exists());
    }
    archive(&|tar| append(tar, "../evil", b"x"));
    refused(&sandbox, "odd.tar.zst", &["does not hold the folder of a run"]);
    archive(&|tar| {
        append(tar, "small/config.toml", b"");
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        tar.append_link(&mut link, "small/basis.safetensors", "/etc/passwd").unwrap();
    });
    refused(&sandbox, "odd.tar.zst", &["not a plain file"]);
    archive(&|tar| append(tar, "small/notes.txt", b"x"));
    refused(&sandbox, "odd.tar.zst", &["it holds no complete run"]);
}

/// The table of a linear bag with many buckets is zeros but for those that the training has seen.
#[test]
fn a_run_that_is_nearly_all_zeros_is_packed_and_unpacked() {
    let sandbox = archived();
    let zeros = fs::File::create_new(sandbox.path("runs/small/zeros.bin")).unwrap();
    zeros.set_len(100 << 20).unwrap();
    sandbox.succeed(&["export", "runs/small", "--archive", "zeros.tar.zst"]);
    let packed = fs::metadata(sandbox.path("zeros.tar.zst")).unwrap().len();
    assert!(packed < 1 << 20, "{packed}");
    sandbox.succeed(&["fetch", "model", "zeros.tar.zst", "--out", "copy"]);
    assert_eq!(fs::metadata(sandbox.path("copy/zeros.bin")).unwrap().len(), 100 << 20);
    assert_eq!(search(&sandbox, "copy"), search(&sandbox, "runs/small"));
}

#[test]
fn a_bomb_stops_before_it_fills_the_disk() {
    let sandbox = Sandbox::new();
    let mut header = tar::Header::new_gnu();
    header.set_path("small/zeros").unwrap();
    header.set_size(4 << 30);
    header.set_cksum();
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.write_all(header.as_bytes()).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..200).for_each(|_| encoder.write_all(&zeros).unwrap());
    fs::write(sandbox.path("bomb.tar.zst"), encoder.finish().unwrap()).unwrap();
    refused(&sandbox, "bomb.tar.zst", &["holds more than 256 times its own size"]);
}

#[test]
fn a_name_longer_than_any_path_is_not_read() {
    let sandbox = Sandbox::new();
    let mut header = tar::Header::new_gnu();
    header.set_path("././@LongLink").unwrap();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(4 << 20);
    header.set_cksum();
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.write_all(header.as_bytes()).unwrap();
    encoder.write_all(&vec![b'a'; 5 << 20]).unwrap();
    fs::write(sandbox.path("long.tar.zst"), encoder.finish().unwrap()).unwrap();
    refused(&sandbox, "long.tar.zst", &["a name of more than 64 KiB"]);
}

#[test]
fn an_incomplete_run_and_a_path_in_a_run_are_refused() {
    let sandbox = archived();
    sandbox.fail(
        &["export", "runs/small", "--archive", "runs/small/model.tar.zst"],
        2,
        &["--archive", "outside"],
    );
    fs::remove_file(sandbox.path("runs/small/metrics.json")).unwrap();
    sandbox.fail(
        &["export", "runs/small", "--archive", "new.tar.zst"],
        2,
        &["not trained to its end"],
    );
    assert!(!sandbox.path("new.tar.zst").exists());
    sandbox.fail(
        &["search", "model.tar.zst", QUERY],
        2,
        &["the archive of a run", "fetch model model.tar.zst", "serve model.tar.zst"],
    );
    sandbox.fail(&["fetch", "model"], 2, &["the file or the address of its archive"]);
    sandbox.fail(&["fetch", "chebi20", "model.tar.zst"], 2, &["model before model.tar.zst"]);
    sandbox.fail(
        &["fetch", "model", "model.tar.zst", "--out", "runs/small/inner"],
        2,
        &["--out", "outside"],
    );
}

/// Whoever publishes an archive of a damaged run and deletes the run would have nothing.
#[test]
fn a_damaged_run_becomes_no_archive_and_is_not_unpacked() {
    let sandbox = archived();
    for name in ["encoder", "candidates", "basis", "features"] {
        let name = format!("{name}.safetensors");
        let file = sandbox.path("runs/small").join(&name);
        let whole = fs::read(&file).unwrap();
        let flipped = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            Some(bytes)
        };
        let cut = Some(whole[..whole.len() - 1].to_vec());
        for broken in [flipped(whole.len() / 2), flipped(whole.len() - 1), cut, None] {
            match &broken {
                Some(bytes) => fs::write(&file, bytes).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            sandbox.fail(&["export", "runs/small", "--archive", "new.tar.zst"], 2, &[&name]);
            assert!(!sandbox.path("new.tar.zst").exists());
            let mut tar = tar::Builder::new(Vec::new());
            tar.append_dir_all("small", sandbox.path("runs/small")).unwrap();
            let tar = tar.into_inner().unwrap();
            fs::write(sandbox.path("odd.tar.zst"), compressed(&tar)).unwrap();
            refused(&sandbox, "odd.tar.zst", &["odd.tar.zst: it holds no complete run", &name]);
        }
        fs::write(&file, whole).unwrap();
    }
    sandbox.succeed(&["export", "runs/small", "--archive", "new.tar.zst"]);
}

/// Fetches from an address, without a proxy.
fn fetch(sandbox: &Sandbox, address: &str, more: &[&str]) -> Output {
    let common = ["fetch", "model", address, "--timeout", "0.5", "--retries", "1"];
    let mut command = sandbox.command(&[&common[..], more].concat());
    ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].iter().for_each(|key| {
        command.env_remove(key);
    });
    command.output().unwrap()
}

#[test]
fn an_archive_is_fetched_from_an_address() {
    let sandbox = archived();
    let body = fs::read(sandbox.path("model.tar.zst")).unwrap();
    let sum = sha256(&body);
    // the first request is cut off in the middle
    let server = Server::new(move |asked, before, stream| {
        let sent = if before == 0 { body.len() / 2 } else { body.len() };
        send_part(stream, asked, "\"1\"", &body, sent);
    });
    let address = format!("{}/models/best.tar.zst?raw=1", server.address);

    let wrong = "0".repeat(64);
    let output = fetch(&sandbox, &address, &["--out", "copy", "--sha256", &wrong]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains(&sum) && errors.contains(&wrong), "{errors}");
    assert!(!sandbox.path("copy").exists());

    let output = fetch(&sandbox, &address, &["--out", "copy", "--sha256", &sum]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.starts_with(&format!("copy: verified, SHA-256 {sum}")), "{shown}");
    assert_eq!(search(&sandbox, "copy"), search(&sandbox, "runs/small"));
    assert!(!sandbox.path(".fetch").exists(), "the download is left");
    // nothing is downloaded for a place that is taken
    let before = server.asked().len();
    let output = fetch(&sandbox, &address, &["--out", "copy"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(server.asked().len(), before);
}

#[test]
fn what_is_wrong_with_a_download_is_said_of_its_address() {
    let sandbox = archived();
    let body = fs::read(sandbox.path("model.tar.zst")).unwrap();
    let sum = sha256(&body);
    let server = Server::new(move |asked, _, stream| match asked.path.as_str() {
        "/page" => send(stream, "200 OK", "", b"\n<!DOCTYPE html><title>Log in</title>"),
        // servers that say no length can cut a file off in silence
        "/cut" => send(stream, "200 OK", "", &body[..body.len() / 2]),
        "/coded" => send(stream, "200 OK", "Content-Encoding: gzip\r\n", &body),
        "/gone" => send(stream, "404 Not Found", "Content-Length: 0\r\n", b""),
        "/empty" => send(stream, "200 OK", "Content-Length: 0\r\n", b""),
        _ => send_part(stream, asked, "\"1\"", &body, body.len()),
    });
    let refused = |path: &str, more: &[&str], code: i32, expected: &[&str]| {
        let address = format!("{}{path}", server.address);
        let output = fetch(&sandbox, &address, &[&["--out", "there/copy"][..], more].concat());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{errors}");
        for part in expected {
            assert!(errors.contains(part), "no {part:?} in: {errors}");
        }
        assert!(!sandbox.path("there/.fetch").exists(), "{path}: a folder is left");
        assert!(!sandbox.path("there/copy").exists());
    };
    refused("/page", &[], 2, &["/page: a web page (HTML), not the archive of a run"]);
    refused("/cut", &[], 2, &["/cut: damaged, or not an archive of a run"]);
    refused("/empty", &[], 2, &["/empty: damaged: an empty file, not the archive of a run"]);
    refused("/coded", &[], 1, &["/coded: ", "Content-Encoding: gzip", "--sha256"]);
    refused("/gone", &[], 1, &["/gone: ", "404"]);
    // digits that cannot be right are refused before anything is downloaded
    let before = server.asked().len();
    refused("/whole", &["--sha256", &sum[1..]], 2, &["--sha256", "64 hexadecimal digits"]);
    fs::create_dir(sandbox.path("empty")).unwrap();
    let address = format!("{}/whole", server.address);
    let output = fetch(&sandbox, &address, &["--out", "empty"]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("--out = empty, which exists: expected a new path"), "{errors}");
    assert!(!errors.contains("--resume"), "{errors}");
    assert_eq!(server.asked().len(), before);
    // as registries print it
    for (kind, out) in [("sha256", "there/copy"), ("SHA256", "there/second")] {
        let named = format!("{kind}:{sum}");
        let output = fetch(&sandbox, &address, &["--out", out, "--sha256", &named]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn archives_of_one_file_name_do_not_mix() {
    let sandbox = archived();
    sandbox.train("small.toml", &["name=other", "seed=7"]);
    sandbox.succeed(&["export", "runs/other", "--archive", "other.tar.zst"]);
    let originals = ["runs/small", "runs/other"].map(|run| search(&sandbox, run));
    assert_ne!(originals[0], originals[1]);
    let bodies =
        ["model.tar.zst", "other.tar.zst"].map(|name| fs::read(sandbox.path(name)).unwrap());
    let sums = bodies.each_ref().map(|body| sha256(body));

    let server = Server::new(move |asked, before, stream| {
        let (address, body) =
            if asked.path.starts_with("/a/") { ("/a/", &bodies[0]) } else { ("/b/", &bodies[1]) };
        match (address, before) {
            // both arrive slowly
            (_, 0) => {
                let length = format!("Content-Length: {}\r\n", body.len());
                send(stream, "200 OK", &length, b"");
                for part in body.chunks(body.len().div_ceil(8)) {
                    let _ = stream.write_all(part);
                    thread::sleep(Duration::from_millis(100));
                }
            }
            // the first one is cut off, and then away for a while
            ("/a/", 1) => send_part(stream, asked, "\"1\"", body, body.len() / 2),
            ("/a/", 2) => send(stream, "503 Service Unavailable", "Content-Length: 0\r\n", b""),
            _ => send_part(stream, asked, "\"1\"", body, body.len()),
        }
    });
    let addresses = ["a", "b"].map(|name| format!("{}/{name}/model.tar.zst", server.address));
    let fetched = |number: usize, out: &str| {
        let output =
            fetch(&sandbox, &addresses[number], &["--out", out, "--sha256", &sums[number]]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        assert_eq!(search(&sandbox, out), originals[number], "{out}");
    };
    thread::scope(|scope| {
        let first = scope.spawn(|| fetched(0, "there/a"));
        thread::sleep(Duration::from_millis(200));
        fetched(1, "there/b");
        first.join().unwrap();
    });
    assert!(!sandbox.path("there/.fetch").exists(), "a download is left");

    // one that was cut off goes on after one of the same file name
    let cut = fetch(&sandbox, &addresses[0], &["--out", "there/a2"]);
    assert!(!cut.status.success());
    fetched(1, "there/b2");
    fetched(0, "there/a2");
    let asked = server.asked();
    let last = asked.iter().rfind(|line| line.contains("/a/")).unwrap();
    assert!(last.starts_with("GET /a/model.tar.zst bytes="), "{asked:?}");
}

#[test]
fn one_process_at_a_time_downloads_an_archive() {
    let sandbox = archived();
    let body = fs::read(sandbox.path("model.tar.zst")).unwrap();
    let was_refused = Arc::new(AtomicBool::new(false));
    let may_end = was_refused.clone();
    let server = Server::new(move |_, _, stream| {
        let length = format!("Content-Length: {}\r\n", body.len());
        send(stream, "200 OK", &length, b"");
        let mut sent = 0;
        while !may_end.load(Ordering::Relaxed) && sent + 1 < body.len() {
            let _ = stream.write_all(&body[sent..=sent]);
            sent += 1;
            thread::sleep(Duration::from_millis(50));
        }
        let _ = stream.write_all(&body[sent..]);
    });
    let address = format!("{}/model.tar.zst", server.address);
    thread::scope(|scope| {
        let first = scope.spawn(|| fetch(&sandbox, &address, &["--out", "there/a"]));
        while server.asked().is_empty() {
            thread::sleep(Duration::from_millis(10));
        }
        let second = fetch(&sandbox, &address, &["--out", "there/b"]);
        was_refused.store(true, Ordering::Relaxed);
        let errors = String::from_utf8_lossy(&second.stderr).into_owned();
        assert_eq!(second.status.code(), Some(2), "{errors}");
        assert!(errors.contains("is writing this download"), "{errors}");
        assert!(first.join().unwrap().status.success());
    });
    assert_eq!(search(&sandbox, "there/a"), search(&sandbox, "runs/small"));
}
