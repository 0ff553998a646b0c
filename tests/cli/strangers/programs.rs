//! Tables as shops, forms, statistics programs and databases export them.

use std::fmt::Write;

use serde_json::Value;

use super::{Bound, Stranger, pairs};
use crate::sandbox::{Sandbox, json};

/// What flats have.
const THINGS: [&str; 8] =
    ["pool", "garden", "kitchen", "sauna", "lift", "cellar", "view", "terrace"];

/// Three different things that the flat with this number has, which make its price.
fn things(at: usize) -> [&'static str; 3] {
    let first = at % 8;
    let further = [0, 1 + at / 8 % 3, 4 + at / 24 % 4];
    further.map(|next| THINGS[(first + next) % 8])
}

/// What is said of the flat with this number.
fn note(at: usize) -> String {
    let [first, second, third] = things(at);
    format!("Flat {at} has a {first} and a {second} and a {third}.")
}

/// The price of the flat with this number.
fn price(at: usize) -> usize {
    let place = |thing: &str| THINGS.iter().position(|&known| known == thing).unwrap();
    1000 + 100 * things(at).map(place).iter().sum::<usize>() + at / 7
}

/// A table of 200 rows below these names.
pub(super) fn table(names: &str, row: impl Fn(usize) -> String) -> String {
    let mut table = names.to_owned() + "\n";
    (0..200).for_each(|at| writeln!(table, "{}", row(at)).unwrap());
    table
}

/// What `init` says of a table, as JSON and as text.
pub(super) fn init(sandbox: &Sandbox, file: &str, table: &str) -> (Value, String) {
    sandbox.write(file, table);
    let found = json(&sandbox.succeed(&["init", file, "--json", "--force"]));
    (found, sandbox.succeed(&["init", file, "--force"]))
}

/// Whether the line of a column in what `init` prints has these words.
fn has_kind(shown: &str, column: &str, kind: &str) -> bool {
    let line = shown.lines().find(|line| line.starts_with(&format!("{column} ")));
    line.is_some_and(|line| line.contains(kind))
}

/// Names and numbers of characters end with a semicolon, which is between no labels there.
#[test]
fn texts_of_html_are_no_sets_of_labels() {
    let sandbox = Sandbox::new();
    let shop = table("id,title,body_html,price", |at| {
        let [first, second, third] = things(at);
        let body = format!("<p>This flat has a {first}&nbsp;and a {second} &amp; a {third}.</p>");
        format!("{at},Flat no. {at} near the sea,{body},{}.5", price(at))
    });
    let (found, shown) = init(&sandbox, "html.csv", &shop);
    assert_eq!([&found["input"], &found["output"]], ["body_html", "price"], "{found}");
    assert!(has_kind(&shown, "body_html", "texts"), "{shown}");
    let export = shop.replace("body_html", "Body (HTML)");
    let (found, _) = init(&sandbox, "export.csv", &export);
    assert_eq!(found["input"], "Body (HTML)", "{found}");
    // a class of cars
    let cars = table("body,review,price", |at| {
        format!("{},{},{}.5", ["sedan", "van", "coupe"][at % 3], note(at), price(at))
    });
    let (found, shown) = init(&sandbox, "cars.csv", &cars);
    assert_eq!(found["input"], "review", "{found}");
    assert!(has_kind(&shown, "body", "3 classes"), "{shown}");
    // numbers, and cells that are no prose
    let numbers = shop.replace("&amp;", "&#38;").replace("&nbsp;", "&#xA0;");
    let (_, shown) = init(&sandbox, "numbers.csv", &numbers);
    assert!(has_kind(&shown, "body_html", "texts"), "{shown}");
    // labels may have such characters in their names
    let sets = table("note,tags", |at| {
        let [first, second, _] = things(at);
        format!("{},bed &amp; bath;{first};{second}", note(at))
    });
    let (found, _) = init(&sandbox, "sets.csv", &sets);
    assert_eq!(found["holds"], "labels, with ';' between", "{found}");
}

