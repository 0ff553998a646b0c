//! Libraries of reference spectra, whose molecules are known, as tables to train on.

mod merging;
mod spectra_file;

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;

use dsokr_core::grouped;
use dsokr_core::random::{generator, shuffle};
use dsokr_core::store::write_atomically;
use dsokr_molecule::Molecule;
use dsokr_spectra::{Adduct, Record, Spectrum};
use rayon::prelude::*;

use crate::cells;
use crate::error::Error;
use crate::table::{
    OnBadRow, Rows, Table, TableFormat, TableOptions, TextFormat, extensions, open_text,
};
use merging::merged;
pub use spectra_file::SpectraFile;

/// The reference spectra of a file, and the molecules that they or a table of candidates name.
///
/// Two spectra are of one molecule where the first blocks of their InChIKeys, or without such keys their structures
/// apart from stereo, are the same.
#[derive(Clone, Debug)]
pub struct Library {
    spectra: Vec<Reference>,
    molecules: Vec<LibraryMolecule>,
    /// Number of spectra that cannot be read, and of those without a SMILES that can be read.
    left_out: [usize; 2],
}

/// A molecule of a library.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryMolecule {
    /// The first block of its InChIKey where it is known, else a canonical SMILES without stereo; of a candidate its
    /// own id.
    pub id: String,
    /// The SMILES as the file writes it.
    pub smiles: String,
    /// The molecular formula in Hill's order.
    pub formula: String,
    /// The mass in Da of its atoms.
    pub mass: f64,
}

/// A spectrum of a known molecule.
#[derive(Clone, Debug)]
struct Reference {
    title: String,
    instrument: String,
    /// The position of the molecule among the molecules.
    molecule: usize,
    spectrum: Spectrum,
    /// How many spectra of the file it is made of.
    merged: usize,
}

/// What a file says about the molecule of a spectrum.
struct Stated {
    title: String,
    instrument: String,
    smiles: String,
    inchikey: String,
    spectrum: Spectrum,
}

/// Kinds of instruments that resolve elements, by parts of the names of their types.
const RESOLVING: [(&str, &str); 3] =
    [("FT", "orbitrap"), ("ORBITRAP", "orbitrap"), ("TOF", "qtof")];

/// The most that a precursor is from the ion of its molecule, in millionths of its m/z.
const PRECURSOR_PPM: f64 = 50.0;

