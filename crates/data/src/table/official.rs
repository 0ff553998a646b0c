//! The layout of the official ChEBI-20 release.

use std::path::Path;

use dsokr_basis::features::DenseRows;
use dsokr_basis::store::open_input;

use super::index_ids;
use super::rows::{Rows, TextFormat};
use crate::Error;
use crate::error::shorten;

const COLUMNS: [&str; 3] = ["cid", "mol2vec", "description"];

/// What an official ChEBI-20 file holds; the three have the same length and order.
#[derive(Debug, Clone)]
pub struct Official {
    /// PubChem compound identifiers; unique.
    pub ids: Vec<String>,
    /// The descriptions: the queries.
    pub descriptions: Vec<String>,
    /// One Mol2vec embedding a row (300 wide in the release).
    pub features: DenseRows,
}

/// Reads a file of the official ChEBI-20 release (Edwards, Zhai and Ji, *Text2Mol*, 2021).
///
/// Each line is `cid ⇥ mol2vec ⇥ description`: no header, tabs between the three, white space
/// between the numbers of the embedding, no quoting. The first row sets the width. The lines are
/// streamed: only what is returned is held in memory.
///
/// # Errors
/// A line without exactly three fields; a component that is not a finite 32-bit number; an embedding
/// whose width differs from the first; an empty field; an id that occurs twice; and the errors of
/// opening and reading a text file. A compressed file is refused.
pub fn read_official(path: &Path) -> Result<Official, Error> {
    if let Some(error) = Error::compressed(path) {
        return Err(error);
    }
    let file = open_input(path).map_err(|source| Error::io(path, source))?;
    let mut rows = Rows::headless(path, file, TextFormat::Tabs, COLUMNS.map(str::to_owned).into());
    let (mut ids, mut descriptions, mut places) = (Vec::new(), Vec::new(), Vec::new());
    let (mut values, mut width): (Vec<f32>, usize) = (Vec::new(), 0);
    while let Some((line, fields)) = rows.next()? {
        if let Some(empty) = fields.iter().position(|field| field.trim().is_empty()) {
            return Err(Error::empty_value(path, line, COLUMNS[empty]));
        }
        let [id, vector, description] = fields.try_into().unwrap_or_default();
        let before = values.len();
        for (component, text) in vector.split_ascii_whitespace().enumerate() {
            let number = text.parse::<f32>().ok().filter(|value| value.is_finite());
            values.push(number.ok_or_else(|| {
                let (column, value) = (COLUMNS[1], shorten(text));
                let found = format!("component {component} of column {column:?} is {value:?}");
                Error::line(path, line, found + "; a finite 32-bit number is needed")
            })?);
        }
        let found = values.len() - before;
        if ids.is_empty() {
            width = found;
        } else if found != width {
            let (column, first) = (COLUMNS[1], places[0]);
            let message = format!(
                "{found} numbers in column {column:?}; expected {width}, as on line {first}"
            );
            return Err(Error::line(path, line, message));
        }
        ids.push(id);
        descriptions.push(description);
        places.push(line);
    }
    if ids.is_empty() {
        return Err(Error::empty(path));
    }
    index_ids(path, COLUMNS[0], &ids, &places, |_, error| Err(error))?;
    let features = DenseRows::new(width, values).map_err(|reason| Error::rows(path, reason))?;
    Ok(Official { ids, descriptions, features })
}
