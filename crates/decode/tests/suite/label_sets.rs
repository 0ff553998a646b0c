//! The best of all sets of labels against every set, projected and scored one by one.

use dsokr_basis::features::{BitRows, DenseRows};
use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions, Tempering};
use dsokr_core::Error;
use dsokr_core::random::{below, generator, unit};
use dsokr_decode::{DecodedOutput, Encoding, ExactSearch, Queries};

use crate::common::message;

const LABELS: u32 = 7;

fn best_labels(
    basis: &Basis,
    z: &[f32],
    sizes: std::ops::RangeInclusive<usize>,
) -> Result<DecodedOutput, Error> {
    let search = ExactSearch::in_basis(basis, Encoding::LabelBits(sizes))?;
    Ok(search.best(&Queries::new(z.len(), z)?)?.into_iter().next().unwrap())
}

fn set(mask: u32) -> Vec<u32> {
    (0..LABELS).filter(|label| mask >> label & 1 == 1).collect()
}

fn bits(masks: impl Iterator<Item = u32>) -> Features {
    Features::Bits(BitRows::from_indices(LABELS as usize, masks.map(set)).unwrap())
}

#[test]
fn the_best_set_is_that_of_all_sets() {
    let mut sizes_found = [0; LABELS as usize + 1];
    let mut empty = 0;
    for seed in 0..40 {
        let mut random = generator(seed, "test sets", 0);
        let kernel = if seed % 2 == 0 { Kernel::Linear } else { Kernel::Cosine };
        // every ninth is empty, which has a feature of its own under the cosine
        let mut mask = |at| if at % 9 == 8 { 0 } else { 1 + below(&mut random, (1 << LABELS) - 1) };
        let rows = bits((0..30).map(|at| mask(at) as u32));
        let basis = Basis::fit(
            kernel.clone(),
            &rows,
            &SketchOptions::new(SketchKind::Gaussian, 6).with_seed(seed),
        )
        .unwrap();
        let z: Vec<f32> =
            (0..basis.dimension()).map(|_| (3.0 * unit(&mut random) - 1.2) as f32).collect();
        let every = basis.project(&bits(0..1 << LABELS)).unwrap();
        let score = |mask: usize| -> f64 {
            let pairs = every.row(mask).iter().zip(&z);
            let product: f64 = pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            product - if kernel == Kernel::Linear { 0.5 * every.squared_norms()[mask] } else { 0.0 }
        };
        assert_eq!(basis.zero_row().is_some(), kernel == Kernel::Cosine, "seed {seed}");
        for (start, end) in [(0, 7), (1, 7), (2, 3), (4, 4)] {
            let allowed = |mask: &usize| (start..=end).contains(&(mask.count_ones() as usize));
            let best = (0..1 << LABELS)
                .filter(allowed)
                .max_by(|&a, &b| score(a).total_cmp(&score(b)))
                .unwrap();
            let actual = best_labels(&basis, &z, start..=end).unwrap();
            assert_eq!(actual.parts, set(best as u32), "{kernel:?}, seed {seed}, {start}..={end}");
            assert!((actual.score - score(best)).abs() < 1e-5);
            if end == 7 {
                sizes_found[actual.parts.len()] += 1;
                empty += u32::from(actual.parts.is_empty() && kernel == Kernel::Cosine);
            }
        }
    }
    assert!(empty > 0, "the empty set is never the best under the cosine");
    // not always everything or nothing
    assert!(sizes_found.iter().filter(|&&count| count > 0).count() >= 4, "{sizes_found:?}");
}

#[test]
fn equal_weights_go_to_the_first_labels() {
    let identity = (0..4).map(|i| [i]);
    let rows = Features::Bits(BitRows::from_indices(4, identity).unwrap());
    let sketch = SketchKind::Subsampling { replacement: false };
    let basis = Basis::fit(Kernel::Cosine, &rows, &SketchOptions::new(sketch.clone(), 4)).unwrap();
    assert_eq!(best_labels(&basis, &[0.0; 4], 2..=3).unwrap().parts, [0, 1]);
    let nothing = best_labels(&basis, &[0.0; 4], 0..=4).unwrap();
    assert_eq!((nothing.parts, nothing.score), (Vec::new(), 0.0));
}

#[test]
fn what_has_no_best_set_is_refused() {
    let rows = bits(1..30);
    let fit =
        |kernel| Basis::fit(kernel, &rows, &SketchOptions::new(SketchKind::Gaussian, 4)).unwrap();
    let basis = fit(Kernel::Cosine);
    let z = vec![1.0; basis.dimension()];
    assert_eq!(
        message(best_labels(&basis, &z, 0..=8)),
        "sets of 0..=8 labels, allowed: sizes within 0..=7, at least one"
    );
    #[expect(clippy::reversed_empty_ranges)]
    let none = best_labels(&basis, &z, 3..=2);
    assert!(message(none).starts_with("sets of 3..=2 labels"));
    let infinite = vec![f32::INFINITY; basis.dimension()];
    assert!(matches!(best_labels(&basis, &infinite, 0..=7), Err(Error::NotFiniteAt { .. })));
    // Tempered scores are no sums over labels.
    let tempered =
        basis.tempered(&Tempering { power: 0.5, ..Tempering::default() }, &rows).unwrap();
    let z = vec![1.0; tempered.dimension()];
    assert!(matches!(best_labels(&tempered, &z, 0..=7), Err(Error::Unsupported(_))));
    let basis = fit(Kernel::Tanimoto);
    let z = vec![1.0; basis.dimension()];
    assert!(matches!(best_labels(&basis, &z, 0..=7), Err(Error::Unsupported(_))));
    let dense = Features::Dense(DenseRows::new(2, vec![1.0, 0.0, 0.0, 1.0, 1.0, 1.0]).unwrap());
    let basis =
        Basis::fit(Kernel::Linear, &dense, &SketchOptions::new(SketchKind::Gaussian, 2)).unwrap();
    assert!(best_labels(&basis, &vec![0.0; basis.dimension()], 0..=2).unwrap().parts.is_empty());
}
