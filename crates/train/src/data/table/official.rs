//! The layout of the official ChEBI-20 release.

use std::path::Path;

use dsokr_basis::features::DenseRows;

use super::super::error::{DataError, extension_of, shorten};
use super::index_ids;
use super::lines::Lines;

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
/// streamed: memory is that of what is returned.
///
/// # Errors
/// [`DataError::Ragged`] for a line that has not three fields, [`DataError::Number`] for a
/// component that is not a finite 32-bit number, [`DataError::Width`] for an embedding of another
/// width than the first, [`DataError::EmptyValue`] and [`DataError::DuplicateId`], and those of
/// opening and reading a text file. A compressed file is refused.
pub fn read_official(path: &Path) -> Result<Official, DataError> {
    let extension = extension_of(path);
    if let compressed @ DataError::Compressed { .. } = DataError::extension(path, &extension, "") {
        return Err(compressed);
    }
    let mut lines = Lines::open(path)?;
    let mut ids = Vec::new();
    let mut descriptions = Vec::new();
    let mut places = Vec::new();
    let mut values: Vec<f32> = Vec::new();
    let mut width = 0;
    while let Some((line, text)) = lines.next()? {
        let mut fields = text.split('\t');
        let (Some(id), Some(vector), Some(description), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(DataError::Ragged {
                path: path.to_path_buf(),
                line,
                found: text.split('\t').count(),
                expected: COLUMNS.len(),
                columns: COLUMNS.map(str::to_owned).to_vec(),
            });
        };
        for (column, field) in COLUMNS.iter().zip([id, vector, description]) {
            if field.trim().is_empty() {
                return Err(DataError::EmptyValue {
                    path: path.to_path_buf(),
                    line,
                    column: (*column).to_owned(),
                });
            }
        }
        let found =
            push_numbers(&mut values, vector).map_err(|(component, value)| DataError::Number {
                path: path.to_path_buf(),
                line,
                column: COLUMNS[1].to_owned(),
                component,
                value: shorten(value),
            })?;
        if ids.is_empty() {
            width = found;
        } else if found != width {
            return Err(DataError::Width {
                path: path.to_path_buf(),
                line,
                column: COLUMNS[1].to_owned(),
                found,
                expected: width,
                first: places.first().copied().unwrap_or(1),
            });
        }
        ids.push(id.to_owned());
        descriptions.push(description.to_owned());
        places.push(line);
    }
    if ids.is_empty() {
        return Err(DataError::Empty { path: path.to_path_buf() });
    }
    index_ids(path, COLUMNS[0], &ids, &places)?;
    let features = DenseRows::new(width, values).map_err(|reason| DataError::rows(path, reason))?;
    Ok(Official { ids, descriptions, features })
}

/// Appends the numbers of a vector and returns how many there are, or the first that is none.
fn push_numbers<'v>(values: &mut Vec<f32>, vector: &'v str) -> Result<usize, (usize, &'v str)> {
    let before = values.len();
    for (component, text) in vector.split_ascii_whitespace().enumerate() {
        match text.parse::<f32>() {
            Ok(value) if value.is_finite() => values.push(value),
            _ => return Err((component, text)),
        }
    }
    Ok(values.len() - before)
}
