//! Filters that keep few of many candidates: the memory does not grow with texts × candidates, and hits are those
//! among all.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::command::{Limits, call};
use crate::runs::{World, below};
use crate::server::{Request, Served, exchange};
use crate::{Outcome, random};

/// Candidates that are added to the 2,000 of the quickstart's run.
const ADDED: usize = 10_000;

/// Texts of a request.
const TEXTS: usize = 64;

/// Requests at once.
const CLIENTS: usize = 4;

/// Growth of the memory in MB: a tenth of what all scores of all texts took as hits.
const GROWTH: f64 = 12.0;

/// A run of molecules with many candidates, made once.
fn grown(world: &mut World) -> Result<PathBuf, String> {
    if let Some(folder) = &world.grown {
        return Ok(folder.clone());
    }
    let folder = world.fresh();
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/quickstart.toml");
    let train = ["train", config, "--quiet", "--out", "run"];
    call(&folder, &train, Limits::default())?.success()?;
    let ends = ["O", "N", "F", "Cl", "Br", "S", "C#N", "C=O"];
    let mut table = String::new();
    table += "id\tsmiles\n";
    for at in 0..ADDED {
        let chain = "C".repeat(1 + at / 8 % 50);
        let end = ends[at % 8];
        let branch = "C".repeat(1 + at / 400);
        let _ = writeln!(table, "new{at}\tC({branch}){chain}{end}");
    }
    fs::write(folder.join("new.tsv"), table).unwrap();
    let add = ["candidates", "add", "run", "new.tsv", "--quiet"];
    call(&folder, &add, Limits::default())?.success()?;
    world.grown = Some(folder.clone());
    Ok(folder)
}

pub fn attack(world: &mut World, seed: u64) -> Outcome {
    if !cfg!(feature = "serve") {
        return Ok("skipped: the command is built without the feature serve".into());
    }
    let mut random = random("filters", seed);
    let folder = grown(world)?;
    let mut server = Served::start(&folder, "run")?;
    let text = |at: usize| format!("A chain of {at} carbon atoms with a bromine atom.");
    let texts: Vec<String> = (0..TEXTS).map(text).collect();
    let filters = [
        json!({"formula": "C7H8O"}),
        json!({"formula": "U"}),
        json!({"max_mass": 40.0}),
        json!({"groups": ["nitrile"], "max_mass": 100.0}),
        json!({"formula": "Br*", "min_mass": 900.0}),
    ];
    // once with few texts: the properties are read, and buffers have their sizes
    search(&server.address, &json!({"texts": texts[..2], "filter": filters[0]}))?;
    search(&server.address, &json!({"texts": texts}))?;
    let before = server.memory();
    let filter = &filters[below(&mut random, filters.len())];
    let top = 1 + below(&mut random, 100);
    let skip = [0, 0, 3, 1_000_000_000][below(&mut random, 4)];
    let asked = json!({"texts": texts, "top": top, "skip": skip, "filter": filter});
    let address = &server.address;
    let answers: Vec<Result<Value, String>> = std::thread::scope(|scope| {
        let ask = || scope.spawn(|| search(address, &asked));
        let clients: Vec<_> = (0..CLIENTS).map(|_| ask()).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    let most = server.most_memory();
    if most > before + GROWTH {
        return Err(format!("{asked}: the memory grew from {before:.0} to {most:.0} MB"));
    }
    // what is computed in the background may be in later answers only
    let hits = |answer: &Value| {
        let all = answer["answers"].as_array().cloned().unwrap_or_default();
        all.into_iter().map(|mut one| one["hits"].take()).collect::<Vec<_>>()
    };
    if answers.iter().any(|answer| hits(answer) != hits(&answers[0])) {
        return Err(format!("{asked}: answers differ"));
    }
    // the hits of one text are those of its ranking of all that pass
    let query = below(&mut random, TEXTS);
    let hits = answers[0]["answers"][query]["hits"].as_array().ok_or("no hits")?;
    let ids: Vec<&Value> = hits.iter().map(|hit| &hit["id"]).collect();
    let ranked = post(address, "/api/rank", &json!({"texts": [texts[query]], "ids": [ids]}))?;
    let ranked = ranked["answers"][0].as_array().ok_or("no ranks")?;
    for (hit, ranked) in hits.iter().zip(ranked) {
        let rank = ranked["above"].as_u64().map(|above| above + 1);
        let tied = ranked["tied"].as_u64();
        if hit["rank"].as_u64() != rank || hit["tied"].as_u64() != tied {
            return Err(format!("{asked}: query {query}: {hit} is {ranked}"));
        }
    }
    let wanted = answers[0]["wanted"].as_u64().unwrap_or(0) as usize;
    let more = wanted.saturating_sub(skip).min(top);
    if hits.len() > more || (skip == 0 && wanted > 0 && hits.is_empty()) {
        return Err(format!("{asked}: {} hits, of {wanted} that pass", hits.len()));
    }
    server.stop()?;
    Ok(format!("{filter} keeps {wanted}: {} hits, memory {before:.0} to {most:.0} MB", hits.len()))
}

fn search(address: &str, body: &Value) -> Result<Value, String> {
    post(address, "/api/search", body)
}

/// The answer to a request, which is sent again as long as something is still read.
fn post(address: &str, path: &str, body: &Value) -> Result<Value, String> {
    let start = format!("POST {path}");
    let body = body.to_string();
    let request = Request::new(&start, "application/json", body.as_bytes(), 200);
    for _ in 0..120 {
        let answer = exchange(&mut None, address, &request)?;
        if answer.status == 200 {
            return serde_json::from_slice(&answer.body).map_err(|e| e.to_string());
        }
        if answer.status != 503 || !answer.head.contains("retry-after: ") {
            let error = String::from_utf8_lossy(&answer.body).into_owned();
            return Err(format!("{path} {body}: {} {error}", answer.status));
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    Err(format!("{path} {body}: 503 for two minutes"))
}
