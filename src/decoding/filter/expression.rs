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

use super::condition::{Comparison, Condition, Stated, Value};
use super::tokens::{Token, tokenize};
use crate::error::Error;

/// How deep brackets and `not` may be nested.
const DEEPEST: usize = 64;

/// Reads an expression, which messages call `place`.
///
/// # Errors
/// A text that is no expression, with the position and what is expected there.
pub(super) fn parse(place: Place, text: &str) -> Result<Condition, Error> {
    let stated = Stated { place, within: None };
    let whole: Arc<str> = text.into();
    let mut parser = Parser { tokens: Vec::new(), next: 0, stated, text: whole };
    parser.tokens = tokenize(text, |position| parser.at(position))?;
    let condition = parser.alternatives(0)?;
    if *parser.peek() != Token::End {
        return Err(parser.unexpected("\"and\", \"or\" or the end"));
    }
    Ok(condition)
}

struct Parser {
    /// The tokens with their positions; the last is the end.
    tokens: Vec<(Token, usize)>,
    next: usize,
    stated: Stated,
    text: Arc<str>,
}

impl Parser {
    /// Returns where a token is stated.
    fn at(&self, position: usize) -> Stated {
        let within = Some((self.text.clone(), position));
        Stated { place: self.stated.place.clone(), within }
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn position(&self) -> usize {
        self.tokens[self.next].1
    }

    /// Goes on behind the token at hand; the end stays.
    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
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
            let nesting = format!("brackets and \"not\" {depth} deep");
            return Err(self.at(self.position()).error(&nesting, "fewer of them in one another"));
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
            Token::Word(word) if has_decimal_comma(word) => {
                let allowed = "a number with a decimal point, or a text in quotation marks";
                return Err(self.unexpected(allowed));
            }
            Token::Word(word) if !self.peek().is_keyword() => read_value(word),
            Token::Quoted(text) => Value::Text(text.clone()),
            Token::Word(_) | Token::Operator(_) | Token::Open | Token::Close | Token::End => {
                return Err(self.unexpected("a number or a text"));
            }
        };
        self.advance();
        let places = [name_at, operator_at, value_at];
        Ok(Comparison { name, argument, operator, value, places })
    }

    /// Returns a word that is no keyword, or a text in quotation marks.
    fn word(&mut self, expected: &str) -> Result<String, Error> {
        if self.peek().is_keyword() {
            return Err(self.unexpected(expected));
        }
        let text = match self.peek() {
            Token::Word(text) | Token::Quoted(text) => text.clone(),
            Token::Operator(_) | Token::Open | Token::Close | Token::End => {
                return Err(self.unexpected(expected));
            }
        };
        self.advance();
        Ok(text)
    }
}

/// Returns one condition as it is, several joined.
fn single_or(mut all: Vec<Condition>, join: fn(Vec<Condition>) -> Condition) -> Condition {
    if all.len() == 1 { all.swap_remove(0) } else { join(all) }
}

/// Returns whether a word may be a number with a comma, before its decimals or a group of digits.
fn has_decimal_comma(word: &str) -> bool {
    let are_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let number = word.trim_start_matches(['+', '-']);
    number.split_once(',').is_some_and(|(whole, rest)| are_digits(whole) && are_digits(rest))
}

/// Returns a word as a number if it is a finite one, else as a text.
fn read_value(word: &str) -> Value {
    match word.parse::<f64>() {
        Ok(number) if number.is_finite() => Value::Number(number),
        Ok(_) | Err(_) => Value::Text(word.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Condition, Error> {
        parse("filter".into(), text)
    }

    /// Returns a condition with all its brackets.
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
            ("code = '1,2'", r#"code="1,2""#),
        ] {
            assert_eq!(
                read(text).map(|condition| written(&condition)).unwrap(),
                expected,
                "{text}"
            );
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
            ("price = 70,4", 9, "a number with a decimal point"),
            ("not price < -1,250", 13, "a number with a decimal point"),
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