/// As shops in Switzerland, Germany and the Netherlands write prices.
#[test]
fn a_dash_for_no_cents_makes_no_amount_below_0() {
    let sandbox = Sandbox::new();
    for (file, cell, holds) in [
        ("francs.csv", "CHF {}.-", "numbers, in CHF"),
        ("dash.csv", "CHF {}.\u{2013}", "numbers, in CHF"),
        ("euros.csv", "\"{},- €\"", "numbers, in €"),
    ] {
        let prices = table("id,note,price", |at| {
            format!("{at},{},{}", note(at), cell.replace("{}", &price(at).to_string()))
        });
        let (found, shown) = init(&sandbox, file, &prices);
        assert_eq!(found["holds"], holds, "{found}");
        assert_eq!(found["skipped"], 0, "{found}");
        assert!(!shown.contains("below 0"), "{shown}");
    }
    // beside prices with cents
    let mixed = table("id,note,price", |at| match at % 3 {
        0 => format!("{at},{},\"{},27\"", note(at), price(at)),
        _ => format!("{at},{},\"{},-\"", note(at), price(at)),
    });
    let stranger = Stranger {
        file: "mixed.csv",
        content: mixed.into_bytes(),
        arguments: &[],
        columns: ["note", "price"],
        holds: "numbers, with decimal commas",
        skipped: 0,
        floor: ("r2", Bound::AtLeast(0.8)),
    };
    stranger.trains(&sandbox);
}

/// Each of these differs from all others, as ids do, and something that recurs stands beside it.
#[test]
fn reactions_compositions_and_peptides_are_inputs() {
    let sandbox = Sandbox::new();
    let reactions = table("ReactionSmiles,PatentNumber,Yield", |at| {
        let [acid, alcohol] = [at % 20, at / 20].map(|count| "C".repeat(count));
        let patent = 2_001_000_000 + at / 3;
        format!("{acid}C(=O)O.OC{alcohol}>>{acid}C(=O)OC{alcohol},US{patent}A1,{}.5", 40 + at % 47)
    });
    let compositions = table("composition,reference,gap", |at| {
        let metal = ["Ga", "In", "Al", "Ti", "Zr"][at % 5];
        let other = ["As", "N", "P", "O", "S"][at / 5 % 5];
        let gap = at % 5 + at / 5 % 5;
        format!("{metal}{other}{},J. Smith et al. Phys. Rev. B {},{gap}.25", 2 + at / 25, at / 6)
    });
    let peptides = table("Sequence,Proteins,Retention time", |at| {
        let ends = ["LVNELTEF", "YLYEIAR", "AEFVEVTK"];
        let middle = [at % 20, at / 20].map(|place| &"ACDEFGHIKLMNPQRSTVWY"[place..=place]);
        let sequence = format!("{}{}K", ends[at % 3], middle.concat());
        let protein = at % 60;
        format!("{sequence},sp|P{}|ALB{protein}_HUMAN,{}.25", 10_000 + protein, 10 + at % 20)
    });
    for (file, content, input, output) in [
        ("reactions.csv", reactions, "ReactionSmiles", "Yield"),
        ("compositions.csv", compositions, "composition", "gap"),
        ("peptides.csv", peptides, "Sequence", "Retention time"),
    ] {
        let (found, shown) = init(&sandbox, file, &content);
        assert_eq!([&found["input"], &found["output"]], [input, output], "{found}");
        assert!(!shown.contains("taken for ids"), "{shown}");
        let config = sandbox.read(&file.replace(".csv", ".toml"));
        assert!(config.contains("across-words"), "{config}");
    }
    // words that nothing tells from ids are named
    let words = table("alloy,maker,gap", |at| {
        format!(
            "{}-steel{at},{} and sons,{}.25",
            ["mild", "hard"][at % 2],
            "x".repeat(at / 3),
            at % 7
        )
    });
    let (_, shown) = init(&sandbox, "words.csv", &words);
    let said = "taken for ids, since all cells differ, beside 67 different cells of maker: \"alloy\" (--input COLUMN learns from one";
    assert!(shown.contains(said), "{shown}");
    let shown = sandbox.succeed(&["init", "words.csv", "--force", "--input", "alloy"]);
    assert!(!shown.contains("taken for ids"), "{shown}");
}

