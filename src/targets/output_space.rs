//! The space that outputs, candidates and predictions are points of, and candidates at their points.

use std::borrow::Cow;
use std::path::Path;

use dsokr_basis::features::{Block, PartRows, Selected, distinct};
use dsokr_basis::{Basis, RowSource};
use dsokr_core::Processes;
use dsokr_data::Outputs;
use dsokr_decode::{CandidateParts, Candidates, Columns};
use dsokr_machines::{OutputSpace as MachineSpace, Points};

use crate::config::{Checked, Search};
use crate::error::Error;
use crate::metrics::quantiles::median_candidates;
use crate::run_dir::{BASIS, OUTPUTS};

/// The space that outputs, candidates and predictions are points of.
#[derive(Clone, derive_more::Debug)]
pub enum OutputSpace {
    /// The sketched eigenbasis, in which points count from zero.
    #[debug("Basis({} coordinates)", _0.dimension())]
    Basis(Basis),
    /// The output space of a kernel machine, in which they count from the mean of the training outputs.
    #[debug("Machine({} coordinates)", _0.dimension())]
    Machine(MachineSpace),
    /// Quantiles of a number at these levels.
    Quantiles(Vec<f64>),
}

impl OutputSpace {
    /// Returns the number of coordinates of a point.
    pub fn width(&self) -> usize {
        match self {
            Self::Basis(basis) => basis.dimension(),
            Self::Machine(space) => space.dimension(),
            Self::Quantiles(levels) => levels.len(),
        }
    }

    /// Returns the basis; none if outputs are not sketched.
    pub fn basis(&self) -> Option<&Basis> {
        match self {
            Self::Basis(basis) => Some(basis),
            Self::Machine(space) => space.as_basis(),
            Self::Quantiles(_) => None,
        }
    }

    /// Returns the point from which candidates' coordinates count; none where they are not points of a basis.
    pub(crate) fn origin(&self) -> Option<Cow<'_, [f64]>> {
        match self {
            Self::Basis(basis) => Some(vec![0.0; basis.dimension()].into()),
            Self::Machine(space) => space.as_basis().map(|_| space.centre().into()),
            Self::Quantiles(_) => None,
        }
    }

    /// Returns the candidates among outputs, each distinct one placed once. Several `ranks` share the work, and each holds the
    /// coordinates of its part ([`Candidates::held`]).
    ///
    /// # Errors
    /// Rows that the space does not take; outputs without a candidate.
    pub fn candidates(&self, outputs: &Outputs, ranks: &Processes) -> Result<Candidates, Error> {
        candidates_at(outputs, |rows| self.place(rows, ranks))
    }

    /// Returns the rows of outputs as candidates' points, with their constants. Several `ranks` share the work, and each
    /// holds the coordinates of its part.
    pub(crate) fn place(
        &self,
        rows: &dyn RowSource,
        ranks: &Processes,
    ) -> Result<CandidateParts, Error> {
        match self {
            Self::Basis(basis) => Ok(CandidateParts::in_basis(basis, rows, ranks)?),
            Self::Machine(space) => {
                let (held, points) = space.points_part(ranks, rows)?;
                let Points { dimension, coordinates, constants } = points;
                Ok(CandidateParts::of_part(held, dimension, coordinates, constants, ranks)?)
            }
            Self::Quantiles(levels) => {
                let (coordinates, constants) = median_candidates(levels, &numbers(rows)?);
                let dim = levels.len();
                Ok(CandidateParts { dim, coordinates, constants, ..CandidateParts::default() })
            }
        }
    }

    /// Returns the fingerprint of the coordinates, which files name.
    pub(crate) fn fingerprint(&self) -> String {
        match self {
            Self::Basis(basis) => basis.fingerprint(),
            Self::Machine(space) => space.fingerprint(),
            Self::Quantiles(levels) => format!("quantiles {levels:?}"),
        }
    }

    /// Writes the space into a run directory.
    pub(crate) fn save(&self, path: &Path) -> Result<(), Error> {
        if let Self::Machine(space) = self {
            space.save(&path.join(OUTPUTS))?;
        }
        self.basis().map_or(Ok(()), |basis| Ok(basis.save(&path.join(BASIS))?))
    }

    /// Reads the space of a run directory; none where it is not there.
    pub(crate) fn load(path: &Path, config: &Checked) -> Result<Option<Self>, Error> {
        if let Some(levels) = config.encoder.abilities().levels {
            return Ok(Some(Self::Quantiles(levels.to_vec())));
        }
        let basis = path.join(BASIS);
        let outputs = path.join(OUTPUTS);
        let basis = if basis.exists() { Some(Basis::load(&basis)?) } else { None };
        if outputs.exists() {
            return Ok(Some(Self::Machine(MachineSpace::load(&outputs, basis)?)));
        }
        Ok(basis.map(Self::Basis))
    }

    /// Reads the space of a run directory as [`load`](Self::load) does, unless it is that of a kernel machine without a basis,
    /// which is large: of all that ranks candidates, the exact search alone needs it.
    pub(crate) fn load_to_rank(path: &Path, config: &Checked) -> Result<Option<Self>, Error> {
        let is_large = config.encoder.abilities().levels.is_none() && !path.join(BASIS).exists();
        if is_large && config.decoding.search != Search::Exact {
            return Ok(None);
        }
        Self::load(path, config)
    }
}

