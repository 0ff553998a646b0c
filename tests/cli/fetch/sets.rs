//! Tables of data sets, and what is trained on them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use dsokr::fetch::{Network, Table, hub};
use dsokr::molecule::Molecule;

use super::{Asked, PLAIN, Server, fetch, send, send_part, sha256, table, unchecked};
use crate::sandbox::Sandbox;

/// The official files of ChEBI-20, cut down, become the tables of the other configurations.
#[test]
fn chebi_20_is_trained_on_in_both_layouts() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("mine")).unwrap();
    let mut next = 0;
    for (own, smiles, count) in
        [("training", "train", 40), ("val", "validation", 8), ("test", "test", 8)]
    {
        let mut rows = String::new();
        let mut table = "CID\tSMILES\tdescription\n".to_owned();
        for id in next..next + count {
            let carbons = id % 9 + 1;
            let text = format!("An alcohol with \"{id}\" and {} carbons.", id % 9 + 1);
            rows += &format!("{id}\t{} {}.5 1\t{text}\n", id % 5, id % 7);
            table += &format!("{id}\t{}O\t{text}\n", "C".repeat(carbons));
        }
        next += count;
        sandbox.write(&format!("mine/{own}.txt"), &rows);
        sandbox.write(&format!("mine/smiles-{smiles}.txt"), &table);
    }
    unchecked(&sandbox);
    sandbox.succeed(&["fetch", "chebi20", "--from", "mine", "--table", "sets.toml"]);
    let molecules = sandbox.read("data/chebi20/molecules.tsv");
    assert!(molecules.starts_with("cid\tsmiles\tcandidate\n0\tCO\t1\n1\tCCO\t1\n"), "{molecules}");
    assert_eq!(molecules.lines().count(), 57);
    let test = sandbox.read("data/chebi20/test.tsv");
    assert!(test.starts_with("cid\tdescription\n48\tAn alcohol with \"48\""), "{test}");
    let encoder = "[sketch]\nsize = 3\n[encoder]\nkind = \"ngram-bag\"\nhidden = [4]\n[training]\nepochs = 2\n\
                   [evaluation]\nsplit = \"test\"\n";
    let tables = format!(
        "[data]\nfolder = \"chebi20\"\nid = \"cid\"\nvalidation = \"val.tsv\"\ntest = \"test.tsv\"\n[output]\ntable = \
         \"molecules.tsv\"\nid = \"cid\"\nlabel = \"smiles\"\ncandidate = {{ column = \"candidate\" }}\nfeatures = {{ kind = \
         \"file\", file = \"mol2vec.safetensors\", key = \"mol2vec\" }}\nkernel = {{ name = \"cosine\" }}\n{encoder}"
    );
    let official = format!(
        "[data]\nsource = \"official\"\nfolder = \"chebi20-official\"\ntest = \"test.txt\"\n[output]\nkernel = {{ name = \
         \"cosine\" }}\n{encoder}"
    );
    sandbox.write("tables.toml", &tables);
    sandbox.write("official.toml", &official);
    let tables = sandbox.train("tables.toml", &[]);
    let official = sandbox.train("official.toml", &[]);
    assert_eq!(tables["mrr"], official["mrr"]);
    assert_eq!((&tables["queries"], &tables["candidates"]), (&8.into(), &56.into()));
}

/// A library of 40 alcohols and ethers, each with two collision energies, in the layout of MassBank's MSP file.
fn library() -> String {
    let mut text = String::new();
    for (at, smiles) in
        (0..40).map(|at| (at, format!("{}O{}", "C".repeat(at / 4 + 1), "C".repeat(at % 4))))
    {
        let mz = Molecule::parse(&smiles).unwrap().exact_mass() + 1.007276;
        let letters: String =
            (0..14).map(|place| char::from(b'A' + ((at >> place) & 1) as u8)).collect();
        for energy in [10, 40] {
            text += &format!(
                "Name: molecule {at}\nDB#: MSBNK-Test-{at}-{energy}\nInChIKey: {letters}-UHFFFAOYSA-N\nSMILES: \
                 {smiles}\nPrecursor_type: [M+H]+\nSpectrum_type: MS2\nPrecursorMZ: {mz:.4}\nInstrument_type: \
                 LC-ESI-QTOF\nIon_mode: POSITIVE\nNum Peaks: 3\n{:.4} {energy}\n{:.4} 50\n{mz:.4} 100\n\n",
                30.01 + at as f64 / 10.0,
                20.5 + energy as f64,
            );
        }
        // what is not trained on: a survey, a low resolution, a different ion, and no structure
        for (from, to) in [
            ("Spectrum_type: MS2", "Spectrum_type: MS"),
            ("LC-ESI-QTOF", "LC-ESI-QQ"),
            ("[M+H]+", "[M+Na]+"),
            ("SMILES: ", "Synon: "),
        ] {
            let first = text.split_inclusive("\n\n").next().unwrap().replacen(from, to, 1);
            text += &first;
        }
    }
    text
}

