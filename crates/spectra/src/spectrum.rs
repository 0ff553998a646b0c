//! A spectrum and its text.

use std::fmt;
use std::str::FromStr;

use dsokr_core::Error;
use dsokr_core::message::shorten;
use dsokr_molecule::{ElementCounts, read_formula};

use crate::adduct::Adduct;
use crate::formats::SpectrumFormat;
use crate::peaks::{Peak, PeakList};
use crate::polarity::Polarity;
use crate::text::{KNOWN, head, precursor};

/// A tandem mass spectrum.
///
/// As a text a spectrum is one line: the precursor's m/z; where they are known, the adduct as `adduct=[M+H]+`, the
/// formula of the molecule as `formula=C9H8O4` and the [`FragmentationTree`](crate::tree::FragmentationTree) as
/// `tree=C9H8O4/0>C9H6O3`; and then each peak as `m/z:intensity`, with spaces between. The first line of a longer text
/// tells its format: `BEGIN IONS` is MGF, `ACCESSION:` a MassBank record, everything else MSP.
///
/// ```
/// use dsokr_spectra::Spectrum;
///
/// let spectrum: Spectrum = "242.1434 68.02432:0.274 158.04956:1".parse()?;
/// assert_eq!((spectrum.precursor_mz, spectrum.peaks.len()), (242.1434, 2));
/// let pasted: Spectrum = "BEGIN IONS\nPEPMASS=242.1434\n68.02432 0.274\n158.04956 1\nEND IONS".parse()?;
/// assert_eq!(pasted, spectrum);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// m/z of the precursor, above 0.
    pub precursor_mz: f64,
    /// The adduct of the precursor, as it is written; [`Adduct`] reads it.
    pub adduct: Option<String>,
    /// The formula of the molecule, as it is written.
    pub formula: Option<String>,
    /// The fragmentation tree, as it is written.
    pub tree: Option<String>,
    /// m/z and intensity of each peak, both above 0, by increasing m/z; at least one.
    pub peaks: Vec<Peak>,
}

impl FromStr for Spectrum {
    type Err = Error;

    /// [`Error::Value`] says what is wrong, and what is allowed.
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::read(text).map_err(|reason| {
            let found = format_args!("{:?} ({reason})", shorten(text));
            let allowed = "the precursor's m/z and the peaks, such as \"301.0712 153.0182:1 229.0495:0.3\", or an entry \
                           of an MGF, MSP or MassBank file";
            Error::value("the spectrum", found, allowed)
        })
    }
}

impl Spectrum {
    /// Returns the adduct of the precursor, of several that are possible the first; `[M+H]+` where the spectrum does
    /// not say.
    ///
    /// # Errors
    /// An adduct that cannot be read.
    pub fn ion(&self) -> Result<Adduct, Error> {
        let first = self.ions()?.into_iter().next();
        first.map_or_else(|| Adduct::PROTONATED.parse(), Ok)
    }

    /// Returns the adducts that the precursor may have; none where the spectrum does not say.
    ///
    /// # Errors
    /// An adduct that cannot be read.
    pub fn ions(&self) -> Result<Vec<Adduct>, Error> {
        self.adduct.as_deref().map_or_else(|| Ok(Vec::new()), Adduct::alternatives)
    }

    /// Returns whether the precursor is positive or negative, where the spectrum says it; also where the rest of its
    /// adduct is unknown, as in `[M+?]-`.
    pub fn polarity(&self) -> Option<Polarity> {
        self.adduct.as_deref().and_then(Polarity::of_adduct)
    }

    /// Returns the atoms of the molecule.
    ///
    /// # Errors
    /// A formula that is absent or cannot be read.
    pub fn molecule(&self) -> Result<ElementCounts, Error> {
        let formula = self.formula.as_deref();
        formula.and_then(read_formula).ok_or_else(|| {
            let found = formula.map_or("absent".into(), |text| format!("{:?}", shorten(text)));
            Error::value("the spectrum's formula", found, "a formula such as C9H8O4")
        })
    }

    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.starts_with('<') || text.contains(['\n', '\r']) {
            return Self::read(&SpectrumFormat::told_by(text).line(text)?);
        }
        let mut words = text.split_ascii_whitespace().peekable();
        let precursor_mz = precursor(words.next().unwrap_or_default())?;
        let [adduct, formula, tree] = KNOWN.map(|key| {
            let value = |word: &str| Some(word.strip_prefix(key)?.strip_prefix('=')?.to_owned());
            value(words.next_if(|word| value(word).is_some())?)
        });
        let mut peaks = PeakList::default();
        for word in words {
            let (mz, intensity) = word
                .split_once(':')
                .ok_or_else(|| format!("a peak {word:?} is not m/z:intensity"))?;
            peaks.add(mz, intensity)?;
        }
        Ok(Self { precursor_mz, adduct, formula, tree, peaks: peaks.finish()?.peaks })
    }
}

impl fmt::Display for Spectrum {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(
            out,
            "{}",
            head(
                &self.precursor_mz.to_string(),
                [&self.adduct, &self.formula, &self.tree].map(Option::as_deref)
            )
        )?;
        self.peaks.iter().try_for_each(|Peak { mz, intensity }| write!(out, " {mz}:{intensity}"))
    }
}
