//! Clients that send what is wrong, or are slow, and servers that cannot start or must stop.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use dsokr::device::Processor;
use dsokr::serve::{self, Limits, Model, Server};
use serde_json::{Value, json};

use super::{Answer, Served, TEXT, answer, molecules, send, trained};
use crate::sandbox::{Sandbox, ignores_hangups};

#[test]
fn wrong_requests_are_refused_with_what_is_allowed() {
    let sandbox = trained();
    let served = Served::start(&sandbox, &["runs/small"]);
    let text = json!([TEXT]);
    for (path, body, status, says) in [
        ("/api/search", json!({}), 422, "exactly one of texts, vectors and coordinates"),
        ("/api/search", json!({"texts": []}), 422, "1 to 64"),
        ("/api/search", json!({"texts": vec!["a"; 65]}), 422, "65 queries"),
        ("/api/search", json!({"texts": [""]}), 422, "texts[0]"),
        ("/api/search", json!({"texts": [TEXT, " \n"]}), 422, "texts[1]"),
        ("/api/search", json!({"texts": ["a".repeat(900_000)]}), 422, "at most 50000 characters"),
        ("/api/search", json!({"texts": text, "vectors": [[1.0]]}), 422, "2 kinds"),
        ("/api/search", json!({"vectors": [[1.0, 2.0]]}), 422, "texts"),
        ("/api/search", json!({"vectors": [[]]}), 422, "vectors[0]"),
        ("/api/search", json!({"vectors": [[1.0], [1.0, 2.0]]}), 422, "vectors[1]"),
        ("/api/search", json!({"coordinates": [[1.0]]}), 422, "coordinates"),
        ("/api/search", json!({"texts": text, "top": 0}), 422, "1 to 1000"),
        ("/api/search", json!({"texts": text, "top": 1001}), 422, "1001"),
        ("/api/search", json!({"texts": text, "top": -1}), 422, "expected a whole number from 0"),
        ("/api/search", json!({"texts": text, "top": 1.5}), 422, "expected a whole number from 0"),
        (
            "/api/search",
            json!({"texts": text, "skip": -1.0}),
            422,
            "expected a whole number from 0",
        ),
        ("/api/search", json!({"texts": text, "top": "3"}), 422, "expected a whole number from 0"),
        (
            "/api/search",
            json!({"texts": vec!["a"; 64], "top": 1000}),
            422,
            "at most 10000, those of all",
        ),
        (
            "/api/rank",
            json!({"texts": vec!["a"; 20], "ids": vec![vec!["o3"; 600]; 20]}),
            422,
            "12000 hits",
        ),
        ("/api/search", json!({"texts": text, "tops": 3}), 422, "unknown field `tops`"),
        ("/api/search", json!({"texts": text, "candidates": "mass:0"}), 422, "\"candidates = "),
        ("/api/search", json!({"texts": text, "filter": {"formula": "C6"}}), 422, "not molecules"),
        ("/api/search", json!({"texts": text, "filter": {"formula": "Xy2"}}), 422, "Xy2"),
        ("/api/search", json!({"texts": text, "filter": {"formula": "c9"}}), 422, "filter.formula"),
        ("/api/search", json!({"texts": text, "filter": {"formula": "9"}}), 422, "filter.formula"),
        ("/api/search", json!({"texts": text, "filter": {"formula": "*"}}), 422, "filter.formula"),
        ("/api/search", json!({"texts": text, "filter": {"formula": "é"}}), 422, "filter.formula"),
        ("/api/search", json!({"texts": text, "filter": {"formula": "C99999"}}), 422, "C99999"),
        ("/api/search", json!({"texts": text, "filter": {"similar_to": "C(("}}), 422, "a SMILES"),
        ("/api/search", json!({"texts": text, "filter": {"min_similarity": 2}}), 422, "0 to 1"),
        (
            "/api/search",
            json!({"texts": text, "filter": {"min_similarity": 0.9}}),
            422,
            "filter.similar_to",
        ),
        (
            "/api/search",
            json!({"texts": text, "filter": {"groups": ["Ester"]}}),
            422,
            "(did you mean \\\"ester\\\"?)",
        ),
        (
            "/api/search",
            json!({"texts": text, "filter": {"min_mass": "a"}}),
            422,
            "filter.min_mass: ",
        ),
        ("/api/search", json!({"texts": text, "filter": 7}), 422, "a text such as"),
        (
            "/api/search",
            json!({"texts": text, "filter": {"min_mass": 2, "max_mass": 1}}),
            422,
            "filter.max_mass = 1",
        ),
        ("/api/search", json!({"texts": [3]}), 422, "texts[0]"),
        ("/api/search", json!({"texts": text, "model": "large"}), 404, "\\\"small\\\""),
        ("/api/search", json!({"texts": text, "model": "../small"}), 404, "model"),
        ("/api/embed", json!({"texts": text, "member": "x"}), 404, "no ensemble"),
        ("/api/search", json!({"texts": text, "filter": {"max_mass": -5}}), 422, "max_mass = -5"),
        ("/api/rank", json!({"texts": text, "ids": []}), 422, "a list for each query"),
        ("/api/rank", json!({"texts": text, "ids": [["o999"]]}), 404, "o999"),
        ("/api/candidates", json!({"ids": ["nothing"]}), 404, "nothing"),
        ("/api/export", json!({"format": "sdf", "search": {"texts": text}}), 422, "csv"),
        ("/api/export", json!({"format": "pdf", "search": {"texts": text}}), 422, "pdf"),
        (
            "/api/export",
            json!({"format": "csv", "search": {"texts": text}, "top": 3}),
            422,
            "unknown field `top`",
        ),
        (
            "/api/export",
            json!({"format": "csv", "search": {"texts": text, "beyond": true}}),
            422,
            "search.beyond",
        ),
    ] {
        let (found, answer) = served.post(path, &body);
        let shown: String = body.to_string().chars().take(200).collect();
        assert_eq!(found, status, "{path} {shown}: {answer}");
        let error = answer["error"].to_string();
        assert!(error.contains(says), "{path} {shown}: {answer}");
        assert!(!error.contains("Failed") && !error.contains(" at line "), "{path}: {answer}");
    }
    // bodies that are no JSON, not UTF-8, too large, or deep
    let deep = "[".repeat(100_000);
    for (body, status) in [
        (&b"{\"texts\": ["[..], 400),
        (b"", 400),
        (b"null", 422),
        // a list of the values of the fields
        (b"[\"small\", [\"a\"], null, null, 3, 0, null, null, null, null, false, 10]", 422),
        (b"{\"texts\": [\"\xff\xfe\"]}", 400),
        (b"{\"coordinates\": [[1e39]]}", 400),
        (b"{\"coordinates\": [[NaN]]}", 400),
        (&vec![b' '; 10_000_000], 413),
        (format!("{{\"texts\": [\"{}\"]}}", "a".repeat(1 << 20)).as_bytes(), 413),
        (deep.as_bytes(), 422),
    ] {
        let (found, answer) = served.post_text("/api/search", body);
        assert_eq!(found, status, "{answer}");
    }
    // the message about a long filter is short
    let long = json!({"texts": text, "filter": format!("{} < 1", "a".repeat(400_000))});
    let (status, refused) = served.post("/api/search", &long);
    assert_eq!(status, 422);
    assert!(refused["error"].as_str().unwrap().len() < 2000, "{refused}");
    // nor need a body state its length
    let mut stream = TcpStream::connect(&served.address).unwrap();
    let head = "POST /api/search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..17 {
        let _ = stream.write_all(format!("10000\r\n{}\r\n", " ".repeat(1 << 16)).as_bytes());
    }
    let _ = stream.write_all(b"0\r\n\r\n");
    let refused = answer(stream);
    assert_eq!(refused.status, 413, "{}", refused.body);
    assert!(refused.body.contains("more than 1048576 bytes: expected at most"), "{}", refused.body);
    // a compressed body is not taken for wrong JSON
    let mut stream = TcpStream::connect(&served.address).unwrap();
    let head = "POST /api/search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"\x1f\x8b\x08\0").unwrap();
    let refused = answer(stream);
    assert_eq!(refused.status, 415, "{}", refused.body);
    assert!(refused.body.contains("expected a body that is not compressed"), "{}", refused.body);
    let address = &served.address;
    assert_eq!(send(address, "POST", "/api/search", "text/plain", b"{}").status, 415);
    assert_eq!(send(address, "GET", "/api/search", "", b"").status, 405);
    assert_eq!(send(address, "DELETE", "/", "", b"").status, 405);
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/page.js/../../config.toml",
        "/runs/small/config.toml",
        "/api/drawing?id=../../etc/passwd",
        "/api/drawing?id=%00",
        "/api/drawing?id=o3",
        "/api/drawing?id=%ff",
    ] {
        let answer = served.get(path);
        assert!([400, 404].contains(&answer.status), "{path}: {}", answer.status);
        assert!(answer.body.contains("error"), "{path}: {}", answer.body);
    }
    assert_eq!(served.get("/api/drawing").status, 400);
    let unknown = served.get("/api/drawing?foo=1").body;
    assert!(
        unknown.starts_with("{\"error\":\"foo: unknown field `foo`, expected one of"),
        "{unknown}"
    );
    // heads that are no HTTP
    for head in ["GET / HTTP/9.9\r\n\r\n", "\0\0\0\r\n\r\n", "GET /\u{7f} HTTP/1.1\r\n\r\n"] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        assert!(answer(stream).status < 500);
    }
    // and it still answers
    served.ask("/api/search", &json!({"texts": text}));
    let counters = served.get("/metrics").body;
    assert!(!counters.contains("status=\"5"), "{counters}");
    let log = sandbox.read("serve.log");
    assert!(!log.contains("panicked") && !log.contains("ERROR"), "{log}");
}

