use super::codes::{first_code, first_number_with_zero};
use super::labels::{
    are_measures, are_phrases, are_unordered, have_commas_in_names, odd_separator, unread_list,
};
use super::numbers::{are_times, first_thousand, unit_behind, unit_of_cell};
use super::*;

#[test]
fn units_are_signs_or_stand_behind_a_space() {
    let units = [
        "64.9%",
        "€385",
        "5.2 µM",
        "12 mg/L",
        "385 €",
        "CHF 1'385.50",
        "EUR",
        "10a",
        "m12",
        "1.5",
        "2e-5",
        "US$1,000",
        "R$ 3101.84",
        "Rs. 310,184",
    ];
    let expected = ["%", "€", "µM", "mg/L", "€", "CHF", "", "", "", "", "", "US$", "R$", "Rs."];
    assert_eq!(units.map(unit_of_cell), expected);
    // of amounts below 0
    let amounts = ["-$85.12", "- € 85.12", "($85.12)", "$(85.12)", "(7.5 €)", "CHF (7.50)"];
    assert_eq!(amounts.map(unit_of_cell), ["$", "€", "$", "$", "€", "CHF"]);
    // without cents
    let whole = ["CHF 25.-", "25,- €", "25.\u{2013} €", "€ 25,-", "25.-"];
    assert_eq!(whole.map(unit_of_cell), ["CHF", "€", "€", "€", ""]);
    for plain in ["85.12-", "(85.12)", "-85.12", "(a)", "(7) kg"] {
        assert_eq!(unit_of_cell(plain), "", "{plain}");
    }
}

#[test]
fn amounts_below_0_are_numbers_and_enumerations_in_brackets_are_none() {
    let dollars = NumberNotation { unit: "$".into(), ..NumberNotation::default() };
    for below in ["-$85.12", "($1,085.12)", "$(85.12)", "(85.12)", "85.12-", "$-85.12"] {
        let balances = ["$85.12", below, "$207.13", "$1,232.35"].repeat(4);
        assert_eq!(guessed(1, "balance", &balances), ColumnKind::Numbers(dollars.clone()));
    }
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    for below in ["(85.12)", "85.12-", "(1,085.12)"] {
        let balances = ["85.12", below, "207.13", "1,232.35"].repeat(4);
        assert_eq!(guessed(1, "balance", &balances), numbers, "{below}");
    }
    let whole: Vec<String> =
        (10..40).map(|at| if at % 3 == 0 { format!("({at})") } else { at.to_string() }).collect();
    let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "profit", &whole), numbers);
    // names, though one may say that they are numbers
    for (cells, classes) in [(["(1)", "(2)", "(3)"], 3), (["1", "2", "(2)"], 3)] {
        let cells = cells.repeat(6);
        assert_eq!(guessed(1, "step", &cells), ColumnKind::Classes(classes), "{cells:?}");
        assert_eq!(stated(KindName::Numbers, &cells), numbers);
    }
    assert_eq!(guessed(1, "charge", &["2-", "1-", "2"].repeat(6)), ColumnKind::Classes(3));
}

#[test]
fn vectors_have_as_many_numbers_each_and_some_are_not_whole() {
    let vectors = ["0.5 -1 2e-3", "1.0 2.0 3.0", "0.0 0.0 1.0"].repeat(4);
    assert_eq!(guessed(1, "x", &vectors), ColumnKind::Vectors(3));
    assert_eq!(stated(KindName::Vectors, &["12 7", "3 9"]), ColumnKind::Vectors(2));
    for other in [["12 7", "3 9", "12 3"], ["0.5 1", "0.5", "1 2 3"], ["a 0.5", "b 1", "c 2"]] {
        let kind = guessed(1, "x", &other.repeat(4));
        assert!(!matches!(kind, ColumnKind::Vectors(_)), "{kind}");
    }
}