#[test]
fn massbank_becomes_the_files_of_its_configurations() {
    let sandbox = Sandbox::new();
    let server = Server::new(|_, _, stream| send(stream, "200 OK", "", library().as_bytes()));
    let text = include_str!("../../../crates/fetch/src/sets.toml");
    let start = text.find("[massbank]").unwrap();
    let own = &text[start..][..text[start..].find("\n[multi-target]").unwrap()];
    let own = own.lines().filter(|line| !line.starts_with("sha256"));
    let own = own.collect::<Vec<_>>().join("\n").replace("massbank.", "own.");
    let own = own.replacen("[massbank]", "[own]", 1);
    let url =
        "https://github.com/MassBank/MassBank-data/releases/download/2025.05.1/MassBank.msp_NIST";
    assert!(own.contains(url));
    sandbox.write("sets.toml", &own.replace(url, &format!("{}/file", server.address)));
    let fetched = fetch(&sandbox, &[]);
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
    let read = |name: &str| sandbox.read(&format!("root/massbank/{name}"));
    let keys = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("INCHIKEY="));
        lines.map(str::to_owned).collect()
    };
    let train = read("train.mgf");
    let validation = read("validation.mgf");
    let molecules = read("molecules.tsv");
    assert_eq!((keys(&train).len(), keys(&validation).len()), (35, 5));
    assert!(keys(&train).is_disjoint(&keys(&validation)));
    assert!(train.matches("MERGED=2").count() == 35 && train.contains("INSTRUMENT_TYPE=qtof"));
    let ids: BTreeSet<String> =
        molecules.lines().skip(1).map(|line| line.split('\t').next().unwrap().to_owned()).collect();
    assert_eq!(ids, keys(&train).union(&keys(&validation)).cloned().collect());
    // again, what is there is kept
    fs::write(sandbox.path("root/massbank/train.mgf"), "kept").unwrap();
    assert!(fetch(&sandbox, &[]).status.success());
    assert_eq!(read("train.mgf"), "kept");
    sandbox.write("root/massbank/train.mgf", &train);
    // the configuration that reads them, cut down to what forty molecules have
    let config = include_str!("../../../configs/massbank-best.toml")
        .replace("min_outputs = 8", "min_outputs = 1");
    let config = config
        .replace("min_outputs = 5", "min_outputs = 1")
        .replace("min_outputs = 3", "min_outputs = 1");
    let paragraphs = config.split_inclusive("\n\n").filter(|paragraph| {
        !["chains", "rings"].iter().any(|kind| paragraph.contains(&format!("name = \"{kind}\"")))
    });
    let config = paragraphs.collect::<String>().replace("size = 800", "size = 30");
    let sizes = ["size = 400", "size = 300", "size = 150"];
    let config = sizes.iter().fold(config, |text, size| text.replace(size, "size = 20"));
    let config = config.replace("folds = 8, held", "neighbours = 10, folds = 8, held");
    sandbox.write("config.toml", &config);
    sandbox.succeed(&["train", "config.toml", "--data", "root", "--out", "run"]);
    let found =
        sandbox.succeed(&["predict", "run", "root/massbank/validation.mgf", "--format", "tsv"]);
    assert!(found.starts_with("id\tprecursor_mz\trank\tcandidate\t"), "{found}");
}