#[test]
fn servers_that_cannot_start_say_why() {
    let sandbox = trained();
    sandbox.fail(&["serve"], 2, &["RUN"]);
    sandbox.fail(&["serve", "absent"], 2, &["absent", "not found"]);
    sandbox.fail(&["serve", "data"], 2, &["data", "config.toml"]);
    sandbox.fail(
        &["serve", "runs/small", "runs/small", "--port", "0"],
        2,
        &["small", "different names"],
    );
    sandbox.fail(&["serve", "runs/small", "--host", "nowhere"], 2, &["nowhere"]);
    sandbox.fail(
        &["serve", "runs/small", "--host", "203.0.113.7", "--port", "0"],
        2,
        &["--host", "203.0.113.7"],
    );
    let served = Served::start(&sandbox, &["runs/small"]);
    let port = served.address.rsplit(':').next().unwrap();
    sandbox.fail(&["serve", "runs/small", "--port", port], 2, &["--port", port, "in use"]);
    assert!(!sandbox.read("serve.log").contains("--host"));
    drop(served);
    let open = Served::start(&sandbox, &["runs/small", "--host", "0.0.0.0"]);
    assert!(sandbox.read("serve.log").contains("--host 0.0.0.0"), "{}", open.address);
}

#[cfg(unix)]
#[test]
fn a_stopped_server_finishes_what_it_has_begun() {
    let sandbox = trained();
    for signal in ["-INT", "-TERM", "-HUP"] {
        if signal == "-HUP" && ignores_hangups() {
            println!("SIGHUP is not tested: this process ignores it, as under nohup");
            continue;
        }
        let mut served = Served::start(&sandbox, &["runs/small"]);
        let idle = TcpStream::connect(&served.address).unwrap();
        let mut stream = TcpStream::connect(&served.address).unwrap();
        let body = json!({"texts": [TEXT]}).to_string();
        let head = format!(
            "POST /api/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body.as_bytes()[..5]).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let id = served.child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(300));
        let refused = TcpStream::connect(&served.address).is_err();
        assert!(refused, "{signal}: no new connections");
        stream.write_all(&body.as_bytes()[5..]).unwrap();
        let answer = answer(stream);
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(answer.body.contains("hits"));
        drop(idle);
        let ended = served.child.wait().unwrap();
        assert_eq!(ended.code(), Some(0), "{signal}: {}", sandbox.read("serve.log"));
    }
}

/// A server in this process with its address, and the thread that stops with the process.
pub fn local(sandbox: &Sandbox, limits: Limits) -> String {
    let model = Model::open(&sandbox.path("runs/small"), &Processor::Cpu.open().unwrap()).unwrap();
    listen(model, limits)
}

/// As [`local`], for a model, of which everything is read unless requests are not to wait.
fn listen(model: Model, limits: Limits) -> String {
    let wait = !limits.read.is_zero();
    let server = Server::new(vec![model], limits).unwrap();
    if wait {
        server.prepare();
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap().to_string()).unwrap();
            serve::run(listener, &server, std::future::pending()).await;
        });
    });
    receiver.recv().unwrap()
}

