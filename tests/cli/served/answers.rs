//! What is answered.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Served, TEXT, molecules, send, trained};
use crate::golds;
use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, number};

#[test]
fn a_served_run_answers_as_the_commands_do() {
    let sandbox = trained();
    let served = Served::start(&sandbox, &["runs/small"]);
    let answers = served.ask("/api/search", &json!({"texts": [TEXT, "an open chain"], "top": 3}));
    let found = &answers["answers"][0]["hits"];
    // JSON has one type of numbers
    let written = json!({"texts": [TEXT, "an open chain"], "top": 3.0, "skip": 0.0});
    let read = served.ask("/api/search", &written);
    for at in 0..2 {
        assert_eq!(read["answers"][at]["hits"], answers["answers"][at]["hits"]);
    }
    // the nearest training text has all words of the query, and more weight on rare ones
    let train = sandbox.read("data/small/train.tsv");
    let (id, known) = train.lines().nth(9).unwrap().split_once('\t').unwrap();
    let loud = json!({"texts": [known.to_uppercase() + "!"], "top": 3, "explain": true});
    let near = served.ask("/api/search", &loud)["answers"][0]["nearest"].clone();
    assert_eq!((&near[0]["id"], near[0]["text"].as_str()), (&json!(id), Some(known)));
    assert!((number(&near[0], "similarity") - 1.0).abs() < 1e-6, "{near}");
    assert!(number(&near[1], "similarity") < 0.9, "{near}");
    let wrong = json!({"texts": [TEXT], "candidates": "mass:10"});
    let (status, refused) = served.post("/api/search", &wrong);
    let says = "the model does not read spectra";
    assert!(status == 422 && refused["error"].as_str().unwrap().contains(says), "{refused}");
    sandbox.fail(&["search", "runs/small", TEXT, "--candidates", "formula"], 2, &[says]);
    // the model reads words alone
    let strange = json!({"texts": ["zzz of qqq"], "explain": true});
    let words = &served.ask("/api/search", &strange)["answers"][0]["words"];
    assert_eq!(*words, json!({"known": 1, "unknown": ["qqq", "zzz"], "alone": true}));
    // what is doubtful about a query is in its answer, and not in the log of the server
    let nothing = served.ask("/api/search", &json!({"texts": ["zzz qqq"]}));
    let caution = "the model knows no part of this text: the order means nothing";
    assert_eq!(nothing["answers"][0]["cautions"][0], caution);
    assert!(!sandbox.read("serve.log").contains(caution));
    let call = ["search", "runs/small", TEXT, "--top", "80", "--json"];
    let search: Value = serde_json::from_str(&sandbox.succeed(&call)).unwrap();
    assert_eq!(found.as_array().unwrap(), &search["candidates"].as_array().unwrap()[..3]);
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
    // sets of candidates are those of the command
    let set = served.ask("/api/search", &json!({"texts": [TEXT], "coverage": 0.8}));
    let calibration = json!({"coverage": 0.8, "on": "validation", "queries": 10,
        "caution": "checkpoints are chosen on these queries"});
    assert_eq!((&set["calibration"], &set["answers"][0]["whole"]), (&calibration, &json!(true)));
    sandbox.write("text.txt", TEXT);
    let predicted = sandbox.succeed(&["predict", "runs/small", "text.txt", "--coverage", "0.8"]);
    let predicted: Value = serde_json::from_str(&predicted).unwrap();
    assert_eq!(set["answers"][0]["hits"], predicted["candidates"]);
    for (key, value) in [("skip", json!(3)), ("coverage", json!(0.99))] {
        let mut body = json!({"texts": [TEXT], "coverage": 0.8});
        body[key] = value;
        let (status, refusal) = served.post("/api/search", &body);
        assert_eq!(status, 422, "{refusal}");
        assert!(refusal["error"].as_str().unwrap().contains("coverage"), "{refusal}");
    }
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
    assert_eq!(number(tenth, "above") + 1.0, number(&search["candidates"][9], "rank"));
    let known = served.ask("/api/candidates", &json!({"ids": ["o3"]}));
    assert_eq!(known["candidates"], json!([{"id": "o3", "label": "butane"}]));
    let models: Value = serde_json::from_str(&served.get("/api/models").body).unwrap();
    let model = &models["models"][0];
    assert_eq!(
        (&model["name"], &model["outputs"], &model["inputs"]),
        (&json!("small"), &json!("other"), &json!("texts"))
    );
    assert_eq!((&model["missing"], &model["column"]), (&json!([]), &json!("description")));
    assert!(model["pool"].as_str().unwrap().starts_with("80 candidates ("), "{model}");
    assert!(
        model["metrics"].as_array().unwrap().iter().any(|metric| metric["name"] == "mrr"),
        "{model}"
    );
    let api: Value = serde_json::from_str(&served.get("/api").body).unwrap();
    assert!(api["paths"]["/api/search"]["post"]["responses"]["422"].is_object(), "{api}");
    let kinds = |request: &str| {
        let kinds = &api["components"]["schemas"][request]["oneOf"];
        kinds.as_array().unwrap().iter().map(|kind| kind["required"][0].clone()).collect::<Vec<_>>()
    };
    assert_eq!(kinds("RankRequest"), ["texts", "vectors", "coordinates"]);
    assert_eq!(kinds("EmbedRequest"), ["texts", "vectors"]);
    // the best of all rankings is an output without the facts of a search
    let output = &api["components"]["schemas"]["PredictedOutput"]["allOf"];
    let parts = output.as_array().unwrap();
    let known = |name: &str| parts.iter().any(|part| part["properties"][name].is_object());
    assert!(known("label") && known("in_table") && known("nearest"), "{output}");
    let required = parts.iter().filter_map(|part| part["required"].as_array()).flatten();
    assert_eq!(required.collect::<Vec<_>>(), ["label", "score"], "{output}");
    assert!(parts.iter().all(|part| part.get("oneOf").is_none()), "{output}");
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
    for (path, kind) in [
        ("/", "text/html"),
        ("/page.js", "text/javascript"),
        ("/answers.js", "text/javascript"),
        ("/spectrum.js", "text/javascript"),
        ("/page.css", "text/css"),
    ] {
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
fn a_run_that_is_trained_again_is_served_as_it_was_and_says_so() {
    let sandbox = trained();
    let served = Served::start(&sandbox, &["runs/small"]);
    served_on(&sandbox, &served, || {
        fs::remove_dir_all(sandbox.path("runs/small")).unwrap();
        sandbox.train("small.toml", &["seed=7", "sketch.size=10"]);
    });
}

#[test]
fn a_run_that_gets_candidates_is_served_as_it_was_and_says_so() {
    let sandbox = trained();
    let served = Served::start(&sandbox, &["runs/small"]);
    sandbox.write("new.tsv", "id\tname\nnew\tcyclomethanoic\n");
    served_on(&sandbox, &served, || {
        sandbox.succeed(&["candidates", "add", "runs/small", "new.tsv"]);
    });
    let (status, refused) = served.post("/api/candidates", &json!({"ids": ["new"]}));
    assert_eq!(status, 404, "{refused}");
    // a new server has it
    let served = Served::start(&sandbox, &["runs/small"]);
    let known = served.ask("/api/candidates", &json!({"ids": ["new"]}));
    assert_eq!(known["candidates"][0]["label"], "cyclomethanoic");
    let query = json!({"texts": [TEXT], "top": 100});
    assert_eq!(served.ask("/api/search", &query)["candidates"], json!(81));
}

/// Answers after a change of the run directory are those before it, with a notice, which the log has once.
fn served_on(sandbox: &Sandbox, served: &Served, change: impl FnOnce()) {
    let query = json!({"texts": [TEXT], "top": 80});
    let mut before = served.ask("/api/search", &query);
    assert!(before["notice"].is_null());
    change();
    std::thread::sleep(Duration::from_millis(1_100));
    let mut after = served.ask("/api/search", &query);
    assert!(after["notice"].as_str().unwrap().contains("has changed"), "{after}");
    after.as_object_mut().unwrap().remove("notice");
    // the validation queries may have been read between the two answers
    for answer in [&mut before, &mut after] {
        let answer = answer["answers"][0].as_object_mut().unwrap();
        for field in ["confidence", "pending"] {
            answer.remove(field);
        }
    }
    assert_eq!(after, before);
    let models: Value = serde_json::from_str(&served.get("/api/models").body).unwrap();
    assert!(models["models"][0]["notice"].is_string());
    let log = sandbox.read("serve.log");
    assert_eq!(log.matches("has changed").count(), 1, "{log}");
}

#[test]
fn sparse_vectors_are_asked_for_by_all_their_numbers() {
    let sandbox = Sandbox::new();
    sandbox.write("data/small/sets.arff", &golds::arff(0..48));
    sandbox.write("sets.toml", golds::SETS);
    sandbox.train("sets.toml", &[]);
    let served = Served::start(&sandbox, &["runs/sets"]);
    let models: Value = serde_json::from_str(&served.get("/api/models").body).unwrap();
    let model = &models["models"][0];
    let known = [&model["inputs"], &model["width"], &model["outputs"], &model["missing"]];
    assert_eq!(known, [&json!("vectors"), &json!(5), &json!("labels"), &json!([])]);
    let vector = &model["examples"][0]["vector"];
    let found = served.ask("/api/search", &json!({"vectors": [vector], "top": 1}));
    // row 40 of the file has the features and labels of rows 5 and 19
    assert_eq!(found["answers"][0]["hits"][0]["label"], "label1 label2", "{found}");
    // whether the first set is right does not depend on whether the row itself is a candidate
    let confidence = |found: &Value| found["answers"][0]["confidence"].clone();
    let begun = std::time::Instant::now();
    loop {
        let found = served.ask("/api/search", &json!({"vectors": [vector]}));
        let pending = &found["answers"][0]["pending"];
        if !confidence(&found).is_null() {
            assert!(pending.is_null(), "{found}");
            break;
        }
        assert_eq!(*pending, json!(["confidence"]), "{found}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", sandbox.read("serve.log"));
    }
    let found = served.ask("/api/search", &json!({"vectors": [vector]}));
    assert_eq!(number(&confidence(&found), "right"), 1.0, "{found}");
}

#[test]
fn candidates_that_share_the_first_score_have_no_confidence() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", &CONFIG.replace(BAG, RIDGE));
    sandbox.train("small.toml", &[]);
    let served = Served::start(&sandbox, &["runs/small"]);
    let answer = |text: &str| {
        served.ask("/api/search", &json!({"texts": [text], "top": 1}))["answers"][0].clone()
    };
    let begun = std::time::Instant::now();
    while answer(TEXT)["confidence"].is_null() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", sandbox.read("serve.log"));
        std::thread::sleep(Duration::from_millis(50));
    }
    // without a known word every candidate has the score 0
    let shared = answer("zzz qqq");
    assert_eq!(number(&shared["hits"][0], "tied"), 79.0, "{shared}");
    assert!(shared["cautions"][0].as_str().unwrap().contains("no part of this text"), "{shared}");
    assert_eq!((&shared["confidence"], &shared["pending"]), (&Value::Null, &Value::Null));
    // a list has all of them or none, and says that it is doubtful
    let list = json!({"texts": ["zzz qqq"], "coverage": 0.8});
    let list = served.ask("/api/search", &list)["answers"][0].clone();
    assert!(list["hits"].as_array().unwrap().len() > 1, "{list}");
    assert!(!list["cautions"].as_array().unwrap().is_empty(), "{list}");
}