impl Library {
    /// Reads the tandem spectra of a file that name a SMILES, as [`of_file`](Self::of_file) does.
    ///
    /// # Errors
    /// A file that cannot be read, is [none of spectra](SpectraFile::open), or has no such spectrum.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let Some(file) = SpectraFile::open(path)? else {
            let are_spectra = |format: &TableFormat| format.rows.is_of_spectra();
            return Err(Error::extension(path, &extensions(are_spectra)));
        };
        Self::of_file(&file)
    }

    /// Reads the tandem spectra of a file that name a SMILES; others are left out and counted.
    ///
    /// # Errors
    /// A file that cannot be read, or has no such spectrum.
    pub fn of_file(file: &SpectraFile) -> Result<Self, Error> {
        let path = file.path();
        let columns = file.columns().to_vec();
        let format = TextFormat::from_path(path);
        let on_bad_row = if columns.is_empty() { OnBadRow::default() } else { OnBadRow::Skip };
        let options = TableOptions { on_bad_row, optional_keys: true, ..TableOptions::default() };
        let mut rows = Rows::new(path, open_text(path)?, format, columns, options.of_rows())?;
        let mut stated = Vec::new();
        let mut without = 0;
        let mut has_inchi = false;
        let mut has_inchikey = false;
        while let Some(record) = rows.next_good_spectrum()? {
            match Stated::read(&record, path) {
                Some(spectrum) => stated.push(spectrum),
                None => without += 1,
            }
            has_inchi |= record.field("inchi").is_some();
            has_inchikey |= record.field("inchikey").is_some();
        }
        let skipped = rows.log_skipped(stated.len() + without);
        let mut library = Self::new(stated);
        library.left_out = [skipped, without + library.left_out[1]];
        if library.spectra.is_empty() {
            let remedy = if has_inchi {
                "; where the file has InChI, RDKit makes SMILES of them: Chem.MolToSmiles(Chem.MolFromInchi(text))"
            } else if has_inchikey {
                "; no molecule can be made of an InChIKey: add a field SMILES from a table of structures with these keys, such as that \
                 beside the library of spectra"
            } else {
                ""
            };
            let reason = format!(
                "no tandem spectrum names the SMILES of its molecule; at least one is needed{remedy}"
            );
            return Err(Error::file(path, reason));
        }
        Ok(library)
    }

    /// Creates the molecules of spectra that say them.
    fn new(stated: Vec<Stated>) -> Self {
        let mut texts: Vec<&str> = stated.iter().map(|one| one.smiles.as_str()).collect();
        texts.sort_unstable();
        texts.dedup();
        let structures: HashMap<&str, Structure> = texts
            .par_iter()
            .filter_map(|&smiles| Some((smiles, Structure::read(smiles)?)))
            .collect();
        // a structure that has a key in one spectrum has it in all
        let mut keys: HashMap<&str, &str> = HashMap::new();
        for one in stated.iter().filter(|one| !one.inchikey.is_empty()) {
            if let Some(structure) = structures.get(one.smiles.as_str()) {
                keys.entry(&structure.skeleton).or_insert(&one.inchikey);
            }
        }
        let mut library = Self { spectra: Vec::new(), molecules: Vec::new(), left_out: [0, 0] };
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut titles = HashSet::new();
        for one in &stated {
            let Some(structure) = structures.get(one.smiles.as_str()) else {
                library.left_out[1] += 1;
                continue;
            };
            let skeleton = structure.skeleton.as_str();
            let inchikey = Some(one.inchikey.as_str()).filter(|key| !key.is_empty());
            let id = inchikey.or(keys.get(skeleton).copied()).unwrap_or(skeleton);
            let next = library.molecules.len();
            let molecule = *places.entry(id.to_owned()).or_insert(next);
            if molecule == next {
                library.molecules.push(structure.molecule(id, &one.smiles));
            }
            // queries with one name would be one query
            let number = library.spectra.len() + 1;
            let mut title = one.title.clone();
            if title.is_empty() || !titles.insert(title.clone()) {
                title = format!("{title}#{number}");
            }
            library.spectra.push(Reference {
                title,
                instrument: one.instrument.clone(),
                molecule,
                spectrum: one.spectrum.clone(),
                merged: 1,
            });
        }
        library
    }

    /// Returns the same with the molecules of a table among its own, which have the ids of the table then: its columns
    /// `id`, or the numbers of its lines, and `smiles`.
    ///
    /// # Errors
    /// A table that cannot be read or has no column `smiles`.
    pub fn with_candidates(mut self, path: &Path) -> Result<Self, Error> {
        let names = Table::header(path, TableOptions::default())?.names;
        let numbered = !names.iter().any(|name| name == "id");
        let columns: &[&str] = if numbered { &["smiles"] } else { &["id", "smiles"] };
        let numbers = numbered.then_some("id");
        let options =
            TableOptions { on_bad_row: OnBadRow::Skip, numbers, ..TableOptions::default() };
        let table = Table::read_with(path, columns, options)?;
        table.log_skipped(0);
        let ids = table.column("id")?;
        let smiles = table.column("smiles")?;
        let structures: Vec<Option<Structure>> =
            smiles.par_iter().map(|cell| Structure::read(cells::smiles(cell))).collect();
        let mut all = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for ((id, smiles), structure) in ids.iter().zip(smiles).zip(&structures) {
            let Some(structure) = structure else { continue };
            places.entry(&structure.skeleton).or_insert(all.len());
            places.entry(id).or_insert(all.len());
            all.push(structure.molecule(id, smiles));
        }
        let mut moved = Vec::with_capacity(self.molecules.len());
        for molecule in self.molecules {
            let skeleton = Structure::read(&molecule.smiles).map(|structure| structure.skeleton);
            let skeleton = skeleton.unwrap_or_default();
            let place = places.get(molecule.id.as_str()).or(places.get(skeleton.as_str()));
            moved.push(place.copied().unwrap_or(all.len()));
            if place.is_none() {
                all.push(molecule);
            }
        }
        self.spectra.iter_mut().for_each(|one| one.molecule = moved[one.molecule]);
        self.molecules = all;
        Ok(self)
    }

    /// Returns the spectra of one adduct by instruments that resolve elements (Orbitrap, FT-ICR and time of flight),
    /// merged for each molecule and kind of instrument. The m/z of a precursor becomes the m/z of the molecule's ion;
    /// spectra whose precursor is elsewhere are left out. All molecules stay.
    ///
    /// # Errors
    /// An adduct that cannot be read.
    pub fn merged(&self, adduct: &str) -> Result<Self, Error> {
        let ion: Adduct = adduct.parse()?;
        let kind = |one: &Reference| -> Option<&'static str> {
            let mass = self.molecules[one.molecule].mass;
            let mz = ion.mz(mass);
            let near = (one.spectrum.precursor_mz() - mz).abs() <= mz * PRECURSOR_PPM * 1e-6;
            let is_ion =
                one.spectrum.adduct().is_some() && one.spectrum.ion_of(mass).ok()?.1 == ion;
            let instrument = one.instrument.to_uppercase();
            let (_, kind) = RESOLVING.iter().find(|(part, _)| instrument.contains(part))?;
            (near && is_ion).then_some(*kind)
        };
        let kept = self.spectra.iter().filter_map(|one| Some((one, kind(one)?)));
        let kept: Vec<(&Reference, &str)> = kept.collect();
        let keys: Vec<_> = kept.iter().map(|(one, kind)| (one.molecule, *kind)).collect();
        let groups = grouped(&keys);
        let spectra = groups.par_iter().filter_map(|group| {
            let (first, kind) = kept[group[0]];
            let molecule = &self.molecules[first.molecule];
            let all: Vec<&Spectrum> = group.iter().map(|&at| &kept[at].0.spectrum).collect();
            let precursor_mz = ion.mz(molecule.mass);
            let peaks = merged(&all, precursor_mz);
            if peaks.is_empty() {
                return None;
            }
            let spectrum = Spectrum::new(precursor_mz, peaks)
                .and_then(|spectrum| spectrum.with_adduct(adduct))
                .and_then(|spectrum| spectrum.with_formula(&molecule.formula));
            let reference = |spectrum| Reference {
                title: format!("{}-{kind}", molecule.id),
                instrument: kind.to_owned(),
                molecule: first.molecule,
                spectrum,
                merged: group.len(),
            };
            Some(spectrum.map(reference))
        });
        let spectra = spectra.collect::<Result<_, _>>()?;
        Ok(Self { spectra, molecules: self.molecules.clone(), left_out: self.left_out })
    }

    /// Returns the number of spectra.
    pub fn len(&self) -> usize {
        self.spectra.len()
    }

    /// Returns whether there is no spectrum.
    pub fn is_empty(&self) -> bool {
        self.spectra.is_empty()
    }

    /// Returns the molecules, of spectra and candidates.
    pub fn molecules(&self) -> &[LibraryMolecule] {
        &self.molecules
    }

    /// Returns the number of spectra that could not be read, and of those without a SMILES that can be read.
    pub fn left_out(&self) -> [usize; 2] {
        self.left_out
    }

    /// Returns the spectra in parts with these shares of the molecules, and in a last part with the rest. No molecule has
    /// spectra in two parts; the seed draws the molecules. Parts of a table, which groups of rows fill up to a number of
    /// rows, are drawn in `pairs`: there a molecule with many rows must not make a part too large.
    pub fn parts<const N: usize>(&self, shares: [f64; N], seed: u64) -> Vec<Vec<usize>> {
        let molecules: Vec<usize> = self.spectra.iter().map(|one| one.molecule).collect();
        let mut groups = grouped(&molecules);
        shuffle(&mut groups, &mut generator(seed, "split", 0));
        let all = groups.len() as f64;
        let mut groups = groups.into_iter();
        let mut parts: Vec<Vec<usize>> = shares
            .iter()
            .map(|share| groups.by_ref().take((share * all).round() as usize).flatten().collect())
            .collect();
        parts.push(groups.flatten().collect());
        // in the order of the file
        parts.iter_mut().for_each(|part| part.sort_unstable());
        parts
    }

    /// Writes some spectra as MGF, each with its molecule: the field `MOLECULE` is its id.
    ///
    /// # Errors
    /// The file system's errors.
    pub fn write_spectra(&self, path: &Path, spectra: &[usize]) -> Result<(), Error> {
        Ok(write_atomically(path, |out| {
            for &at in spectra {
                self.write_spectrum(out, &self.spectra[at])?;
            }
            Ok(())
        })?)
    }

    fn write_spectrum(&self, out: &mut dyn Write, one: &Reference) -> std::io::Result<()> {
        let Reference { title, instrument, spectrum, merged, .. } = one;
        let LibraryMolecule { id, smiles, formula, .. } = &self.molecules[one.molecule];
        writeln!(out, "BEGIN IONS\nTITLE={title}\nPEPMASS={:.5}", spectrum.precursor_mz())?;
        if let Some(adduct) = spectrum.adduct() {
            writeln!(out, "ADDUCT={adduct}")?;
        }
        if !instrument.is_empty() {
            writeln!(out, "INSTRUMENT_TYPE={instrument}")?;
        }
        writeln!(out, "FORMULA={formula}\nINCHIKEY={id}\nSMILES={smiles}\nMERGED={merged}")?;
        for peak in spectrum.peaks() {
            writeln!(out, "{:.5} {}", peak.mz, peak.intensity)?;
        }
        writeln!(out, "END IONS\n")
    }

    /// Writes the molecules as a table with the columns `id`, `smiles`, `formula` and `mass`.
    ///
    /// # Errors
    /// The file system's errors.
    pub fn write_molecules(&self, path: &Path) -> Result<(), Error> {
        Ok(write_atomically(path, |out| {
            writeln!(out, "id\tsmiles\tformula\tmass")?;
            for LibraryMolecule { id, smiles, formula, mass } in &self.molecules {
                writeln!(out, "{id}\t{smiles}\t{formula}\t{mass:.5}")?;
            }
            Ok(())
        })?)
    }
}

