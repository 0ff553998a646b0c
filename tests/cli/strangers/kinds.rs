//! Tables with a column that looks like something else than it is.

use std::fmt::Write;

use super::{Bound, Stranger, pairs};
use crate::sandbox::{Sandbox, json};

/// More than a third of the cells say in other ways that there is no number.
#[test]
fn a_column_of_numbers_may_have_many_remarks() {
    let mut table = "smiles,logS\n".to_owned();
    for (at, pair) in pairs(240).iter().enumerate() {
        let polar = pair.smiles.chars().filter(|atom| "ONon".contains(*atom)).count();
        let value = 0.5 * polar as f64 - 0.2 * pair.atoms as f64 + 0.1 * (at % 5) as f64;
        let cell = match at % 8 {
            1 => "n.b.".to_owned(),
            3 => "<LOD".to_owned(),
            5 => "5.7x10^-7".to_owned(),
            _ => format!("{value:.2}"),
        };
        writeln!(table, "{},{cell}", pair.smiles).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "remarks.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["smiles", "logS"],
        holds: "numbers",
        skipped: 90,
        floor: ("r2", Bound::AtLeast(0.5)),
    };
    stranger.trains(&sandbox);
    let shown = sandbox.succeed(&["init", "remarks.csv", "--force"]);
    let said = "logS: numbers in 150 of 240 cells; the first other one is \"n.b.\" on line 3";
    assert!(shown.contains(said), "{shown}");
}

/// Orders name their items, and some cells not all of them.
#[test]
fn orders_of_items_are_rankings() {
    let mut table = "guest,ranking\n".to_owned();
    for at in 0..60 {
        let (mood, ranking) = [
            ("tired", "coffee > tea > water"),
            ("thirsty", "water>tea=coffee"),
            ("cold", "tea>coffee"),
        ][at % 3];
        writeln!(table, "the guest with the number {at} is {mood},{ranking}").unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "orders.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["guest", "ranking"],
        holds: "rankings of 3 items, as orders",
        skipped: 0,
        floor: ("kendall_tau", Bound::AtLeast(0.6)),
    };
    stranger.trains(&sandbox);
    let config = sandbox.read("orders.toml");
    assert!(config.contains("items = [\"coffee\", \"tea\", \"water\"]"), "{config}");
    // ranks with commas between are not read as rankings, nor are they labels
    let init = |file: &str, cells: [&str; 3]| {
        let row = |at: usize| format!("a guest is {at},\"{}\"\n", cells[at % 3]);
        let rows: String = (0..60).map(row).collect();
        sandbox.write(file, &format!("guest,ranking\n{rows}"));
        sandbox.succeed(&["init", file])
    };
    let shown = init("commas.csv", ["1,2,3", "2,1,3", "3,1,2"]);
    let said = "ranking: cells are the same parts in different orders, \"1,2,3\" and others; rankings are written as the rank of \
                each item, with spaces between (1 2 3), or as orders of items, the best first, with > between (1>2>3)";
    assert!(shown.contains(said) && shown.contains("3 classes"), "{shown}");
    let shown = init("bars.csv", ["tea|milk|water", "milk|tea|water", "milk|water|tea"]);
    let said =
        "rankings are written as orders of items, the best first, with > between (tea>milk>water)";
    assert!(shown.contains(said) && shown.contains("3 classes"), "{shown}");
    // what the remedy says is read
    let shown = init("spaces.csv", ["3 1 2", "2 1 3", "1 2 3"]);
    assert!(shown.contains("rankings of 3 items"), "{shown}");
    // an order of items may be written so too, which is another ranking
    let said = "ranking: cells such as \"3 1 2\" are read as the rank of each item; where they are orders of items, the best first, \
                write > between (3>1>2)";
    assert!(shown.contains(said), "{shown}");
    let shown = init("signs.csv", ["1>2>3", "2>1>3", "3>1>2"]);
    assert!(shown.contains("rankings of 3 items, as orders"), "{shown}");
    assert!(!shown.contains("read as the rank of each item"), "{shown}");
    let stated = ["init", "commas.csv", "--force", "--as", "ranking=rankings"];
    sandbox.fail(&stated, 2, &["none is a ranking", "2 1 3", "tea>milk>water"]);
}

/// Words that are all different are found to be ids, unless they are peptides by the name of their column, whose letters are compared.
#[test]
fn single_words_that_are_all_different_are_compared_by_their_letters() {
    let mut table = "peptide,binds\n".to_owned();
    for row in 0..160usize {
        let rest: String = (0..4usize).map(|at| b"ACDG"[(row >> (2 * at)) & 3] as char).collect();
        let (head, binds) = [("MNW", "yes"), ("PQR", "no")][row % 2];
        writeln!(table, "{head}{rest}{},{binds}", ["VV", "TS", "SV"][row % 3]).unwrap();
    }
    let sandbox = Sandbox::new();
    sandbox.write("words.csv", &table.replace("peptide", "what"));
    let said = ["no column of texts", "\"what\" (ids), \"binds\" (2 classes)"];
    sandbox.fail(&["init", "words.csv"], 2, &said);
    sandbox.succeed(&["init", "words.csv", "--input", "what"]);
    assert!(sandbox.read("words.toml").contains("across-words"));
    let stranger = Stranger {
        file: "peptides.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["peptide", "binds"],
        holds: "2 classes",
        skipped: 0,
        floor: ("accuracy", Bound::AtLeast(0.9)),
    };
    stranger.trains(&sandbox);
    assert!(sandbox.read("peptides.toml").contains("across-words"));
    let lines: String = (0..12).map(|at| format!("{{\"made\": {{\"at\": {at}}}}}\n")).collect();
    sandbox.write("nested.jsonl", &lines);
    let remedy = "\"made\" has objects, whose keys are made columns by python3 -c \"import json, sys; flat =";
    let said = ["no column of texts", "left out", "numbers alone: \"made\"", remedy];
    sandbox.fail(&["init", "nested.jsonl"], 2, &said);
    sandbox.fail(&["init", "nested.jsonl", "--as", "made=texts"], 2, &[remedy]);
}

/// In reactions and compositions `c` is not `C`, and `Co` not `CO`; sequences of one case and names stay as they are.
#[test]
fn the_case_of_letters_is_kept_where_it_means_something() {
    let aromatic = ["c1ccccc1", "Cc1ccccc1", "Oc1ccccc1", "c1ccncc1", "COc1ccccc1", "c1ccoc1"];
    let solvents = ["CO", "CCO", "C1CCOC1", "O", "CC(=O)O"];
    let mut table = "rxn_smiles,kind\n".to_owned();
    for at in 0..180 {
        let from = aromatic[at / 2 % 6];
        let to = from.to_uppercase();
        let solvent = solvents[at / 12 % 5];
        let catalyst = ["[Pd]", "[Pt]", "[Ni]"][at / 60];
        let row = match at % 2 {
            0 => format!("{from}>{solvent}.{catalyst}>{to},hydrogenation\n"),
            _ => format!("{to}>{solvent}.{catalyst}>{from},dehydrogenation\n"),
        };
        table += &row;
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "hydro.csv",
        content: table.clone().into_bytes(),
        arguments: &["--input", "rxn_smiles"],
        columns: ["rxn_smiles", "kind"],
        holds: "2 classes",
        skipped: 0,
        floor: ("accuracy", Bound::AtLeast(0.9)),
    };
    stranger.trains(&sandbox);
    assert!(sandbox.read("hydro.toml").contains("lowercase = false"));
    // as USPTO writes the parts of some reactions, which are compared all the same
    let extended: String = (0..)
        .zip(table.lines())
        .map(|(line, row)| match row.split_once(',') {
            Some((reaction, kind)) if line % 3 == 1 => format!("{reaction} |f:0.1|,{kind}\n"),
            Some(_) | None => format!("{row}\n"),
        })
        .collect();
    Stranger { file: "extended.csv", content: extended.into_bytes(), ..stranger }.trains(&sandbox);
    let config = sandbox.read("extended.toml");
    assert!(config.contains("across-words") && config.contains("lowercase = false"), "{config}");
    // compositions that are measured several times are found to be classes
    let mut compositions = "composition,kelvin,gap\n".to_owned();
    for at in 0..320 {
        let metal = ["Co", "Sc", "Cs", "Hf"][at / 2 % 4];
        let is_metal = at % 2 == 0;
        let elements = if is_metal { metal.to_owned() } else { metal.to_uppercase() };
        let count = 2 + at / 8 % 5;
        let kelvin = 100 + at * 37 % 800;
        let gap = if is_metal { 1.5 } else { 5.5 } + 0.2 * count as f64 + kelvin as f64 / 4000.0;
        writeln!(compositions, "{elements}{count},{kelvin},{gap:.3}").unwrap();
    }
    let stranger = Stranger {
        file: "compositions.csv",
        content: compositions.into_bytes(),
        arguments: &["--input", "composition", "--output", "gap"],
        columns: ["composition", "gap"],
        holds: "numbers",
        skipped: 0,
        floor: ("r2", Bound::AtLeast(0.8)),
    };
    stranger.trains(&sandbox);
    assert!(sandbox.read("compositions.toml").contains("lowercase = false"));
    let letters = |at: usize| ["ACDE", "FGHI", "KLMN"][at % 3].repeat(2 + at / 3);
    let masked = |at: usize| letters(at) + &letters(at + 1).to_lowercase() + "ACDEFGHIKLMN";
    let fruit = |at: usize| format!("Apfel-{}{at}", ["Saft", "Mus", "Baum"][at % 3]);
    let tables: [(&str, &dyn Fn(usize) -> String); 3] =
        [("proteins.csv", &letters), ("masked.csv", &masked), ("names.csv", &fruit)];
    for (file, cell) in tables {
        let rows: String = (0..40).map(|at| format!("{},{}.5\n", cell(at), at % 7)).collect();
        sandbox.write(file, &format!("x,value\n{rows}"));
        sandbox.succeed(&["init", file, "--input", "x"]);
        let config = sandbox.read(&file.replace(".csv", ".toml"));
        let is_plain = config.contains("across-words") && !config.contains("lowercase");
        assert!(is_plain, "{file}\n{config}");
    }
}

