//! Dropout masks.

use burn::tensor::{Device, Tensor};
use dsokr_kernels::masked;
use dsokr_nn::Pass;

use crate::{gpu, host};

#[test]
fn masks_keep_the_promised_share_and_the_expectation() {
    let n = 200_000u32;
    for p in [0.1f32, 0.5, 0.9] {
        let mask = Pass::train(7).dropout(3, p).unwrap();
        let kept = (0..n).filter(|&i| mask.at(i) > 0.0).count() as f64 / f64::from(n);
        let standard_error = (f64::from(p) * f64::from(1.0 - p) / f64::from(n)).sqrt();
        assert!((kept - f64::from(1.0 - p)).abs() < 5.0 * standard_error, "{p}: {kept}");
        let mean = (0..n).map(|i| f64::from(mask.at(i))).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 5.0 * standard_error / f64::from(1.0 - p));
    }
}

#[test]
fn masks_are_of_keys_and_sites_and_of_training_only() {
    let row = |key, site| -> Vec<u32> {
        let mask = Pass::train(key).dropout(site, 0.5).unwrap();
        (0..256).map(|i| mask.at(i).to_bits()).collect()
    };
    assert!(row(1, 1) == row(1, 1) && row(1, 1) != row(2, 1) && row(1, 1) != row(1, 2));
    assert!(Pass::Evaluate.dropout(0, 0.5).is_none());
    assert!(Pass::train(1).dropout(0, 0.0).is_none());
}

#[test]
fn every_engine_multiplies_by_the_same_masks() {
    let devices = || [Device::flex()].into_iter().chain(gpu());
    for (key, p, first) in [(1, 0.1f32, 0), (99, 0.5, 3_000_000_000), (7, 0.9, u32::MAX - 99)] {
        let mask = Pass::train(key).dropout(2, p).unwrap().after(first);
        for n in [1, 255, 256, 257, 65_536, 300_007] {
            let expected: Vec<f32> = (0..n as u32).map(|i| mask.at(i)).collect();
            for device in devices() {
                let ones = Tensor::<1>::ones([n], &device);
                assert!(host(masked(ones, Some(mask))) == expected, "{n} on {device:?}");
            }
        }
    }
}
