//! Names of ring systems, by comparison with reference structures.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use dsokr_molecule::graph::Graph;
use dsokr_molecule::{BondOrder, Element, Molecule, RingSystem, ring_systems};

/// A [`dsokr_molecule::RingSystem`] with its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSystem {
    /// Its atoms, ascending.
    pub atoms: Vec<usize>,
    /// Its rings, as indices into [`Molecule::rings`], ascending.
    pub rings: Vec<usize>,
    /// Its trivial name, if it is one of the reference systems; substituents do not matter.
    pub name: Option<&'static str>,
    /// The name of its skeleton, whatever its bond orders are: `steroid`, `decalin`.
    pub skeleton: Option<&'static str>,
}

/// Reference systems: atoms, aromaticity, bond orders and ring carbonyls must agree.
const NAMED: &[(&str, &str)] = &[
    ("c1ccccc1", "benzene"),
    ("c1ccncc1", "pyridine"),
    ("c1cc[nH+]cc1", "pyridinium"),
    ("c1ccnnc1", "pyridazine"),
    ("c1cncnc1", "pyrimidine"),
    ("c1cnccn1", "pyrazine"),
    ("c1ncncn1", "triazine"),
    ("O=c1cc[nH]c(=O)[nH]1", "uracil"),
    ("O=c1nccc[nH]1", "cytosine"),
    ("O=c1cccc[nH]1", "pyridone"),
    ("O=c1cccco1", "pyranone"),
    ("O=c1ccocc1", "pyranone"),
    ("c1ccoc1", "furan"),
    ("c1ccsc1", "thiophene"),
    ("c1cc[nH]c1", "pyrrole"),
    ("c1c[nH]cn1", "imidazole"),
    ("c1cn[nH]c1", "pyrazole"),
    ("c1cocn1", "oxazole"),
    ("c1cnoc1", "isoxazole"),
    ("c1cscn1", "thiazole"),
    ("c1cnsc1", "isothiazole"),
    ("c1nc[nH]n1", "1,2,4-triazole"),
    ("c1c[nH]nn1", "1,2,3-triazole"),
    ("c1nnn[nH]1", "tetrazole"),
    ("c1nnco1", "oxadiazole"),
    ("c1nncs1", "thiadiazole"),
    ("C1CC1", "cyclopropane"),
    ("C1CCC1", "cyclobutane"),
    ("C1CCCC1", "cyclopentane"),
    ("C1CCCCC1", "cyclohexane"),
    ("C1CCCCCC1", "cycloheptane"),
    ("C1=CCCC1", "cyclopentene"),
    ("C1=CCCCC1", "cyclohexene"),
    ("C1=CCC=CC1", "cyclohexadiene"),
    ("C1=CC=CCC1", "cyclohexadiene"),
    ("O=C1CCCC1", "cyclopentanone"),
    ("O=C1CCCCC1", "cyclohexanone"),
    ("O=C1C=CCCC1", "cyclohexenone"),
    ("O=C1C=CCC1", "cyclopentenone"),
    ("O=C1C=CC(=O)C=C1", "benzoquinone"),
    ("C1CO1", "oxirane"),
    ("C1CN1", "aziridine"),
    ("C1COC1", "oxetane"),
    ("C1CNC1", "azetidine"),
    ("O=C1CCN1", "beta-lactam"),
    ("C1CCOC1", "tetrahydrofuran"),
    ("C1CCOCC1", "tetrahydropyran"),
    ("C1=COCCC1", "dihydropyran"),
    ("C1=CCOCC1", "dihydropyran"),
    ("C1COCO1", "dioxolane"),
    ("C1COCCO1", "dioxane"),
    ("O=C1CCCO1", "butyrolactone"),
    ("O=C1C=CCO1", "butenolide"),
    ("O=C1CCCCO1", "valerolactone"),
    ("C1CCNC1", "pyrrolidine"),
    ("O=C1CCCN1", "pyrrolidinone"),
    ("O=C1CCC(=O)N1", "succinimide"),
    ("C1CCNCC1", "piperidine"),
    ("C1CNCCN1", "piperazine"),
    ("C1COCCN1", "morpholine"),
    ("C1CSCN1", "thiazolidine"),
    ("C1CCSC1", "tetrahydrothiophene"),
    ("C1CSSC1", "dithiolane"),
    ("O=C1CNC(=O)N1", "hydantoin"),
    ("c1ccc2ccccc2c1", "naphthalene"),
    ("c1ccc2ncccc2c1", "quinoline"),
    ("c1ccc2cnccc2c1", "isoquinoline"),
    ("O=c1cc[nH]c2ccccc12", "quinolone"),
    ("c1ccc2ncncc2c1", "quinazoline"),
    ("O=c1[nH]cnc2ccccc12", "quinazolinone"),
    ("c1ccc2nccnc2c1", "quinoxaline"),
    ("c1ccc2[nH]ccc2c1", "indole"),
    ("c1ccc2NCCc2c1", "indoline"),
    ("O=C1Cc2ccccc2N1", "oxindole"),
    ("c1ccc2occc2c1", "benzofuran"),
    ("c1ccc2sccc2c1", "benzothiophene"),
    ("c1ccc2[nH]cnc2c1", "benzimidazole"),
    ("c1ccc2[nH]ncc2c1", "indazole"),
    ("c1ccc2ocnc2c1", "benzoxazole"),
    ("c1ccc2scnc2c1", "benzothiazole"),
    ("c1ccc2OCOc2c1", "benzodioxole"),
    ("c1ccc2OCCOc2c1", "benzodioxane"),
    ("O=c1ccc2ccccc2o1", "coumarin"),
    ("O=c1ccoc2ccccc12", "chromone"),
    ("O=C1CCOc2ccccc12", "chromanone"),
    ("C1CCOc2ccccc12", "chroman"),
    ("C1=COc2ccccc2C1", "chromene"),
    ("C1=CCOc2ccccc12", "chromene"),
    ("C1CCc2ccccc2C1", "tetralin"),
    ("C1CNCc2ccccc12", "tetrahydroisoquinoline"),
    ("C1CNc2ccccc2C1", "tetrahydroquinoline"),
    ("C1Cc2ccccc2C1", "indane"),
    ("O=C1NC(=O)c2ccccc12", "phthalimide"),
    ("O=C1OCc2ccccc12", "phthalide"),
    ("O=C1C=CC(=O)c2ccccc12", "naphthoquinone"),
    ("c1ncc2[nH]cnc2n1", "purine"),
    ("O=c1[nH]cnc2[nH]cnc12", "hypoxanthine"),
    ("O=c1[nH]c(=O)c2[nH]cnc2[nH]1", "xanthine"),
    ("c1cnc2ncncc2n1", "pteridine"),
    ("O=c1[nH]cnc2nccnc12", "pterin"),
    ("c1ccc2cc3ccccc3cc2c1", "anthracene"),
    ("c1ccc2c(c1)ccc1ccccc12", "phenanthrene"),
    ("O=C1c2ccccc2C(=O)c2ccccc12", "anthraquinone"),
    ("c1ccc2c(c1)[nH]c1ccccc12", "carbazole"),
    ("c1ccc2nc3ccccc3cc2c1", "acridine"),
    ("O=c1c2ccccc2oc2ccccc12", "xanthone"),
    ("c1ccc2c(c1)Cc1ccccc1-2", "fluorene"),
    ("c1ccc2c(c1)oc1ccccc12", "dibenzofuran"),
    ("c1ccc2c(c1)Nc1ccccc1S2", "phenothiazine"),
    ("c1ccc2c(c1)[nH]c1c2CCNC1", "tetrahydro-beta-carboline"),
    ("c1ccc2c(c1)[nH]c1cnccc12", "beta-carboline"),
    ("c1cc2ccc3cccc4ccc(c1)c2c34", "pyrene"),
    ("C1=NCc2ccccc2NC1", "benzodiazepine"),
    ("O=C1CN=Cc2ccccc2N1", "benzodiazepinone"),
    ("C1CC2CCN1CC2", "quinuclidine"),
    ("C1CC2CCC1N2", "tropane"),
    ("C1CCC2CCCCC2C1", "decalin"),
    ("C1CC2CCC1C2", "norbornane"),
    ("C1C2CC3CC1CC(C2)C3", "adamantane"),
    ("O=C1CC2SCCN12", "penam"),
    ("O=C1CC2SCC=CN12", "cephem"),
];

