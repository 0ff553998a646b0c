//! The extension module `dsokr._dsokr`: arrays in, arrays out.
//!
//! The package `dsokr` in `python/dsokr` converts arguments and documents them; this module checks them,
//! calls the crates and returns arrays. Work runs without the interpreter's lock
//! (`work`).

mod arrays;
mod basis;
mod candidates;
mod errors;
mod graphs;
#[cfg(feature = "run")]
mod logging;
mod machines;
mod molecules;
mod ranks;
mod rows;
#[cfg(feature = "run")]
mod run;
mod work;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
mod _dsokr {
    #[expect(non_upper_case_globals, reason = "the name that Python's packages have")]
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use crate::basis::{Basis, kernel_matrix, leverage_scores};
    #[pymodule_export]
    use crate::candidates::{Candidates, rank_ensemble};
    #[pymodule_export]
    use crate::graphs::{Graph, GraphVocabulary, edit_distances};
    #[pymodule_export]
    use crate::machines::{KernelMachine, sketch_matrix};
    #[pymodule_export]
    use crate::molecules::{canonical_smiles, drawing, molecule_features, molecule_graphs};
    #[pymodule_export]
    use crate::ranks::{Ranks, rank_scores};
    #[pymodule_export]
    use crate::rows::{Rows, check_rounding};
    #[cfg(feature = "run")]
    #[pymodule_export]
    use crate::run::{
        Control, Evaluation, Runs, compare_runs, demo, quickstart, reads_vectors, train,
        write_pairs,
    };

    #[pymodule_init]
    fn start() -> pyo3::PyResult<()> {
        dsokr_core::print_arguments_as(crate::errors::write_parameter);
        crate::work::start();
        #[cfg(feature = "run")]
        {
            crate::logging::start();
            crate::run::start().map_err(crate::errors::Failure::from)?;
        }
        Ok(())
    }
}
