//! Ranks that MPI connects: a job of `mpirun` or `srun` (feature `mpi`).
//!
//! MPI moves bytes; what is added up is added up by [`Processes`], in the order of ranks.

use std::time::Duration;

use ::mpi::Threading;
use ::mpi::environment::Universe;
use ::mpi::point_to_point::{Destination, Source};
use ::mpi::request::{RequestCollection, multiple_scope};
use ::mpi::topology::{Communicator, SimpleCommunicator};
use ::mpi::traits::CommunicatorCollectives;
use dsokr_core::processes::Exchange;
use dsokr_core::{Error, Processes};

/// Variables that launchers set for the processes that they start: Open MPI's, PMIx (Slurm), and PMI (MPICH, Slurm).
const LAUNCHED: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"];

/// The message that wakes a rank, and how often a rank that waits looks for it: MPI's own waiting keeps a processor busy.
const WAKE: u8 = 0;
const LOOK: Duration = Duration::from_millis(1);

/// A thread that waits for messages while a different one computes looks for them after pauses, which grow between
/// these.
const PAUSES: (Duration, Duration) = (Duration::from_micros(20), Duration::from_micros(200));

/// The job that this process is a rank of. MPI is called on the thread that has joined it, and on that of
/// [`Processes::background`] while the first waits for it.
#[derive(derive_more::Debug)]
#[debug("Job")]
pub struct Job {
    _universe: Universe,
    world: World,
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
        let Some((universe, provided)) = ::mpi::initialize_with_threading(Threading::Serialized)
        else {
            return Ok(None);
        };
        let turns = match provided {
            Threading::Single => {
                let message = "the MPI library does not allow a process to have several threads";
                return Err(Error::Unsupported(message.into()));
            }
            Threading::Funneled => false,
            Threading::Serialized | Threading::Multiple => true,
        };
        let local_rank = universe.world().split_shared(0).rank() as usize;
        let world = World { turns, local_rank, pauses: false };
        Ok(Some(Self { _universe: universe, world }))
    }

    /// Returns the processes of the job.
    pub fn ranks(&self) -> Processes {
        Processes::new(self.world)
    }

    /// Ends all processes of the job with an exit code.
    pub fn abort(&self, code: u8) -> ! {
        SimpleCommunicator::world().abort(code.into())
    }
}

impl Drop for Job {
    /// Ends the whole job after a panic: the other ranks would wait for this one.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let rank = SimpleCommunicator::world().rank();
            eprintln!("rank {rank} has panicked: the job ends");
            self.abort(101);
        }
    }
}

/// All processes of the job.
#[derive(Clone, Copy)]
struct World {
    /// Whether the MPI library allows threads to take turns.
    turns: bool,
    local_rank: usize,
    /// Whether it pauses while it waits. MPI's own waiting keeps a processor busy.
    pauses: bool,
}

impl World {
    fn complete<D: ?Sized>(&self, requests: &mut RequestCollection<D>) {
        let mut done = Vec::new();
        if !self.pauses {
            return requests.wait_all(&mut done);
        }
        let (mut pause, longest) = PAUSES;
        while !requests.test_all(&mut done) {
            std::thread::sleep(pause);
            pause = longest.min(2 * pause);
        }
    }
}

impl Exchange for World {
    fn rank(&self) -> usize {
        SimpleCommunicator::world().rank() as usize
    }

    fn size(&self) -> usize {
        SimpleCommunicator::world().size() as usize
    }

    fn local_rank(&self) -> usize {
        self.local_rank
    }

    fn exchange(&self, parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> {
        let world = SimpleCommunicator::world();
        let rank = self.rank();
        let sizes: Vec<u64> = parts.iter().map(|part| part.len() as u64).collect();
        let mut given_sizes = vec![0u64; sizes.len()];
        multiple_scope(1, |scope, requests| {
            let sizes = world.immediate_all_to_all_into(scope, &sizes[..], &mut given_sizes[..]);
            requests.add(sizes);
            self.complete(requests);
        });
        if let Some(&most) = sizes.iter().chain(&given_sizes).max()
            && i32::try_from(most).is_err()
        {
            let message = format!("it exchanges {most} bytes at once; at most {} go", i32::MAX);
            return Err(Error::Process { rank, message });
        }
        let mut given: Vec<Vec<u8>> =
            given_sizes.iter().map(|&size| vec![0; size as usize]).collect();
        given[rank].copy_from_slice(parts[rank]);
        multiple_scope(2 * parts.len(), |scope, requests| {
            for (from, given) in given.iter_mut().enumerate().filter(|(from, _)| *from != rank) {
                let sender = world.process_at_rank(from as i32);
                requests.add(sender.immediate_receive_into(scope, &mut given[..]));
            }
            for round in 1..parts.len() {
                let to = (rank + round) % parts.len();
                let receiver = world.process_at_rank(to as i32);
                requests.add(receiver.immediate_send(scope, parts[to]));
            }
            self.complete(requests);
        });
        Ok(given)
    }

    fn beside(&self) -> Option<Box<dyn Exchange + Send>> {
        self.turns.then(|| Box::new(Self { turns: false, pauses: true, ..*self }) as _)
    }

    fn wake(&self) -> Result<(), Error> {
        let world = SimpleCommunicator::world();
        (1..world.size()).for_each(|rank| world.process_at_rank(rank).send(&WAKE));
        Ok(())
    }

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
