//! Tables whose form is odd: separators, decimals, headers, blank lines, lists, and cells that are not what their column
//! holds.

use std::fmt::Write;

use super::{Bound, Flat, Stranger, flats, half_of_constant, pairs};
use crate::sandbox::{Sandbox, number};

const MRR: f64 = 0.2;

#[test]
fn a_messy_column_of_smiles_is_smiles() {
    let mut table = "CID,description,smiles\n".to_owned();
    for (at, pair) in pairs(300).iter().enumerate() {
        let smiles = match at {
            20 => "not available".to_owned(),
            30 => "C(C".to_owned(),
            at if at % 10 == 5 => format!("\"{} |c:1,3,t:5|\"", pair.smiles),
            at if at % 10 == 6 => format!("{} compound {at}", pair.smiles),
            _ => pair.smiles.clone(),
        };
        writeln!(table, "{},\"{}\",{smiles}", 1000 + at / 2, pair.text).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger { skipped: 2, ..Stranger::of_molecules("messy.csv", table, MRR) };
    stranger.trains(&sandbox);
    let shown = sandbox.succeed(&["init", "messy.csv", "--force"]);
    let said = [
        "smiles: SMILES in 298 of 300 cells; the first other one is \"not available\" on line 22",
        "smiles: 60 SMILES have a name or an extension behind them",
    ];
    said.iter().for_each(|line| assert!(shown.contains(line), "{line}\n{shown}"));
    let shown = sandbox.succeed(&["init", "messy.csv", "--force", "--as", "smiles=texts"]);
    assert!(shown.contains("smiles       texts"), "{shown}");
}

#[test]
fn semicolons_and_decimal_commas_are_read() {
    let mut table = "Nr;Beschreibung;Miete\n".to_owned();
    let flats = flats(200);
    for (at, flat) in flats.iter().enumerate() {
        let rent = format!("{:.2}", flat.rent).replace('.', ",");
        writeln!(table, "{at};\"{}\";{rent}", flat.text).unwrap();
    }
    let stranger = Stranger {
        file: "mieten.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["Beschreibung", "Miete"],
        holds: "numbers, with decimal commas",
        skipped: 0,
        floor: ("pinball", Bound::AtMost(half_of_constant(&flats))),
    };
    let (survey, _) = stranger.trains(&Sandbox::new());
    assert_eq!(survey["id"], "Nr");
}

#[test]
fn percentages_with_gaps_are_numbers() {
    let mut table = "description|share\n".to_owned();
    let flats = flats(200);
    for (at, flat) in flats.iter().enumerate() {
        let share = if at % 50 == 7 { "n/a".to_owned() } else { format!("{:.1}%", flat.rent) };
        writeln!(table, "{}|{share}", flat.text).unwrap();
    }
    let stranger = Stranger {
        file: "shares.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["description", "share"],
        holds: "numbers, in %",
        skipped: 4,
        floor: ("pinball", Bound::AtMost(half_of_constant(&flats))),
    };
    stranger.trains(&Sandbox::new());
}

/// Lines of comments are counted, and a training leaves them out too.
#[test]
fn comments_before_the_names_are_counted() {
    let mut table = "# of the program 1.2\n# 2024-05-01, unit: mg\ntext,tag\n".to_owned();
    for at in 0..60 {
        let (word, tag) = [("red", "warm"), ("blue", "cold")][at % 2];
        writeln!(table, "a {word} thing with the number {at},{tag}").unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "commented.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["text", "tag"],
        holds: "2 classes",
        skipped: 0,
        floor: ("accuracy", Bound::AtLeast(0.9)),
    };
    let (survey, _) = stranger.trains(&sandbox);
    assert_eq!(survey["rows"], 60);
    let shown = sandbox.succeed(&["init", "commented.csv", "--force"]);
    assert!(shown.contains("2 lines before the columns begin with #"), "{shown}");
}

/// Codes of three digits with commas between are sets of labels, not numbers with groups of thousands.
#[test]
fn sets_of_codes_of_three_digits_are_labels() {
    let mut table = "note,icd9\n".to_owned();
    for at in 0..240usize {
        let has = [("wheeze", "518"), ("fever", "486"), ("sugar", "250")];
        let set = 1 + at * 5 % 7;
        let parts = has.iter().enumerate().filter(|(bit, _)| (set >> bit) & 1 == 1);
        let (words, codes): (Vec<&str>, Vec<&str>) = parts.map(|(_, part)| *part).unzip();
        writeln!(table, "the patient {at} has {},\"{}\"", words.join(" and "), codes.join(","))
            .unwrap();
    }
    let stranger = Stranger {
        file: "codes.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["note", "icd9"],
        holds: "labels, with ',' between",
        skipped: 0,
        floor: ("f1", Bound::AtLeast(0.8)),
    };
    stranger.trains(&Sandbox::new());
}

/// As a spreadsheet of a laboratory exports it: a line break in a name, a column with one value, decimal commas with three
/// places, and thousands behind a space.
#[test]
fn decimal_commas_with_three_places_are_learned_and_compared() {
    let mut table = "\"SMILES\n(canonical)\";Standard Type;Value\n".to_owned();
    for (at, pair) in pairs(200).iter().enumerate() {
        let value = match pair.atoms {
            0..10 => format!("{}00,250", pair.atoms),
            atoms => format!("{} {}00,250", atoms / 10, atoms % 10),
        };
        let value = if at % 50 == 1 { "0,665".to_owned() } else { value };
        writeln!(table, "{};IC50;{value}", pair.smiles).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "laboratory.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["SMILES\n(canonical)", "Value"],
        holds: "numbers, with decimal commas",
        skipped: 0,
        floor: ("r2", Bound::AtLeast(0.3)),
    };
    stranger.trains(&sandbox);
    // a molecule that cannot be read is named by its line, or left out
    sandbox.write("new.csv", "\"SMILES\n(canonical)\"\nC(C\nCCO\nCCN\n");
    let predict = ["predict", "runs/laboratory", "new.csv"];
    sandbox.fail(&predict, 2, &["new.csv:3", "\"C(C\""]);
    let answers = sandbox.succeed(&[&predict[..], &["--on-bad-row", "skip"]].concat());
    assert_eq!(answers.lines().count(), 2, "{answers}");
    let label = crate::sandbox::json(answers.lines().next().unwrap())["exact"]["label"].clone();
    assert!(label.as_str().unwrap().contains(','), "{label}");
}

/// Points and commas before decimals of one column are read, and numbers that a sign makes 1000 times too large are named.
#[test]
fn points_and_commas_before_decimals_are_read_or_named() {
    let mut tables = ["mixed", "points", "commas"].map(|name| (name, "offer;value\n".to_owned()));
    for (at, flat) in flats(200).iter().enumerate() {
        let point = format!("{:.3}", 1.0 + flat.rent / 1000.0);
        let comma = point.replace('.', ",");
        let mixed = if at % 5 == 1 { &comma } else { &point };
        for ((_, table), cell) in tables.iter_mut().zip([mixed, &point, &comma]) {
            writeln!(table, "{};{cell}", flat.text).unwrap();
        }
    }
    let sandbox = Sandbox::new();
    for (name, table) in &tables {
        sandbox.write(&format!("{name}.csv"), table);
    }
    let shown = sandbox.succeed(&["init", "mixed.csv"]);
    let said = [
        "numbers, with decimal points and commas",
        "value: 160 cells with a point, the first one",
        "and 40 cells with a comma, the first one",
        "on line 3, are read as decimals",
    ];
    said.iter().for_each(|line| assert!(shown.contains(line), "{line}\n{shown}"));
    let warned = |arguments: &[&str]| {
        let ran = sandbox.run(arguments);
        let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{errors}");
        errors.lines().filter(|line| line.contains("WARN")).collect::<Vec<_>>().join("\n")
    };
    let warnings = warned(&["train", "mixed.toml"]);
    assert!(!warnings.contains("thousands"), "{warnings}");

    // the same table with the other sign as that of thousands
    let config = sandbox.read("mixed.toml");
    let key = ", mixed_decimals = true";
    assert!(config.contains(key), "{config}");
    sandbox.write("plain.toml", &config.replace(key, ""));
    let warnings = warned(&["train", "plain.toml"]);
    for part in ["the comma in 40 cells of the column \"value\"", "mixed_decimals = true"] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }

    // tables with commas for a model of points
    sandbox.succeed(&["init", "points.csv"]);
    sandbox.succeed(&["train", "points.toml"]);
    for (queries, expected) in [
        ("mixed.csv", "the comma in 40 cells"),
        ("commas.csv", "decimals of the table of queries are read as thousands"),
        ("points.csv", ""),
    ] {
        let warnings = warned(&["evaluate", "runs/points", "--queries", queries]);
        assert!(warnings.contains(expected), "{queries}: {warnings}");
        let is_named = warnings.contains("thousands");
        assert_eq!(is_named, !expected.is_empty(), "{queries}: {warnings}");
    }

    // inputs that are numbers have one sign
    let inputs = |has_comma: &dyn Fn(usize) -> bool| {
        let row = |at: usize| {
            let number = format!("{:.3}", 1.0 + at as f64 / 40.0);
            let number = if has_comma(at) { number.replace('.', ",") } else { number };
            format!("{number};{}.25\n", at % 7)
        };
        let rows: String = (0..60).map(row).collect();
        format!("x;y\n{rows}")
    };
    sandbox.write("inputs.csv", &inputs(&|_| false));
    sandbox.succeed(&["init", "inputs.csv", "--input", "x", "--output", "y"]);
    sandbox.write("inputs.csv", &inputs(&|at| at % 6 == 5));
    let warnings = warned(&["train", "inputs.toml"]);
    assert!(warnings.contains("the comma in 10 cells of the column \"x\""), "{warnings}");
}