/// Projects each distinct candidate once, with the constants of [`CandidateParts::in_basis`].
///
/// # Errors
/// Rows that the basis does not project; outputs without a candidate.
pub fn candidates(basis: &Basis, outputs: &Outputs) -> Result<Candidates, Error> {
    candidates_at(outputs, |rows| Ok(CandidateParts::in_basis(basis, rows, &Processes::default())?))
}

/// Returns the candidates in the coordinates of one of several kernels, without constants.
pub(crate) fn summand_candidates(
    basis: &Basis,
    place: usize,
    outputs: &Outputs,
    ranks: &Processes,
) -> Result<Candidates, Error> {
    candidates_at(outputs, |rows| {
        let parts = PartRows::all(rows);
        let projection = basis.project_shared(ranks, &parts[place])?;
        let dim = projection.dimension();
        let coordinates = projection.into_coordinates();
        Ok(CandidateParts { dim, coordinates, ..CandidateParts::default() })
    })
}

/// Returns the share of each distinct row of candidates that the basis does not know, of outputs that are all candidates.
pub(crate) fn unknown_shares(
    basis: &Basis,
    candidates: &Candidates,
    outputs: &Outputs,
) -> Result<Vec<f64>, Error> {
    let first = (0..candidates.distinct() as u32).map(|row| candidates.members(row)[0] as usize);
    let first: Vec<usize> = first.collect();
    Ok(basis.unknown_shares(&Selected::new(outputs.rows.as_ref(), &first))?)
}

/// Returns candidates where `place` puts their distinct rows.
fn candidates_at(
    outputs: &Outputs,
    place: impl FnOnce(&dyn RowSource) -> Result<CandidateParts, Error>,
) -> Result<Candidates, Error> {
    use dsokr_core::Error::{NotFiniteAt, Numeric};
    let pool = Selected::new(outputs.rows.as_ref(), &outputs.candidates);
    let pick = |all: &[String]| outputs.candidates.iter().map(|&i| all[i].clone()).collect();
    let mut columns = Columns::new(pick(&outputs.ids), pick(&outputs.labels))?;
    for (name, cells) in &outputs.columns {
        columns = columns.with(name, pick(cells))?;
    }
    let placed = Candidates::placed(distinct(&pool)?, columns, |first| {
        let chosen: Vec<usize> = first.iter().map(|&i| outputs.candidates[i]).collect();
        place(&Selected::new(outputs.rows.as_ref(), &chosen))
    });
    placed.map_err(|error| match error {
        Error::Core(error @ NotFiniteAt { .. }) => {
            let remedy = "outputs are too large for numbers of 32 bits: divide them by a constant, or set output.scaling = \
                          \"standard\"";
            Numeric(format!("{error}; {remedy}")).into()
        }
        other => other,
    })
}

/// Returns outputs that are one number each.
pub(super) fn numbers(rows: &dyn RowSource) -> Result<Vec<f32>, Error> {
    match (rows.width(), rows.block(0..rows.len())?) {
        (1, Block::Dense(block)) => Ok(block.values().to_vec()),
        _ => Err(Error::value(
            "encoder.solver.loss.name",
            format!("\"pinball\", with {} rows of width {}", rows.kind(), rows.width()),
            "a loss of distances, or outputs that are one number each",
        )),
    }
}
