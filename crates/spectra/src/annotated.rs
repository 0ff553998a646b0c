//! Spectra with annotated peaks, as text.

use std::fmt::Write;

use dsokr_molecule::Molecule;

use crate::fragments::Explanation;
use crate::spectrum::Spectrum;

/// A spectrum whose peaks are fragments of a molecule.
#[derive(Clone, Copy, Debug)]
pub struct AnnotatedSpectrum<'a> {
    /// What the entry is called.
    pub name: &'a str,
    /// The spectrum.
    pub spectrum: &'a Spectrum,
    /// The molecule as a SMILES.
    pub smiles: &'a str,
    /// The molecule.
    pub molecule: &'a Molecule,
    /// What the molecule explains.
    pub explanation: &'a Explanation,
    /// What else is known, by name.
    pub comments: &'a [(&'a str, String)],
}

impl AnnotatedSpectrum<'_> {
    /// Returns an entry of a file in NIST's format MSP, with a blank line behind it. The annotation of a peak is in mzPAF, the
    /// peak annotation format of HUPO-PSI: the formula of the fragment's ion, with the isotopes that the molecule names
    /// (`f{C2[2H3]O}`), and how far the peak is above it.
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    /// use dsokr_spectra::{AnnotatedSpectrum, PeakExplainer, Spectrum};
    ///
    /// let spectrum: Spectrum = "152.0706 adduct=[M+H]+ 60:0.1 110.0600:1".parse()?;
    /// let smiles = "CC(=O)Nc1ccc(O)cc1";
    /// let molecule = Molecule::parse(smiles).unwrap();
    /// let explanation = PeakExplainer::new(&spectrum, 10.0)?.explain(&molecule).unwrap();
    /// let comments = [("score", "0.5".to_owned())];
    /// let annotated = AnnotatedSpectrum {
    ///     name: "paracetamol", spectrum: &spectrum, smiles, molecule: &molecule, explanation: &explanation, comments: &comments,
    /// };
    /// let expected = "NAME: paracetamol
    /// PRECURSORMZ: 152.0706
    /// PRECURSORTYPE: [M+H]+
    /// FORMULA: C8H9NO2
    /// SMILES: CC(=O)Nc1ccc(O)cc1
    /// COMMENT: \"score=0.5\"
    /// Num Peaks: 2
    /// 60\t0.1
    /// 110.06\t1\t\"f{C6H8NO}/-0.4ppm\"
    ///
    /// ";
    /// assert_eq!(annotated.msp(), expected);
    /// # Ok::<(), dsokr_core::Error>(())
    /// ```
    pub fn msp(&self) -> String {
        let spectrum = self.spectrum;
        let mut entry = String::new();
        let mut field = |name: &str, value: &str| {
            let _ = writeln!(entry, "{name}: {}", one_line(value));
        };
        field("NAME", self.name);
        field("PRECURSORMZ", &spectrum.precursor_mz().to_string());
        if let Some(adduct) = spectrum.adduct() {
            field("PRECURSORTYPE", adduct);
        }
        field("FORMULA", &self.molecule.formula());
        field("SMILES", self.smiles);
        if !self.comments.is_empty() {
            let comments = self
                .comments
                .iter()
                .map(|(name, value)| format!("\"{name}={}\"", value.replace('"', "'")));
            field("COMMENT", &comments.collect::<Vec<_>>().join(" "));
        }
        field("Num Peaks", &spectrum.peaks().len().to_string());
        let mut annotations = self.explanation.peaks.iter().peekable();
        for (at, peak) in spectrum.peaks().iter().enumerate() {
            let _ = write!(entry, "{}\t{}", peak.mz, peak.intensity);
            if let Some(fragment) = annotations.next_if(|fragment| fragment.peak == at) {
                let formula = fragment.formula(self.molecule);
                // without a sign of zero
                let ppm = (10.0 * fragment.ppm).round() / 10.0 + 0.0;
                let _ = write!(entry, "\t\"f{{{formula}}}/{ppm:.1}ppm\"");
            }
            entry.push('\n');
        }
        entry.push('\n');
        entry
    }
}

/// Returns a text without the ends of lines, which end a field.
fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).collect::<Vec<_>>().join(" ")
}
