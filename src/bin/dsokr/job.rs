//! This process as one of several that work together.

use std::time::Duration;

use dsokr::mpi::Job;
use dsokr::{Error, basis::Processes};

use crate::{print_error, progress};

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