#[test]
fn an_overloaded_server_says_when_to_come_back() {
    let address = local(&trained(), Limits { workers: 1, waiting: 0, ..Limits::default() });
    let body = json!({"texts": vec![TEXT; 64], "top": 80, "explain": true}).to_string();
    let ask = || send(&address, "POST", "/api/search", "application/json", body.as_bytes());
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert!(answers.iter().any(|answer| answer.status == 200));
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(refused.status, 503, "{}", refused.body);
        assert!(refused.head.contains("retry-after: 1"), "{}", refused.head);
    }
}

/// What is read in the background takes no worker from requests that do not need it, and those that do are told when
/// to come back.
#[test]
fn a_request_that_needs_what_is_still_read_comes_back() {
    let sandbox = molecules();
    let model = Model::open(&sandbox.path("molecules"), &Processor::Cpu.open().unwrap()).unwrap();
    let address = listen(model, Limits { workers: 1, read: Duration::ZERO, ..Limits::default() });
    let ask = |body: Value| {
        let body = body.to_string();
        send(&address, "POST", "/api/search", "application/json", body.as_bytes())
    };
    let filter = || ask(json!({"texts": ["a bromide"], "filter": {"formula": "Br*"}}));
    let first = filter();
    assert_eq!(first.status, 503, "{}", first.body);
    assert!(first.head.contains("retry-after: 1"), "{}", first.head);
    assert!(first.body.contains("the properties for filters are still read"), "{}", first.body);
    assert_eq!(ask(json!({"texts": ["a bromide"]})).status, 200);
    for attempt in 0.. {
        let answer = filter();
        if answer.status == 200 {
            break;
        }
        assert!(answer.status == 503 && attempt < 1_000, "{}", answer.body);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A library of C makes the clock of the process one of 1969.
#[cfg(target_os = "linux")]
#[test]
fn a_clock_before_1970_is_refused() {
    let sandbox = trained();
    let source = "#include <time.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
        int clock_gettime(clockid_t id, struct timespec *time) {\n\
          int failed = syscall(SYS_clock_gettime, id, time);\n\
          if (!failed && id == CLOCK_REALTIME) time->tv_sec = -1000000;\n  return failed;\n}\n";
    sandbox.write("clock.c", source);
    let library = sandbox.path("clock.so");
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(sandbox.path("clock.c"));
    if !compiler.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: no compiler of C");
        return;
    }
    let mut command = sandbox.command(&["serve", "--port", "0", "runs/small"]);
    command.env("LD_PRELOAD", &library);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("the clock") && !errors.contains("panicked"), "{errors}");
}