/// One comma before three digits is before decimals where an exponent follows, as pandas writes numbers by `decimal=","`, and
/// in doubt elsewhere.
#[test]
fn a_comma_before_three_digits_is_decimal_before_an_exponent_and_named_elsewhere() {
    let sandbox = Sandbox::new();
    let table = |cell: &dyn Fn(f64) -> String| {
        let flats = flats(60);
        let row = |flat: &Flat| format!("{};{}\n", flat.text, cell(flat.rent));
        "offer;value\n".to_owned() + &flats.iter().map(row).collect::<String>()
    };
    let exponent = |rent: f64| format!("{:.3}E+03", 1.0 + rent / 1000.0).replace('.', ",");
    sandbox.write("exponents.csv", &table(&exponent));
    let shown = sandbox.succeed(&["init", "exponents.csv"]);
    assert!(shown.contains("numbers, with decimal commas"), "{shown}");
    assert!(!shown.contains("thousands"), "{shown}");

    let three = |rent: f64| format!("{:.3}", 1.0 + rent / 1000.0).replace('.', ",");
    sandbox.write("three.csv", &table(&three));
    let shown = sandbox.succeed(&["init", "three.csv"]);
    let said = [
        "value: the comma in \"1,",
        "is read as that of thousands, though every number has one before three digits (decimal = \",\" beside",
    ];
    said.iter().for_each(|part| assert!(shown.contains(part), "{part}\n{shown}"));

    // amounts of money, and numbers below 1,000, tell that commas are those of thousands
    let dollars = |rent: f64| format!("${}", three(rent));
    let some = |rent: f64| if rent < 800.0 { format!("{rent:.0}") } else { three(rent) };
    let cases: [(&str, &dyn Fn(f64) -> String); 2] =
        [("dollars.csv", &dollars), ("some.csv", &some)];
    for (file, cell) in cases {
        sandbox.write(file, &table(cell));
        let shown = sandbox.succeed(&["init", file]);
        assert!(!shown.contains("thousands"), "{file}\n{shown}");
    }
}