/// Blanks of modifications divide no words, and no peptide has a word of another one.
#[test]
fn peptides_with_modifications_are_compared_by_their_letters() {
    let mut table = "peptide,minutes\n".to_owned();
    for row in 0..240usize {
        let mut peptide = String::new();
        let mut minutes = 0.0;
        for at in 0..8usize {
            let kinds = [
                ("A", 1.0),
                ("C", 2.0),
                ("D", 0.5),
                ("E", 0.25),
                ("G", 0.0),
                ("H", 1.5),
                ("L", 6.0),
                ("V", 4.0),
            ];
            let (letter, adds) = kinds[(row * (2 * at + 7) * 31 / (at + 3) + row / 8 * at) % 8];
            if at == 4 {
                peptide += if row % 4 == 0 { "M(Oxidation (M))" } else { "M" };
            }
            peptide += letter;
            minutes += adds;
        }
        writeln!(table, "_{peptide}_,{minutes:.2}").unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "modified.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["peptide", "minutes"],
        holds: "numbers",
        skipped: 0,
        // by words it is that of constants, 3.1
        floor: ("pinball", Bound::AtMost(2.0)),
    };
    stranger.trains(&sandbox);
    // by words three in four have nothing in common, which a training says
    let config = sandbox.read("modified.toml");
    let characters = "kind = \"across-words\", min = 1, max = 4";
    assert!(config.contains(characters), "{config}");
    sandbox.write("words.toml", &config.replace(characters, "kind = \"words\", min = 1, max = 2"));
    let trained = sandbox.run(&["train", "words.toml"]);
    let errors = String::from_utf8_lossy(&trained.stderr);
    assert!(trained.status.success(), "{errors}");
    assert!(errors.contains("of 192 training texts have no n-gram that is compared"), "{errors}");
}

/// Texts in Chinese are no ids, and beside a longer clause behind a blank their letters are compared too, but not where blanks divide
/// words. Names in Chinese are ids.
#[test]
fn texts_in_scripts_without_spaces_are_inputs_whose_letters_are_compared() {
    let sandbox = Sandbox::new();
    let kinds = [
        ("食品", ["新鲜", "好吃", "香甜"]),
        ("手机", ["系统", "屏幕", "信号"]),
        ("图书", ["作者", "章节", "内容"]),
    ];
    for (file, between) in [("reviews.csv", "，"), ("clauses.csv", "， ")] {
        let mut table = "作者,评论,类别\n".to_owned();
        for at in 0..150 {
            let (kind, words) = kinds[at % 3];
            let [first, second] = [words[at / 3 % 3], words[at / 9 % 3]];
            writeln!(
                table,
                "author {at},我们觉得这个{first}还可以{between}因为{second}第{at}次,{kind}"
            )
            .unwrap();
        }
        let stranger = Stranger {
            file,
            content: table.into_bytes(),
            arguments: &[],
            columns: ["评论", "类别"],
            holds: "3 classes",
            skipped: 0,
            floor: ("accuracy", Bound::AtLeast(0.9)),
        };
        stranger.trains(&sandbox);
        let config = sandbox.read(&file.replace(".csv", ".toml"));
        assert!(config.contains("across-words"), "{file}\n{config}");
    }
    // as jieba divides them into words
    let words: String = (0..150)
        .map(|at| {
            let (kind, words) = kinds[at % 3];
            let [first, second] = [words[at / 3 % 3], words[at / 9 % 3]];
            format!("我们 觉得 这个 {first} 还 可以 ， 因为 {second} 第 {at} 次,{kind}\n")
        })
        .collect();
    sandbox.write("words.csv", &format!("评论,类别\n{words}"));
    let found = json(&sandbox.succeed(&["init", "words.csv", "--json"]));
    assert_eq!([&found["input"], &found["output"]], ["评论", "类别"], "{found}");
    let config = sandbox.read("words.toml");
    assert!(!config.contains("across-words"), "{config}");
    let thai: String = (0..40)
        .map(|at| {
            format!("สินค้านี้{}จริงๆครับ{at},{}\n", ["ดีมาก", "แย่มาก"][at % 2], ["pos", "neg"][at % 2])
        })
        .collect();
    sandbox.write("thai.csv", &format!("รีวิว,ป้าย\n{thai}"));
    let found = json(&sandbox.succeed(&["init", "thai.csv", "--json"]));
    assert_eq!((&found["input"], &found["output"]), (&"รีวิว".into(), &"ป้าย".into()));
    let first = |at: usize| char::from_u32(0x4e00 + at as u32).unwrap();
    let named: String = (0..40)
        .map(|at| format!("{}醇,an alcohol of the number {at},{}.5\n", first(at), at % 7))
        .collect();
    sandbox.write("named.csv", &format!("name,text,value\n{named}"));
    let found = json(&sandbox.succeed(&["init", "named.csv", "--json"]));
    assert_eq!((&found["id"], &found["input"]), (&"name".into(), &"text".into()), "{found}");
}

/// Samples and molecules with names in Chinese, as long as short texts, beside what they are. Names alone are inputs, and so are texts.
#[test]
fn names_in_scripts_without_spaces_are_no_inputs_beside_vectors_and_molecules() {
    let sandbox = Sandbox::new();
    let names = ["样品名称,v,产率", "中文名,SMILES,熔点", "中文名,SMILES", "描述,SMILES,熔点"];
    let mut tables = names.map(|names| names.to_owned() + "\n");
    for at in 0..60 {
        let first = char::from_u32(0x4e00 + at).unwrap();
        let name = format!("{first}溴碘炔氨癸壬烷庚");
        let smiles = "C".repeat(2 + at as usize) + "(C)O";
        let text = format!(
            "{first}是一种带有羟基的有机化合物，常温下为无色透明的液体，能与水以任意比例互溶"
        );
        let rows = [
            format!("{name},0.25 1.5 {at}.75,{}.5", 3 * at),
            format!("{name},{smiles},{}.5", 3 * at),
            format!("{name},{smiles}"),
            format!("{text},{smiles},{}.5", 3 * at),
        ];
        tables.iter_mut().zip(rows).for_each(|(table, row)| *table += &(row + "\n"));
    }
    let files = ["samples.csv", "molecules.csv", "names.csv", "texts.csv"];
    let columns = [["v", "产率"], ["SMILES", "熔点"], ["中文名", "SMILES"], ["描述", "SMILES"]];
    for ((file, table), expected) in files.into_iter().zip(&tables).zip(columns) {
        sandbox.write(file, table);
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        assert_eq!([&found["input"], &found["output"]], expected, "{found}");
    }
}

#[test]
fn inputs_are_no_numbers_with_decimal_commas_or_units() {
    let sandbox = Sandbox::new();
    for (file, cell, holds) in [
        ("commas.csv", "2,69", "numbers, with decimal commas"),
        ("units.csv", "2.69 uM", "numbers, in uM"),
    ] {
        let row = |at: usize| {
            let number = cell.replace("69", &(11 + at).to_string());
            format!("{number};{}\n", ["a", "b"][at % 2])
        };
        let rows: String = (0..20).map(row).collect();
        sandbox.write(file, &format!("Wert;Klasse\n{rows}"));
        let found = format!("--input = \"Wert\" ({holds})");
        let said = [found.as_str(), "decimal point", "--as Wert=texts"];
        sandbox.fail(&["init", file, "--input", "Wert"], 2, &said);
    }
    let row = |at: usize| {
        let decimals = [at * 37, at * 53, at * 71].map(|number| 100 + number % 900);
        let [first, second, third] = decimals;
        format!("2,{first}E+00 {},{second}E+00 3,{third}E+00\t{at}.5\n", at % 10)
    };
    let rows: String = (0..80).map(row).collect();
    sandbox.write("vectors.tsv", &format!("v\ty\n{rows}"));
    let said = ["--input = \"v\" (vectors such as \"2,100E+00", "decimal points", "--as v=texts"];
    sandbox.fail(&["init", "vectors.tsv"], 2, &said);
    sandbox.succeed(&["init", "vectors.tsv", "--as", "v=texts"]);
}

