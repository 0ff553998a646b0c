//! Numbers in columns of candidates, by the signs before their decimals.

use dsokr_data::cells::{NumberNotation, is_missing};
use dsokr_decode::Columns;

/// The sign before the decimals of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Decimals {
    /// A point; commas group thousands.
    Points,
    /// A comma; points group thousands.
    Commas,
    /// A point in some cells and a comma in others; no cell could be read by both.
    Either,
}

/// What a column has that is not compared with numbers, and what is expected.
type Refusal = (String, &'static str);

impl Decimals {
    /// How the numbers of a column are written.
    ///
    /// # Errors
    /// A column fewer than half of whose cells are numbers, missing ones not counted; one with decimal points and decimal
    /// commas in which some cell has a sign that may be either.
    pub fn of_column(columns: &Columns, column: usize) -> Result<Self, Refusal> {
        let mut present = 0;
        let mut points = false;
        let mut comma = None;
        let mut both = None;
        let mut unread = Vec::new();
        for candidate in 0..columns.len() {
            let cell = columns.cell(column, candidate);
            if is_missing(cell) {
                continue;
            }
            present += 1;
            match (Self::Points.read(cell), Self::Commas.read(cell)) {
                (None, None) => unread.push(cell),
                (Some(_), None) => points = true,
                (None, Some(_)) => comma = comma.or(Some(cell)),
                (Some(one), Some(other)) if one == other => {}
                (Some(_), Some(_)) => both = both.or(Some(cell)),
            }
        }
        if 2 * unread.len() > present {
            let found = format!("a number, of a column with cells such as {:?}", unread[0]);
            return Err((found, "a text in quotation marks, or a column of plain numbers"));
        }
        match (points, comma, both) {
            (true, Some(comma), Some(both)) => {
                let found =
                    format!("a number, of a column with cells such as {comma:?} and {both:?}");
                Err((found, "a column whose decimals have points in all cells, or commas in all"))
            }
            (true, Some(_), None) => Ok(Self::Either),
            (false, Some(_), _) => Ok(Self::Commas),
            (_, None, _) => Ok(Self::Points),
        }
    }

    /// The number of a cell; none of a cell that holds anything else.
    pub fn read(self, cell: &str) -> Option<f64> {
        let cell = cell.trim();
        let number = match self {
            // as a program writes it, or with commas that group thousands
            Self::Points => cell.parse().ok().or_else(|| normalised(cell, '.')),
            Self::Commas => normalised(cell, ','),
            Self::Either => Self::Points.read(cell).or_else(|| Self::Commas.read(cell)),
        };
        number.filter(|number| number.is_finite())
    }
}

/// The number of a cell by the sign before its decimals.
fn normalised(cell: &str, decimal: char) -> Option<f64> {
    NumberNotation { decimal, ..NumberNotation::default() }.normalised(cell)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimals(cells: &[&str]) -> Result<Decimals, Refusal> {
        let ids = (0..cells.len()).map(|id| id.to_string()).collect();
        let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
        let columns = Columns::new(ids, Vec::new()).unwrap().with("price", cells).unwrap();
        Decimals::of_column(&columns, columns.find("price").unwrap())
    }

    #[test]
    fn the_sign_before_decimals_is_that_of_the_column() {
        for (cells, expected, numbers) in [
            (&["1,250", "70.4", "", "2e3"][..], Decimals::Points, [1250.0, 70.4]),
            (&["1,250", "12,50"], Decimals::Commas, [1.25, 12.5]),
            (&["1.250,5", "12,50", "n/a"], Decimals::Commas, [1250.5, 12.5]),
            (&["0.5", "12,50"], Decimals::Either, [0.5, 12.5]),
        ] {
            let found = decimals(cells).unwrap();
            assert_eq!(found, expected, "{cells:?}");
            let read: Vec<f64> = cells.iter().filter_map(|cell| found.read(cell)).collect();
            assert_eq!(read[..2], numbers, "{cells:?}");
        }
    }

    #[test]
    fn columns_of_unclear_numbers_are_refused() {
        for (cells, says) in [
            (&["12,50", "1,250", "70.4"][..], "\"12,50\" and \"1,250\""),
            (&["15 €", "12 €", "3"], "\"15 €\""),
            (&["Acme", "A & B"], "\"Acme\""),
        ] {
            let (found, _) = decimals(cells).unwrap_err();
            assert!(found.contains(says), "{found}");
        }
    }
}
