//! `dsokr serve` over HTTP, by clients that behave and by others.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use dsokr::device::Processor;
use dsokr::serve::{self, Limits, Model, Server};
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, number};

/// A running server, which is killed at the end.
pub struct Served {
    child: Child,
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
        let mut command = sandbox.command(&arguments);
        let log = fs::File::create(sandbox.path("serve.log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{line:?}: {}", sandbox.read("serve.log")));
        Self { address: address.trim_end_matches('/').to_owned(), child }
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_text(path, body.to_string().as_bytes())
    }

    fn post_text(&self, path: &str, body: &[u8]) -> (u16, Value) {
        let answer = send(&self.address, "POST", path, "application/json", body);
        (answer.status, serde_json::from_str(&answer.body).unwrap_or(Value::Null))
    }

    /// The answer to a request that must succeed.
    fn ask(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.post(path, body);
        assert_eq!(status, 200, "{path} {body}: {answer}");
        answer
    }

    fn get(&self, path: &str) -> Answer {
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

#[test]
fn a_served_run_answers_as_the_commands_do() {
    let sandbox = trained();
    let served = Served::start(&sandbox, &["runs/small"]);
    let answers = served.ask("/api/search", &json!({"texts": [TEXT, "an open chain"], "top": 3}));
    let found = &answers["answers"][0]["hits"];
    let call = ["search", "runs/small", TEXT, "--top", "80", "--json"];
    let search: Value = serde_json::from_str(&sandbox.succeed(&call)).unwrap();
    let first = |at: usize| (&found[at]["id"], number(&found[at], "score"));
    assert_eq!(first(0).0, &search["candidates"][0]["id"]);
    assert!((first(0).1 - number(&search["candidates"][0], "score")).abs() < 1e-5);
    assert_eq!((&answers["candidates"], &answers["wanted"]), (&json!(80), &json!(80)));
    assert_eq!(answers["answers"].as_array().unwrap().len(), 2);
    // pages go on where the one before ended, and every candidate comes once
    let mut all = Vec::new();
    for skip in (0..100).step_by(7) {
        let page = served.ask("/api/search", &json!({"texts": [TEXT], "top": 7, "skip": skip}));
        for hit in page["answers"][0]["hits"].as_array().unwrap() {
            all.push(hit["id"].as_str().unwrap().to_owned());
            all.extend(
                hit["duplicates"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|id| id.as_str().unwrap().to_owned()),
            );
        }
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!((count, all.len()), (80, 80));
    // coordinates are those of the command, and search by them is search by the text
    let embedded = served.ask("/api/embed", &json!({"texts": [TEXT]}));
    let by_coordinates =
        served.ask("/api/search", &json!({"coordinates": embedded["coordinates"], "top": 3}));
    let by_text = served.ask("/api/search", &json!({"texts": [TEXT], "top": 3}));
    assert_eq!(by_coordinates["answers"][0]["hits"], by_text["answers"][0]["hits"]);
    // ranks agree with the search
    let id = &search["candidates"][9]["id"];
    let ranked = served.ask("/api/rank", &json!({"texts": [TEXT], "ids": [[id, found[0]["id"]]]}));
    let [tenth, first] = [&ranked["answers"][0][0], &ranked["answers"][0][1]];
    assert_eq!((&first["above"], &tenth["id"]), (&json!(0), id));
    let above = search["candidates"].as_array().unwrap().iter();
    let above =
        above.filter(|own| number(own, "score") > number(&search["candidates"][9], "score"));
    assert_eq!(number(tenth, "above") as usize, above.count());
    let known = served.ask("/api/candidates", &json!({"ids": ["o3"]}));
    assert_eq!(known["candidates"], json!([{"id": "o3", "label": "butane"}]));
    let models: Value = serde_json::from_str(&served.get("/api/models").body).unwrap();
    let model = &models["models"][0];
    assert_eq!(
        (&model["name"], &model["outputs"], &model["inputs"]),
        (&json!("small"), &json!("other"), &json!("texts"))
    );
    assert_eq!(model["missing"], json!([]));
    assert!(
        model["metrics"].as_array().unwrap().iter().any(|metric| metric["name"] == "mrr"),
        "{model}"
    );
    let api: Value = serde_json::from_str(&served.get("/api").body).unwrap();
    assert!(api["paths"]["/api/search"]["post"]["responses"]["422"].is_object(), "{api}");
    let counters = served.get("/metrics").body;
    assert!(
        counters.contains("dsokr_requests_total{path=\"/api/search\",status=\"200\"}"),
        "{counters}"
    );
    assert!(counters.contains("dsokr_queries_total"), "{counters}");
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let sandbox = trained();
    let served = Served::start(&sandbox, &["runs/small"]);
    for (path, kind) in
        [("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")]
    {
        let answer = served.get(path);
        assert!(
            answer.status == 200 && answer.head.contains(&format!("content-type: {kind}")),
            "{}",
            answer.head
        );
        assert!(answer.head.contains("default-src 'none'"), "{}", answer.head);
        for elsewhere in ["http:", "https:", "src=\"//", "@import", "url("] {
            assert!(!answer.body.contains(elsewhere), "{path}: {elsewhere}");
        }
    }
}

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
        ("/api/search", json!({"texts": ["a".repeat(900_000)]}), 422, "at most 10000 characters"),
        ("/api/search", json!({"texts": text, "vectors": [[1.0]]}), 422, "2 kinds"),
        ("/api/search", json!({"vectors": [[1.0, 2.0]]}), 422, "texts"),
        ("/api/search", json!({"vectors": [[]]}), 422, "vectors[0]"),
        ("/api/search", json!({"vectors": [[1.0], [1.0, 2.0]]}), 422, "vectors[1]"),
        ("/api/search", json!({"coordinates": [[1.0]]}), 422, "coordinates"),
        ("/api/search", json!({"texts": text, "top": 0}), 422, "1 to 1000"),
        ("/api/search", json!({"texts": text, "top": 1001}), 422, "1001"),
        ("/api/search", json!({"texts": text, "top": -1}), 422, "top"),
        ("/api/search", json!({"texts": text, "tops": 3}), 422, "unknown field `tops`"),
        ("/api/search", json!({"texts": text, "filter": {"formula": "C6"}}), 422, "no molecules"),
        ("/api/search", json!({"texts": [3]}), 422, "texts[0]"),
        ("/api/search", json!({"texts": text, "model": "large"}), 404, "\\\"small\\\""),
        ("/api/search", json!({"texts": text, "model": "../small"}), 404, "model"),
        ("/api/embed", json!({"texts": text, "member": "x"}), 404, "member"),
        ("/api/rank", json!({"texts": text, "ids": []}), 422, "a list for each query"),
        ("/api/rank", json!({"texts": text, "ids": [["o999"]]}), 404, "o999"),
        ("/api/candidates", json!({"ids": ["nothing"]}), 404, "nothing"),
        ("/api/export", json!({"format": "sdf", "search": {"texts": text}}), 422, "csv"),
        ("/api/export", json!({"format": "pdf", "search": {"texts": text}}), 422, "pdf"),
    ] {
        let (found, answer) = served.post(path, &body);
        let shown: String = body.to_string().chars().take(200).collect();
        assert_eq!(found, status, "{path} {shown}: {answer}");
        assert!(answer["error"].to_string().contains(says), "{path} {shown}: {answer}");
    }
    // bodies that are no JSON, not UTF-8, too large, or deep
    let deep = "[".repeat(100_000);
    for (body, status) in [
        (&b"{\"texts\": ["[..], 400),
        (b"", 400),
        (b"null", 422),
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

#[test]
fn a_run_that_is_trained_again_is_served_as_it_was_and_says_so() {
    let sandbox = trained();
    let served = Served::start(&sandbox, &["runs/small"]);
    let query = json!({"texts": [TEXT], "top": 5});
    let before = served.ask("/api/search", &query);
    assert!(before["notice"].is_null());
    fs::remove_dir_all(sandbox.path("runs/small")).unwrap();
    sandbox.train("small.toml", &["seed=7", "sketch.size=10"]);
    std::thread::sleep(Duration::from_millis(1_100));
    let mut after = served.ask("/api/search", &query);
    assert!(after["notice"].as_str().unwrap().contains("has changed"), "{after}");
    after.as_object_mut().unwrap().remove("notice");
    let mut before = before;
    // the validation queries may have been read between the two answers
    for answer in [&mut before, &mut after] {
        answer["answers"][0].as_object_mut().unwrap().remove("confidence");
    }
    assert_eq!(after, before);
    let models: Value = serde_json::from_str(&served.get("/api/models").body).unwrap();
    assert!(models["models"][0]["notice"].is_string());
    let log = sandbox.read("serve.log");
    assert_eq!(log.matches("has changed").count(), 1, "{log}");
}

#[cfg(unix)]
#[test]
fn a_stopped_server_finishes_what_it_has_begun() {
    let sandbox = trained();
    let mut served = Served::start(&sandbox, &["runs/small"]);
    let idle = TcpStream::connect(&served.address).unwrap();
    let mut stream = TcpStream::connect(&served.address).unwrap();
    let body = json!({"texts": [TEXT]}).to_string();
    let head = format!(
        "POST /api/search HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body.as_bytes()[..5]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let id = served.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    std::thread::sleep(Duration::from_millis(300));
    assert!(TcpStream::connect(&served.address).is_err(), "no new connections");
    stream.write_all(&body.as_bytes()[5..]).unwrap();
    let answer = answer(stream);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body.contains("hits"));
    drop(idle);
    assert_eq!(served.child.wait().unwrap().code(), Some(0), "{}", sandbox.read("serve.log"));
}

/// A server in this process with its address, and the thread that stops with the process.
fn local(sandbox: &Sandbox, limits: Limits) -> String {
    let model = Model::open(&sandbox.path("runs/small"), &Processor::Cpu.open().unwrap()).unwrap();
    let server = Server::new(vec![model], limits).unwrap();
    server.prepare();
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
fn slow_clients_are_given_up() {
    let short = Duration::from_millis(300);
    let limits = Limits { head: short, request: short, connections: 4, ..Limits::default() };
    let address = local(&trained(), limits);
    // more slow clients than connections: each is closed in turn, and the next one is served
    let mut slow: Vec<TcpStream> = Vec::new();
    for _ in 0..6 {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost:").unwrap();
        slow.push(stream);
    }
    assert_eq!(send(&address, "GET", "/", "", b"").status, 200);
    let mut stream = TcpStream::connect(&address).unwrap();
    let head = "POST /api/search HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).unwrap();
    let late = answer(stream);
    assert_eq!(late.status, 408, "{}", late.body);
    assert!(late.body.contains("longer than 300ms"), "{}", late.body);
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

#[test]
fn molecules_are_explained_filtered_drawn_and_exported() {
    let sandbox = molecules();
    let served = Served::start(&sandbox, &["molecules"]);
    let text = "A carboxylic acid with a bromine atom on a benzene ring.";
    let query = json!({"texts": [text], "top": 5, "explain": true});
    let answers = served.ask("/api/search", &query);
    assert_eq!(answers["answers"][0]["nearest"].as_array().unwrap().len(), 3, "{answers}");
    let hit = &answers["answers"][0]["hits"][0];
    assert_eq!(hit["shared"].as_array().unwrap().len(), 3, "{hit}");
    assert!(hit["link"].is_null(), "the column of ids is not named cid: {hit}");
    // filters hold of every hit, whose ranks and scores are those among all
    let filter = json!({"formula": "Br*", "max_mass": 400.0, "groups": ["carboxylic acid"]});
    let kept = served.ask("/api/search", &json!({"texts": [text], "top": 1000, "filter": filter}));
    let hits = kept["answers"][0]["hits"].as_array().unwrap();
    assert!(!hits.is_empty() && kept["wanted"].as_u64().unwrap() >= hits.len() as u64, "{kept}");
    let ids: Vec<&Value> = hits.iter().map(|hit| &hit["id"]).collect();
    let ranked = served.ask("/api/rank", &json!({"texts": [text], "ids": [ids]}));
    for (hit, ranked) in hits.iter().zip(ranked["answers"][0].as_array().unwrap()) {
        let molecule = &hit["molecule"];
        assert!(molecule["formula"].as_str().unwrap().contains("Br"), "{hit}");
        assert!(number(molecule, "mass") <= 400.0, "{hit}");
        assert!(
            molecule["groups"].as_array().unwrap().contains(&json!("carboxylic acid")),
            "{hit}"
        );
        assert_eq!(number(hit, "rank"), number(ranked, "above") + 1.0, "{hit} {ranked}");
        assert_eq!(hit["score"], ranked["score"]);
    }
    let label = &hits[0]["label"];
    let same = json!({"similar_to": label, "min_similarity": 1.0});
    let same = served.ask("/api/search", &json!({"texts": [text], "filter": same}));
    assert!(
        same["answers"][0]["hits"].as_array().unwrap().iter().any(|hit| hit["label"] == *label)
    );
    // drawings and files
    let id = hits[0]["id"].as_str().unwrap();
    let drawing = served.get(&format!("/api/drawing?id={id}"));
    assert!(
        drawing.head.contains("image/svg+xml") && drawing.body.starts_with("<svg"),
        "{}",
        drawing.head
    );
    let export = |format: &str| {
        let body = json!({"format": format, "search": {"texts": [text], "top": 7}}).to_string();
        let answer =
            send(&served.address, "POST", "/api/export", "application/json", body.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    };
    let csv = export("csv");
    assert_eq!(csv.lines().count(), 8);
    assert!(csv.starts_with("rank,id,label,score,formula,mass,duplicates\r\n1,"), "{csv}");
    assert_eq!(export("smiles").lines().count(), 7);
    let sdf = export("sdf");
    assert_eq!((sdf.matches("$$$$\n").count(), sdf.matches("V2000").count()), (7, 7), "{sdf}");
    // how sure an answer is comes once the validation queries are read
    for attempt in 0..100 {
        let confidence = &served.ask("/api/search", &query)["answers"][0]["confidence"];
        if confidence.is_object() {
            let share = |key: &str| number(confidence, key);
            assert!(
                share("low") <= share("right") && share("right") <= share("high"),
                "{confidence}"
            );
            assert!(share("queries") >= 10.0, "{confidence}");
            break;
        }
        assert!(attempt < 99, "no confidence: {}", sandbox.read("serve.log"));
        std::thread::sleep(Duration::from_millis(100));
    }
}
