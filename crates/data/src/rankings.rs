use super::table::Table;
use crate::Error;
use crate::config::RankingEmbedding;

/// The rankings of a column, whose ranks are counted from 1 in the table: the rank of each item, from 0.
///
/// # Errors
/// [`Error::Line`] for a cell that is no ranking of as many items as the first, or that the embedding
/// does not take.
pub(super) fn column(
    table: &Table,
    column: &str,
    embedding: RankingEmbedding,
) -> Result<Vec<Vec<u32>>, Error> {
    let cells = table.column(column)?;
    let wrong = |row: usize, allowed: String| {
        let message = format!("the ranking {:?}: allowed is {allowed}", cells[row]);
        Error::line(table.path(), table.line(row), message)
    };
    let mut rankings: Vec<Vec<u32>> = Vec::with_capacity(cells.len());
    for (row, cell) in cells.iter().enumerate() {
        let ranks = parse(cell).ok_or_else(|| wrong(row, RANKS.into()))?;
        let items = rankings.first().map_or(ranks.len(), Vec::len);
        if ranks.len() != items || items < 2 {
            let allowed = format!("the ranks of {} items, as in every row", items.max(2));
            return Err(wrong(row, allowed));
        }
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        if embedding == RankingEmbedding::Hamming && !sorted.iter().copied().eq(0..items as u32) {
            return Err(wrong(row, format!("each of the ranks 1 to {items} once")));
        }
        rankings.push(ranks);
    }
    Ok(rankings)
}

/// The ranking that is a candidate's label.
pub(super) fn of_label(label: &str) -> Result<Vec<u32>, Error> {
    parse(label).ok_or_else(|| Error::label(label, format!("a ranking: allowed is {RANKS}")))
}

const RANKS: &str = "ranks from 1, with spaces between";

fn parse(text: &str) -> Option<Vec<u32>> {
    let rank = |text: &str| text.parse::<u32>().ok()?.checked_sub(1);
    text.split_whitespace().map(rank).collect()
}