impl Stated {
    /// Reads what a record states about its molecule; none without a SMILES.
    fn read(record: &Record, path: &Path) -> Option<Self> {
        let field = |name: &str| record.field(name).unwrap_or_default().to_owned();
        let smiles = field("smiles");
        if smiles.is_empty() {
            return None;
        }
        let spectrum = record.spectrum(path.parent()).ok()?.parse().ok()?;
        let block = field("inchikey").split('-').next().unwrap_or_default().to_owned();
        let is_block = block.len() == 14 && block.bytes().all(|byte| byte.is_ascii_uppercase());
        let title = field("identifier");
        Some(Self {
            title: if title.is_empty() { field("name") } else { title },
            instrument: field("instrument_type"),
            smiles,
            inchikey: if is_block { block } else { String::new() },
            spectrum,
        })
    }
}

/// The properties of a molecule that identify it.
struct Structure {
    /// A canonical SMILES without stereo.
    skeleton: String,
    formula: String,
    mass: f64,
}

impl Structure {
    fn read(smiles: &str) -> Option<Self> {
        let molecule = Molecule::parse(smiles).ok()?;
        let mass = molecule.neutral_mass();
        let formula = dsokr_molecule::formula(&molecule.composition());
        Some(Self { skeleton: molecule.without_stereo().canonical_smiles(), formula, mass })
    }

    fn molecule(&self, id: &str, smiles: &str) -> LibraryMolecule {
        LibraryMolecule {
            id: id.to_owned(),
            smiles: smiles.to_owned(),
            formula: self.formula.clone(),
            mass: self.mass,
        }
    }
}
