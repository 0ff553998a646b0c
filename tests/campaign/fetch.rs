//! A server without checksums that lies about what it sends, and calls that are killed: after each call the file that
//! was asked for is there and right, or nothing is.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsokr::core::random::{Generator, unit};

use crate::command::{Limits, start, wait};
use crate::runs::{World, below, files};
use crate::{Outcome, random};

/// Calls of an attack, and the most requests of one.
const CALLS: usize = 6;
const REQUESTS: usize = 40;

const BYTES: usize = 300_000;

/// The file at an address in one of its versions.
fn body(address: usize, version: usize) -> Vec<u8> {
    let salt = (address * 10 + version + 1) as u32;
    let byte = |at: u32| (at.wrapping_add(salt).wrapping_mul(2_654_435_761 ^ salt) >> 24) as u8;
    (0..(BYTES - 1000 * version) as u32).map(byte).collect()
}

/// The lies of a server, by name, and how often each was told.
type Told = BTreeMap<&'static str, usize>;

const LIES: [&str; 14] = [
    "none",
    "cut off",
    "a byte",
    "other tag",
    "other date",
    "no tag",
    "wrong total",
    "wrong start",
    "wrong end",
    "no range",
    "coded",
    "length too large",
    "error",
    "new version",
];

struct Liar {
    random: Mutex<Generator>,
    /// The version that is there now.
    version: AtomicUsize,
    requests: AtomicUsize,
    told: Mutex<Told>,
}

impl Liar {
    fn answer(&self, mut stream: TcpStream) -> Option<()> {
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines().map_while(Result::ok);
        let address = usize::from(lines.next()?.contains("/b"));
        let headers: Vec<String> =
            lines.take_while(|line| !line.is_empty()).map(|line| line.to_lowercase()).collect();
        let header = |name: &str| headers.iter().find_map(|line| line.strip_prefix(name));
        self.requests.fetch_add(1, Relaxed);
        let (lie, cut) = {
            let mut random = self.random.lock().unwrap();
            // the truth often enough that downloads end
            let lie = if unit(&mut *random) < 0.3 { 0 } else { below(&mut random, LIES.len()) };
            (LIES[lie], unit(&mut *random))
        };
        *self.told.lock().unwrap().entry(lie).or_default() += 1;
        if lie == "new version" {
            self.version.fetch_add(1, Relaxed);
        }
        let version = self.version.load(Relaxed) % 4;
        let own = body(address, version);
        let tag = format!("\"{address}-{version}\"");
        let other = body(address, (version + 1) % 4);
        let date = format!("Mon, 0{} Jan 2024 00:00:00 GMT", version + 1);
        let from = header("range: bytes=").and_then(|range| range.strip_suffix('-')?.parse().ok());
        let asked = from.filter(|&from: &usize| from < own.len());
        let same = header("if-range: ").is_some_and(|own| own == tag);
        // a server that lies about parts sends them whatever the version
        let about_parts = LIES[3..10].contains(&lie);
        let part = asked.filter(|_| same || about_parts);
        let about = |tag: &str, date: &str| format!("ETag: {tag}\r\nLast-Modified: {date}\r\n");
        let mut send = |status: &str, headers: &str, bytes: &[u8]| {
            let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n");
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(bytes)).ok()
        };
        let length = |count: usize| format!("Content-Length: {count}\r\n");
        if lie == "error" {
            let status = ["503 Service Unavailable", "416 Range Not Satisfiable"][version % 2];
            return send(status, &length(0), b"");
        }
        let Some(start) = part else {
            let headers = about(&tag, &date);
            return match lie {
                // one about parts needs a part that is left
                lie if lie == "cut off" || about_parts => send(
                    "200 OK",
                    &(headers + &length(own.len())),
                    &own[..(cut * own.len() as f64) as usize],
                ),
                "a byte" => send("200 OK", &(headers + &length(own.len())), &own[..1]),
                "coded" => send(
                    "200 OK",
                    &(headers + "Content-Encoding: gzip\r\n" + &length(other.len())),
                    &other,
                ),
                "length too large" => send("200 OK", &(headers + &length(own.len() + 10)), &own),
                _ => send("200 OK", &(headers + &length(own.len())), &own),
            };
        };
        let range = |start: usize, end: usize, total: usize| {
            format!("Content-Range: bytes {start}-{}/{total}\r\n", end - 1)
        };
        let end = own.len();
        let wrong = other.get(start..).unwrap_or_default();
        let (headers, bytes) = match lie {
            "other tag" => (about("\"x\"", &date) + &range(start, end, end), wrong),
            "other date" => {
                (about(&tag, "Tue, 01 Feb 2022 00:00:00 GMT") + &range(start, end, end), wrong)
            }
            "no tag" => (range(start, end, end), wrong),
            "wrong total" => (about(&tag, &date) + &range(start, end + 5, end + 5), wrong),
            "wrong start" => (about(&tag, &date) + &range(start.max(1) - 1, end - 1, end), wrong),
            "wrong end" => (about(&tag, &date) + &range(start, end + 7, end), wrong),
            "no range" => (about(&tag, &date), wrong),
            "cut off" => {
                let sent = start + (cut * (end - start) as f64) as usize;
                (about(&tag, &date) + &range(start, end, end), &own[start..sent])
            }
            "a byte" => (about(&tag, &date) + &range(start, end, end), &own[start..start + 1]),
            _ => (about(&tag, &date) + &range(start, end, end), &own[start..]),
        };
        let count = if about_parts { bytes.len() } else { end - start };
        send("206 Partial Content", &(headers + &length(count)), bytes)
    }
}

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    if !cfg!(feature = "fetch") {
        return Ok("skipped: the command is built without the feature fetch".into());
    }
    let mut random = random("fetch", seed);
    let liar = Arc::new(Liar {
        random: Mutex::new(crate::random("liar", seed)),
        version: AtomicUsize::new(0),
        requests: AtomicUsize::new(0),
        told: Mutex::default(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    let own = liar.clone();
    let ended = Arc::new(AtomicUsize::new(0));
    let end = ended.clone();
    let serving = std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            if end.load(Relaxed) > 0 {
                return;
            }
            own.answer(stream);
        }
    });
    let found = calls(world, &mut random, &liar, &address.to_string());
    ended.store(1, Relaxed);
    let _ = TcpStream::connect(address);
    serving.join().map_err(|_| "the server of the attack has panicked".to_owned())?;
    found
}

