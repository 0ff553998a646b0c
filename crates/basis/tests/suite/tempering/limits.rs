//! Streams, digits, and outputs at the mean.

use super::*;

/// The outputs take several blocks of rows and several tiles of the covariance.
#[test]
fn outputs_are_streamed_and_threads_change_nothing() {
    let mut random = generator(2, "tempering", 0);
    let rows = dense(5000, 150, &mut random);
    let basis =
        Basis::fit(Kernel::Cosine, &rows, &SketchOptions::new(SketchKind::Gaussian, 150)).unwrap();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let watched = through(&rows, |source, rows| {
            assert!(rows.len() <= 2048, "{} rows at once", rows.len());
            source.block(rows)
        });
        let tempered = || {
            basis
                .clone()
                .tempered(&Tempering { power: 0.5, centred: true, normalised: true }, &watched)
                .unwrap()
        };
        pool.install(tempered)
    };
    let one = on(1);
    let three = on(3);
    assert_eq!(one.fingerprint(), three.fingerprint());
    let few = rows.select(&[0, 1, 4999]).unwrap();
    let points = along_axes(
        &coordinates(&basis.project(&rows).unwrap()),
        &coordinates(&basis.project(&few).unwrap()),
        &Tempering { power: 0.5, centred: true, normalised: true },
    );
    let actual = products(&one.project(&few).unwrap());
    assert_close(&actual, &product(&points, &transpose(&points)), 1e-4, "5,000 rows");
}

#[test]
fn wide_coordinates_are_the_same_with_more_digits() {
    for (kernel, rows) in cases(40) {
        let basis = Basis::fit(kernel.clone(), &rows, &SketchOptions::new(EVERY, 9)).unwrap();
        let basis = basis
            .tempered(&Tempering { power: 0.75, centred: true, normalised: true }, &rows)
            .unwrap();
        let narrow = coordinates(&basis.project(&rows).unwrap());
        let wide = from_faer(&basis.project_wide(&rows, 0..40).unwrap());
        let what = describe(&kernel, &rows);
        assert_close(&transpose(&wide), &narrow, 1e-5, &what);
        for row in transpose(&wide) {
            let norm: f64 = row.iter().map(|v| v * v).sum();
            assert!((norm - 1.0).abs() < 1e-14, "{what}: {norm}");
        }
    }
}

/// Rows in another unit are the same to a normalised linear kernel, however large or small, and a row
/// that is far shorter than the others has a direction as they have.
#[test]
fn the_unit_of_rows_does_not_matter() {
    let rows = dense(40, 6, &mut generator(4, "tempering", 0));
    let values = expand(&rows).concat();
    let tempering = Tempering { power: 0.5, centred: false, normalised: true };
    let points_of = |factor: f64, tiny: f64| {
        let mut scaled: Vec<f32> = values.iter().map(|v| (v * factor) as f32).collect();
        let rows = Features::Dense(DenseRows::new(6, scaled.clone()).unwrap());
        let basis = whole(&Kernel::Linear, &rows).tempered(&tempering, &rows).unwrap();
        scaled[..6].iter_mut().for_each(|v| *v = (f64::from(*v) * tiny) as f32);
        let rows = Features::Dense(DenseRows::new(6, scaled).unwrap());
        products(&basis.project(&rows).unwrap())
    };
    let expected = points_of(1.0, 1.0);
    for (factor, tiny) in [(1e15, 1.0), (1e-18, 1.0), (1.0, 1e-37), (1e-15, 1e-15)] {
        let actual = points_of(factor, tiny);
        assert_close(&actual, &expected, 1e-5, &format!("times {factor}, the first times {tiny}"));
    }
}

/// Where the kernel is nearly constant (a Gaussian much wider than the rows are apart), rows differ by a
/// hundred-thousandth of it. This is below what `f32` coordinates hold, and all that is left after centring.
#[test]
fn a_nearly_constant_kernel_keeps_its_digits() {
    let rows = dense(60, 7, &mut generator(3, "tempering", 0));
    let kernel = Kernel::Gaussian { gamma: 1e-5 };
    let tempering = Tempering { power: 0.0, centred: true, normalised: true };
    // The usual cut-off would drop the kernel's curvature, which a row near the mean notices.
    let basis =
        Basis::fit(kernel.clone(), &rows, &SketchOptions::new(EVERY, 60).with_tolerance(1e-12))
            .unwrap();
    let basis = basis.tempered(&tempering, &rows).unwrap();
    let values = expand(&rows);
    let expected = exact(&kernel, &values, &values, &tempering);
    assert!(expected[0][0] > 0.99 && expected[0][4].abs() < 0.9, "the rows differ");
    let actual = products(&basis.project(&rows).unwrap());
    assert_close(&actual, &expected, 2e-6, "a flat kernel");
}

/// Outputs at the mean have no direction in the span: all they have is outside of it.
#[test]
fn an_output_at_the_mean_is_outside_of_the_span() {
    let values = vec![3.0, 1.0, -3.0, -1.0, 1.0, -2.0, -1.0, 2.0, 0.0, 0.0];
    let shifted = values.iter().map(|v| v + 70.0).collect();
    for values in [values, shifted] {
        let rows = Features::Dense(DenseRows::new(2, values).unwrap());
        for kernel in [Kernel::Linear, Kernel::Gaussian { gamma: 1e-4 }] {
            let train = rows.select(&[0, 1, 2, 3]).unwrap();
            let basis = whole(&kernel, &train)
                .tempered(&Tempering { power: 0.5, centred: true, normalised: true }, &train)
                .unwrap();
            let actual = basis.project(&rows).unwrap();
            assert!(actual.coordinates().iter().all(|value| value.is_finite()));
            assert_eq!(actual.squared_norms(), [1.0; 5]);
            assert_eq!(actual.residuals()[..4], [0.0; 4]);
            if kernel == Kernel::Linear {
                assert_eq!(actual.residuals()[4], 1.0);
                let wide = basis.project_wide(&rows, 4..5).unwrap();
                assert!(wide.col(0).iter().all(|&value| value == 0.0), "{wide:?}");
                assert!(actual.row(4).iter().all(|&value| value == 0.0), "{:?}", actual.row(4));
            }
            check_kernel(basis, &rows);
        }
    }
}

/// Small eigenvalues are cut before outputs are centred: far from zero the mean is the one that is not small.
#[test]
fn variance_that_the_cut_of_eigenvalues_loses_is_refused() {
    let mut random = generator(6, "far from zero", 0);
    let near = expand(&dense(200, 8, &mut random));
    let tempered = |offset: f64| {
        let values = near.iter().flatten().map(|value| (value + offset) as f32);
        let rows = DenseRows::new(8, values.collect::<Vec<_>>()).unwrap();
        let rows = Features::Dense(rows);
        let options = SketchOptions::new(SketchKind::Gaussian, 100);
        let tempering = Tempering { power: 0.5, centred: true, normalised: true };
        Basis::fit(Kernel::Linear, &rows, &options).unwrap().tempered(&tempering, &rows)
    };
    for offset in [0.0, 100.0] {
        assert_eq!(tempered(offset).unwrap().dimension(), 8, "{offset}");
    }
    let error = tempered(1e5).unwrap_err().to_string();
    for part in ["% of the variance", "times as far from zero", "output.scaling"] {
        assert!(error.contains(part), "{error}");
    }
}
