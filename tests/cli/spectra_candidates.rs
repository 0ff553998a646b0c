//! Molecules ranked for mass spectra, among candidates of each one's own.

use std::fmt::Write;
use std::process::Command;

use dsokr::Member;
use dsokr::molecule::Molecule;

use crate::sandbox::{Sandbox, json, number};
#[cfg(feature = "serve")]
use crate::served::Served;
use crate::spectra::{molecules, sandbox};

#[test]
fn spectra_are_searched_predicted_and_ranked_among_lists() {
    let sandbox = sandbox();
    sandbox.train("bins.toml", &[]);
    let mgf = "BEGIN IONS\nPEPMASS=76.0525\n31.0184 1\n31.0184 1\n34.0157 1\n45.0341 1\nEND IONS";
    let line = "76.0525 31.0184:1 31.0184:1 34.0157:1 45.0341:1";
    let search = |query: &str| {
        sandbox.succeed(&["search", "runs/bins", query, "--top", "3", "--candidates", "all"])
    };
    assert_eq!(search(mgf), search(line));
    assert!(search(line).contains("OCO"), "{}", search(line));
    let file = "data/spectra/validation.mgf";
    let predicted =
        sandbox.succeed(&["predict", "runs/bins", file, "--id", "identifier", "--top", "1"]);
    assert_eq!(predicted.lines().count(), 17);
    assert_eq!(json(predicted.lines().next().unwrap())["id"], "M3-a");
    let says = [
        "the spectrum = \"hello\" (the precursor's m/z \"hello\" is not a number above 0): expected the precursor's m/z and \
         the peaks, such as \"301.0712 153.0182:1 229.0495:0.3\", or an entry of an MGF, MSP or MassBank file",
    ];
    sandbox.fail(&["search", "runs/bins", "hello"], 2, &says);

    let among = ["evaluate", "runs/bins", "--candidates", "lists.jsonl", "--json"];
    let all = json(&sandbox.succeed(&among));
    let some = json(&sandbox.succeed(&[&among[..], &["--least-candidates", "2"]].concat()));
    assert_eq!((&all["queries"], &some["queries"]), (&17.into(), &9.into()));
    let rest = 8.0 + 9.0 * number(&some, "mrr");
    assert!((17.0 * number(&all, "mrr") - rest).abs() < 1e-9, "{all} {some}");
    let queries = ["--queries", file, "--least-candidates", "3"];
    sandbox.fail(&[&among[..], &queries].concat(), 2, &["least-candidates = 3"]);
}

#[test]
fn molecules_beyond_the_candidates_have_the_precursors_mass_or_the_formula() {
    let sandbox = sandbox();
    sandbox.train("bins.toml", &[]);
    let beyond = "--beyond=beam=5,starts=5,rounds=3";
    let found = |ion: &str, rule: &str| {
        let query = format!("{ion} 31.0184:1 45.0341:1");
        let search = ["search", "runs/bins", &query, "--candidates", rule, "--top", "3", "--json"];
        let answer = json(&sandbox.succeed(&[&search[..], &[beyond]].concat()));
        answer["beyond"].as_array().unwrap().clone()
    };
    // no candidate has the last mass, so that nothing that is met may have it
    for (ion, rule, formula) in [
        ("63.04406", "mass:10", "C2H6O2"),
        ("63.1 formula=C2H6O2", "formula", "C2H6O2"),
        ("119.10665", "mass:10", "C6H14O2"),
    ] {
        let all = found(ion, rule);
        assert!(!all.is_empty(), "{ion}");
        for molecule in all {
            let has = Molecule::parse(molecule["label"].as_str().unwrap()).unwrap().formula();
            assert_eq!(molecule["kept"], has == formula, "{ion} {molecule}");
            assert!(has == formula || formula == "C6H14O2", "{ion} {molecule}");
        }
    }
}

