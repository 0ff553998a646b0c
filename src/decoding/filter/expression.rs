//! The expressions of filters as texts, such as `price < 10 and not (group = "nitrile" or name = aspirin)`.
//!
//! | rule | is |
//! |---|---|
//! | filter | alternative, or several with `or` between |
//! | alternative | part, or several with `and` between |
//! | part | `not` part, `(` filter `)`, or a comparison |
//! | comparison | name operator value |
//! | name | a word, or a text in quotation marks; `similarity` has a SMILES in brackets behind it |
//! | operator | `<`, `<=`, `=`, `!=`, `>=`, `>` |
//! | value | a number, a word, or a text in quotation marks |
//!
//! A word ends at white space, an operator, a bracket or a quotation mark. A text may be in `"` or `'`; twice the mark
//! stands for the mark.

use std::sync::Arc;

use dsokr_core::Place;

use crate::error::Error;

/// How deep brackets and `not` may be nested.
const DEEPEST: usize = 64;

/// What is to hold of a candidate.
#[derive(Clone, Debug, PartialEq)]
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
    /// A comparison that no text holds, but the key `place`.
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
    const ALL: [Self; 6] =
        [Self::AtMost, Self::AtLeast, Self::Unequal, Self::Less, Self::Greater, Self::Equal];

    /// Whether a number holds the comparison with another one.
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

    /// Whether it asks for equality (true) or its opposite (false); none of an order.
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
    /// The error for a part of a filter.
    pub fn error(&self, found: &str, allowed: &str) -> Error {
        match &self.within {
            None => Error::value(self.place.clone(), found, allowed),
            Some((text, position)) => {
                let found = format_args!("{text:?}, at position {position} {found}");
                Error::value(self.place.clone(), found, allowed)
            }
        }
    }
}

/// Reads an expression, which messages call `place`.
///
/// # Errors
/// A text that is no expression, with the position and what is expected there.
pub(super) fn parse(place: Place, text: &str) -> Result<Condition, Error> {
    let stated = Stated { place, within: None };
    let whole: Arc<str> = text.into();
    let mut parser = Parser { tokens: Vec::new(), next: 0, stated, text: whole };
    parser.tokens = parser.tokenize()?;
    let condition = parser.alternatives(0)?;
    match parser.peek() {
        Token::End => Ok(condition),
        _ => Err(parser.unexpected("\"and\", \"or\" or the end")),
    }
}

/// A word, a sign or the end of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Quoted(String),
    Operator(Operator),
    Open,
    Close,
    End,
}

impl Token {
    /// Whether it is this word, in any case.
    fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    fn is_keyword(&self) -> bool {
        ["and", "or", "not"].iter().any(|keyword| self.is(keyword))
    }

    /// The token as messages show it.
    fn shown(&self) -> String {
        match self {
            Self::Word(text) | Self::Quoted(text) => format!("{text:?}"),
            Self::Operator(operator) => format!("\"{operator}\""),
            Self::Open => "\"(\"".to_owned(),
            Self::Close => "\")\"".to_owned(),
            Self::End => "the end".to_owned(),
        }
    }
}

struct Parser {
    /// The tokens with their positions; the last is the end.
    tokens: Vec<(Token, usize)>,
    next: usize,
    stated: Stated,
    text: Arc<str>,
}

impl Parser {
    /// Where a token is stated.
    fn at(&self, position: usize) -> Stated {
        let within = Some((self.text.clone(), position));
        Stated { place: self.stated.place.clone(), within }
    }

