//! Any text as a request to a server of two small runs, one of molecules and an ensemble that reads vectors: a
//! line of the method and the path, lines of headers, an empty line, and the body. Whatever is asked, no answer is
//! an error of the server, and every refusal is JSON that says why.

#![no_main]

use std::fmt::Write;
use std::fs;
use std::sync::LazyLock;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, Uri};
use dsokr::device::Processor;
use dsokr::serve::{Limits, Model, Server};
use dsokr::{Config, fit};
use dsokr_fuzz::{file, folder};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tokio::runtime::Runtime;
use tower_service::Service;

const SMILES: [&str; 12] = [
    "CCO",
    "CC(=O)O",
    "OC(=O)c1ccccc1",
    "CC(=O)Oc1ccccc1C(=O)O",
    "C[C@H](N)C(=O)O",
    "c1ccncc1",
    "CCBr",
    "C1CCCCC1",
    "[Na+].[Cl-]",
    "N#Cc1ccc(F)cc1",
    "F/C=C/Cl",
    "O=S(=O)(N)c1ccsc1",
];

const MOLECULES: &str = r#"
data = { folder = "datasets/molecules", test = "test.tsv" }
output = { table = "outputs.tsv", label = "smiles", features = { kind = "ngrams", column = "smiles", min = 1, max = 3 }, kernel = { name = "ngram" } }
sketch = { size = 10 }
encoder = { kind = "ngram-bag", hidden = [] }
training = { epochs = 2, batch = 8 }
"#;

const VECTORS: &str = r#"
data = { source = "synthetic", train = 80, validation = 20, test = 20, inputs = 4, outputs = 6, input_decay = 0.5, map = { kind = "low-rank", rank = 2 }, noise = { variance = 0.01 } }
output = { kernel = { name = "linear" } }
sketch = { size = 3 }
encoder = { kind = "mlp", hidden = [], dropout = 0.0 }
training = { epochs = 2, batch = 16 }
evaluation = { metric = "squared_error" }
ensemble = { members = [{ name = "one" }, { name = "two", seed = 7 }] }
"#;

struct Served {
    server: Server,
    runtime: Runtime,
}

static SERVED: LazyLock<Served> = LazyLock::new(|| {
    let data = folder().join("datasets/molecules");
    fs::create_dir_all(&data).unwrap();
    fs::create_dir_all(folder().join("configs")).unwrap();
    let mut outputs = String::from("id\tsmiles\n");
    let mut texts = String::from("id\tdescription\n");
    for (at, smiles) in SMILES.iter().cycle().take(24).enumerate() {
        writeln!(outputs, "{at}\t{smiles}").unwrap();
        writeln!(texts, "{at}\tthe {at}th molecule, of {} letters", smiles.len()).unwrap();
    }
    fs::write(data.join("outputs.tsv"), outputs).unwrap();
    for split in ["train.tsv", "validation.tsv", "test.tsv"] {
        fs::write(data.join(split), &texts).unwrap();
    }
    let models = vec![model("molecules", MOLECULES), model("vectors", VECTORS)];
    let server = Server::new(models, Limits { workers: 1, ..Limits::default() }).unwrap();
    server.prepare();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    Served { server, runtime }
});

/// Trains a run in the folder of this process.
fn model(name: &str, config: &str) -> Model {
    let run = folder().join(name);
    let config = file("configs/a.toml", config);
    let opened = Config::load(config).and_then(|config| {
        fit(&config, &run)?;
        Model::open(&run, &Processor::Cpu.open()?)
    });
    opened.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the request that a text writes; none where its head is no HTTP.
fn read(text: &[u8]) -> Option<Request> {
    let end = text.windows(2).position(|two| two == b"\n\n").unwrap_or(text.len());
    let head = &text[..end];
    let body = text.get(end + 2..).unwrap_or(b"");
    let mut lines = head.split(|&byte| byte == b'\n');
    let first = lines.next()?;
    let space = first.iter().position(|&byte| byte == b' ')?;
    let mut request = Request::new(Body::from(body.to_vec()));
    *request.method_mut() = Method::from_bytes(&first[..space]).ok()?;
    *request.uri_mut() = Uri::try_from(&first[space + 1..]).ok()?;
    for line in lines {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        request
            .headers_mut()
            .append(name, HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?);
    }
    Some(request)
}

fuzz_target!(|text: &[u8]| {
    let Some(request) = read(text) else { return };
    let Served { server, runtime } = &*SERVED;
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let (status, headers, body) = runtime.block_on(async {
        let answer = server.router().call(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        (parts.status.as_u16(), parts.headers, to_bytes(body, usize::MAX).await.unwrap())
    });
    let header = |name: &str| headers.get(name).map_or("", |value| value.to_str().unwrap());
    assert!(header("content-security-policy").contains("default-src 'none'"));
    assert_eq!(header("x-content-type-options"), "nosniff");
    if method == Method::HEAD {
        return assert!(status < 500 && body.is_empty(), "{status}");
    }
    if status == 200 {
        return answered(&path, header("content-type"), &body);
    }
    assert!([400, 404, 405, 413, 415, 422].contains(&status), "{status}: {body:?}");
    assert_eq!(header("content-type"), "application/json");
    let refused: Value = serde_json::from_slice(&body).unwrap();
    let error =
        refused.as_object().filter(|only| only.len() == 1).and_then(|only| only["error"].as_str());
    assert!(error.is_some_and(|error| !error.is_empty()), "{status}: {refused}");
});

/// Checks answers: JSON where they say so, with finite scores that descend.
fn answered(path: &str, kind: &str, body: &[u8]) {
    let text = std::str::from_utf8(body).unwrap();
    if kind != "application/json" {
        return assert!(path != "/api/search", "{path}: {kind}");
    }
    let answer: Value = serde_json::from_str(text).unwrap();
    if path == "/api/search" {
        for answer in answer["answers"].as_array().unwrap() {
            let hits = answer["hits"].as_array().unwrap();
            let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
            assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        }
    }
}