#[test]
fn columns_are_what_most_of_their_cells_are() {
    let prices: Vec<String> = (0..20).map(|i| format!("{},{:02} €", 10 + i, 5 * i)).collect();
    let mut prices: Vec<&str> = prices.iter().map(String::as_str).collect();
    prices[3] = "sold out";
    let notation = NumberNotation { decimal: ',', unit: "€".into(), ..NumberNotation::default() };
    assert_eq!(guessed(1, "price", &prices), ColumnKind::Numbers(notation));
    let mut smiles = ["CC(=O)O", "CCO ethanol", "C1CC1", "CC(C)N |&1:1|", "C=C"].repeat(4);
    smiles.push("not available");
    smiles.push("see C-12 for the salt of it");
    assert_eq!(guessed(1, "structure", &smiles), ColumnKind::Smiles);
    let sentences = ["CCO is an alcohol that people know well.", "C=C is a gas that fruits make."];
    assert_eq!(guessed(1, "text", &sentences.repeat(5)), ColumnKind::Texts);
    assert_eq!(guessed(1, "none", &["n/a", "NaN"]), ColumnKind::Nothing);
    assert_eq!(guessed(0, "column_1", &["6", "44", "205"]), ColumnKind::Ids);
    assert_eq!(guessed(3, "Nr", &["0", "1", "2"]), ColumnKind::Ids);
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    assert_eq!(guessed(1, "mass", &["6", "44", "205"]), numbers);
    let affinity = ["12.5 nM", "> 10000 nM", "7 nM", "<=0.1 nM"].repeat(5);
    let nanomolar = NumberNotation { unit: "nM".into(), ..NumberNotation::default() };
    assert_eq!(guessed(1, "IC50", &affinity), ColumnKind::Numbers(nanomolar));
    let concentrations = ["5.2 \u{b5}M", "1.75 \u{3bc}M", "0.5 \u{3bc}M", "12 \u{b5}M"].repeat(5);
    let micromolar = NumberNotation { unit: "\u{b5}M".into(), ..NumberNotation::default() };
    assert_eq!(guessed(1, "IC50", &concentrations), ColumnKind::Numbers(micromolar));
    let francs = NumberNotation { unit: "CHF".into(), ..NumberNotation::default() };
    let prices = ["CHF 1'385.50", "CHF 12.00", "CHF 7.25"].repeat(5);
    assert_eq!(guessed(1, "price", &prices), ColumnKind::Numbers(francs));
    let sequences = ["MKTAYIAKQRQISFVKSHFSRQ", "GSHMASMTGGQQMGRDPNSSSVDKLAA"];
    assert_eq!(guessed(0, "sequence", &sequences), ColumnKind::Texts);
    assert_eq!(guessed(0, "key", &["AABILZKQMVKFHP-UHFFFAOYSA-N"]), ColumnKind::Ids);
    // of molecules with several rows too, and peptides are no keys
    let keys = ["AABILZKQMVKFHP-UHFFFAOYSA-N", "RYYVLZVUVIJVGH-UHFFFAOYSA-N"];
    let recurring = |cells: &[&'static str]| guessed(0, "key", &cells.repeat(2));
    assert_eq!(recurring(&keys), ColumnKind::Ids);
    assert_eq!(recurring(&keys.map(|key| &key[..14])), ColumnKind::Ids);
    assert_eq!(recurring(&["SIINFEKLGILGFV", "NLVPMVATVGILGF"]), ColumnKind::Texts);
    let classes = ["conjugate acid", "conjugate base", "weak acid"].repeat(5);
    assert_eq!(guessed(1, "kind", &classes), ColumnKind::Classes(3));
    assert_eq!(guessed(1, "active", &["0", "1", "1", "NA"].repeat(4)), ColumnKind::Classes(2));
    assert_eq!(guessed(1, "active", &["yes", "no"].repeat(5)), ColumnKind::Classes(2));
    assert_eq!(guessed(1, "result", &["+", "-"].repeat(5)), ColumnKind::Classes(2));
    assert_eq!(guessed(1, "result", &["+", "-", "+/-"].repeat(5)), ColumnKind::Classes(3));
    assert_eq!(guessed(1, "result", &["-"; 9]), ColumnKind::Nothing);
    for signs in [["+", "-", "NA"], ["++", "--", ""], ["+", "--", "n/a"]] {
        let mut cells = signs.repeat(5);
        cells.retain(|cell| !cell.is_empty());
        assert_eq!(guessed(1, "result", &cells), ColumnKind::Classes(2), "{signs:?}");
    }
    // one name, and `none` or `unknown`
    let smoker = ["yes", "none", "unknown"].repeat(5);
    assert_eq!(guessed(1, "smoker", &smoker), ColumnKind::Classes(3));
    assert_eq!(guessed(1, "effect", &["nausea", "none"].repeat(5)), ColumnKind::Classes(2));
    assert_eq!(guessed(1, "effect", &["nausea", "NA"].repeat(5)), ColumnKind::Texts);
    assert_eq!(guessed(1, "class", &["0", "1", "2"].repeat(5)), ColumnKind::Classes(3));
    assert_eq!(guessed(1, "rings", &["0", "1", "2"].repeat(5)), numbers);
    // as pandas writes whole numbers beside missing ones
    let with_gaps = ["0.0", "1.0", "nan", "2.0"].repeat(5);
    assert_eq!(guessed(1, "label", &with_gaps), ColumnKind::Classes(3));
    assert_eq!(guessed(1, "fine_label", &with_gaps), ColumnKind::Classes(3));
    assert_eq!(guessed(1, "rings", &with_gaps), numbers);
    assert_eq!(guessed(1, "label", &["0.0", "1.5", "2.0"].repeat(5)), numbers);
    assert_eq!(guessed(1, "tags", &["a;b", "b", "a;c", "c"].repeat(5)), ColumnKind::Labels(';'));
    let mut mostly_one = ["acid", "base", "salt"].repeat(30);
    mostly_one.extend(["acid;salt"; 6]);
    assert_eq!(guessed(1, "tags", &mostly_one), ColumnKind::Labels(';'));
}

#[test]
fn half_of_the_cells_are_enough_for_numbers_unless_they_name_classes_or_labels() {
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    let solubilities = ["-3.2", "0.5", "n.b.", "<LOD", "-1.7", "5.7x10^-7", "2", "-0.25"];
    assert_eq!(guessed(1, "logS", &solubilities), numbers);
    assert_eq!(guessed(1, "logS", &solubilities.repeat(2)), numbers);
    let counts = ["120", "50", "n.b.", "7", "31", "n.b.", "84"];
    assert_eq!(guessed(1, "count", &counts), numbers);
    assert_eq!(guessed(1, "grade", &["1", "2", "fail"].repeat(5)), ColumnKind::Classes(3));
    assert_eq!(guessed(1, "code", &["1001", "1002", "1002B"]), ColumnKind::Ids);
    let topics = ["12;7", "7", "12", "7;12;3", "3"].repeat(3);
    assert_eq!(guessed(1, "topics", &topics), ColumnKind::Labels(';'));
    let topics = ["12 7", "7", "12", "7 12 3", "3", "3 7", "12 3"].repeat(3);
    assert_eq!(guessed(1, "topics", &topics), ColumnKind::Labels(' '));
}

#[test]
fn records_with_bars_between_their_fields_are_no_labels() {
    let proteins: Vec<String> =
        (0..20).map(|at| format!("sp|P{}|ALB{at}_HUMAN", 10_000 + at)).collect();
    let proteins: Vec<&str> = proteins.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "Proteins", &proteins.repeat(3)), ColumnKind::Texts);
    // sets of as many labels each
    let labels = ["war", "drama", "crime", "music", "sport"];
    let sets: Vec<String> = (0..20)
        .map(|at| [0, 1, 2].map(|next| labels[(at + next * (1 + at / 5 % 2)) % 5]).join("|"))
        .collect();
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "genres", &sets), ColumnKind::Labels('|'));
    // blanks within fields separate no labels
    let named: Vec<String> = (0..20).map(|at| format!("db|Entry {at}|Protein {at}")).collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "Proteins", &named.repeat(3)), ColumnKind::Texts);
    // lineages, paths, tags and casts, of which the parts at one place differ
    let lineage = |at: usize| {
        let [phylum, family, genus] = [at / 36, at / 12, at / 4];
        format!("Bacteria|Phylum{phylum}|Family{family}|Genus{genus}|Genus{genus}_species{at}")
    };
    let clade = |at: usize| format!("k__Bacteria|p__P{}|g__G{}|s__S{at}", at / 10, at / 3);
    let path = |at: usize| {
        let [first, second] = [["Home", "Garden"][at % 2], ["Tools", "Bath", "Kitchen"][at % 3]];
        format!("{first}|{second}|item{at}")
    };
    let spaced = |at: usize| path(at).replace("Tools", "Power Tools").replace('|', " | ");
    let tags = |at: usize| format!("{}|{}|v1.{at}", labels[at % 5], ["x", "y", "z"][at % 3]);
    let cast = |at: usize| format!("Star {}|Actor {}|Extra {at}", at % 9, at % 11);
    for cell in [&lineage as &dyn Fn(usize) -> String, &clade, &path, &spaced, &tags, &cast] {
        for rows in [1, 3] {
            let cells: Vec<String> = (0..67 * rows).map(|at| cell(at / rows)).collect();
            let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
            assert_eq!(guessed(1, "what", &cells), ColumnKind::Labels('|'), "{}", cells[0]);
        }
    }
}

#[test]
fn numbers_with_another_unit_behind_are_remarks_and_codes_are_none() {
    let plain = NumberNotation::default();
    let micro = NumberNotation { unit: "\u{b5}M".into(), ..NumberNotation::default() };
    for (notation, usual, other) in
        [(&plain, "", "mg"), (&plain, "", " J"), (&plain, "", "*"), (&micro, " \u{b5}M", " nM")]
    {
        let cell = |at: usize| match at % 4 {
            1 => format!("{}{other}", 1000 + at),
            _ => format!("{}.{}{usual}", 3 * at, at % 10),
        };
        let cells: Vec<String> = (0..60).map(cell).collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let numbers = ColumnKind::Numbers(notation.clone());
        assert_eq!(guessed(1, "dose", &cells), numbers, "{other}");
        assert_eq!(unit_behind(&notation.unitless(), cells[1]), Some(other.trim()));
    }
    for other in
        ["1002B", "1002AB", "7-", "12.67 ± 0.47", "3h 13m", "222-227", "12", "mg", "5 of them"]
    {
        assert_eq!(unit_behind(&plain, other), None, "{other}");
    }
    // numbers of houses
    let houses: Vec<String> = (0..60)
        .map(|at| if at % 3 == 0 { format!("{}a", at / 2) } else { (at / 2).to_string() })
        .collect();
    let houses: Vec<&str> = houses.iter().map(String::as_str).collect();
    assert_ne!(guessed(1, "house", &houses), ColumnKind::Numbers(plain.clone()));
    // ordinals, houses and versions
    for (other, decimals) in
        [("th", ""), ("ST", ""), ("bis", ""), (" ter", ""), ("beta", ".5"), ("rc", ".5")]
    {
        let cell =
            |at: usize| format!("{at}{decimals}{}", if at.is_multiple_of(3) { other } else { "" });
        assert_eq!(unit_behind(&plain, &cell(3)), None, "{other}");
        let cells: Vec<String> = (0..60).map(|at| cell(at / 2)).collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        assert_ne!(guessed(1, "what", &cells), ColumnKind::Numbers(plain.clone()), "{other}");
    }
    // codes in the first column, which name the rows
    let code = |at: usize| match at % 3 {
        0 => format!("{}ab", 1000 + at),
        _ => format!("{}.{}", 1000 + at, at % 10),
    };
    let codes: Vec<String> = (0..60).map(code).collect();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    assert_eq!(guessed(0, "code", &codes), ColumnKind::Ids);
    assert_eq!(guessed(1, "dose", &codes), ColumnKind::Numbers(plain));
}