#[test]
fn wrong_tables_are_refused() {
    let sandbox = Sandbox::new();
    for (more, expected) in [
        (format!("sha256 = \"abc\"\n{PLAIN}"), "64 hexadecimal digits"),
        (format!("git = \"{}g\"\n{PLAIN}", "0".repeat(39)), "own.files.git"),
        ("unpack = \"lha\"\nto = \"a\"".to_owned(), "lha"),
        (PLAIN.replace("own/", "/own/"), "own.files.to"),
    ] {
        table(&sandbox, "http://127.0.0.1", "/a", &more);
        let output = fetch(&sandbox, &[]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(expected), "{errors}");
    }
    table(&sandbox, "ftp://127.0.0.1", "/a", PLAIN);
    let output = fetch(&sandbox, &[]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("https:// or http://"));
    sandbox.fail(&["fetch", "own", "--timeout", "0"], 2, &["0.001 to 86400"]);
}

/// Trains an encoder of the hub at `endpoint`: the exit code, and what is printed.
fn train(
    sandbox: &Sandbox,
    endpoint: &str,
    folder: &str,
    out: &str,
) -> (Option<i32>, String, String) {
    train_with(sandbox, endpoint, folder, out, &[])
}

/// As [`train`], with environment variables.
fn train_with(
    sandbox: &Sandbox,
    endpoint: &str,
    folder: &str,
    out: &str,
    variables: &[(&str, &str)],
) -> (Option<i32>, String, String) {
    let folder = format!("encoder.folder={folder}");
    let set = ["--set", "training.epochs=1", "--json", "--out", out];
    let arguments = [&["train", "small.toml", "--set", &folder][..], &set].concat();
    let mut command = sandbox.command(&arguments);
    command.env("HF_ENDPOINT", endpoint).env("HF_HUB_CACHE", sandbox.path("cache"));
    command.env("HF_HOME", sandbox.path("hf"));
    let others =
        ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "HF_HUB_OFFLINE", "HF_TOKEN"];
    for key in others {
        command.env_remove(key);
    }
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// First versions of sentence-transformers put the transformer into a folder below the model's; RoBERTa's vocabulary
/// may be all that its tokenizer has.
#[test]
fn a_transformer_in_a_folder_of_its_own_comes_from_the_hub() {
    let sandbox = Sandbox::new();
    crate::pretrained::model(&sandbox);
    // two of the twelve positions precede the padding's
    let config = sandbox.read("small.toml");
    assert!(config.contains("max_length = 12"));
    sandbox.write("small.toml", &config.replace("max_length = 12", "max_length = 10"));
    let model = sandbox.path("model");
    let below = model.join("0_Transformer");
    fs::create_dir(&below).unwrap();
    let config = sandbox.read("model/config.json");
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    config["model_type"] = "roberta".into();
    sandbox.write("model/0_Transformer/config.json", &config.to_string());
    let special = ["<s>", "<pad>", "</s>", "<unk>"].map(String::from);
    let letters = ('a'..='p').chain(['\u{120}']).map(String::from);
    let tokens: BTreeMap<String, usize> = special.into_iter().chain(letters).zip(0..).collect();
    sandbox.write("model/0_Transformer/vocab.json", &serde_json::json!(tokens).to_string());
    sandbox.write("model/0_Transformer/merges.txt", "#version: 0.2\n");
    fs::rename(model.join("model.safetensors"), below.join("model.safetensors")).unwrap();
    fs::remove_file(model.join("config.json")).unwrap();
    fs::remove_file(model.join("vocab.txt")).unwrap();
    let module = |path: &str, kind: &str| serde_json::json!({"path": path, "type": format!("sentence_transformers.models.{kind}")});
    let modules = [module("0_Transformer", "Transformer"), module("1_Pooling", "Pooling")];
    sandbox.write("model/modules.json", &serde_json::json!(modules).to_string());
    fs::create_dir(model.join("1_Pooling")).unwrap();
    sandbox.write("model/1_Pooling/config.json", "{\"pooling_mode_cls_token\": true}");
    let server = Server::new(move |asked, _, stream| {
        let name = asked.path.strip_prefix("/owner/below/resolve/main/").unwrap_or("none");
        match fs::read(model.join(name)) {
            Ok(bytes) => send_part(stream, asked, "\"a\"", &bytes, usize::MAX),
            Err(_) => send(stream, "404 Not Found", "Content-Length: 0\r\n", b""),
        }
    });
    let (code, first, errors) = train(&sandbox, &server.address, "hub:owner/below", "a");
    assert_eq!(code, Some(0), "{errors}");
    let snapshot = sandbox.path("cache/models--owner--below/snapshots/main");
    assert!(snapshot.join("0_Transformer/merges.txt").is_file());
    let (code, again, errors) = train(&sandbox, "http://127.0.0.1:1", "hub:owner/below", "b");
    assert_eq!((code, &again), (Some(0), &first), "{errors}");
    let (_, folder, errors) = train(&sandbox, "http://127.0.0.1:1", "model", "c");
    assert_eq!(folder, first, "{errors}");
}