#[test]
fn candidates_are_those_of_the_precursors_mass_or_of_the_formula() {
    let sandbox = sandbox();
    sandbox.train("bins.toml", &[]);
    // ethylene glycol of 62.036779 Da (RDKit), which the 84 molecules have once
    let peaks = "31.0184:1 45.0341:1";
    let glycol = |ion: &str| format!("{ion} {peaks}");
    let search = |query: &str, rule: &str, top: &str| {
        let query = ["search", "runs/bins", query, "--candidates", rule, "--top", top, "--json"];
        json(&sandbox.succeed(&query))["candidates"].as_array().unwrap().clone()
    };
    for (ion, rule) in [
        ("63.04406", "mass:5"),
        ("63.04406 adduct=[M+H]+", "mass:5"),
        ("85.02600 adduct=[M+Na]+", "mass:5"),
        ("147.06277 adduct=[2M+Na]+", "mass:5"),
        ("61.02950 adduct=[M-H]- formula=C2H6O2", "mass:5"),
        ("63.1 formula=C2H6O2", "formula"),
    ] {
        let hits = search(&glycol(ion), rule, "10");
        assert_eq!(hits.len(), 1, "{ion} {hits:?}");
        assert_eq!((&hits[0]["label"], &hits[0]["rank"]), (&"OCCO".into(), &1.into()));
    }
    // of all candidates, those of the formula keep their order
    let all = search(&glycol("90.05 formula=C3H8O2"), "mass:100000", "84");
    let own = search(&glycol("90.05 formula=C3H8O2"), "formula", "84");
    assert!(own.len() == 1 && all.len() > 5, "{own:?} {all:?}");
    assert!(all.is_sorted_by_key(|hit| -number(hit, "score")));
    let none = search(&glycol("300.1"), "mass:1", "3");
    assert!(none.is_empty(), "{none:?}");
    let fail = |query: &str, rule: &str, says: &str| {
        sandbox.fail(&["search", "runs/bins", query, "--candidates", rule], 2, &[says]);
    };
    fail(
        &glycol("63.0"),
        "formula",
        "the spectrum's formula = absent: expected a formula such as C9H8O4",
    );
    // of an unknown adduct, candidates of every mass
    let all = search(&glycol("63.0 adduct=[M+Xx]+"), "mass:5", "84");
    let every = search(&glycol("63.0 adduct=[M+Xx]+"), "all", "84");
    assert!(all.len() > 50 && all == every);
    let both = search(&glycol("63.04406 adduct=[M+Xx]+/[M+H]+"), "mass:5", "84");
    assert_eq!(both, all);
    let either = search(&glycol("63.04406 adduct=[M+Na]+/[M+H]+"), "mass:5", "84");
    assert_eq!(either.len(), 1);
    fail(&glycol("63.0"), "mass:x", "expected mass:PPM with a number of millionths");
    // by default, those of the mass
    let default = |query: &str| sandbox.succeed(&["search", "runs/bins", query]);
    let found = default(&glycol("63.04406"));
    assert!(found.contains("OCCO") && found.lines().count() == 3, "{found}");
    let count =
        "1 of 84 candidates has the precursor's mass (10 ppm); --candidates all ranks every one\n";
    assert!(found.starts_with(count), "{found}");
    let near =
        sandbox.succeed(&["search", "runs/bins", &glycol("90.05"), "--candidates", "mass:100000"]);
    assert!(near.contains("candidates have the precursor's mass (100000 ppm)"), "{near}");
    let found = default(&glycol("61.02950 adduct=[M-H]-"));
    assert!(found.contains("OCCO"), "{found}");
    let none = default(&glycol("300.1"));
    assert!(
        none.contains("caution: no candidate has an ion within 10 ppm of the precursor"),
        "{none}"
    );
    let query = glycol("63.1 formula=C30H2");
    let arguments = |rule| ["search", "runs/bins", &query[..], "--candidates", rule];
    let lacking = sandbox.run(&arguments("formula"));
    let [said, logged] =
        [lacking.stdout, lacking.stderr].map(|text| String::from_utf8(text).unwrap());
    let says = "no candidate has the formula C30H2; with the candidates \"all\"";
    assert!(lacking.status.success() && said.contains(&format!("caution: {says}")), "{said}");
    assert!(!logged.contains(says), "it is said once: {logged}");
    assert!(!sandbox.succeed(&arguments("all")).contains("caution"));
    let unknown = default(&glycol("63.0 adduct=[M+?]+"));
    assert!(unknown.contains("caution: the adduct \"[M+?]+\" is not known"), "{unknown}");

    let ion = |name: &str, key: &str, mz: f64| {
        format!(
            "BEGIN IONS\nTITLE={name}\nPEPMASS={mz}\nINCHIKEY={key}\nFORMULA=C2H6O2\n31.0184 1\n45.0341 1\nEND IONS\n"
        )
    };
    sandbox.write("q.mgf", &(ion("a", "M1", 63.04406) + &ion("b", "M1", 300.1)));
    let predict = ["predict", "runs/bins", "q.mgf", "--id", "identifier", "--candidates", "mass:5"];
    let found = sandbox.succeed(&predict);
    let hits = |line: &str| json(line)["candidates"].as_array().unwrap().len();
    assert_eq!(found.lines().map(hits).collect::<Vec<_>>(), [1, 0]);
    let competing = |line: &str| number(&json(line), "competing");
    assert_eq!(found.lines().map(competing).collect::<Vec<_>>(), [1.0, 0.0]);
    // a table has a row for each query, with its precursor
    let table = |format: &str| sandbox.succeed(&[&predict[..], &["--format", format]].concat());
    let tsv = table("tsv");
    let rows: Vec<Vec<&str>> = tsv.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows[0][..4], ["id", "precursor_mz", "rank", "candidate"]);
    assert_eq!(rows[1][..3], ["a", "63.04406", "1"]);
    assert_eq!(rows[0].last(), Some(&"competing"));
    assert_eq!(rows[2], ["b", "300.1", "", "", "", "", "", "", "", "0"]);
    assert_eq!(table("csv"), tsv.replace('\t', ","));
    sandbox.write("none.mgf", "# nothing\n");
    let none = "no tandem spectra; at least one is needed";
    sandbox.fail(&["predict", "runs/bins", "none.mgf"], 2, &[none]);
    // one that cannot be used is skipped and named, and the others are answered
    let wrong = "BEGIN IONS\nTITLE=c\nPEPMASS=63.04\nEND IONS\n";
    sandbox.write("q2.mgf", &(wrong.to_owned() + &ion("a", "M1", 63.04406)));
    let output = sandbox.command(&["predict", "runs/bins", "q2.mgf"]).output().unwrap();
    let warned = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && output.stdout.iter().filter(|&&byte| byte == b'\n').count() == 1
    );
    assert!(warned.contains("q2.mgf:1: spectrum \"c\": a spectrum without peaks"), "{warned}");
    sandbox.write("wrong.mgf", wrong);
    sandbox.fail(&["predict", "runs/bins", "wrong.mgf"], 2, &["no row of the file can be used"]);
    // so is one without a formula where candidates are those of the formula, and a line that is no spectrum
    let named = ion("a", "M1", 63.04406);
    let unknown = ion("c", "M1", 63.04406).replace("C2H6O2", "glycol");
    sandbox.write("q3.mgf", &(unknown + &named + &named.replace("FORMULA=C2H6O2\n", "")));
    sandbox.write("q3.txt", &format!("hello\n{}\n", glycol("63.04406 formula=C2H6O2")));
    let formula = "the spectrum's formula = ";
    for (file, says) in [
        ("q3.mgf", &["q3.mgf:1: ", formula, "\"glycol\"", "q3.mgf: 2 of 3 rows are skipped"][..]),
        ("q3.txt", &["q3.txt:1: ", "\"hello\"", "q3.txt: 1 of 2 rows are skipped"]),
    ] {
        let predict = ["predict", "runs/bins", file, "--candidates", "formula"];
        let output = sandbox.command(&predict).output().unwrap();
        let warned = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{warned}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1, "{warned}");
        for part in says {
            assert!(warned.contains(part), "no {part:?} in: {warned}");
        }
        let stopped = [&predict[..], &["--on-bad-row", "stop"]].concat();
        sandbox.fail(&stopped, 2, &says[..2]);
    }
    // a file of spectra is no file of lines, whatever its name
    let massbank = "ACCESSION: a\nMS$FOCUSED_ION: PRECURSOR_M/Z 63.04406\nPK$PEAK: m/z int.\n  31.0184 1\n  45.0341 1\n//\n";
    sandbox.write("records.txt", massbank);
    sandbox.write("spectra.txt", &(String::from("\u{feff}# GNPS\n") + &ion("a", "M1", 63.04406)));
    sandbox.write("library.txt", "Name: a\nPrecursorMZ: 63.04406\nNum Peaks: 1\n45.0341 1\n");
    sandbox.write("compound.ms", ">compound a\n>parentmass 63.04406\n");
    sandbox.write("scans.mzXML", "<?xml version=\"1.0\"?>\n<mzXML>\n</mzXML>\n");
    let object = "{\"precursor_mz\": 63.04406, \"peaks_json\": [[45.0341, 1]]}";
    sandbox.write("library.json", &format!("[{object}]\n"));
    for (file, says) in [
        ("records.txt", "let its name end with .massbank, or use --input massbank"),
        ("spectra.txt", "let its name end with .mgf, or use --input mgf"),
        ("library.txt", "let its name end with .msp, or use --input msp"),
        (
            "compound.ms",
            "files of spectra that are read are .mgf, .msp, .massbank, .mzml; of what SIRIUS",
        ),
        ("scans.mzXML", "msconvert --mzML"),
        ("library.json", "the name ends with .jsonl"),
    ] {
        let predict = ["predict", "runs/bins", file, "--candidates", "mass:5"];
        sandbox.fail(&predict, 2, &[file, "the file begins with", says]);
        sandbox.fail(&[&predict[..], &["--id", "identifier"]].concat(), 2, &[says]);
    }
    sandbox.write("library.jsonl", &format!("{object}\n"));
    let read = ["predict", "runs/bins", "library.jsonl", "--candidates", "mass:5"];
    assert_eq!(sandbox.succeed(&read).lines().map(hits).collect::<Vec<_>>(), [1]);
    let read = ["predict", "runs/bins", "records.txt", "--candidates", "mass:5"];
    let read = sandbox.succeed(&[&read[..], &["--input", "massbank"]].concat());
    assert_eq!(read.lines().map(hits).collect::<Vec<_>>(), [1]);
    let evaluate = ["evaluate", "runs/bins", "--queries", "q.mgf", "--json", "--candidates"];
    sandbox.fail(
        &[&evaluate[..], &["mass:5"]].concat(),
        2,
        &["the candidates of query \"b\" = none", "--least-candidates 1"],
    );
    let found = [&evaluate[..], &["mass:5", "--least-candidates", "1"]].concat();
    assert_eq!(json(&sandbox.succeed(&found))["queries"], 1);
    assert_eq!(json(&sandbox.succeed(&[&evaluate[..], &["formula"]].concat()))["mrr"], 1.0);
    #[cfg(feature = "serve")]
    {
        let served = Served::start(&sandbox, &["runs/bins"]);
        let query = serde_json::json!({"texts": [glycol("63.04406")], "candidates": "mass:5"});
        let found = &served.ask("/api/search", &query)["answers"][0];
        assert!(
            found["hits"].as_array().unwrap().len() == 1 && found["confidence"].is_null(),
            "{found}"
        );
        // sets among them are calibrated on validation queries among theirs, as the command does
        let line = glycol("90.05 formula=C3H8O2");
        let query = serde_json::json!({"texts": [line], "candidates": "formula", "coverage": 0.6});
        let found = served.ask("/api/search", &query);
        sandbox.write("line.txt", &line);
        let command = ["predict", "runs/bins", "line.txt", "--candidates", "formula"];
        let command = [&command[..], &["--coverage", "0.6"]].concat();
        let annotated = sandbox.succeed(&[&command[..], &["--format", "msp"]].concat());
        let command = json(&sandbox.succeed(&command));
        let set_size = format!("\"set_size={}\"", command["set_size"]);
        assert!(annotated.contains(&set_size), "{annotated}");
        assert_eq!(found["answers"][0]["hits"][0]["id"], command["candidates"][0]["id"]);
        let count = |hits: &serde_json::Value| hits.as_array().unwrap().len();
        assert_eq!(count(&found["answers"][0]["hits"]), count(&command["candidates"]));
        assert_eq!(found["calibration"]["queries"], 17);
    }
    std::fs::remove_dir_all(sandbox.path("runs")).unwrap();
    let report = sandbox.train("bins.toml", &["evaluation.candidates=\"formula\""]);
    let again = json(&sandbox.succeed(&["evaluate", "runs/bins", "--json"]));
    assert_eq!((&again["mrr"], &again["candidates"]), (&report["mrr"], &report["candidates"]));
    assert_eq!(report["queries"], 17);
    let none = ["train", "bins.toml", "--set", "evaluation.candidates=\"mass:1\""];
    sandbox.fail(&none, 2, &["the candidates of query", "= none"]);
}

