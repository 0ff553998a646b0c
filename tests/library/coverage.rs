//! Candidate sets that hold a right output with a given probability.

use std::collections::HashMap;
use std::f64::consts::LN_2;
use std::path::Path;

use burn::tensor::Device;
use dsokr::config::Checked;
use dsokr::core::Processes;
use dsokr::core::random::{below, generator, shuffle, unit};
use dsokr::data::SplitName;
use dsokr::run::{CalibratingQueries, CalibratingQuery, CandidateSets, Run};
use dsokr::{CandidateRule, Config, Member, fit, intervals};

use crate::Folder;

/// Returns whether the set of a query holds its right output; the best candidates always are in the set.
fn hold(sets: &CandidateSets, query: &CalibratingQuery) -> bool {
    let is_best =
        query.gold.zip(query.first.first().copied()).is_some_and(|(gold, best)| gold >= best);
    is_best || query.distance(sets.temperature) <= sets.threshold
}

fn calibrating(queries: Vec<CalibratingQuery>) -> CalibratingQueries {
    CalibratingQueries { queries, groups: Vec::new(), on: "a test".into(), caution: None }
}

/// By hand: four queries leave none for the temperature, which is 1 then. The level of scores 1 and 0 is
/// `log(e + 1) = 1.3133`, that of 2 and 2 `2 + log 2`.
#[test]
fn the_threshold_is_an_order_statistic_of_distances() {
    let query = |first: &[f32], gold: Option<f32>| CalibratingQuery { first: first.into(), gold };
    let queries = calibrating(vec![
        query(&[1.0, 0.0], Some(1.0)),
        query(&[1.0, 0.0], Some(0.0)),
        query(&[2.0, 2.0], Some(2.0)),
        query(&[1.0, 0.0], None),
    ]);
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found}");
    // the distances are 0.3133, 0.6931, 1.3133 and ∞; ⌈5 · coverage⌉ = 1, 2, 3
    for (coverage, expected) in [(0.2, 0.313262), (0.3, LN_2), (0.4, LN_2), (0.6, 1.313262)] {
        let sets = queries.sets(coverage, 7).unwrap();
        near(sets.threshold, expected);
        assert_eq!(sets.temperature, 1.0);
    }
    let sets = queries.sets(0.6, 7).unwrap();
    // levels of three candidates: log(e^1 + e^0.5 + e^-2) = 1.5199
    assert_eq!(sets.size(&[1.0, 0.5, -2.0]), 2);
    let error = queries.sets(0.7, 7).unwrap_err().to_string();
    assert!(
        error.contains("coverage = 0.7: expected at most 0.6000") && error.contains("3 have"),
        "{error}"
    );
    for wrong in [0.0, 1.0, -1.0, f64::NAN] {
        assert!(queries.sets(wrong, 7).unwrap_err().to_string().contains("between 0 and 1"));
    }
    let narrow = queries.sets(0.2, 7).unwrap();
    // the level of four is log 4 = 1.3863 above them: none is within, and all or none of equal ones are in a set
    assert_eq!(narrow.size(&[0.0, 0.0, 0.0, 0.0]), 4);
    assert_eq!(narrow.size(&[0.1, 0.0, 0.0, 0.0]), 1, "the best candidate always is in the set");
    assert_eq!(narrow.size(&[]), 0);
}

/// By hand: two queries of the first of three groups have a weight of 1/2 each, and of four groups with the new one the
/// coverage is the sum of the weights up to the threshold, divided by four.
#[test]
fn the_queries_of_a_group_share_its_weight() {
    let query = |first: &[f32], gold: Option<f32>| CalibratingQuery { first: first.into(), gold };
    let queries = CalibratingQueries {
        groups: ["a", "b", "a", "c"].map(String::from).to_vec(),
        ..calibrating(vec![
            query(&[1.0, 0.0], Some(1.0)),
            query(&[2.0, 2.0], Some(2.0)),
            query(&[1.0, 0.0], Some(0.0)),
            query(&[1.0, 0.0], None),
        ])
    };
    for (coverage, expected) in [(0.1, 0.313262), (0.2, LN_2), (0.375, LN_2), (0.5, 1.313262)] {
        let sets = queries.sets(coverage, 7).unwrap();
        assert!((sets.threshold - expected).abs() < 1e-6, "{coverage}: {}", sets.threshold);
        assert_eq!((sets.calibration.queries, sets.calibration.groups), (4, Some(3)));
    }
    let error = queries.sets(0.6, 7).unwrap_err().to_string();
    assert!(
        error.contains("coverage = 0.6: expected at most 0.5000, or a table of more groups")
            && error.contains("in 3 groups)"),
        "{error}"
    );
}