/// A model of the hub is downloaded once into the cache, with weights from a different address, and trains as the
/// same folder does.
#[test]
fn a_pretrained_encoder_comes_from_the_hub() {
    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
    let sandbox = Sandbox::new();
    crate::pretrained::model(&sandbox);
    let model = sandbox.path("model");
    let weights = fs::read(model.join("model.safetensors")).unwrap();
    let module = |at: usize, path: &str, kind: &str| {
        let class = format!("sentence_transformers.models.{kind}");
        serde_json::json!({"idx": at, "name": at.to_string(), "path": path, "type": class})
    };
    let modules = [
        module(0, "", "Transformer"),
        module(1, "1_Pooling", "Pooling"),
        module(2, "2_Normalize", "Normalize"),
    ];
    sandbox.write("model/modules.json", &serde_json::json!(modules).to_string());
    fs::create_dir(model.join("1_Pooling")).unwrap();
    sandbox.write("model/1_Pooling/config.json", "{\"pooling_mode_cls_token\": true}");
    let server = Server::new(move |asked, before, stream| {
        let name = asked.path.strip_prefix("/owner/tiny/resolve/main/").unwrap_or("blob");
        let known = asked.path.starts_with("/owner/tiny/resolve/main/") || asked.path == "/blob";
        let file = if name == "blob" { "model.safetensors" } else { name };
        let Some(bytes) = fs::read(model.join(file)).ok().filter(|_| known) else {
            return send(stream, "404 Not Found", "Content-Length: 0\r\n", b"");
        };
        let commit = format!("X-Repo-Commit: {COMMIT}\r\n");
        match (name, asked.method.as_str()) {
            ("model.safetensors", _) => {
                let tag = format!("X-Linked-ETag: \"{}\"\r\n", sha256(&bytes));
                let more = "Location: /blob\r\nContent-Length: 0\r\n";
                send(stream, "302 Found", &(commit + &tag + more), b"");
            }
            (_, "HEAD") => {
                let length = format!("Content-Length: {}\r\n", bytes.len());
                send(stream, "200 OK", &(commit + &length), b"");
            }
            // the first answers are damaged
            ("config.json", _) if before == 0 => {
                let page = b"<html>log in first</html>";
                send_part(stream, asked, "\"a\"", page, usize::MAX);
            }
            ("blob", _) if before == 0 => {
                send_part(stream, asked, "\"b\"", &vec![1; bytes.len()], usize::MAX);
            }
            _ => send_part(stream, asked, "\"a\"", &bytes, usize::MAX),
        }
    });
    let train = |endpoint: &str, folder: &str, out: &str| train(&sandbox, endpoint, folder, out);
    let (code, _, errors) = train(&server.address, "hub:owner/tiny", "a");
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("config.json") && !sandbox.path("a").exists(), "{errors}");
    let (code, _, errors) = train(&server.address, "hub:owner/tiny", "a");
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("SHA-256") && errors.contains("model.safetensors"), "{errors}");
    let (code, _, errors) = train(&server.address, "hub:owner/none", "a");
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("404") && errors.contains("not in the cache"), "{errors}");
    let (code, found, errors) = train(&server.address, "hub:owner/tiny", "a");
    assert_eq!(code, Some(0), "{errors}");
    let cache = sandbox.path("cache/models--owner--tiny");
    assert_eq!(fs::read_to_string(cache.join("refs/main")).unwrap(), COMMIT);
    let kept = fs::read(cache.join("snapshots").join(COMMIT).join("model.safetensors")).unwrap();
    assert!(kept == weights);
    assert_eq!(fs::read_dir(cache.join("snapshots")).unwrap().count(), 1);
    let readout = fs::read_to_string(sandbox.path("a/sentence-transformers.json")).unwrap();
    assert!(readout.contains("\"first\"") && readout.contains("normalize"), "{readout}");
    // nobody answers: the cache is enough, and a model that is not there is named with what to do
    let (code, again, errors) = train("http://127.0.0.1:1", "hub:owner/tiny", "b");
    assert_eq!((code, &again), (Some(0), &found), "{errors}");
    // a snapshot of which nobody knows whether it has modules, as another program leaves it
    let snapshot = cache.join("snapshots").join(COMMIT);
    fs::remove_file(snapshot.join("modules.json")).unwrap();
    let (code, _, errors) = train("http://127.0.0.1:1", "hub:owner/tiny", "e");
    assert_eq!(code, Some(0), "{errors}");
    assert!(
        errors.contains("modules.json") && errors.contains("as it is in the cache"),
        "{errors}"
    );
    // a process that may not write there uses it too
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let allow = |mode| fs::set_permissions(&cache, fs::Permissions::from_mode(mode)).unwrap();
        fs::remove_file(cache.join(".lock")).unwrap();
        allow(0o555);
        // root may write everywhere
        let is_root = fs::write(cache.join("written"), "").is_ok();
        if !is_root {
            let (code, _, errors) = train(&server.address, "hub:owner/tiny", "g");
            assert_eq!(code, Some(0), "{errors}");
            assert!(errors.contains(".lock: ") && errors.contains("as it is in the cache"));
        }
        allow(0o755);
        // whoever the user is, a folder is opened for reading alone, as the file of a different user is
        fs::create_dir(cache.join(".lock")).unwrap();
    }
    // it is completed without the weights, which are there
    let asked = server.asked().len();
    let (code, found_again, errors) = train(&server.address, "hub:owner/tiny", "f");
    assert_eq!((code, &found_again), (Some(0), &found), "{errors}");
    assert!(snapshot.join("modules.json").is_file());
    assert!(server.asked()[asked..].iter().all(|line| !line.contains("model.safetensors")));
    let (code, _, errors) = train("http://127.0.0.1:1", "hub:owner/other", "c");
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("Without network, encoder.folder names a folder"), "{errors}");
    let (_, folder, _) = train("http://127.0.0.1:1", "model", "d");
    assert_eq!(folder, found);
}

