//! How numbers are written: signs, units, currencies, and groups of digits.

use std::borrow::Cow;

/// How the numbers of a column are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberNotation {
    /// The sign before decimals: `.` or `,`. The other one may group thousands, and so may apostrophes and spaces.
    pub decimal: char,
    /// The unit or currency before or behind each number; empty where there is none.
    pub unit: String,
    /// Whether the other sign is before decimals too, in some cells, so that neither of both groups thousands.
    pub mixed_decimals: bool,
}

impl Default for NumberNotation {
    fn default() -> Self {
        Self { decimal: '.', unit: String::new(), mixed_decimals: false }
    }
}

/// Signs of currencies, which stand before or behind numbers.
pub const CURRENCIES: [char; 5] = ['€', '$', '£', '¥', '₹'];

/// Codes of currencies, which stand before or behind numbers too.
pub const CURRENCY_CODES: [&str; 16] = [
    "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CAD", "AUD",
    "US$", "R$", "Rs.",
];

/// Hyphens and dashes that stand for no cents behind the sign before decimals, as in `25.-` and `25,–`.
pub const DASHES: [char; 3] = ['-', '\u{2013}', '\u{2014}'];

/// The most parts of a number whose thousands blanks group; more are several numbers.
pub const GROUPS: usize = 5;

/// The sign that groups thousands in Switzerland, whatever the sign before decimals.
const SWISS_GROUP: &str = "'";

/// The sign that groups digits in India.
const INDIAN_GROUP: &str = ",";

/// Returns a unit, or a cell that may have one, with the micro sign in the place of the Greek letter mu, which some programs
/// write for it.
///
/// ```
/// use dsokr_data::cells::with_micro_sign;
///
/// assert_eq!(with_micro_sign("5.2 \u{3bc}M"), "5.2 \u{b5}M");
/// ```
pub fn with_micro_sign(text: &str) -> Cow<'_, str> {
    // nearly all cells have none
    if text.contains('\u{3bc}') { text.replace('\u{3bc}', "\u{b5}").into() } else { text.into() }
}

/// Spaces at which no line breaks, which group digits: of usual width, narrow, thin, and as wide as a digit.
const NO_BREAK_SPACES: [char; 4] = ['\u{a0}', '\u{202f}', '\u{2009}', '\u{2007}'];

impl NumberNotation {
    /// Returns the same notation without a unit.
    pub fn unitless(&self) -> Self {
        Self { unit: String::new(), ..*self }
    }

