//! Polarity and charge of a precursor, as files write them, and the adduct where they name none.

use dsokr_core::message::shorten;

use crate::adduct::Adduct;
use crate::polarity::Polarity;

impl Polarity {
    /// Creates the polarity of the adduct at the end of a text whose other parts may be unknown, such as `[M+?]-` and `M+?-`.
    pub(crate) fn of_adduct(text: &str) -> Option<Self> {
        if let Ok(adduct) = text.parse::<Adduct>() {
            return Some(adduct.polarity());
        }
        let charge = match text.rsplit_once(']') {
            Some((_, charge)) => charge,
            None => last_sign(text)?,
        };
        match (charge.contains('+'), charge.contains('-')) {
            (true, false) => Some(Self::Positive),
            (false, true) => Some(Self::Negative),
            (_, _) => None,
        }
    }

    /// Creates the polarity that the [text](crate::spectrum::Spectrum) of a spectrum says, whose peaks are not read.
    pub fn of_text(text: &str) -> Option<Self> {
        let head = text.split_ascii_whitespace().skip(1).take_while(|word| word.contains('='));
        head.filter_map(|word| word.strip_prefix("adduct=")).find_map(Self::of_adduct)
    }

    /// Returns the adduct of an ion with so many charges, as protons make them, where nothing says more: `[M+H]+`,
    /// `[M-H]-`, `[M+2H]2+`.
    pub fn protons(self, charges: u32) -> String {
        let sign = match self {
            Self::Positive => '+',
            Self::Negative => '-',
        };
        match charges {
            0 | 1 => format!("[M{sign}H]{sign}"),
            charges => format!("[M{sign}{charges}H]{charges}{sign}"),
        }
    }
}

/// Returns the sign at the end of an adduct without brackets; none of another text, such as `ESI-`.
fn last_sign(text: &str) -> Option<&str> {
    let ion = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_adduct = ion.starts_with("M+") || ion.starts_with("M-");
    let before = text.strip_suffix(['+', '-']).filter(|_| is_adduct)?;
    Some(&text[before.len()..])
}

/// Methods of ionisation, which leave open whether ions are positive or negative.
const METHODS: [&str; 17] = [
    "apci", "appi", "asap", "ci", "dart", "desi", "ei", "esi", "fab", "fd", "fi", "hesi", "ldi",
    "maldi", "nanoesi", "nsi", "si",
];

/// What stands beside methods of ionisation in the names of sources and instruments.
const BESIDE_METHODS: [&str; 35] = [
    "b", "be", "ce", "di", "eb", "ebeb", "ft", "fticr", "gc", "h", "hplc", "ii", "ims", "it",
    "itft", "ittof", "lc", "ltq", "ms", "nano", "orbitrap", "q", "qe", "qehf", "qft", "qit",
    "qittof", "qq", "qqq", "qtof", "tims", "tof", "toftof", "uhplc", "uplc",
];

/// Returns whether a text, such as `ESI`, `ESI/APCI` and `LC-ESI-QTOF`, names methods of ionisation, and instruments beside them, and
/// nothing more. A hyphen between words is no sign.
pub(crate) fn names_methods_alone(text: &str) -> bool {
    let text = text.to_lowercase().replace(['−', '–'], "-").replace(" - ", " ");
    let is_divider = |c: char| !c.is_alphanumeric() && !['+', '-'].contains(&c);
    let is_known = |word: &str| METHODS.contains(&word) || BESIDE_METHODS.contains(&word);
    let mut words = text.split(is_divider).filter(|word| !word.is_empty());
    // a sign at an edge of a word leaves an empty part
    words.all(|word| word.split('-').all(is_known))
}

/// Returns the numbers of charges that a text allows, such as `2+`, `-1`, `1`, `(1-)`, `-` and `2+ and 3+`, each with the
/// polarity that its sign says; 0 is an unknown charge. Tables that were read as floats have `2.0`.
fn charges(text: &str) -> Vec<(u32, Option<Polarity>)> {
    let words = text.split([',', ' ', ';', '/']).filter(|word| !word.is_empty());
    let read = |word: &str| {
        let number = match word.trim_matches(['+', '-', '(', ')']) {
            "" if word.contains(['+', '-']) => 1,
            number => {
                let whole = number.strip_suffix(".0").unwrap_or(number);
                whole.parse().ok().filter(|&number| number < 100)?
            }
        };
        let sign = word.contains('+').then_some(Polarity::Positive);
        Some((number, sign.or(word.contains('-').then_some(Polarity::Negative))))
    };
    words.filter_map(read).collect()
}

/// Returns the adduct of a spectrum by its fields: the one that is named, else the last word of a name such as
/// `Mellein M+H`, else protons by ion mode and charge; none where nothing says the polarity or more charges than one.
///
/// # Errors
/// An adduct of the other polarity than the ion mode, and an ion mode that is neither positive nor negative where nothing
/// else says the polarity.
pub(crate) fn adduct(
    [named, name, mode, charge]: [Option<&str>; 4],
) -> Result<Option<String>, String> {
    let mode_polarity = mode.and_then(Polarity::of_mode);
    // libraries of GNPS have the adduct behind the name of the molecule
    let behind = || {
        let word = name?.split_whitespace().last()?;
        word.parse::<Adduct>().is_ok().then_some(word)
    };
    if let Some(adduct) = named.or_else(behind) {
        return match (Polarity::of_adduct(adduct), mode_polarity) {
            (Some(adduct_polarity), Some(stated)) if adduct_polarity != stated => {
                Err(format!("the adduct {adduct} is {adduct_polarity}, and the ion mode {stated}"))
            }
            (_, _) => Ok(Some(adduct.to_owned())),
        };
    }
    let charges = charges(charge.unwrap_or_default());
    let several = charges.iter().any(|&(number, _)| number > 1);
    let signed = charges.iter().find_map(|&(_, sign)| sign);
    if let (Some(mode), None, None) = (mode, mode_polarity, signed) {
        let mode = shorten(mode);
        return Err(format!(
            "the ion mode {mode:?} is neither positive nor negative; write one of these, or the adduct"
        ));
    }
    // an ion mode says more than a sign: some programs write every charge with a plus
    let default = several.then_some(Polarity::Positive);
    let Some(polarity) = mode_polarity.or(signed).or(default) else { return Ok(None) };
    let mut numbers: Vec<u32> = charges.iter().map(|&(number, _)| number).collect();
    if numbers.is_empty() {
        numbers.push(1);
    }
    let all: Vec<String> = numbers.into_iter().map(|number| polarity.protons(number)).collect();
    Ok(Some(all.join("/")))
}
