//! Peaks of a spectrum as fragments of a molecule, which breaks at its bonds.

use dsokr_core::Error;
use dsokr_molecule::{
    AtomSet, BondOrder, ELECTRON, Element, ElementCounts, Fragmenter, IsotopeCounts, Molecule,
    MoleculePart, exact_mass, isotope_formula, isotope_mass,
};

use crate::adduct::Adduct;
use crate::peaks::Peak;
use crate::spectrum::Spectrum;

/// The most hydrogens that a fragment's ion has more or less than the protonated fragment.
const HYDROGENS: i32 = 3;

/// The cost of a hydrogen.
const HYDROGEN_COST: f64 = 0.25;

/// Parts of a Da in which peaks are looked up.
const BINS: f64 = 64.0;

/// Masses in Da above those of all molecules that are broken.
const LARGEST: f64 = 40_000.0;

/// Explains the peaks of a spectrum by the fragments of molecules.
///
/// A fragment is a part of a molecule that at most two cuts leave ([`Fragmenter`]). Its ion has one charge, of the sign of the
/// spectrum's adduct: a proton more in positive and less in negative mode, or the metal of the adduct, and up to three hydrogens
/// more or less than that. So a precursor with several charges, several molecules or a molecule such as ammonia is no fragment.
/// An ion has no more hydrogens than the molecule with the adduct, and none below zero. Of several adducts that counts with
/// which the molecule's ion is nearest to the precursor. A peak within `ppm` millionths of the ion's m/z may be this fragment.
/// The cost of a fragment is the sum of
///
/// | | cost |
/// |---|---|
/// | a single bond that is broken | 1 |
/// | a bond to another element than carbon | 0.75 |
/// | a double bond | 2 |
/// | a triple bond | 3 |
/// | an aromatic bond | 1.5 |
/// | a hydrogen more or less | 0.25 |
///
/// The fragment of a peak is the one of the least cost, and of several the nearest in mass. The score of a molecule is
/// `Σ √(I · m/z) exp(−cost / 2)` over the peaks that it explains, where I is the intensity of a peak.
#[derive(Clone, Debug)]
pub struct PeakExplainer {
    peaks: Vec<ExplainablePeak>,
    /// A bit for each bin of m/z: whether a peak may be there.
    bins: Vec<u64>,
    precursor_mz: f64,
    /// What the precursor may be; at least one.
    ions: Vec<PrecursorIon>,
}

/// An adduct that the precursor may have, with what it makes of fragments.
#[derive(Clone, Debug)]
struct PrecursorIon {
    adduct: Adduct,
    carriers: Vec<Carrier>,
    /// Hydrogens that the adduct brings at most.
    hydrogens: i32,
}

/// A peak with what its fragment counts.
#[derive(Clone, Copy, Debug)]
struct ExplainablePeak {
    mz: f64,
    /// The range of m/z that is near enough.
    low: f64,
    high: f64,
    /// √(I · m/z).
    weight: f64,
}

/// What makes a fragment an ion.
#[derive(Clone, Copy, Debug)]
struct Carrier {
    /// Hydrogens that are added.
    hydrogens: i32,
    /// A metal that is added.
    metal: Option<Element>,
    /// Its mass in Da without electrons.
    mass: f64,
}

/// An ion of a fragment, which may explain peaks.
#[derive(Clone, Copy)]
struct FragmentIon<'a> {
    part: MoleculePart<'a>,
    carrier: Carrier,
    /// Hydrogens that the ion has more than the fragment has in the molecule, below 0 for fewer.
    hydrogens: i32,
    /// The cost of the fragment.
    cost: f64,
    mz: f64,
}

/// What a molecule explains of a spectrum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// The peaks that fragments explain, in the order of the spectrum.
    pub peaks: Vec<FragmentPeak>,
    /// `Σ √(I · m/z) exp(−cost / 2)`.
    pub score: f64,
}

/// A peak and the fragment that explains it.
#[derive(Clone, Debug, PartialEq)]
pub struct FragmentPeak {
    /// The place of the peak in the spectrum, from 0.
    pub peak: usize,
    /// The atoms of the fragment; [`atoms`](Self::atoms) lists them.
    pub set: AtomSet,
    /// The bonds that were broken, as indices into [`Molecule::bonds`].
    pub broken: Vec<usize>,
    /// Hydrogens that the ion has more than the fragment has in the molecule, below 0 for fewer.
    pub hydrogens: i32,
    /// The metal that makes the fragment an ion; none of an ion of hydrogens only.
    pub metal: Option<Element>,
    /// The cost of the fragment.
    pub cost: f64,
    /// m/z of the fragment's ion.
    pub mz: f64,
    /// How far the peak is above it, in millionths.
    pub ppm: f64,
}

