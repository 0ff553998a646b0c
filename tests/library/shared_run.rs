//! One run that several tasks of a pool of threads ask at the same time, as calls from Python do.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use dsokr::config::BeyondConfig;
use dsokr::core::Processes;
use dsokr::data::SplitName;
use dsokr::{Config, Error, Filter, Member, Run, fit};
use rayon::ThreadPoolBuilder;

use crate::Folder;

const TEXT: &str = "A carboxylic acid with a bromine atom on a benzene ring.";

/// What a thread asks of a run.
type Call = fn(&Run) -> Result<(), Error>;

/// The calls, each of which computes in parallel what the run then keeps.
const CALLS: [Call; 4] = [
    |run| {
        assert_eq!(run.search(TEXT, 2)?.hits.len(), 2);
        Ok(())
    },
    |run| {
        let sets = run.sets(&Processes::default(), 0.8, None, None, None)?;
        assert_eq!(sets.calibration.queries, 200);
        Ok(())
    },
    |run| {
        let filter: Filter = "mass < 200".parse()?;
        assert!(run.wanted(&Processes::default(), &filter)?.count() > 0);
        Ok(())
    },
    |run| {
        let queries = run.predict(
            &Processes::default(),
            |member: &Member| Ok(member.read_split(SplitName::Test, None)?.select(&[0, 1, 2])?),
            None,
        )?;
        assert_eq!(run.evaluate(&queries)?.0.ranks.len(), 3);
        Ok(())
    },
];

/// A thread of the pool that waits for a parallel loop takes up other calls. One that held a lock meanwhile would wait for
/// itself.
#[test]
fn calls_of_one_pool_do_not_wait_for_one_another() {
    let folder = Folder::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/quickstart.toml");
    let changes = [
        "encoder={kind=\"kernel-machine\", lambda=1e-4, inputs={kind=\"ngrams\", blocks=[{kind=\"words\", min=1, max=1}]}}",
        "sketch.size=60",
    ];
    let changes: Vec<_> = changes.iter().map(|change| change.parse().unwrap()).collect();
    let config = Config::load_with(&path, &changes).unwrap();
    let trained = fit(&config, folder.path("run")).unwrap();
    let beyond =
        BeyondConfig { beam: 2, starts: 2, rounds: 2, evaluations: 100, ..BeyondConfig::default() };
    // what is computed once for a run is computed once for each of these
    let runs: Vec<Run> = (0..3)
        .map(|_| Run::open(trained.path()).unwrap().with_beyond(Some(&beyond)).unwrap())
        .collect();
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for run in &runs {
            pool.scope(|scope| {
                for call in CALLS.iter().cycle().take(4 * CALLS.len()) {
                    scope.spawn(move |_| call(run).unwrap());
                }
            });
        }
        ended.send(()).unwrap();
    });
    end.recv_timeout(Duration::from_secs(600)).expect("calls that return");
}
