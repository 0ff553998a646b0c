//! Work that is cancelled.

use dsokr_basis::Mat;
use dsokr_basis::eigenbasis::leading;
use dsokr_core::{Cancellation, Error};

#[test]
fn a_cancelled_caller_does_not_wait_for_a_decomposition() {
    // takes far longer than a caller waits between two looks at the request
    let matrix = |size| Mat::from_fn(size, size, |i, j| 1.0 / (1 + i + j) as f64);
    let cancellation = Cancellation::default();
    let found = cancellation.scope(|| leading(matrix(520), 0.1).map(|eigen| eigen.values.len()));
    assert_eq!(found.unwrap(), leading(matrix(520), 0.1).unwrap().values.len());
    cancellation.cancel();
    let cancelled = cancellation.scope(|| leading(matrix(1200), 0.1));
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}
