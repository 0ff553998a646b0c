//! This process as one of several that work together.

use std::time::Duration;

use crate::mpi::Job;
use crate::{Error, basis::Processes};

use crate::cli::output::print_error;
use crate::cli::progress;

/// How long a rank that has failed waits for rank 0 to report what all of them have found.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ends all ranks of the job with the error of one.
pub fn fail(job: &Job, error: &Error, code: u8) -> ! {
    let ranks: Processes = job.ranks();
    if !ranks.is_first() {
        std::thread::sleep(PATIENCE);
    }
    progress::clear();
    print_error(format_args!("rank {}: error: {error}", ranks.rank()));
    job.abort(code)
}