/// Answers requests for the files of a folder as those of `hub:owner/NAME`, and 404 for others.
fn send_of_folder(stream: &mut TcpStream, asked: &Asked, name: &str, folder: &Path) {
    let prefix = format!("/owner/{name}/resolve/main/");
    let bytes = asked.path.strip_prefix(&prefix).and_then(|file| fs::read(folder.join(file)).ok());
    match bytes {
        Some(bytes) => send_part(stream, asked, "\"a\"", &bytes, usize::MAX),
        None => send(stream, "404 Not Found", "Content-Length: 0\r\n", b""),
    }
}

/// The index says which shards there are; a snapshot that lacks one is completed.
#[test]
fn weights_in_shards_come_from_the_hub() {
    let sandbox = Sandbox::new();
    crate::pretrained::model(&sandbox);
    let (_, whole, errors) = train(&sandbox, "http://127.0.0.1:1", "model", "a");
    assert!(!whole.is_empty(), "{errors}");
    let model = sandbox.path("model");
    let shard = "model-00001-of-00001.safetensors";
    fs::rename(model.join("model.safetensors"), model.join(shard)).unwrap();
    let index = model.join("model.safetensors.index.json");
    let map = serde_json::json!({"weight_map": {"embeddings.LayerNorm.bias": shard}});
    fs::write(&index, map.to_string()).unwrap();
    let server = {
        let model = model.clone();
        Server::new(move |asked, _, stream| send_of_folder(stream, asked, "shards", &model))
    };
    let (code, found, errors) = train(&sandbox, &server.address, "hub:owner/shards", "b");
    assert_eq!((code, &found), (Some(0), &whole), "{errors}");
    let snapshot = sandbox.path("cache/models--owner--shards/snapshots/main");
    assert!(snapshot.join("model.safetensors.index.json").is_file());
    let (code, again, errors) = train(&sandbox, "http://127.0.0.1:1", "hub:owner/shards", "c");
    assert_eq!((code, &again), (Some(0), &whole), "{errors}");
    fs::remove_file(snapshot.join(shard)).unwrap();
    let (code, again, errors) = train(&sandbox, &server.address, "hub:owner/shards", "d");
    assert_eq!((code, &again), (Some(0), &whole), "{errors}");
    assert!(snapshot.join(shard).is_file());

    // an index that names what the model does not have
    fs::remove_dir_all(sandbox.path("cache")).unwrap();
    fs::remove_file(model.join(shard)).unwrap();
    let (code, _, errors) = train(&sandbox, &server.address, "hub:owner/shards", "e");
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains(&format!("the model does not have {shard}")), "{errors}");
}

