//! The words and signs of a filter's expression.

use super::condition::{Operator, Stated};
use crate::error::Error;

/// A word, a sign or the end of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Word(String),
    Quoted(String),
    Operator(Operator),
    Open,
    Close,
    End,
}

impl Token {
    /// Returns whether it is this word, in any case.
    pub fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    pub fn is_keyword(&self) -> bool {
        ["and", "or", "not"].iter().any(|keyword| self.is(keyword))
    }

    /// Returns the token as messages show it.
    pub fn shown(&self) -> String {
        match self {
            Self::Word(text) | Self::Quoted(text) => format!("{text:?}"),
            Self::Operator(operator) => format!("\"{operator}\""),
            Self::Open => "\"(\"".to_owned(),
            Self::Close => "\")\"".to_owned(),
            Self::End => "the end".to_owned(),
        }
    }
}

/// Returns the tokens of a text with their positions in characters, from 1; the last is the end. `at` is where a position is
/// stated.
///
/// # Errors
/// A quotation mark without a second one, and a sign that is no operator.
pub(super) fn tokenize(
    text: &str,
    at: impl Fn(usize) -> Stated,
) -> Result<Vec<(Token, usize)>, Error> {
    let letters: Vec<char> = text.chars().collect();
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
                    at(position).error("a quotation mark", &expected)
                })?;
                place = end;
                Token::Quoted(text)
            }
            '<' | '>' | '=' | '!' => {
                let (operator, end) = operator(&letters, place)
                    .ok_or_else(|| at(position).error("\"!\"", "one of <, <=, =, !=, >=, >"))?;
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

/// Returns whether a character is part of a word.
fn is_of_word(letter: char) -> bool {
    !letter.is_whitespace() && !"<>=!()\"'".contains(letter)
}

/// Returns the text in quotation marks that starts at `place`, and the place behind it; none without a second mark.
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

/// Returns the operator at `place`, and the place behind it.
fn operator(letters: &[char], place: usize) -> Option<(Operator, usize)> {
    let rest: String = letters[place..].iter().take(2).collect();
    // as many languages write equality
    if rest == "==" {
        return Some((Operator::Equal, place + 2));
    }
    // operators of two signs come first
    let operator = Operator::ALL.into_iter().find(|one| rest.starts_with(&one.to_string()))?;
    Some((operator, place + operator.to_string().len()))
}
