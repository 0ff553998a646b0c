//! Scores of rows that are named one by one.

use super::pass::not_finite;
use super::tile::{QueryTile, product};
use crate::blocks::fetch;
use crate::{CandidateBlocks, Error, Queries};

/// Appends the coordinates and the constants of some rows.
pub(crate) fn gather(
    candidates: &dyn CandidateBlocks,
    rows: &[u32],
    coordinates: &mut Vec<f32>,
    constants: &mut Vec<f32>,
) -> Result<(), Error> {
    for &row in rows {
        let block = fetch(candidates, row as usize..row as usize + 1)?;
        coordinates.extend_from_slice(&block.coordinates);
        constants.extend_from_slice(&block.constants);
    }
    Ok(())
}

/// The rows of one query, with memory that is kept from query to query.
#[derive(Default)]
pub(crate) struct Listed {
    /// Distinct rows of the list, ascending.
    pub rows: Vec<u32>,
    /// How many candidates of the list share each.
    pub counts: Vec<u32>,
    coordinates: Vec<f32>,
    constants: Vec<f32>,
    products: Vec<f32>,
}

impl Listed {
    /// Takes the distinct row of each candidate of a list.
    pub(crate) fn gather(&mut self, rows: impl Iterator<Item = u32>) {
        self.rows.clear();
        self.rows.extend(rows);
        self.rows.sort_unstable();
        self.counts.clear();
        self.counts.extend(self.rows.chunk_by(|a, b| a == b).map(|same| same.len() as u32));
        self.rows.dedup();
    }

    /// The place of a row.
    pub(crate) fn place(&self, row: u32) -> Option<usize> {
        self.rows.binary_search(&row).ok()
    }

    /// Scores of the distinct rows of the list.
    pub(crate) fn score(
        &mut self,
        queries: &Queries,
        query: usize,
        candidates: &dyn CandidateBlocks,
    ) -> Result<Vec<f32>, Error> {
        const ROWS: usize = 256;
        let tile = QueryTile::new(query..query + 1, queries.dim(), queries.row(query));
        let mut scores = Vec::with_capacity(self.rows.len());
        for rows in self.rows.chunks(ROWS) {
            self.coordinates.clear();
            self.constants.clear();
            gather(candidates, rows, &mut self.coordinates, &mut self.constants)?;
            product(&tile, queries.dim(), &self.coordinates, &mut self.products);
            let products = self.products.chunks_exact(tile.lanes).zip(&self.constants);
            scores.extend(products.take(rows.len()).map(|(products, b)| products[0] + b));
        }
        match scores.iter().position(|score| !score.is_finite()) {
            None => Ok(scores),
            Some(at) => Err(not_finite(queries, query, self.rows[at] as usize, scores[at])),
        }
    }
}