    /// Returns the number of a cell as Rust reads it; none of a cell that holds anything else.
    ///
    /// ```
    /// use dsokr_data::cells::NumberNotation;
    ///
    /// let plain = NumberNotation::default();
    /// assert_eq!(plain.normalised("1,234.5").as_deref(), Some("1234.5"));
    /// assert_eq!(plain.normalised("1\u{a0}234").as_deref(), Some("1234"));
    /// assert_eq!(plain.normalised("84,44"), None);
    /// assert_eq!(plain.normalised("2,011E+03"), None);
    /// assert_eq!(plain.normalised("(85.12)").as_deref(), Some("-85.12"));
    /// let euros = NumberNotation { decimal: ',', unit: "€".into(), ..plain };
    /// assert_eq!(euros.normalised("€1.234,50").as_deref(), Some("1234.50"));
    /// ```
    pub fn normalised<'c>(&self, cell: &'c str) -> Option<Cow<'c, str>> {
        // nearly all numbers are written as Rust reads them, and nearly all other cells are words
        if let Some(number) = self.plain(cell) {
            return Some(number.into());
        }
        if !cell.contains(|c: char| c.is_ascii_digit() || digit_elsewhere(c).is_some()) {
            return None;
        }
        let cell = written(cell);
        let (sign, number) = self.amount(&cell);
        let signs = [self.decimal, self.other_sign()];
        let has_other = self.mixed_decimals && number.contains(signs[1]);
        let [decimal, group] = if has_other { [signs[1], signs[0]] } else { signs };
        let whole_end = number.find([decimal, 'e', 'E']).unwrap_or(number.len());
        let (whole, rest) = number.split_at(whole_end);
        let whole: Cow<str> = if whole.is_ascii() {
            whole.into()
        } else {
            whole.replace('’', SWISS_GROUP).replace(NO_BREAK_SPACES, " ").into()
        };
        let whole: Cow<str> = if whole.contains(SWISS_GROUP) {
            ungrouped(&whole, SWISS_GROUP)?.into()
        } else if whole.contains(' ') {
            ungrouped(&whole, " ")?.into()
        } else if whole.contains(group) && !self.mixed_decimals {
            // one sign before an exponent is before decimals, as in `2,011E+03`
            let has_exponent = rest.starts_with(['e', 'E']);
            if has_exponent && whole.matches(group).count() == 1 {
                return None;
            }
            ungrouped(&whole, group.encode_utf8(&mut [0; 4]))?.into()
        } else {
            whole
        };
        let mut groups_of_decimals = rest.rsplit(NO_BREAK_SPACES).skip(1);
        if !groups_of_decimals.all(|group| group.trim_start_matches(decimal).len() == 3) {
            return None;
        }
        let rest = rest.replace(NO_BREAK_SPACES, "").replacen(decimal, ".", 1);
        let number = format!("{sign}{whole}{rest}");
        is_in_32_bits(&number).then(|| number.into())
    }

    /// Returns a cell that is a number as Rust reads it, in which nothing groups digits or is a unit.
    fn plain<'c>(&self, cell: &'c str) -> Option<&'c str> {
        let cell = cell.trim();
        let is_plain = |byte: u8| {
            byte.is_ascii_digit()
                || b"+-eE".contains(&byte)
                || (byte == b'.' && self.decimal == '.')
        };
        let is_number = self.unit.is_empty() && cell.bytes().all(is_plain) && is_in_32_bits(cell);
        is_number.then_some(cell)
    }

    /// Returns whether blanks in cells group thousands rather than divide numbers. With decimal commas they do; with decimal points a
    /// cell must be a number without a blank, or have a group that begins with 0, as in `1 050`.
    ///
    /// ```
    /// use dsokr_data::cells::NumberNotation;
    ///
    /// let plain = NumberNotation::default();
    /// assert!(plain.blanks_group(["3 799", "950"]) && plain.blanks_group(["1 000 000", "2 500 000"]));
    /// assert!(!plain.blanks_group(["640 480", "320 240"]));
    /// ```
    pub fn blanks_group<'c>(&self, cells: impl IntoIterator<Item = &'c str>) -> bool {
        let begins_with_zero = |group: &str| {
            group.starts_with('0') && group.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
        };
        self.decimal == ','
            || cells.into_iter().any(|cell| {
                let mut groups = cell.split_ascii_whitespace().skip(1).peekable();
                if groups.peek().is_some() {
                    groups.any(begins_with_zero)
                } else {
                    self.normalised(cell).is_some()
                }
            })
    }

    /// Returns the sign of an amount below 0, as accounts write it, and the number that it stands for: before the currency
    /// (`-$85.12`), behind decimals or groups (`85.12-`; `2-` is a charge or a grade), or as brackets (`($85.12)`). With a unit other
    /// than a currency, neither a sign behind nor brackets say so. Other cells have no such sign, and are returned without the
    /// unit. A dash that stands for no cents (`25.-`) is no sign, and is left out.
    pub(super) fn amount<'c>(&self, cell: &'c str) -> (&'static str, &'c str) {
        let is_of_accounts = self.unit.is_empty() || self.has_currency();
        let number = self.without_unit(cell);
        let number = if is_of_accounts { self.without_dash_of_cents(number) } else { number };
        let in_brackets = number.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let in_brackets = in_brackets.filter(|_| is_of_accounts);
        let is_long = number.contains(['.', ',']);
        let before_sign = number.strip_suffix('-').filter(|_| is_long && is_of_accounts);
        let has_currency =
            |rest: &&str| !self.unit.is_empty() && rest.starts_with(self.unit.as_str());
        let behind_sign = number.strip_prefix('-').map(str::trim_start).filter(has_currency);
        let amount = in_brackets.or(before_sign).or(behind_sign);
        let amount = amount.map(|amount| self.without_unit(amount.trim()));
        match amount {
            Some(amount) if !amount.starts_with(['-', '+', '(']) => ("-", amount),
            Some(_) | None => ("", number),
        }
    }

    /// Returns a number without the dash that stands for no cents, and the sign before it, which must be the one before decimals where
    /// the number has others.
    fn without_dash_of_cents<'c>(&self, number: &'c str) -> &'c str {
        let before_dash = number.trim_end_matches(DASHES);
        let signs = [self.decimal, self.other_sign()];
        let Some(whole) = before_dash.strip_suffix(signs) else { return number };
        let has_dash = before_dash.len() < number.len();
        let is_decimal = before_dash.ends_with(self.decimal) || !whole.contains(signs);
        let is_whole = whole.ends_with(|c: char| c.is_ascii_digit());
        if has_dash && is_decimal && is_whole { whole } else { number }
    }

    /// Returns whether the unit is a currency.
    pub fn has_currency(&self) -> bool {
        let unit = self.unit.as_str();
        let is_sign = unit.strip_prefix(CURRENCIES) == Some("");
        is_sign || CURRENCY_CODES.contains(&unit)
    }

    /// Returns whether a cell is read as a number below 0 without a minus sign before it, be it by brackets or by a sign behind.
    ///
    /// ```
    /// use dsokr_data::cells::NumberNotation;
    ///
    /// let plain = NumberNotation::default();
    /// assert!(plain.is_below_by_account("(85.12)") && plain.is_below_by_account("85.12-"));
    /// assert!(!plain.is_below_by_account("-85.12") && !plain.is_below_by_account("85.12"));
    /// ```
    pub fn is_below_by_account(&self, cell: &str) -> bool {
        let cell = written(cell);
        let unit = with_micro_sign(&self.unit);
        let number = cell.strip_prefix(&*unit).unwrap_or(&cell).trim_start();
        !number.starts_with('-')
            && self.normalised(&cell).is_some_and(|number| number.starts_with('-'))
    }

    /// Returns a cell, with its [micro sign](with_micro_sign), without the unit, which need not be there.
    fn without_unit<'c>(&self, cell: &'c str) -> &'c str {
        if self.unit.is_empty() {
            return cell;
        }
        let unit = with_micro_sign(&self.unit);
        let number =
            cell.strip_suffix(&*unit).or_else(|| cell.strip_prefix(&*unit)).unwrap_or(cell);
        number.trim()
    }
}