/// Ten groups of twenty copies say as much as ten queries, of which two are for the temperature.
#[test]
fn copies_of_a_query_count_once() {
    let mut random = generator(1, "groups", 0);
    let mut drawn = || CalibratingQuery {
        first: vec![3.0, 2.0, 1.0, 0.0],
        gold: Some((3.0 * unit(&mut random)) as f32),
    };
    let draws = 1000;
    let mut within = 0;
    for seed in 0..draws {
        let mut queries = Vec::new();
        let mut groups = Vec::new();
        for group in 0..10 {
            queries.extend(std::iter::repeat_n(drawn(), 20));
            groups.extend(std::iter::repeat_n(group.to_string(), 20));
        }
        let all = CalibratingQueries { groups, ..calibrating(queries) };
        let error = all.sets(0.98, seed).unwrap_err().to_string();
        assert!(error.contains("at most 0.8889"), "{error}");
        let sets = all.sets(0.85, seed).unwrap();
        within += usize::from(drawn().distance(sets.temperature) <= sets.threshold);
    }
    let within = within as f64 / draws as f64;
    // the eighth of nine places
    let deviation = (8.0 / 81.0 / draws as f64).sqrt();
    assert!((within - 8.0 / 9.0).abs() < 3.0 * deviation, "{within}, deviation {deviation}");
}

#[test]
fn groups_of_one_query_change_nothing() {
    let mut random = generator(2, "groups", 0);
    let mut drawn = |_: usize| CalibratingQuery {
        first: vec![2.0, 1.0, 0.0],
        gold: Some((2.0 * unit(&mut random)) as f32),
    };
    let plain = calibrating((0..57).map(&mut drawn).collect());
    let groups = (0..57).map(|group: usize| group.to_string()).collect();
    let grouped = CalibratingQueries { groups, ..plain.clone() };
    for coverage in [0.1, 0.5, 0.85, 0.97] {
        assert_eq!(plain.sets(coverage, 3).unwrap(), grouped.sets(coverage, 3).unwrap());
    }
}

/// Queries are divided 200 times. Of a random half, a set at the k-th of n distances holds k/(n + 1) of the other half in
/// the mean, and at most 1/(n + 1) more where distances tie.
fn check(mut all: Vec<CalibratingQuery>, coverages: &[f64]) {
    assert_eq!(all.len(), 400);
    for &coverage in coverages {
        let mut within = 0;
        let mut held = 0;
        let mut sure = 0;
        for seed in 0..200 {
            shuffle(&mut all, &mut generator(seed, "halves", 0));
            let (calibration, others) = all.split_at(200);
            let sets = calibrating(calibration.to_vec()).sets(coverage, seed).unwrap();
            let is_within =
                |query: &&CalibratingQuery| query.distance(sets.temperature) <= sets.threshold;
            within += others.iter().filter(is_within).count();
            held += others.iter().filter(|query| hold(&sets, query)).count();
            sure += others.iter().filter(|query| sets.size(&query.first) == 1).count();
        }
        let share = |count: usize| count as f64 / (200.0 * 200.0);
        // the share of 200 queries within a threshold from 160 has this deviation; its mean over 200 divisions a fourteenth
        let expected = (161.0 * coverage - 1e-9).ceil() / 161.0;
        let deviation = (expected * (1.0 - expected) * (1.0 / 200.0 + 1.0 / 160.0) / 200.0).sqrt();
        let band = expected - 3.0 * deviation..expected + 1.0 / 161.0 + 3.0 * deviation;
        let within = share(within);
        let held = share(held);
        let sure = share(sure);
        println!("{coverage}: {within} within, {held} held, {sure} of one");
        assert!(band.contains(&within), "{coverage}: {within}, expected {band:?}");
        // the best candidate of a set that would be empty adds little where sets are not of one candidate
        assert!(held >= within && (coverage < 0.8 || held < coverage + 0.03));
        assert!(sure > 0.0, "some answers are sure");
    }
}

