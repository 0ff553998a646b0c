//! Tables of properties: molecules as inputs, numbers and classes as outputs.

use std::fmt::Write;

use super::{Bound, Stranger, pairs};
use crate::sandbox::{Sandbox, json, number};
#[cfg(feature = "serve")]
use crate::served::Served;

/// A number of atoms of an element in a SMILES.
fn count(smiles: &str, elements: &[char]) -> usize {
    smiles.chars().filter(|atom| elements.contains(atom)).count()
}

/// Chemprop's layout: molecules and one number, with a name behind some molecules and one cell that is none.
#[test]
fn a_property_of_molecules_is_predicted_from_their_parts() {
    let mut table = "smiles,logS\n".to_owned();
    for (at, pair) in pairs(300).iter().enumerate() {
        let polar = count(&pair.smiles, &['O', 'N', 'o', 'n']);
        let value = 0.5 * pair.atoms as f64 - 1.3 * polar as f64 + 0.1 * (at % 7) as f64;
        let smiles = match at {
            12 => "not measured".to_owned(),
            at if at % 20 == 3 => format!("{} compound {at}", pair.smiles),
            _ => pair.smiles.clone(),
        };
        writeln!(table, "{smiles},{value:.2}").unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "solubility.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["smiles", "logS"],
        holds: "numbers",
        skipped: 1,
        floor: ("r2", Bound::AtLeast(0.9)),
    };
    let (_, report) = stranger.trains(&sandbox);
    assert!(number(&report, "mae") < 0.5 * number(&report["chance"], "mae"), "{report}");
    let config = sandbox.read("solubility.toml");
    assert!(config.contains("smiles = true") && config.contains("substructures"), "{config}");
    assert!(!config.contains("\"words\""), "{config}");
    // a query that is no molecule is refused by its name
    let query = ["search", "runs/solubility", "not a molecule", "--top", "1"];
    sandbox.fail(&query, 2, &["not a molecule", "a SMILES, as the inputs are that the model"]);
    // a server says which of several it is, so that the page leaves it out
    #[cfg(feature = "serve")]
    {
        let served = Served::start(&sandbox, &["runs/solubility"]);
        let texts = serde_json::json!({"texts": ["CCO", "not a molecule"]});
        let (status, refusal) = served.post("/api/search", &texts);
        let error = refusal["error"].as_str().unwrap();
        assert_eq!(status, 422, "{error}");
        assert!(error.starts_with("query \"texts[1]\": the query = \"not a molecule\""), "{error}");
    }
}

/// A name of a column that is as long as a sentence, and bounds among the numbers.
#[test]
fn a_long_name_is_that_of_a_column_and_bounds_are_skipped() {
    let mut table = "Compound ID,measured log solubility in mols per litre,smiles\n".to_owned();
    for (at, pair) in pairs(240).iter().enumerate() {
        let polar = count(&pair.smiles, &['O', 'N', 'o', 'n']);
        let value = 0.5 * polar as f64 - 0.2 * pair.atoms as f64 + 0.1 * (at % 5) as f64;
        let sign = if at % 4 == 1 { "< " } else { "" };
        writeln!(table, "compound {at},{sign}{value:.2},{}", pair.smiles).unwrap();
    }
    let stranger = Stranger {
        file: "delaney.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["smiles", "measured log solubility in mols per litre"],
        holds: "numbers",
        skipped: 60,
        floor: ("r2", Bound::AtLeast(0.7)),
    };
    stranger.trains(&Sandbox::new());
}

/// Molecules are inputs and outputs: what becomes of each is a molecule with two carbons more.
#[test]
fn molecules_are_predicted_from_molecules() {
    let mut table = "reactant,product\n".to_owned();
    let products = pairs(400).into_iter().map(|pair| (format!("CC{}", pair.smiles), pair.smiles));
    let valid = products.filter(|(product, _)| dsokr::molecule::Molecule::parse(product).is_ok());
    for (product, reactant) in valid.take(240) {
        writeln!(table, "{reactant},{product}").unwrap();
    }
    let stranger = Stranger {
        file: "reactions.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["reactant", "product"],
        holds: "SMILES",
        skipped: 0,
        floor: ("mrr", Bound::AtLeast(0.3)),
    };
    stranger.trains(&Sandbox::new());
}

