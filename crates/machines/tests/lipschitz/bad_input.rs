//! Bad input is an error that says what it found.

use dsokr_core::Error;
use dsokr_core::loss::{EpsilonInsensitive, EpsilonInsensitiveSquare, Huber, Square};
use dsokr_machines::{
    LipschitzProblem, Loss, Offset, OutputMatrix, Stop, Targets, coverage, crossing_loss,
    pinball_loss,
};

use crate::support::{EVERY, basis, fit_on, regression};

fn refused(problem: LipschitzProblem, targets: Targets, stop: Stop) -> String {
    let (x, _) = regression(20, 0);
    fit_on(basis(&x, &EVERY, 5), &x, &targets, &problem, &stop).unwrap_err().to_string()
}

fn problem(loss: Loss, lambda: f64) -> LipschitzProblem {
    LipschitzProblem {
        loss,
        output: OutputMatrix::identity(1).unwrap(),
        lambda,
        offset: Offset::Zero,
    }
}

#[test]
fn problems_are_checked() {
    let targets = || Targets::new(1, vec![1.0; 20]).unwrap();
    let stop = Stop::default();
    for lambda in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let message = refused(problem(Loss::Square(Square {}), lambda), targets(), stop);
        assert!(message.contains("lambda = ") && message.contains("above 0"), "{message}");
    }
    let losses = [
        (
            Loss::Huber(Huber { kappa: 0.0 }),
            "loss huber: kappa = 0: expected finite numbers above 0",
        ),
        (
            Loss::EpsilonInsensitive(EpsilonInsensitive { epsilon: -0.1 }),
            "loss epsilon-insensitive: epsilon = -0.1",
        ),
        (
            Loss::EpsilonInsensitiveSquare(EpsilonInsensitiveSquare { epsilon: f64::NAN }),
            "loss epsilon-insensitive-square: epsilon = NaN",
        ),
        (Loss::pinball(vec![1.0]), "quantile level 0 = 1"),
        (Loss::pinball(vec![0.2, 0.2]), "quantile level 1 = 0.2: expected above 0.2"),
        (Loss::pinball(vec![0.2, 0.5]), "2 quantile levels, expected 1"),
        (Loss::pinball(vec![]), "0 quantile levels, expected 1"),
    ];
    for (loss, expected) in losses {
        let message = refused(problem(loss, 1.0), targets(), stop);
        assert!(message.contains(expected), "{message}");
    }
    let message = refused(
        problem(Loss::Square(Square {}), 1.0),
        Targets::new(1, vec![1.0; 19]).unwrap(),
        stop,
    );
    assert!(message.contains("19 rows of targets, expected 20"), "{message}");
    let message = refused(
        problem(Loss::Square(Square {}), 1.0),
        Targets::new(2, vec![1.0; 40]).unwrap(),
        stop,
    );
    assert!(message.contains("2 targets a row, expected 1"), "{message}");
    for gap in [0.0, 1.0, f64::NAN] {
        let message =
            refused(problem(Loss::Square(Square {}), 1.0), targets(), Stop { gap, steps: 5 });
        assert!(message.contains("gap of the stopping rule ="), "{message}");
    }
    let message =
        refused(problem(Loss::Square(Square {}), 1.0), targets(), Stop { gap: 0.1, steps: 0 });
    assert!(message.contains("steps = 0"), "{message}");
    let huge = Targets::new(1, vec![1e200; 20]).unwrap();
    let message = refused(problem(Loss::Square(Square {}), 1.0), huge, stop);
    assert!(message.contains("overflow"), "{message}");
}

#[test]
fn targets_are_checked() {
    assert!(matches!(Targets::new(0, vec![1.0]), Err(Error::Value { .. })));
    assert!(matches!(Targets::new(2, vec![]), Err(Error::Value { .. })));
    assert!(matches!(Targets::new(2, vec![1.0; 3]), Err(Error::Shape(_))));
    let error = Targets::new(2, vec![1.0, 2.0, 3.0, f64::NAN]).unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 1, column: 1, .. }), "{error}");
    let error = Targets::repeated(3, &[1.0, f64::INFINITY]).unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 1, column: 0, .. }), "{error}");
    let targets = || Targets::new(1, vec![1.0, 2.0]).unwrap();
    let error = targets().with_residuals(vec![0.0, -0.5]).unwrap_err();
    assert!(error.to_string().starts_with("the residual of row 1 = -0.5: expected"), "{error}");
    assert!(matches!(targets().with_residuals(vec![0.0]), Err(Error::Shape(_))));
}

#[test]
fn output_matrices_are_checked() {
    assert!(matches!(OutputMatrix::identity(0), Err(Error::Value { .. })));
    assert!(matches!(OutputMatrix::quantiles(&[0.5, 0.2], 1.0), Err(Error::Value { .. })));
    assert!(matches!(OutputMatrix::quantiles(&[], 1.0), Err(Error::Value { .. })));
    assert!(matches!(OutputMatrix::quantiles(&[0.5], -1.0), Err(Error::Value { .. })));
}

#[test]
fn measures_are_checked() {
    assert!(matches!(pinball_loss(&[0.5], &[1.0; 3], &[1.0; 2]), Err(Error::Shape(_))));
    assert!(matches!(pinball_loss(&[1.5], &[1.0], &[1.0]), Err(Error::Value { .. })));
    assert!(matches!(coverage(&[], &[], &[]), Err(Error::Value { .. })));
    assert!(matches!(crossing_loss(2, &[1.0; 3]), Err(Error::Shape(_))));
    assert!(matches!(crossing_loss(0, &[1.0; 3]), Err(Error::Value { .. })));
    let not_finite = |error: Error| assert!(matches!(error, Error::NotFinite { .. }), "{error}");
    not_finite(crossing_loss(3, &[f32::NAN; 3]).unwrap_err());
    for (prediction, observed) in [(f32::NAN, 1.0), (f32::INFINITY, 1.0), (1.0, f64::NAN)] {
        not_finite(coverage(&[0.5], &[prediction], &[observed]).unwrap_err());
        not_finite(pinball_loss(&[0.5], &[prediction], &[observed]).unwrap_err());
    }
}

#[test]
fn unknown_keys_of_a_configuration_are_refused() {
    let read = |text: &str| serde_json::from_str::<Loss>(text).map_err(|error| error.to_string());
    assert_eq!(read(r#"{"name": "square"}"#), Ok(Loss::Square(Square {})));
    assert!(read(r#"{"name": "square", "kappa": 1}"#).unwrap_err().contains("kappa"));
    assert!(read(r#"{"name": "hinge"}"#).unwrap_err().contains("hinge"));
    assert!(serde_json::from_str::<Stop>(r#"{"gaps": 1}"#).is_err());
}
