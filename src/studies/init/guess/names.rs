//! What the name of a column says of its cells.

use super::{CLASSES, MANY_CLASSES};

/// Names of columns whose whole numbers are classes.
pub(crate) const CLASS_NAMES: [&str; 12] = [
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

/// Names of what is learned, be it a class or not, and of what a molecule acts on.
const TARGETS: [&str; 2] = ["target", "targets"];

/// What ids are of, before `id` in one word: `cid` and `userid` name ids, `plasmid` and `humid` do not.
const OF: [&str; 26] = [
    "", "c", "p", "u", "g", "s", "a", "t", "pm", "uu", "user", "item", "doc", "movie", "book",
    "product", "customer", "patient", "sample", "session", "compound", "chembl", "gene", "drug",
    "reviewer", "case",
];

/// Last words of the names of columns whose whole numbers name persons, places and the like.
const NUMBERED: [&str; 18] = [
    "user", "patient", "subject", "reviewer", "rater", "customer", "session", "batch", "plate",
    "zip", "zipcode", "postcode", "plz", "isbn", "fips", "gvkey", "taxon", "nr",
];

/// What stands before `no` and `key` in the names of properties, as in `cetane no`.
const BEFORE_PROPERTIES: [&str; 11] = [
    "acid",
    "atomic",
    "cetane",
    "coordination",
    "hydroxyl",
    "iodine",
    "mass",
    "musical",
    "octane",
    "oxidation",
    "peroxide",
];

/// Last words of such names behind another word, as in `customer no`. `NO` is a gas, and `key` one of music.
const NUMBERED_BEHIND_OTHERS: [&str; 2] = ["no", "key"];

/// What stands before `number` where it names something; `atomic number` and `acid number` are properties.
const BEFORE_NUMBER: [&str; 14] = [
    "customer", "order", "account", "invoice", "phone", "patient", "sample", "batch", "lot",
    "item", "part", "serial", "house", "row",
];

/// What stands before a thing where numbers count it or belong to it, as in `cost_per_patient`.
const BEFORE_COUNTED: [&str; 4] = ["per", "of", "n", "num"];

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

/// Words of the names of columns with the texts of pages, as `body_html` and `Body (HTML)`.
const WORDS_OF_PAGES: [&str; 2] = ["body", "html"];

/// Names of columns whose texts may be short, beside longer ones in others.
const NAMES_OF_SHORT_TEXTS: [&str; 4] = ["review", "question", "prompt", "summary"];

/// Words of the names of columns with peaks, bands and the like, which are numbers that say what a molecule is.
const WORDS_OF_SPECTRA: [&str; 20] = [
    "spectrum",
    "spectra",
    "peak",
    "peaks",
    "mz",
    "mzs",
    "ms",
    "ms1",
    "ms2",
    "msms",
    "nmr",
    "ir",
    "band",
    "bands",
    "shift",
    "shifts",
    "fingerprint",
    "fingerprints",
    "token",
    "tokens",
];

/// Words of the names of columns with peptides.
const WORDS_OF_PEPTIDES: [&str; 4] = ["peptide", "peptides", "sequence", "sequences"];

/// Last words of the names of columns with sets of labels.
const WORDS_OF_LABELS: [&str; 9] = [
    "labels",
    "tags",
    "genres",
    "topics",
    "keywords",
    "codes",
    "categories",
    "ingredients",
    "symptoms",
];

/// Returns the words of the name of a column, in lower case: `fine_label` and `fineLabel` have two.
pub(crate) fn words_of(name: &str) -> Vec<String> {
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

/// Returns whether a column has the name of one with ids, where all of its cells differ.
pub(crate) fn is_id(name: &str) -> bool {
    name.to_lowercase().ends_with("id") || names_numbers(name)
}

/// Returns whether a column has the name of one that numbers things, or has the numbers of molecules.
pub(crate) fn names_numbers(name: &str) -> bool {
    let names = ["key", "index", "number", "no", "no.", "nr", "nr.", "#", "idx", "row", "cas"];
    names.contains(&name.to_lowercase().as_str())
}

/// Returns whether a column has the name of one with ids that may recur, such as `doc_id`, `userId`, `cid` and `target_id`.
/// Those of classes, such as `label_id`, are none.
pub(crate) fn names_ids(name: &str) -> bool {
    let words = words_of(name);
    let Some((last, before)) = words.split_last() else { return false };
    let is_of_class = before.last().is_some_and(|word| {
        CLASS_NAMES.contains(&word.as_str()) && !TARGETS.contains(&word.as_str())
    });
    is_word_of_ids(last) && !is_of_class
}

/// Returns whether a column has the name of one with ids of the rows of its own table, which say nothing of those of another one:
/// `id` or `ROW_ID`.
pub(crate) fn names_rows(name: &str) -> bool {
    let words = words_of(name);
    words.last().is_some_and(|word| word == "id")
        && words[..words.len() - 1].iter().all(|word| word == "row")
}

/// Returns whether a column has the name of one whose whole numbers name something, such as `user`, `customer no` and `row_nr`, and
/// may recur.
pub(super) fn names_numbered(name: &str) -> bool {
    let words = words_of(name);
    let Some((last, before)) = words.split_last() else { return false };
    let last = last.as_str();
    let word_before = before.last().map(String::as_str);
    match word_before {
        Some(word) if BEFORE_COUNTED.contains(&word) => false,
        Some(word) if last == "number" => BEFORE_NUMBER.contains(&word),
        Some(word) if BEFORE_PROPERTIES.contains(&word) => false,
        Some(_) if NUMBERED_BEHIND_OTHERS.contains(&last) => true,
        Some(_) | None => NUMBERED.contains(&last),
    }
}

/// Returns whether the first or the last word of the name of a column is a year's, as in `pub_year` and `Year of publication`.
pub(crate) fn names_years(name: &str) -> bool {
    const YEARS: [&str; 5] = ["year", "jahr", "año", "année", "anno"];
    let words = words_of(name);
    let ends = [words.first(), words.last()];
    ends.into_iter().flatten().any(|word| YEARS.contains(&word.as_str()))
}

/// Returns whether a column has a usual name of one that names the split of each row.
pub(crate) fn names_splits(name: &str) -> bool {
    ["fold", "split", "set"].contains(&name.to_lowercase().as_str())
}

/// Returns whether the name of a column ends with a fold or a seed, as `cv_fold` and `split_seed` do.
pub(crate) fn names_folds(name: &str) -> bool {
    words_of(name).last().is_some_and(|word| ["fold", "seed"].contains(&word.as_str()))
}

/// Returns whether the name of a column is that of the weights of rows, as `sample_weight` is.
pub(crate) fn names_weights_of_rows(name: &str) -> bool {
    let words = words_of(name);
    words.len() == 2
        && ["sample", "instance", "row"].contains(&words[0].as_str())
        && words[1] == "weight"
}

/// Returns whether a word in lower case is `id` or `ids`, or ends in it behind a word that has ids, as `cid` and `userid` do. Digits
/// may follow, as in `ID1`.
fn is_word_of_ids(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    word == "ids" || word.strip_suffix("id").is_some_and(|of| OF.contains(&of))
}

/// Returns whether a column has the name that pandas gives one without a name, such as `Unnamed: 0`.
pub(crate) fn is_unnamed(name: &str) -> bool {
    name.starts_with("Unnamed:")
}

/// Returns the most classes of whole numbers in a column whose name says that they are classes: its last word does, as that of
/// `fine_label`, or stands before `id`, `code` or `idx`. None of other names, such as `class_size`.
pub(crate) fn most_classes_named(name: &str) -> Option<usize> {
    let words = words_of(name);
    let (last, before) = words.split_last()?;
    let is_code = ["id", "code", "idx"].contains(&last.as_str());
    let word = if is_code { before.last()? } else { last };
    let may_be_none = TARGETS.contains(&word.as_str());
    let most = if may_be_none { CLASSES } else { MANY_CLASSES };
    CLASS_NAMES.contains(&word.as_str()).then_some(most)
}

/// Returns whether a column has the name of one with sets of labels, as `labels` and `movie_genres` are.
pub(super) fn names_labels(name: &str) -> bool {
    words_of(name).last().is_some_and(|word| WORDS_OF_LABELS.contains(&word.as_str()))
}

/// Returns whether a column has the name of one with names, as `Name` and `full_name` are.
pub(super) fn names_names(name: &str) -> bool {
    words_of(name).last().is_some_and(|word| word.ends_with("name"))
}

/// Returns whether a column has the name of one with texts.
pub(crate) fn is_name_of_texts(name: &str) -> bool {
    NAMES_OF_TEXTS.contains(&name.to_lowercase().as_str()) || names_pages(name)
}

/// Returns whether a column has the name of one with the texts of pages.
fn names_pages(name: &str) -> bool {
    let words = words_of(name);
    !words.is_empty() && words.iter().all(|word| WORDS_OF_PAGES.contains(&word.as_str()))
}

/// Returns whether a column has the name of one with texts, or its name has a word that is one, as `odor_description` has.
pub(crate) fn has_word_of_texts(name: &str) -> bool {
    let mut words = words_of(name).into_iter();
    names_pages(name) || words.any(|word| NAMES_OF_TEXTS.contains(&word.as_str()))
}

/// Returns whether the name of a column has a word for peaks, bands and the like, as `peaks_json` and `IR` have.
pub(crate) fn has_word_of_spectra(name: &str) -> bool {
    words_of(name).iter().any(|word| WORDS_OF_SPECTRA.contains(&word.as_str()))
}

/// Returns whether the name of a column has a word for peptides, as `Sequence` and `peptide_seq` have.
pub(super) fn has_word_of_peptides(name: &str) -> bool {
    words_of(name).iter().any(|word| WORDS_OF_PEPTIDES.contains(&word.as_str()))
}

/// Returns whether a column has the name of one with texts, also of one where they may be short.
pub(crate) fn is_name_of_any_texts(name: &str) -> bool {
    is_name_of_texts(name) || NAMES_OF_SHORT_TEXTS.contains(&name.to_lowercase().as_str())
}
