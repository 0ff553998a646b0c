//! Ranks that MPI connects: a job of `mpirun` or `srun` (feature `mpi`).
//!
//! MPI moves bytes; what is added up is added up by [`Ranks`], in the order of ranks.

use std::time::Duration;

use ::mpi::Threading;
use ::mpi::environment::Universe;
use ::mpi::point_to_point::{Destination, Source, send_receive_into};
use ::mpi::topology::{Communicator, SimpleCommunicator};
use ::mpi::traits::CommunicatorCollectives;
use dsokr_basis::ranks::Exchange;
use dsokr_basis::{Error, Ranks};

/// What launchers tell the processes that they start: Open MPI's, PMIx (Slurm), and PMI (MPICH, Slurm).
const LAUNCHED: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"];

/// What wakes a rank, and how often a rank that waits looks for it.
const WAKE: u8 = 0;
const LOOK: Duration = Duration::from_millis(1);

/// The job that this process is a rank of. MPI is called on the thread that has joined it, and on no other.
pub struct Job {
    _universe: Universe,
}

impl Job {
    /// Joins the job, if a launcher has started this process; it can be joined once.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an MPI library that does not allow a process to have threads.
    pub fn join() -> Result<Option<Self>, Error> {
        if !LAUNCHED.iter().any(|name| std::env::var_os(name).is_some()) {
            return Ok(None);
        }
        let Some((universe, provided)) = ::mpi::initialize_with_threading(Threading::Funneled)
        else {
            return Ok(None);
        };
        let job = Self { _universe: universe };
        match provided {
            Threading::Single => {
                let message = "the MPI library does not allow a process to have several threads";
                Err(Error::Unsupported(message.into()))
            }
            Threading::Funneled | Threading::Serialized | Threading::Multiple => Ok(Some(job)),
        }
    }

    /// The processes of the job.
    pub fn ranks(&self) -> Ranks {
        Ranks::new(World)
    }

    /// Ends all processes of the job with an exit code.
    pub fn abort(&self, code: u8) -> ! {
        SimpleCommunicator::world().abort(code.into())
    }
}

impl Drop for Job {
    /// A panic ends the whole job: the other ranks would wait for this one.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("rank {} has panicked: the job ends", World.rank());
            self.abort(101);
        }
    }
}

/// All processes of the job.
struct World;

impl Exchange for World {
    fn rank(&self) -> usize {
        SimpleCommunicator::world().rank() as usize
    }

    fn size(&self) -> usize {
        SimpleCommunicator::world().size() as usize
    }

    /// Pairs of ranks exchange their parts, in P − 1 rounds.
    fn exchange(&self, parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> {
        let (world, rank) = (SimpleCommunicator::world(), self.rank());
        let sizes: Vec<u64> = parts.iter().map(|part| part.len() as u64).collect();
        let mut given_sizes = vec![0u64; sizes.len()];
        world.all_to_all_into(&sizes[..], &mut given_sizes[..]);
        if let Some(&most) = sizes.iter().chain(&given_sizes).max()
            && i32::try_from(most).is_err()
        {
            let message = format!("it exchanges {most} bytes at once; at most {} go", i32::MAX);
            return Err(Error::Ranks { rank, message });
        }
        let mut given: Vec<Vec<u8>> =
            given_sizes.iter().map(|&size| vec![0; size as usize]).collect();
        given[rank].copy_from_slice(parts[rank]);
        for round in 1..parts.len() {
            let to = (rank + round) % parts.len();
            let from = (rank + parts.len() - round) % parts.len();
            let [receiver, sender] = [to, from].map(|rank| world.process_at_rank(rank as i32));
            send_receive_into(parts[to], &receiver, &mut given[from][..], &sender);
        }
        Ok(given)
    }

    fn wake(&self) -> Result<(), Error> {
        let world = SimpleCommunicator::world();
        (1..world.size()).for_each(|rank| world.process_at_rank(rank).send(&WAKE));
        Ok(())
    }

    /// MPI's own waiting keeps a processor busy.
    fn wait(&self) -> Result<(), Error> {
        let world = SimpleCommunicator::world();
        let first = world.process_at_rank(0);
        while first.immediate_probe().is_none() {
            std::thread::sleep(LOOK);
        }
        let (_, _) = first.receive::<u8>();
        Ok(())
    }
}
