use super::table::Table;
use crate::Error;
use crate::config::RankingEmbedding;

/// The rankings of a column, whose ranks are counted from 1 in the table: the rank of each item, from 0;
/// [`Error::Line`] for a cell that is no ranking of as many items as the first, or that the embedding does
/// not take.
///
/// # Errors
/// A column that was not read.
pub(super) fn column<'t>(
    table: &'t Table,
    column: &str,
    embedding: RankingEmbedding,
) -> Result<impl Iterator<Item = Result<Vec<u32>, Error>> + 't, Error> {
    let mut first = None;
    let ranking = move |cell: &str| {
        let ranks = parse(cell).ok_or(RANKS)?;
        let items = first.unwrap_or(ranks.len());
        if ranks.len() != items || items < 2 {
            return Err(format!("the ranks of {} items, as in every row", items.max(2)));
        }
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        if embedding == RankingEmbedding::Hamming && !sorted.iter().copied().eq(0..items as u32) {
            return Err(format!("each of the ranks 1 to {items} once"));
        }
        first = Some(items);
        Ok(ranks)
    };
    let cells = table.column(column)?.iter().enumerate();
    Ok(cells.scan(ranking, |ranking, (row, cell)| {
        let wrong = |allowed: String| {
            let message = format!("the ranking {cell:?}: allowed is {allowed}");
            Error::line(table.path(), table.line(row), message)
        };
        Some(ranking(cell).map_err(wrong))
    }))
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