/// Returns whether a text is a number in which a training can compute.
fn is_in_32_bits(number: &str) -> bool {
    number.parse::<f32>().is_ok_and(f32::is_finite)
}

/// Returns a cell with one sign each for minus and micro, and the digits that Rust reads.
pub(super) fn written(cell: &str) -> Cow<'_, str> {
    let cell = with_micro_sign(cell.trim());
    let cell = if cell.contains('\u{2212}') { cell.replace('\u{2212}', "-").into() } else { cell };
    match with_ascii_digits(&cell) {
        Cow::Borrowed(_) => cell,
        Cow::Owned(written) => written.into(),
    }
}

/// Returns a cell with the digits from 0 to 9, signs and points of a number in the place of those of full width (`０．２５`), of
/// Arabic and of Persian (`٠٫٢٥`); one without such digits as it is.
///
/// ```
/// use dsokr_data::cells::with_ascii_digits;
///
/// assert_eq!(with_ascii_digits("－０．２５ mg"), "-0.25 mg");
/// assert_eq!(with_ascii_digits("١٬٢٣٤٫٥"), "1,234.5");
/// assert_eq!(with_ascii_digits("a．b"), "a．b");
/// ```
pub fn with_ascii_digits(cell: &str) -> Cow<'_, str> {
    // nearly all cells have none
    if cell.is_ascii() || !cell.contains(|c| digit_elsewhere(c).is_some()) {
        return cell.into();
    }
    let written = |c: char| match c {
        '\u{ff0e}' | '\u{66b}' => '.',
        '\u{ff0c}' | '\u{66c}' => ',',
        '\u{ff0d}' => '-',
        '\u{ff0b}' => '+',
        other => digit_elsewhere(other).unwrap_or(other),
    };
    cell.chars().map(written).collect::<String>().into()
}

/// Returns the digit from 0 to 9 that a digit of full width, of Arabic or of Persian is; none of other characters.
fn digit_elsewhere(c: char) -> Option<char> {
    const ZEROS: [char; 3] = ['\u{ff10}', '\u{660}', '\u{6f0}'];
    ZEROS.into_iter().find_map(|zero| {
        let distance = u32::from(c).checked_sub(u32::from(zero))?;
        char::from_digit(distance, 10)
    })
}

/// Returns the digits of a whole number that a sign groups by three, or a comma as in India, by two before a last group of three
/// (`4,25,000`); none where they are grouped otherwise, or the first group begins with 0 and others follow.
pub(super) fn ungrouped(whole: &str, group: &str) -> Option<String> {
    let unsigned = whole.trim_start_matches(['-', '+']);
    let groups: Vec<&str> = unsigned.split(group).collect();
    let (first, further) = groups.split_first()?;
    let are_digits = groups.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let is_grouped = !first.starts_with('0') || further.is_empty();
    let are_thousands =
        (1..=3).contains(&first.len()) && further.iter().all(|part| part.len() == 3);
    let are_grouped = are_thousands || (group == INDIAN_GROUP && are_indian_groups(first, further));
    (are_digits && is_grouped && are_grouped).then(|| whole.replace(group, ""))
}