#[test]
fn prices_with_groups_of_thousands_are_numbers_and_dates_are_left_out() {
    let mut table = "offer,seen,price\n".to_owned();
    let flats = flats(200);
    for (at, flat) in flats.iter().enumerate() {
        let rent = flat.rent.round() as u32;
        let price = match rent {
            0..1000 => format!("€{rent}"),
            _ => format!("\"€{},{:03}\"", rent / 1000, rent % 1000),
        };
        writeln!(table, "{},2024-03-{:02},{price}", flat.text, 1 + at % 28).unwrap();
    }
    let stranger = Stranger {
        file: "flats.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["offer", "price"],
        holds: "numbers, in €",
        skipped: 0,
        floor: ("pinball", Bound::AtMost(half_of_constant(&flats))),
    };
    stranger.trains(&Sandbox::new());
}

#[test]
fn a_table_without_names_is_read_from_its_first_line() {
    let mut table = String::new();
    for pair in pairs(300) {
        writeln!(table, "{}\t{}\t{}", pair.id, pair.text, pair.smiles).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "bare.tsv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["column_2", "column_3"],
        holds: "SMILES",
        skipped: 0,
        floor: ("mrr", Bound::AtLeast(MRR)),
    };
    let (survey, _) = stranger.trains(&sandbox);
    assert_eq!(survey["rows"], 300);
}

#[test]
fn lists_of_python_are_label_sets_and_blank_lines_are_skipped() {
    let mut table = "text\ttags\n".to_owned();
    for (at, pair) in pairs(300).iter().enumerate() {
        let parts = [("ring", "1"), ("acid", "C(=O)O"), ("amine, or nitro", "N")];
        let has = parts.iter().filter(|(_, part)| pair.smiles.contains(part));
        let tags: Vec<String> = has.map(|(name, _)| format!("'{name}'")).collect();
        writeln!(table, "{}\t[{}]", pair.text, tags.join(", ")).unwrap();
        if at % 40 == 3 {
            table.push('\n');
        }
    }
    let stranger = Stranger {
        file: "tags.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["text", "tags"],
        holds: "labels, with ';' between",
        skipped: 8,
        floor: ("f1", Bound::AtLeast(0.7)),
    };
    stranger.trains(&Sandbox::new());
}

#[test]
fn labels_with_the_separator_in_their_names_are_learned_as_others() {
    let report_with = |mark: char| {
        let acid = format!("acid{mark} organic");
        let mut table = "text,tags\n".to_owned();
        for pair in pairs(300) {
            let parts = [("ring", "1"), (acid.as_str(), "C(=O)O"), ("amine", "N")];
            let has = parts.iter().filter(|(_, part)| pair.smiles.contains(part));
            let tags: Vec<String> = has.map(|(name, _)| format!("\"\"{name}\"\"")).collect();
            writeln!(table, "\"{}\",\"[{}]\"", pair.text, tags.join(", ")).unwrap();
        }
        let stranger = Stranger {
            file: "tags.csv",
            content: table.into_bytes(),
            arguments: &[],
            columns: ["text", "tags"],
            holds: "labels, with ';' between",
            skipped: 0,
            floor: ("f1", Bound::AtLeast(0.7)),
        };
        stranger.trains(&Sandbox::new()).1
    };
    let reports = [';', ':'].map(report_with);
    for metric in ["f1", "macro_f1"] {
        let [with, without] = reports.each_ref().map(|report| number(report, metric));
        assert_eq!(with, without, "{metric}: {reports:?}");
        assert_eq!(number(&reports[0]["perfect_h"], metric), 1.0, "{reports:?}");
    }
}

/// The layouts of GoEmotions: most rows have one number of a label, and few have three.
#[test]
fn sets_of_numbers_of_labels_are_no_numbers() {
    let words = ["happy", "furious", "afraid", "in tears", "in love", "amazed", "calm"];
    let mut lines = String::new();
    let mut table = "text\tlabels\n".to_owned();
    for at in 0..300usize {
        let count = if at % 30 == 7 { 3 } else { 1 + usize::from(at.is_multiple_of(6)) };
        let labels: Vec<usize> = (0..count).map(|next| (at * 5 + 2 * next) % 7).collect();
        let felt = labels.iter().map(|&label| words[label]).collect::<Vec<_>>().join(" and ");
        let text = format!("I was {felt} when they left on day {at}");
        let numbers = labels.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        writeln!(table, "{text}\t{numbers}").unwrap();
        writeln!(lines, "{}", serde_json::json!({ "text": text, "labels": labels })).unwrap();
    }
    for (file, content, holds) in [
        ("emotions.tsv", table, "labels, with ',' between"),
        ("emotions.jsonl", lines, "labels, with spaces between"),
    ] {
        let stranger = Stranger {
            file,
            content: content.into_bytes(),
            arguments: &[],
            columns: ["text", "labels"],
            holds,
            skipped: 0,
            floor: ("f1", Bound::AtLeast(0.8)),
        };
        stranger.trains(&Sandbox::new());
    }
    // thousands and decimal commas
    let sandbox = Sandbox::new();
    for (file, cells) in [
        ("thousands.tsv", ["1,234,567", "850,000", "12,500"]),
        ("commas.tsv", ["1,5", "2,25", "3"]),
    ] {
        let row = |at: usize| format!("a thing of the number {at}\t{}\n", cells[at % 3]);
        let rows: String = (0..30).map(row).collect();
        sandbox.write(file, &format!("text\tvalue\n{rows}"));
        let found = sandbox.succeed(&["init", file]);
        assert!(!found.contains("labels"), "{file}\n{found}");
    }
}