/// The calls of an attack, one after another with what the ones before have left.
fn calls(world: &mut World, random: &mut Generator, liar: &Liar, server: &str) -> Outcome {
    let folder = world.fresh();
    let mut whole = 0;
    let mut refused = 0;
    let mut killed = 0;
    for call in 0..CALLS {
        let address = below(random, 2);
        let name = ["data", "lock", "data.part"][below(random, 3)];
        let path = ["a", "b"][address];
        let table = format!(
            "[own]\ntitle = \"t\"\npage = \"p\"\nlicence = \"CC0-1.0\"\ncitation = \"c\"\n[[own.files]]\nname = \"{name}\"\n\
             url = \"http://{server}/{path}\"\nunpack = \"plain\"\nto = \"own/data.bin\"\n"
        );
        fs::write(folder.join("sets.toml"), table).unwrap();
        let arguments = [
            &["fetch", "own", "--table", "sets.toml", "--out", "root", "--quiet"][..],
            &["--retries", "3", "--timeout", "0.1"],
        ]
        .concat();
        let before = liar.requests.load(Relaxed);
        let time = if unit(random) < 0.2 { unit(random) } else { 60.0 };
        let child = start(&folder, &arguments, Limits::default());
        let ended = wait(&folder, child, Duration::from_secs_f64(time));
        let what = format!("call {call} for {name} at /{path}");
        ended.check().map_err(|e| format!("{what}: {e}"))?;
        if ended.late && time > 1.0 {
            return Err(format!("{what}: it does not end"));
        }
        let requests = liar.requests.load(Relaxed) - before;
        if requests > REQUESTS {
            return Err(format!("{what}: {requests} requests"));
        }
        let installed = fs::read(folder.join("root/own/data.bin")).ok();
        let right = |bytes: &Vec<u8>| (0..4).any(|version| *bytes == body(address, version));
        match (&installed, ended.code) {
            (Some(bytes), _) if !right(bytes) => {
                return Err(format!("{what}: exit code {:?}, wrong bytes", ended.code));
            }
            (Some(_), Some(0)) => whole += 1,
            (None, Some(0)) => return Err(format!("{what}: exit code 0, and no file")),
            (Some(_), Some(_)) => return Err(format!("{what}: {:?}, and a file", ended.code)),
            (None, Some(_)) => refused += 1,
            // after the file was installed, or before
            (_, None) => killed += 1,
        }
        let other: Vec<String> = if folder.join("root").exists() {
            files(&folder.join("root")).into_keys().collect()
        } else {
            Vec::new()
        };
        if let Some(other) =
            other.iter().find(|n| !n.starts_with(".fetch/") && *n != "own/data.bin")
        {
            return Err(format!("{what}: the file {other}"));
        }
        let _ = fs::remove_dir_all(folder.join("root/own"));
    }
    fs::remove_dir_all(&folder).unwrap();
    let told = liar.told.lock().unwrap();
    let told: Vec<String> = told.iter().map(|(lie, times)| format!("{times} × {lie}")).collect();
    Ok(format!("{whole} whole, {refused} refused, {killed} killed; told: {}", told.join(", ")))
}