#[test]
fn numbers_that_are_nearly_the_value_are_bounds() {
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    for near in ["ca. 109", "ca 109", "~109.3", "≈109", "approx. 109", "about 109", "circa 109"] {
        let mut values: Vec<String> = (100..130).map(|value| value.to_string()).collect();
        values.extend((0..15).map(|_| near.to_owned()));
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        assert_eq!(guessed(1, "value", &values), numbers, "{near}");
        assert_eq!(numbers.read(near), Reading::Invalid, "{near}");
    }
    assert_eq!(without_sign_of_bound("ca. -5 kg"), "-5 kg");
    for other in ["CA 90210", "CA101", "Ca 40", "about the 5", "ca. five", "casein 5"] {
        assert_eq!(without_sign_of_bound(other), other);
    }
}

#[test]
fn ranges_codes_paths_and_long_series_are_what_they_were() {
    let ranges = ["<18.5", "18.5-25", ">25"].repeat(9);
    assert_eq!(guessed(1, "bmi", &ranges), ColumnKind::Classes(3));
    let doses = ["5 mg", "10 mg", "2.5 mg", "as needed"].repeat(9);
    assert_eq!(guessed(1, "dose", &doses), ColumnKind::Classes(4));
    let codes = ["401.9", "V58.61", "427.31", "E885.9", "272.4", "V45.81", "E11.9", "V10", "V11"];
    assert_ne!(guessed(1, "icd", &codes), ColumnKind::Numbers(NumberNotation::default()));
    let sets = ["401.9, 427.31", "272.4", "401.9, 272.4, 427.31", "427.31, 272.4"].repeat(3);
    assert_eq!(guessed(1, "codes", &sets), ColumnKind::Labels(','));
    let substitutions = ["C>A", "C>G", "C>T", "T>A", "T>C", "T>G"].repeat(6);
    assert_eq!(guessed(1, "mutation", &substitutions), ColumnKind::Classes(6));
    let paths = ["Food > Fruit > Apple", "Food > Fruit > Pear", "Clothing > Men"].repeat(6);
    assert_eq!(guessed(1, "category", &paths), ColumnKind::Classes(3));
    let shifts = ["132.6, 85.4, 77.1, 20.2, 14.1", "130.2, 85.1, 76.0, 21.9, 13.8"];
    assert!(!are_measures(&shifts));
    let captions = [r#"["a dog is in the park", "it is red"]"#, r#"["a cat of the house", "two"]"#];
    assert_eq!(guessed(1, "captions", &captions), ColumnKind::Texts);
}

#[test]
fn measures_and_short_texts_are_no_labels() {
    let cells: [&[&str]; 8] = [
        &["12.67 ± 0.47", "8.10 ± 0.47", "12.67 ± 0.30", "8.10 ± 0.30"],
        &["0.14 (n=3)", "0.14 (n = 3)", "0.11 (n=2)", "0.11 (p<0.05)"],
        &["pIC50 = 7.1", "pIC50 = 6.4", "pIC50=7.1", "pIC50 = 6.4"],
        &["0.11 n=4", "0.14 n=4", "0.11 n=2", "0.14 n=2"],
        &["126-128 °C", "126-127 °C", "90-91 °C", "90-91 °C"],
        &["3h 13m", "3h 2m", "1h 13m", "1h 2m"],
        &["(3,101.84)", "(3,101.84)", "(3,101.84)", "(2,101.84)"],
        &["1.5-2", "1.5-2", "2-2.5", "2-2.5"],
    ];
    for cells in cells {
        assert!(are_measures(cells), "{cells:?}");
        assert_eq!(guessed(1, "value", cells), ColumnKind::Texts, "{cells:?}");
    }
    for other in [["12 7", "3 9 1"], ["80s rock", "90s folk"], ["E11 I10", "I10 E12"]] {
        assert!(!are_measures(&other), "{other:?}");
    }
    // also without blanks, where codes are ids
    for cells in
        [["2.03+/-0.81", "1.1+/-0.2"], ["1.2D+01", "-6.9362D-01"], ["2.03±0.8", "-1.1±0.2"]]
    {
        assert!(are_measures(&cells), "{cells:?}");
        assert_eq!(guessed(1, "value", &cells), ColumnKind::Texts, "{cells:?}");
    }
    assert_eq!(guessed(1, "value", &["12D+A", "13D+B"]), ColumnKind::Ids);
    let dates = ["Jan 3, 2024", "Jan 4, 2024", "Feb 3, 2024", "Feb 3, 2024"];
    assert_eq!(guessed(1, "value", &dates), ColumnKind::Dates);
    assert!(!are_measures(&["It is the 12th of its kind", "It is 1 of 2 in all"]));
    let short = ["small alcohol", "small acid", "large acid", "large alcohol"];
    assert_eq!(guessed(1, "kinds", &short), ColumnKind::Labels(' '));
    assert_eq!(guessed(1, "Description", &short), ColumnKind::Texts);
    let german = ["eine kleine Säure", "eine Säure", "die kleine Base", "die Base"];
    assert_eq!(guessed(1, "Notiz", &german), ColumnKind::Texts);
}

#[test]
fn names_and_phrases_are_no_sets_of_labels_with_spaces_between() {
    let space = ColumnKind::Labels(' ');
    let names: Vec<String> = (0..20)
        .map(|at| {
            format!("Braund{at}, {} {}", ["Mr.", "Mrs."][at % 2], ["Owen", "Karl"][at / 2 % 2])
        })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(are_phrases(&space, "who", &names) && !are_phrases(&ColumnKind::Texts, "who", &names));
    let papers: Vec<String> = (0..20).map(|at| format!("J. Smith et al. {}", at / 2)).collect();
    let papers: Vec<&str> = papers.iter().map(String::as_str).collect();
    assert!(are_phrases(&space, "who", &papers));
    // sets in any order, and words of phrases
    let space_sets = ["pool lift", "lift pool sauna", "sauna lift", "pool sauna"];
    assert!(are_unordered(&space, &space_sets) && !are_unordered(&ColumnKind::Texts, &space_sets));
    let bars = ["war|drama", "drama|war|crime", "crime|war", "drama"];
    assert!(are_unordered(&ColumnKind::Labels('|'), &bars));
    let dishes = ["red wine;soy sauce", "soy sauce;red wine"];
    assert!(!are_unordered(&ColumnKind::Labels(';'), &dishes));
    for phrases in [&["small acid", "small base", "large acid"].repeat(2), &papers, &names] {
        assert!(!are_unordered(&space, phrases), "{phrases:?}");
    }
    // sets, of which some have a rare label
    let tags = ["rust regex", "rust", "python regex", "python pandas", "rust pandas serde"];
    assert!(!are_phrases(&space, "who", &tags));
    let species = ["Rosa alba", "Rosa nigra", "Acer alba", "Acer nigra"];
    assert!(!are_phrases(&space, "who", &species));
    // persons whose words recur, by the name of their column
    let comma = ColumnKind::Labels(',');
    let firsts = ["Linda", "Richard", "Mary", "John"];
    let persons: Vec<String> = ["Martin", "Thomas", "Moore", "Young"]
        .iter()
        .flat_map(|last| firsts.map(|first| format!("{last}, Mr. {first}")))
        .collect();
    let persons: Vec<&str> = persons.iter().map(String::as_str).collect();
    for name in ["Name", "passenger_name", "surname"] {
        assert!(are_phrases(&comma, name, &persons) && are_phrases(&space, name, &persons));
        assert!(!are_phrases(&comma, name, &persons.repeat(2)));
    }
    for name in ["who", "names", "name_tags"] {
        assert!(!are_phrases(&comma, name, &persons) && !are_phrases(&space, name, &persons));
    }
}

#[test]
fn paths_are_classes_or_the_labels_on_their_way_and_signs_between_words_no_labels() {
    let rooms = ["Kitchen Tools", "Bath", "Power Tools"];
    let states = ["New", "Used", "For Parts", "Old & Rare"];
    let paths: Vec<String> = rooms
        .iter()
        .flat_map(|room| states.map(|state| format!("Home & Garden > {room} > {state}")))
        .collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "category", &paths.repeat(5)), ColumnKind::Classes(12));
    assert_eq!(guessed(1, "category", &paths.repeat(2)), ColumnKind::Labels('>'));
    let sets = ["War & Crime", "War", "Sci-Fi & War & Crime", "Crime", "Sci-Fi", "War & Sci-Fi"];
    assert_eq!(guessed(1, "genres", &sets.repeat(2)), ColumnKind::Labels('&'));
    // names whose parts are in no others, and sets that recur
    let brands = ["Black & Decker", "Johnson & Johnson", "Bosch", "Marks & Spencer"];
    assert_eq!(guessed(1, "brand", &brands.repeat(2)), ColumnKind::Texts);
    assert_eq!(guessed(1, "brand", &brands.repeat(5)), ColumnKind::Classes(4));
    assert_eq!(guessed(1, "genres", &sets.repeat(5)), ColumnKind::Classes(6));
    // a blank separates labels elsewhere
    let styles = ["rock pop", "rock", "pop - jazz", "pop jazz", "jazz rock"];
    assert_eq!(guessed(1, "styles", &styles), ColumnKind::Labels(' '));
}