fn load(path: &Path, changes: &[&str]) -> Checked {
    let changes: Vec<_> = changes.iter().map(|change| change.parse().unwrap()).collect();
    Config::load_with(path, &changes).unwrap()
}

/// Validation and test queries of the quickstart set, among all candidates, and among lists of their own: 400 drawn
/// candidates, with the right one but for every twentieth query.
#[test]
fn sets_hold_the_right_output_as_often_as_they_say() {
    let changes = [
        "encoder={kind=\"kernel-machine\", lambda=1e-4, inputs={kind=\"ngrams\", blocks=[{kind=\"words\", min=1, max=1}]}}",
        "sketch.size=60",
    ];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/quickstart.toml");
    let config = load(path.as_ref(), &changes);
    let folder = Folder::new();
    let trained = fit(&config, folder.path("run")).unwrap();
    let run = trained.run;
    let candidates: Vec<String> = run.members()[0].candidates.ids().map(String::from).collect();
    let mut all = Vec::new();
    let mut listed = Vec::new();
    let mut lines = String::new();
    for split in [SplitName::Validation, SplitName::Test] {
        let queries = run
            .predict(&Processes::default(), |member| member.read_split(split, None), None)
            .unwrap();
        all.extend(run.calibrating(&queries).unwrap());
        for (at, gold) in queries.split().ids.iter().enumerate() {
            let mut drawn: Vec<&String> = candidates.iter().filter(|id| *id != gold).collect();
            shuffle(&mut drawn, &mut generator(at as u64, "list", 0));
            drawn.truncate(if at % 20 == 0 { 400 } else { 399 });
            drawn.extend((at % 20 != 0).then_some(gold));
            lines += &format!("{}\n", serde_json::json!({"query": gold, "candidates": drawn}));
        }
    }
    let file = folder.path("lists.jsonl");
    std::fs::write(&file, lines).unwrap();
    let rule = CandidateRule::Lists(file.display().to_string());
    for split in [SplitName::Validation, SplitName::Test] {
        let queries = run
            .predict(&Processes::default(), |member| member.read_split(split, None), Some(&rule))
            .unwrap();
        listed.extend(run.calibrating(&queries).unwrap());
    }
    assert!(listed.iter().filter(|query| query.gold.is_none()).count() == 20);
    check(all, &[0.5, 0.8, 0.9]);
    check(listed, &[0.9]);
    // they are calibrated on the lists of the validation queries
    let sets = run.sets(&Processes::default(), 0.8, None, Some(&rule), None).unwrap();
    let queries = run
        .predict(
            &Processes::default(),
            |member| member.read_split(SplitName::Test, None),
            Some(&rule),
        )
        .unwrap();
    let of_queries = run.candidate_sets(&queries, &sets, usize::MAX).unwrap();
    assert_eq!((of_queries.len(), sets.calibration.queries), (200, 200));
    let mean = of_queries.iter().map(|set| set.answer.hits.len()).sum::<usize>() as f64 / 200.0;
    assert!(of_queries.iter().all(|set| set.whole) && (1.0..200.0).contains(&mean), "{mean}");
    // the best candidate alone is the answer more often than asked for, and no doubt
    let sets = run.sets(&Processes::default(), 0.5, None, Some(&rule), None).unwrap();
    let of_queries = run.candidate_sets(&queries, &sets, usize::MAX).unwrap();
    let of_one = of_queries.iter().filter(|set| set.answer.hits.len() == 1);
    assert!(of_one.clone().count() > 50, "{} of one", of_one.count());
    for set in of_one {
        assert_eq!(set.answer.cautions, Vec::<String>::new());
    }
}

/// An ensemble without validation pairs whose members share a reranker: calibrated on the held-out predictions of one fold
/// of the training pairs, judged by test queries, for random splits.
#[test]
fn held_out_answers_of_an_ensemble_with_a_reranker_calibrate_sets() {
    let folder = Folder::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/quickstart");
    let read = |name: &str| std::fs::read_to_string(data.join(name)).unwrap();
    let pairs = read("train.tsv");
    let molecules = read("molecules.tsv");
    let smiles: HashMap<&str, &str> =
        molecules.lines().skip(1).map(|line| line.split_once('\t').unwrap()).collect();
    let row = |line: &str| format!("{line}\t{}\n", smiles[line.split_once('\t').unwrap().0]);
    let rows: String = pairs.lines().skip(1).take(800).map(row).collect();
    std::fs::create_dir(folder.path("pool")).unwrap();
    std::fs::write(folder.path("pool/pool.tsv"), format!("id\tdescription\tsmiles\n{rows}"))
        .unwrap();
    let config = r#"
encoder = { kind = "kernel-machine", lambda = 1e-3, inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] } }

