//! A server under load: 32 connections at once, and a tenth of what they send is malformed.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use dsokr::core::random::{Generator, generator};
use serde_json::{Value, json};

use crate::Outcome;
use crate::command::{Limits, start, wait};
use crate::runs::{World, below};

const CONNECTIONS: usize = 32;

/// Texts of the data set's test queries that are asked for.
const TEXTS: usize = 100;

/// How long the training may take.
const TRAINING: Duration = Duration::from_secs(600);

/// How long an answer may take, and a server to start or to stop.
const LONGEST: Duration = Duration::from_secs(120);

/// Growth of the memory in MB that is no leak: buffers of 32 connections and of the allocator.
const GROWTH: f64 = 64.0;

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    if !cfg!(feature = "serve") {
        return Ok("skipped: the command is built without the feature serve".into());
    }
    let requests = world.requests;
    let folder = world.fresh();
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/quickstart.toml");
    let train = ["train", configs.to_str().unwrap(), "--quiet", "--out", "run"];
    wait(&folder, start(&folder, &train, Limits::default()), TRAINING).success()?;
    let mut server = Served::start(&folder, "run")?;
    let good = good(&server.address)?;
    let first = server.memory();
    let begun = Instant::now();
    let next = AtomicUsize::new(0);
    let seen = [requests / 10, requests / 2];
    let client = |number| client(&server, &good, (seed, number, requests), &next, seen);
    let clients: Vec<Result<Counts, String>> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS).map(|n| scope.spawn(move || client(n))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let mut all = Counts::default();
    for client in clients {
        all.add(client?);
    }
    let took = begun.elapsed().as_secs_f64();
    let last = server.memory();
    all.memory.sort_by_key(|&(request, _)| request);
    let early = all.memory.first().map_or(first, |&(_, memory)| memory);
    server.stop()?;
    if last > 1.1 * early + GROWTH {
        return Err(format!("the memory grew from {early:.0} to {last:.0} MB"));
    }
    let mut memory = format!("{first:.0}");
    all.memory.iter().for_each(|(request, own)| memory += &format!(", {own:.0} after {request}"));
    let [good, bad] = [&mut all.good, &mut all.malformed].map(percentiles);
    Ok(format!(
        "{requests} requests in {took:.0} s: {good}; malformed {bad}; broken off {}; 503 with Retry-After {}; \
         memory in MB {memory}, {last:.0} at the end",
        all.broken, all.overloaded
    ))
}

/// Starts a server of a run, and searches there once.
pub fn starts_and_answers(folder: &Path, run: &str) -> Result<(), String> {
    let mut server = Served::start(folder, run)?;
    let body = json!({ "texts": ["an amine with a chain"], "top": 3 });
    let request = Request::search(body.to_string().as_bytes(), 200);
    let answer = exchange(&mut None, &server.address, &request)?;
    match answer.status {
        200 => server.stop(),
        status => {
            let body = String::from_utf8_lossy(&answer.body);
            Err(format!("a server that has just started answers {status}: {body}"))
        }
    }
}

