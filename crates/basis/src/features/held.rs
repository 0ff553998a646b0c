use std::ops::Range;

use dsokr_core::Error;
use dsokr_core::processes::Held;

use super::{Block, Features, RowKind, RowSource, check_alike};

/// Rows of a source of which some are held in memory, such as the part that one of several processes reads again and
/// again. The others are read from the source when they are asked for.
///
/// ```
/// use dsokr_basis::{Features, RowSource};
/// use dsokr_basis::features::{DenseRows, HeldRows};
/// use dsokr_core::processes::Held;
///
/// let source = Features::Dense(DenseRows::new(1, vec![0.0, 1.0, 2.0, 3.0])?);
/// let rows = HeldRows::new(&source, Held::new(4, std::iter::once(1..3)), source.select(&[1, 2])?)?;
/// assert_eq!((rows.len(), rows.held().len()), (4, 2));
/// assert_eq!(rows.block(1..4)?, source.block(1..4)?);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(derive_more::Debug)]
#[debug("HeldRows({held:?})")]
pub struct HeldRows<'r, S> {
    source: S,
    held: Held,
    rows: Block<'r>,
}

impl<'r, S: RowSource> HeldRows<'r, S> {
    /// Creates the rows of a source from those that are held.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows that are not as many, or not of the kind and width of the source.
    pub fn new(source: S, held: Held, rows: Block<'r>) -> Result<Self, Error> {
        Error::check_length("rows", held.rows(), source.len())?;
        Error::check_length("held rows", rows.len(), held.len())?;
        check_alike((rows.kind(), rows.width()), (source.kind(), source.width()))?;
        Ok(Self { source, held, rows })
    }
}

impl<S> HeldRows<'_, S> {
    /// Returns which rows are held.
    pub fn held(&self) -> &Held {
        &self.held
    }
}

impl<S: RowSource> RowSource for HeldRows<'_, S> {
    fn len(&self) -> usize {
        self.held.rows()
    }

    fn width(&self) -> usize {
        self.source.width()
    }

    fn kind(&self) -> RowKind {
        self.source.kind()
    }

    fn parts(&self) -> Vec<(RowKind, usize)> {
        self.source.parts()
    }

    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        match self.held.place(&rows) {
            Some(place) => self.rows.block(place),
            None => self.source.block(rows),
        }
    }

    fn select(&self, indices: &[usize]) -> Result<Features, Error> {
        let place = |&row: &usize| self.held.place(&(row..row + 1)).map(|place| place.start);
        let places: Vec<Option<usize>> = indices.iter().map(place).collect();
        let is_other = |(place, _): &(&Option<usize>, &usize)| place.is_none();
        let others: Vec<usize> =
            places.iter().zip(indices).filter(is_other).map(|(_, &row)| row).collect();
        if others.is_empty() {
            return self.rows.select(&places.into_iter().flatten().collect::<Vec<_>>());
        }
        // read at once: a source may compute them together
        let others = self.source.select(&others)?;
        let mut selected = Features::empty(self.kind(), self.width())?;
        let mut next = 0;
        for place in places {
            let row = match place {
                Some(place) => self.rows.block(place..place + 1)?,
                None => {
                    next += 1;
                    others.block(next - 1..next)?
                }
            };
            selected.append(&row)?;
        }
        Ok(selected)
    }
}
