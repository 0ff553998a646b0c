//! Label sets and rankings as outputs.

use crate::sandbox::{CONFIG, Sandbox, json, number};

const NGRAMS: &str = r#"{ kind = "ngrams", column = "name", min = 1, max = 3 }"#;

/// A sandbox whose outputs have a set of labels and a ranking of four items each.
fn sandbox(features: &str, kernel: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let mut lines = outputs.lines();
    let mut table = format!("{}\tlabels\tranks\n", lines.next().unwrap());
    for (i, line) in lines.enumerate() {
        let labels = format!("kind {}; class {};ring {}", i % 8, i / 8 % 5, i / 40);
        let mut ranks: Vec<usize> = (1..=4).collect();
        ranks.rotate_left(i % 4);
        ranks.swap(0, 1 + i / 4 % 3);
        let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
        let ranks = ranks.join(" ");
        table += &format!("{line}\t{labels}\t{ranks}\n");
    }
    sandbox.write("data/small/outputs.tsv", &table);
    assert!(CONFIG.contains(NGRAMS) && CONFIG.contains("\"ngram\" }"));
    let config = CONFIG.replacen(NGRAMS, features, 1);
    let config = match features {
        LABELS => config.replacen("label = \"name\"", "label = \"labels\"", 1),
        _ => config,
    };
    let config = config.replacen("\"ngram\" }", &format!("\"{kernel}\" }}"), 1);
    sandbox.write("small.toml", &config.replacen("size = 20", "size = 6", 1));
    sandbox
}

const LABELS: &str = r#"{ kind = "labels", column = "labels", separator = ";" }"#;
const KEMENY: &str = r#"{ kind = "rankings", column = "ranks", embedding = "kemeny" }"#;
const HAMMING: &str = r#"{ kind = "rankings", column = "ranks", embedding = "hamming" }"#;

#[test]
fn label_sets_and_rankings_are_outputs() {
    for (features, kernel) in [(LABELS, "tanimoto"), (KEMENY, "kemeny"), (HAMMING, "hamming")] {
        let sandbox = sandbox(features, kernel);
        let report = json(&sandbox.succeed(&["train", "small.toml", "--json"]));
        // equal sets and rankings tie, so the ceiling is below 1 and far above chance
        let (ceiling, chance) = (&report["perfect_h"], &report["chance"]);
        assert!(number(ceiling, "mrr") > 2.0 * number(chance, "mrr"), "{kernel}: {report}");
        assert!(number(&report, "mrr") > 0.0, "{kernel}");
        if features == LABELS {
            assert!(number(ceiling, "f1") > 1.3 * number(chance, "f1"), "{report}");
            assert!(number(&report, "hamming_loss") > 0.0, "{report}");
            let again = json(&sandbox.succeed(&["evaluate", "runs/small", "--json"]));
            assert_eq!(number(&again, "f1"), number(&report, "f1"), "{again}");
        }
    }
}

#[test]
fn bad_rankings_are_refused_with_their_line() {
    let good = sandbox(HAMMING, "hamming");
    let table = good.read("data/small/outputs.tsv");
    let third = table.lines().nth(3).unwrap();
    let ranks = third.rsplit('\t').next().unwrap();
    let spoilt = |cell: &str| table.replacen(third, &third.replacen(ranks, cell, 1), 1);
    for (cell, says) in [
        ("1 2 3", "the ranks of 4 items"),
        ("1 2 3 3", "each of the ranks 1 to 4 once"),
        ("0 1 2 3", "ranks from 1"),
        ("1 2 x 4", "ranks from 1"),
    ] {
        good.write("data/small/outputs.tsv", &spoilt(cell));
        good.fail(&["train", "small.toml"], 2, &["outputs.tsv:4", cell, says]);
    }
}