#[test]
fn a_hub_that_has_no_time_is_asked_again() {
    let sandbox = Sandbox::new();
    crate::pretrained::model(&sandbox);
    let model = sandbox.path("model");
    let server = Server::new(move |asked, before, stream| {
        if asked.path.ends_with("/config.json") && asked.method == "HEAD" && before == 0 {
            let headers = "Retry-After: 2\r\nContent-Length: 0\r\n";
            return send(stream, "429 Too Many Requests", headers, b"");
        }
        send_of_folder(stream, asked, "busy", &model);
    });
    let (code, _, errors) = train(&sandbox, &server.address, "hub:owner/busy", "a");
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("429 Too Many Requests; it is tried again in 2 seconds"), "{errors}");
    let request = "HEAD /owner/busy/resolve/main/config.json";
    assert_eq!(server.asked()[..2], [request, request]);
}

/// Two trainings that begin at the same moment download each file once: one of them waits.
#[test]
fn two_trainings_download_a_model_of_the_hub_once() {
    let sandbox = Sandbox::new();
    crate::pretrained::model(&sandbox);
    let model = sandbox.path("model");
    let both = Barrier::new(2);
    let server = Server::new(move |asked, before, stream| {
        // each of the two asks for this first, and none is answered before the other one asks
        if asked.method == "HEAD" && asked.path.ends_with("/main/config.json") && before < 2 {
            both.wait();
        }
        send_of_folder(stream, asked, "twice", &model);
    });
    let start = |out: &'static str| {
        let (sandbox, server) = (&sandbox, &server);
        move || train(sandbox, &server.address, "hub:owner/twice", out)
    };
    let [first, second] = thread::scope(|scope| {
        let runs = [scope.spawn(start("a")), scope.spawn(start("b"))];
        runs.map(|run| run.join().unwrap())
    });
    for (code, _, errors) in [&first, &second] {
        assert_eq!(*code, Some(0), "{errors}");
    }
    assert_eq!(first.1, second.1);
    let asked = server.asked();
    let mut files: Vec<_> = asked.iter().filter(|line| line.starts_with("GET ")).collect();
    assert!(files.len() >= 3, "{asked:?}");
    files.sort();
    assert!(files.windows(2).all(|pair| pair[0] != pair[1]), "{asked:?}");
    let left = fs::read_dir(sandbox.path("cache/models--owner--twice/snapshots")).unwrap();
    assert_eq!(left.count(), 1);
}

/// Beside its model, and alone.
#[test]
fn an_adapter_of_the_hub_is_refused_before_the_weights() {
    let sandbox = Sandbox::new();
    crate::pretrained::model(&sandbox);
    let model = sandbox.path("model");
    let adapter = serde_json::json!({"base_model_name_or_path": "owner/base"});
    sandbox.write("model/adapter_config.json", &adapter.to_string());
    let server = {
        let model = model.clone();
        Server::new(move |asked, _, stream| send_of_folder(stream, asked, "adapted", &model))
    };
    for out in ["beside", "alone"] {
        let (code, _, errors) = train(&sandbox, &server.address, "hub:owner/adapted", out);
        assert_eq!(code, Some(1), "{errors}");
        assert!(errors.contains("an adapter of owner/base: merge it"), "{errors}");
        for file in ["config.json", "vocab.txt", "model.safetensors"] {
            let _ = fs::remove_file(model.join(file));
        }
    }
    assert!(server.asked().iter().all(|line| !line.contains("model.safetensors")));
}