    fn tokenize(&self) -> Result<Vec<(Token, usize)>, Error> {
        let letters: Vec<char> = self.text.chars().collect();
        let mut tokens = Vec::new();
        let mut place = 0;
        while let Some(&letter) = letters.get(place) {
            let position = place + 1;
            if letter.is_whitespace() {
                place += 1;
                continue;
            }
            let token = match letter {
                '(' => {
                    place += 1;
                    Token::Open
                }
                ')' => {
                    place += 1;
                    Token::Close
                }
                '"' | '\'' => {
                    let (text, end) = quoted(&letters, place).ok_or_else(|| {
                        let expected = format!("a second {letter} that ends the text");
                        self.at(position).error("a quotation mark", &expected)
                    })?;
                    place = end;
                    Token::Quoted(text)
                }
                '<' | '>' | '=' | '!' => {
                    let (operator, end) = operator(&letters, place).ok_or_else(|| {
                        self.at(position).error("\"!\"", "one of <, <=, =, !=, >=, >")
                    })?;
                    place = end;
                    Token::Operator(operator)
                }
                _ => {
                    let start = place;
                    while letters.get(place).is_some_and(|&letter| is_of_word(letter)) {
                        place += 1;
                    }
                    Token::Word(letters[start..place].iter().collect())
                }
            };
            tokens.push((token, position));
        }
        tokens.push((Token::End, letters.len() + 1));
        Ok(tokens)
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn position(&self) -> usize {
        self.tokens[self.next].1
    }

    /// Goes on behind the token at hand; the end stays.
    fn advance(&mut self) -> (Token, usize) {
        let token = self.tokens[self.next].clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn unexpected(&self, expected: &str) -> Error {
        self.at(self.position()).error(&self.peek().shown(), expected)
    }

    fn alternatives(&mut self, depth: usize) -> Result<Condition, Error> {
        let mut all = vec![self.parts(depth)?];
        while self.peek().is("or") {
            self.advance();
            all.push(self.parts(depth)?);
        }
        Ok(single_or(all, Condition::Any))
    }

    fn parts(&mut self, depth: usize) -> Result<Condition, Error> {
        let mut all = vec![self.part(depth)?];
        while self.peek().is("and") {
            self.advance();
            all.push(self.part(depth)?);
        }
        Ok(single_or(all, Condition::All))
    }

    fn part(&mut self, depth: usize) -> Result<Condition, Error> {
        if depth >= DEEPEST {
            let found = format!("brackets and \"not\" {depth} deep");
            return Err(self.at(self.position()).error(&found, "fewer of them in one another"));
        }
        if self.peek().is("not") {
            self.advance();
            return Ok(Condition::Not(Box::new(self.part(depth + 1)?)));
        }
        if *self.peek() == Token::Open {
            self.advance();
            let inner = self.alternatives(depth + 1)?;
            self.close("\"and\", \"or\" or \")\"")?;
            return Ok(inner);
        }
        Ok(Condition::Holds(self.comparison()?))
    }

    fn close(&mut self, expected: &str) -> Result<(), Error> {
        if *self.peek() != Token::Close {
            return Err(self.unexpected(expected));
        }
        self.advance();
        Ok(())
    }

    fn comparison(&mut self) -> Result<Comparison, Error> {
        let name_at = self.at(self.position());
        let name = self.word("the name of a column or of a property")?;
        let mut argument = None;
        if *self.peek() == Token::Open {
            self.advance();
            argument = Some(self.word("a text")?);
            self.close("\")\"")?;
        }
        let operator_at = self.at(self.position());
        let Token::Operator(operator) = *self.peek() else {
            return Err(self.unexpected("one of <, <=, =, !=, >=, >"));
        };
        self.advance();
        let value_at = self.at(self.position());
        let value = match self.peek() {
            Token::Word(word) if !self.peek().is_keyword() => read_value(word),
            Token::Quoted(text) => Value::Text(text.clone()),
            _ => return Err(self.unexpected("a number or a text")),
        };
        self.advance();
        let places = [name_at, operator_at, value_at];
        Ok(Comparison { name, argument, operator, value, places })
    }

    /// A word that is no keyword, or a text in quotation marks.
    fn word(&mut self, expected: &str) -> Result<String, Error> {
        if self.peek().is_keyword() {
            return Err(self.unexpected(expected));
        }
        match self.peek() {
            Token::Word(_) | Token::Quoted(_) => match self.advance().0 {
                Token::Word(text) | Token::Quoted(text) => Ok(text),
                Token::Operator(_) | Token::Open | Token::Close | Token::End => Ok(String::new()),
            },
            Token::Operator(_) | Token::Open | Token::Close | Token::End => {
                Err(self.unexpected(expected))
            }
        }
    }
}

/// One condition as it is, several joined.
fn single_or(mut all: Vec<Condition>, join: fn(Vec<Condition>) -> Condition) -> Condition {
    match all.pop() {
        Some(only) if all.is_empty() => only,
        Some(last) => {
            all.push(last);
            join(all)
        }
        None => join(all),
    }
}

/// A word as a number if it is a finite one, else as a text.
fn read_value(word: &str) -> Value {
    match word.parse::<f64>() {
        Ok(number) if number.is_finite() => Value::Number(number),
        Ok(_) | Err(_) => Value::Text(word.to_owned()),
    }
}

/// Whether a character is part of a word.
fn is_of_word(letter: char) -> bool {
    !letter.is_whitespace() && !"<>=!()\"'".contains(letter)
}

/// The text in quotation marks that starts at `place`, and the place behind it; none without a second mark.
fn quoted(letters: &[char], place: usize) -> Option<(String, usize)> {
    let mark = letters[place];
    let mut text = String::new();
    let mut place = place + 1;
    loop {
        let letter = *letters.get(place)?;
        place += 1;
        if letter != mark {
            text.push(letter);
            continue;
        }
        if letters.get(place) != Some(&mark) {
            return Some((text, place));
        }
        text.push(mark);
        place += 1;
    }
}

/// The operator at `place`, and the place behind it.
fn operator(letters: &[char], place: usize) -> Option<(Operator, usize)> {
    let rest: String = letters[place..].iter().take(2).collect();
    // as many languages write equality
    if rest == "==" {
        return Some((Operator::Equal, place + 2));
    }
    // those of two signs come first
    let operator = Operator::ALL.into_iter().find(|one| rest.starts_with(&one.to_string()))?;
    Some((operator, place + operator.to_string().len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Condition, Error> {
        parse("filter".into(), text)
    }

    /// A condition with all its brackets.
    fn written(condition: &Condition) -> String {
        let joined = |all: &[Condition], word: &str| {
            format!("({})", all.iter().map(written).collect::<Vec<_>>().join(word))
        };
        match condition {
            Condition::Not(inner) => format!("!{}", written(inner)),
            Condition::All(all) => joined(all, " & "),
            Condition::Any(all) => joined(all, " | "),
            Condition::Holds(Comparison { name, argument, operator, value, .. }) => {
                let argument = argument.as_ref().map_or(String::new(), |text| format!("({text})"));
                let value = match value {
                    Value::Number(number) => number.to_string(),
                    Value::Text(text) => format!("{text:?}"),
                };
                format!("{name}{argument}{operator}{value}")
            }
        }
    }

    #[test]
    fn expressions_are_read_by_precedence() {
        for (text, expected) in [
            ("price < 10", "price<10"),
            ("price<=1e1 and price != -2.5", "(price<=10 & price!=-2.5)"),
            ("a = 1 or b = 2 and not c = 3", "(a=1 | (b=2 & !c=3))"),
            ("(a = 1 OR b == 2) AND c >= 3", "((a=1 | b=2) & c>=3)"),
            ("\"price (EUR)\" > 10", "price (EUR)>10"),
            ("name = 'it''s \"so\"'", r#"name="it's \"so\"""#),
            (r#"similarity("F/C=C\F") >= 0.5"#, r"similarity(F/C=C\F)>=0.5"),
            ("formula = C9H8O4*", r#"formula="C9H8O4*""#),
            ("id = \"007\"", r#"id="007""#),
            ("supplier = nan", r#"supplier="nan""#),
        ] {
            assert_eq!(read(text).map(|found| written(&found)).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn wrong_expressions_are_refused_with_their_position() {
        let deep = "(".repeat(100_000);
        for (text, position, expected) in [
            ("", 1, "the name of a column"),
            ("price", 6, "one of <, <=, =, !=, >=, >"),
            ("price <", 8, "a number or a text"),
            ("price < 10 20", 12, "\"and\", \"or\" or the end"),
            ("price < and", 9, "a number or a text"),
            ("(price < 10", 12, "\")\""),
            ("price < 10)", 11, "the end"),
            ("price ! 10", 7, "!="),
            ("größe = \"x", 9, "a second \""),
            ("similarity(\"C\" > 1", 16, "\")\""),
            ("and = 1", 1, "the name of a column"),
            (&deep, 65, "fewer"),
            (&"not ".repeat(100_000), 257, "fewer"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(&format!("at position {position} ")), "{error:.300}");
            let says = error.rsplit(": ").next().unwrap_or_default();
            assert!(says.contains(expected) || error.contains(expected), "{text:.50}: {says}");
        }
    }
}
