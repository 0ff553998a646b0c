//! English descriptions of molecules, made from the structure alone.
//!
//! Each fact has several wordings, facts are shuffled, and some are left out, all by a generator
//! that depends on (seed, id): two runs agree to the byte, two molecules with the same facts do
//! not read the same.

mod fragments;
mod rings;
mod wording;

use std::collections::BTreeSet;

use dsokr_molecule::{Element, FunctionalGroup as G, Molecule, functional_groups};

use self::wording::{article, counted, list, names, number};
use crate::draw::Draw;
use crate::longest_chain::{double_bonds, longest_carbon_chain};
use crate::ring_names::named_systems;

/// Percentage of the facts about groups, rings and chains that a description tells.
const TOLD: usize = 93;

/// Describes a molecule in a few English sentences.
///
/// `id` makes the wording this molecule's own; the same (`molecule`, `seed`, `id`) gives the same
/// bytes everywhere. The text is ASCII without tabs, quotes or line breaks.
///
/// ```
/// use dsokr_molecule::Molecule;
/// use dsokr_quickstart_generator::describe;
///
/// let acetic_acid = Molecule::parse("CC(=O)O")?;
/// let text = describe(&acetic_acid, 0, "176");
/// assert_eq!(text, describe(&acetic_acid, 0, "176"));
/// assert!(text.ends_with('.'));
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[must_use]
pub fn describe(molecule: &Molecule, seed: u64, id: &str) -> String {
    let mut draw = Draw::new(seed, "description", id);
    let systems = named_systems(molecule);

    let mut items: Vec<String> = groups(molecule, &mut draw);
    items.extend(rings::phrases(molecule, &systems, &mut draw));
    items.extend(fragments::phrases(molecule, &mut draw));
    items.extend(chain(molecule, &mut draw));
    items.extend(rare_elements(molecule, &mut draw));
    let mut told: Vec<String> = Vec::new();
    for item in items {
        if told.is_empty() || draw.chance(TOLD) {
            told.push(item);
        }
    }
    draw.shuffle(&mut told);

    let mut details: Vec<String> = Vec::new();
    for system in &systems {
        if draw.chance(85) {
            details.extend(rings::substitution(molecule, system, &mut draw));
        }
    }
    details.extend(extras(molecule, systems.is_empty(), &mut draw));
    // Equal rings that carry equal groups are one sentence.
    let mut seen = BTreeSet::new();
    details.retain(|d| seen.insert(d.clone()));
    draw.shuffle(&mut details);
    details.truncate(5);

    let mut sentences = vec![opening(molecule, &mut draw)];
    let mut rest = &told[..];
    while !rest.is_empty() {
        let take = (1 + draw.below(4)).min(rest.len());
        let (now, later) = rest.split_at(take);
        sentences.push(statement(now, &mut draw));
        rest = later;
    }
    sentences.extend(details);
    sentences.join(" ")
}

/// The functional groups as noun phrases.
fn groups(molecule: &Molecule, draw: &mut Draw) -> Vec<String> {
    let mut counts = functional_groups(molecule);
    // A methoxy group is worth saying half of the time; its ether goes without saying then.
    if let Some(&methoxy) = counts.get(&G::Methoxy) {
        if draw.chance(50) {
            counts.remove(&G::Methoxy);
        } else if counts.get(&G::Ether) == Some(&methoxy) {
            counts.remove(&G::Ether);
        }
    }
    if counts.contains_key(&G::Trifluoromethyl) && counts.get(&G::Fluoro) == Some(&3) {
        counts.remove(&G::Fluoro);
    }
    let alcohols = [G::PrimaryAlcohol, G::SecondaryAlcohol, G::TertiaryAlcohol];
    let total: usize = alcohols.iter().filter_map(|g| counts.get(g)).sum();
    let mut phrases = Vec::new();
    if total > 0 && draw.chance(40) {
        counts.retain(|group, _| !alcohols.contains(group));
        let noun = draw.pick(&["alcohol", "hydroxyl group", "hydroxy group", "aliphatic hydroxyl"]);
        phrases.push(counted(draw, total, noun, &format!("{noun}s")));
    }
    for (group, count) in counts {
        let options = names(group);
        let (singular, plural) = options[draw.below(options.len())];
        phrases.push(counted(draw, count, singular, plural));
    }
    phrases
}

fn chain(molecule: &Molecule, draw: &mut Draw) -> Option<String> {
    let path = longest_carbon_chain(molecule);
    let length = path.len();
    let words = number(length);
    let nature = match double_bonds(molecule, &path) {
        _ if draw.chance(50) => "",
        0 => "saturated ",
        1 => "monounsaturated ",
        _ => "polyunsaturated ",
    };
    match length {
        0 | 1 => None,
        2 if draw.chance(50) => Some("a two-carbon unit".to_owned()),
        2 => None,
        3..=5 => Some(match draw.below(2) {
            0 => format!("a short {nature}chain of {words} carbons"),
            _ => format!("a {words}-carbon chain"),
        }),
        _ => {
            let size = if length >= 12 { "long" } else { "medium" };
            Some(match draw.below(4) {
                0 => format!("{} {words}-carbon chain", article(&words)),
                1 => format!("a {nature}carbon chain of {words} atoms"),
                2 => format!("a {size} {nature}chain with {words} carbons"),
                _ => format!("{} {words}-carbon aliphatic tail", article(&words)),
            })
        }
    }
}