#[test]
fn a_model_of_one_polarity_says_so_of_the_other() {
    let sandbox = sandbox();
    for file in ["data/spectra/train.mgf", "data/spectra/validation.mgf"] {
        let negative = sandbox.read(file).replace("FORMULA=", "ION_MODE=N\nFORMULA=");
        sandbox.write(file, &negative);
    }
    sandbox.train("bins.toml", &[]);
    let search = |query: &str| sandbox.succeed(&["search", "runs/bins", query]);
    // what says no polarity has the model's
    let unsaid = search("61.02950 31.0184:1 45.0341:1");
    assert!(unsaid.contains("OCCO") && !unsaid.contains("caution"), "{unsaid}");
    let said = search("BEGIN IONS\nPEPMASS=61.02950\nCHARGE=1-\n31.0184 1\n45.0341 1\nEND IONS");
    assert_eq!(said, unsaid);
    let other = search("63.04406 adduct=[M+H]+ 31.0184:1 45.0341:1");
    let says =
        "caution: a spectrum of positive mode, and the model was trained on negative mode only";
    assert!(other.contains("OCCO") && other.starts_with(says), "{other}");
    sandbox.write("q.txt", "63.04406 adduct=[M+H]+ 31.0184:1\n");
    let line = json(&sandbox.succeed(&["predict", "runs/bins", "q.txt"]));
    assert_eq!(line["cautions"].as_array().unwrap().len(), 1, "{line}");
    // a model that is written from its parts keeps them
    sandbox.train("bag.toml", &["training.epochs=2"]);
    Member::open(sandbox.path("runs/bag")).unwrap().save(&sandbox.path("copy")).unwrap();
    let search = |run: &str| sandbox.succeed(&["search", run, "63.04406 adduct=[M+H]+ 31.0184:1"]);
    let copied = search("copy");
    assert_eq!(copied, search("runs/bag"));
    assert!(copied.starts_with(says), "{copied}");
}