/// Returns whether groups of digits have two digits each, but for one or two in the first and three in the last.
fn are_indian_groups(first: &str, further: &[&str]) -> bool {
    let Some((last, middle)) = further.split_last() else { return false };
    (1..=2).contains(&first.len()) && middle.iter().all(|part| part.len() == 2) && last.len() == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the numbers that cells are read as in a notation; none where they are refused.
    fn check(notation: &NumberNotation, cases: &[(&str, Option<&str>)]) {
        for &(cell, expected) in cases {
            assert_eq!(notation.normalised(cell).as_deref(), expected, "{cell} {notation:?}");
        }
    }

    #[test]
    fn numbers_with_points_are_read_or_refused() {
        let plain = NumberNotation::default();
        let cases = [
            ("12", Some("12")),
            (" +1.5E-3 ", Some("+1.5E-3")),
            ("-", None),
            ("-1,234,567.5e-3", Some("-1234567.5e-3")),
            ("2,011E+03", None),
            ("\u{2212}3.5", Some("-3.5")),
            ("1,2", None),
            ("0,665", None),
            ("1 334.7", Some("1334.7")),
            ("1 33", None),
            ("3\u{a0}799", Some("3799")),
            ("11\u{202f}397.5", Some("11397.5")),
            ("10\u{a0}20", None),
            ("0.123\u{202f}45", Some("0.12345")),
            ("1.5\u{a0}2", None),
            ("1e39", None),
            ("12,345,6", None),
            ("1'234.5", Some("1234.5")),
            ("1'23", None),
            ("inf", None),
            ("64.9%", None),
            (">10", None),
        ];
        check(&plain, &cases);
        let percent = NumberNotation { unit: "%".into(), ..plain };
        let cases = [
            ("64.9%", Some("64.9")),
            ("64.9 %", Some("64.9")),
            ("64.9", Some("64.9")),
            ("64.9 mg", None),
        ];
        check(&percent, &cases);
    }

    #[test]
    fn numbers_with_commas_or_both_signs_are_read_or_refused() {
        let comma = NumberNotation { decimal: ',', ..NumberNotation::default() };
        let cases = [
            ("-1e3", Some("-1e3")),
            ("2,011E+03", Some("2.011E+03")),
            ("0,665", Some("0.665")),
            ("1 334,70", Some("1334.70")),
            ("4.25.000", None),
            ("12’345’678,9", Some("12345678.9")),
            ("84,44", Some("84.44")),
            ("1.234", Some("1234")),
            ("1.5", None),
            ("1,5,5", None),
        ];
        check(&comma, &cases);
        let mixed = NumberNotation { mixed_decimals: true, ..NumberNotation::default() };
        let cases = [
            ("1.667", Some("1.667")),
            ("-1,500", Some("-1.500")),
            ("1 334,70", Some("1334.70")),
            ("2", Some("2")),
            ("1,234.5", None),
            ("1.234,5", None),
            ("1,234,567", None),
        ];
        check(&mixed, &cases);
    }

    #[test]
    fn digits_may_be_grouped_as_in_india_or_be_of_other_scripts() {
        let plain = NumberNotation::default();
        let grouped = [
            ("4,25,000", Some("425000")),
            ("-12,34,56,789.5", Some("-123456789.5")),
            ("123,45,678", None),
            ("0,25,000", None),
            ("1,25,00", None),
            ("1,2,345", None),
        ];
        check(&plain, &grouped);
        let elsewhere = [
            ("４，２５０．５", Some("4250.5")),
            ("\u{661}\u{66c}\u{662}\u{663}\u{664}\u{66b}\u{665}", Some("1234.5")),
            ("\u{2212}\u{6f1}\u{66b}\u{6f2}", Some("-1.2")),
        ];
        check(&plain, &elsewhere);
        let percent = NumberNotation { unit: "%".into(), ..plain };
        check(&percent, &[("６４．９%", Some("64.9"))]);
    }

    #[test]
    fn a_micro_sign_and_a_greek_letter_are_one() {
        for unit in ["\u{b5}M", "\u{3bc}M"] {
            let notation = NumberNotation { unit: unit.into(), ..NumberNotation::default() };
            for cell in ["5.2 \u{b5}M", "5.2 \u{3bc}M", "5.2\u{3bc}M", "5.2"] {
                assert_eq!(notation.normalised(cell).as_deref(), Some("5.2"), "{cell} {unit}");
            }
        }
    }

    #[test]
    fn amounts_below_0_are_read_as_accounts_write_them() {
        let dollars = NumberNotation { unit: "$".into(), ..NumberNotation::default() };
        for cell in [
            "-$1,085.12",
            "- $1,085.12",
            "\u{2212}$1,085.12",
            "$-1,085.12",
            "($1,085.12)",
            "$(1,085.12)",
            "$ (1,085.12)",
            "(1,085.12)",
            "(1,085.12 $)",
            "1,085.12-",
            "1,085.12 $-",
            "$1,085.12-",
        ] {
            assert_eq!(dollars.normalised(cell).as_deref(), Some("-1085.12"), "{cell}");
        }
        let euros =
            NumberNotation { decimal: ',', unit: "€".into(), ..NumberNotation::default() };
        assert_eq!(euros.normalised("-€ 85,12").as_deref(), Some("-85.12"));
        let plain = NumberNotation::default();
        assert_eq!(plain.normalised("(7)").as_deref(), Some("-7"));
        assert_eq!(plain.normalised("85.12-").as_deref(), Some("-85.12"));
        assert_eq!(plain.normalised("1,234-").as_deref(), Some("-1234"));
        // of other units, values that are said to be doubtful or not significant
        let micro = NumberNotation { unit: "\u{b5}M".into(), ..NumberNotation::default() };
        for other in ["(5.8) \u{b5}M", "(5.8 \u{b5}M)", "(5.8)", "5.8- \u{b5}M", "5.8-"] {
            assert_eq!(micro.normalised(other), None, "{other}");
        }
        assert_eq!(micro.normalised("-5.8 \u{b5}M").as_deref(), Some("-5.8"));
        let francs = NumberNotation { unit: "CHF".into(), ..NumberNotation::default() };
        assert_eq!(francs.normalised("(CHF 7.50)").as_deref(), Some("-7.50"));
        assert!(dollars.is_below_by_account("($7.50)") && !dollars.is_below_by_account("$-7.50"));
        // charges and grades, values with their errors, and other texts
        for other in
            ["2-", "(-7)", "((7))", "()", "(a)", "1.23(4)", "12.3 (1.2)", "(7", "-85.12-", "-$7"]
        {
            assert_eq!(plain.normalised(other), None, "{other}");
        }
    }

    #[test]
    fn a_dash_behind_a_point_or_comma_stands_for_no_cents() {
        let plain = NumberNotation::default();
        let comma = NumberNotation { decimal: ',', ..NumberNotation::default() };
        let francs = NumberNotation { unit: "CHF".into(), ..NumberNotation::default() };
        let euros =
            NumberNotation { decimal: ',', unit: "€".into(), ..NumberNotation::default() };
        let cases = [
            (&plain, "25.-", Some("25")),
            (&plain, "25.\u{2013}", Some("25")),
            (&plain, "25,\u{2014}", Some("25")),
            (&plain, "25.--", Some("25")),
            (&plain, "-25.-", Some("-25")),
            (&plain, "1'385.-", Some("1385")),
            (&plain, "1,385.-", Some("1385")),
            (&plain, "1.385,-", None),
            (&comma, "1.385,-", Some("1385")),
            (&comma, "25,-", Some("25")),
            (&francs, "CHF 25.-", Some("25")),
            (&francs, "CHF 1'385.\u{2013}", Some("1385")),
            (&euros, "25,- €", Some("25")),
            (&euros, "€ 25,-", Some("25")),
            (&plain, ".-", None),
            (&plain, "a.-", None),
        ];
        for (notation, cell, expected) in cases {
            assert_eq!(notation.normalised(cell).as_deref(), expected, "{cell}");
            assert!(!notation.is_below_by_account(cell), "{cell}");
        }
        let micro = NumberNotation { unit: "\u{b5}M".into(), ..NumberNotation::default() };
        assert_eq!(micro.normalised("5.- \u{b5}M"), None);
    }

    #[test]
    fn digits_beyond_32_bits_are_no_number() {
        // as of a fingerprint with 167 bits
        let bits = "01".repeat(83) + "1";
        assert_eq!(NumberNotation::default().normalised(&bits), None);
    }
}
