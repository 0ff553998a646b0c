//! Scopes of cancellation.

use dsokr_basis::eigenbasis::leading;
use dsokr_basis::{Cancellation, Error, Mat};

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

#[test]
fn scopes_are_of_a_thread_and_end_with_a_panic() {
    let (outer, inner) = (Cancellation::default(), Cancellation::default());
    outer.cancel();
    outer.scope(|| {
        assert!(Cancellation::current().is_cancelled());
        inner.scope(|| assert!(!Cancellation::current().is_cancelled()));
        let elsewhere = std::thread::spawn(|| Cancellation::current().is_cancelled());
        assert!(!elsewhere.join().unwrap());
        assert!(std::panic::catch_unwind(|| inner.scope(|| panic!("within"))).is_err());
        assert!(Cancellation::current().is_cancelled());
    });
    assert!(!Cancellation::current().is_cancelled());
}
