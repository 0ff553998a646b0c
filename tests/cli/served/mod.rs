//! `dsokr serve` over HTTP, by clients that behave and by others.

mod answers;
mod clients;
mod page;
mod slow_clients;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::Sandbox;

/// A running server, which is killed at the end.
pub struct Served {
    pub child: Child,
    pub address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// Serves runs at a free port.
    pub fn start(sandbox: &Sandbox, runs: &[&str]) -> Self {
        let arguments: Vec<&str> = ["serve", "--port", "0"].iter().chain(runs).copied().collect();
        Self::spawn(sandbox, sandbox.command(&arguments), "serve.log")
    }

    /// Serves by a command, whose standard error goes to a file.
    pub fn spawn(sandbox: &Sandbox, mut command: Command, log_file: &str) -> Self {
        let log = fs::File::create(sandbox.path(log_file)).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{line:?}: {}", sandbox.read(log_file)));
        Self { address: address.trim_end_matches('/').to_owned(), child }
    }

    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_text(path, body.to_string().as_bytes())
    }

    fn post_text(&self, path: &str, body: &[u8]) -> (u16, Value) {
        let answer = send(&self.address, "POST", path, "application/json", body);
        (answer.status, serde_json::from_str(&answer.body).unwrap_or(Value::Null))
    }

    /// The answer to a request that must succeed, for at most a minute after what the server still reads.
    pub fn ask(&self, path: &str, body: &Value) -> Value {
        let begun = Instant::now();
        loop {
            let (status, answer) = self.post(path, body);
            if status == 503 && begun.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            }
            assert_eq!(status, 200, "{path} {body}: {answer}");
            return answer;
        }
    }

    pub fn get(&self, path: &str) -> Answer {
        send(&self.address, "GET", path, "", b"")
    }
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// One request over a connection of its own.
pub fn send(address: &str, method: &str, path: &str, kind: &str, body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: {kind}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // a server that refuses a large body need not read it
    let _ = stream.write_all(body);
    answer(stream)
}

/// What comes until the answer is whole or the connection is closed.
fn answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1 << 16];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length = length.and_then(|length| length.trim().parse::<usize>().ok());
        let whole = length.is_some_and(|length| body.len() >= length);
        let count = if whole { 0 } else { stream.read(&mut buffer).unwrap_or(0) };
        if count == 0 {
            let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
            return Answer { status, head, body: body.to_owned() };
        }
        bytes.extend_from_slice(&buffer[..count]);
    }
}

/// A sandbox with a small trained run.
fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    sandbox
}

/// A sandbox with a run of the quickstart's molecules.
pub fn molecules() -> Sandbox {
    let sandbox = Sandbox::new();
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/quickstart.toml");
    let few = ["--set", "sketch.size=60", "--set", "training.epochs=4"];
    let arguments = [&["train", config, "--quiet", "--out", "molecules"][..], &few].concat();
    sandbox.succeed(&arguments);
    sandbox
}

const TEXT: &str = "a ring of kind ETH and class ANOL";