/// Number of answers with the times of half and of 99 % of them.
fn percentiles(times: &mut Vec<f32>) -> String {
    times.sort_by(f32::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or(0.0);
    let [half, most] = [0.5, 0.99].map(|share| 1e3 * at(share));
    format!("{}, p50 {half:.1} ms, p99 {most:.1} ms", times.len())
}

/// A running server.
pub struct Served<'a> {
    child: Child,
    folder: &'a Path,
    pub address: String,
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl<'a> Served<'a> {
    pub fn start(folder: &'a Path, run: &str) -> Result<Self, String> {
        let child = start(folder, &["serve", run, "--port", "0"], Limits::default());
        let mut served = Self { child, folder, address: String::new() };
        let begun = Instant::now();
        while served.address.is_empty() {
            let said = fs::read_to_string(folder.join("stdout")).unwrap();
            let address = said.strip_prefix("listening on http://");
            if let Some(address) = address.and_then(|rest| rest.strip_suffix("/\n")) {
                served.address = address.to_owned();
            } else if begun.elapsed() > LONGEST || served.child.try_wait().unwrap().is_some() {
                return Err(format!("the server does not start: {}", served.log()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(served)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap()
    }

    /// Its memory in MB; 0 where the system does not say it.
    pub fn memory(&self) -> f64 {
        self.size("VmRSS:")
    }

    /// The most that it has been.
    pub fn most_memory(&self) -> f64 {
        self.size("VmHWM:")
    }

    fn size(&self, key: &str) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let size = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        size.unwrap_or(0.0) / 1024.0
    }

    /// Asks it to stop, which must take no error, and no time.
    pub fn stop(&mut self) -> Result<(), String> {
        let id = self.child.id().to_string();
        std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap();
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > LONGEST {
                return Err("the server does not stop".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let log = self.log();
        if status.success() && !log.contains("panicked") && !log.contains("ERROR") {
            Ok(())
        } else {
            Err(format!("the server ended with {:?}: {log}", status.code()))
        }
    }
}

/// What is sent, and the status that it must get; none where the client breaks it off.
pub struct Request {
    bytes: Vec<u8>,
    status: Option<u16>,
    /// The answer to a good request.
    answer: Vec<u8>,
}

impl Request {
    pub fn new(start: &str, kind: &str, body: &[u8], status: u16) -> Self {
        let length = body.len();
        let head = format!(
            "{start} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        );
        Self { bytes: [head.as_bytes(), body].concat(), status: Some(status), answer: Vec::new() }
    }

    fn search(body: &[u8], status: u16) -> Self {
        Self::new("POST /api/search", "application/json", body, status)
    }
}

/// Requests of all kinds, half of them searches, with their answers: those to searches are asked for until they
/// say how sure they are.
fn good(address: &str) -> Result<Vec<Request>, String> {
    let table = include_str!("../../datasets/quickstart/test.tsv");
    let rows = table.lines().skip(1).filter_map(|line| line.split_once('\t')).take(TEXTS);
    let mut connection = None;
    let begun = Instant::now();
    let mut ask = |(row, (id, text)): (usize, (&str, &str))| {
        let (path, body) = match row % 20 {
            0 => ("search", json!({"texts": [text], "top": 3, "explain": true})),
            1..10 => ("search", json!({"texts": [text], "top": 3})),
            10..13 => ("embed", json!({"texts": [text]})),
            13..16 => ("rank", json!({"texts": [text], "ids": [[id]]})),
            16 => ("export", json!({"format": "csv", "search": {"texts": [text], "top": 3}})),
            _ => ("candidates", json!({"ids": [id]})),
        };
        let body = body.to_string();
        let start = format!("POST /api/{path}");
        let mut request = Request::new(&start, "application/json", body.as_bytes(), 200);
        loop {
            let answer = exchange(&mut connection, address, &request)?;
            let known: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            let whole = path != "search" || known["answers"][0]["confidence"].is_object();
            if answer.status == 200 && whole {
                request.answer = answer.body;
                return Ok(request);
            }
            if begun.elapsed() > LONGEST {
                return Err(format!("{path} {body}: no full answer: {} {known}", answer.status));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    rows.enumerate().map(&mut ask).collect()
}

/// A request that is wrong in a way of its own.
fn malformed(random: &mut Generator) -> Request {
    let text = "application/json";
    match below(random, 14) {
        0 => Request::search(b"{\"texts\": [", 400),
        1 => Request::search(b"", 400),
        2 => Request::search(b"{\"texts\": [\"\xff\xfe\"]}", 400),
        3 => Request::search(b"{\"texts\": [\"\"]}", 422),
        4 => Request::search(b"{\"texts\": [\"a\"], \"top\": 0}", 422),
        5 => Request::search(b"{\"texts\": [\"a\"], \"filter\": {\"similar_to\": \"C((\"}}", 422),
        6 => Request::search(b"{\"texts\": [\"a\"], \"model\": \"../run\"}", 404),
        7 => Request::search(&vec![b' '; (1 << 20) + 1], 413),
        8 => Request::search("[".repeat(2 + below(random, 10_000)).as_bytes(), 422),
        9 => Request::new("POST /api/search", "text/plain", b"{}", 415),
        10 => Request::new("DELETE /api/search", text, b"", 405),
        11 => Request::new("GET /../../etc/passwd", text, b"", 404),
        12 => Request { bytes: b"\0\0\r\n\r\n".to_vec(), status: Some(400), answer: Vec::new() },
        _ => {
            let mut request = Request::search(b"{\"texts\": [\"a\"]}", 200);
            request.bytes.truncate(1 + below(random, request.bytes.len() - 1));
            Request { status: None, ..request }
        }
    }
}

#[derive(Default)]
struct Counts {
    /// Seconds that answers took.
    good: Vec<f32>,
    malformed: Vec<f32>,
    broken: usize,
    overloaded: usize,
    /// Memory in MB after numbers of requests.
    memory: Vec<(usize, f64)>,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.good.extend(other.good);
        self.malformed.extend(other.malformed);
        self.broken += other.broken;
        self.overloaded += other.overloaded;
        self.memory.extend(other.memory);
    }
}

/// Sends requests over a connection until all are sent.
fn client(
    server: &Served,
    good: &[Request],
    (seed, number, requests): (u64, usize, usize),
    next: &AtomicUsize,
    seen: [usize; 2],
) -> Result<Counts, String> {
    let mut random = generator(seed, "server", number as u64);
    let mut counts = Counts::default();
    let mut connection = None;
    loop {
        let request = next.fetch_add(1, Relaxed);
        if request >= requests {
            return Ok(counts);
        }
        if seen.contains(&request) {
            counts.memory.push((request, server.memory()));
        }
        let wrong;
        let sent = match below(&mut random, 10) {
            0 => {
                wrong = malformed(&mut random);
                &wrong
            }
            _ => &good[below(&mut random, good.len())],
        };
        let Some(expected) = sent.status else {
            let mut stream = TcpStream::connect(&server.address).map_err(|e| e.to_string())?;
            let _ = stream.write_all(&sent.bytes);
            counts.broken += 1;
            continue;
        };
        let begun = Instant::now();
        let mut answer = exchange(&mut connection, &server.address, sent)?;
        while answer.status == 503 && answer.head.contains("retry-after: ") {
            counts.overloaded += 1;
            std::thread::sleep(Duration::from_secs(1));
            answer = exchange(&mut connection, &server.address, sent)?;
        }
        let took = begun.elapsed().as_secs_f32();
        if answer.status != expected || expected == 200 && answer.body != sent.answer {
            let shown =
                |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(500)]).into_owned();
            let sent = shown(&sent.bytes);
            let body = shown(&answer.body);
            return Err(format!("{sent:?}: {} {body:?}, not {expected}", answer.status));
        }
        let times = if expected == 200 { &mut counts.good } else { &mut counts.malformed };
        times.push(took);
    }
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

/// The answer to a request over a connection, which is made where there is none.
pub fn exchange(
    connection: &mut Option<TcpStream>,
    address: &str,
    request: &Request,
) -> Result<Answer, String> {
    let lost = |e: std::io::Error| format!("the connection is lost: {e}");
    let mut stream = match connection.take() {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(address).map_err(lost)?;
            stream.set_read_timeout(Some(LONGEST)).map_err(lost)?;
            stream.set_nodelay(true).map_err(lost)?;
            stream
        }
    };
    stream.write_all(&request.bytes).map_err(lost)?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 1 << 14];
    let mut read = |bytes: &mut Vec<u8>| match stream.read(&mut buffer) {
        Ok(0) => Err("the connection is closed before the answer is whole".to_owned()),
        Ok(count) => {
            bytes.extend_from_slice(&buffer[..count]);
            Ok(())
        }
        // a process that was paused
        Err(e) if e.kind() == ErrorKind::Interrupted => Ok(()),
        Err(e) => Err(lost(e)),
    };
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        read(&mut bytes)?;
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let length = field("content-length: ").and_then(|length| length.parse::<usize>().ok());
    let length = length.ok_or_else(|| format!("an answer without a length: {head:?}"))?;
    while bytes.len() < end + length {
        read(&mut bytes)?;
    }
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    if field("connection: ") != Some("close") {
        *connection = Some(stream);
    }
    Ok(Answer { status, body: bytes.split_off(end), head })
}