#[test]
fn several_columns_of_numbers_are_outputs_together() {
    let mut table = "compound_id\tSMILES\tsize\tpolar\tcarbons\tsplit\n".to_owned();
    for (at, pair) in pairs(250).iter().enumerate() {
        let polar = count(&pair.smiles, &['O', 'N', 'o', 'n']);
        let carbons = count(&pair.smiles, &['C', 'c']);
        // measured, not counted
        let noise = [0.4, -0.3, 0.1, -0.5, 0.3][at % 5];
        let size = match at {
            9 => "NA".to_owned(),
            _ => format!("{:.1}", pair.atoms as f64 + noise),
        };
        let polar = polar as f64 - noise;
        let carbons = carbons as f64 + 2.0 * noise;
        writeln!(table, "c{at}\t{}\t{size}\t{polar:.1}\t{carbons:.1}\t{}", pair.smiles, at % 3)
            .unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "several.tsv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["SMILES", "size"],
        holds: "numbers",
        skipped: 1,
        floor: ("r2", Bound::AtLeast(0.9)),
    };
    let (survey, report) = stranger.trains(&sandbox);
    assert_eq!(survey["further_outputs"], serde_json::json!(["polar", "carbons"]));
    let names: Vec<&str> = report["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|target| target["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["size", "polar", "carbons"]);
    let said = "several columns of numbers are outputs together: \"size\", \"polar\", \"carbons\" (--output COLUMN learns one, --as \
                COLUMN=ids leaves one out)\n";
    let shown = sandbox.succeed(&["init", "several.tsv", "--force"]);
    assert!(shown.contains(said), "{shown}");
    let shown = sandbox.succeed(&["init", "several.tsv", "--force", "--as", "polar=ids"]);
    assert!(shown.contains("together: \"size\", \"carbons\""), "{shown}");
    // one ranking that stands in several columns
    let mut ranks = "guest,tea,milk,water\n".to_owned();
    let orders = ["1,2,3", "2,1,3", "3,1,2", "1,3,2", "2,3,1", "3,2,1"];
    for (row, order) in orders.repeat(4).into_iter().enumerate() {
        writeln!(ranks, "a guest of {row} years who likes tea,{order}").unwrap();
    }
    sandbox.write("ranks.csv", &ranks);
    let shown = sandbox.succeed(&["init", "ranks.csv"]);
    assert!(
        shown.contains("one column of them with spaces between, as 2 1 3, is a ranking"),
        "{shown}"
    );
    // the ones that are named, and no others
    let two = ["init", "several.tsv", "--force", "--json", "--output", "polar", "--output", "size"];
    let survey = json(&sandbox.succeed(&two));
    assert_eq!(
        (&survey["output"], &survey["further_outputs"]),
        (&"polar".into(), &serde_json::json!(["size"]))
    );
    let one =
        json(&sandbox.succeed(&["init", "several.tsv", "--force", "--json", "--output", "size"]));
    assert_eq!(one["further_outputs"], serde_json::json!([]));
    let mixed = ["init", "several.tsv", "--force", "--output", "size", "--output", "compound_id"];
    sandbox.fail(&mixed, 2, &["compound_id", "several of numbers"]);
}

#[test]
fn yes_and_no_are_classes_of_molecules() {
    let mut table = "SMILES;Active\n".to_owned();
    for (at, pair) in pairs(300).iter().enumerate() {
        let is_active = pair.smiles.contains("C(=O)O") != (at % 23 == 5);
        let active = if at == 40 { "" } else { ["no", "yes"][usize::from(is_active)] };
        writeln!(table, "{};{active}", pair.smiles).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "screen.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["SMILES", "Active"],
        holds: "2 classes",
        skipped: 1,
        floor: ("accuracy", Bound::AtLeast(0.7)),
    };
    let (_, report) = stranger.trains(&sandbox);
    assert!(number(&report, "roc_auc") > 0.75, "{report}");
    assert!(sandbox.read("screen.toml").contains("positive = \"yes\""));
}

