//! Downloads from a server on this machine that behaves as badly as servers do.

mod archives;
mod downloads;
mod liars;
mod models;
mod sets;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;

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
        let log = asked.clone();
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let log = log.clone();
                let answer = answer.clone();
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
    let method = parts.next()?.to_owned();
    let path = parts.next()?.to_owned();
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
    let length = body.len() - start;
    let last = body.len() - 1;
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

/// The built-in table without checksums, for files that are made up.
fn unchecked(sandbox: &Sandbox) {
    let sum =
        |line: &&str| ["git =", "sha256 =", "bytes ="].iter().any(|key| line.starts_with(key));
    let lines =
        include_str!("../../../crates/fetch/src/sets.toml").lines().filter(|line| !sum(line));
    sandbox.write("sets.toml", &lines.collect::<Vec<_>>().join("\n"));
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
