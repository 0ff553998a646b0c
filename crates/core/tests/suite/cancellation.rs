//! Scopes of cancellation.

use dsokr_core::Cancellation;

#[test]
fn a_cause_is_that_of_its_work_and_the_first_one_is_kept() {
    let work = Cancellation::default();
    let other = Cancellation::default();
    let part = work.for_part();
    part.scope(|| Cancellation::current().cancel_because("first"));
    part.cancel_because("second");
    // the part has ended, and the whole may go on
    assert!(part.is_cancelled() && !work.is_cancelled());
    work.cancel();
    assert!(!work.for_part().is_cancelled());
    assert!(other.take_cause().is_none());
    let cause = work.take_cause().and_then(|cause| cause.downcast::<&str>().ok());
    assert_eq!(cause.as_deref(), Some(&"first"));
    assert!(part.take_cause().is_none());
}

#[test]
fn scopes_are_of_a_thread_and_end_with_a_panic() {
    let outer = Cancellation::default();
    let inner = Cancellation::default();
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