/// Some texts of lists in JSON lines have the sign that stands between labels elsewhere.
#[test]
fn lists_of_json_may_have_semicolons_in_their_texts() {
    let mut table = String::new();
    for pair in pairs(240) {
        let parts = [("acid; organic", "C(=O)O"), ("ring", "1"), ("amine", "N")];
        let has = parts.iter().filter(|(_, part)| pair.smiles.contains(part));
        let tags: Vec<&str> = has.map(|(name, _)| *name).collect();
        writeln!(table, "{}", serde_json::json!({ "text": pair.text, "tags": tags })).unwrap();
    }
    let stranger = Stranger {
        file: "tags.jsonl",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["text", "tags"],
        holds: "labels, with ';' between",
        skipped: 0,
        floor: ("f1", Bound::AtLeast(0.6)),
    };
    let sandbox = Sandbox::new();
    let (_, report) = stranger.trains(&sandbox);
    let commas = sandbox.train("tags.toml", &["output.features.separator=\",\""]);
    assert_eq!(number(&commas, "f1"), number(&report, "f1"), "{commas}");
    let text = "an organic acid with a carboxy group";
    let found = sandbox.succeed(&["search", "runs/tags", text, "--top", "20"]);
    assert!(found.contains("acid; organic"), "{found}");
}

/// As French programs write them.
#[test]
fn thousands_behind_spaces_are_one_number() {
    let flats = flats(200);
    for space in [" ", "\u{a0}", "\u{202f}"] {
        let mut table = "offer;price\n".to_owned();
        for flat in &flats {
            let price = (10.0 * flat.rent).round() as u32;
            writeln!(table, "{};{}{space}{:03}", flat.text, price / 1000, price % 1000).unwrap();
        }
        let stranger = Stranger {
            file: "prices.csv",
            content: table.into_bytes(),
            arguments: &[],
            columns: ["offer", "price"],
            holds: "numbers",
            skipped: 0,
            floor: ("pinball", Bound::AtMost(10.0 * half_of_constant(&flats))),
        };
        stranger.trains(&Sandbox::new());
    }
}

/// A protein is one word: its n-grams of characters are compared.
#[test]
fn sequences_are_texts_without_words() {
    let mut table = "sequence,preis\n".to_owned();
    for row in 0..240usize {
        let helices = row * 7 % 5;
        let rest: String = (0..24)
            .map(|at| b"ACDGHIKLMNPQRSTVWY"[(row * 31 + at * at * (row % 7 + 1)) % 18] as char)
            .collect();
        let price = 1000.0 + 250.5 * helices as f64 + (row % 3) as f64;
        let thousands = (price / 1000.0).floor();
        let francs = format!("CHF {thousands}'{:06.2}", price - 1000.0 * thousands);
        writeln!(table, "{}{rest},{francs}", "EEFEE".repeat(helices)).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "proteins.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["sequence", "preis"],
        holds: "numbers, in CHF",
        skipped: 0,
        floor: ("r2", Bound::AtLeast(0.7)),
    };
    stranger.trains(&sandbox);
    assert!(sandbox.read("proteins.toml").contains("across-words"));
}

/// Nucleotides as BOLD writes them, aligned, so that most end with gaps. InChIKeys are ids.
#[test]
fn aligned_sequences_are_texts_and_keys_of_molecules_are_none() {
    // by a linear congruential generator
    let letters = |seed: usize, count: usize, alphabet: &[u8]| -> String {
        let mut state = seed as u32;
        let letter = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            alphabet[(state >> 16) as usize % alphabet.len()] as char
        };
        (0..count).map(letter).collect()
    };
    let mut table = "key,nucleotides,species\n".to_owned();
    for row in 0..150 {
        let (species, motif) = [
            ("Apis mellifera", "ACCGCGGAATGTATGAG"),
            ("Bombus terrestris", "TTGGCACTTATCAGGCC"),
            ("Osmia bicornis", "GGTGATATACTAATTTT"),
        ][row % 3];
        let [head, tail] = [0, 1].map(|part| letters(7 * (2 * row + part), 12, b"ACGT"));
        let gaps = "-".repeat(row % 4);
        let parts =
            [14, 10, 1].map(|count| letters(row * count, count, b"ABCDEFGHIJKLMNOPQRSTUVW"));
        writeln!(table, "{},{head}{motif}{tail}{gaps}NN,{species}", parts.join("-")).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "barcodes.csv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["nucleotides", "species"],
        holds: "3 classes",
        skipped: 0,
        floor: ("accuracy", Bound::AtLeast(0.8)),
    };
    let (found, _) = stranger.trains(&sandbox);
    assert_eq!(found["id"], "key", "{found}");
    assert!(sandbox.read("barcodes.toml").contains("across-words"));
}

/// Most sets have one label, and some none: they are no classes.
#[test]
fn lists_of_json_are_label_sets_where_most_have_one_label() {
    let mut table = String::new();
    for pair in pairs(240) {
        let parts = [("acid", "C(=O)O"), ("ring", "1"), ("salt", ".")];
        let has = parts.iter().filter(|(_, part)| pair.smiles.contains(part));
        let most = if pair.atoms.is_multiple_of(5) { 3 } else { 1 };
        let tags: Vec<&str> = has.map(|(name, _)| *name).take(most).collect();
        let row = serde_json::json!({ "key": pair.id, "text": pair.text, "tags": tags });
        writeln!(table, "{row}").unwrap();
    }
    let stranger = Stranger {
        file: "tagged.jsonl",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["text", "tags"],
        holds: "labels, with ';' between",
        skipped: 0,
        floor: ("f1", Bound::AtLeast(0.6)),
    };
    stranger.trains(&Sandbox::new());
}