/// Skeletons: only elements and connections must agree.
const SKELETONS: &[(&str, &str)] = &[
    ("C1CCC2C(C1)CCC1C2CCC2CCCC12", "steroid"),
    ("C1CCC2C(C1)CCC1C2CCC2CCCCC12", "tetracyclic triterpenoid"),
    ("C1CCC2C(C1)CCC1C2CCC2C1CCC1CCCCC12", "pentacyclic triterpenoid"),
    ("C1CCC2C(C1)CCC1CCCCC12", "perhydrophenanthrene"),
    ("C1CCC2CCCCC2C1", "decalin"),
    ("C1CCC2OCCCC2C1", "benzopyran"),
    ("C1CCC2CCCC2C1", "hydrindane"),
];

/// A system's graph, as [`Graph::invariant`], and the sizes of its rings, ascending.
type Key = (u64, Vec<usize>);

static EXACT_KEYS: LazyLock<BTreeMap<Key, &'static str>> =
    LazyLock::new(|| reference_keys(NAMED, true));
static SKELETON_KEYS: LazyLock<BTreeMap<Key, &'static str>> =
    LazyLock::new(|| reference_keys(SKELETONS, false));

/// All ring systems of a molecule with their names, in the order of their first atoms.
///
/// ```
/// use dsokr_molecule::Molecule;
/// use dsokr_quickstart_generator::named_systems;
///
/// let tryptamine = Molecule::parse("NCCc1c[nH]c2ccccc12")?;
/// let systems = named_systems(&tryptamine);
/// assert_eq!(systems.len(), 1);
/// assert_eq!(systems[0].name, Some("indole"));
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[must_use]
pub fn named_systems(molecule: &Molecule) -> Vec<NamedSystem> {
    let named = ring_systems(molecule).into_iter().map(|system| NamedSystem {
        name: EXACT_KEYS.get(&key(molecule, &system, true)).copied(),
        skeleton: SKELETON_KEYS.get(&key(molecule, &system, false)).copied(),
        atoms: system.atoms,
        rings: system.rings,
    });
    named.collect()
}

