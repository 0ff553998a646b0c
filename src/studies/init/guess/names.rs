//! What the name of a column says of its cells.

/// Names of columns whose whole numbers are classes.
pub(super) const CLASS_NAMES: [&str; 12] = [
    "class",
    "classes",
    "label",
    "labels",
    "target",
    "targets",
    "category",
    "categories",
    "type",
    "types",
    "cluster",
    "clusters",
];

/// Words that end as the names of ids do, and name none.
const NO_IDS: [&str; 18] = [
    "acid",
    "alkaloid",
    "bid",
    "covid",
    "flavonoid",
    "fluid",
    "grid",
    "hybrid",
    "invalid",
    "lipid",
    "liquid",
    "mid",
    "paid",
    "peptid",
    "phospholipid",
    "solid",
    "steroid",
    "valid",
];

/// Names that columns of texts have.
const NAMES_OF_TEXTS: [&str; 9] = [
    "description",
    "text",
    "caption",
    "abstract",
    "sentence",
    "query",
    "title",
    "beschreibung",
    "texto",
];

/// Names of columns whose texts may be short, beside longer ones in others.
const NAMES_OF_SHORT_TEXTS: [&str; 4] = ["review", "question", "prompt", "summary"];

/// The words of the name of a column, in lower case: `fine_label` and `fineLabel` have two.
pub(super) fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_alphanumeric() {
            if !before.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase()) {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        before = c;
    }
    words
}

/// Whether a column has the name of one with ids, where all of its cells differ.
pub(super) fn is_id(name: &str) -> bool {
    let names = ["key", "index", "number", "no", "no.", "nr", "nr.", "#", "idx", "row", "cas"];
    let ends_in_id = words_of(name).last().is_some_and(|word| is_word_of_ids(word));
    ends_in_id || names.contains(&name.to_lowercase().as_str())
}

/// Whether a column has the name of one with ids that may recur, such as `doc_id`, `userId` and `cid`. Those of classes, such
/// as `label_id`, are none.
pub(super) fn names_ids(name: &str) -> bool {
    let words = words_of(name);
    let Some((last, before)) = words.split_last() else { return false };
    let is_of_class = before.last().is_some_and(|word| CLASS_NAMES.contains(&word.as_str()));
    is_word_of_ids(last) && !is_of_class
}

/// Whether a word in lower case is `id`, or ends in it as `cid` and `userid` do.
fn is_word_of_ids(word: &str) -> bool {
    word == "ids" || (word.ends_with("id") && !NO_IDS.contains(&word))
}

/// Whether a column has the name that pandas gives one without a name, such as `Unnamed: 0`.
pub(super) fn is_unnamed(name: &str) -> bool {
    name.starts_with("Unnamed:")
}

/// Whether a word of the name of a column says that its whole numbers are classes, as that of `fine_label` does.
pub(crate) fn names_classes(name: &str) -> bool {
    words_of(name).iter().any(|word| CLASS_NAMES.contains(&word.as_str()))
}

/// Whether a column has the name of one with texts.
pub(crate) fn is_name_of_texts(name: &str) -> bool {
    NAMES_OF_TEXTS.contains(&name.to_lowercase().as_str())
}

/// Whether a column has the name of one with texts, also of one where they may be short.
pub(super) fn is_name_of_any_texts(name: &str) -> bool {
    is_name_of_texts(name) || NAMES_OF_SHORT_TEXTS.contains(&name.to_lowercase().as_str())
}