/// A column of lists holds label sets, whatever the number of labels in each.
#[test]
fn lists_of_json_are_label_sets_where_all_have_one_label() {
    let mut table = String::new();
    for pair in pairs(240) {
        let tag = if pair.smiles.contains('1') { "has a ring" } else { "is a chain" };
        let row = serde_json::json!({ "key": pair.id, "text": pair.text, "tags": [tag] });
        writeln!(table, "{row}").unwrap();
    }
    let stranger = Stranger {
        file: "single.jsonl",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["text", "tags"],
        holds: "labels, with ';' between",
        skipped: 0,
        floor: ("f1", Bound::AtLeast(0.6)),
    };
    stranger.trains(&Sandbox::new());
}

#[test]
fn other_encodings_are_refused_with_the_remedy() {
    let sandbox = Sandbox::new();
    let table: String = (0..20).map(|i| format!("a caf\u{e9} with {i} seats,warm\n")).collect();
    let table = format!("text,tag\n{table}");
    let latin: Vec<u8> = table.chars().map(|c| u8::try_from(c).unwrap()).collect();
    let mut wide = vec![0xff, 0xfe];
    wide.extend(table.encode_utf16().flat_map(u16::to_le_bytes));
    std::fs::write(sandbox.path("latin.csv"), latin).unwrap();
    std::fs::write(sandbox.path("wide.csv"), wide).unwrap();
    let said = ["latin.csv:2", "iconv -f WINDOWS-1252 -t UTF-8 latin.csv"];
    sandbox.fail(&["init", "latin.csv"], 2, &said);
    sandbox.fail(&["init", "wide.csv"], 2, &["wide.csv:1", "iconv -f UTF-16 -t UTF-8 wide.csv"]);
}

/// A block of the configuration, of what salts and hydrates have.
const COMPONENTS: &str = r#"
[[output.kernels]]
features = { kind = "substructures", column = "smiles", count = { name = "components" }, log = true, min_outputs = 3 }
kernel = { name = "linear" }
power = 0.25
size = 50
weight = 0.06
"#;