/// Few words that recur are labels, but not in a column with the name of one of texts, nor where there is no other input.
#[test]
fn short_texts_are_inputs() {
    let sandbox = Sandbox::new();
    let mut table = "description,smiles\n".to_owned();
    let mut notes = "nota,logp\n".to_owned();
    for at in 0..24 {
        let size = ["small", "large", "long"][at % 3];
        let group = ["alcohol", "acid"][at % 2];
        let branch = ["primary", "secondary", "cyclic", "aromatic"][at / 6];
        writeln!(table, "{size} {branch} {group},{}C(C)O", "C".repeat(at)).unwrap();
        writeln!(notes, "{size} {branch} {group},{}.25", at % 7).unwrap();
    }
    sandbox.write("short.csv", &table);
    sandbox.write("notes.csv", &notes);
    for (file, input, holds) in
        [("short.csv", "description", "SMILES"), ("notes.csv", "nota", "numbers")]
    {
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        assert_eq!((&found["input"], &found["holds"]), (&input.into(), &holds.into()), "{found}");
    }
}

/// A row with several gaps is skipped once.
#[test]
fn rows_with_gaps_in_several_outputs_are_counted_once() {
    let sandbox = Sandbox::new();
    let row = |at: usize, cells: &str| format!("a thing of the kind {} in {at},{cells}\n", at % 3);
    let sparse = |at: usize| match at % 2 {
        0 => row(at, &format!("{at}.5,{}.5,{}.25", at % 5, at % 7)),
        _ => row(at, ",,"),
    };
    let gaps = |at: usize| match at % 3 {
        0 => row(at, &format!(",{at}.5,{at}.25")),
        1 => row(at, &format!("{at}.5,,{at}.25")),
        _ => row(at, &format!("{at}.5,{at}.25,")),
    };
    let table = |row: &dyn Fn(usize) -> String| {
        format!("text,a,b,c\n{}", (0..24).map(row).collect::<String>())
    };
    sandbox.write("sparse.csv", &table(&sparse));
    sandbox.write("gaps.csv", &table(&gaps));
    let outputs = ["--output", "a", "--output", "b", "--output", "c"];
    let init = [&["init", "sparse.csv", "--json"], &outputs[..]].concat();
    let found = json(&sandbox.succeed(&init));
    assert_eq!((&found["skipped"], &found["training"]), (&12.into(), &10.into()), "{found}");
    let init = [&["init", "gaps.csv"], &outputs[..]].concat();
    sandbox.fail(&init, 2, &["pairs of the table = 0", "24 of 24 rows", "at least 10"]);
}

/// A model learns one of several columns of classes, and `init` names the number of the others.
#[test]
fn further_columns_of_classes_are_named() {
    let sandbox = Sandbox::new();
    let mut table = "text,acid,ring,salt\n".to_owned();
    let mut activities = "smiles,Standard Relation,pchembl\n".to_owned();
    for at in 0..40 {
        let [acid, ring, salt] = [at % 2, at / 2 % 2, at / 4 % 2];
        writeln!(table, "the molecule with the number {at},{acid},{ring},{salt}").unwrap();
        let relation = ["=", ">"][ring];
        writeln!(activities, "{}C(C)O,{relation},{}.25", "C".repeat(at), at % 7).unwrap();
    }
    sandbox.write("hot.csv", &table);
    sandbox.write("activities.csv", &activities);
    let shown = sandbox.succeed(&["init", "hot.csv"]);
    assert!(shown.contains("2 further columns of classes are left out"), "{shown}");
    let two = ["init", "hot.csv", "--force", "--output", "acid", "--output", "ring"];
    sandbox.fail(&two, 2, &["\"acid\" beside others", "one column of labels", "COLUMN=numbers"]);
    let found = json(&sandbox.succeed(&["init", "activities.csv", "--json"]));
    assert_eq!((&found["input"], &found["output"]), (&"smiles".into(), &"pchembl".into()));
}

/// Formulas and names of molecules beside SMILES and what is measured, as in pools of molecules and sets of MoleculeNet.
#[test]
fn formulas_are_no_inputs_beside_molecules_and_measures_beside_names_are_named() {
    let sandbox = Sandbox::new();
    let names = [
        "id,smiles,formula,mass",
        "iupac,smiles,p_np,expt",
        "smiles,formula",
        "smiles,formula,caption",
    ];
    let mut tables = names.map(|names| names.to_owned() + "\n");
    for at in 0..60 {
        // every tenth is an isomer of the one before
        let isomer = usize::from(at % 10 == 9);
        let carbons = 3 + at - isomer;
        let chain = "C".repeat(carbons - 2);
        let smiles = if isomer == 1 { format!("{chain}(C)CO") } else { format!("{chain}C(C)O") };
        let formula = format!("C{carbons}H{}O", 2 * carbons + 2);
        let measured = 1.5 - 0.25 * carbons as f64;
        let rows = [
            format!("m{at},{smiles},{formula},{:.4}", 18.0106 + 14.0157 * carbons as f64),
            format!("alkanol-{at} of chain-{carbons},{smiles},{},{measured}", at % 2),
            format!("{smiles},{formula}"),
            format!("{smiles},{formula},an alcohol with a chain of {carbons} atoms in bottle {at}"),
        ];
        tables.iter_mut().zip(rows).for_each(|(table, row)| *table += &(row + "\n"));
    }
    let files = ["pool.csv", "named.csv", "formulas.csv", "captions.csv"];
    let columns =
        [["smiles", "mass"], ["iupac", "smiles"], ["formula", "smiles"], ["caption", "smiles"]];
    for ((file, table), [input, output]) in files.into_iter().zip(&tables).zip(columns) {
        sandbox.write(file, table);
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        assert_eq!((&found["input"], &found["output"]), (&input.into(), &output.into()), "{found}");
    }
    let shown = sandbox.succeed(&["init", "named.csv", "--force"]);
    let said = "left out, since molecules are the output: \"p_np\", \"expt\" (--output COLUMN learns one of them, also from molecules by --input smiles)";
    assert!(shown.contains(said), "{shown}");
    for (file, columns, expected) in [
        ("named.csv", ["--input", "smiles"], ["smiles", "p_np"]),
        ("pool.csv", ["--output", "smiles"], ["formula", "smiles"]),
    ] {
        let found = sandbox.succeed(&[&["init", file, "--force", "--json"][..], &columns].concat());
        let found = json(&found);
        assert_eq!([&found["input"], &found["output"]], expected, "{found}");
    }
}

/// As tables of reactions have them, whose few reagents are the output that is found.
#[test]
fn columns_that_could_be_learned_are_named_and_rows_of_one_input_stay_together() {
    let sandbox = Sandbox::new();
    let reagents = ["CN(C)C=O", "CO", "CCO", "CC#N", "ClCCl", "C1CCOC1", "CS(C)=O", "O=S(=O)(O)O"];
    let mut reactions = "reaction_id,reactants,reagents,product,hours\n".to_owned();
    let mut papers = "title,subjects,tags,pages\n".to_owned();
    for at in 0..120usize {
        let chain = "C".repeat(1 + at / 2);
        writeln!(
            reactions,
            "ord-{at:04}x,{chain}C(=O)O,{},{chain}C(=O)OC,{}.5",
            reagents[at % 8],
            at % 71
        )
        .unwrap();
        let subjects = ["acid;base", "acid", "base;salt", "salt;acid;base"][at % 4];
        let tags = ["red;blue", "blue", "red"][at % 3];
        writeln!(papers, "a paper of the number {at},{subjects},{tags},{}.5", at % 17).unwrap();
    }
    sandbox.write("reactions.csv", &reactions);
    sandbox.write("papers.csv", &papers);
    let shown = sandbox.succeed(&["init", "reactions.csv"]);
    let said = "left out, since molecules are the output: \"product\", \"hours\" (--output COLUMN learns one of them)\n";
    assert!(shown.contains(said), "{shown}");
    let config = sandbox.read("reactions.toml");
    assert!(config.contains("group = \"reactants\""), "{config}");
    let trained = sandbox.run(&["train", "reactions.toml"]);
    let errors = String::from_utf8_lossy(&trained.stderr);
    assert!(trained.status.success(), "{errors}");
    assert!(!errors.contains("are training texts too"), "{errors}");
    let shown = sandbox.succeed(&["init", "papers.csv"]);
    let said = "left out: \"tags\", \"pages\" (--output COLUMN learns one of them)\n";
    assert!(shown.contains(said), "{shown}");
    let shown = sandbox.succeed(&["init", "papers.csv", "--force", "--output", "tags"]);
    assert!(!shown.contains("left out"), "{shown}");
}

