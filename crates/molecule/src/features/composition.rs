//! The composition of a molecule, as feature rows.

use dsokr_basis::features::SparseRows;
use dsokr_core::Cancellation;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MoleculeFeatures;
use crate::element::Element;
use crate::error::Error;
use crate::groups::{FunctionalGroup, functional_groups};
use crate::molecule::Molecule;

/// Elements, the wildcard among them.
const ELEMENTS: usize = 119;
const BONDS: [&str; 6] = ["single", "double", "triple", "quadruple", "dative", "aromatic"];
/// Counts over the whole molecule.
const WHOLE: [&str; 5] =
    ["charge positive", "charge negative", "rings", "stereo centers", "stereo double bonds"];

/// Counts of atoms, bonds, functional groups, charges, rings and configurations; the columns are
/// [`columns`](Self::columns).
///
/// ```
/// use dsokr_molecule::{Composition, Molecule, MoleculeFeatures};
///
/// let rows = Composition {}.counts(&[Molecule::parse("CCO")?])?;
/// let (columns, values) = rows.row(0);
/// let names = Composition::columns();
/// let found: Vec<_> = columns.iter().map(|&c| names[c as usize].as_str()).zip(values).collect();
/// assert_eq!(found, [
///     ("atom H", &6.0), ("atom C", &2.0), ("atom O", &1.0), ("bond single", &2.0),
///     ("group PrimaryAlcohol", &1.0),
/// ]);
/// # Ok::<(), dsokr_molecule::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Composition {}

impl Composition {
    /// Returns the names of the columns of the rows: `atom *`, `atom H` (atoms and folded hydrogens), …,
    /// `atom Og`, the elements by atomic number; `bond single`, `double`, `triple`, `quadruple`,
    /// `dative` and `aromatic`, where an aromatic bond counts as nothing else; `group …`, the
    /// functional groups in the order of [`FunctionalGroup::ALL`], counted as by [`functional_groups`];
    /// `charge positive` and `charge negative`, the sums of formal charges of either sign; `rings`, of the
    /// smallest set; and `stereo centers` and `stereo double bonds`, those with a configuration.
    pub fn columns() -> Vec<String> {
        let elements = (0..ELEMENTS as u8).map(|n| format!("atom {}", Element(n).symbol()));
        let bonds = BONDS.iter().map(|bond| format!("bond {bond}"));
        let groups = FunctionalGroup::ALL.iter().map(|group| format!("group {group:?}"));
        elements.chain(bonds).chain(groups).chain(WHOLE.map(str::to_owned)).collect()
    }
}

impl MoleculeFeatures for Composition {
    fn counts(&self, molecules: &[Molecule]) -> Result<SparseRows, Error> {
        let groups = ELEMENTS + BONDS.len();
        let whole = groups + FunctionalGroup::ALL.len();
        let width = whole + WHOLE.len();
        let stage = Cancellation::current().stage("features of molecules", molecules.len());
        let rows = molecules.par_iter().map(|molecule| {
            stage.advance(1)?;
            let mut row = vec![0.0_f32; width];
            for (element, count) in molecule.composition() {
                row[usize::from(element.atomic_number())] = count as f32;
            }
            for bond in molecule.bonds() {
                // the columns follow the enumeration
                row[ELEMENTS + if bond.aromatic { 5 } else { bond.order as usize }] += 1.0;
            }
            for (group, count) in functional_groups(molecule) {
                row[groups + group as usize] += count as f32;
            }
            for atom in molecule.atoms() {
                row[whole + usize::from(atom.charge < 0)] += f32::from(atom.charge.unsigned_abs());
            }
            row[whole + 2] = molecule.rings().len() as f32;
            row[whole + 3] = molecule.atoms().iter().filter(|atom| atom.stereo).count() as f32;
            row[whole + 4] = molecule.bonds().iter().filter(|bond| bond.stereo).count() as f32;
            let filled = row.into_iter().zip(0..).filter(|&(count, _)| count != 0.0);
            Ok(filled.map(|(count, column)| (column, count)).collect::<Vec<(u32, f32)>>())
        });
        Ok(SparseRows::from_rows(width, rows.collect::<Result<Vec<_>, Error>>()?)?)
    }
}