[data]
source = "pool"
folder = "./pool"
file = "pool.tsv"
splits = { validation = 0, test = 0.25 }

[output]
label = "smiles"
features = { kind = "ngrams", column = "smiles", min = 1, max = 3 }
kernel = { name = "cosine" }

[sketch]
size = 12

[decoding]
held_out = true

[evaluation]
split = "test"

[ensemble]
reranker = "words"

[[ensemble.members]]
name = "words"
decoding.reranker = { candidates = 20, neighbours = 15, folds = 4, held_out_folds = 2 }

[[ensemble.members]]
name = "letters"
encoder.inputs = { kind = "ngrams", blocks = [{ kind = "characters", min = 1, max = 3 }] }
"#;
    let path = folder.path("pool.toml");
    std::fs::write(&path, config).unwrap();
    let mut held = 0;
    let mut queries = 0;
    let coverage = 0.8;
    let splits = 4;
    for seed in 0..splits {
        let config = load(&path, &[&format!("data.splits.seed={seed}")]);
        let trained = fit(&config, folder.path(&format!("run{seed}"))).unwrap();
        let run = trained.run;
        let sets = run.sets(&Processes::default(), coverage, None, None, None).unwrap();
        assert_eq!(
            (sets.calibration.on.as_str(), sets.calibration.queries),
            ("held-out predictions", 150)
        );
        let test = run
            .predict(&Processes::default(), |member| member.read_split(SplitName::Test, None), None)
            .unwrap();
        let test = run.calibrating(&test).unwrap();
        queries += test.len();
        held += test.iter().filter(|query| hold(&sets, query)).count();
    }
    // each share has a deviation by 120 queries of calibration and its own
    let held = held as f64 / queries as f64;
    let each = queries as f64 / splits as f64;
    let deviation =
        (coverage * (1.0 - coverage) * (1.0 / 120.0 + 1.0 / each) / splits as f64).sqrt();
    println!("{held} of {queries}, deviation {deviation}");
    assert!((held - coverage).abs() < 3.0 * deviation, "{held}, deviation {deviation}");
}

/// 60 groups of four texts, of eight words each, of which a copy changes one. Held-out predictions of a run with a reranker
/// know the other texts of a group, but not those that calibrate.
#[test]
fn sets_are_not_calibrated_on_copies_beside_a_reranker() {
    let folder = Folder::new();
    let mut random = generator(5, "texts", 0);
    let mut word = || below(&mut random, 150);
    let usual: Vec<Vec<u64>> = (0..10).map(|_| (0..8).map(|_| word()).collect()).collect();
    let mut rows = String::new();
    for group in 0..60 {
        let class = word() as usize % 10;
        let mut words: Vec<u64> = (0..5).map(|_| word()).collect();
        words.extend((0..3).map(|_| usual[class][word() as usize % 8]));
        for copy in 0..4 {
            let mut words = words.clone();
            words[word() as usize % 8] = word();
            let text: Vec<String> = words.iter().map(|word| format!("w{word}")).collect();
            rows += &format!("{group}-{copy}\t{}\tc{class}\tg{group}\n", text.join(" "));
        }
    }
    std::fs::create_dir(folder.path("pool")).unwrap();
    std::fs::write(folder.path("pool/pool.tsv"), format!("id\ttext\tkind\tgroup\n{rows}")).unwrap();
    let config = r#"
[data]
source = "pool"
folder = "./pool"
file = "pool.tsv"
inputs = { column = "text" }
splits = { validation = 0, test = 0.25, group = "group" }

[output]
label = "kind"
features = { kind = "classes", column = "kind" }
kernel = { name = "linear" }

[sketch]
full = false

[encoder]
kind = "kernel-machine"
inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }
kernel = { name = "linear" }
lambda = 1e-3

