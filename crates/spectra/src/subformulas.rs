//! Formulas of fragments: which part of an ion a peak may be.

use dsokr_core::Error;
use dsokr_molecule::{ELECTRON, Element, ElementCounts, exact_mass};

use crate::adduct::Adduct;
use crate::spectrum::Spectrum;

/// The most parts of an ion that are tried for one peak.
const MOST: usize = 1_000_000;

/// The atoms of an ion, for the formulas of its fragments: all counts of elements `0 ≤ c ≤ n` (Böcker and Rasche 2008
/// begin with them). Fragments have one charge, of the sign of the ion.
///
/// ```
/// use dsokr_spectra::{Spectrum, Subformulas};
///
/// let spectrum: Spectrum = "181.0495 adduct=[M+H]+ formula=C9H8O4 121.0284:1".parse()?;
/// let found = Subformulas::from_spectrum(&spectrum)?.at(121.0284, 10.0)?;
/// assert_eq!((found.len(), found[0].formula().as_str()), (1, "C7H5O2"));
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Subformulas {
    /// The elements by decreasing mass, with the mass of an atom in Da and the number of atoms.
    elements: Vec<(Element, f64, usize)>,
    /// The mass in Da of all atoms of each element and those behind it, and 0.
    masses: Vec<f64>,
    /// The mass in Da of the electrons that a fragment lacks.
    electrons: f64,
}

/// A part of an ion.
#[derive(Clone, Debug, PartialEq)]
pub struct Fragment {
    /// The atoms of the fragment.
    pub atoms: ElementCounts,
    /// m/z of the fragment, with one charge.
    pub mz: f64,
    /// The other atoms of the ion.
    pub lost: ElementCounts,
}

impl Fragment {
    /// Returns the formula in Hill's order, without the charge.
    pub fn formula(&self) -> String {
        dsokr_molecule::formula(&self.atoms)
    }
}

impl Subformulas {
    /// Creates the subformulas of the ion of a molecule; none where the molecule has fewer atoms than the adduct lost.
    pub fn new(molecule: &ElementCounts, adduct: &Adduct) -> Option<Self> {
        let ion = adduct.ion(molecule)?;
        let mass = |element| exact_mass(&ElementCounts::from([(element, 1)]));
        // wildcards weigh nothing
        let weighed = ion.into_iter().map(|(atom_kind, count)| (atom_kind, mass(atom_kind), count));
        let mut elements: Vec<_> = weighed.filter(|&(_, mass, _)| mass > 0.0).collect();
        elements.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut masses = vec![0.0; elements.len() + 1];
        for (at, &(_, mass, count)) in elements.iter().enumerate().rev() {
            masses[at] = masses[at + 1] + count as f64 * mass;
        }
        Some(Self { elements, masses, electrons: adduct.polarity().sign() * ELECTRON })
    }

    /// Creates the subformulas of the precursor of a spectrum, by its formula and [its adduct](Spectrum::ion_of).
    ///
    /// # Errors
    /// A formula that is absent or cannot be read, an adduct that cannot be read, and one that lost what the formula
    /// lacks.
    pub fn from_spectrum(spectrum: &Spectrum) -> Result<Self, Error> {
        let molecule = spectrum.molecule()?;
        let (text, adduct) = spectrum.ion_of(exact_mass(&molecule))?;
        Self::new(&molecule, &adduct).ok_or_else(|| {
            let formula = spectrum.formula().unwrap_or_default();
            let found = format!("{formula:?}, with the adduct {text:?}");
            Error::value("the spectrum's formula", found, "one with the atoms that the adduct lost")
        })
    }

    /// Returns the fragments whose m/z is within `ppm` millionths of `mz`, in the order of the counts of their
    /// elements, from the heaviest on.
    ///
    /// # Errors
    /// More than a million parts to try, as a formula of many elements has.
    pub fn at(&self, mz: f64, ppm: f64) -> Result<Vec<Fragment>, Error> {
        let mut search = Search {
            ion: self,
            mz,
            tolerance: mz * ppm * 1e-6,
            counts: vec![0; self.elements.len()],
            fragments: Vec::new(),
            left: MOST,
        };
        if search.visit(0, mz + self.electrons) {
            return Ok(search.fragments);
        }
        let atoms = self.elements.iter().map(|&(element, _, count)| (element, count)).collect();
        let found = format!("{}, more than {MOST} to try", dsokr_molecule::formula(&atoms));
        Err(Error::value("the parts of the formula", found, "one of fewer elements or atoms"))
    }
}

/// A search among the counts of elements, depth first.
struct Search<'a> {
    ion: &'a Subformulas,
    mz: f64,
    /// The tolerance in Da.
    tolerance: f64,
    counts: Vec<usize>,
    fragments: Vec<Fragment>,
    /// How many parts may still be tried.
    left: usize,
}

impl Search<'_> {
    /// Tries the counts of the element `at` and those behind it, which `rest` Da are left for; false where there are
    /// too many.
    fn visit(&mut self, at: usize, rest: f64) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        let Some(&(_, mass, count)) = self.ion.elements.get(at) else {
            self.offer();
            return true;
        };
        // sums are rounded; what is at the end is compared again
        let wide = self.tolerance + 1e-6;
        let fewest = ((rest - wide - self.ion.masses[at + 1]) / mass).ceil().max(0.0);
        let most = ((rest + wide) / mass).floor().min(count as f64);
        if fewest > most {
            return true;
        }
        let all = (fewest as usize..=most as usize).all(|candidate_count| {
            self.counts[at] = candidate_count;
            self.visit(at + 1, rest - candidate_count as f64 * mass)
        });
        self.counts[at] = 0;
        all
    }

    /// Keeps the counts if their mass is within the tolerance.
    fn offer(&mut self) {
        let all = || self.ion.elements.iter().zip(&self.counts);
        let mass: f64 = all().map(|((_, mass, _), &count)| count as f64 * mass).sum();
        let mz = mass - self.ion.electrons;
        if (mz - self.mz).abs() <= self.tolerance {
            let counts = |count_of: fn(usize, usize) -> usize| {
                let counts = all().map(|(element, &count)| (element.0, count_of(element.2, count)));
                counts.filter(|&(_, count)| count > 0).collect()
            };
            let atoms = counts(|_, count| count);
            let lost = counts(|all, count| all - count);
            self.fragments.push(Fragment { atoms, mz, lost });
        }
    }
}
