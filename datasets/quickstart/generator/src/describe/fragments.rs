//! Small recognisable pieces beside the functional groups: who sits next to whom.

use dsokr_molecule::{BondOrder, Element, Molecule};

use super::wording::counted;
use crate::draw::Draw;

/// Noun phrases for the pieces found.
pub(super) fn phrases(molecule: &Molecule, draw: &mut Draw) -> Vec<String> {
    let mut phrases = Vec::new();
    for (count, options) in tally(molecule) {
        if count > 0 {
            let (singular, plural) = options[draw.below(options.len())];
            phrases.push(counted(draw, count, singular, plural));
        }
    }
    phrases
}

type Options = &'static [(&'static str, &'static str)];

fn tally(molecule: &Molecule) -> [(usize, Options); 11] {
    let view = View(molecule);
    let atoms = || 0..molecule.atoms().len();
    let count = |is: &dyn Fn(usize) -> bool| atoms().filter(|&a| is(a)).count();
    [
        (count(&|a| view.is_alkyl_ester(a, 0)), &[("methyl ester", "methyl esters")]),
        (count(&|a| view.is_alkyl_ester(a, 1)), &[("ethyl ester", "ethyl esters")]),
        (
            count(&|a| view.is_methyl(a) && view.sits_on(a, Element::N)),
            &[("N-methyl group", "N-methyl groups"), ("methyl on nitrogen", "methyls on nitrogen")],
        ),
        (
            count(&|a| view.is_acetyl(a)),
            &[("acetyl group", "acetyl groups"), ("acetyl unit", "acetyl units")],
        ),
        (
            count(&|a| view.is_branched(a, 2)),
            &[
                ("isopropyl group", "isopropyl groups"),
                ("gem-dimethyl branch", "gem-dimethyl branches"),
            ],
        ),
        (count(&|a| view.is_branched(a, 3)), &[("tert-butyl group", "tert-butyl groups")]),
        (
            count(&|a| view.is_quaternary_dimethyl(a)),
            &[
                ("gem-dimethyl carbon", "gem-dimethyl carbons"),
                ("carbon with two methyls", "carbons with two methyls"),
            ],
        ),
        (
            count(&|a| view.is_vinyl_end(a)),
            &[
                ("terminal double bond", "terminal double bonds"),
                ("exocyclic or terminal methylene", "exocyclic or terminal methylenes"),
            ],
        ),
        (
            count(&|a| view.is_benzylic(a)),
            &[("benzylic methylene", "benzylic methylenes"), ("benzyl carbon", "benzyl carbons")],
        ),
        (
            count(&|a| view.is_alpha_amino_acid(a)),
            &[
                ("alpha-amino acid motif", "alpha-amino acid motifs"),
                ("amino acid unit", "amino acid units"),
            ],
        ),
        (
            molecule.bonds().iter().filter(|b| b.stereo).count(),
            &[
                ("double bond of defined geometry", "double bonds of defined geometry"),
                ("E/Z-specified double bond", "E/Z-specified double bonds"),
            ],
        ),
    ]
}

struct View<'a>(&'a Molecule);

impl View<'_> {
    fn element(&self, atom: usize) -> Element {
        self.0.atoms()[atom].element
    }

    fn is_methyl(&self, atom: usize) -> bool {
        self.element(atom) == Element::C
            && self.0.atoms()[atom].hydrogens == 3
            && self.0.degree(atom) == 1
    }

    fn sits_on(&self, atom: usize, element: Element) -> bool {
        let mut neighbors = self.0.neighbors(atom).iter();
        neighbors.any(|n| self.element(n.atom) == element)
    }

    fn methyls(&self, atom: usize) -> usize {
        let neighbors = self.0.neighbors(atom).iter();
        neighbors.filter(|n| self.is_methyl(n.atom)).count()
    }

    fn is_plain_carbonyl(&self, atom: usize) -> bool {
        self.element(atom) == Element::C
            && !self.0.atoms()[atom].aromatic
            && self.0.neighbors(atom).iter().any(|n| {
                self.element(n.atom) == Element::O
                    && self.0.bonds()[n.bond].order == BondOrder::Double
            })
    }

    /// A CH₃ on the oxygen of an ester, with `spacers` CH₂ between.
    fn is_alkyl_ester(&self, atom: usize, spacers: usize) -> bool {
        if !self.is_methyl(atom) {
            return false;
        }
        let mut from = atom;
        let mut at = self.0.neighbors(atom)[0].atom;
        for _ in 0..spacers {
            if self.element(at) != Element::C || self.0.atoms()[at].hydrogens != 2 {
                return false;
            }
            let Some(next) = self.0.neighbors(at).iter().find(|n| n.atom != from) else {
                return false;
            };
            (from, at) = (at, next.atom);
        }
        self.element(at) == Element::O
            && self.0.neighbors(at).iter().any(|n| n.atom != from && self.is_plain_carbonyl(n.atom))
    }

    /// A carbonyl carbon with a methyl and one more neighbour.
    fn is_acetyl(&self, atom: usize) -> bool {
        self.is_plain_carbonyl(atom) && self.methyls(atom) == 1 && self.0.degree(atom) == 3
    }

    /// CH with two methyls, or C with three, and one more neighbour.
    fn is_branched(&self, atom: usize, methyls: usize) -> bool {
        self.element(atom) == Element::C
            && self.methyls(atom) == methyls
            && self.0.degree(atom) == methyls + 1
            && usize::from(self.0.atoms()[atom].hydrogens) == 3 - methyls
    }

    fn is_quaternary_dimethyl(&self, atom: usize) -> bool {
        self.element(atom) == Element::C && self.methyls(atom) == 2 && self.0.degree(atom) == 4
    }

    fn is_vinyl_end(&self, atom: usize) -> bool {
        self.element(atom) == Element::C
            && self.0.atoms()[atom].hydrogens == 2
            && self.0.degree(atom) == 1
            && self.sits_on(atom, Element::C)
    }

    /// CH₂ outside rings on an aromatic carbon.
    fn is_benzylic(&self, atom: usize) -> bool {
        self.element(atom) == Element::C
            && self.0.atoms()[atom].hydrogens == 2
            && !self.in_ring(atom)
            && self
                .0
                .neighbors(atom)
                .iter()
                .any(|n| self.0.atoms()[n.atom].aromatic && self.element(n.atom) == Element::C)
    }

    fn in_ring(&self, atom: usize) -> bool {
        self.0.rings().iter().any(|r| r.atoms.contains(&atom))
    }

    /// A saturated carbon between a nitrogen and a carboxy carbon.
    fn is_alpha_amino_acid(&self, atom: usize) -> bool {
        let carboxy = |c: usize| {
            self.is_plain_carbonyl(c)
                && self.0.neighbors(c).iter().filter(|n| self.element(n.atom) == Element::O).count()
                    == 2
        };
        self.element(atom) == Element::C
            && !self.is_plain_carbonyl(atom)
            && !self.0.atoms()[atom].aromatic
            && self.sits_on(atom, Element::N)
            && self.0.neighbors(atom).iter().any(|n| carboxy(n.atom))
    }
}