/// They name the rows, as ids do, and the molecules or vectors beside them are the inputs.
#[test]
fn reactions_compositions_and_peptides_are_no_inputs_beside_molecules_and_vectors() {
    let sandbox = Sandbox::new();
    let molecule = |at: usize| format!("{}C(=O)O{}", "C".repeat(at % 20), "C".repeat(1 + at / 20));
    let composition = |at: usize| {
        let metal = ["Ga", "In", "Al", "Ti", "Zr"][at % 5];
        format!("{metal}{}{}", ["As", "N", "P", "O", "S"][at / 5 % 5], 2 + at / 25)
    };
    let reaction = |at: usize| {
        let [acid, alcohol] = [at % 20, 1 + at / 20].map(|count| "C".repeat(count));
        let reactants = format!("{acid}C(=O)O.O{alcohol}");
        (format!("{reactants}>>{}", molecule(at)), reactants)
    };
    let peptides = table("Sequence,SMILES,activity", |at| {
        let middle = [at % 20, at / 20].map(|place| &"ACDEFGHIKLMNPQRSTVWY"[place..=place]);
        format!("LVNELT{}K,{},{}.25", middle.concat(), molecule(at), at % 27)
    });
    let formulas = table("smiles,formula,y", |at| {
        format!("{},{},{}.25", molecule(at), composition(at), at % 27)
    });
    let vectors = table("composition,xrd,gap", |at| {
        let xrd = [3, 7, 11].map(|step| format!("0.{:03}", at * step % 997)).join(" ");
        format!("{},{xrd},{}.25", composition(at), at % 9)
    });
    let products = table("rxn_smiles,product,yield", |at| {
        format!("{},{},{}.5", reaction(at).0, molecule(at), 40 + at % 47)
    });
    let reactants = table("reaction,reactants,product", |at| {
        let (reaction, reactants) = reaction(at);
        format!("{reaction},{reactants},{}", molecule(at))
    });
    for (file, content, input, output) in [
        ("peptides.csv", peptides, "SMILES", "activity"),
        ("formulas.csv", formulas, "smiles", "y"),
        ("vectors.csv", vectors, "xrd", "gap"),
        ("products.csv", products, "product", "yield"),
        ("reactants.csv", reactants, "reactants", "product"),
    ] {
        let (found, _) = init(&sandbox, file, &content);
        assert_eq!([&found["input"], &found["output"]], [input, output], "{found}");
    }
    let peptides = sandbox.read("peptides.toml");
    assert!(peptides.contains("\"Sequence\""), "{peptides}");
    // without anything else to learn, molecules are the output
    let pairs = table("Sequence,SMILES", |at| {
        let middle = [at % 20, at / 20].map(|place| &"ACDEFGHIKLMNPQRSTVWY"[place..=place]);
        format!("LVNELT{}K,{}", middle.concat(), molecule(at))
    });
    let (found, _) = init(&sandbox, "pairs.csv", &pairs);
    assert_eq!([&found["input"], &found["output"]], ["Sequence", "SMILES"], "{found}");
}

/// Nothing is learned from keys of molecules, also where several rows are of one.
#[test]
fn keys_of_molecules_alone_are_refused_with_the_remedy() {
    let sandbox = Sandbox::new();
    let keys = table("inchikey,y", |at| {
        let letters = [at / 2 % 10, at / 20].map(|place| &"ABCDEFGHIJ"[place..=place]);
        format!("UHOVQNZJYSOR{}-UHFFFAOYSA-N,{}.25", letters.concat(), at % 27)
    });
    sandbox.write("keys.csv", &keys);
    let says =
        ["no column of texts", "the InChIKeys in \"inchikey\"", "write the SMILES beside them"];
    sandbox.fail(&["init", "keys.csv"], 2, &says);
}