[decoding]
held_out = true
reranker = { folds = 4 }

[evaluation]
metric = "accuracy"
split = "test"
"#;
    let path = folder.path("pool.toml");
    std::fs::write(&path, config).unwrap();
    let coverage = 0.8;
    let splits = 6;
    let mut held = 0;
    let mut queries = 0;
    for seed in 0..splits {
        let config = load(&path, &[&format!("data.splits.seed={seed}")]);
        let run = fit(&config, folder.path(&format!("run{seed}"))).unwrap().run;
        let sets = run.sets(&Processes::default(), coverage, None, None, None).unwrap();
        assert_eq!(sets.calibration.on, "held-out predictions");
        let groups = sets.calibration.groups.unwrap();
        assert_eq!(sets.calibration.queries, 4 * groups);
        let test = run
            .predict(&Processes::default(), |member| member.read_split(SplitName::Test, None), None)
            .unwrap();
        let test = run.calibrating(&test).unwrap();
        queries += test.len();
        held += test.iter().filter(|query| hold(&sets, query)).count();
    }
    let held = held as f64 / queries as f64;
    // nine groups calibrate, and 15 are tested
    let deviation = (coverage * (1.0 - coverage) * (1.0 / 9.0 + 1.0 / 15.0) / splits as f64).sqrt();
    println!("{held} of {queries}, deviation {deviation}");
    assert!(held > coverage - 3.0 * deviation, "{held}, deviation {deviation}");
}

/// A run on classes of texts of patients, each of whom has texts of several classes.
const PATIENTS: &str = r#"
[data]
source = "pool"
folder = "./pool"
file = "pool.tsv"
inputs = { column = "text" }
splits = { validation = 0, test = 0.2, group = "many" }

[output]
label = "kind"
features = { kind = "classes", column = "kind" }
kernel = { name = "linear" }

[sketch]
full = false

[encoder]
kind = "kernel-machine"
inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }
kernel = { name = "linear" }
lambda = 1e-3

[decoding]
held_out = true
reranker = { folds = 4, held_out_folds = 1, refit = false }

[evaluation]
metric = "accuracy"
split = "test"
"#;

/// Returns [`PATIENTS`] with held-out predictions alone.
fn patients_without_reranker() -> String {
    PATIENTS.replace("reranker = { folds = 4, held_out_folds = 1, refit = false }", "")
}

/// Writes the table of [`PATIENTS`]: 60 groups in one column, five in another, and the splits of the first ones in a third.
fn write_patients(folder: &Folder) {
    let mut random = generator(6, "texts", 0);
    let mut word = || below(&mut random, 8);
    let mut rows = String::new();
    for row in 0..240 {
        let class = word() % 4;
        let text: Vec<String> = (0..5).map(|_| format!("w{class}{}", word())).collect();
        let many = row / 4;
        let few = row / 48;
        let part = ["test", "validation", "train", "train", "train"][many % 5];
        rows +=
            &format!("{row}\t{} w{}\tc{class}\tg{many}\tg{few}\t{part}\n", text.join(" "), word());
    }
    std::fs::create_dir(folder.path("pool")).unwrap();
    let table = format!("id\ttext\tkind\tmany\tfew\tpart\n{rows}");
    std::fs::write(folder.path("pool/pool.tsv"), table).unwrap();
}

/// Patients with rows of several classes, which connect all patients: these alone halve the one fold that a reranker learns from,
/// so that weights are fitted, and sets calibrated, on pairs that a reranker has not seen. A fold of one patient has no halves.
#[test]
fn groups_whose_classes_are_mixed_have_a_reranker_that_has_not_seen_some() {
    let folder = Folder::new();
    write_patients(&folder);
    let members = r#"
[ensemble]
weights = "held-out"

[[ensemble.members]]
name = "a"

[[ensemble.members]]
name = "b"
encoder.lambda = 1e-2
"#;
    let path = folder.path("pool.toml");
    std::fs::write(&path, [PATIENTS, members].concat()).unwrap();
    let run = fit(&load(&path, &[]), folder.path("both")).unwrap().run;
    for member in ["a", "b"] {
        let file = format!("both/members/{member}/reranker-unseen.safetensors");
        assert!(folder.path(&file).exists(), "{file}");
    }
    let sets = run.sets(&Processes::default(), 0.5, None, None, None).unwrap();
    assert_eq!(sets.calibration.on, "held-out predictions");
    assert!(sets.calibration.groups.is_some_and(|groups| groups > 2));

    std::fs::write(&path, PATIENTS).unwrap();
    let trained = fit(&load(&path, &["data.splits.group=few"]), folder.path("few")).unwrap();
    let advice = trained.advice.join("\n");
    assert!(advice.contains("held-out predictions calibrate no sets"), "{advice}");
    let refused = trained.run.sets(&Processes::default(), 0.5, None, None, None).unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.contains("decoding.reranker.held_out_folds") && refused.contains("one group"),
        "{refused}"
    );
}

