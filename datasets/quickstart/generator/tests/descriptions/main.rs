//! What descriptions say, word for word, of molecules whose facts every chemist knows: over many
//! seeds each fact listed here is told, and nothing else is.

mod cases;
mod groups;
mod said;

use std::collections::BTreeSet;

use cases::CASES;
use dsokr_molecule::Molecule;
use dsokr_quickstart_generator::describe;
use groups::GROUPS;
use said::Said;

const SEEDS: u64 = 1_500;

/// All that is said of a molecule over the seeds.
fn hear(smiles: &str) -> Said {
    let molecule = Molecule::parse(smiles).unwrap_or_else(|e| panic!("{smiles}: {e}"));
    let mut said = Said::default();
    for seed in 0..SEEDS {
        said.hear(&describe(&molecule, seed, smiles));
    }
    said
}

fn set<'a>(words: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    words.into_iter().map(str::to_owned).collect()
}

#[test]
fn over_many_seeds_every_fact_is_told_and_nothing_else() {
    for case in CASES {
        let said = hear(case.smiles);
        let name = case.name;
        let [heavy, carbons, size] = case.size;
        let counts = BTreeSet::from([
            format!("{heavy} heavy atoms"),
            format!("{heavy} non-hydrogen atoms"),
            format!("{carbons} carbon atoms"),
            format!("{carbons} carbons"),
        ]);
        assert_eq!(said.counts, counts, "{name}");
        let adjectives = set(case.charge.iter().copied().chain([size]));
        assert_eq!(said.adjectives, adjectives, "{name}");
        assert_eq!(said.items, set(case.items.iter().copied()), "{name}");
        assert_eq!(said.pattern, set(case.pattern.iter().copied()), "{name}");
        assert_eq!(said.carries, set(case.carries.iter().copied()), "{name}");
        assert_eq!(said.sentences, set(case.sentences.iter().copied()), "{name}");

        let known = || case.items.iter().chain(case.carries);
        for plural in &said.vague {
            let (count, _) = known()
                .filter_map(|item| item.split_once(' '))
                .find(|(_, noun)| noun == plural)
                .unwrap_or_else(|| panic!("{name}: several {plural}"));
            assert!(!["one", "two"].contains(&count), "{name}: several {plural}");
        }
        for ring in &said.rings {
            assert!(case.items.contains(&&*format!("one {ring}")), "{name}: {ring}");
        }
    }
}

fn plural(noun: &str) -> String {
    match noun.split_once(" on ") {
        Some((group, place)) => {
            format!("{group}s on {}", place.replace("an aromatic ring", "aromatic rings"))
        }
        None => format!("{noun}s"),
    }
}

/// Once with one of the molecule, once with two.
#[test]
fn every_group_has_its_own_names_and_no_other_group_s() {
    let all: BTreeSet<&str> = GROUPS.iter().flat_map(|(_, nouns)| nouns.iter().copied()).collect();
    let all: Vec<[String; 2]> = all.iter().map(|n| [format!("one {n}"), plural(n)]).collect();
    for (smiles, nouns) in GROUPS {
        for count in [1, 2] {
            let said = hear(&vec![*smiles; count].join("."));
            let known = all.iter().map(|[one, many]| match count {
                1 => one.clone(),
                _ => format!("two {many}"),
            });
            let found: BTreeSet<String> = known.filter(|item| said.items.contains(item)).collect();
            let expected = nouns.iter().map(|noun| match count {
                1 => format!("one {noun}"),
                _ => format!("two {}", plural(noun)),
            });
            assert_eq!(found, expected.collect(), "{count} {smiles}");
        }
    }
}
