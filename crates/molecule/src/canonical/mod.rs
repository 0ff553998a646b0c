//! Canonical SMILES: one text for one molecule, however its atoms are numbered.
//!
//! The atoms of each connected part are put in a canonical order ([`search`]), the part is written
//! along it ([`write`]), and the parts are sorted.

mod marks;
mod partition;
mod search;
mod structure;
mod tree;
mod write;

use dsokr_basis::random::shuffle;
use rand::Rng;

use self::search::canonical_places;
use self::structure::Structure;
use self::write::write;
use crate::Molecule;

impl Molecule {
    /// The canonical SMILES: equal for molecules that differ in the numbering of their atoms alone.
    ///
    /// Aromatic atoms are written in lower case; charges, isotopes and hydrogens are kept, and so
    /// are the configurations of tetrahedral atoms (`@`, `@@`) and of double bonds outside aromatic
    /// rings (`/`, `\`). Configurations are taken as they are given: one at an atom or a double bond
    /// with two equal substituents stays in the text. Not kept are other kinds of configuration (allenes,
    /// square planes and so on), double bonds at an atom of an aromatic ring or at an atom whose
    /// only other neighbour is a hydrogen, and the numbers of atom maps.
    ///
    /// The text is our own, not that of another program, and does not change within a major
    /// version. It reads back as the same molecule for every row of ChEBI-20. Known to fail are aromatic
    /// rings that hold a radical, which their text does not show to be aromatic, chains of bonds
    /// between metals and ligands, which are made dative in an order that depends on the text, and
    /// multiple bonds to halogens (`O=I`), which are read with charges or without.
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// let alanine = Molecule::parse("C[C@@H](C(=O)O)N")?;
    /// let same = Molecule::parse("OC(=O)[C@@H](N)C")?;
    /// let mirrored = Molecule::parse("OC(=O)[C@H](N)C")?;
    /// assert_eq!(alanine.canonical_smiles(), same.canonical_smiles());
    /// assert_ne!(alanine.canonical_smiles(), mirrored.canonical_smiles());
    /// assert_eq!(Molecule::parse("C1=CC=CC=C1")?.canonical_smiles(), "c1ccccc1");
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn canonical_smiles(&self) -> String {
        let parts = self.parts().into_iter().map(|atoms| {
            let structure = Structure::new(self, atoms);
            let places = canonical_places(&structure);
            write(self, &structure, &places)
        });
        let mut parts: Vec<String> = parts.collect();
        parts.sort_unstable();
        parts.join(".")
    }

    /// A SMILES of the same molecule with its atoms in random order; it keeps what
    /// [`canonical_smiles`](Self::canonical_smiles) keeps.
    ///
    /// ```
    /// use dsokr_basis::random::generator;
    /// use dsokr_molecule::Molecule;
    ///
    /// let phenol = Molecule::parse("Oc1ccccc1")?;
    /// let text = phenol.random_smiles(&mut generator(0, "augment", 0));
    /// assert_eq!(Molecule::parse(&text)?.canonical_smiles(), phenol.canonical_smiles());
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn random_smiles(&self, random: &mut impl Rng) -> String {
        let mut parts = self.parts();
        shuffle(&mut parts, random);
        let written = parts.into_iter().map(|atoms| {
            let structure = Structure::new(self, atoms);
            let mut ranks: Vec<usize> = (0..structure.len()).collect();
            shuffle(&mut ranks, random);
            write(self, &structure, &ranks)
        });
        written.collect::<Vec<_>>().join(".")
    }
}
