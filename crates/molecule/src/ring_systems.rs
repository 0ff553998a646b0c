//! Fused ring systems.

use crate::molecule::Molecule;
use crate::union::Union;

/// Rings that share bonds with one another, as one unit. Rings that share a single atom (spiro)
/// are separate systems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingSystem {
    /// Its atoms, ascending.
    pub atoms: Vec<usize>,
    /// Its rings, as indices into [`Molecule::rings`], ascending.
    pub rings: Vec<usize>,
}

impl RingSystem {
    /// What it is in words, by sizes of its rings, aromaticity and elements other than carbon: `benzene ring`,
    /// `aromatic ring of 5 and 6 atoms with N`, `ring of 5 atoms with O`. Different systems may share a name.
    ///
    /// ```
    /// use dsokr_molecule::{Molecule, ring_systems};
    ///
    /// let nicotine = Molecule::parse("CN1CCCC1c1cccnc1")?;
    /// let names: Vec<_> = ring_systems(&nicotine).iter().map(|system| system.name(&nicotine)).collect();
    /// assert_eq!(names, ["ring of 5 atoms with N", "aromatic ring of 6 atoms with N"]);
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn name(&self, molecule: &Molecule) -> String {
        let rings = || self.rings.iter().map(|&ring| &molecule.rings()[ring]);
        let mut sizes: Vec<usize> = rings().map(|ring| ring.atoms.len()).collect();
        sizes.sort_unstable();
        let mut elements: Vec<&str> =
            self.atoms.iter().map(|&atom| molecule.atoms()[atom].element.symbol()).collect();
        elements.sort_unstable();
        elements.dedup();
        elements.retain(|&symbol| symbol != "C");
        let kind = match (rings().all(|ring| ring.aromatic), rings().any(|ring| ring.aromatic)) {
            (true, _) if sizes == [6] && elements.is_empty() => return "benzene ring".to_owned(),
            (true, _) => "aromatic ring",
            (false, true) => "partly aromatic ring",
            (false, false) => "ring",
        };
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let with = if elements.is_empty() { "" } else { " with " };
        format!("{kind} of {} atoms{with}{}", sizes.join(" and "), elements.join(", "))
    }
}

/// All ring systems of a molecule, in the order of their first atoms.
///
/// ```
/// use dsokr_molecule::{Molecule, ring_systems};
///
/// let tryptamine = Molecule::parse("NCCc1c[nH]c2ccccc12")?;
/// let systems = ring_systems(&tryptamine);
/// assert_eq!(systems.len(), 1);
/// assert_eq!(systems[0].rings.len(), 2);
/// assert_eq!(systems[0].atoms.len(), 9);
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
pub fn ring_systems(molecule: &Molecule) -> Vec<RingSystem> {
    let rings = molecule.rings();
    let mut sets = Union::new(rings.len());
    let mut first_of_bond = vec![None; molecule.bonds().len()];
    for (number, ring) in rings.iter().enumerate() {
        for bond in molecule.ring_bonds(ring) {
            sets.merge(*first_of_bond[bond].get_or_insert(number), number);
        }
    }
    let mut numbers = vec![None; rings.len()];
    let mut systems: Vec<RingSystem> = Vec::new();
    for (number, ring) in rings.iter().enumerate() {
        let system = *numbers[sets.root(number)].get_or_insert(systems.len());
        if system == systems.len() {
            systems.push(RingSystem { atoms: Vec::new(), rings: Vec::new() });
        }
        systems[system].rings.push(number);
        systems[system].atoms.extend(&ring.atoms);
    }
    for system in &mut systems {
        system.atoms.sort_unstable();
        system.atoms.dedup();
    }
    systems.sort_by_key(|system| system.atoms.first().copied());
    systems
}