/// Small files in MassSpecGym's layout, through its script and configuration.
#[test]
fn massspecgyms_layout_is_prepared_trained_and_ranked_by_mass_and_formula() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped massspecgyms_layout: there is no python3");
    }
    let sandbox = Sandbox::new();
    let folder = sandbox.path("data/massspecgym");
    std::fs::create_dir_all(&folder).unwrap();
    let mut table = "identifier\tmzs\tintensities\tsmiles\tinchikey\tformula\tprecursor_formula\tparent_mass\tprecursor_mz\t\
                     adduct\tinstrument_type\tcollision_energy\tfold\tsimulation_challenge\n"
        .to_owned();
    let all = molecules();
    let mut by_mass = serde_json::Map::new();
    let mut by_formula = serde_json::Map::new();
    for (at, (id, smiles, peaks, mass)) in all.iter().enumerate() {
        let formula = |smiles: &str| Molecule::parse(smiles).unwrap().formula();
        let fold = ["train", "train", "val", "train", "test"][at % 5];
        let mut peaks = peaks.clone();
        peaks.sort_by(f64::total_cmp);
        let mzs = peaks.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        // each molecule has two spectra
        for spectrum in ["a", "b"] {
            writeln!(
                table,
                "{id}{spectrum}\t{mzs}\t1.0,0.5,0.5,0.25\t{smiles}\t{id}\t{0}\t{0}\t{mass}\t{mass}\t[M+H]+\tQTOF\t20\t{fold}\tFalse",
                formula(smiles)
            )
            .unwrap();
        }
        let others = all.iter().map(|other| &other.1);
        let near: Vec<&String> = all
            .iter()
            .filter(|other| (other.3 - mass).abs() < 20.0)
            .map(|other| &other.1)
            .collect();
        let same: Vec<&String> = others.filter(|other| formula(other) == formula(smiles)).collect();
        by_mass.insert(smiles.clone(), serde_json::json!(near));
        by_formula.insert(smiles.clone(), serde_json::json!(same));
    }
    let lists =
        |name: &str| format!("data/massspecgym/MassSpecGym_retrieval_candidates_{name}.json");
    sandbox.write("data/massspecgym/MassSpecGym.tsv", &table);
    sandbox.write(&lists("mass"), &serde_json::Value::Object(by_mass.clone()).to_string());
    sandbox.write(&lists("formula"), &serde_json::Value::Object(by_formula).to_string());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/massspecgym/prepare.py");
    let prepared = Command::new("python3").arg(script).arg(&folder).output().unwrap();
    assert!(prepared.status.success(), "{}", String::from_utf8_lossy(&prepared.stderr));

    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/massspecgym.toml");
    sandbox.write(
        "gym.toml",
        &std::fs::read_to_string(config)
            .unwrap()
            .replace("min_spectra = 20", "min_spectra = 2")
            .replace("size = 300", "size = 60"),
    );
    let report = sandbox.train(
        "gym.toml",
        &["sketch.size=30", "training.epochs=40", "encoder.embedding=64", "encoder.hidden=[64]"],
    );
    let molecules_of_test = all.iter().enumerate().filter(|(at, _)| at % 5 == 4);
    let pools: Vec<f64> = molecules_of_test
        .map(|(_, own)| by_mass[&own.1].as_array().unwrap().len() as f64)
        .collect();
    assert_eq!(report["queries"], 2 * pools.len());
    let chance = pools.iter().map(|pool| 1.0 / pool).sum::<f64>() / pools.len() as f64;
    assert!((number(&report["chance"], "hits@1") - chance).abs() < 1e-9, "{report}");
    assert!(number(&report, "hits@1") > 2.0 * chance, "{report}");
    let [one, five, twenty] = ["hits@1", "hits@5", "hits@20"].map(|key| number(&report, key));
    assert!(one <= five && five <= twenty && report["intervals"]["hits@20"].is_array(), "{report}");
    let evaluate = [
        "evaluate",
        "runs/gym",
        "--candidates",
        "data/massspecgym/candidates_formula.jsonl",
        "--json",
    ];
    let formula = json(&sandbox.succeed(&evaluate));
    assert_eq!(formula["queries"], report["queries"]);
    assert!(number(&formula, "candidates") < number(&report, "candidates"), "{formula}");
    // SMILES that a list lacks are named
    by_mass.insert(all[4].1.clone(), serde_json::json!(["CC"]));
    sandbox.write(&lists("mass"), &serde_json::Value::Object(by_mass).to_string());
    let wrong = Command::new("python3").arg(script).arg(&folder).output().unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        !wrong.status.success() && said.contains(&all[4].1) && said.contains("candidates"),
        "{said}"
    );
}