/// Elements that no functional group of ours names.
fn rare_elements(molecule: &Molecule, draw: &mut Draw) -> Vec<String> {
    let common =
        [Element::H, Element::C, Element::N, Element::O, Element::S, Element::P, Element::WILDCARD];
    let mut rare: BTreeSet<Element> =
        molecule.atoms().iter().map(|a| a.element).filter(|e| !common.contains(e)).collect();
    rare.retain(|e| !e.is_halogen());
    let mut phrases = Vec::new();
    for element in rare {
        let count = molecule.count(element);
        let symbol = element.symbol();
        let name = match symbol {
            "Na" => "sodium",
            "K" => "potassium",
            "Li" => "lithium",
            "Mg" => "magnesium",
            "Ca" => "calcium",
            "Si" => "silicon",
            "B" => "boron",
            "Se" => "selenium",
            "As" => "arsenic",
            "Fe" => "iron",
            "Zn" => "zinc",
            other => other,
        };
        let plural = format!("{name} atoms");
        phrases.push(counted(draw, count, &format!("{name} atom"), &plural));
    }
    for (element, ion) in
        [(Element::CL, "chloride"), (Element::BR, "bromide"), (Element::I, "iodide")]
    {
        let ions = molecule.atoms().iter().enumerate();
        let ions = ions.filter(|(i, a)| a.element == element && molecule.degree(*i) == 0);
        match ions.count() {
            0 => {}
            n => phrases.push(counted(
                draw,
                n,
                &format!("{ion} counter-ion"),
                &format!("{ion} counter-ions"),
            )),
        }
    }
    phrases
}

fn opening(molecule: &Molecule, draw: &mut Draw) -> String {
    let heavy = molecule.atoms().len();
    let carbons = molecule.count(Element::C);
    let noun = draw.pick(&["molecule", "compound", "substance", "structure"]);
    let charge = match molecule.charge() {
        0 if molecule.atoms().iter().any(|a| a.charge != 0) && draw.chance(40) => {
            "overall neutral "
        }
        0 if draw.chance(15) => "neutral ",
        0 => "",
        1 => draw.pick(&["singly positively charged ", "cationic ", "positively charged "]),
        2.. => draw.pick(&["multiply positively charged ", "cationic "]),
        -1 => draw.pick(&["singly negatively charged ", "anionic ", "negatively charged "]),
        _ => draw.pick(&["multiply negatively charged ", "anionic "]),
    };
    let size = match heavy {
        _ if draw.chance(50) => "",
        0..=11 => "small ",
        12..=24 => "medium-sized ",
        _ => "large ",
    };
    let kind = format!("{size}{charge}{noun}");
    let a = article(&kind);
    match draw.below(6) {
        0 => format!("This is {a} {kind} with {} heavy atoms.", number(heavy)),
        1 => format!("The {kind} has {} carbon atoms.", number(carbons)),
        2 => format!("{} {kind} built on {} carbons.", capital(a), number(carbons)),
        3 => format!("This is {a} {kind}."),
        4 => format!("The {kind} consists of {} non-hydrogen atoms.", number(heavy)),
        _ => format!("Here is {a} {kind}."),
    }
}

fn statement(items: &[String], draw: &mut Draw) -> String {
    let items_text = list(items);
    let verb = match items {
        [only] if is_singular(only) => "is",
        _ => "are",
    };
    match draw.below(7) {
        0 => format!("It contains {items_text}."),
        1 => format!("The structure features {items_text}."),
        2 => format!("One finds {items_text}."),
        3 => format!("It has {items_text}."),
        4 => format!("{} {verb} present.", capital(&items_text)),
        5 => format!("Among its features {verb} {items_text}."),
        _ => format!("It includes {items_text}."),
    }
}

fn is_singular(phrase: &str) -> bool {
    let singular = ["a ", "an ", "one "];
    let plural = ["a pair of ", "a number of "];
    singular.iter().any(|s| phrase.starts_with(s)) && !plural.iter().any(|p| phrase.starts_with(p))
}

/// Full sentences on what is missing, stereo, parts and elements.
fn extras(molecule: &Molecule, acyclic: bool, draw: &mut Draw) -> Vec<String> {
    let mut sentences = Vec::new();
    let parts = molecule.components().len();
    if parts > 1 {
        sentences.push(format!(
            "It is {} of {} {}.",
            draw.pick(&["a salt or mixture", "made up"]),
            number(parts),
            draw.pick(&["separate parts", "components"]),
        ));
    }
    if acyclic && draw.chance(50) {
        sentences.push(
            draw.pick(&["It is acyclic.", "There are no rings.", "The skeleton is open-chain."])
                .to_owned(),
        );
    }
    let centres = molecule.atoms().iter().filter(|a| a.stereo).count();
    if draw.chance(75) {
        sentences.push(match centres {
            0 => "No stereocentre is specified.".to_owned(),
            1 => "One stereocentre is defined.".to_owned(),
            n => format!("{} stereocentres are defined.", capital(&number(n))),
        });
    }
    let nitrogens = molecule.count(Element::N);
    let oxygens = molecule.count(Element::O);
    if draw.chance(30) {
        sentences.push(match (nitrogens, oxygens) {
            (0, 0) => "It has neither nitrogen nor oxygen.".to_owned(),
            (0, n) if draw.chance(50) => {
                format!("It counts {} in total.", counted_exactly(n, "oxygen"))
            }
            (0, _) => "It is free of nitrogen.".to_owned(),
            (n, _) => format!("It counts {} in total.", counted_exactly(n, "nitrogen")),
        });
    }
    let methyls = molecule.atoms().iter().enumerate();
    let methyls = methyls
        .filter(|(i, a)| a.element == Element::C && a.hydrogens == 3 && molecule.degree(*i) == 1)
        .count();
    if methyls > 0 && draw.chance(40) {
        sentences.push(format!(
            "{} {}.",
            draw.pick(&["It carries", "In all it has", "One counts"]),
            counted_exactly(methyls, "methyl group"),
        ));
    }
    sentences
}

fn counted_exactly(n: usize, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", number(n))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
