//! Values from files, and commands, in messages.

use std::fmt::Display;

/// Characters of a value that a message shows.
const SHOWN: usize = 60;

/// Returns at most 60 characters of a value from a file, with an ellipsis behind a longer one.
///
/// ```
/// use dsokr_core::message::shorten;
///
/// assert_eq!(shorten("a value"), "a value");
/// assert_eq!(shorten(&"x".repeat(61)), "x".repeat(60) + "…");
/// ```
pub fn shorten(value: &str) -> String {
    shorten_to(value, SHOWN)
}

/// Returns at most so many characters of a text, with an ellipsis behind a longer one.
///
/// ```
/// use dsokr_core::message::shorten_to;
///
/// assert_eq!(shorten_to("äöü", 3), "äöü");
/// assert_eq!(shorten_to("äöü", 2), "äö…");
/// ```
pub fn shorten_to(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns a number as messages show it: with an exponent where it would have more than 16 digits before or behind the point.
///
/// ```
/// use dsokr_core::message::number;
///
/// assert_eq!(number(-0.25), "-0.25");
/// assert_eq!(number(1e300), "1e300");
/// assert_eq!(number(2.5e-40), "2.5e-40");
/// assert_eq!(number(f64::INFINITY), "inf");
/// ```
pub fn number(value: f64) -> String {
    let size = value.abs();
    let is_short = size == 0.0 || !size.is_finite() || (1e-16..1e16).contains(&size);
    if is_short { value.to_string() } else { format!("{value:e}") }
}

/// Returns a value as messages show it: a number as [`number`] does, anything else as it displays itself.
///
/// ```
/// use dsokr_core::message::shown;
///
/// assert_eq!(shown(1e300), "1e300");
/// assert_eq!(shown(1e-40f32), "1e-40");
/// assert_eq!(shown(4_611_686_018_427_387_904u64), "4611686018427387904");
/// assert_eq!(shown("0001"), "0001");
/// ```
pub fn shown(value: impl Display) -> String {
    let text = value.to_string();
    match text.parse::<f64>() {
        // a text that only looks like a number, such as an id, is left as it is
        Ok(value) if value.to_string() == text => number(value),
        Ok(_) | Err(_) => text,
    }
}

/// Returns the nearest number of four significant digits, as logs and drawn settings have it.
///
/// ```
/// use dsokr_core::message::four_digits;
///
/// assert_eq!(four_digits(0.530896365), 0.5309);
/// assert_eq!(four_digits(-12345.6), -12350.0);
/// assert_eq!(four_digits(2.16e-5), 2.16e-5);
/// assert!(four_digits(f64::NAN).is_nan());
/// ```
pub fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Returns a text as XML and HTML hold it between tags. Breaks of lines and tabs become blanks, and characters that XML cannot
/// hold U+FFFD.
///
/// ```
/// use dsokr_core::message::xml;
///
/// assert_eq!(xml("a < b\n& c\u{7}"), "a &lt; b &amp; c\u{fffd}");
/// ```
pub fn xml(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other if other.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The most texts of a list that a message shows.
const LISTED: usize = 30;

/// Returns texts with commas between: the first thirty, and how many more there are.
///
/// ```
/// use dsokr_core::message::first_of;
///
/// assert_eq!(first_of((1..=3).map(|number| number.to_string())), "1, 2, 3");
/// let many = first_of((1..=3000).map(|number| number.to_string()));
/// assert!(many.ends_with("29, 30 and 2970 more"));
/// ```
pub fn first_of(texts: impl IntoIterator<Item = String>) -> String {
    let mut texts = texts.into_iter();
    let shown: Vec<String> = texts.by_ref().take(LISTED).collect();
    let more = texts.count();
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// Returns quoted names with commas between: the first thirty, and how many more there are.
///
/// ```
/// use dsokr_core::message::list;
///
/// assert_eq!(list(&["smiles".into(), "name".into()]), "\"smiles\", \"name\"");
/// assert_eq!(list(&[]), "none");
/// ```
pub fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    first_of(names.iter().map(|name| format!("{:?}", shorten(name))))
}

/// Returns a text as one word of a shell: between quotation marks where a shell would read it otherwise.
///
/// ```
/// use dsokr_core::message::shell_word;
///
/// assert_eq!(shell_word("data/train.csv"), "data/train.csv");
/// assert_eq!(shell_word("Anna's data.csv"), r"'Anna'\''s data.csv'");
/// ```
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Returns what stands before a text among the arguments of a command: `-- ` where the text begins with a hyphen, with which
/// it would be an option, else nothing.
///
/// ```
/// use dsokr_core::message::before_argument;
///
/// assert_eq!(before_argument("-5 degrees"), "-- ");
/// assert_eq!(before_argument("5 degrees"), "");
/// ```
pub fn before_argument(text: &str) -> &'static str {
    if text.starts_with('-') { "-- " } else { "" }
}