/// What the page makes of a text and of its fields, by its own code.
#[cfg(feature = "serve")]
fn asked_by_the_page(cases: &[(&str, [&str; 3])]) -> Option<Vec<String>> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/page");
    let read = |name: &str| std::fs::read_to_string(format!("{page}/{name}")).unwrap();
    let code = ["numbers.js", "spectrum.js"].map(read).join("\n");
    let cases = serde_json::to_string(cases).unwrap();
    let script = format!(
        "let fields = []; const at = (id) => ({{ value: fields[['precursor', 'adduct', 'ion-formula'].indexOf(id)] }});\n\
         {code}\nconsole.log(JSON.stringify({cases}.map(([text, own]) => {{ fields = own; return spectrumQuery(text, PRECURSOR); }})));"
    );
    let node = Command::new("node").arg("-e").arg(script).output();
    let node =
        node.inspect_err(|_| println!("skipped asked_by_the_page: there is no node")).ok()?;
    assert!(node.status.success(), "{}", String::from_utf8_lossy(&node.stderr));
    serde_json::from_slice(&node.stdout).unwrap()
}

#[cfg(feature = "serve")]
#[test]
fn the_page_and_the_command_answer_alike() {
    use dsokr::spectra::Spectrum;

    let sandbox = sandbox();
    sandbox.train("bins.toml", &[]);
    let served = Served::start(&sandbox, &["runs/bins"]);
    let line = "63.04406 adduct=[M+H]+ formula=C2H6O2 31.0184:2 45.0341:1";
    let mgf = "BEGIN IONS\nTITLE=a\nPEPMASS=63.04406 7\nADDUCT=[M+H]+\nFORMULA=C2H6O2\n31.0184 2\n45.0341 1\nEND IONS";
    let msp = "Name: a\nPrecursorMZ: 63.04406\nPrecursor_type: [M+H]+\nFormula: C2H6O2\nNum Peaks: 2\n31.0184 2\n45.0341 1";
    let massbank = "ACCESSION: a\nCH$FORMULA: C2H6O2\nMS$FOCUSED_ION: PRECURSOR_M/Z 63.04406\nMS$FOCUSED_ION: \
                    PRECURSOR_TYPE [M+H]+\nPK$PEAK: m/z int. rel.int.\n  31.0184 2 999\n  45.0341 1 500\n//";
    let several = format!("{mgf}\n\n{}", mgf.replace("31.", "34."));
    let headed = format!("COM=a\nADDUCT=[M+H]+\n{}", mgf.replace("ADDUCT=[M+H]+\n", ""));
    let fields = ["63.04406", "[M+H]+", "C2H6O2"];
    let cases = [
        (line, [""; 3]),
        (mgf, [""; 3]),
        (msp, [""; 3]),
        (massbank, [""; 3]),
        (&several, [""; 3]),
        // what is typed counts more than what the text has
        ("45.0341\t1\n31.0184\t2\n", fields),
        // keyboards of some languages have no point
        ("45.0341\t1\n31.0184\t2\n", ["63,04406", "[M+H]+", "C2H6O2"]),
        ("45.0341, 1; 31.0184, 2", fields),
        ("45.0341:1 31.0184:2", fields),
        ("99.5 31.0184:2 45.0341:1", fields),
        // of a line with more columns the first two count
        ("45.0341 1 99\n31.0184 2 50", fields),
        ("45.0341\t1\tC2H5O+\n\n31.0184\t2\tCH3O+\n", fields),
        ("45.0341;1\n31.0184;2", fields),
        ("[(45.0341, 1), (31.0184, 2)]", fields),
        (&headed, [""; 3]),
    ];
    let wrong = mgf.replace("63.", "77.").replace("C2H6", "C9H9").replace("M+H", "M+Na");
    let wrong_msp = msp.replace("63.", "77.").replace("C2H6", "C9H9").replace("M+H", "M+Na");
    let wrong_massbank =
        massbank.replace("63.", "77.").replace("C2H6", "C9H9").replace("M+H", "M+Na");
    let cases = [
        &cases[..],
        &[
            (wrong.as_str(), fields),
            (wrong_msp.as_str(), fields),
            (wrong_massbank.as_str(), fields),
        ],
    ]
    .concat();
    let expected: Spectrum = line.parse().unwrap();
    for (query, case) in asked_by_the_page(&cases).unwrap_or_default().iter().zip(&cases) {
        assert_eq!(query.parse::<Spectrum>().unwrap(), expected, "{case:?}");
    }
    for rule in [None, Some("mass:20"), Some("formula")] {
        let mut command = vec!["search", "runs/bins", line, "--top", "7", "--json"];
        command.extend(rule.into_iter().flat_map(|rule| ["--candidates", rule]));
        let command = json(&sandbox.succeed(&command));
        let query =
            serde_json::json!({"texts": [mgf], "candidates": rule, "top": 7, "explain": true});
        let answer = &served.ask("/api/search", &query)["answers"][0];
        let hits = answer["hits"].as_array().unwrap();
        let expected = command["candidates"].as_array().unwrap();
        assert_eq!(hits.len(), expected.len(), "{rule:?}");
        for (hit, expected) in hits.iter().zip(expected) {
            for key in ["id", "label", "rank", "score", "tied", "duplicates"] {
                assert_eq!(hit[key], expected[key], "{rule:?} {key}: {hit} {expected}");
            }
        }
        assert_eq!(answer["spectrum"], line);
        let near = answer["nearest"].as_array().unwrap();
        assert!(
            near.is_sorted_by_key(|near| -number(near, "similarity")) && near.len() == 3,
            "{near:?}"
        );
        let text = near[0]["text"].as_str().unwrap().parse::<Spectrum>().unwrap();
        assert!(text.peaks().iter().any(|peak| (peak.mz - 31.0184).abs() < 0.01), "{text}");
    }
    // CH3O+ has m/z 31.01784, C2H5O+ 45.03349: 18 and 13 ppm away; glycine's amine gives neither
    let explained = |tolerance: f64| {
        let query = serde_json::json!(
            {"texts": [line], "candidates": "formula", "explain": true, "tolerance": tolerance});
        let hits = &served.ask("/api/search", &query)["answers"][0]["hits"];
        hits[0]["explained"].as_array().unwrap().clone()
    };
    assert!(explained(10.0).is_empty());
    let [first, second] = &explained(20.0)[..] else { panic!("two peaks") };
    assert_eq!([&first["peak"], &second["peak"]], [0, 1]);
    assert_eq!([&first["formula"], &second["formula"]], ["CH3O", "C2H5O"]);
    assert!((number(first, "ppm") - 18.05).abs() < 0.1, "{first}");
    let about = &served.ask("/api/search", &serde_json::json!({"texts": [line]}))["answers"][0];
    assert!(about["spectrum"].is_null() && about["hits"][0]["explained"].is_null(), "{about}");
}

