//! Queries: predictions with their names and texts, which are scored against candidates.

use std::borrow::Cow;
use std::ops::Range;

use dsokr_core::Error;

use crate::error::{all_finite, check_least, check_whole_rows};

/// Predictions `z_1 … z_q` in R^p, one row a query, that are scored against candidates.
///
/// Borrowed, row-major, all finite: a NaN would compare as neither above nor tied with anything
/// and so win silently.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a> {
    dim: usize,
    rows: &'a [f32],
    names: Option<&'a [String]>,
    texts: Option<&'a [String]>,
}

impl<'a> Queries<'a> {
    /// Creates queries of dimension p = `dim` from `[q × p]` row-major coordinates.
    ///
    /// # Errors
    /// [`Error::TooFew`] for dimension 0; [`Error::Inconsistent`] for an incomplete row;
    /// [`Error::NotFiniteAt`] for a NaN or an infinity.
    pub fn new(dim: usize, rows: &'a [f32]) -> Result<Self, Error> {
        Self { dim, rows, names: None, texts: None }.check()
    }

    /// Creates queries like [`Queries::new`], with an id for each, by which errors name it.
    ///
    /// # Errors
    /// The errors of [`Queries::new`]; [`Error::Shape`] when there is not one name a row.
    pub fn named(names: &'a [String], dim: usize, rows: &'a [f32]) -> Result<Self, Error> {
        Self { dim, rows, names: Some(names), texts: None }.check()
    }

    /// Sets the text of each query, whose [words](crate::Words) a reranker may read; an empty text is none.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is not one text a row.
    pub fn with_texts(self, texts: &'a [String]) -> Result<Self, Error> {
        Self { texts: Some(texts), ..self }.check()
    }

    fn check(self) -> Result<Self, Error> {
        let Self { dim, rows, names, texts } = self;
        check_least(dim, 1, "queries of dimension 0")?;
        check_whole_rows("queries", rows.len(), dim)?;
        if let Some(names) = names {
            Error::check_length("query names", names.len(), self.len())?;
        }
        if let Some(texts) = texts {
            Error::check_length("texts of queries", texts.len(), self.len())?;
        }
        let place = |at| format!("query {}, coordinate {}", self.name(at / dim), at % dim);
        all_finite(rows, place).map(|()| self)
    }

    /// Returns the number of queries q.
    pub fn len(&self) -> usize {
        self.rows.len() / self.dim
    }

    /// Returns whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the dimension p.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns all coordinates, `[q × p]` row-major.
    pub fn rows(&self) -> &'a [f32] {
        self.rows
    }

    /// Returns some of the queries, which there are.
    pub(crate) fn part(&self, queries: Range<usize>) -> Self {
        let Self { dim, rows, names, texts } = *self;
        Self {
            dim,
            rows: &rows[queries.start * dim..queries.end * dim],
            names: names.map(|names| &names[queries.clone()]),
            texts: texts.map(|texts| &texts[queries]),
        }
    }

    /// Returns the prediction for a query.
    pub(crate) fn row(&self, query: usize) -> &'a [f32] {
        &self.rows[query * self.dim..][..self.dim]
    }

    /// Returns all coordinates with every row scaled to unit length, `[q × p]` row-major; a zero row stays
    /// zero.
    ///
    /// The order of the candidates of a query changes only where there are constants, and then because
    /// long and short predictions now weigh the same against them (see [`Hubs`](crate::Hubs)). Not for
    /// candidates of a kernel that is not normalised: their `−½k(c, c)` belongs to predictions of the
    /// length that the regression gave them.
    ///
    /// ```
    /// use dsokr_decode::Queries;
    ///
    /// let unit = Queries::new(2, &[3.0, 4.0, 0.0, 0.0])?.normalised();
    /// assert_eq!(unit, [0.6, 0.8, 0.0, 0.0]);
    /// # Ok::<(), dsokr_core::Error>(())
    /// ```
    pub fn normalised(&self) -> Vec<f32> {
        let mut unit = Vec::with_capacity(self.rows.len());
        for row in self.rows.chunks_exact(self.dim) {
            // In f64 neither the square of the largest f32 nor that of the smallest is lost.
            let length = row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
            let scale = if length > 0.0 { length } else { 1.0 };
            unit.extend(row.iter().map(|&value| (f64::from(value) / scale) as f32));
        }
        unit
    }

    /// Returns the text of a query, where it has one.
    pub(crate) fn text(&self, query: usize) -> Option<&'a str> {
        self.texts?.get(query).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Returns the texts of the queries, where they have some.
    pub(crate) fn texts(&self) -> Option<&'a [String]> {
        self.texts
    }

    /// Returns ids of the queries, where they have some.
    pub(crate) fn names(&self) -> Option<&'a [String]> {
        self.names
    }

    /// Returns how errors call query `query`: its id in quotes, or `#` and its position, from 0, where it has none or an empty
    /// one.
    pub fn name(&self, query: usize) -> Cow<'a, str> {
        let name = self.names.and_then(|names| names.get(query));
        match name.filter(|name| !name.is_empty()) {
            Some(name) => format!("{name:?}").into(),
            None => format!("#{query}").into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_with_an_empty_id_is_called_by_its_position() {
        let names = ["a".to_owned(), String::new()];
        let error = Queries::named(&names, 2, &[0.0, 1.0, 2.0, f32::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "query #1, coordinate 1: NaN is not a finite number");
        let error = Queries::named(&names, 2, &[f32::NAN, 1.0, 2.0, 3.0]).unwrap_err();
        assert_eq!(error.to_string(), "query \"a\", coordinate 0: NaN is not a finite number");
    }
}
