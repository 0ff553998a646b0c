//! Adducts: what an ion is made of.

use std::collections::BTreeMap;
use std::str::FromStr;

use dsokr_molecule::{ELECTRON, Element, ElementCounts, exact_mass, read_formula};

use crate::Error;
use crate::error::shorten;

/// An ion of n molecules with what was added and lost, such as `[M+H]+`, `[2M+Na]+` and `[M-H2O+2H]2+`.
///
/// ```
/// use dsokr_data::spectra::Adduct;
///
/// let adduct: Adduct = "[M+Na]+".parse()?;
/// assert!((adduct.mz(180.06339) - 203.05261).abs() < 1e-5);
/// # Ok::<(), dsokr_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Adduct {
    /// n, at least 1.
    molecules: u32,
    /// Number of atoms of each element that were added, less those that were lost.
    atoms: BTreeMap<Element, i64>,
    /// Mass in Da of what was added, electrons among it, less that of what was lost.
    shift: f64,
    /// Number of charges, at least 1.
    charges: f64,
    /// 1 of positive ions, −1 of negative ones.
    pub(super) sign: f64,
}

impl Adduct {
    /// `[M+H]+`.
    pub const PROTONATED: &str = "[M+H]+";

    /// m/z of the ion of molecules with this mass in Da, the sum of those of their atoms.
    pub fn mz(&self, mass: f64) -> f64 {
        (f64::from(self.molecules) * mass + self.shift) / self.charges
    }

    /// Mass in Da of the molecule whose ion has this m/z.
    pub fn mass(&self, mz: f64) -> f64 {
        (mz * self.charges - self.shift) / f64::from(self.molecules)
    }

    /// The atoms of the ion of a molecule with these atoms; none where it has fewer than were lost.
    pub fn ion(&self, molecule: &ElementCounts) -> Option<ElementCounts> {
        let all =
            molecule.iter().map(|(&own, &count)| (own, count as i64 * i64::from(self.molecules)));
        let mut ion: BTreeMap<Element, i64> = all.collect();
        self.atoms.iter().for_each(|(&own, count)| *ion.entry(own).or_insert(0) += count);
        let counts = ion.into_iter().filter(|&(_, count)| count != 0);
        counts.map(|(own, count)| Some((own, usize::try_from(count).ok()?))).collect()
    }

    fn read(text: &str) -> Option<Self> {
        let (ion, charge) = text.trim().strip_prefix('[')?.split_once(']')?;
        // radicals have a dot or an asterisk
        let charge = charge.trim_matches(['*', '.', ' ']);
        let sign = if charge.contains('-') { -1.0 } else { 1.0 };
        let number = charge.strip_prefix(['+', '-']).or_else(|| charge.strip_suffix(['+', '-']))?;
        let charges = f64::from(count(number)?);
        let (molecules, mut parts) = ion.trim_end_matches(['*', '.']).split_once('M')?;
        let (mut shift, mut atoms) = (-sign * charges * ELECTRON, BTreeMap::new());
        while let Some(first) = parts.chars().next() {
            let added = match first {
                '+' => 1,
                '-' => -1,
                _ => return None,
            };
            let (part, behind) =
                parts[1..].split_at(parts[1..].find(['+', '-']).unwrap_or(parts.len() - 1));
            let formula = part.trim_start_matches(|c: char| c.is_ascii_digit());
            let times = count(&part[..part.len() - formula.len()])?;
            let part = read_formula(formula)?;
            let times = added * i64::from(times);
            shift += times as f64 * exact_mass(&part);
            for (element, count) in part {
                *atoms.entry(element).or_insert(0) += times * count as i64;
            }
            parts = behind;
        }
        Some(Self { molecules: count(molecules)?, atoms, shift, charges, sign })
    }
}

/// A number from 1 to 99; 1 where there is none.
fn count(text: &str) -> Option<u32> {
    let number = if text.is_empty() { 1 } else { text.parse::<u32>().ok()? };
    (1..100).contains(&number).then_some(number)
}

impl FromStr for Adduct {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            let allowed = "[nM±…]z±, such as [M+H]+, [M+Na]+, [M+NH4]+, [M+H-H2O]+, [2M+H]+, [M+2H]2+, [M]+, [M-H]- or \
                           [M+HCOO]-";
            Error::value("the adduct", format_args!("{:?}", shorten(text)), allowed)
        })
    }
}