#[test]
fn rare_signs_separate_labels_that_recur_in_different_cells() {
    let sets: [&[&str]; 6] = [
        &["War", "Crime"],
        &["War"],
        &["Sci-Fi", "War", "Crime"],
        &["Crime"],
        &["Sci-Fi"],
        &["War", "Sci-Fi"],
    ];
    for (sign, separator) in [
        ("#", '#'),
        ("；", '；'),
        ("、", '、'),
        ("｜", '｜'),
        ("، ", '،'),
        ("؛", '؛'),
        ("·", '·'),
        (" • ", '•'),
        ("\n", '\n'),
        ("::", ':'),
        ("+", '+'),
        (" + ", '+'),
        ("/", '/'),
    ] {
        let labels = ColumnKind::Labels(separator);
        let cells: Vec<String> = sets.iter().map(|set| set.join(sign)).collect();
        let with_blanks: Vec<String> = cells.iter().map(|cell| cell.replace('-', " ")).collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let with_blanks: Vec<&str> = with_blanks.iter().map(String::as_str).collect();
        assert_eq!(guessed(1, "genres", &cells.repeat(2)), labels, "{sign:?}");
        assert_eq!(stated(KindName::Labels, &with_blanks.repeat(2)), labels, "{sign:?}");
        assert_eq!(odd_separator(&labels, false, &cells), Some(separator), "{sign:?}");
    }
    // labels of several words
    for (sign, separator) in [("/", '/'), ("+", '+'), (" · ", '·'), (" - ", '-'), ("｜", '｜')]
    {
        let cells: Vec<String> =
            sets.iter().map(|set| set.join(sign).replace("Sci-Fi", "Film Noir")).collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let labels = ColumnKind::Labels(separator);
        assert_eq!(guessed(1, "genres", &cells.repeat(2)), labels, "{sign:?}");
    }
    let hydrates = ["CuSO4·5H2O", "MgSO4·7H2O", "NaCl", "CaCl2·2H2O", "KCl", "CaSO4·2H2O"];
    assert_eq!(guessed(1, "salt", &hydrates.repeat(2)), ColumnKind::Texts);
    let mut hydrates = Vec::new();
    for salt in ["CuSO4", "MgSO4", "NiCl2", "CoBr2", "ZnSO4", "FeCl2", "CaSO4"] {
        hydrates
            .extend(["", "·2H2O", "·5H2O", "·6H2O", "·7H2O"].map(|water| salt.to_owned() + water));
    }
    let hydrates: Vec<&str> = hydrates.iter().map(String::as_str).collect();
    assert!(!matches!(guessed(1, "salt", &hydrates), ColumnKind::Labels(_)));
    // names that recur are classes, also where they have such signs
    let arms = ["A+B", "A", "B", "A+B+C", "C", "C+A"].repeat(5);
    assert_eq!(guessed(1, "arm", &arms), ColumnKind::Classes(6));
    let keys = ["A#1", "A#2", "B#1", "B#2"].repeat(5);
    assert_eq!(guessed(1, "key", &keys), ColumnKind::Classes(4));
    // signs of labels with spaces between
    let hashtags = ["#happy #sad", "#sad", "#happy", "#calm #sad", "#calm"];
    assert_eq!(guessed(1, "tags", &hashtags), ColumnKind::Labels(' '));
    for tags in [
        ["c# .net", "c#", "java spring", "java", "c# java"],
        ["img/cat img/dog", "img/dog", "img/cat", "img/dog img/cat", "img/cat"],
    ] {
        assert_eq!(stated(KindName::Labels, &tags), ColumnKind::Labels(' '), "{tags:?}");
    }
    let space = ColumnKind::Labels(' ');
    assert_eq!(
        [true, false].map(|is_stated| odd_separator(&space, is_stated, &[])),
        [Some(' '), None]
    );
    assert_eq!(odd_separator(&ColumnKind::Labels(';'), true, &["a;b"]), None);
}