/// As of the passengers of a ship: the few numbers of cabins are no inputs, and names no outputs.
#[test]
fn names_are_inputs_beside_texts_with_many_gaps() {
    let sandbox = Sandbox::new();
    let passengers = table("PassengerId,Survived,Name,Age,Cabin", |at| {
        let survived = at * 7 % 10 > 4;
        let title = if survived { "Mrs." } else { "Mr." };
        let name = ["Owen", "Karl", "Laina", "James"][at % 4];
        let age = ["22", "35.5", "54"][at % 3];
        let cabin = if at % 4 == 0 { format!("C{}", at / 4 % 36) } else { String::new() };
        let id = at + 1;
        format!("{id},{},\"Braund{at}, {title} {name}\",{age},{cabin}", usize::from(survived))
    });
    let (found, _) = init(&sandbox, "ship.csv", &passengers);
    assert_eq!([&found["input"], &found["output"]], ["Name", "Survived"], "{found}");
    // names and first names that recur
    let lasts = ["Martin", "Thomas", "Moore", "Williams", "Young", "Allen", "King", "Hill"];
    let firsts = ["Linda", "Mary", "Ruth", "Anna", "Karen"];
    let persons = table("id,survived,name,age,cabin", |at| {
        let [last, first] = [lasts[at / 25], firsts[at % 5]];
        let second = ["Jane", "May", "Rose", "Lee", "Ann"][at / 5 % 5];
        let survived = usize::from(at * 7 % 10 > 4);
        let age = ["22", "35", "54"][at % 3];
        let cabin = if at % 4 == 0 { format!("C{}", at / 4 % 36) } else { String::new() };
        format!("{at},{survived},\"{last}, Mrs. {first} {second}\",{age},{cabin}")
    });
    let (found, _) = init(&sandbox, "persons.csv", &persons);
    assert_eq!([&found["input"], &found["output"]], ["name", "survived"], "{found}");
}

/// As forms write the options that somebody has ticked, of which one has a comma in brackets.
#[test]
fn options_with_commas_in_brackets_are_one_label() {
    let answers = table("id,note,uses", |at| {
        let has = things(at);
        let mut uses = vec![["Chat", "Reports"][at % 2]];
        uses.extend(has.contains(&"pool").then_some("Email"));
        uses.extend(has.contains(&"lift").then_some("Data export (CSV, Excel)"));
        format!("{at},{},\"{}\"", note(at), uses.join(", "))
    });
    let stranger = Stranger {
        file: "forms.csv",
        content: answers.into_bytes(),
        arguments: &[],
        columns: ["note", "uses"],
        holds: "labels, with ',' between",
        skipped: 0,
        floor: ("f1", Bound::AtLeast(0.6)),
    };
    let sandbox = Sandbox::new();
    stranger.trains(&sandbox);
    let text = "This flat has a pool and a lift and a view.";
    let found = sandbox.succeed(&["search", "runs/forms", text, "--top", "20"]);
    assert!(found.contains("Data export (CSV, Excel)"), "{found}");
}

/// A fifth of the numbers has a unit that the others lack, and a third is in another unit.
#[test]
fn numbers_in_another_unit_are_skipped_and_named() {
    let sandbox = Sandbox::new();
    let doses = table("id,note,dose", |at| match at % 5 {
        0 => format!("{at},{},{}mg", note(at), price(at)),
        _ => format!("{at},{},{}.5", note(at), price(at)),
    });
    let (found, shown) = init(&sandbox, "mg.csv", &doses);
    assert_eq!([&found["output"], &found["holds"]], ["dose", "numbers"], "{found}");
    assert_eq!(found["skipped"], 40, "{found}");
    let said = "dose: 40 of 200 cells are skipped, since \"mg\" stands behind their number, beside numbers:";
    assert!(shown.contains(said), "{shown}");
    let activities = table("id,note,IC50", |at| match at % 3 {
        0 => format!("{at},{},{} nM", note(at), price(at)),
        _ => format!("{at},{},{}.{:03} µM", note(at), price(at) / 1000, price(at) % 1000),
    });
    let (found, shown) = init(&sandbox, "units.csv", &activities);
    assert_eq!([&found["output"], &found["holds"]], ["IC50", "numbers, in µM"], "{found}");
    assert_eq!(found["skipped"], 67, "{found}");
    let said = "IC50: 67 of 200 cells are skipped, since \"nM\" stands behind their number, beside numbers, in µM:";
    assert!(shown.contains(said), "{shown}");
}