#[cfg(feature = "serve")]
#[test]
fn nearest_spectra_are_drawn_however_a_table_writes_them() {
    use dsokr::spectra::Spectrum;

    let sandbox = sandbox();
    let mut table = "inchikey\tidentifier\tspectrum\n".to_owned();
    for (at, (id, _, peaks, mass)) in molecules().into_iter().enumerate() {
        if at % 5 != 3 {
            let peaks: Vec<String> = peaks.iter().map(|mz| format!("{mz:.4}:1")).collect();
            writeln!(table, "{id}\t{id}-a\t{mass:.4}  {}", peaks.join("  ")).unwrap();
        }
    }
    sandbox.write("data/spectra/train.tsv", &table);
    sandbox.train("bins.toml", &["data.train=\"train.tsv\""]);
    let served = Served::start(&sandbox, &["runs/bins"]);
    let query = serde_json::json!({"texts": ["63.04406 31.0184:2 45.0341:1"], "explain": true});
    let near = &served.ask("/api/search", &query)["answers"][0]["nearest"][0];
    let [text, line] = ["text", "spectrum"].map(|key| near[key].as_str().unwrap());
    assert!(text.contains("  ") && line.split(' ').all(|word| !word.is_empty()), "{near}");
    let [text, line] = [text, line].map(|spectrum| spectrum.parse::<Spectrum>().unwrap());
    assert_eq!(text.peaks().len(), line.peaks().len());
}