/// As of reactions in wells, pairs of drugs and solutes in solvents.
#[test]
fn molecules_that_are_measured_together_are_not_learned_from_each_other() {
    let sandbox = Sandbox::new();
    let solvents = ["CN(C)C=O", "CO", "CCO", "CC#N", "ClCCl", "C1CCOC1", "CS(C)=O", "O"];
    let mut solubilities = "solute,solvent,LogS\n".to_owned();
    let mut reactions = "reactants,reagents,yield (%),plate\n".to_owned();
    let mut drugs = "first,second,synergy\n".to_owned();
    for at in 0..200usize {
        let chain = "C".repeat(1 + at / 10);
        let solvent = solvents[at % 8];
        writeln!(solubilities, "{chain}C(=O)O,{solvent},{}.5", at % 71).unwrap();
        let ester = "C".repeat(1 + at / 2);
        writeln!(reactions, "{ester}C(=O)OC,{solvent},{}.5,{}", at % 71, 4000 + at % 9).unwrap();
        let other = "C".repeat(2 + (7 * at + at / 25) % 25);
        writeln!(drugs, "{chain}C(=O)O,{other}OC(C)=O,{}.5", at % 71).unwrap();
    }
    sandbox.write("solubilities.csv", &solubilities);
    sandbox.write("reactions.csv", &reactions);
    sandbox.write("drugs.csv", &drugs);
    let shown = sandbox.succeed(&["init", "solubilities.csv"]);
    let said = "further molecules are left out as inputs: \"solvent\"; a column of all SMILES with points between, solute.solvent, learns from all\n";
    assert!(shown.contains(said), "{shown}");
    for (file, output) in [("solubilities.csv", "LogS"), ("reactions.csv", "yield (%)")] {
        let found = json(&sandbox.succeed(&["init", file, "--force", "--json"]));
        assert_eq!(found["output"], output, "{found}");
        assert_eq!(found["further_outputs"], serde_json::json!([]), "{found}");
    }
    // all rows are connected by drugs that they share
    let found = ["init", "drugs.csv", "--output", "second", "--json"];
    let found = json(&sandbox.succeed(&found));
    assert_eq!(found["group"], "first", "{found}");
}

/// As of genes, whose changes are folds too.
#[test]
fn folds_and_weights_of_rows_are_aside_and_changes_of_genes_are_learned() {
    let sandbox = Sandbox::new();
    let mut changes = "gene,log2 fold\n".to_owned();
    let mut years = "house,year_built\n".to_owned();
    let mut weighted = "review,sample_weight,cv_fold,score\n".to_owned();
    for at in 0..120usize {
        let change = if at == 0 { "2".to_owned() } else { format!("{}.{at:03}", at % 3) };
        writeln!(changes, "a gene of {at} parts in the liver,{change}").unwrap();
        let year = if at == 0 { "unknown".to_owned() } else { (1900 + at).to_string() };
        writeln!(years, "a house of {at} rooms with a garden,{year}").unwrap();
        writeln!(weighted, "a room of {at} beds,0.{at:03},{},{}.5", at % 5, at % 71).unwrap();
    }
    sandbox.write("changes.csv", &changes);
    sandbox.write("weighted.csv", &weighted);
    sandbox.write("years.csv", &years);
    let said = ["years, folds and the like are learned only where --output", "year_built"];
    sandbox.fail(&["init", "years.csv"], 2, &said);
    sandbox.succeed(&["init", "years.csv", "--output", "year_built"]);
    for (file, output) in [("changes.csv", "log2 fold"), ("weighted.csv", "score")] {
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        assert_eq!(found["output"], output, "{found}");
        assert_eq!(found["further_outputs"], serde_json::json!([]), "{found}");
    }
}

/// As of pairs of sentences, one of which is the input.
#[test]
fn further_columns_of_texts_are_named() {
    let sandbox = Sandbox::new();
    let mut table = "premise,hypothesis,label\n".to_owned();
    for at in 0..60 {
        let label = ["true", "open", "false"][at % 3];
        writeln!(
            table,
            "the man with the number {at} has walked to the town,somebody is {label} in {at},{label}"
        )
        .unwrap();
    }
    sandbox.write("pairs.csv", &table);
    let shown = sandbox.succeed(&["init", "pairs.csv"]);
    let said = "1 further columns of texts are left out: join them to one column with premise, where each says";
    assert!(shown.contains(said), "{shown}");
    for arguments in [["--input", "premise"], ["--as", "hypothesis=nothing"]] {
        let shown = sandbox.succeed(&[&["init", "pairs.csv", "--force"][..], &arguments].concat());
        assert!(!shown.contains("further columns of texts"), "{shown}");
    }
    // codes that recur say nothing in words
    let codes: String = (0..60)
        .map(|at| {
            format!(
                "{}-{}-K,a thing of the number {at},{}.5\n",
                ["A", "B"][at % 2],
                at % 20,
                at % 7
            )
        })
        .collect();
    sandbox.write("codes.csv", &format!("code,text,value\n{codes}"));
    let shown = sandbox.succeed(&["init", "codes.csv"]);
    assert!(!shown.contains("further columns of texts"), "{shown}");
}

/// Ranges are neither labels nor the texts that molecules are predicted from, and one shows what is not read.
#[test]
fn measures_are_named_and_no_inputs() {
    let mut table = "smiles,melting\n".to_owned();
    for at in 0..40 {
        let start = 100 + at % 13;
        let range = format!("{start}-{} °C", start + 2);
        let cell = ["99 °C", "NA", &range][at.min(2)];
        writeln!(table, "{}C(C)O,{cell}", "C".repeat(at)).unwrap();
    }
    let sandbox = Sandbox::new();
    sandbox.write("points.csv", &table);
    let shown = sandbox.succeed(&["init", "points.csv"]);
    let said = [
        "smiles   SMILES  input",
        "melting  texts   output",
        "melting: cells such as \"102-104 °C\" are measures",
    ];
    said.iter().for_each(|line| assert!(shown.contains(line), "{line}\n{shown}"));
}

/// Numbers without the unit of the others are read as of that unit, and named, but for 0.
#[test]
fn numbers_without_the_unit_of_the_others_are_named() {
    let mut table = "smiles,share,mass,loss,yield\n".to_owned();
    for at in 0..40 {
        let number = 20.0 + 0.5 * f64::from(at);
        let molecule = "C".repeat(at as usize);
        let (share, mass) = match at {
            3 | 7 => (format!("{}", number / 100.0), format!("{}", 1000.0 * number)),
            _ => (format!("{number} %"), format!("{number} kg")),
        };
        let (loss, gain) = match at {
            3 => ("0".to_owned(), "1".to_owned()),
            7 => ("0.0".to_owned(), "80.5".to_owned()),
            _ => (format!("{number} %"), format!("{number} %")),
        };
        writeln!(table, "{molecule}C(C)O,{share},{mass},{loss},{gain}").unwrap();
    }
    let sandbox = Sandbox::new();
    sandbox.write("mixture.csv", &table);
    let shown = sandbox.succeed(&["init", "mixture.csv"]);
    let said = [
        "share: 2 of 40 cells lack the unit \"%\" and are read as numbers of it",
        "the first one, on line 5, is \"0.215\", most likely a share",
        "mass: 2 of 40 cells lack the unit \"kg\"",
        "the first one, on line 5, is \"21500\": write",
        "yield: 2 of 40 cells lack the unit \"%\"",
        "the first one, on line 5, is \"1\": write",
    ];
    said.iter().for_each(|line| assert!(shown.contains(line), "{line}\n{shown}"));
    assert!(!shown.contains("loss: 2 of 40"), "{shown}");
}

/// Brackets may say that a number is below 0, or that it is doubtful.
#[test]
fn numbers_in_brackets_are_named() {
    let mut table = "smiles,ic50,dose\n".to_owned();
    for at in 0..40 {
        let molecule = "C".repeat(at);
        let (ic50, dose) = match at {
            3 | 7 => (format!("({at}.83)"), format!("({at}.5) mg")),
            _ => (format!("{at}.83"), format!("{at}.5 mg")),
        };
        writeln!(table, "{molecule}C(C)O,{ic50},{dose}").unwrap();
    }
    let sandbox = Sandbox::new();
    sandbox.write("doubtful.csv", &table);
    let shown = sandbox.succeed(&["init", "doubtful.csv", "--output", "ic50"]);
    let said = "ic50: 2 cells are read as amounts below 0, the first one \"(3.83)\" on line 5";
    assert!(
        shown.contains(said) && !shown.contains("dose: 2 cells are read as amounts"),
        "{shown}"
    );
    let stated = ["init", "doubtful.csv", "--output", "dose", "--force", "--json"];
    assert_eq!(json(&sandbox.succeed(&stated))["skipped"], 2);
}

#[test]
fn columns_without_names_and_of_splits_are_named() {
    let sandbox = Sandbox::new();
    let mut table = ",text,tag,part\n".to_owned();
    let mut titled = "Projekt X;;Assay;;;\nNr;text;Wert;a;b;c\n".to_owned();
    for at in 0..30 {
        let part = ["train", "Train", "valid", "test"][at % 4];
        writeln!(table, "{at},the thing with the number {at},{},{part}", ["a", "b"][at % 2])
            .unwrap();
        writeln!(titled, "{at};the thing {at};{at}.5;;;").unwrap();
    }
    sandbox.write("parts.csv", &table);
    sandbox.write("titled.csv", &titled);
    let shown = sandbox.succeed(&["init", "parts.csv"]);
    let said = [
        "1 columns without a name are left out\n",
        "part: its cells name the split of each row, which --split column=part takes",
    ];
    said.iter().for_each(|line| assert!(shown.contains(line), "{line}\n{shown}"));
    let split = ["init", "parts.csv", "--force", "--split", "column=part"];
    assert!(!sandbox.succeed(&split).contains("its cells name"));
    let said = ["4 columns without a name", "remove the lines before it"];
    sandbox.fail(&["init", "titled.csv"], 2, &said);
}

