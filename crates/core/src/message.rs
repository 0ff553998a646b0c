//! Values from files in messages.

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
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
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
    const MOST: usize = 30;
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> =
        names.iter().take(MOST).map(|name| format!("{:?}", shorten(name))).collect();
    let more = names.len().saturating_sub(MOST);
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}
