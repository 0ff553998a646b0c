use dsokr_molecule::graph::NamedGraph;

use crate::{Error, Structure};

/// Outputs as what they are, not only as feature rows: what predictions are compared with, and what
/// predicted ones are, where figures say more than ranks do.
#[derive(Clone, Debug, PartialEq)]
pub enum Truth {
    /// Molecules, evaluated by graph edit distance.
    Molecules(Vec<Structure>),
    /// Graphs of any kind, evaluated by graph edit distance.
    Graphs(Vec<NamedGraph>),
    /// Sets of labels, evaluated by F1.
    Labels(Vec<Vec<String>>),
    /// Rankings, evaluated by Kendall's τ: the rank of each item, from 0, the best.
    Rankings(Vec<Vec<u32>>),
}

impl Truth {
    /// Some of them; none if an index is unknown.
    pub(crate) fn select(&self, places: &[Option<usize>]) -> Option<Self> {
        fn at<T: Clone>(places: &[Option<usize>], all: &[T]) -> Option<Vec<T>> {
            places.iter().map(|&place| place.map(|place| all[place].clone())).collect()
        }
        Some(match self {
            Self::Molecules(all) => Self::Molecules(at(places, all)?),
            Self::Graphs(all) => Self::Graphs(at(places, all)?),
            Self::Labels(all) => Self::Labels(at(places, all)?),
            Self::Rankings(all) => Self::Rankings(at(places, all)?),
        })
    }

    /// Replaces the outputs at `places` by `others`, one each, of the same kind.
    ///
    /// # Errors
    /// [`Error::Value`] for outputs of another kind.
    pub fn replace(&mut self, places: &[usize], others: Self) -> Result<(), Error> {
        fn put<T>(all: &mut [T], places: &[usize], others: Vec<T>) {
            places.iter().zip(others).for_each(|(&place, other)| all[place] = other);
        }
        match (self, others) {
            (Self::Molecules(all), Self::Molecules(others)) => put(all, places, others),
            (Self::Graphs(all), Self::Graphs(others)) => put(all, places, others),
            (Self::Labels(all), Self::Labels(others)) => put(all, places, others),
            (Self::Rankings(all), Self::Rankings(others)) => put(all, places, others),
            _ => return Err(Error::value("outputs", "outputs of two kinds", "one kind")),
        }
        Ok(())
    }

    /// Number of outputs.
    pub fn len(&self) -> usize {
        match self {
            Self::Molecules(all) => all.len(),
            Self::Graphs(all) => all.len(),
            Self::Labels(all) => all.len(),
            Self::Rankings(all) => all.len(),
        }
    }

    /// Whether there are no outputs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