/// A configuration for a pool `pairs.tsv` next to it, of chains of carbon atoms whose ids are in the column `cid`.
fn chains(sandbox: &Sandbox) {
    let row = |n: usize| {
        let chain = "C".repeat(n % 7 + 1) + &"O".repeat(n / 7 + 1);
        format!("{n}\ta chain of kind {n}\t{chain}\n")
    };
    let rows: String = (1..=40).map(row).collect();
    sandbox.write("pairs.tsv", &format!("cid\tdescription\tsmiles\n{rows}"));
    let data = "[data]\nsource = \"pool\"\nfolder = \"./\"\nfile = \"pairs.tsv\"\nid = \"cid\"\n\
                splits = { validation = 5, test = 5 }";
    let config = CONFIG.replace("[data]\nfolder = \"small\"\ntest = \"test.tsv\"", data);
    let config = config.replace("table = \"outputs.tsv\"\nlabel = \"name\"", "label = \"smiles\"");
    sandbox.write("pairs.toml", &config.replace("column = \"name\"", "column = \"smiles\""));
}

#[test]
fn ids_of_a_column_cid_are_linked_and_the_file_of_a_pool_is_named() {
    let sandbox = Sandbox::new();
    chains(&sandbox);
    sandbox.train("pairs.toml", &[]);
    let demo = dsokr::quickstart::demo(&sandbox.path("demo")).unwrap();
    for (run, data) in
        [("runs/pairs", "pairs.tsv"), (demo.to_str().unwrap(), "datasets/quickstart")]
    {
        let served = Served::start(&sandbox, &[run]);
        let answer = served.ask("/api/search", &json!({"texts": ["a chain"], "top": 1}));
        let hit = &answer["answers"][0]["hits"][0];
        let page =
            format!("https://pubchem.ncbi.nlm.nih.gov/compound/{}", hit["id"].as_str().unwrap());
        assert_eq!(hit["link"], page, "{hit}");
        let models: Value = serde_json::from_str(&served.get("/api/models").body).unwrap();
        assert_eq!(models["models"][0]["data"], data);
    }
    let card = sandbox.read("runs/pairs/README.md");
    assert!(card.contains("`DATA` is the folder that holds `pairs.tsv`."), "{card}");
    assert!(card.contains("source: `pool`, `pairs.tsv`, next to the configuration"), "{card}");
}

