//! How far learners read texts by their words.

use dsokr_data::featurizers::{NgramConfig, NgramKind};

/// How far a learner reads texts by their words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WordsRead {
    /// It has no n-grams of words, but other parts of texts, or what they stand for.
    #[default]
    None,
    /// It has n-grams of words beside other parts of texts.
    Among,
    /// It has n-grams of words alone, so that a text without a word of the training texts says nothing to it.
    Alone,
}

impl WordsRead {
    /// How parts that are read together read words.
    pub fn of_parts(parts: impl IntoIterator<Item = Self>) -> Self {
        let parts: Vec<Self> = parts.into_iter().collect();
        if parts.iter().all(|part| *part == Self::None) {
            Self::None
        } else if parts.iter().all(|part| *part == Self::Alone) {
            Self::Alone
        } else {
            Self::Among
        }
    }

    /// How blocks of n-grams read words.
    pub fn of_blocks(blocks: &[NgramConfig]) -> Self {
        Self::of_parts(blocks.iter().map(|block| match block.kind {
            NgramKind::Words => Self::Alone,
            NgramKind::Characters | NgramKind::AcrossWords => Self::None,
        }))
    }
}
