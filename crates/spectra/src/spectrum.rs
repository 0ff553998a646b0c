//! A spectrum and its text.

use std::fmt;
use std::str::FromStr;

use dsokr_core::Error;
use dsokr_core::message::shorten;
use dsokr_molecule::{ElementCounts, read_formula};

use crate::adduct::Adduct;
use crate::formats::SpectrumFormat;
use crate::peaks::{Peak, PeakList, STRONGEST};
use crate::polarity::Polarity;
use crate::record::is_known;
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
/// assert_eq!((spectrum.precursor_mz(), spectrum.peaks().len()), (242.1434, 2));
/// let pasted: Spectrum = "BEGIN IONS\nPEPMASS=242.1434\n68.02432 0.274\n158.04956 1\nEND IONS".parse()?;
/// assert_eq!(pasted, spectrum);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    precursor_mz: f64,
    adduct: Option<String>,
    formula: Option<String>,
    tree: Option<String>,
    peaks: Vec<Peak>,
}

impl FromStr for Spectrum {
    type Err = Error;

    /// Reads a text; its [`Error::Value`] says what is wrong, and what is allowed.
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
    /// Creates a spectrum of a precursor with this m/z. Peaks are put in the order of their m/z.
    ///
    /// # Errors
    /// [`Error::Value`] for an m/z or an intensity that is not a number above 0, and for no peaks.
    ///
    /// ```
    /// use dsokr_spectra::{Peak, Spectrum};
    ///
    /// let peaks = vec![Peak { mz: 158.04956, intensity: 1.0 }, Peak { mz: 68.02432, intensity: 0.274 }];
    /// let spectrum = Spectrum::new(242.1434, peaks)?.with_adduct("[M+H]+")?;
    /// assert_eq!(spectrum.to_string(), "242.1434 adduct=[M+H]+ 68.02432:0.274 158.04956:1");
    /// assert!(Spectrum::new(242.1434, Vec::new()).is_err());
    /// # Ok::<(), dsokr_core::Error>(())
    /// ```
    pub fn new(precursor_mz: f64, mut peaks: Vec<Peak>) -> Result<Self, Error> {
        let check = |what: &str, value: f64| {
            let holds = value.is_finite() && value > 0.0;
            Error::ensure(holds, what, value, "a number above 0")
        };
        check("the precursor's m/z", precursor_mz)?;
        for peak in &peaks {
            check("a peak's m/z", peak.mz)?;
            check("a peak's intensity", peak.intensity)?;
            let allowed = format_args!("a number above 0, at most {STRONGEST:e}");
            let holds = peak.intensity <= STRONGEST;
            Error::ensure(holds, "a peak's intensity", peak.intensity, allowed)?;
        }
        if peaks.is_empty() {
            return Err(Error::value("the peaks of a spectrum", "none", "at least one"));
        }
        peaks.sort_by(|a, b| a.mz.total_cmp(&b.mz));
        Ok(Self { precursor_mz, adduct: None, formula: None, tree: None, peaks })
    }

    /// Sets the adduct of the precursor, such as `[M+H]+`.
    ///
    /// # Errors
    /// [`Error::Value`] for a text that is empty or has spaces, which part the words of a spectrum.
    pub fn with_adduct(self, adduct: &str) -> Result<Self, Error> {
        let adduct = Some(word("the spectrum's adduct", adduct)?);
        Ok(Self { adduct, ..self })
    }

    /// Sets the adduct of a spectrum that names none.
    ///
    /// # Errors
    /// As [`with_adduct`](Self::with_adduct).
    pub fn or_adduct(self, adduct: &str) -> Result<Self, Error> {
        if self.adduct.is_some() { Ok(self) } else { self.with_adduct(adduct) }
    }

    /// Sets the formula of the molecule, such as `C9H8O4`.
    ///
    /// # Errors
    /// [`Error::Value`] for a text that is empty or has spaces, which part the words of a spectrum.
    pub fn with_formula(self, formula: &str) -> Result<Self, Error> {
        let formula = Some(word("the spectrum's formula", formula)?);
        Ok(Self { formula, ..self })
    }

    /// Returns m/z of the precursor, above 0.
    pub fn precursor_mz(&self) -> f64 {
        self.precursor_mz
    }

    /// Returns the adduct of the precursor, as it is written; [`Adduct`] reads it.
    pub fn adduct(&self) -> Option<&str> {
        self.adduct.as_deref()
    }

    /// Returns the formula of the molecule, as it is written.
    pub fn formula(&self) -> Option<&str> {
        self.formula.as_deref()
    }

    /// Returns the fragmentation tree, as it is written.
    pub fn tree(&self) -> Option<&str> {
        self.tree.as_deref()
    }

    /// Returns m/z and intensity of each peak, both above 0, by increasing m/z; at least one.
    pub fn peaks(&self) -> &[Peak] {
        &self.peaks
    }

    /// Returns the adduct of the precursor where its molecule has this mass in Da, as it is written and as it is read: of
    /// several that are possible the one whose ion is nearest to the precursor, and the first of those that are equally
    /// near; `[M+H]+` where the spectrum does not say.
    ///
    /// # Errors
    /// An adduct that cannot be read.
    ///
    /// ```
    /// use dsokr_spectra::Spectrum;
    ///
    /// // paracetamol has 151.0633 Da
    /// let spectrum: Spectrum = "174.0525 adduct=[M+H]+/[M+Na]+ 132.042:1".parse()?;
    /// assert_eq!(spectrum.ion_of(151.0633)?.0, "[M+Na]+");
    /// # Ok::<(), dsokr_core::Error>(())
    /// ```
    pub fn ion_of(&self, mass: f64) -> Result<(&str, Adduct), Error> {
        let far = |adduct: &Adduct| (adduct.mz(mass) - self.precursor_mz).abs();
        let mut texts = Adduct::texts(self.adduct().unwrap_or(Adduct::PROTONATED));
        let first = texts.next().unwrap_or_default();
        texts.try_fold((first, first.parse::<Adduct>()?), |nearest, text| {
            let adduct = text.parse::<Adduct>()?;
            Ok(if far(&adduct) < far(&nearest.1) { (text, adduct) } else { nearest })
        })
    }

    /// Returns the adducts that the precursor may have; none where the spectrum does not say.
    ///
    /// # Errors
    /// An adduct that cannot be read.
    pub fn ions(&self) -> Result<Vec<Adduct>, Error> {
        self.adduct.as_deref().map_or_else(|| Ok(Vec::new()), Adduct::alternatives)
    }

    /// Returns the polarity of the precursor, where the spectrum says it; also where the rest of its adduct is unknown, as
    /// in `[M+?]-`.
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
        let adduct = adduct.filter(|adduct| is_known(adduct));
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

/// Returns a word of the text of a spectrum.
fn word(what: &str, text: &str) -> Result<String, Error> {
    if text.is_empty() || text.contains(char::is_whitespace) {
        let found = format_args!("{:?}", shorten(text));
        return Err(Error::value(what, found, "a text without spaces, of at least a character"));
    }
    Ok(text.to_owned())
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
