//! Orders of items with names, some of them partial.

use crate::sandbox::{Sandbox, json, number};

/// The configuration of the paper's table on a file in the same layout, partial rankings and ties among them.
#[test]
fn orders_of_items_with_names_are_rankings() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("data/label-ranking")).unwrap();
    let mut table = String::from("A1,A1,A24,ranking,a,b,c,d\n");
    for row in 0..60 {
        let x = [1.0, 2.0, 3.0].map(|wave| f64::sin(wave * f64::from(row)));
        let mut items = [("a", x[0]), ("b", x[1]), ("c", x[0] + x[2]), ("d", 0.0)];
        items.sort_by(|one, other| other.1.total_cmp(&one.1));
        let names = items.map(|(name, _)| name);
        let ranking = match row % 6 {
            4 => names[..3].join(">"),
            5 => format!("{} = {}>{}", names[0], names[1], names[3]),
            _ => names.join(">"),
        };
        table += &format!("{:.4},{:.4},{:.4},{ranking},0,0,0,0\n", x[0], x[1], x[2]);
    }
    sandbox.write("data/label-ranking/cold.csv", &table);
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/label-ranking.toml");
    let few = ["sketch.size=20"];
    sandbox.fail(&["train", config], 2, &["cold.csv:1", "\"A1\" names both column 1 and column 2"]);
    sandbox.write("data/label-ranking/cold.csv", &table.replacen("A1,A1", "A1,A2", 1));
    let report = sandbox.train(config, &few);
    assert!(number(&report, "kendall_tau") > 0.6, "{report}");
    assert!(number(&report["chance"], "kendall_tau").abs() < 0.2, "{report}");
    // embedded answers, and rows of another file
    let first: String =
        table.replacen("A1,A1", "A1,A2", 1).lines().take(5).map(|l| l.to_owned() + "\n").collect();
    sandbox.write("some.csv", &first);
    let answers = sandbox.succeed(&["predict", "runs/label-ranking", "some.csv"]);
    assert_eq!(answers.lines().count(), 4);
    for answer in answers.lines().map(json) {
        let label = answer["exact"]["label"].as_str().unwrap().to_owned();
        let mut items: Vec<&str> = label.split('>').collect();
        items.sort_unstable();
        assert_eq!(items, ["a", "b", "c", "d"], "{answer}");
    }
    let queries = ["evaluate", "runs/label-ranking", "--queries", "some.csv", "--json"];
    assert!(number(&json(&sandbox.succeed(&queries)), "kendall_tau") > 0.6);
    for (change, says) in [
        (
            r#"output.features.items=["a","b"]"#,
            &["cold.csv", "an order of items, each once, as in \"a>b\""][..],
        ),
        (r#"output.features.items=["a","a>b"]"#, &["output.features.items", "without > and ="]),
        ("output.features.embedding=lehmer", &["output.kernel.name", "\"kemeny\"", "\"linear\""]),
        ("data.inputs.more_smiles=2", &["data.inputs.more_smiles", "numbers"]),
    ] {
        sandbox.fail(&["train", config, "--set", change], 2, says);
    }
    let spoilt =
        sandbox.read("data/label-ranking/cold.csv").replacen("0.0000,0.0000,0.0000", "?,0,0", 1);
    sandbox.write("data/label-ranking/cold.csv", &spoilt);
    sandbox.fail(&["train", config], 2, &["cold.csv:2", "\"? 0 0\"", "3 finite numbers"]);
    sandbox.train(config, &[few[0], "data.on_bad_row=skip"]);
}