/// As weather stations, surveys and detectors write that there is no value.
#[test]
fn nines_that_stand_for_no_value_are_named() {
    let sandbox = Sandbox::new();
    let rents = table("id,note,rent", |at| match at % 15 {
        0 => format!("{at},{},-999", note(at)),
        _ => format!("{at},{},{}.5", note(at), price(at)),
    });
    let (_, shown) = init(&sandbox, "rents.csv", &rents);
    let said = "rent: 14 of 200 cells are \"-999\", far below the other numbers, and read as a number; where it stands for no value";
    assert!(shown.contains(said), "{shown}");
    let grades = table("note,answer", |at| match at % 20 {
        0 => format!("{},99", note(at)),
        _ => format!("{},{}", note(at), 1 + at % 5),
    });
    let (_, shown) = init(&sandbox, "grades.csv", &grades);
    assert!(shown.contains("answer: 10 of 200 cells are \"99\", far above"), "{shown}");
    // one of many numbers of its size, and one that is there once
    let counts = table("note,count,size", |at| {
        let size = if at == 7 { 9999 } else { price(at) };
        format!("{},{},{size}", note(at), 980 + at % 20)
    });
    let (_, shown) = init(&sandbox, "counts.csv", &counts);
    assert!(!shown.contains("far above"), "{shown}");
}

/// Stata and SAS write a letter behind the point where they know why there is no value.
#[test]
fn points_with_a_letter_among_classes_are_named() {
    let sandbox = Sandbox::new();
    let bands = table("id,note,band", |at| {
        let band = ["low", "high"][usize::from(price(at) > 2000)];
        let cell = if at % 11 == 0 { "." } else { band };
        let cell = if at % 11 > 0 && at % 13 == 0 { ".a" } else { cell };
        format!("{at},{},{cell}", note(at))
    });
    let (found, shown) = init(&sandbox, "bands.csv", &bands);
    assert_eq!(found["skipped"], 19, "{found}");
    let said = "band: 14 cells such as \".a\" on line 15 are read as classes; where they say that there is no value";
    assert!(shown.contains(said), "{shown}");
    // names of formats of files
    let formats =
        table("note,format", |at| format!("{},{}", note(at), [".c", ".h", ".py", ".txt"][at % 4]));
    let (_, shown) = init(&sandbox, "formats.csv", &formats);
    assert!(shown.contains("4 classes") && !shown.contains("are read as classes"), "{shown}");
}

/// A name that is a mark of a missing value is read as one, whatever kind is stated.
#[test]
fn names_that_are_marks_of_missing_values_are_to_be_written_out() {
    let sandbox = Sandbox::new();
    let regions = table("note,region", |at| format!("{},{}", note(at), ["EU", "AS", "NA"][at % 3]));
    let (_, shown) = init(&sandbox, "regions.csv", &regions);
    let said = "the first other one is \"NA\" on line 4 (such cells say that there is no value; where one is a name, write it out)";
    assert!(shown.contains(said), "{shown}");
}