#[test]
fn mces_at_1_is_the_mean_distance_of_the_first_molecules() {
    use dsokr::molecule::ged::{Limit, myopic_distance};

    let sandbox = sandbox();
    sandbox.train("bins.toml", &[]);
    let file = "data/spectra/validation.mgf";
    let predict = ["predict", "runs/bins", file, "--id", "identifier", "--top", "1"];
    let predict = [&predict[..], &["--candidates", "all"]].concat();
    let smiles = |label: &str| Molecule::parse(label).unwrap();
    let distance = |line: &str| {
        let line = json(line);
        let query = line["id"].as_str().unwrap();
        let first = &line["candidates"][0]["label"];
        let id = query.split('-').next().unwrap();
        let right = &molecules().into_iter().find(|own| own.0 == id).unwrap().1;
        let found =
            myopic_distance(&smiles(right), &smiles(first.as_str().unwrap()), 15.0, &Limit::NONE);
        assert!(found.proven, "{line}");
        found.distance
    };
    let all: Vec<f64> = sandbox.succeed(&predict).lines().map(distance).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let evaluate = ["evaluate", "runs/bins", "--json"];
    let found = json(&sandbox.succeed(&[&evaluate[..], &["--mces", "--ci"]].concat()));
    assert!((number(&found, "mces") - mean).abs() < 1e-9 && mean > 0.0, "{mean} {found}");
    assert!(found["intervals"]["mces"].is_array(), "{found}");
    assert!(json(&sandbox.succeed(&evaluate))["mces"].is_null());
    let table = sandbox.succeed(&["evaluate", "runs/bins", "--mces"]);
    assert!(table.contains("MCES at 1"), "{table}");
    let wrong = ["train", "bins.toml", "--set", "evaluation.metric=\"mces\""];
    sandbox.fail(&wrong, 2, &["evaluation.metric = mces"]);
}