#[test]
fn zeros_and_ones_are_classes() {
    let mut table = "mol,toxic\n".to_owned();
    for (at, pair) in pairs(200).iter().enumerate() {
        let toxic =
            if at % 50 == 7 { "NA" } else { ["0", "1"][usize::from(pair.smiles.contains('N'))] };
        writeln!(table, "{},{toxic}", pair.smiles).unwrap();
    }
    let stranger = Stranger {
        file: "toxicity.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["mol", "toxic"],
        holds: "2 classes",
        skipped: 4,
        floor: ("roc_auc", Bound::AtLeast(0.85)),
    };
    stranger.trains(&Sandbox::new());
}

/// A class of several words is one class, not a set of words.
#[test]
fn classes_of_several_words_are_learned_from_texts() {
    let mut table = "text,role\n".to_owned();
    for (at, pair) in pairs(360).iter().enumerate() {
        let role = match (pair.smiles.contains("c1"), pair.smiles.contains("C(=O)")) {
            (true, _) => "aromatic ring",
            (false, true) => "carbonyl compound",
            (false, false) => "other compound",
        };
        writeln!(table, "\"{} It is number {at}.\",{role}", pair.text).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "roles.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["text", "role"],
        holds: "3 classes",
        skipped: 0,
        floor: ("accuracy", Bound::AtLeast(0.7)),
    };
    let (_, report) = stranger.trains(&sandbox);
    assert!(number(&report, "macro_f1") > number(&report["chance"], "macro_f1") + 0.3, "{report}");
    assert_eq!(report["candidates"], 3, "{report}");
    assert!(report["hamming_loss"].is_null());
}

/// What the class depends on may be a word of one character.
#[test]
fn words_of_one_character_are_read() {
    let mut table = "text,risk\n".to_owned();
    for at in 0..200 {
        let grade = 1 + at * 7 % 5;
        let risk = if grade > 2 { "high" } else { "low" };
        let biopsy = 100 + at;
        writeln!(table, "biopsy {biopsy} of the left lung shows a grade {grade} tumour,{risk}")
            .unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "biopsies.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["text", "risk"],
        holds: "2 classes",
        skipped: 0,
        floor: ("accuracy", Bound::AtLeast(0.95)),
    };
    stranger.trains(&sandbox);
    assert!(sandbox.read("biopsies.toml").contains("min_characters = 1"));
}

#[test]
fn the_unit_of_numbers_of_a_small_table_changes_little() {
    const WORDS: [&str; 12] = [
        "red", "green", "blue", "tall", "short", "round", "heavy", "light", "old", "new", "loud",
        "quiet",
    ];
    let sandbox = Sandbox::new();
    let train = |name: &str, unit: f64| {
        let mut table = "text,value\n".to_owned();
        for at in 0..300_usize {
            let words = [at % 12, (5 * at + at / 12) % 12, (7 * at + at / 5) % 12];
            let value = 2.0 * words[0] as f64 - (words[1] * words[1]) as f64 / 9.0;
            let noise = [0.4, -0.3, 0.1, -0.5, 0.3][at % 5];
            let text = words.map(|word| WORDS[word]).join(" ");
            writeln!(table, "{text},{:.3}", unit * (value + noise)).unwrap();
        }
        sandbox.write(&format!("{name}.csv"), &table);
        sandbox.succeed(&["init", &format!("{name}.csv")]);
        json(&sandbox.succeed(&["train", &format!("{name}.toml"), "--json"]))
    };
    let one = train("one", 1.0);
    let twenty = train("twenty", 20.0);
    let [error, of_twenty] = [&one, &twenty].map(|report| number(report, "pinball"));
    let ratio = of_twenty / (20.0 * error);
    assert!((0.8..1.25).contains(&ratio), "{ratio} {one} {twenty}");
}
