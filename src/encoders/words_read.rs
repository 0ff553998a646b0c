//! How far learners read texts by their words.

use dsokr_data::featurizers::{NgramConfig, NgramKind};

/// How far a learner reads texts by their words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WordsRead {
    /// It has no n-grams of words, but other parts of texts, or what they stand for.
    #[default]
    None,
    /// It has n-grams of words beside other parts of texts.
    Among {
        /// Characters of the shortest word that it reads.
        shortest: usize,
    },
    /// It has n-grams of words alone, so that a text without a word of the training texts says nothing to it.
    Alone {
        /// Characters of the shortest word that it reads.
        shortest: usize,
    },
}

impl WordsRead {
    /// Returns how parts that are read together read words.
    pub fn of_parts(parts: impl IntoIterator<Item = Self>) -> Self {
        let parts: Vec<Self> = parts.into_iter().collect();
        let Some(shortest) = parts.iter().filter_map(|part| part.shortest()).min() else {
            return Self::None;
        };
        let alone = parts.iter().all(|part| matches!(part, Self::Alone { .. }));
        if alone { Self::Alone { shortest } } else { Self::Among { shortest } }
    }

    /// Returns how blocks of n-grams read words.
    pub fn of_blocks(blocks: &[NgramConfig]) -> Self {
        Self::of_parts(blocks.iter().map(|block| match block.kind {
            NgramKind::Words => Self::Alone { shortest: block.shortest_word() },
            NgramKind::Characters | NgramKind::AcrossWords => Self::None,
        }))
    }

    /// Returns the number of characters of the shortest word that is read; none where words are not.
    pub fn shortest(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Among { shortest } | Self::Alone { shortest } => Some(shortest),
        }
    }
}