/// It has a vocabulary of SentencePiece alone, as many of T5.
#[test]
fn a_model_of_the_hub_without_a_tokenizer_says_what_makes_one() {
    let sandbox = Sandbox::new();
    crate::pretrained::model(&sandbox);
    let model = sandbox.path("model");
    fs::rename(model.join("vocab.txt"), model.join("spiece.model")).unwrap();
    let server =
        Server::new(move |asked, _, stream| send_of_folder(stream, asked, "pieces", &model));
    let (code, _, errors) = train(&sandbox, &server.address, "hub:owner/pieces", "run");
    assert_eq!(code, Some(1), "{errors}");
    let remedy = "from spiece.model transformers makes a tokenizer.json: \
                  `AutoTokenizer.from_pretrained(…).save_pretrained(…)`";
    assert!(errors.contains(remedy), "{errors}");
}

/// The token opens a model of the hub, and no other server gets it.
#[test]
fn a_token_is_sent_to_the_hub_alone() {
    const SECRET: &str = "hf_secretOfTheTest";
    let sandbox = Sandbox::new();
    crate::pretrained::model(&sandbox);
    let model = sandbox.path("model");
    let weights = fs::read(model.join("model.safetensors")).unwrap();
    let blobs = Server::new(move |asked, _, stream| {
        if asked.headers.contains_key("authorization") {
            send(stream, "400 Bad Request", "Content-Length: 0\r\n", b"");
        } else {
            send_part(stream, asked, "\"b\"", &weights, usize::MAX);
        }
    });
    let blob = format!("Location: {}/blob\r\nContent-Length: 0\r\n", blobs.address);
    let server = Server::new(move |asked, _, stream| {
        let token = asked.headers.get("authorization").map(String::as_str);
        if token.is_none_or(|token| !token.eq_ignore_ascii_case(&format!("Bearer {SECRET}"))) {
            send(stream, "401 Unauthorized", "Content-Length: 0\r\n", b"");
        } else if asked.path.ends_with("/model.safetensors") {
            send(stream, "302 Found", &blob, b"");
        } else {
            send_of_folder(stream, asked, "gated", &model);
        }
    });
    let train = |out: &str, variables: &[(&str, &str)]| {
        let found = train_with(&sandbox, &server.address, "hub:owner/gated", out, variables);
        assert!(!found.1.contains(SECRET) && !found.2.contains(SECRET), "{}", found.2);
        found
    };
    let (code, _, errors) = train("a", &[]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("401") && errors.contains("set HF_TOKEN"), "{errors}");
    let (code, _, errors) = train("a", &[("HF_TOKEN", "two words")]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("characters that no token has"), "{errors}");
    // the finest log has nothing of it either
    let (code, _, errors) = train("a", &[("HF_TOKEN", SECRET), ("DSOKR_LOG", "info,ureq=trace")]);
    assert_eq!(code, Some(0), "{errors}");
    // as huggingface_hub stores it
    fs::remove_dir_all(sandbox.path("cache")).unwrap();
    fs::create_dir(sandbox.path("hf")).unwrap();
    sandbox.write("hf/token", &format!("{SECRET}\n"));
    let (code, _, errors) = train("b", &[]);
    assert_eq!(code, Some(0), "{errors}");
}

#[test]
fn the_built_in_table_is_valid() {
    let table = Table::with(None).unwrap();
    let names = ["chebi20", "qm9", "bibtex", "bookmarks", "mediamill", "massspecgym", "massbank"];
    for name in names.into_iter().chain(["multi-target", "label-ranking", "boston", "usps"]) {
        let set = table.get(name).unwrap();
        assert!(!set.licence.is_empty() && set.citation.len() > 20, "{name}");
        for file in &set.files {
            assert!(file.url.starts_with("https://"), "{name}: {}", file.url);
            assert!(file.sha256.is_some() || file.git.is_some(), "{name}: {}", file.name);
        }
    }
    let error = table.get("chebi").unwrap_err().to_string();
    assert!(error.contains("\"chebi\"") && error.contains("chebi20"), "{error}");
}

#[test]
fn names_of_models_stay_in_the_cache() {
    for wrong in ["", "a/b/c", "../x", "a/..", "a b", "a@", "a/b@../c", "/a", "a/.b"] {
        let error = hub::folder(wrong, &Network::default()).unwrap_err().to_string();
        assert!(error.contains("encoder.folder") && error.contains("hub:OWNER/NAME"), "{error}");
    }
}
