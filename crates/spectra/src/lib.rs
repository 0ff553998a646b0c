//! Tandem mass spectra: peaks and precursors, the text of a spectrum, the files of spectra that are read as tables, and
//! features of spectra.
//!
//! | extension | format | end of a spectrum |
//! |---|---|---|
//! | `.mgf` | Mascot generic format, as Mascot, GNPS and MassSpecGym write it | `END IONS` |
//! | `.msp` | NIST text, also with MoNA's comments `"key=value"` | a blank line |
//! | `.massbank` | MassBank records, one after the other | `//` |
//! | `.mzml` | mzML 1.1: spectra of MS level 2; parameters are fields by name | `</spectrum>` |
//!
//! Peaks may be in any order; peaks of intensity 0 are left out. A spectrum that cannot be used, such as one without
//! precursor or peaks and a profile, is an error with its line; by default it is skipped and counted. Spectra that
//! state a different MS level than 2 (`MSLEVEL=1`, `MS_TYPE MS`) are left out. Where no adduct is named, ion mode and
//! charge determine it: protons are added in positive mode, and lost in negative mode.
//!
//! The columns of such a table are the fields of the spectra, and `spectrum`, the [text](Spectrum) of precursor and
//! peaks. Fields have the names of the file, whatever their case, or MassSpecGym's names in each format: `identifier`,
//! `name`, `precursor_mz`, `adduct`, `formula`, `smiles`, `inchi`, `inchikey`, `collision_energy`, `instrument_type`,
//! `ion_mode`, `charge` and `ms_level`. A table with tabs or commas has the column `spectrum` too. It is made of
//! `precursor_mz`, `mzs` and `intensities` as MassSpecGym has them (lists with commas between), and of the columns
//! `adduct`, `charge`, `ion_mode`, `formula` and `tree` where they exist. The field `tree` of each format is a
//! [`FragmentationTree`], or names a .json file of SIRIUS that holds it, with a path below the folder of the file of
//! spectra.

mod adduct;
mod annotated;
mod features;
mod formats;
mod fragments;
mod ionization;
mod massbank;
mod mgf;
mod msp;
mod mzml;
mod peak_lines;
mod peaks;
mod polarity;
mod record;
mod spectrum;
mod subformulas;
mod text;
mod tree;

pub use adduct::Adduct;
pub use annotated::AnnotatedSpectrum;
pub use features::{FittedPeaks, LINE, POSITIONS, PeakFeatures, PeakSource};
pub use formats::{FileContext, SpectrumFormat};
pub use fragments::{Explanation, FragmentPeak, PeakExplainer};
pub use peaks::Peak;
pub use polarity::Polarity;
pub use record::{Record, Wrong};
pub use spectrum::Spectrum;
pub use subformulas::{Fragment, Subformulas};
pub use text::{PARTS, SPECTRUM};
pub use tree::FragmentationTree;

/// The program of the README, which runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
