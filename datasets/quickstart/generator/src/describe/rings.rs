//! What is said about rings: names, sizes, and what they carry.

use std::collections::BTreeMap;

use dsokr_molecule::{BondOrder, Element, Molecule};

use super::wording::{article, counted, list, number};
use crate::draw::Draw;
use crate::ring_names::NamedSystem;

/// Noun phrases for the ring systems, equal ones counted together.
pub(super) fn phrases(
    molecule: &Molecule,
    systems: &[NamedSystem],
    draw: &mut Draw,
) -> Vec<String> {
    let mut kinds: BTreeMap<String, (usize, &NamedSystem)> = BTreeMap::new();
    for system in systems {
        kinds.entry(kind(molecule, system)).or_insert((0, system)).0 += 1;
    }
    kinds
        .values()
        .map(|&(count, system)| {
            let (singular, plural) = noun(molecule, system, draw);
            counted(draw, count, &singular, &plural)
        })
        .collect()
}

/// What makes two systems the same thing to talk about.
fn kind(molecule: &Molecule, system: &NamedSystem) -> String {
    if is_pyranose(molecule, system) {
        "sugar".to_owned()
    } else {
        match system.name.or(system.skeleton) {
            Some(name) => name.to_owned(),
            None => generic(molecule, system).0,
        }
    }
}

fn noun(molecule: &Molecule, system: &NamedSystem, draw: &mut Draw) -> (String, String) {
    let pair = |word: &str, head: &str| (format!("{word} {head}"), format!("{word} {head}s"));
    if is_pyranose(molecule, system) {
        return pair(draw.pick(&["sugar", "pyranose", "carbohydrate"]), "ring");
    }
    match (system.name, system.skeleton) {
        (Some("benzene"), _) => {
            pair(draw.pick(&["benzene", "phenyl", "six-membered aromatic carbon"]), "ring")
        }
        (Some("cyclohexane"), _) => {
            pair(draw.pick(&["cyclohexane", "saturated six-membered carbon"]), "ring")
        }
        (Some("cyclopentane"), _) => {
            pair(draw.pick(&["cyclopentane", "saturated five-membered carbon"]), "ring")
        }
        (Some("tetrahydrofuran"), _) => pair(draw.pick(&["tetrahydrofuran", "oxolane"]), "ring"),
        (Some("tetrahydropyran"), _) => pair(draw.pick(&["tetrahydropyran", "oxane"]), "ring"),
        (Some("pyridine"), _) => {
            pair(draw.pick(&["pyridine", "six-membered aromatic nitrogen"]), "ring")
        }
        (Some(name), _) if system.rings.len() == 1 => pair(name, draw.pick(&["ring", "unit"])),
        (Some(name), _) => pair(name, draw.pick(&["system", "core", "skeleton", "unit"])),
        (None, Some("steroid")) => pair(
            draw.pick(&["steroid", "steroidal tetracyclic", "fused four-ring steroid"]),
            draw.pick(&["skeleton", "framework"]),
        ),
        (None, Some(skeleton)) => pair(skeleton, draw.pick(&["skeleton", "framework"])),
        (None, None) => generic(molecule, system),
    }
}

/// A ring or system without a name of its own, as (singular, plural): sizes, saturation and
/// heteroatoms.
fn generic(molecule: &Molecule, system: &NamedSystem) -> (String, String) {
    let hetero = heteroatoms(molecule, system);
    let with =
        if hetero.is_empty() { String::new() } else { format!(" containing {}", list(&hetero)) };
    let both = |before: String, noun: &str, after: &str| {
        (format!("{before} {noun}{after}{with}"), format!("{before} {noun}s{after}{with}"))
    };
    if let [ring] = system.rings[..] {
        let ring = &molecule.rings()[ring];
        let nature = if ring.aromatic {
            "aromatic"
        } else if is_saturated(molecule, system) {
            "saturated"
        } else {
            "unsaturated"
        };
        let size = number(ring.atoms.len());
        return match ring.atoms.len() {
            0..=8 => both(format!("{nature} {size}-membered"), "ring", ""),
            9..=11 => both(format!("{nature} medium-sized"), "ring", &format!(" of {size} atoms")),
            _ => both("macrocyclic".to_owned(), "ring", &format!(" of {size} atoms")),
        };
    }
    let rings = system.rings.iter();
    let nature = match rings.filter(|&&r| molecule.rings()[r].aromatic).count() {
        0 => "non-aromatic",
        n if n == system.rings.len() => "fully aromatic",
        _ => "partly aromatic",
    };
    both(
        format!("{nature} fused ring"),
        "system",
        &format!(" of {} rings", number(system.rings.len())),
    )
}

fn heteroatoms(molecule: &Molecule, system: &NamedSystem) -> Vec<String> {
    let named = [(Element::N, "nitrogen"), (Element::O, "oxygen"), (Element::S, "sulfur")];
    named
        .into_iter()
        .filter_map(|(element, name)| {
            let atoms = system.atoms.iter();
            match atoms.filter(|&&a| molecule.atoms()[a].element == element).count() {
                0 => None,
                1 => Some(format!("one {name}")),
                n => Some(format!("{} {name}s", number(n))),
            }
        })
        .collect()
}

fn is_saturated(molecule: &Molecule, system: &NamedSystem) -> bool {
    let inside = |atom: usize| system.atoms.binary_search(&atom).is_ok();
    let mut bonds = molecule.bonds().iter();
    bonds.all(|b| b.order == BondOrder::Single || !b.atoms.iter().all(|&a| inside(a)))
}