/// Users, films, times and the rows that pandas has counted say what a row is about; the rating is learned.
#[test]
fn ids_times_and_row_numbers_are_no_outputs() {
    let sandbox = Sandbox::new();
    let mut ratings = "userId,movieId,title,rating,timestamp\n".to_owned();
    let mut shuffled = "Unnamed: 0,smiles,y\n".to_owned();
    let mut activities =
        "Molecule ChEMBL ID;Violations;Smiles;pChEMBL Value;Document ChEMBL ID;Series\n".to_owned();
    for at in 0..120 {
        let user = at * 7 % 30;
        let film = at * 11 % 24;
        let mark = [1.0, 3.5, 4.0][film % 3];
        let time = 1_100_000_000 + 7919 * at;
        writeln!(ratings, "{user},{film},the film with the number {film},{mark},{time}").unwrap();
        let smiles = format!("{}C(C)O", "C".repeat(at));
        writeln!(shuffled, "{},{smiles},{}.25", at * 7 % 120, at % 9).unwrap();
        let molecule = at / 2;
        writeln!(
            activities,
            "CHEMBL{};{};{}C(C)O;{}.5;CHEMBL{};AB{}",
            1000 + 7 * molecule,
            at % 2,
            "C".repeat(molecule),
            4 + at % 5,
            80_000 + at % 40,
            at % 50,
        )
        .unwrap();
    }
    for (file, table, columns, id) in [
        ("ratings.csv", &ratings, ["title", "rating"], None),
        ("shuffled.csv", &shuffled, ["smiles", "y"], Some("Unnamed: 0")),
        ("activities.csv", &activities, ["Smiles", "pChEMBL Value"], None),
    ] {
        sandbox.write(file, table);
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        let [input, output] = columns;
        assert_eq!(
            (&found["input"], &found["output"], found["id"].as_str()),
            (&input.into(), &output.into(), id),
            "{found}"
        );
        assert_eq!(found["further_outputs"], serde_json::json!([]), "{found}");
    }
}

/// As pandas writes the ids of molecules of which some are in no second table.
#[test]
fn ids_that_are_written_with_decimals_beside_gaps_are_no_outputs() {
    let sandbox = Sandbox::new();
    let mut merged = "PubChem CID,SMILES,pIC50\n".to_owned();
    let mut volumes = "smiles,fluid\n".to_owned();
    for at in 0..80 {
        let smiles = format!("{}C(C)O", "C".repeat(at));
        let id = if at % 9 == 4 { String::new() } else { format!("{}.0", 2007 + 31 * at) };
        writeln!(merged, "{id},{smiles},{}.5", 4 + at % 5).unwrap();
        writeln!(volumes, "{smiles},{}.0", 250 + 13 * at).unwrap();
    }
    for (file, table, columns) in [
        ("merged.csv", &merged, ["SMILES", "pIC50"]),
        // a name that only ends as those of ids do
        ("volumes.csv", &volumes, ["smiles", "fluid"]),
    ] {
        sandbox.write(file, table);
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        let [input, output] = columns;
        assert_eq!((&found["input"], &found["output"]), (&input.into(), &output.into()));
        let none = (&serde_json::json!([]), &serde_json::json!(0));
        assert_eq!((&found["further_outputs"], &found["skipped"]), none, "{found}");
    }
}

/// Of a kind that names rows in many classes: species are learned, codes of things beside a number are not.
#[test]
fn many_classes_are_learned_unless_they_are_codes() {
    let sandbox = Sandbox::new();
    let mut plants = "note,species,height\n".to_owned();
    let mut heights = "species,height\n".to_owned();
    let mut reviews = String::new();
    for at in 0..400 {
        let kind = at * 7 % 64;
        let genus =
            ["Rosa", "Quercus", "Pinus", "Acer", "Salix", "Betula", "Fagus", "Ulmus"][kind / 8];
        let epithet =
            ["alba", "nigra", "rubra", "minor", "major", "repens", "glauca", "montana"][kind % 8];
        writeln!(plants, "a plant of the kind {kind} in the bed {at},{genus} {epithet},{at}.5")
            .unwrap();
        writeln!(heights, "{genus} {epithet},{at}.5").unwrap();
        let row = serde_json::json!({
            "text": format!("a thing of the kind {kind} in the box {at}"),
            "asin": format!("B{:06}", 17 * kind),
            "overall": (at % 5) as f64,
            "summary": format!("kind {kind}"),
        });
        writeln!(reviews, "{row}").unwrap();
    }
    sandbox.write("plants.csv", &plants);
    sandbox.write("heights.csv", &heights);
    sandbox.write("reviews.jsonl", &reviews);
    for (file, input, output, holds) in [
        ("plants.csv", "note", "species", "64 classes"),
        // names are texts where there are no others
        ("heights.csv", "species", "height", "numbers"),
        ("reviews.jsonl", "text", "overall", "numbers"),
    ] {
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        assert_eq!(
            (&found["input"], &found["output"], &found["holds"]),
            (&input.into(), &output.into(), &holds.into()),
            "{found}"
        );
    }
}

/// Names with digits, and sets of labels, are inputs where a table has no texts.
#[test]
fn names_with_digits_and_sets_of_labels_are_inputs_where_there_are_no_texts() {
    let sandbox = Sandbox::new();
    let mut genes = "gene,expression\n".to_owned();
    let mut recipes = "steps,minutes\n".to_owned();
    let mut dishes = String::new();
    for at in 0..700usize {
        writeln!(genes, "FGB{},{}.25", at * 11 % 140, at % 11).unwrap();
        let steps = ["mix the flour", "cut the bread", "boil the water", "add some salt"];
        let count = 2 + at % 3;
        let steps: Vec<&str> = (0..count).map(|step| steps[(at / 3 + step) % 4]).collect();
        writeln!(recipes, "{},{}", steps.join("; "), 5 * count + at % 4).unwrap();
        let cuisine = ["greek", "thai", "indian"][at % 3];
        let row = serde_json::json!({ "id": at, "cuisine": cuisine, "ingredients": steps });
        writeln!(dishes, "{row}").unwrap();
    }
    sandbox.write("genes.csv", &genes);
    sandbox.write("recipes.csv", &recipes);
    sandbox.write("dishes.jsonl", &dishes);
    for (file, input, output) in [
        ("genes.csv", "gene", "expression"),
        ("recipes.csv", "steps", "minutes"),
        ("dishes.jsonl", "ingredients", "cuisine"),
    ] {
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        assert_eq!((&found["input"], &found["output"]), (&input.into(), &output.into()), "{found}");
    }
}

/// What is measured is learned, and not the many names of what it is measured of.
#[test]
fn names_of_targets_beside_molecules_are_no_outputs() {
    let sandbox = Sandbox::new();
    let mut table = "smiles,target_name,pic50\n".to_owned();
    for at in 0..700usize {
        let name: String = [at % 5, at / 5 % 5, at / 25 % 5]
            .iter()
            .map(|&part| ["gi", "te", "fe", "da", "ru"][part])
            .collect();
        writeln!(table, "{}C(C)O,{name},{}.25", "C".repeat(at % 90), 4 + at % 5).unwrap();
    }
    sandbox.write("targets.csv", &table);
    let found = json(&sandbox.succeed(&["init", "targets.csv", "--json"]));
    assert_eq!((&found["input"], &found["output"]), (&"smiles".into(), &"pic50".into()), "{found}");
}

/// As Therapeutics Data Commons writes pairs of a drug and what it acts on. Numbers of the name `y` are learned, unless they are
/// coordinates.
#[test]
fn what_is_named_as_learned_is_the_output_and_no_id_of_a_target() {
    let sandbox = Sandbox::new();
    let mut pairs = "Drug_ID\tDrug\tTarget_ID\tTarget\tY\n".to_owned();
    let mut points = "text,x,y,group\n".to_owned();
    for at in 0..120 {
        let smiles = format!("{}C(C)O", "C".repeat(at));
        let target = at % 5;
        let sequence = "MKV".repeat(20 + target);
        let affinity = 4 + at % 7;
        writeln!(pairs, "{}\t{smiles}\tP0000{target}\t{sequence}LLAGT\t{affinity}.25", 2000 + at)
            .unwrap();
        let group = ["a", "b"][at % 2];
        writeln!(points, "the point with the number {at},{at}.5,{affinity}.5,{group}").unwrap();
    }
    sandbox.write("pairs.tsv", &pairs);
    sandbox.write("points.csv", &points);
    for (file, input, output) in [("pairs.tsv", "Drug", "Y"), ("points.csv", "text", "group")] {
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        assert_eq!((&found["input"], &found["output"]), (&input.into(), &output.into()), "{found}");
    }
    let shown = sandbox.succeed(&["init", "pairs.tsv", "--force"]);
    assert!(shown.contains("Target_ID  ids"), "{shown}");
}

