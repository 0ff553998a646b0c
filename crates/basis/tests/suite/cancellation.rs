//! Work that is cancelled.

use dsokr_basis::Mat;
use dsokr_basis::eigenbasis::leading;
use dsokr_basis::features::{DenseRows, Features, distinct};
use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

#[test]
fn a_cancelled_caller_does_not_wait_for_a_decomposition() {
    // takes far longer than a caller waits between two looks at the request
    let matrix = |size| Mat::from_fn(size, size, |i, j| 1.0 / (1 + i + j) as f64);
    let cancellation = Cancellation::default();
    let actual = cancellation.scope(|| leading(matrix(520), 0.1).map(|eigen| eigen.values.len()));
    assert_eq!(actual.unwrap(), leading(matrix(520), 0.1).unwrap().values.len());
    cancellation.cancel();
    let cancelled = cancellation.scope(|| leading(matrix(1200), 0.1));
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}

/// A loop that is divided among workers checks the request of the thread that calls it, which may be a worker itself.
#[test]
fn workers_check_the_request_of_the_thread_that_called_them() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let values: Vec<f32> = (0..40_000).map(|value| (value % 977) as f32).collect();
    let rows = Features::Dense(DenseRows::new(2, values).unwrap());
    let cancelled = Cancellation::default();
    cancelled.cancel();
    let actual = pool.install(|| {
        let requests = [Some(&cancelled), None, Some(&cancelled), None];
        let work = |request: &Option<&Cancellation>| match request {
            Some(request) => request.scope(|| distinct(&rows)),
            None => distinct(&rows),
        };
        requests.par_iter().map(work).collect::<Vec<_>>()
    });
    for (at, actual) in actual.into_iter().enumerate() {
        assert_eq!(matches!(actual, Err(Error::Cancelled)), at % 2 == 0, "{at}: {actual:?}");
    }
}