/// As Reddit and databases write when something was made.
#[test]
fn points_in_time_as_numbers_are_no_outputs() {
    let sandbox = Sandbox::new();
    for name in ["created_utc", "createdAt", "epoch"] {
        let milliseconds = if name == "createdAt" { 1000 } else { 1 };
        let posts = table(&format!("id,note,{name},score"), |at| {
            let time = (1_700_000_000 + 3600 * at) * milliseconds;
            format!("{at},{},{time},{}", note(at), price(at))
        });
        let (found, _) = init(&sandbox, "posts.csv", &posts);
        assert_eq!(found["output"], "score", "{found}");
        assert_eq!(found["further_outputs"], serde_json::json!([]), "{found}");
    }
    let days = table("id,note,listed,score", |at| {
        let day = 20_240_000 + 100 * (1 + at % 12) + 1 + at % 28;
        format!("{at},{},{day},{}", note(at), price(at))
    });
    let (found, _) = init(&sandbox, "days.csv", &days);
    assert_eq!(found["output"], "score", "{found}");
    assert_eq!(found["further_outputs"], serde_json::json!([]), "{found}");
    // alone, they are named
    let alone = table("note,listed", |at| {
        format!("{},{}", note(at), 20_240_000 + 100 * (1 + at % 12) + 1 + at % 28)
    });
    sandbox.write("alone.csv", &alone);
    let says = [
        "\"listed\" (numbers, points in time)",
        "points in time are learned only where --output listed says so",
    ];
    sandbox.fail(&["init", "alone.csv"], 2, &says);
    let found = json(&sandbox.succeed(&["init", "alone.csv", "--output", "listed", "--json"]));
    assert_eq!(found["output"], "listed", "{found}");
}

/// Columns of 0 and 1 are numbers of one vector, as columns of other numbers are.
#[test]
fn bits_in_columns_are_one_input_by_the_first_and_the_last() {
    let sandbox = Sandbox::new();
    let bits = table("Name,fp_0,fp_1,fp_2,fp_3,pIC50", |at| {
        let bits = [0, 1, 2, 3].map(|bit| (((at * 37) >> bit) & 1).to_string());
        format!("mol{at},{},{}.25", bits.join(","), 4 + at % 5)
    });
    sandbox.write("bits.csv", &bits);
    sandbox.fail(&["init", "bits.csv"], 2, &["no column of texts", "as in --input fp_0..fp_3"]);
    let init = ["init", "bits.csv", "--input", "fp_0..fp_3"];
    let found = json(&sandbox.succeed(&[&init[..], &["--json"]].concat()));
    assert_eq!([&found["input"], &found["output"]], ["fp_0..fp_3", "pIC50"], "{found}");
    sandbox.succeed(&["train", "bits.toml"]);
    let answers = sandbox.succeed(&["predict", "runs/bits", "bits.csv"]);
    assert_eq!(answers.lines().count(), 200, "{answers}");
    // names in the other order, and columns of other things between
    let says = ["expected \"Name\", \"fp_0\""];
    sandbox.fail(&["init", "bits.csv", "--input", "fp_3..fp_0", "--force"], 2, &says);
    let says = ["--input = \"Name..fp_3\": expected columns of numbers alone"];
    sandbox.fail(&["init", "bits.csv", "--input", "Name..fp_3", "--force"], 2, &says);
}

/// As ChEMBL exports activities, cut to some of its columns.
#[test]
fn units_and_signs_in_columns_of_their_own_are_no_outputs_and_named() {
    let sandbox = Sandbox::new();
    let mut activities = "Smiles;Standard Relation;Standard Value;Standard Units\n".to_owned();
    for (at, pair) in pairs(100).iter().enumerate() {
        let sign = if at % 4 == 0 { "'>'" } else { "'='" };
        let unit = if at % 5 == 0 { "ug.mL-1" } else { "nM" };
        writeln!(activities, "{};{sign};{}.5;{unit}", pair.smiles, 10 * pair.atoms + at % 7)
            .unwrap();
    }
    let (found, shown) = init(&sandbox, "activities.csv", &activities);
    assert_eq!([&found["input"], &found["output"]], ["Smiles", "Standard Value"], "{found}");
    for said in [
        "Standard Value: Standard Units has several units, \"nM\" in 80 rows, \"ug.mL-1\" in 20 rows, which are not read",
        "Standard Value: Standard Relation has the signs of bounds, \">\" in 25 rows, whose numbers are read as exact",
    ] {
        assert!(shown.contains(said), "{said}\n{shown}");
    }
    // one unit, and no bounds
    let plain = activities.replace("ug.mL-1", "nM").replace("'>'", "'='");
    let (found, shown) = init(&sandbox, "plain.csv", &plain);
    assert_eq!(found["output"], "Standard Value", "{found}");
    assert!(!shown.contains("Standard Value: Standard"), "{shown}");
    // a relation is learned where it is no sign
    let relations = table("text,relation,value", |at| {
        format!("{},{},{at}.5", note(at), ["capital_of", "born_in"][at % 2])
    });
    let (found, _) = init(&sandbox, "relations.csv", &relations);
    assert_eq!(found["output"], "relation", "{found}");
}