/// Molecules are inputs beside descriptions of two assays, and what was measured most is learned. Texts that tell rows apart as
/// molecules do are inputs, and so are texts beside which there is nothing else to learn, or which have the name of texts.
#[test]
fn descriptions_of_a_few_assays_are_no_inputs_beside_molecules() {
    let sandbox = Sandbox::new();
    let mut assays = "Smiles,Assay Description,Year,pChEMBL Value\n".to_owned();
    let mut bindings =
        "Ligand SMILES\tTarget Name\tKi (nM)\tIC50 (nM)\tCuration/DataSource\n".to_owned();
    let mut captions = "caption,smiles\n".to_owned();
    let mut recurring = "note,smiles\n".to_owned();
    let mut described = "description,smiles,mass\n".to_owned();
    for at in 0..120 {
        let smiles = format!("{}C(C)O", "C".repeat(at));
        let assay = ["Inhibition of the carbonic anhydrase 2", "Displacement of a radioligand"];
        writeln!(assays, "{smiles},{},{},{}.25", assay[at % 2], 1990 + at % 30, 4 + at % 5)
            .unwrap();
        let [ki, ic50] = if at % 4 == 0 {
            [format!("{at}.5"), String::new()]
        } else {
            [String::new(), format!("{at}.25")]
        };
        let target = ["Prothrombin", "Thrombin"][at % 2];
        let source = ["Curated from the literature by BindingDB", "US Patent"][at / 2 % 2];
        writeln!(bindings, "{smiles}\t{target}\t{ki}\t{ic50}\t{source}").unwrap();
        let odour = ["smells of fruit and of wine", "smells of oil and of wax"][at % 2];
        writeln!(recurring, "it {odour},{smiles}").unwrap();
        writeln!(described, "it {odour},{smiles},{at}.5").unwrap();
        let molecule = at % 20;
        writeln!(
            captions,
            "an alcohol with a chain of {molecule} carbons,{}C(C)O",
            "C".repeat(molecule)
        )
        .unwrap();
    }
    sandbox.write("assays.csv", &assays);
    sandbox.write("bindings.tsv", &bindings);
    sandbox.write("captions.csv", &captions);
    sandbox.write("recurring.csv", &recurring);
    sandbox.write("described.csv", &described);
    for (file, input, output) in [
        ("assays.csv", "Smiles", "pChEMBL Value"),
        ("bindings.tsv", "Ligand SMILES", "IC50 (nM)"),
        ("captions.csv", "caption", "smiles"),
        ("recurring.csv", "note", "smiles"),
        ("described.csv", "description", "smiles"),
    ] {
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        assert_eq!((&found["input"], &found["output"]), (&input.into(), &output.into()), "{found}");
    }
    let stated = ["init", "assays.csv", "--force", "--json", "--input", "Assay Description"];
    assert_eq!(json(&sandbox.succeed(&stated))["input"], "Assay Description");
}

/// A few remarks, a vector that is the same in all rows and the bonds of PubChem, beside molecules and what is measured.
#[test]
fn columns_that_say_little_are_no_inputs_beside_molecules() {
    let sandbox = Sandbox::new();
    let names = ["smiles,Comment,outcome", "smiles,cell,logP", "smiles,bonds,logP"];
    let mut tables = names.map(|names| names.to_owned() + "\n");
    let mut described = "smiles,description,logP\n".to_owned();
    for (at, pair) in pairs(120).iter().enumerate() {
        let comment = match at {
            0..3 => format!("the compound {at} is fluorescent and was left out"),
            _ => String::new(),
        };
        let smiles = &pair.smiles;
        let value = pair.atoms as f64 / 4.0;
        let outcome = ["Inactive", "Active"][usize::from(pair.smiles.contains('N'))];
        let bond = |count: usize| {
            format!("{}  {}  8", (at * 13 + count * 5) % 29, (at * 7 + count * 3) % 31)
        };
        let bonds: Vec<String> = (0..5 + at % 3).map(bond).collect();
        let rows = [
            format!("{smiles},{comment},{outcome}"),
            format!("{smiles},90.0 90.0 90.0,{value}"),
            format!("{smiles},{},{value}", bonds.join(" ")),
        ];
        tables.iter_mut().zip(rows).for_each(|(table, row)| *table += &(row + "\n"));
        let text =
            if at % 3 == 0 { format!("the compound {at} is a solid") } else { String::new() };
        writeln!(described, "{smiles},{text},{value}").unwrap();
    }
    let outputs = ["outcome", "logP", "logP"];
    let files = ["comments.csv", "cell.csv", "bonds.csv"];
    for ((file, table), output) in files.into_iter().zip(&tables).zip(outputs) {
        sandbox.write(file, table);
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        assert_eq!([&found["input"], &found["output"]], ["smiles", output], "{found}");
        super::train(&sandbox, &file.replace(".csv", ".toml"));
    }
    let shown = sandbox.succeed(&["init", "bonds.csv", "--force"]);
    let said = "left out as inputs: \"bonds\" (--input COLUMN --output smiles learns molecules from one of them)\n";
    assert!(shown.contains(said), "{shown}");
    // a column with the name of one of texts may have gaps
    for (file, name) in [("described.csv", "description"), ("odours.csv", "odor_description")] {
        sandbox.write(file, &described.replace("description", name));
        let found = json(&sandbox.succeed(&["init", file, "--json"]));
        assert_eq!([&found["input"], &found["output"]], [name, "smiles"], "{found}");
    }
}

/// A number beside them makes no spectra, bands or texts with gaps say less of molecules.
#[test]
fn peaks_bands_and_texts_with_gaps_are_inputs_beside_molecules_and_numbers() {
    let sandbox = Sandbox::new();
    let names = [
        "smiles,peaks,precursor_mz",
        "smiles,spectrum,ri",
        "smiles,bands,mp",
        "smiles,peak_list,mp",
        "smiles,function,mw",
    ];
    let mut tables = names.map(|names| names.to_owned() + "\n");
    for (at, pair) in pairs(120).iter().enumerate() {
        let numbers = |peak: usize| [30 + (at * 37 + peak * 53) % 270, (at * 71 + peak * 29) % 999];
        let count = 8 + at % 8;
        let written = |between: &str, behind: &str| -> String {
            let peaks = (0..count).map(numbers);
            let peaks: Vec<String> =
                peaks.map(|[mz, height]| format!("{mz}{between}{height}")).collect();
            peaks.join(behind)
        };
        let text =
            if at % 5 < 2 { format!("the compound {at} smells of pine") } else { String::new() };
        let cells = [
            written(":", " "),
            written(" ", "; "),
            format!("\"{}\"", written(", ", ", ")),
            written(" ", " "),
            text,
        ];
        for (table, cell) in tables.iter_mut().zip(cells) {
            writeln!(table, "{},{cell},{}", pair.smiles, pair.atoms * 7 + at % 5).unwrap();
        }
    }
    for (table, names) in tables.iter().zip(names) {
        let name = names.split(',').nth(1).unwrap();
        let file = format!("{name}.csv");
        sandbox.write(&file, table);
        let found = json(&sandbox.succeed(&["init", &file, "--json"]));
        assert_eq!([&found["input"], &found["output"]], [name, "smiles"], "{found}");
    }
}

/// A second SMILES of each molecule is no output, unless it is asked for.
#[test]
fn molecules_that_are_written_twice_are_not_learned_from_themselves() {
    let sandbox = Sandbox::new();
    let mut table = "SMILES,canonical_smiles,logP\n".to_owned();
    let mut twice = "SMILES,isosmiles\n".to_owned();
    for at in 0..40 {
        let chain = "C".repeat(at);
        writeln!(table, "OC(C){chain},{chain}C(C)O,{}.25", at % 7).unwrap();
        writeln!(twice, "OC(CC){chain}F,O[C@H](CC){chain}F").unwrap();
    }
    sandbox.write("written.csv", &table);
    sandbox.write("twice.csv", &twice);
    let init = ["init", "written.csv", "--force"];
    let shown = sandbox.succeed(&init);
    let said = [
        "logP              numbers  output",
        "canonical_smiles: its molecules are those of SMILES, so that it is no output",
    ];
    said.iter().for_each(|line| assert!(shown.contains(line), "{line}\n{shown}"));
    let stated = [&init[..], &["--json", "--output", "canonical_smiles"]].concat();
    assert_eq!(json(&sandbox.succeed(&stated))["output"], "canonical_smiles");
    let said = ["no column of SMILES", "their molecules are those of \"SMILES\": \"isosmiles\""];
    sandbox.fail(&["init", "twice.csv"], 2, &said);
}