#[test]
fn neutral_molecules_with_a_few_nitro_groups_train_without_what_they_all_lack() {
    let is_neutral = |smiles: &str| !smiles.contains(['+', '.']);
    let is_nitro = |smiles: &str| {
        let rest = smiles.replace("[N+](=O)[O-]", "").replace("O=[N+]([O-])", "");
        rest.len() < smiles.len() && is_neutral(&rest)
    };
    let all = pairs(1600);
    let nitro = all.iter().filter(|pair| is_nitro(&pair.smiles)).take(12);
    let neutral = all.iter().filter(|pair| is_neutral(&pair.smiles)).take(240);
    let mut table = "id\tdescription\tsmiles\n".to_owned();
    for pair in nitro.chain(neutral) {
        writeln!(table, "{}\t{}\t{}", pair.id, pair.text, pair.smiles).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger::of_molecules("neutral.tsv", table, MRR);
    stranger.trains(&sandbox);
    let written = sandbox.read("neutral.toml");
    assert!(!written.contains("components") && written.contains("composition"), "{written}");
    // the same block, written by hand, is left out by the training
    let (head, tail) = written.split_once("\n[sketch]").unwrap();
    sandbox.write("by-hand.toml", &format!("{head}{COMPONENTS}\n[sketch]{tail}"));
    let trained = sandbox.run(&["train", "by-hand.toml"]);
    let errors = String::from_utf8_lossy(&trained.stderr);
    assert!(trained.status.success(), "{errors}");
    assert!(errors.contains("is left out: its features are the same"), "{errors}");
}

/// None of these molecules has a stereo centre, which is what one of the recommended kernels compares.
#[test]
fn many_texts_of_a_few_plain_molecules_train() {
    let plain = [
        ("CCO", "ethanol"),
        ("CC(=O)O", "acetic acid"),
        ("c1ccccc1", "benzene"),
        ("CCN", "ethylamine"),
        ("CC(C)=O", "acetone"),
        ("CCCC", "butane"),
        ("C1CCCCC1", "cyclohexane"),
        ("c1ccncc1", "pyridine"),
        ("CC#N", "acetonitrile"),
        ("COC", "dimethyl ether"),
        ("CCS", "ethanethiol"),
        ("Cc1ccccc1", "toluene"),
    ];
    let mut table = "description,smiles\n".to_owned();
    for (at, (smiles, name)) in plain.iter().cycle().take(360).enumerate() {
        writeln!(table, "a bottle of {name} with the number {at},{smiles}").unwrap();
    }
    let sandbox = Sandbox::new();
    // each of the 30 rows of a molecule is as good as the others
    let stranger = Stranger::of_molecules("plain.csv", table, 0.1);
    stranger.trains(&sandbox);
    let written = sandbox.read("plain.toml");
    assert!(!written.contains("configurations") && written.contains("rings"), "{written}");
}

#[test]
fn a_small_table_is_cross_validated_as_it_is_written() {
    let mut table = "description,smiles,mass\n".to_owned();
    for pair in pairs(60) {
        writeln!(table, "\"{}\",{},{}.5", pair.text, pair.smiles, 14 * pair.atoms).unwrap();
    }
    let sandbox = Sandbox::new();
    sandbox.write("small.csv", &table);
    for output in ["smiles", "mass"] {
        sandbox.succeed(&[
            "init",
            "small.csv",
            "--output",
            output,
            "--out",
            "fold.toml",
            "--force",
        ]);
        let out = format!("runs/{output}");
        let run = sandbox.run(&["cv", "fold.toml", "--folds", "3", "--out", &out]);
        let errors = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{output}: {errors}");
        assert!(errors.contains("is lowered to"), "{output}: {errors}");
    }
}

#[test]
fn a_path_of_another_kind_names_the_command_that_was_meant() {
    let sandbox = Sandbox::new();
    sandbox.write("table.csv", "text,tag\na,b\n");
    let cases: [(&[&str], &str); 6] = [
        (&["train", "table.csv"], "dsokr init table.csv"),
        (&["cv", "table.csv"], "dsokr init table.csv"),
        (&["search", "small.toml", "a text"], "dsokr train small.toml"),
        (&["evaluate", "small.toml"], "dsokr train small.toml"),
        (&["search", "table.csv", "a text"], "dsokr init table.csv"),
        (&["train", "data"], "a folder"),
    ];
    for (arguments, command) in cases {
        sandbox.fail(arguments, 2, &[command]);
    }
    sandbox.train("small.toml", &["training.epochs=1"]);
    sandbox.fail(&["search", "a text", "runs/small"], 2, &["search runs/small \"a text\""]);
}

#[test]
fn texts_and_molecules_in_two_files_are_joined_by_their_ids() {
    let mut texts = "cid\ttext\n".to_owned();
    let mut molecules = "key,SMILES\n".to_owned();
    for (at, pair) in pairs(300).iter().enumerate() {
        writeln!(texts, "{}\t{}", pair.id, pair.text).unwrap();
        if at % 100 != 50 {
            writeln!(molecules, "{},{}", pair.id, pair.smiles).unwrap();
        }
    }
    let sandbox = Sandbox::new();
    sandbox.write("molecules.csv", &molecules);
    let stranger = Stranger {
        file: "texts.tsv",
        content: texts.into_bytes(),
        arguments: &["molecules.csv"],
        columns: ["text", "SMILES"],
        holds: "SMILES",
        skipped: 3,
        floor: ("mrr", Bound::AtLeast(MRR)),
    };
    let (survey, _) = stranger.trains(&sandbox);
    assert_eq!((&survey["id"], &survey["rows"]), (&"cid".into(), &300.into()));
    assert!(sandbox.path("texts-molecules.jsonl").exists());
    sandbox.write("other.csv", "key,SMILES\nx,C\n");
    sandbox.fail(&["init", "texts.tsv", "other.csv"], 2, &["ids that join", "other.csv"]);
}

/// Lists stay lists, so that those of one label each are label sets.
#[test]
fn lists_of_a_joined_table_are_label_sets() {
    let sandbox = Sandbox::new();
    let mut texts = "cid,text\n".to_owned();
    let mut labels = String::new();
    for at in 0..60 {
        writeln!(texts, "c{at},a text about the thing with the number {at}").unwrap();
        let tag = ["acid; organic", "base", "NA"][at % 3];
        let row = serde_json::json!({ "cid": format!("c{at}"), "tags": [tag] });
        writeln!(labels, "{row}").unwrap();
    }
    sandbox.write("texts.csv", &texts);
    sandbox.write("labels.jsonl", &labels);
    let shown = sandbox.succeed(&["init", "texts.csv", "labels.jsonl"]);
    assert!(shown.contains("labels, with ';' between"), "{shown}");
    let joined = sandbox.read("texts-labels.jsonl");
    for (line, tag) in joined.lines().zip(["acid; organic", "base", "NA"]) {
        assert_eq!(crate::sandbox::json(line)["tags"], serde_json::json!([tag]));
    }
}

/// As GoEmotions has them, with the texts in a file of their own.
#[test]
fn lists_of_numbers_of_a_joined_table_are_label_sets() {
    let sandbox = Sandbox::new();
    let mut texts = "cid,text\n".to_owned();
    let mut labels = String::new();
    for at in 0..90usize {
        writeln!(texts, "c{at},a text about the thing with the number {at}").unwrap();
        let mut set = vec![at % 7];
        if at.is_multiple_of(4) {
            set.push(7 + at % 5);
        }
        let row = serde_json::json!({ "cid": format!("c{at}"), "labels": set, "size": [0.5] });
        writeln!(labels, "{row}").unwrap();
    }
    sandbox.write("texts.csv", &texts);
    sandbox.write("labels.jsonl", &labels);
    let shown = sandbox.succeed(&["init", "texts.csv", "labels.jsonl"]);
    assert!(shown.contains("labels, with spaces between"), "{shown}");
    let joined = sandbox.read("texts-labels.jsonl");
    for (line, written) in joined.lines().zip(labels.lines()) {
        let [line, written] = [line, written].map(crate::sandbox::json);
        assert_eq!([&line["labels"], &line["size"]], [&written["labels"], &written["size"]]);
    }
}

/// An empty list is the empty set, and null is a value that is not known.
#[test]
fn lists_of_one_number_beside_null_are_numbers() {
    let sandbox = Sandbox::new();
    for (none, kind) in [("null", "numbers"), ("[]", "labels")] {
        let mut table = String::new();
        for at in 0..90usize {
            let rating = if at % 9 == 4 { none.to_owned() } else { format!("[{}]", at % 7) };
            writeln!(table, r#"{{"text": "a thing of the number {at}", "rating": {rating}}}"#)
                .unwrap();
        }
        sandbox.write("ratings.jsonl", &table);
        let shown = sandbox.succeed(&["init", "ratings.jsonl", "--output", "rating", "--force"]);
        let line = shown.lines().find(|line| line.starts_with("rating ")).unwrap();
        assert!(line.contains(kind), "{shown}");
    }
}

/// The columns of the others stand behind those of the first, and those of a name that is taken get one of their own.
#[test]
fn columns_of_joined_tables_keep_their_order() {
    let sandbox = Sandbox::new();
    let mut texts = "key\tnote\ttext\n".to_owned();
    let mut molecules = "note,key,smiles\n".to_owned();
    let mut labels = String::new();
    for (at, pair) in pairs(40).iter().enumerate() {
        writeln!(texts, "k{at}\tfirst\t{}", pair.text).unwrap();
        writeln!(molecules, "second,k{at},{}", pair.smiles).unwrap();
        if at > 0 {
            writeln!(
                labels,
                "{{\"tags\":[\"acid\",\"base\"],\"key\":\"k{at}\",\"note\":\"third\"}}"
            )
            .unwrap();
        }
    }
    sandbox.write("texts.tsv", &texts);
    sandbox.write("molecules.csv", &molecules);
    sandbox.write("labels.jsonl", &labels);
    sandbox.succeed(&["init", "texts.tsv", "molecules.csv", "labels.jsonl"]);
    let joined = sandbox.read("texts-molecules-labels.jsonl");
    let rows: Vec<&str> = joined.lines().collect();
    assert_eq!(rows.len(), 40);
    for (at, end) in
        [(0, r#""tags": "", "note_3": ""}"#), (1, r#""tags": ["acid","base"], "note_3": "third"}"#)]
    {
        let start = format!("{{\"key\": \"k{at}\", \"note\": \"first\", \"text\": \"");
        let row = rows[at];
        assert!(row.starts_with(&start) && row.ends_with(end), "{row}");
        assert!(row.contains("\", \"note_2\": \"second\", \"smiles\": \""), "{row}");
    }
}

/// Small numbers of one table are numbers of rows of the other, and some ids are missing in both.
#[test]
fn numbers_of_rows_of_the_same_name_are_no_keys() {
    let sandbox = Sandbox::new();
    let pairs = pairs(150);
    let mut texts = "id\tmolecule_id\ttext\n".to_owned();
    for (at, pair) in pairs.iter().enumerate() {
        writeln!(texts, "{}\t{}\t{}", at + 1, at * 7 % 80 + 1, pair.text).unwrap();
    }
    let mut molecules = "id\tsmiles\n".to_owned();
    for (at, pair) in pairs[..80].iter().enumerate() {
        writeln!(molecules, "{}\t{}", at + 1, pair.smiles).unwrap();
    }
    sandbox.write("texts.tsv", &texts);
    sandbox.write("molecules.tsv", &molecules);
    let printed = sandbox.succeed(&["init", "texts.tsv", "molecules.tsv"]);
    assert!(printed.starts_with("joined by molecule_id = id: 150 rows"), "{printed}");
}

/// As the tables of MIMIC, each of which numbers its rows in `ROW_ID`.
#[test]
fn numbers_of_the_rows_of_each_table_are_no_keys() {
    let sandbox = Sandbox::new();
    // the ids of a stay: of the patient and of the stay
    let ids = |stay: usize| format!("{},{}", 500 + stay / 4, 100_000 + 17 * stay);
    let mut notes = "ROW_ID,SUBJECT_ID,HADM_ID,TEXT\n".to_owned();
    for at in 0..30 {
        let stay = at * 11 % 60;
        let end = ["went home in good condition", "died of cardiac arrest"][stay % 2];
        writeln!(notes, "{},{},the patient {end} on day {at}", 2 * at + 1, ids(stay)).unwrap();
    }
    let mut admissions = "ROW_ID,SUBJECT_ID,HADM_ID,HOSPITAL_EXPIRE_FLAG\n".to_owned();
    for at in 0..60 {
        let stay = at * 7 % 60;
        writeln!(admissions, "{},{},{}", at + 1, ids(stay), stay % 2).unwrap();
    }
    let mut diagnoses = "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n".to_owned();
    for at in 0..120 {
        let code = ["4280", "I10"][at % 2];
        writeln!(diagnoses, "{},{},{},{code}", at + 1, ids(at / 2), at % 2 + 1).unwrap();
    }
    sandbox.write("notes.csv", &notes);
    sandbox.write("admissions.csv", &admissions);
    sandbox.write("diagnoses.csv", &diagnoses);
    let shown = sandbox.succeed(&["init", "notes.csv", "admissions.csv"]);
    let by = "joined by HADM_ID = HADM_ID: 30 rows have all parts";
    assert!(shown.starts_with(by), "{shown}");
    for line in sandbox.read("notes-admissions.jsonl").lines() {
        let row = crate::sandbox::json(line);
        let has_died = row["TEXT"].as_str().unwrap().contains("died");
        assert_eq!(row["HOSPITAL_EXPIRE_FLAG"], u8::from(has_died).to_string(), "{line}");
        assert_eq!(row["SUBJECT_ID"], row["SUBJECT_ID_2"], "{line}");
    }
    let said = ["\"100000\" in several rows", "\"HADM_ID\"", "each id once"];
    sandbox.fail(&["init", "notes.csv", "diagnoses.csv"], 2, &said);

    // no stay joins the tables, and each of the patients has several rows
    let without_stays = |table: &str| -> String {
        let rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        rows.map(|cells| format!("{},{},{}\n", cells[0], cells[1], cells[3])).collect()
    };
    sandbox.write("texts.csv", &without_stays(&notes));
    sandbox.write("flags.csv", &without_stays(&admissions));
    let said = [
        "\"ROW_ID\", whose rows have different ids in \"SUBJECT_ID\"",
        "rename one of the two columns \"SUBJECT_ID\" if they are different things",
    ];
    sandbox.fail(&["init", "texts.csv", "flags.csv"], 2, &said);
}

/// Who comments on a post is not who has written it; posts may be numbered from 1.
#[test]
fn ids_join_tables_whose_other_ids_of_the_same_name_are_of_different_things() {
    let sandbox = Sandbox::new();
    for (first, file) in [(1, "counted"), (1000, "others")] {
        let mut comments = "comment_id,post_id,user_id,text\n".to_owned();
        for at in 0..120 {
            let post = first + at * 7 % 40;
            writeln!(comments, "{},{post},{},a comment of {at} words", 9000 + at, 1 + at % 30)
                .unwrap();
        }
        let mut posts = "post_id,user_id,topic\n".to_owned();
        for at in 0..40 {
            let topic = ["toy", "book"][at % 2];
            writeln!(posts, "{},{},{topic}", first + at, 1 + (at * 11 + 3) % 30).unwrap();
        }
        let [comments_file, posts_file] =
            ["comments", "posts"].map(|name| format!("{file}_{name}.csv"));
        sandbox.write(&comments_file, &comments);
        sandbox.write(&posts_file, &posts);
        let shown = sandbox.succeed(&["init", &comments_file, &posts_file]);
        assert!(
            shown.starts_with("joined by post_id = post_id: 120 rows have all parts"),
            "{shown}"
        );
    }
}

#[test]
fn ids_of_the_same_name_join_before_numbers_of_rows_and_missing_ones_join_nothing() {
    let sandbox = Sandbox::new();
    let mut texts = ",cid,age,text\n".to_owned();
    let mut molecules = ",row,cid,smiles\n".to_owned();
    for at in 0..20 {
        let id = if at > 17 { String::new() } else { format!("{}", 1000 + at) };
        writeln!(texts, "{at},{id},{},an alcohol with a chain of {at} carbons", 2 + at % 5)
            .unwrap();
        let id = match at {
            3 | 4 => String::new(),
            _ => format!("{}", 1019 - at),
        };
        writeln!(molecules, "{at},{at},{id},{}C(C)O", "C".repeat(at)).unwrap();
    }
    sandbox.write("texts.csv", &texts);
    sandbox.write("molecules.csv", &molecules);
    let shown = sandbox.succeed(&["init", "texts.csv", "molecules.csv"]);
    assert!(shown.contains("joined by cid = cid: 16 rows have all parts"), "{shown}");
    let joined = sandbox.read("texts-molecules.jsonl");
    let rows: Vec<serde_json::Value> = joined.lines().map(crate::sandbox::json).collect();
    assert_eq!(rows[0]["smiles"], format!("{}C(C)O", "C".repeat(19)));
    assert_eq!((&rows[18]["smiles"], &rows[19]["smiles"]), (&"".into(), &"".into()));
    // columns without a name are left out
    assert_eq!(rows[0].as_object().map(|row| row.len()), Some(5));
}

/// Two diagnoses of each patient: the id that is there several times is named, and so is the file that would be replaced.
#[test]
fn an_id_in_several_rows_of_the_second_table_is_named() {
    let sandbox = Sandbox::new();
    let patients: String =
        (0..40).map(|at| format!("{},the patient {at} is ill\n", 1000 + at)).collect();
    let diagnoses: String = (0..80)
        .map(|at| format!("{},{},{}\n", 1000 + at / 2, at % 2 + 1, ["I10", "J45"][at % 2]))
        .collect();
    let codes: String =
        (0..40).map(|at| format!("{},{}\n", 1000 + at, ["I10", "J45"][at % 2])).collect();
    sandbox.write("patients.csv", &format!("subject_id,note\n{patients}"));
    sandbox.write("diagnoses.csv", &format!("subject_id,number,code\n{diagnoses}"));
    sandbox.write("codes.csv", &format!("subject_id,code\n{codes}"));
    let said =
        ["ids that join the tables = \"1000\" in several rows", "\"subject_id\"", "each id once"];
    sandbox.fail(&["init", "patients.csv", "diagnoses.csv"], 2, &said);
    let init = ["init", "patients.csv", "codes.csv"];
    sandbox.succeed(&init);
    sandbox.fail(&init, 2, &["patients-codes.jsonl", "remove it, or replace it by --force"]);
}

/// As people write the names of splits; the column is not learned from.
#[test]
fn a_column_names_the_splits() {
    let mut table = "id,description,smiles,set\n".to_owned();
    for (at, pair) in pairs(300).iter().enumerate() {
        let split = match at % 10 {
            0 => "Valid",
            1 => "TEST",
            2 => "training",
            _ => "train",
        };
        writeln!(table, "{},\"{}\",{},{split}", pair.id, pair.text, pair.smiles).unwrap();
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        arguments: &["--split", "column=set"],
        ..Stranger::of_molecules("divided.csv", table.clone(), MRR)
    };
    let (survey, report) = stranger.trains(&sandbox);
    let sizes = ["training", "validation", "test"].map(|split| survey[split].as_u64());
    assert_eq!(sizes, [Some(240), Some(30), Some(30)]);
    assert_eq!((&report["split"], &report["queries"]), (&"test".into(), &30.into()));
    assert!(sandbox.read("divided.toml").contains("splits = { column = \"set\" }"));
    // the pairs of the test are those that the column names
    sandbox.succeed(&["evaluate", "runs/divided", "--report", "report"]);
    let ranks = sandbox.read("report/ranks.tsv");
    let queries: Vec<&str> =
        ranks.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    let all = pairs(300);
    let named: Vec<&str> = all.iter().skip(1).step_by(10).map(|pair| pair.id.as_str()).collect();
    assert_eq!(queries, named);

    sandbox.succeed(&["cv", "divided.toml", "--folds", "2"]);

    // a different name is refused with its line, by init and by a training
    let wrong = table.replacen(",TEST", ",holdout", 1);
    std::fs::write(sandbox.path("divided.csv"), &wrong).unwrap();
    let init = ["init", "divided.csv", "--split", "column=set", "--force"];
    sandbox.fail(&init, 2, &["\"set\", with \"holdout\" on line 3", "train, validation"]);
    let train = ["train", "divided.toml", "--out", "again"];
    sandbox.fail(&train, 2, &["divided.csv:3", "\"holdout\" in the column \"set\""]);
    // without test rows there is nothing to report on
    let untested = table.replace(",TEST", ",train");
    std::fs::write(sandbox.path("divided.csv"), &untested).unwrap();
    sandbox.fail(&train, 2, &["evaluation.split", "no row for the test"]);
    sandbox.succeed(&init);
    assert!(sandbox.read("divided.toml").contains("split = \"validation\""));
}
