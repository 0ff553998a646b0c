//! What a filter asks of a candidate: comparisons, joined.

use std::sync::Arc;

use dsokr_core::Place;
use dsokr_core::message::shorten_to;

use crate::error::Error;

/// What is to hold of a candidate.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a filter has a few conditions, which are read for each candidate"
)]
pub enum Condition {
    /// The opposite of a condition.
    Not(Box<Condition>),
    /// All of some conditions.
    All(Vec<Condition>),
    /// At least one of some conditions.
    Any(Vec<Condition>),
    /// A comparison.
    Holds(Comparison),
}

/// A comparison of what a candidate has with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What is compared: a column, or a property of molecules.
    pub name: String,
    /// The text in brackets behind the name.
    pub argument: Option<String>,
    /// How it is compared.
    pub operator: Operator,
    /// What it is compared with.
    pub value: Value,
    /// Where the name, the operator and the value are stated, for messages.
    pub(super) places: [Stated; 3],
}

impl Comparison {
    /// Creates a comparison that no text holds, but the key `place`.
    pub fn at(
        place: impl Into<Place>,
        name: &str,
        argument: Option<&str>,
        operator: Operator,
        value: Value,
    ) -> Self {
        let stated = Stated { place: place.into(), within: None };
        let places = [stated.clone(), stated.clone(), stated];
        let argument = argument.map(str::to_owned);
        Self { name: name.to_owned(), argument, operator, value, places }
    }

    /// Returns the name as messages show it; a key that stands for the comparison says it itself.
    pub(super) fn shown_name(&self) -> String {
        if self.places[0].within.is_some() { format!("{:?}", self.name) } else { "given".into() }
    }
}

/// How a value is compared.
#[derive(Clone, Copy, Debug, derive_more::Display, PartialEq, Eq)]
pub enum Operator {
    /// Less than the value.
    #[display("<")]
    Less,
    /// The value or less.
    #[display("<=")]
    AtMost,
    /// The value.
    #[display("=")]
    Equal,
    /// Anything but the value.
    #[display("!=")]
    Unequal,
    /// The value or more.
    #[display(">=")]
    AtLeast,
    /// More than the value.
    #[display(">")]
    Greater,
}

impl Operator {
    /// All of them, those of two signs first.
    pub(super) const ALL: [Self; 6] =
        [Self::AtMost, Self::AtLeast, Self::Unequal, Self::Less, Self::Greater, Self::Equal];

    /// Returns whether a number holds the comparison with another one.
    pub fn holds(self, number: f64, value: f64) -> bool {
        match self {
            Self::Less => number < value,
            Self::AtMost => number <= value,
            Self::Equal => number == value,
            Self::Unequal => number != value,
            Self::AtLeast => number >= value,
            Self::Greater => number > value,
        }
    }

    /// Returns whether it asks for equality (true) or its opposite (false); none of an order.
    pub fn equality(self) -> Option<bool> {
        match self {
            Self::Equal => Some(true),
            Self::Unequal => Some(false),
            Self::Less | Self::AtMost | Self::AtLeast | Self::Greater => None,
        }
    }
}

/// What a candidate is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A finite number, compared as one.
    Number(f64),
    /// A text.
    Text(String),
}

/// Where a part of a filter is stated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stated {
    /// The key or the argument.
    pub place: Place,
    /// Within an expression: its text, and the position of the part in characters, from 1.
    pub within: Option<(Arc<str>, usize)>,
}

impl Stated {
    /// Returns the error for a part of a filter.
    pub fn error(&self, found: &str, allowed: &str) -> Error {
        /// The most characters of a filter, and of a part of it, that a message shows.
        const SHOWN: usize = 200;
        let part = shorten_to(found, SHOWN);
        match &self.within {
            None => Error::value(self.place.clone(), part, allowed),
            Some((text, position)) => {
                let text = shorten_to(text, SHOWN);
                let whole = format_args!("{text:?}, at position {position} {part}");
                Error::value(self.place.clone(), whole, allowed)
            }
        }
    }
}