/// Lists that are not read are named, and are no sets of labels with commas between.
#[test]
fn lists_in_a_notation_that_is_not_read_are_named() {
    let mut table = "text,tags\n".to_owned();
    for at in 0..40 {
        let tags = ["\"{acid, base}\"", "{acid}", "\"{base, salt}\"", "\"{acid, salt, base}\""];
        writeln!(table, "the bottle with the number {at},{}", tags[at % 4]).unwrap();
    }
    let sandbox = Sandbox::new();
    sandbox.write("sets.csv", &table);
    let shown = sandbox.succeed(&["init", "sets.csv"]);
    let said = [
        "tags: cells such as \"{acid, base}\" are lists in a notation that is not read",
        "written [\"a\", \"b\"]",
    ];
    said.iter().for_each(|line| assert!(shown.contains(line), "{line}\n{shown}"));
    assert!(!shown.contains("labels, with ','"), "{shown}");
    let stated = ["init", "sets.csv", "--force", "--as", "tags=labels"];
    sandbox.fail(&stated, 2, &["tags=labels", "{acid, base}", "a;b"]);
    // Label Studio writes one label as it is
    let objects = table.replace("\"{acid, base}\"", "salt").replace("{acid}", "base");
    let objects = objects.replace("\"{base, salt}\"", r#""{""choices"": [""base"", ""salt""]}""#);
    let objects =
        objects.replace("\"{acid, salt, base}\"", r#""{""choices"": [""acid"", ""salt""]}""#);
    sandbox.write("choices.csv", &objects);
    let shown = sandbox.succeed(&["init", "choices.csv"]);
    assert!(shown.contains("labels, with ';' between"), "{shown}");
    // in JSON lines a list of several choices is in an object
    let mut lines = String::new();
    for at in 0..40 {
        let tags = [
            serde_json::json!("salt"),
            serde_json::json!("base"),
            serde_json::json!({ "choices": ["base", "salt"] }),
            serde_json::json!({ "choices": ["acid", "salt"] }),
        ];
        let text = format!("the bottle with the number {at}");
        let row = serde_json::json!({ "text": text, "tags": tags[at % 4], "made": { "at": at } });
        writeln!(lines, "{row}").unwrap();
    }
    sandbox.write("lines.jsonl", &lines);
    let shown = sandbox.succeed(&["init", "lines.jsonl"]);
    assert!(shown.contains("labels, with ';' between"), "{shown}");
    assert!(shown.contains("left out, since their values are objects"), "{shown}");
    let stated = ["init", "lines.jsonl", "--force", "--as", "made=labels"];
    sandbox.fail(&stated, 2, &["no column \"made\"; left out, since their values are objects"]);
}

/// As Doccano writes them in a .csv file.
#[test]
fn labels_with_a_rare_sign_between_are_found_and_the_sign_is_named() {
    let sandbox = Sandbox::new();
    for (sign, separator) in [("#", "#"), ("\n", "\n"), ("::", ":")] {
        let mut table = "data,label\n".to_owned();
        for at in 0..60 {
            let labels = ["war", "crime", "music"];
            let count = [1, 2, 1, 3][at % 4];
            let labels: Vec<&str> = (0..count).map(|label| labels[(at + label) % 3]).collect();
            writeln!(table, "the film with the number {at},\"{}\"", labels.join(sign)).unwrap();
        }
        sandbox.write("films.csv", &table);
        let shown = sandbox.succeed(&["init", "films.csv", "--force"]);
        let said = format!("(separator = {separator:?} beside the column");
        // colons stand in names, which are classes where they recur
        let found = if sign == "::" { "9 classes" } else { said.as_str() };
        assert!(shown.contains(found), "{shown}");
        let stated = ["init", "films.csv", "--force", "--as", "label=labels"];
        let shown = sandbox.succeed(&stated);
        assert!(shown.contains(&said), "{shown}");
        let config: toml::Value = toml::from_str(&sandbox.read("films.toml")).unwrap();
        assert_eq!(config["output"]["features"]["separator"].as_str(), Some(separator));
    }
}

/// Commas are parts of names, which is said, but not of a few sets of labels.
#[test]
fn commas_in_names_of_classes_are_named() {
    let sandbox = Sandbox::new();
    let init = |file: &str, cells: &[&str]| {
        let row =
            |at: usize| format!("a thing of the number {at},\"{}\"\n", cells[at % cells.len()]);
        let rows: String = (0..60).map(row).collect();
        sandbox.write(file, &format!("what,kind\n{rows}"));
        sandbox.succeed(&["init", file])
    };
    let said = "kind: commas are read as parts of names (--as kind=labels divides cells at them)\n";
    let shown = init("cities.csv", &["Paris, France", "Berlin, Germany", "Rome, Italy"]);
    assert!(shown.contains(said) && shown.contains("3 classes"), "{shown}");
    let sets = ["toxic", "toxic,obscene", "toxic,obscene,insult", "threat", "identity,hate"];
    let shown = init("comments.csv", &sets);
    assert!(!shown.contains(said) && shown.contains("labels, with ',' between"), "{shown}");
}

/// Codes with a 0 before them are classes, and named. Numbers are learned before them.
#[test]
fn codes_that_begin_with_0_are_no_numbers() {
    let mut table = "text,diagnosis\n".to_owned();
    for at in 0..40 {
        let code = ["0222", "0389", "4019", "2500"][at % 4];
        writeln!(table, "the patient with the number {at},{code}").unwrap();
    }
    let sandbox = Sandbox::new();
    sandbox.write("codes.csv", &table);
    let shown = sandbox.succeed(&["init", "codes.csv"]);
    let said = "diagnosis: cells such as \"0222\" are codes and no numbers";
    assert!(shown.contains(said) && shown.contains("4 classes"), "{shown}");
    let shown = sandbox.succeed(&["init", "codes.csv", "--force", "--as", "diagnosis=numbers"]);
    assert!(!shown.contains(said), "{shown}");
    sandbox.write("icd.csv", &table.replace("4019", "401").replace("2500", "25000"));
    let shown = sandbox.succeed(&["init", "icd.csv"]);
    assert!(shown.contains("diagnosis: cells such as \"0222\" begin with 0"), "{shown}");
    let mut priced = "text,month,price\n".to_owned();
    for at in 0..60 {
        let month = at % 12 + 1;
        writeln!(priced, "the parcel with the number {at},{month:02},{at}.25").unwrap();
    }
    sandbox.write("priced.csv", &priced);
    let found = json(&sandbox.succeed(&["init", "priced.csv", "--json"]));
    assert_eq!(found["output"], "price", "{found}");
    let mut counted = "text,count\n".to_owned();
    for at in 0..40 {
        writeln!(counted, "the box with the number {at},{:05}", 123 + 977 * at).unwrap();
    }
    sandbox.write("counted.csv", &counted);
    let said =
        ["no column of SMILES", "\"00123\" in \"count\" are taken for codes: --as count=numbers"];
    sandbox.fail(&["init", "counted.csv"], 2, &said);
    sandbox.succeed(&["init", "counted.csv", "--as", "count=numbers"]);
}

/// Columns of numbers that one configuration does not read together are counted, and named where they are asked for.
#[test]
fn further_columns_of_numbers_are_named() {
    let sandbox = Sandbox::new();
    let mut table = "SMILES;logP;pKa;Inhabitants\n".to_owned();
    for at in 0..40 {
        let inhabitants = ["673", "10.072", "1.250", "841"][at % 4];
        writeln!(table, "{}C(C)O;{at},25;{},5;{inhabitants}", "C".repeat(at), at % 7).unwrap();
    }
    sandbox.write("german.csv", &table);
    let shown = sandbox.succeed(&["init", "german.csv"]);
    let said = [
        "logP         numbers, with decimal commas  output",
        "2 further columns of numbers are left out",
        "Inhabitants: the point in \"10.072\" is read as that of thousands",
    ];
    said.iter().for_each(|line| assert!(shown.contains(line), "{line}\n{shown}"));
    let two = ["init", "german.csv", "--force", "--output", "logP", "--output", "pKa"];
    let said = ["\"logP\" beside others", "decimal points", "numbers, with decimal commas"];
    sandbox.fail(&two, 2, &said);
    sandbox.succeed(&["init", "german.csv", "--force", "--output", "Inhabitants"]);
    assert!(sandbox.read("german.toml").contains("decimal = \",\""));
}

/// Questions are names above answers, and `--header` says so of sentences.
#[test]
fn a_line_of_questions_has_the_names_of_columns() {
    let sandbox = Sandbox::new();
    let row = |at: usize| format!("the service {at} is fine by me,{}\n", ["good", "bad"][at % 2]);
    let rows: String = (0..40).map(row).collect();
    let questions =
        "What did you like about it in the last month?,How satisfied are you with it overall?";
    let sentences = "Please say what you liked about our service,rate";
    sandbox.write("survey.csv", &format!("{questions}\n{rows}"));
    sandbox.write("sentences.csv", &format!("{sentences}\n{rows}"));
    let again = "\"{\"\"ImportId\"\":\"\"QID1\"\"}\",\"{\"\"ImportId\"\":\"\"QID2\"\"}\"";
    sandbox.write("qualtrics.csv", &format!("Q1,Q2\nWhat did you like?,And?\n{again}\n{rows}"));
    let found = json(&sandbox.succeed(&["init", "survey.csv", "--json"]));
    let output = "How satisfied are you with it overall?";
    assert_eq!((&found["rows"], &found["output"]), (&40.into(), &output.into()));
    let found = json(&sandbox.succeed(&["init", "sentences.csv", "--json"]));
    assert_eq!((&found["rows"], &found["output"]), (&41.into(), &"column_2".into()));
    let stated = ["init", "sentences.csv", "--json", "--force", "--header"];
    let found = json(&sandbox.succeed(&stated));
    assert_eq!((&found["rows"], &found["output"]), (&40.into(), &"rate".into()));
    // a class that occurs below is no name, whatever question stands beside it
    let row = |at: usize| {
        let end = ["?", ".", ""][at % 3];
        format!("what is the service {at} of the bank like{end}\t{}\n", ["card", "loan"][at % 2])
    };
    let rows: String = (0..40).map(row).collect();
    sandbox.write("questions.tsv", &rows);
    let found = json(&sandbox.succeed(&["init", "questions.tsv", "--json"]));
    assert_eq!((&found["rows"], &found["output"]), (&40.into(), &"column_2".into()));
    let both = ["init", "survey.csv", "--force", "--header", "--no-header"];
    sandbox.fail(&both, 2, &["--header", "--no-header"]);
    let shown = sandbox.succeed(&["init", "qualtrics.csv"]);
    assert!(shown.contains("line 3 names the columns again"), "{shown}");
}

/// A class or relation that recurs in the lines below is no name, though no cell looks like one of a row.
#[test]
fn a_first_line_of_short_cells_that_recur_is_a_row() {
    let sandbox = Sandbox::new();
    let feelings = |at: usize| {
        let (feeling, words) = [("positive", "love it"), ("negative", "hate it")][at % 2];
        format!("{feeling}\t{words} {at}\n")
    };
    let triples = |at: usize| {
        let (relation, place) = [("capital_of", "france"), ("born_in", "spain")][at % 2];
        format!("paris_{}\t{relation}\t{place}\n", at % 30)
    };
    let rows = |row: &dyn Fn(usize) -> String| (0..60).map(row).collect::<String>();
    for (file, table, columns) in [
        ("short.tsv", rows(&feelings), ["column_2", "column_1"]),
        ("triples.tsv", rows(&triples), ["column_1", "column_2"]),
    ] {
        sandbox.write(file, &table);
        let [input, output] = columns;
        let init = ["init", file, "--json", "--input", input, "--output", output];
        let found = json(&sandbox.succeed(&init));
        assert_eq!((&found["rows"], &found["skipped"]), (&60.into(), &0.into()), "{found}");
    }
    // names that some cells are too: those of files behind one another, and of a class above what has it
    let tagged =
        |at: usize| format!("{at},a thing of the number {at},{}\n", ["old", "new"][at % 2]);
    let words =
        |at: usize| format!("the thing of the number {at},{}\n", ["active", "idle"][at % 2]);
    let letters = |at: usize| {
        format!("{}K,{}\n", ["ACD", "EFG"][at % 2].repeat(1 + at), ["active", "idle"][at % 2])
    };
    let of_names = |names: &str, row: &dyn Fn(usize) -> String| names.to_owned() + &rows(row);
    for (file, table, name) in [
        ("tags.csv", of_names("number,what,label\n", &tagged).repeat(2), "what"),
        ("behind.csv", of_names("what,state\n", &words).repeat(2), "what"),
        ("active.csv", of_names("what,active\n", &words), "active"),
        ("letters.csv", of_names("protein,active\n", &letters), "active"),
    ] {
        sandbox.write(file, &table);
        let shown = sandbox.succeed(&["init", file, "--force"]);
        assert!(shown.contains(&format!("\n{name} ")), "{shown}");
    }
    // the name of a class above what has it, where cells are single words too
    let hosts = |at: usize| {
        let host = ["calm", "loud", "warm", "cold", "slow"][at % 5].repeat(2 + at % 3);
        format!("{host}{}.com,{}\n", ["red", "big", "tiny"][at % 3], ["dga", "legit"][at % 2])
    };
    let people = |at: usize| {
        let name = ["Anna", "Bert", "Cleo", "Dora", "Emil"][at % 5];
        let end = ["lia", "rich", "mund", "gard"][at / 5 % 4];
        format!("{name}{end},{}\n", ["Male", "Female"][at % 2])
    };
    for (file, table, input, output) in [
        ("hosts.csv", of_names("domain,dga\n", &hosts), "domain", "dga"),
        ("people.csv", of_names("Name,Male\n", &people), "Name", "Male"),
        ("tweets.csv", of_names("tweet text,idle\n", &words), "tweet text", "idle"),
    ] {
        sandbox.write(file, &table);
        let init = ["init", file, "--json", "--input", input, "--output", output];
        let found = json(&sandbox.succeed(&init));
        assert_eq!(found["rows"], 60, "{found}");
    }
    // classes that end as names of ids do
    for [first, second] in [["covid", "flu"], ["valid", "broken"]] {
        let row = |at: usize| format!("{}\troom service nice {at}\n", [first, second][at % 2]);
        let file = format!("{first}.tsv");
        sandbox.write(&file, &rows(&row));
        let init = ["init", &file, "--json", "--input", "column_2", "--output", "column_1"];
        let found = json(&sandbox.succeed(&init));
        assert_eq!(found["rows"], 60, "{found}");
    }
    // names that are equal may be cells of a row
    let flags: String = (0..20).map(|at| format!("{at},a film of {at},0,1,0\n")).collect();
    sandbox.write("flags.csv", &flags);
    sandbox.fail(&["init", "flags.csv"], 2, &["several columns are named \"0\"", "--no-header"]);
}

/// Lines of a header below the first are no rows, or are named.
#[test]
fn further_lines_of_a_header_are_skipped_or_named() {
    let sandbox = Sandbox::new();
    let row = |at: usize| {
        let (word, rate) = [("fast", "good"), ("slow", "bad")][at % 2];
        format!("the service with the number {at} is {word},{rate}\n")
    };
    let rows: String = (0..40).map(row).collect();
    let init = |file: &str, table: String| {
        sandbox.write(file, &table);
        sandbox.succeed(&["init", file])
    };
    // one file behind another
    let shown = init("joined.csv", format!("text,rate\n{rows}text,rate\n{rows}"));
    let said = [
        "joined.csv: 81 rows",
        "2 classes",
        "1 lines cannot be read and are skipped, the first one, line 42: the names of the columns again",
    ];
    said.iter().for_each(|line| assert!(shown.contains(line), "{line}\n{shown}"));
    let trained = super::train(&sandbox, "joined.toml");
    assert_eq!(trained["candidates"], 2, "{trained}");
    for (file, lines, said) in [
        ("types.csv", "string,category", "line 2 has the types of the columns"),
        (
            "orange.csv",
            "string,bad good\nmeta,class",
            "line 2 has the types of the columns, and the next one what they are for",
        ),
        (
            "assay.csv",
            "RESULT_TYPE,STRING\nRESULT_DESCR,how it was\nRESULT_UNIT,",
            "line 2 has the types of the columns, and the next ones that begin with RESULT_ their descriptions",
        ),
        (
            "survey.csv",
            "Open-Ended Response,Response",
            "rate: the class \"Response\" stands on line 2 alone, and each other class in several rows",
        ),
    ] {
        let shown = init(file, format!("text,rate\n{lines}\n{rows}"));
        assert!(shown.contains(said), "{said}\n{shown}");
    }
    let shown = init("plain.csv", format!("text,rate\n{rows}"));
    assert!(!shown.contains("line 2"), "{shown}");
}

/// What `init` says to do next can be pasted: a SMILES is not cut.
#[test]
fn the_next_command_has_a_whole_molecule() {
    let sandbox = Sandbox::new();
    let table = |short: usize| {
        let row = |at: usize| {
            let length = if at == short { 2 } else { 90 + at };
            format!("{}C(C)O,{}.5\n", "C".repeat(length), at % 7)
        };
        "smiles,logp\n".to_owned() + &(0..20).map(row).collect::<String>()
    };
    sandbox.write("some.csv", &table(5));
    sandbox.write("none.csv", &table(20));
    let shown = sandbox.succeed(&["init", "some.csv"]);
    assert!(
        shown.ends_with("  dsokr train some.toml\n  dsokr search runs/some \"CCC(C)O\"\n"),
        "{shown}"
    );
    let shown = sandbox.succeed(&["init", "none.csv"]);
    assert!(shown.ends_with("  dsokr train none.toml\n"), "{shown}");
    // a text of several lines is one line, which a shell reads as it is
    let row = |at: usize| {
        let (word, rate) = [("apples", "good"), ("pears", "bad")][at % 2];
        format!("{{\"text\": \"for ${at} a box\\nwith {word}\", \"rate\": \"{rate}\"}}\n")
    };
    sandbox.write("lines.jsonl", &(0..40).map(row).collect::<String>());
    let shown = sandbox.succeed(&["init", "lines.jsonl"]);
    assert!(shown.ends_with("  dsokr search runs/lines 'for $0 a box with apples'\n"), "{shown}");
    let shown = sandbox.succeed(&["train", "lines.toml"]);
    let command = shown.lines().find(|line| line.starts_with("try: ")).unwrap();
    assert!(command.contains(" search runs/lines 'for $"), "{command}");
}

/// Chains have no marks of SMILES but the name of their column. Where nothing is an output, `--as` says that one is.
#[test]
fn chains_are_molecules_by_the_name_of_their_column() {
    let sandbox = Sandbox::new();
    let rows: String =
        (0..20).map(|at| format!("the alcohol of {at},{}O\n", "C".repeat(1 + at))).collect();
    sandbox.write("named.csv", &format!("text,smiles\n{rows}"));
    sandbox.write("unnamed.csv", &format!("text,structure\n{rows}"));
    let found = json(&sandbox.succeed(&["init", "named.csv", "--json"]));
    assert_eq!((&found["output"], &found["holds"]), (&"smiles".into(), &"SMILES".into()));
    let said = ["no column of SMILES", "\"structure\" (ids)", "--as COLUMN=KIND"];
    sandbox.fail(&["init", "unnamed.csv"], 2, &said);
}