/// Two parts of a set, and rows that end with a separator.
#[test]
fn parts_of_a_table_and_separators_at_the_end_are_refused_with_the_remedy() {
    let sandbox = Sandbox::new();
    for (file, first) in [("part-0.csv", 0), ("part-1.csv", 1000)] {
        let part = table("id,note,price", |at| {
            format!("{},{},{}.5", first + at, note(first + at), price(first + at))
        });
        sandbox.write(file, &part);
    }
    let said = [
        "ids that join the tables = 0 rows",
        "both have the same columns",
        "into one table: awk 'FNR > 1 || NR == 1' part-0.csv part-1.csv > all.csv",
    ];
    sandbox.fail(&["init", "part-0.csv", "part-1.csv"], 2, &said);
    let ends = table("id,note,price", |at| format!("{at},{},{}.5,", note(at), price(at)));
    sandbox.write("ends.csv", &ends);
    let said = ["4 fields; expected 3", "remove the separators at the ends of lines"];
    sandbox.fail(&["init", "ends.csv"], 2, &said);
    sandbox.write("ends.csv", &ends.replacen("price", "price,", 1));
    sandbox.succeed(&["init", "ends.csv"]);
}

/// As files have them that language models are trained on.
#[test]
fn conversations_are_refused_with_the_remedy() {
    let sandbox = Sandbox::new();
    let mut chats = String::new();
    for at in 0..40 {
        let answer = ["sold", "free"][at % 2];
        let messages = serde_json::json!([
            { "role": "user", "content": note(at) },
            { "role": "assistant", "content": answer },
        ]);
        writeln!(chats, "{}", serde_json::json!({ "messages": messages })).unwrap();
    }
    sandbox.write("chat.jsonl", &chats);
    let said = [
        "no column of texts",
        "\"messages\" has conversations",
        "python3 -c \"import json, sys;",
        "pairs-chat.jsonl messages content",
    ];
    sandbox.fail(&["init", "chat.jsonl"], 2, &said);
}

/// The order of tags says nothing, so that pairs of them are no features.
#[test]
fn tags_in_any_order_are_compared_one_by_one() {
    let sandbox = Sandbox::new();
    let place = |tag: &&str| THINGS.iter().position(|thing| thing == tag).unwrap();
    let flats = table("tags,rent", |at| {
        let mut tags = THINGS;
        tags.sort_by_key(|tag| (31 * at + (17 + 13 * (at % 7)) * place(tag)) % 97);
        let tags = &tags[..3 + at % 3];
        let rent = 1000 + 100 * tags.iter().map(place).sum::<usize>() + at % 7;
        format!("{},{rent}.5", tags.join(" "))
    });
    sandbox.write("tags.csv", &flats);
    let shown = sandbox.succeed(&["init", "tags.csv"]);
    assert!(has_kind(&shown, "tags", "labels, with spaces between  input"), "{shown}");
    let config = sandbox.read("tags.toml");
    assert!(config.contains("kind = \"words\", min = 1, max = 1,"), "{config}");
    // the same words in the order of phrases
    let phrases = table("tags,rent", |at| {
        let [size, age] = [["small", "large"][at % 2], ["old", "new", "used"][at / 2 % 3]];
        let thing = THINGS[at / 6 % 8];
        format!("{size} {age} {thing} {},{}.5", ["tile", "wood"][at / 48 % 2], 1000 + at % 96)
    });
    sandbox.write("phrases.csv", &phrases);
    sandbox.succeed(&["init", "phrases.csv"]);
    let config = sandbox.read("phrases.toml");
    assert!(config.contains("kind = \"words\", min = 1, max = 2,"), "{config}");
}