impl FragmentPeak {
    /// Returns the atoms of the fragment, as indices into [`Molecule::atoms`].
    pub fn atoms(&self) -> impl Iterator<Item = usize> + '_ {
        (0..AtomSet::BITS as usize).filter(|&atom| self.set >> atom & 1 == 1)
    }

    /// Returns the atoms of the ion of a fragment of this molecule, whatever their isotopes.
    pub fn composition(&self, molecule: &Molecule) -> ElementCounts {
        let mut counts = ElementCounts::new();
        for ((element, _), count) in self.isotopes(molecule) {
            *counts.entry(element).or_insert(0) += count;
        }
        counts
    }

    /// Returns the atoms of the ion with the isotopes that the molecule names.
    fn isotopes(&self, molecule: &Molecule) -> IsotopeCounts {
        let mut counts = IsotopeCounts::new();
        let mut hydrogens = self.hydrogens;
        for atom in self.atoms().filter_map(|atom| molecule.atoms().get(atom)) {
            *counts.entry((atom.element, atom.isotope)).or_insert(0) += 1;
            hydrogens += i32::from(atom.hydrogens);
        }
        if let Some(metal) = self.metal {
            *counts.entry((metal, None)).or_insert(0) += 1;
        }
        if let Ok(count @ 1..) = usize::try_from(hydrogens) {
            *counts.entry((Element::H, None)).or_insert(0) += count;
        }
        counts
    }

    /// Returns the [formula](isotope_formula) of the ion in Hill's order, without the charge: `C2H3O`, and `C2[2H3]O` where
    /// the molecule names isotopes.
    pub fn formula(&self, molecule: &Molecule) -> String {
        isotope_formula(&self.isotopes(molecule))
    }
}

impl PeakExplainer {
    /// Prepares the peaks of a spectrum. Peaks within `ppm` millionths of an ion are explained by it.
    ///
    /// # Errors
    /// An adduct that cannot be read.
    pub fn new(spectrum: &Spectrum, ppm: f64) -> Result<Self, Error> {
        let mut adducts = spectrum.ions()?;
        if adducts.is_empty() {
            adducts.push(Adduct::PROTONATED.parse()?);
        }
        let explainable = |&Peak { mz, intensity }: &Peak| ExplainablePeak {
            mz,
            low: mz - mz * ppm * 1e-6,
            high: mz + mz * ppm * 1e-6,
            weight: (intensity * mz).sqrt(),
        };
        let peaks: Vec<ExplainablePeak> = spectrum.peaks().iter().map(explainable).collect();
        let mut bins = Vec::new();
        for peak in peaks.iter().filter(|peak| peak.high < LARGEST) {
            for bin in bin(peak.low)..=bin(peak.high) {
                bins.resize(bins.len().max(bin / 64 + 1), 0);
                bins[bin / 64] |= 1 << (bin % 64);
            }
        }
        let ions = adducts.into_iter().map(PrecursorIon::new).collect();
        Ok(Self { peaks, bins, precursor_mz: spectrum.precursor_mz(), ions })
    }

    /// Returns `Σ √(I · m/z)` over all peaks, which the score of no molecule exceeds.
    pub fn largest_score(&self) -> f64 {
        self.peaks.iter().map(|peak| peak.weight).sum()
    }

    /// Returns the share of a peak in the score of a molecule whose fragment has no cost, `√(I · m/z)`.
    ///
    /// # Panics
    /// If the spectrum has no such peak.
    pub fn weight(&self, peak: usize) -> f64 {
        self.peaks[peak].weight
    }

    /// Explains the peaks by a molecule; none of a molecule that is too large to be [broken](Fragmenter::new).
    pub fn explain(&self, molecule: &Molecule) -> Option<Explanation> {
        let fragmenter = Fragmenter::new(molecule)?;
        let ion = self.ion_of(molecule)?;
        let masses = Masses::new(molecule);
        let costs: Vec<f64> = (0..molecule.bonds().len()).map(|at| cost(molecule, at)).collect();
        let in_molecule = molecule.atoms().iter().map(|atom| i32::from(atom.hydrogens));
        let all_hydrogens = in_molecule.sum::<i32>() + ion.hydrogens;
        let mut best: Vec<Option<FragmentPeak>> = vec![None; self.peaks.len()];
        fragmenter.each(&mut |part: MoleculePart| {
            let (mass, own_hydrogens) = masses.of(part.atoms);
            for carrier in &ion.carriers {
                for change in -HYDROGENS..=HYDROGENS {
                    let mz = mass + carrier.mass + f64::from(change) * masses.hydrogen;
                    if !self.may_be_at(mz) {
                        continue;
                    }
                    let hydrogens = carrier.hydrogens + change;
                    if !(0..=all_hydrogens).contains(&(own_hydrogens + hydrogens)) {
                        continue;
                    }
                    let broken: f64 = part.broken.iter().map(|&bond| costs[bond]).sum();
                    let cost = broken + f64::from(change.abs()) * HYDROGEN_COST;
                    let carrier = *carrier;
                    self.offer(&mut best, FragmentIon { part, carrier, hydrogens, cost, mz });
                }
            }
        });
        let peaks: Vec<FragmentPeak> = best.into_iter().flatten().collect();
        let scores = peaks.iter().map(|peak| self.weight(peak.peak) * (-peak.cost / 2.0).exp());
        // the sum of no numbers is −0
        let score = scores.sum::<f64>() + 0.0;
        Some(Explanation { peaks, score })
    }