#[test]
fn molecules_are_explained_filtered_drawn_and_exported() {
    let sandbox = molecules();
    let strange = ["=1+1", "$$$$", "x\n$$$$\n", "> <smiles>\nO", "a\u{2028}$$$$"];
    let rows = (1..).zip(strange).map(|(carbons, id)| {
        json!({"id": id, "smiles": "C".repeat(carbons) + "[Xe]"}).to_string() + "\n"
    });
    sandbox.write("more.jsonl", &rows.collect::<String>());
    sandbox.succeed(&["candidates", "add", "molecules", "more.jsonl"]);
    let served = Served::start(&sandbox, &["molecules"]);
    let text = "A carboxylic acid with a bromine atom on a benzene ring.";
    let query = json!({"texts": [text], "top": 5, "explain": true});
    let answers = served.ask("/api/search", &query);
    assert_eq!(answers["answers"][0]["nearest"].as_array().unwrap().len(), 3, "{answers}");
    // and characters beside words
    assert_eq!(answers["answers"][0]["words"]["alone"], json!(false), "{answers}");
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
    let wanted = |filter: &Value| {
        let query = json!({"texts": [text], "filter": filter});
        served.ask("/api/search", &query)["wanted"].as_u64().unwrap()
    };
    for (filter, kept) in [
        (json!({"formula": "Xe*"}), 5),
        (json!({"formula": "Xe C2 H5"}), 1),
        (json!({"formula": "Xe*", "max_mass": 161.0}), 2),
        (json!({"formula": "Xe*", "min_mass": 161.0, "max_mass": 180.0}), 1),
        (json!({"formula": "Xe*", "groups": ["carboxylic acid"]}), 0),
        (json!({"similar_to": "[Xe]CC", "min_similarity": 1.0}), 1),
    ] {
        assert_eq!(wanted(&filter), kept, "{filter}");
    }
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
    assert!(csv.starts_with("rank,id,label,score,gap,tied,duplicates,formula,mass\r\n1,"), "{csv}");
    assert_eq!(export("smiles").lines().count(), 7);
    let sdf = export("sdf");
    assert_eq!((sdf.matches("$$$$\n").count(), sdf.matches("V2000").count()), (7, 7), "{sdf}");
    // ids neither are formulas of a spreadsheet nor end records
    let rare = |format: &str| {
        let search = json!({"texts": [text], "filter": {"formula": "Xe*"}});
        let body = json!({"format": format, "search": search}).to_string();
        send(&served.address, "POST", "/api/export", "application/json", body.as_bytes()).body
    };
    // nine items a record, and a title that looks like one
    let csv = rare("csv");
    let sdf = rare("sdf");
    assert!(csv.contains(",'=1+1,C[Xe],"), "{csv}");
    let count = |begin: &str| sdf.split('\n').filter(|line| line.starts_with(begin)).count();
    assert_eq!((count("$$$$"), count("> <"), sdf.lines().count()), (5, 46, 5 * 33 + 35), "{sdf}");
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