#[test]
fn commas_stand_in_names_of_classes_where_their_parts_are_in_one_of_these_alone() {
    let cities = ["Paris, France", "Lyon, France", "Berlin, Germany", "Rome, Italy"];
    assert_eq!(guessed(1, "city", &cities.repeat(5)), ColumnKind::Classes(4));
    let topics = ["App", "Fees", "Phone, chat", "Delivery, returns"];
    assert_eq!(guessed(1, "topic", &topics.repeat(5)), ColumnKind::Classes(4));
    // sets, and names that do not recur
    for sets in [&["red,blue", "red", "blue,green"][..], &["italian, vegan", "italian", "indian"]] {
        assert_eq!(guessed(1, "tags", &sets.repeat(10)), ColumnKind::Labels(','), "{sets:?}");
    }
    assert_eq!(guessed(1, "city", &cities.repeat(4)), ColumnKind::Labels(','));
    let many: Vec<String> = (0..60).map(|at| format!("City{at}, State{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "city", &many.repeat(5)), ColumnKind::Classes(60));
    assert!(have_commas_in_names(&ColumnKind::Classes(4), "city", &cities.repeat(5)));
    assert!(!have_commas_in_names(&ColumnKind::Classes(2), "tag", &["a", "b"].repeat(5)));
    // few sets: labels that stand alone too, lists of programs, names of labels, and options with commas between marks
    let labels = ColumnKind::Labels(',');
    let few: [(&str, &[&str]); 5] = [
        (
            "kind",
            &["toxic", "toxic, obscene", "toxic, obscene, insult", "threat", "identity, hate"],
        ),
        ("kind", &["milk,sugar,cocoa", "flour,egg", "oil,salt", "tomato,basil"]),
        ("labels", &["identity, hate", "toxic, obscene", "threat, insult"]),
        ("kind", &["App,Fees", "Fees,\"Delivery, returns\"", "\"Phone, chat\"", "App"]),
        ("kind", &["Fees", "App", "\"Delivery, returns\"", "\"Phone, chat\""]),
    ];
    for (name, sets) in few {
        assert_eq!(guessed(1, name, &sets.repeat(20)), labels, "{sets:?}");
    }
    // commas in brackets divide nothing
    let exports = ["Email", "Chart (PNG, SVG)", "Data (CSV, Excel)"];
    assert_eq!(guessed(1, "kind", &exports.repeat(10)), ColumnKind::Classes(3));
    let sets = ["Email, Data (CSV, Excel)", "Data (CSV, Excel), Chat", "Chat, Email", "Chat"];
    assert_eq!(guessed(1, "uses", &sets.repeat(3)), labels);
    let solvents = ["1,2-dichloroethane", "1,4-dioxane", "1,3-dioxolane"];
    assert_eq!(guessed(1, "solvent", &solvents.repeat(10)), ColumnKind::Classes(3));
    assert_eq!(stated(KindName::Labels, &cities.repeat(5)), ColumnKind::Labels(','));
}

#[test]
fn cells_that_order_the_same_parts_are_rankings_and_no_labels() {
    let orders = ["tea > milk > water", "milk > tea=water", "water>tea", "milk>water>tea"];
    let items = ["tea", "milk", "water"].map(str::to_owned).to_vec();
    let rankings = ColumnKind::Orders(items);
    assert_eq!(guessed(1, "ranking", &orders), rankings);
    assert_eq!(stated(KindName::Rankings, &orders), rankings);
    assert_eq!(rankings.read("water>tea"), Reading::Valid);
    assert_eq!(rankings.read("water>coffee"), Reading::Invalid);
    let tied = ["tea > milk ~ water", "milk > tea ~ water", "water > tea ~ milk"];
    assert_eq!(guessed(1, "ranking", &tied), rankings);
    assert_eq!(guessed(1, "ranking", &["1 2 - -", "- 1 3 2"]), ColumnKind::Rankings(4));
    // their products are to be found
    let reactants = ["CO.CCl>>", "CCO.CCl>>", "CN.CBr>[Pd]>", "CCN.CCBr>>"];
    assert_eq!(guessed(1, "reaction", &reactants), ColumnKind::Texts);
    assert_eq!(guessed(1, "reaction", &[">>", ">Cl>", ">Br>"]), ColumnKind::Ids);
    let reactions = ["CO>Cl>CCl", "CCO>Cl>CCCl", "CN>Br>CBr", "CCN>Br>CCBr"];
    assert!(!matches!(guessed(1, "reaction", &reactions), ColumnKind::Orders(_)));
    for cells in [["1,2,3", "2,1,3"], ["tea|milk", "milk|tea"], ["a b c", "c a b"]] {
        assert!(are_reordered(&cells), "{cells:?}");
        assert_eq!(guessed(1, "ranking", &cells.repeat(5)), ColumnKind::Classes(2));
    }
    assert!(are_reordered(&[r#"["a", "b"]"#, r#"["b", "a"]"#]));
    for cells in [["a b", "a b"], ["a b", "b c"], ["a", "b"]] {
        assert!(!are_reordered(&cells), "{cells:?}");
    }
}

#[test]
fn lists_are_label_sets_also_of_one_label_each() {
    let kind = |name: &str, cells: &[&str]| {
        guessed_of_lists(Lists::Texts, guessed(1, name, cells), name, cells)
    };
    let labels = ColumnKind::Labels(';');
    let mut single = ["acid", "base", "weak base"].repeat(200);
    assert_eq!(guessed(1, "tags", &single), ColumnKind::Classes(3));
    assert_eq!(kind("tags", &single), labels);
    single.push("acid;base");
    assert_eq!(kind("tags", &single), labels);
    assert_eq!(kind("tags", &["red wine", "white wine", "rose wine"].repeat(2)), labels);
    assert_eq!(kind("topics", &["3", "17", "3", "17", "4", "4"]), labels);
    // sequences name a text twice, sets do not
    let tags_of = |at: usize| {
        let tags = (0..14).map(|bit| ["O", "B"][((7 * at) >> (bit % 6)) & 1]);
        tags.collect::<Vec<_>>().join(";")
    };
    let tags: Vec<String> = (0..40).map(tags_of).collect();
    let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    assert_eq!(kind("ner", &tags), guessed(1, "ner", &tags));
    assert!(!matches!(kind("ner", &tags), ColumnKind::Labels(_)));
    // texts and names that do not recur, and rankings
    for (name, cells) in [
        ("captions", ["a dog is in the park", "a cat of the house"]),
        ("names", ["aspirin", "ibuprofen"]),
        ("ranking", ["tea;milk", "milk;tea"]),
    ] {
        assert_eq!(kind(name, &cells), guessed(1, name, &cells), "{name}");
    }
    assert_eq!(kind("smiles", &["CC(=O)O", "C1CC1"].repeat(5)), ColumnKind::Smiles);
    // of Label Studio, which writes one label as it is
    let mut choices = ["War", "Crime", "Science Fiction"].repeat(20);
    choices.push(r#"{"choices": ["War", "Crime"]}"#);
    assert_eq!(guessed(1, "topics", &choices), labels);
    assert_eq!(stated(KindName::Labels, &choices), labels);
    choices.push("War, Crime");
    assert_ne!(guessed(1, "topics", &choices), labels);
    // of R, which writes vectors of one text and of none in other ways
    let vectors = [r#"c("italian", "low, fat")"#, r#""low, fat""#, r#""italian""#, "character(0)"];
    assert_eq!(guessed(1, "keywords", &vectors.repeat(5)), labels);
    assert_eq!(stated(KindName::Labels, &vectors.repeat(5)), labels);
}

#[test]
fn lists_of_numbers_are_label_sets_where_their_lengths_differ() {
    let kind = |cells: &[&str], some_empty: bool| {
        let lists = if some_empty { Lists::NumbersOrNone } else { Lists::Numbers };
        guessed_of_lists(lists, guessed(1, "v", cells), "v", cells)
    };
    let labels = ColumnKind::Labels(' ');
    let mut single = ["5", "0", "7", "3"].repeat(15);
    assert_eq!(kind(&single, true), labels);
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    assert_eq!(kind(&single, false), numbers);
    assert_eq!(kind(&["0.5", "0.25", "1.5"].repeat(10), true), numbers);
    single.push("5 7");
    assert_eq!(kind(&single, false), labels);
}

#[test]
fn labels_may_have_words_of_sentences_in_lists_and_where_they_are_stated() {
    let lists = [r#"["loss of function", "gain"]"#, r#"["none of it"]"#].repeat(5);
    assert_eq!(guessed(1, "effects", &lists), ColumnKind::Labels(';'));
    assert_eq!(stated(KindName::Labels, &lists), ColumnKind::Labels(';'));
    let joined = ["loss of function;gain", "none of it"].repeat(5);
    assert_eq!(stated(KindName::Labels, &joined), ColumnKind::Labels(';'));
    let many: String = (0..15).map(|label| format!("label {label}|")).collect();
    assert_eq!(stated(KindName::Labels, &[many.as_str()]), ColumnKind::Labels('|'));
    assert_eq!(stated(KindName::Labels, &["a, b", "c"]), ColumnKind::Labels(','));
    let mut mostly_spaces = ["red big", "small"].repeat(100);
    mostly_spaces.push("2;4 red");
    assert_eq!(stated(KindName::Labels, &mostly_spaces), ColumnKind::Labels(' '));
}

#[test]
fn sets_of_codes_of_three_digits_are_no_numbers_with_groups_of_thousands() {
    let commas = ["518,584", "250", "401,250,518", "584", "250"].repeat(4);
    assert_eq!(guessed(1, "icd9", &commas), ColumnKind::Labels(','));
    let spaces = ["518 584", "250", "401 250 518", "584", "250", "401"].repeat(4);
    assert_eq!(guessed(1, "icd9", &spaces), ColumnKind::Labels(' '));
    // also where few cells have several
    let mut few = ["518", "250", "401", "584", "250"].repeat(4);
    few.extend(["518,584", "250,401", "401,518"]);
    assert_eq!(guessed(1, "icd9", &few), ColumnKind::Labels(','));
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    // prices of six digits each, of different lengths, in groups of India, and codes alone
    for other in [
        ["4,25,000", "38,762", "1,73,881", "22,34,625"],
        ["1,25,000", "3,50,000", "9,328", "870"],
        ["350,000", "425,000", "999", "500"],
        ["350,000", "425,500", "199,000", "350,500"],
        ["350,000", "1,425,500", "85,000", "350"],
        ["518", "250", "401", "584"],
    ] {
        assert_eq!(guessed(1, "price", &other.repeat(4)), numbers, "{other:?}");
    }
}

#[test]
fn a_few_cells_with_several_commas_make_no_labels_of_decimal_commas() {
    let decimals: Vec<String> =
        (0..240).map(|at| format!("{},{}", 4 + at % 6, at * 7 % 10)).collect();
    let with = |odd: &[&'static str]| -> Vec<&str> {
        let decimals = decimals.iter().map(String::as_str);
        decimals.skip(odd.len()).chain(odd.iter().copied()).collect()
    };
    let german = NumberNotation { decimal: ',', ..NumberNotation::default() };
    let numbers = ColumnKind::Numbers(german);
    // of pH
    for odd in [&["9,0,9", "7,8,8", "4,7,1", "9,2,3", "6,6,1"][..], &["1,234,5"; 6], &["7"; 20]] {
        assert_eq!(guessed(1, "pH", &with(odd)), numbers, "{odd:?}");
    }
    let mut with_whole = with(&["9,0,9", "7,8,8", "4,7,1"]);
    with_whole.splice(0..24, ["7"; 24]);
    assert_eq!(guessed(1, "pH", &with_whole), numbers);
    // sets of two numbers or more, and sets most of which have one
    let pairs = ["3,1", "2,3,1", "1,2", "2,3", "4,1", "1,4", "3,4", "2,4", "4,3", "2,1"];
    assert_eq!(guessed(1, "labels", &pairs.repeat(3)), ColumnKind::Labels(','));
    let mut single = ["1", "2", "3", "4", "1,3"].repeat(19);
    single.push("2,3,4");
    assert_eq!(guessed(1, "labels", &single), ColumnKind::Labels(','));
}

#[test]
fn gaps_are_in_sequences_and_hyphens_and_points_in_codes() {
    for sequences in [
        ["ATCCGG-CTACGTACATCGGAGTG", "TCGCCCTCAGCCC-CCATGCTACA"],
        ["gg-ttcgagattacactaaaacca", "ctggctaccaccag-acttatgtc"],
        ["MKTAYIAKQR---QISFVKSHFSRQ", "GSHMASMTGGQQMGRDPNSSSVDKL"],
        ["mktayiakqrqisfvkshfsrqe-", "gshmasmtggqqmgrdpnsssvdk"],
        ["MKTAYIAKQRQISFVKSHFSRQ*", "GSHMASMTGGQQMGRDPNSSSV*"],
    ] {
        assert_eq!(guessed(1, "sequence", &sequences), ColumnKind::Texts, "{sequences:?}");
    }
    for codes in [
        ["SLTRH-NHRVN-QWKEY-ALTMD-PFIGC", "QWERT-YIPAS-DFGHK-LCVNM-RTHKL"],
        ["HVHLWNCTC.YVTSTNQGD.AAQGTGAYS", "AGSCDMHAW.HAEFTNYTG.SCRIMGIWH"],
        ["www.chemistry.university.org", "data.measurements.example.net"],
        ["AIBEJE-EACCFA-CFIHDJJ-BIFIAAHBJ", "GCBDI-DJBBIFBB-JEIJA-BJJBBICH"],
    ] {
        assert_eq!(guessed(1, "code", &codes), ColumnKind::Ids, "{codes:?}");
    }
}

#[test]
fn reactions_compositions_and_peptides_that_differ_are_texts_and_codes_of_their_letters_are_ids() {
    for (name, texts) in [
        ("rxn", ["CCO>[Cu]>CC=O", "CC(=O)O.CO>>CC(=O)OC", "C=C.[H][H]>>CC"]),
        ("composition", ["GaAs", "La0.5Sr0.5MnO3", "Ca(OH)2"]),
        ("formula", ["TiO2", "Fe2O3", "NaCl"]),
        ("molecule", ["C8H10N4O2", "C2H6O", "CH4"]),
        ("doping", ["La0.005Sr0.995MnO3", "La0.010Sr0.990MnO3", "La0.015Sr0.985MnO3"]),
        ("semiconductor", ["Ga1As2", "Ga2As3", "Ga3As5"]),
        ("Sequence", ["LVNELTEFAK", "YLYEIAR", "AEFVEVTK"]),
    ] {
        assert_eq!(guessed(1, name, &texts), ColumnKind::Texts, "{texts:?}");
    }
    for (name, codes) in [
        ("path", ["a>b>c", "b>c>d", "c>d>e"]),
        ("well", ["S1C2", "S1C3", "S2C3"]),
        ("part", ["SN1000", "PO1001", "CU1005"]),
        ("tray", ["P1B3", "P2C4", "K1F5"]),
        ("sample", ["P12", "K7", "B3"]),
        ("element", ["Ti", "Fe", "Na"]),
        ("code", ["LVNELTEFAK", "YLYEIAR", "AEFVEVTK"]),
        ("sequence", ["AK", "CK", "DK"]),
        ("compound_id", ["TiO2", "Fe2O3", "NaCl"]),
    ] {
        assert_eq!(guessed(1, name, &codes), ColumnKind::Ids, "{codes:?}");
    }
}

#[test]
fn lists_that_are_not_read_are_no_labels_and_slashes_with_blanks_separate() {
    for lists in [
        ["{a, b}", "{a}", "{b, c}", "{a, c}"],
        ["(a, b)", "(b, c)", "(a, c)", "(a, b)"],
        ["[a b]", "[a]", "[b c]", "[c a b]"],
        ["<a><b>", "<a>", "<b><c>", "<c>"],
    ] {
        assert_eq!(unread_list(&lists), Some(lists[0]), "{lists:?}");
        assert_eq!(guessed(1, "tags", &lists.repeat(2)), ColumnKind::Texts, "{lists:?}");
    }
    for other in [
        ["(S)-limonene (natural)", "(R)-limonene"],
        ["[acid]; [base]", "[acid]"],
        ["<p>a text</p>", "<p>a text, too</p>"],
        [r#"["a", "b"]"#, "['c']"],
        ["(acid)", "(base)"],
    ] {
        assert_eq!(unread_list(&other), None, "{other:?}");
    }
    let with_names = ["a", "{a, b}", "{b, c}", "{c, a}"];
    assert_eq!(unread_list(&with_names), Some("{a, b}"));
    let genres = ["Action / Drama", "Drama", "War / Drama", "Action"].repeat(3);
    assert_eq!(guessed(1, "genre", &genres), ColumnKind::Labels('/'));
    assert_eq!(stated(KindName::Labels, &genres), ColumnKind::Labels('/'));
    assert_eq!(stated(KindName::Labels, &["N/A x", "x"]), ColumnKind::Labels(' '));
    let pressures = ["120 / 80", "130 / 85", "120 / 85", "130 / 80"];
    assert_eq!(guessed(1, "pressure", &pressures), ColumnKind::Texts);
}

#[test]
fn ids_may_recur_and_classes_be_many() {
    let codes = ["CHEMBL25", "CHEMBL112", "CHEMBL1201"].repeat(5);
    assert_eq!(guessed(1, "Molecule ChEMBL ID", &codes), ColumnKind::Ids);
    assert_eq!(guessed(1, "code", &codes), ColumnKind::Classes(3));
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    let users = ["7", "9", "12"].repeat(5);
    assert_eq!(guessed(1, "userId", &users), ColumnKind::Ids);
    assert_eq!(guessed(1, "acid", &users), numbers);
    for name in ["Chlorid", "humid", "plasmid", "thyroid_mm", "Covid", "paid"] {
        assert_eq!(guessed(1, name, &users), numbers, "{name}");
        assert_eq!(guessed(1, name, &codes), ColumnKind::Classes(3), "{name}");
    }
    for name in ["PubChem CID", "userid", "doc_ids", "ChEMBL_ID", "pmid", "caseId"] {
        assert_eq!(guessed(1, name, &codes), ColumnKind::Ids, "{name}");
    }
    // all different
    assert_eq!(guessed(1, "plasmid", &["p17", "p4", "p9"]), ColumnKind::Ids);
    assert_eq!(guessed(1, "label_id", &["k1", "k2", "k3"].repeat(5)), ColumnKind::Classes(3));
    let sets = ["GO:1;GO:2", "GO:2", "GO:1;GO:3", "GO:3"].repeat(3);
    assert_eq!(guessed(1, "go_ids", &sets), ColumnKind::Labels(';'));
    // words that recur without a space are no labels with spaces between
    assert_eq!(guessed(1, "series", &["AB37", "AB61", "AB12"].repeat(2)), ColumnKind::Texts);

    let genera = ["Rosa", "Quercus", "Pinus", "Acer", "Salix", "Betula", "Fagus", "Ulmus"];
    let epithets = ["alba", "nigra", "rubra", "minor", "major", "repens", "glauca", "montana"];
    let species: Vec<String> = genera
        .iter()
        .flat_map(|genus| epithets.iter().map(move |epithet| format!("{genus} {epithet}")))
        .collect();
    let species: Vec<&str> = species.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "species", &species.repeat(5)), ColumnKind::Classes(64));
    assert_eq!(guessed(1, "species", &species.repeat(2)), ColumnKind::Labels(' '));
    assert_eq!(guessed(1, "title", &species.repeat(5)), ColumnKind::Texts);

    let counted: Vec<String> = (0..77).map(|class| class.to_string()).collect();
    let counted: Vec<&str> = counted.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "label", &counted.repeat(5)), ColumnKind::Classes(77));
    assert_eq!(guessed(1, "fineLabels", &counted[..9].repeat(5)), ColumnKind::Classes(9));
    assert_eq!(guessed(1, "class_idx", &counted[..9].repeat(5)), ColumnKind::Classes(9));
    assert_eq!(guessed(1, "target", &counted[..50].repeat(5)), ColumnKind::Classes(50));
    for (name, cells) in [
        ("size", &counted[..]),
        ("target", &counted[..]),
        ("target_age", &counted[..9]),
        ("label_count", &counted[..9]),
        ("class_size", &counted[..9]),
        ("target_temperature", &counted[20..30]),
    ] {
        assert_eq!(guessed(1, name, &cells.repeat(5)), numbers, "{name}");
    }
}

#[test]
fn whole_numbers_that_name_persons_and_the_like_are_ids_and_counts_of_them_numbers() {
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    let codes = ["10017", "10009", "10112"].repeat(5);
    for name in [
        "ID1",
        "Drug_ID2",
        "user",
        "patient",
        "Subject",
        "plate",
        "batch",
        "zip",
        "postcode",
        "Nr",
        "row_nr",
        "customer no",
        "asin_no",
        "house-number",
        "gvkey",
        "FIPS",
        "ISBN",
    ] {
        assert_eq!(guessed(1, name, &codes), ColumnKind::Ids, "{name}");
    }
    for name in [
        "NO",
        "NO2",
        "key",
        "number",
        "atomic number",
        "Cetane No.",
        "musical key",
        "number of rings",
        "batch yield",
        "batch size",
        "cost_per_patient",
        "number of subject",
        "X1",
        "user_age",
        "plates",
    ] {
        assert_eq!(guessed(1, name, &codes), numbers, "{name}");
    }
    assert_eq!(guessed(1, "batch", &["2.5", "3.75", "14.5"].repeat(5)), numbers);
    assert!(names::names_years("pub_year") && names::names_years("Year of publication"));
    assert!(!names::names_years("years") && !names::names_years("yearly"));
    assert!(names::names_folds("cv_fold") && names::names_weights_of_rows("sample_weight"));
    assert!(!names::names_weights_of_rows("weight") && !names::names_folds("seed yield"));
}

#[test]
fn whole_numbers_of_which_one_occurs_twice_in_a_cell_are_vectors() {
    let pixels = ["0 255 0 7", "12 12 0 0", "9 9 9 1"].repeat(2);
    assert_eq!(guessed(1, "pixels", &pixels), ColumnKind::Vectors(4));
    let lists = ["[0, 1, 1]", "[1, 0, 1]", "[0, 0, 1]"].repeat(2);
    assert_eq!(guessed(1, "bits", &lists), ColumnKind::Vectors(3));
    for (cells, width) in [
        (["0,255,12,0,0,12", "12,0,0,0,255,0", "255,12,12,0,12,0"], 6),
        (["0,0,1,0", "1,0,0,0", "0,1,0,0"], 4),
    ] {
        assert_eq!(guessed(1, "pixels", &cells.repeat(2)), ColumnKind::Vectors(width));
    }
}

#[test]
fn whole_numbers_of_three_digits_are_vectors_unless_a_cell_says_that_blanks_group_them() {
    for (cells, width) in
        [(["197 118 103", "210 221 186", "114 158 145"], 3), (["640 480", "361 220", "1 200"], 2)]
    {
        let cells = cells.repeat(4);
        assert_eq!(guessed(1, "rgb", &cells), ColumnKind::Vectors(width));
        assert_eq!(stated(KindName::Vectors, &cells), ColumnKind::Vectors(width));
    }
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    for cells in [["1 000 000", "2 500 000", "3 000 000"], ["1 334", "11 397", "12 050"]] {
        assert_eq!(guessed(1, "budget", &cells.repeat(4)), numbers, "{cells:?}");
    }
}

#[test]
fn labels_with_semicolons_may_have_words_of_sentences_and_be_many() {
    let terms = ["loss of function; gain", "none of it; gain", "loss of function; none of it"];
    assert_eq!(guessed(1, "terms", &terms.repeat(3)), ColumnKind::Labels(';'));
    let many: Vec<String> = (0..10)
        .map(|first| (first..first + 15).map(|term| format!("term {term};")).collect())
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "terms", &many.repeat(2)), ColumnKind::Labels(';'));
    // texts that have sentences in common, also where each is there several times, and series
    let texts: Vec<String> = (0..20)
        .map(|at| format!("compound {at} of the family; it is an acid; it is soluble"))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "notes", &texts), ColumnKind::Texts);
    assert_eq!(guessed(1, "notes", &texts.repeat(4)), ColumnKind::Texts);
    let series = ["0;0;1;2;", "0;1;1;1;", "2;0;0;0;"].map(|part| part.repeat(6));
    let series: Vec<&str> = series.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "series", &series.repeat(2)), ColumnKind::Texts);
}

