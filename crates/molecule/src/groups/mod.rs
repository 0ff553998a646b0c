//! Functional groups and how often a molecule has each.

mod rules;

use std::collections::BTreeMap;

use crate::element::Element;
use crate::molecule::Molecule;

macro_rules! functional_groups {
    ($($(#[$what:meta])* $group:ident,)*) => {
        /// A functional group of organic chemistry, as counted by [`functional_groups`].
        ///
        /// Groups around a carbonyl carbon are disjoint: an ester is not also a ketone and an ether. A
        /// carbonyl whose carbon is aromatic (as in caffeine) is a [`RingOxo`](Self::RingOxo).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FunctionalGroup {
            $($(#[$what])* $group,)*
        }

        impl FunctionalGroup {
            /// All groups, in the order of the enumeration.
            pub const ALL: &'static [Self] = &[$(Self::$group,)*];

            /// Returns the name of the group in words, such as `carboxylic acid`.
            pub fn name(self) -> String {
                let mut name = String::new();
                for letter in format!("{self:?}").chars() {
                    if letter.is_uppercase() && !name.is_empty() {
                        name.push(if name == "n" { '-' } else { ' ' });
                    }
                    name.extend(letter.to_lowercase());
                }
                name
            }
        }
    };
}

functional_groups! {
    /// –COOH on carbon or hydrogen.
    CarboxylicAcid,
    /// –COO⁻.
    Carboxylate,
    /// –COO–C on carbon or hydrogen, not in a ring.
    Ester,
    /// An ester whose both ends are in one ring.
    Lactone,
    /// –CO–O–CO–, once for each pair of carbonyls.
    Anhydride,
    /// O–CO–O.
    Carbonate,
    /// N–CO–O.
    Carbamate,
    /// N–CO–S.
    Thiocarbamate,
    /// –CO–N, not in a ring.
    Amide,
    /// An amide whose both ends are in one ring.
    Lactam,
    /// A nitrogen between two carbonyls.
    Imide,
    /// N–CO–N.
    Urea,
    /// –CO–S–C on carbon or hydrogen.
    Thioester,
    /// –CO–halogen, chloroformates and carbamoyl chlorides included.
    AcylHalide,
    /// –CHO on carbon or hydrogen.
    Aldehyde,
    /// C–CO–C.
    Ketone,
    /// C=O where the carbon is part of an aromatic ring.
    RingOxo,
    /// C=S.
    Thiocarbonyl,
    /// OH on a saturated carbon with at most one carbon neighbour, other than in a hemiacetal.
    PrimaryAlcohol,
    /// OH on a saturated carbon with two carbon neighbours, other than in a hemiacetal.
    SecondaryAlcohol,
    /// OH on a saturated carbon with three carbon neighbours.
    TertiaryAlcohol,
    /// OH on a saturated carbon that an ether oxygen is on, as in cyclic sugars.
    Hemiacetal,
    /// OH on an aromatic carbon.
    Phenol,
    /// OH on a carbon of a C=C bond.
    Enol,
    /// C–O–C, both carbons without a carbonyl, the oxygen in no aromatic or three-membered ring.
    Ether,
    /// An oxygen in a three-membered ring.
    Epoxide,
    /// O–O.
    Peroxide,
    /// O⁻ on carbon, other than in a carboxylate.
    Alkoxide,
    /// NH₂ on a carbon that is neither aromatic nor unsaturated towards a heteroatom.
    PrimaryAmine,
    /// NH between two carbons, none of them aromatic.
    SecondaryAmine,
    /// N between three carbons, none of them aromatic.
    TertiaryAmine,
    /// Amine nitrogen on an aromatic carbon.
    AromaticAmine,
    /// N⁺ with at least one hydrogen.
    Ammonium,
    /// N⁺ with four carbons.
    QuaternaryAmmonium,
    /// C=N, other than in the groups below, in nitrones and in diazo groups.
    Imine,
    /// C=N–O, other than in a nitrone.
    Oxime,
    /// C(=N)–N.
    Amidine,
    /// C(=N)(–N)–N.
    Guanidine,
    /// N–N single bond.
    Hydrazine,
    /// N–O single bond, no double bond on the nitrogen.
    Hydroxylamine,
    /// –NO₂ on carbon, so not in nitrates and nitramines.
    Nitro,
    /// –N=O, other than in a nitrite.
    Nitroso,
    /// C≡N whose nitrogen has no other neighbour, without charges.
    Nitrile,
    /// N=N⁺=N⁻ or N⁻–N⁺≡N.
    Azide,
    /// C–N=N–C.
    Azo,
    /// N⁺–O⁻ other than in NO₂, nitrones included.
    NOxide,
    /// SH on carbon.
    Thiol,
    /// C–S–C, not aromatic.
    Sulfide,
    /// S–S.
    Disulfide,
    /// S=O with two carbons.
    Sulfoxide,
    /// SO₂ between two carbons.
    Sulfone,
    /// C–SO₂–OH.
    SulfonicAcid,
    /// C–SO₂–O⁻ or C–SO₂–O–C.
    Sulfonate,
    /// SO₂–N.
    Sulfonamide,
    /// Sulfur with four oxygens.
    Sulfate,
    /// Phosphorus with four oxygens.
    Phosphate,
    /// Phosphorus with a carbon and three oxygens.
    Phosphonate,
    /// C=C, not aromatic.
    Alkene,
    /// C≡C.
    Alkyne,
    /// Fluorine on an atom other than carbon.
    Fluoro,
    /// Chlorine on an atom other than carbon.
    Chloro,
    /// Bromine on an atom other than carbon.
    Bromo,
    /// Iodine on an atom other than carbon.
    Iodo,
    /// O–CH₃ of an ether or ester; counted in addition to it.
    Methoxy,
    /// –CF₃; counted in addition to its fluorines.
    Trifluoromethyl,
}

/// Returns how often the molecule has each functional group; those it has not are not listed.
///
/// ```
/// use dsokr_molecule::{FunctionalGroup, Molecule, functional_groups};
///
/// let aspirin = Molecule::parse("CC(=O)Oc1ccccc1C(=O)O")?;
/// let groups: Vec<_> = functional_groups(&aspirin).into_iter().collect();
/// assert_eq!(
///     groups,
///     [(FunctionalGroup::CarboxylicAcid, 1), (FunctionalGroup::Ester, 1)]
/// );
/// assert_eq!(FunctionalGroup::CarboxylicAcid.name(), "carboxylic acid");
/// assert_eq!(FunctionalGroup::NOxide.name(), "n-oxide");
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
pub fn functional_groups(molecule: &Molecule) -> BTreeMap<FunctionalGroup, usize> {
    let mut counts = BTreeMap::new();
    let mut count = |group: FunctionalGroup| *counts.entry(group).or_insert(0) += 1;
    for (index, atom) in molecule.atoms().iter().enumerate() {
        let is_end = molecule.degree(index) == 1;
        let group = match atom.element {
            Element::C => molecule.of_carbon(index),
            Element::O => molecule.of_oxygen(index),
            Element::N => molecule.of_nitrogen(index),
            Element::S => molecule.of_sulfur(index),
            Element::P => molecule.of_phosphorus(index),
            Element::F => is_end.then_some(FunctionalGroup::Fluoro),
            Element::CL => is_end.then_some(FunctionalGroup::Chloro),
            Element::BR => is_end.then_some(FunctionalGroup::Bromo),
            Element::I => is_end.then_some(FunctionalGroup::Iodo),
            _ => None,
        };
        group.into_iter().chain(molecule.beside(index)).for_each(&mut count);
    }
    molecule.bonds().iter().filter_map(|bond| molecule.of_bond(bond)).for_each(count);
    counts
}