/// A saturated ring of five carbons and an oxygen with at least four oxygens on it or beside it.
fn is_pyranose(molecule: &Molecule, system: &NamedSystem) -> bool {
    if system.name != Some("tetrahydropyran") {
        return false;
    }
    let outside = |atom: usize| system.atoms.binary_search(&atom).is_err();
    let oxygens = system.atoms.iter().filter(|&&a| {
        let mut neighbors = molecule.neighbors(a).iter();
        neighbors.any(|n| outside(n.atom) && molecule.atoms()[n.atom].element == Element::O)
    });
    oxygens.count() >= 3
}

/// A sentence on what one single ring carries, for benzene with the pattern of substitution.
pub(super) fn substitution(
    molecule: &Molecule,
    system: &NamedSystem,
    draw: &mut Draw,
) -> Option<String> {
    let &[ring] = &system.rings[..] else {
        return None;
    };
    let ring = &molecule.rings()[ring].atoms;
    let mut places = Vec::new();
    let mut carried = Vec::new();
    for (place, &atom) in ring.iter().enumerate() {
        for n in molecule.neighbors(atom) {
            if !ring.contains(&n.atom) {
                places.push(place);
                carried.push(substituent(molecule, n.atom, molecule.bonds()[n.bond].order));
            }
        }
    }
    let (name, _) = noun(molecule, system, draw);
    if system.name == Some("benzene") && draw.chance(60) {
        let pattern = pattern(&places)?;
        return Some(match draw.below(3) {
            0 => format!("The {name} is {pattern}."),
            1 => format!("It has {} {pattern} {name}.", article(pattern)),
            _ => format!("There is {} {pattern} {name}.", article(pattern)),
        });
    }
    let known: Vec<&str> = carried.iter().copied().flatten().collect();
    if known.is_empty() {
        return None;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &known {
        *counts.entry(name).or_default() += 1;
    }
    let mut items: Vec<String> = counts
        .into_iter()
        .map(|(group, count)| {
            counted(draw, count, &format!("{group} group"), &format!("{group} groups"))
        })
        .collect();
    draw.shuffle(&mut items);
    let verb = draw.pick(&["carries", "bears", "is substituted with", "is decorated with"]);
    Some(format!("The {name} {verb} {}.", list(&items)))
}

/// Small groups on a ring by name; larger ones have none.
fn substituent(molecule: &Molecule, atom: usize, order: BondOrder) -> Option<&'static str> {
    let at = &molecule.atoms()[atom];
    let end = molecule.degree(atom) == 1;
    match (at.element, end, order) {
        (Element::C, true, BondOrder::Single) => Some("methyl"),
        (Element::O, true, BondOrder::Double) => Some("oxo"),
        (Element::O, true, _) if at.charge == 0 => Some("hydroxy"),
        (Element::N, true, BondOrder::Single) if at.charge == 0 => Some("amino"),
        (Element::S, true, BondOrder::Single) if at.charge == 0 => Some("sulfanyl"),
        (Element::F, true, _) => Some("fluoro"),
        (Element::CL, true, _) => Some("chloro"),
        (Element::BR, true, _) => Some("bromo"),
        (Element::I, true, _) => Some("iodo"),
        (Element::O, false, BondOrder::Single) => {
            let mut ends = molecule.neighbors(atom).iter();
            ends.any(|n| molecule.atoms()[n.atom].hydrogens == 3).then_some("methoxy")
        }
        (Element::C, false, BondOrder::Single) => match (at.hydrogens, molecule.degree(atom)) {
            (2, 2) => {
                let mut ends = molecule.neighbors(atom).iter().map(|n| n.atom);
                if ends
                    .any(|e| molecule.atoms()[e].element == Element::O && molecule.degree(e) == 1)
                {
                    Some("hydroxymethyl")
                } else {
                    let mut ends = molecule.neighbors(atom).iter().map(|n| n.atom);
                    ends.any(|e| molecule.atoms()[e].hydrogens == 3 && molecule.degree(e) == 1)
                        .then_some("ethyl")
                }
            }
            (1, 3) => {
                let ends = molecule.neighbors(atom).iter();
                let methyls = ends.filter(|n| {
                    molecule.atoms()[n.atom].hydrogens == 3
                        && molecule.atoms()[n.atom].element == Element::C
                });
                (methyls.count() == 2).then_some("isopropyl")
            }
            _ => None,
        },
        _ => None,
    }
}

/// How the substituents of a six-membered ring lie to one another.
fn pattern(places: &[usize]) -> Option<&'static str> {
    let mut places = places.to_vec();
    places.dedup();
    Some(match places[..] {
        [_] => "monosubstituted",
        [a, b] => match b - a {
            1 | 5 => "ortho-disubstituted",
            2 | 4 => "meta-disubstituted",
            _ => "para-disubstituted",
        },
        [a, b, c] => {
            let mut gaps = [b - a, c - b, 6 + a - c];
            gaps.sort_unstable();
            match gaps {
                [1, 1, 4] => "1,2,3-trisubstituted",
                [2, 2, 2] => "1,3,5-trisubstituted",
                _ => "1,2,4-trisubstituted",
            }
        }
        [_, _, _, _] => "tetrasubstituted",
        [_, _, _, _, _] => "pentasubstituted",
        [_, _, _, _, _, _] => "fully substituted",
        _ => return None,
    })
}
