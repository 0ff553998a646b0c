//! How a spectrum is written as a text: its precursor, what is known of it, and its peaks.

/// The column that holds the text of a spectrum.
pub const SPECTRUM: &str = "spectrum";

/// The columns of a table that a text of a spectrum is made of: precursor, m/z and intensities.
pub const PARTS: [&str; 3] = ["precursor_mz", "mzs", "intensities"];

/// The words that a text has where they are known: adduct, formula and fragmentation tree.
pub(crate) const KNOWN: [&str; 3] = ["adduct", "formula", "tree"];

/// Returns the text of a spectrum before its peaks.
pub(crate) fn head(precursor_mz: &str, fields: [Option<&str>; 3]) -> String {
    let mut text = precursor_mz.trim().to_owned();
    for (key, value) in KNOWN.into_iter().zip(fields) {
        // spaces divide words
        let value: String = value.unwrap_or_default().split_whitespace().collect();
        if !value.is_empty() {
            text.extend([" ", key, "=", &value]);
        }
    }
    text
}

/// Returns the m/z of a precursor.
pub(crate) fn precursor(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("the precursor's m/z {text:?} is not a number above 0"))
}
