use super::pass::not_finite;
use super::tile::{QueryTile, product};
use crate::{CandidateBlocks, Error, Queries};

/// The scores of the gold rows.
pub(crate) fn gold_scores(
    queries: &Queries,
    gold: &[Option<u32>],
    candidates: &dyn CandidateBlocks,
) -> Result<Vec<Option<f32>>, Error> {
    let mut buffers = Buffers::default();
    let mut score = |(query, gold): (usize, &Option<u32>)| {
        let Some(row) = *gold else { return Ok(None) };
        buffers.gather(std::iter::once(row));
        Ok(buffers.score(queries, query, candidates)?.first().copied())
    };
    gold.iter().enumerate().map(&mut score).collect()
}

/// What scoring the list of one query needs, kept from query to query.
#[derive(Default)]
pub(crate) struct Buffers {
    /// Distinct rows of the list, ascending, and how many candidates of the list share each.
    pub rows: Vec<(u32, u32)>,
    coordinates: Vec<f32>,
    constants: Vec<f32>,
    products: Vec<f32>,
}

impl Buffers {
    /// Takes the distinct row of each candidate of a list.
    pub(crate) fn gather(&mut self, rows: impl Iterator<Item = u32>) {
        self.rows.clear();
        self.rows.extend(rows.map(|row| (row, 1)));
        self.rows.sort_unstable();
        self.rows.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += u32::from(same);
            same
        });
    }

    /// Scores of the distinct rows of the list.
    pub(crate) fn score(
        &mut self,
        queries: &Queries,
        query: usize,
        candidates: &dyn CandidateBlocks,
    ) -> Result<Vec<f32>, Error> {
        const ROWS: usize = 256;
        let dim = queries.dim();
        let coordinates = &queries.rows()[query * dim..(query + 1) * dim];
        let tile = QueryTile::new(query..query + 1, dim, coordinates);
        let mut scores = Vec::with_capacity(self.rows.len());
        for rows in self.rows.chunks(ROWS) {
            self.coordinates.clear();
            self.constants.clear();
            for &(row, _) in rows {
                let block = candidates.block(row as usize..row as usize + 1)?;
                self.coordinates.extend_from_slice(&block.coordinates);
                self.constants.extend_from_slice(&block.constants);
            }
            product(&tile, dim, &self.coordinates, &mut self.products);
            let products = self.products.chunks_exact(tile.lanes).zip(&self.constants);
            for (&(row, _), (products, constant)) in rows.iter().zip(products) {
                let score = products[0] + constant;
                if !score.is_finite() {
                    return Err(not_finite(queries, query, row as usize, score));
                }
                scores.push(score);
            }
        }
        Ok(scores)
    }
}
