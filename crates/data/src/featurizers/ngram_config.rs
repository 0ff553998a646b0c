//! Blocks of n-grams, as a configuration says them, and the n-grams of a text.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use dsokr_core::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The units of an n-gram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NgramKind {
    /// Runs of words; a word is a run of letters, digits and underscores, of at least `min_characters`.
    Words,
    /// Runs of characters inside one word, which is padded with a space on both sides
    /// (scikit-learn's `char_wb`).
    Characters,
    /// Runs of characters of the whole text, so that they hold the ends of neighbouring words; white space
    /// counts as one space (scikit-learn's `char`).
    AcrossWords,
}

/// A block of n-gram features. Each block is weighted and normalised by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NgramConfig {
    /// The units of n-grams: words, characters of one word, or characters of the whole text.
    pub kind: NgramKind,
    /// Length of the shortest n-grams.
    pub min: usize,
    /// Length of the longest n-grams.
    pub max: usize,
    /// Characters of the shortest word, of blocks of kind `words`; 2 if left out, as of scikit-learn (`\b\w\w+\b`). With 1 every
    /// word counts, also `7` and `K` (`\b\w+\b`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_characters: Option<usize>,
    /// Whether texts are lower-cased. Not for SMILES: `c` is aromatic, `C` is not.
    #[serde(default = "yes")]
    pub lowercase: bool,
    /// An n-gram that occurs in fewer training texts than this is left out; 1 with `buckets`. Equal texts of one group of
    /// `data.splits.group` are one text.
    #[serde(default = "one")]
    pub min_texts: usize,
    /// 0 keeps a vocabulary of all n-grams; a positive number hashes them into that many buckets,
    /// which bounds the memory whatever the texts are.
    #[serde(default)]
    pub buckets: usize,
}

dsokr_core::defaults! {
    one: usize = 1,
    yes: bool = true,
}

/// The number of characters of the shortest word, where a configuration does not say it.
const SHORTEST_WORD: usize = 2;

impl NgramConfig {
    /// Creates all n-grams of these lengths, lower-cased.
    pub fn new(kind: NgramKind, min: usize, max: usize) -> Self {
        Self { kind, min, max, min_characters: None, lowercase: true, min_texts: 1, buckets: 0 }
    }

    /// Returns the number of characters of the shortest word that counts.
    pub fn shortest_word(&self) -> usize {
        self.min_characters.unwrap_or(SHORTEST_WORD)
    }

    /// Checks the values that the types leave open, of the block at `key`.
    ///
    /// # Errors
    /// [`Error::Value`] for `min` 0 or above `max`, for `min_characters` 0 or where there are no words, and for more buckets
    /// than 32-bit indices reach.
    pub fn validate(&self, key: &str) -> Result<(), Error> {
        let at = |name: &str| format!("{key}.{name}");
        let Self { min, max, min_texts, buckets, .. } = self;
        let holds = *min > 0 && min <= max && *max <= 64;
        let found = format_args!("min {min}, max {max}");
        Error::ensure(holds, key, found, "1 ≤ min ≤ max ≤ 64")?;
        if let Some(shortest) = self.min_characters {
            let (holds, allowed) = match self.kind {
                NgramKind::Words => (shortest > 0, "1 or more"),
                NgramKind::Characters | NgramKind::AcrossWords => {
                    (false, "absent, where blocks are not of kind words")
                }
            };
            Error::ensure(holds, at("min_characters"), shortest, allowed)?;
        }
        let allowed = "1 with buckets, which keep every n-gram";
        let holds = *buckets == 0 || *min_texts <= 1;
        Error::ensure(holds, at("min_texts"), min_texts, allowed)?;
        Error::ensure(*buckets <= 1 << 28, at("buckets"), buckets, "at most 2^28")
    }

    /// Calls `visit` with every n-gram of a text.
    pub(super) fn each(&self, text: &CasedText, visit: &mut dyn FnMut(&str)) {
        let text = text.in_case(self.lowercase);
        match self.kind {
            NgramKind::Words => {
                let word = |c: char| c.is_alphanumeric() || c == '_';
                let shortest = self.shortest_word();
                let counts = |word: &&str| word.chars().take(shortest).count() == shortest;
                let words: Vec<&str> = text.split(|c| !word(c)).filter(counts).collect();
                for n in self.min..=self.max {
                    for run in words.windows(n) {
                        if n == 1 { visit(run[0]) } else { visit(&run.join(" ")) }
                    }
                }
            }
            NgramKind::Characters => {
                let mut padded = String::new();
                let mut starts = Vec::new();
                for word in text.split_whitespace() {
                    padded.clear();
                    padded.extend([" ", word, " "]);
                    character_starts(&padded, &mut starts);
                    // a word that is shorter than all lengths counts once
                    let length = starts.len() - 1;
                    let lengths = self.min.min(length)..=self.max.min(length);
                    character_runs(&padded, &starts, lengths, visit);
                }
            }
            NgramKind::AcrossWords => {
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let mut starts = Vec::new();
                character_starts(&text, &mut starts);
                character_runs(&text, &starts, self.min..=self.max, visit);
            }
        }
    }
}

/// Finds where the characters of a text start, and its end.
pub(super) fn character_starts(text: &str, starts: &mut Vec<usize>) {
    starts.clear();
    starts.extend(text.char_indices().map(|(start, _)| start));
    starts.push(text.len());
}

/// Calls `visit` with every run of so many characters, shortest first, from left to right.
pub(super) fn character_runs(
    text: &str,
    starts: &[usize],
    lengths: RangeInclusive<usize>,
    visit: &mut dyn FnMut(&str),
) {
    for n in lengths {
        starts.windows(n + 1).for_each(|run| visit(&text[run[0]..run[n]]));
    }
}

/// A text as it is and in lower case, which is made when it is first asked for: several blocks of
/// n-grams share it.
pub(super) struct CasedText<'t> {
    text: &'t str,
    lower: OnceLock<String>,
}

impl<'t> CasedText<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, lower: OnceLock::new() }
    }

    fn in_case(&self, lowercase: bool) -> &str {
        if lowercase { self.lower.get_or_init(|| self.text.to_lowercase()) } else { self.text }
    }
}