#[test]
fn requests_to_names_of_others_are_refused() {
    let sandbox = trained();
    let open = Served::start(&sandbox, &["runs/small", "--host", "0.0.0.0"]);
    let own = Served::start(&sandbox, &["runs/small", "--allow-host", "search.example.org"]);
    let ask = |served: &Served, path: &str, hosts: &[&str]| {
        let mut stream = TcpStream::connect(&served.address).unwrap();
        let hosts: String = hosts.iter().map(|host| format!("host: {host}\r\n")).collect();
        stream.write_all(format!("GET {path} HTTP/1.1\r\n{hosts}\r\n").as_bytes()).unwrap();
        answer(stream)
    };
    for host in [
        "localhost",
        "LocalHost:80",
        "127.0.0.1:9",
        "127.9.9.9",
        "[::1]:8080",
        "search.example.org",
        "Search.Example.Org:443",
    ] {
        assert_eq!(ask(&own, "/api/models", &[host]).status, 200, "{host}");
    }
    for (path, hosts) in [
        ("/", &["evil.example"][..]),
        ("/api/models", &["localhost.evil.example:8080"]),
        ("/api/models", &["127.0.0.1.evil.example"]),
        ("/api/models", &["evil.search.example.org"]),
        ("/api/models", &["203.0.113.7"]),
        ("/api/models", &["0.0.0.0:8080"]),
        ("/api/models", &["[::2]"]),
        ("/metrics", &[""]),
        ("/absent", &["a b"]),
        ("/api/models", &[]),
        ("/api/models", &["localhost", "evil.example"]),
        ("http://evil.example/api/models", &["localhost"]),
    ] {
        let refused = ask(&own, path, hosts);
        assert_eq!(refused.status, 421, "{path} {hosts:?}: {}", refused.body);
        assert!(refused.body.contains("localhost, 127.0.0.1, [::1], search.example.org"));
        assert_eq!(ask(&open, "/api/models", hosts).status, 200, "{hosts:?}");
    }
    let mapped = Served::start(&sandbox, &["runs/small", "--host", "::ffff:127.0.0.1"]);
    let port = mapped.address.rsplit(':').next().unwrap();
    let mapped = format!("127.0.0.1:{port}");
    for (host, status) in
        [("evil.example", 421), ("[::ffff:127.0.0.1]:80", 200), ("localhost", 200)]
    {
        let mut stream = TcpStream::connect(&mapped).unwrap();
        stream
            .write_all(format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes())
            .unwrap();
        assert_eq!(answer(stream).status, status, "{host}");
    }
    for name in ["a:80", "http://a", "a b", "", "u@a"] {
        let call = ["serve", "runs/small", "--port", "0", "--allow-host", name];
        sandbox.fail(&call, 2, &["--allow-host", "without a port"]);
    }
}