    /// Returns the ion that the precursor is where this is its molecule, as [`Spectrum::ion_of`] chooses it.
    fn ion_of(&self, molecule: &Molecule) -> Option<&PrecursorIon> {
        if let [ion] = self.ions.as_slice() {
            return Some(ion);
        }
        let mass = molecule.neutral_mass();
        let far = |ion: &PrecursorIon| (ion.adduct.mz(mass) - self.precursor_mz).abs();
        self.ions.iter().min_by(|a, b| far(a).total_cmp(&far(b)))
    }

    /// Returns whether a peak may be at this m/z.
    fn may_be_at(&self, mz: f64) -> bool {
        let bin = bin(mz);
        self.bins.get(bin / 64).is_some_and(|bits| bits >> (bin % 64) & 1 == 1)
    }

    /// Keeps the fragment for each peak at its m/z that has no better one.
    fn offer(&self, best: &mut [Option<FragmentPeak>], ion: FragmentIon) {
        let FragmentIon { part, carrier, hydrogens, cost, mz } = ion;
        let from = self.peaks.partition_point(|peak| peak.high < mz);
        for (at, peak) in self.peaks.iter().enumerate().skip(from) {
            if peak.low > mz {
                break;
            }
            let ppm = (peak.mz - mz) / mz * 1e6;
            let is_better = best[at]
                .as_ref()
                .is_none_or(|other| (cost, ppm.abs()) < (other.cost, other.ppm.abs()));
            if is_better {
                best[at] = Some(FragmentPeak {
                    peak: at,
                    set: part.atoms,
                    broken: part.broken.to_vec(),
                    hydrogens,
                    metal: carrier.metal,
                    cost,
                    mz,
                    ppm,
                });
            }
        }
    }
}

impl PrecursorIon {
    fn new(adduct: Adduct) -> Self {
        let carriers = Carrier::of(&adduct);
        let hydrogens = adduct.hydrogens().max(0);
        Self { adduct, carriers, hydrogens }
    }
}

impl Carrier {
    /// Returns what makes the fragments of molecules with this adduct ions of one charge.
    fn of(adduct: &Adduct) -> Vec<Self> {
        let electrons = adduct.polarity().sign() * ELECTRON;
        // an ion that is a molecule without an electron, or with one more, has fragments of the same kind
        let hydrogens = if adduct.has_no_atoms() { 0 } else { adduct.polarity().sign() as i32 };
        let mass = f64::from(hydrogens) * element_mass(Element::H) - electrons;
        let proton = Self { hydrogens, metal: None, mass };
        let metal = |metal| {
            let mass = element_mass(metal) - electrons;
            Self { hydrogens: 0, metal: Some(metal), mass }
        };
        [proton].into_iter().chain(adduct.metal().map(metal)).collect()
    }
}

/// The masses of parts of a molecule.
struct Masses {
    /// The mass in Da and the hydrogens of each set of eight atoms.
    tables: Vec<[(f64, i32); 256]>,
    hydrogen: f64,
}

impl Masses {
    fn new(molecule: &Molecule) -> Self {
        let hydrogen = element_mass(Element::H);
        let table = |atoms: &[dsokr_molecule::Atom]| {
            let mut table = [(0.0, 0); 256];
            for (at, atom) in atoms.iter().enumerate() {
                let isotope = atom.isotope.and_then(|number| isotope_mass(atom.element, number));
                let mass = isotope.unwrap_or_else(|| element_mass(atom.element));
                let hydrogens = i32::from(atom.hydrogens);
                let mass = mass + f64::from(hydrogens) * hydrogen;
                for set in 1 << at..2 << at {
                    let (rest_mass, rest_hydrogens) = table[set - (1 << at)];
                    table[set] = (rest_mass + mass, rest_hydrogens + hydrogens);
                }
            }
            table
        };
        Self { tables: molecule.atoms().chunks(8).map(table).collect(), hydrogen }
    }

    /// Returns the mass in Da and the hydrogens of some atoms.
    fn of(&self, atoms: AtomSet) -> (f64, i32) {
        let sets = self.tables.iter().zip(atoms.to_le_bytes());
        sets.fold((0.0, 0), |(mass, hydrogens), (table, set)| {
            let part = table[usize::from(set)];
            (mass + part.0, hydrogens + part.1)
        })
    }
}

/// Returns the bin of an m/z.
fn bin(mz: f64) -> usize {
    (mz * BINS) as usize
}

fn element_mass(element: Element) -> f64 {
    exact_mass(&ElementCounts::from([(element, 1)]))
}

/// Returns the cost of breaking a bond.
fn cost(molecule: &Molecule, bond: usize) -> f64 {
    let bond = &molecule.bonds()[bond];
    if bond.aromatic {
        return 1.5;
    }
    let carbons = bond.atoms.iter().all(|&end| molecule.atoms()[end].element == Element::C);
    match bond.order {
        BondOrder::Single | BondOrder::Dative if carbons => 1.0,
        BondOrder::Single | BondOrder::Dative => 0.75,
        BondOrder::Double => 2.0,
        BondOrder::Triple | BondOrder::Quadruple => 3.0,
    }
}