fn reference_keys(table: &[(&str, &'static str)], exact: bool) -> BTreeMap<Key, &'static str> {
    let keyed = table.iter().filter_map(|(smiles, name)| {
        let molecule = Molecule::parse(smiles).ok()?;
        let systems = ring_systems(&molecule);
        let largest = systems.iter().max_by_key(|s| s.rings.len())?;
        Some((key(&molecule, largest, exact), *name))
    });
    keyed.collect()
}

fn key(molecule: &Molecule, system: &RingSystem, exact: bool) -> Key {
    let inside = |atom: usize| system.atoms.binary_search(&atom).ok();
    let labels = system.atoms.iter();
    let labels = labels.map(|&a| atom_label(molecule, a, exact, &inside));
    let edges = molecule.bonds().iter().filter_map(|bond| {
        let order = match (exact, bond.aromatic) {
            (false, _) => 0,
            (true, true) => 9,
            (true, false) => u64::from(bond.order.multiplicity()),
        };
        Some((inside(bond.atoms[0])?, inside(bond.atoms[1])?, order))
    });
    let graph = Graph::new(labels.collect(), &edges.collect::<Vec<_>>());
    let sizes = system.rings.iter().map(|&r| molecule.rings()[r].atoms.len());
    let mut sizes: Vec<usize> = sizes.collect();
    sizes.sort_unstable();
    // A part of a molecule is a graph.
    (graph.map_or(0, |graph| graph.invariant()), sizes)
}

fn atom_label(
    molecule: &Molecule,
    index: usize,
    exact: bool,
    inside: &impl Fn(usize) -> Option<usize>,
) -> u64 {
    let atom = molecule.atoms()[index];
    let element = u64::from(atom.element.atomic_number());
    if !exact {
        return element;
    }
    let carbonyl = molecule.neighbors(index).iter().any(|n| {
        inside(n.atom).is_none()
            && molecule.atoms()[n.atom].element == Element::O
            && molecule.bonds()[n.bond].order == BondOrder::Double
    });
    let charge = u64::from(atom.charge.cast_unsigned());
    element | charge << 8 | u64::from(atom.aromatic) << 16 | u64::from(carbonyl) << 17
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_is_one_system_and_finds_its_own_name() {
        for (smiles, name) in NAMED {
            let molecule = Molecule::parse(smiles).unwrap_or_else(|e| panic!("{smiles}: {e}"));
            let systems = named_systems(&molecule);
            assert_eq!(systems.len(), 1, "{smiles}");
            assert_eq!(systems[0].name, Some(*name), "{smiles}");
        }
        for (smiles, name) in SKELETONS {
            let molecule = Molecule::parse(smiles).unwrap_or_else(|e| panic!("{smiles}: {e}"));
            let systems = named_systems(&molecule);
            assert_eq!(systems.len(), 1, "{smiles}");
            assert_eq!(systems[0].skeleton, Some(*name), "{smiles}");
        }
    }
}