#[test]
fn digits_that_begin_with_0_are_codes_where_all_are_as_long() {
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    let diagnoses = ["0222", "4019", "NA", "0389"].repeat(5);
    let classes = guessed(1, "diagnosis", &diagnoses);
    assert_eq!(classes, ColumnKind::Classes(3));
    assert_eq!(first_code((1, "diagnosis"), &classes, &diagnoses), Some("0222"));
    assert_eq!(stated(KindName::Numbers, &diagnoses), numbers);
    assert_eq!(guessed(1, "diagnosis_id", &diagnoses), ColumnKind::Ids);
    let bits: Vec<String> = (1..41).map(|number| format!("{number:012b}")).collect();
    let bits: Vec<&str> = bits.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "bits", &bits), ColumnKind::Ids);
    assert_eq!(first_code((1, "bits"), &ColumnKind::Ids, &bits), Some("000000000001"));
    assert_eq!(guessed(1, "bits", &bits.repeat(2)), ColumnKind::Texts);
    assert_eq!(guessed(1, "bits", &bits.repeat(5)), ColumnKind::Classes(40));
    let counts: Vec<String> = (1..100).map(|number| format!("{number:02}")).collect();
    let counts: Vec<&str> = counts.iter().map(String::as_str).collect();
    assert_eq!(guessed(1, "count", &counts.repeat(3)), numbers);
    // also of ages, and of more rows
    assert_eq!(guessed(1, "age", &counts[4..].repeat(3)), numbers);
    assert_eq!(guessed(1, "count", &counts.repeat(5)), numbers);
    assert_eq!(guessed(1, "month", &counts[..12].repeat(5)), ColumnKind::Classes(12));
    let rows = ["0001", "0002", "0003"];
    assert_eq!(guessed(1, "sample", &rows), ColumnKind::Ids);
    assert_eq!(first_code((1, "sample"), &ColumnKind::Ids, &rows), None);
    // of different lengths, with decimals, and a year that is not known
    for other in
        [["0222", "401", "0389"], ["0.5", "0.7", "1.5"], ["0", "1", "2"], ["0000", "1998", "2004"]]
    {
        assert_eq!(guessed(1, "value", &other.repeat(5)), numbers, "{other:?}");
        assert_eq!(first_code((1, "value"), &numbers, &other), None);
    }
    // as ICD-9 has them, and numbers that count something
    let codes = ["401", "0389", "25000", "NA"].repeat(5);
    assert_eq!(first_number_with_zero(&codes), Some("0389"));
    let others: [&[&str]; 4] =
        [&counts, &["0", "10", "200"], &["0.5", "0.25", "10"], &["0000", "1998"]];
    for other in others {
        assert_eq!(first_number_with_zero(other), None, "{other:?}");
    }
}

