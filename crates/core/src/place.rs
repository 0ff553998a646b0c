//! The place that an error is about.

use std::fmt::{self, Display, Formatter};
use std::sync::OnceLock;

/// The place that an error is about: a key, or an argument of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A key of a configuration, or another name that reads the same wherever the error is printed.
    Key(String),
    /// An argument, whose name depends on where the error is printed.
    Argument(Argument),
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Self::Key(key) => key.fmt(f),
            Self::Argument(argument) => argument.fmt(f),
        }
    }
}

impl From<Argument> for Place {
    fn from(argument: Argument) -> Self {
        Self::Argument(argument)
    }
}

macro_rules! keys {
    ($($text:ty),*) => {
        $(impl From<$text> for Place {
            fn from(key: $text) -> Self {
                Self::Key(key.to_string())
            }
        })*
    };
}
keys!(&str, String, &String, fmt::Arguments<'_>);

/// An argument that a caller gives or may give, for messages.
///
/// Messages hold it as a value and not as a text, since each front end has its own name for it: the command writes
/// `--out`, Python writes `out`. A front end says how with [`print_arguments_as`]. A program that has not done so gets
/// `the argument out`.
///
/// ```
/// use dsokr_core::{Argument, Error};
///
/// let error = Error::value(Argument::new("parts"), 0, "1 to 12");
/// assert_eq!(error.to_string(), "the argument parts = 0: expected 1 to 12");
/// let advice = format!("continue it with {}", Argument::switch("resume"));
/// assert_eq!(advice, "continue it with the argument resume");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    name: &'static str,
    value: Option<String>,
    is_switch: bool,
}

impl Argument {
    /// Creates the argument with this name, in lower case with hyphens: `least-candidates`.
    pub const fn new(name: &'static str) -> Self {
        Self { name, value: None, is_switch: false }
    }

    /// Creates a switch that is on, for advice such as "continue it with `--resume`".
    pub const fn switch(name: &'static str) -> Self {
        Self { name, value: None, is_switch: true }
    }

    /// Returns the argument with a value, for advice such as "name the folder with `--data DIR`".
    pub fn with(self, value: impl Display) -> Self {
        Self { value: Some(value.to_string()), ..self }
    }

    /// Returns the name of the argument.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the value of the argument; none where it is only named.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// Returns whether it is a switch that is on.
    pub fn is_switch(&self) -> bool {
        self.is_switch
    }
}

/// How a front end writes an argument.
pub type ArgumentStyle = fn(&Argument, &mut Formatter) -> fmt::Result;

static STYLE: OnceLock<ArgumentStyle> = OnceLock::new();

/// Has messages name arguments as the front end of this process does. Like a locale, it is for the program to choose,
/// once: a second call changes nothing.
pub fn print_arguments_as(style: ArgumentStyle) {
    STYLE.get_or_init(|| style);
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        if let Some(style) = STYLE.get() {
            return style(self, f);
        }
        write!(f, "the argument {}", self.name)?;
        match &self.value {
            Some(value) => write!(f, " {value}"),
            None => Ok(()),
        }
    }
}