#[test]
fn held_out_predictions_know_the_groups_of_their_pairs() {
    let folder = Folder::new();
    write_patients(&folder);
    let path = folder.file("plain.toml", patients_without_reranker());
    // patients of four rows, and rows that are alone
    for (rule, groups) in [("many", Some(48)), ("id", None)] {
        let set = format!("data.splits.group={rule}");
        let run = fit(&load(&path, &[&set]), folder.path(rule)).unwrap().run;
        let sets = run.sets(&Processes::default(), 0.5, None, None, None).unwrap().calibration;
        assert_eq!((sets.queries, sets.groups), (192, groups), "{rule}");
        let left_out = if groups.is_some() { "without its group" } else { "without it" };
        let caution = sets.caution.unwrap();
        assert!(caution.contains(left_out), "{caution}");
    }
}

/// Of two runs of an ensemble one keeps the rows of a patient together, as the first member or as the second.
#[test]
fn groups_of_any_member_are_those_of_the_ensemble() {
    let folder = Folder::new();
    write_patients(&folder);
    let drawn = "splits = { validation = 0, test = 0.2, group = \"many\" }";
    let splits = ["{ column = \"part\", group = \"many\" }", "{ column = \"part\" }"];
    let mut runs = Vec::new();
    for (name, splits) in ["grouped", "alone"].into_iter().zip(splits) {
        let config = patients_without_reranker().replace(drawn, &format!("splits = {splits}"));
        let path = folder.file(&format!("{name}.toml"), config);
        fit(&load(&path, &[]), folder.path(name)).unwrap();
        runs.push(folder.path(name));
    }
    let processes = Processes::default();
    let mut measured = Vec::new();
    for _ in 0..2 {
        let run = Run::open_all(&runs, &Device::flex()).unwrap();
        let sets = run.sets(&processes, 0.5, None, None, None).unwrap();
        assert_eq!((sets.calibration.queries, sets.calibration.groups), (48, Some(12)));
        let read = |member: &Member| member.read_split(SplitName::Test, None);
        let queries = run.predict(&processes, read, None).unwrap();
        let (evaluation, _) = run.evaluate(&queries).unwrap();
        measured.push((sets.threshold, intervals(&evaluation, 200, 0).unwrap()));
        runs.reverse();
    }
    assert_eq!(measured[0].1["accuracy"], measured[1].1["accuracy"]);
    assert!((measured[0].0 - measured[1].0).abs() < 1e-5, "{measured:?}");
}

/// A table without the column of groups calibrates row by row, and says so.
#[test]
fn calibrating_rows_whose_groups_are_not_known_have_a_caution() {
    let folder = Folder::new();
    write_patients(&folder);
    let path = folder.file("plain.toml", patients_without_reranker());
    let run = fit(&load(&path, &[]), folder.path("run")).unwrap().run;
    let table = std::fs::read_to_string(folder.path("pool/pool.tsv")).unwrap();
    let nameless = folder.file("nameless.tsv", table.replacen("\tmany\t", "\tother\t", 1));
    let table = folder.file("table.tsv", table);
    let processes = Processes::default();
    let calibrated_on =
        |file: &Path| run.sets(&processes, 0.5, Some(file), None, None).unwrap().calibration;
    let by_group = calibrated_on(&table);
    assert_eq!((by_group.groups, by_group.caution), (Some(60), None));
    let by_row = calibrated_on(&nameless);
    assert_eq!((by_row.queries, by_row.groups), (240, None));
    let caution = by_row.caution.unwrap();
    assert!(caution.contains("data.splits.group = \"many\""), "{caution}");
}