#[test]
fn digits_with_points_are_ids_where_the_name_says_so() {
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    let arxiv = ["0704.0001", "0704.0010", "1501.00001"];
    assert_eq!(guessed(0, "id", &arxiv), ColumnKind::Ids);
    assert_eq!(guessed(1, "paper_id", &arxiv), ColumnKind::Ids);
    assert_eq!(guessed(1, "value", &arxiv), numbers);
    for name in ["fluid", "humid"] {
        assert_eq!(guessed(1, name, &["2.5", "3.5", "14.5"]), numbers, "{name}");
    }
    // numbers that recur, and numbers of different lengths
    assert_eq!(guessed(1, "tid", &["2.5", "3.5", "2.5"]), numbers);
    assert_eq!(guessed(1, "tid", &["2.5", "13.75", "114.1255"]), numbers);
}

#[test]
fn row_numbers_may_be_shuffled_and_points_in_time_are_known() {
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    assert_eq!(guessed(0, "Unnamed: 0", &["183", "145", "7"]), ColumnKind::Ids);
    assert_eq!(guessed(0, "at", &["2", "0", "1", "3"]), ColumnKind::Ids);
    assert_eq!(guessed(0, "size", &["2", "0", "1", "1"]), numbers);
    assert_eq!(guessed(1, "rank", &["2", "0", "1", "3"]), numbers);
    let seconds = ["1179823612", "1116538629", "1100000000"];
    for name in ["timestamp", "unixReviewTime", "created_utc", "updatedAt", "epoch"] {
        assert!(are_times(&numbers, name, &seconds), "{name}");
    }
    assert!(!are_times(&numbers, "population", &seconds));
    assert!(!are_times(&numbers, "retention time", &["2.5", "11.25"]));
    assert!(!are_times(&numbers, "created", &["2.5", "11.25"]));
    assert!(are_times(&numbers, "listed", &["20240131", "19991201", "20000229"]));
    assert!(!are_times(&numbers, "listed", &["20241301", "20240132", "31122024", "2024013"]));
    let days = ["06 3, 2014", "11 17, 2014"];
    assert!(!are_times(&ColumnKind::Labels(','), "created by", &days));
    assert!(are_times(&ColumnKind::Labels(','), "reviewTime", &days));
    assert!(!are_times(&ColumnKind::Labels(','), "sentiment", &days));
    assert!(!are_times(&ColumnKind::Labels(';'), "mealtime", &["dish 1;dish 2", "dish 2"]));
}

