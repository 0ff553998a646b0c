//! The committed quickstart set is what the generator makes, and is what it should be.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use dsokr_molecule::Molecule;
use dsokr_quickstart_generator::{
    MOLECULES, SEED, TEST, VALIDATION, describe, select, sources, tables,
};

fn committed(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)).unwrap()
}

fn rows(table: &str) -> Vec<(&str, &str)> {
    let rows = table.lines().skip(1);
    rows.map(|line| line.split_once('\t').unwrap()).collect()
}

#[test]
fn the_generator_reproduces_the_committed_files() {
    let made = tables(&committed("molecules.tsv"), SEED).unwrap();
    for (name, text) in [
        ("train.tsv", made.train),
        ("validation.tsv", made.validation),
        ("test.tsv", made.test),
        ("atoms.tsv", made.atoms),
    ] {
        // No assert_eq: a difference would print half a megabyte.
        assert!(text == committed(name), "{name} is not what the generator makes");
    }
}

/// Needs ChEBI-20, which is not in the repository: it lies under the data root (`DSOKR_DATA`, else
/// `../shared/data` from the workspace).
#[test]
fn the_committed_molecules_are_those_that_the_selection_takes() {
    let root = std::env::var_os("DSOKR_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join("chebi20/molecules.tsv");
    let Ok(source) = fs::read_to_string(&path) else {
        eprintln!("skipped: {} is not there", path.display());
        return;
    };
    assert!(select(&sources(&source), SEED).unwrap() == committed("molecules.tsv"));
}

#[test]
fn the_splits_share_no_molecule_and_cover_all() {
    let molecules = committed("molecules.tsv");
    let molecules = rows(&molecules);
    assert_eq!(molecules.len(), MOLECULES);
    let smiles: BTreeSet<&str> = molecules.iter().map(|r| r.1).collect();
    assert_eq!(smiles.len(), MOLECULES);

    let mut seen = BTreeSet::new();
    let mut sizes = Vec::new();
    for name in ["train.tsv", "validation.tsv", "test.tsv"] {
        let table = committed(name);
        assert!(table.starts_with("id\tdescription\n"));
        assert!(table.is_ascii() && table.ends_with(".\n") && !table.contains(['"', '\r']));
        sizes.push(rows(&table).len());
        for (id, description) in rows(&table) {
            assert!(seen.insert(id.to_owned()), "{id} is in two splits");
            assert!(description.split(' ').count() >= 8, "{id}: {description}");
        }
    }
    assert_eq!(sizes, [MOLECULES - VALIDATION - TEST, VALIDATION, TEST]);
    let ids: BTreeSet<String> = molecules.iter().map(|r| r.0.to_owned()).collect();
    assert_eq!(ids, seen);
}

#[test]
fn wording_depends_on_seed_and_id_and_nothing_else() {
    let molecule = Molecule::parse("CC(=O)Oc1ccccc1C(=O)O").unwrap();
    let mut texts = BTreeMap::new();
    for id in 0..50 {
        for seed in 0..4 {
            let text = describe(&molecule, seed, &id.to_string());
            assert_eq!(text, describe(&molecule, seed, &id.to_string()));
            *texts.entry(text).or_insert(0) += 1;
        }
    }
    assert!(texts.len() > 190, "{} wordings of 200", texts.len());
}

/// No description says anything but what its molecule has: the words for some groups appear only
/// where an element or a ring that they need is there.
#[test]
fn descriptions_say_nothing_false() {
    let molecules = committed("molecules.tsv");
    let smiles: BTreeMap<&str, &str> = rows(&molecules).into_iter().collect();
    let needs: &[(&str, &[char])] = &[
        ("chlorine", &['l']),
        ("bromine", &['r']),
        ("fluorine", &['F']),
        ("iodine", &['I']),
        ("phosph", &['P']),
        ("sulf", &['S', 's']),
        ("thio", &['S', 's']),
        ("amin", &['N', 'n']),
        ("amid", &['N', 'n']),
        ("nitro", &['N', 'n']),
        ("pyri", &['n']),
        ("indole", &['N', 'n']),
        ("furan ", &['o', 'O']),
        (" ring", &['1']),
        ("ketone", &['=']),
        ("carboxy", &['=']),
        ("double bond", &['=']),
        ("triple bond", &['#']),
        ("nitrile", &['#']),
        ("One stereocentre", &['@']),
        ("stereocentres are", &['@']),
        ("E/Z", &['/', '\\']),
        ("positively", &['+']),
        ("negatively", &['-']),
        ("separate parts", &['.']),
    ];
    let denied = [("free of nitrogen", ['N', 'n']), ("neither nitrogen nor", ['N', 'n'])];
    let mut checked = BTreeSet::new();
    for name in ["train.tsv", "validation.tsv", "test.tsv"] {
        let table = committed(name);
        for (id, description) in rows(&table) {
            let smiles = smiles[id].replace("[Na", "[").replace("Si", "");
            let said = description.replace("free of nitrogen", "").replace("neither nitrogen", "");
            let said = said.replace("There are no rings", "").replace("no ring", "");
            for (word, letters) in needs {
                if said.contains(word) {
                    checked.insert(*word);
                    assert!(smiles.contains(*letters), "{id} {smiles}: {word} in {description}");
                }
            }
            for (phrase, letters) in denied {
                if description.contains(phrase) {
                    checked.insert(phrase);
                    assert!(!smiles.contains(letters), "{id} {smiles}: {description}");
                }
            }
        }
    }
    assert_eq!(checked.len(), needs.len() + denied.len(), "{checked:?}");
}

#[test]
fn bad_tables_are_refused_with_their_line() {
    let header = "id\tsmiles\n";
    for (table, said) in [
        ("cid\tsmiles\n".to_owned(), "line 1: header \"cid\\tsmiles\"; expected"),
        (String::new(), "line 1: header \"\"; expected"),
        (format!("{header}1\tC\n2\n"), "line 3: 1 columns; expected 2"),
        (format!("{header}1\tC\n1\tCC\n"), "line 3: id 1 is there already"),
        (format!("{header}1\tC\n2\tC(\n"), "line 3, id 2: SMILES \"C(\": position 1: "),
    ] {
        let error = tables(&table, SEED).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
    let few = tables(&format!("{header}1\tC\n"), SEED).unwrap_err().to_string();
    assert_eq!(few, format!("1 molecules; at least {} are needed", VALIDATION + TEST + 1));
    let few = select(&[("1", "CCCCCC"), ("2", "CCCCCC")], SEED).unwrap_err().to_string();
    assert_eq!(few, format!("1 molecules; at least {MOLECULES} are needed"));
}