#[test]
fn numbers_may_have_digits_of_full_width_and_of_arabic() {
    let numbers = ColumnKind::Numbers(NumberNotation::default());
    for cells in [["０．２５", "１．５", "－２"], ["٠٫٢٥", "١٫٥", "٢"], ["۰٫۲۵", "۱٫۵", "۲"]]
    {
        assert_eq!(guessed(1, "value", &cells.repeat(3)), numbers, "{cells:?}");
        assert_eq!(stated(KindName::Numbers, &cells), numbers, "{cells:?}");
        assert_eq!(numbers.read(cells[0]), Reading::Valid, "{cells:?}");
    }
    let grams = NumberNotation { unit: "mg".into(), ..NumberNotation::default() };
    let doses = ["５．２ mg", "１２ mg", "０．５ mg"].repeat(3);
    assert_eq!(guessed(1, "dose", &doses), ColumnKind::Numbers(grams));
    let percent = NumberNotation { unit: "%".into(), ..NumberNotation::default() };
    let shares = ["６４．９%", "１２%", "０．５%"].repeat(3);
    assert_eq!(stated(KindName::Numbers, &shares), ColumnKind::Numbers(percent));
    assert_eq!(guessed(1, "label", &["１", "２", "３"].repeat(9)), ColumnKind::Classes(3));
    let sets = ["１，６", "５", "１，２，６", "２", "５，６"].repeat(9);
    assert_eq!(guessed(1, "codes", &sets), ColumnKind::Labels('，'));
}

#[test]
fn points_are_those_of_thousands_where_other_numbers_are_smaller() {
    let german = NumberNotation { decimal: ',', ..NumberNotation::default() };
    let inhabitants = ["673", "10.072", "1.250", "841", "12.250"].repeat(4);
    assert_eq!(guessed(1, "Einwohner", &inhabitants), ColumnKind::Numbers(german.clone()));
    assert_eq!(first_thousand(&german, &inhabitants), Some("10.072"));
    // a number with two points is no decimal
    assert_eq!(first_thousand(&german, &["673", "10.072", "1.010.072"]), None);
    assert_eq!(first_thousand(&german, &["1.250,5", "3"]), None);
    let plain = NumberNotation::default();
    // no cents
    assert_eq!(first_thousand(&plain, &["1600,\u{2013}", "1200,\u{2014}", "900,-"]), None);
    assert_eq!(first_thousand(&plain, &["1600,\u{2013}", "1,200"]), Some("1,200"));
    for (name, cells) in [
        ("mean", ["1", "1.333", "2.667", "3", "2"]),
        ("mass", ["180.157", "46.069", "18.015", "78.114", "32.042"]),
        ("mass", ["180.157", "46.07", "180", "250", "18.015"]),
        ("share", ["0.665", "100", "250", "1.250", "300"]),
    ] {
        assert_eq!(
            guessed(1, name, &cells.repeat(4)),
            ColumnKind::Numbers(plain.clone()),
            "{name}"
        );
        assert_eq!(first_thousand(&plain, &cells), None);
    }
}

#[test]
fn points_and_commas_are_both_before_decimals_where_nothing_else_can_be() {
    let plain = NumberNotation::default();
    let mixed =
        ColumnKind::Numbers(NumberNotation { mixed_decimals: true, ..NumberNotation::default() });
    let kind = |cells: &[String]| {
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        guessed(1, "value", &cells)
    };
    // a comma in every fifth cell, and in the last one
    for step in [5, 320] {
        for least in [0, 1000] {
            let cell = |at: usize| {
                let number = format!("{:.3}", (least + 7 * at + 300) as f64 / 1000.0);
                if at % step == step - 1 { number.replace('.', ",") } else { number }
            };
            let cells: Vec<String> = (0..320).map(cell).collect();
            assert_eq!(kind(&cells), mixed, "{step} {least}");
        }
    }
    let cell = |at: usize| format!("{:.2}", at as f64 / 16.0).replace('.', [".", ","][at % 2]);
    assert_eq!(kind(&(0..60).map(cell).collect::<Vec<_>>()), mixed);
    // thousands, and a few cells that are no numbers
    let numbers = ColumnKind::Numbers(plain);
    for other in ["1,234", "2,345,678", "84,4"] {
        let cells = (0..40).map(|at| if at == 3 { other.into() } else { format!("{at}.75") });
        assert_eq!(kind(&cells.collect::<Vec<String>>()), numbers, "{other}");
    }
}

#[test]
fn chains_are_molecules_where_the_name_says_so() {
    let chains = ["CO", "CCO", "CN", "CCCO"].repeat(3);
    for name in ["smiles", "Canonical_SMILES"] {
        assert_eq!(guessed(1, name, &chains), ColumnKind::Smiles, "{name}");
    }
    assert_ne!(guessed(1, "group", &chains), ColumnKind::Smiles);
    assert_ne!(guessed(1, "smiles", &["happy", "sad"].repeat(5)), ColumnKind::Smiles);
}
