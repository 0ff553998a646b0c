//! Metrics of label sets against counts over plain sets.

use crate::common::message;
use std::collections::BTreeSet;

use dsokr_basis::features::BitRows;
use dsokr_decode::MultiLabelMetrics;
use proptest::prelude::*;

type Sets = Vec<BTreeSet<u32>>;

fn rows(labels: usize, sets: &Sets) -> BitRows {
    BitRows::from_indices(labels, sets.iter().map(|set| set.iter().copied())).unwrap()
}

fn f1<T: Ord>(truth: &BTreeSet<T>, predicted: &BTreeSet<T>) -> f64 {
    let both = truth.intersection(predicted).count() as f64;
    let precision = both / predicted.len() as f64;
    let recall = both / truth.len() as f64;
    if truth.is_empty() && predicted.is_empty() {
        1.0
    } else if both == 0.0 {
        0.0
    } else {
        2.0 * precision * recall / (precision + recall)
    }
}

fn sets(labels: u32) -> impl Strategy<Value = Vec<(BTreeSet<u32>, BTreeSet<u32>)>> {
    let set = || prop::collection::btree_set(0..labels, 0..6);
    prop::collection::vec((set(), set()), 1..20)
}

proptest! {
    #[test]
    fn metrics_equal_their_definitions(pairs in sets(130)) {
        let (truth, predicted): (Sets, Sets) = pairs.iter().cloned().unzip();
        let actual = MultiLabelMetrics::from_sets(&rows(130, &truth), &rows(130, &predicted)).unwrap();
        let n = pairs.len() as f64;
        let sample = pairs.iter().map(|(t, p)| f1(t, p)).sum::<f64>() / n;
        let cells = |sets: &Sets| -> BTreeSet<(usize, u32)> {
            sets.iter().enumerate().flat_map(|(i, set)| set.iter().map(move |&j| (i, j))).collect()
        };
        let column = |sets: &Sets, label: u32| -> BTreeSet<usize> {
            (0..sets.len()).filter(|&i| sets[i].contains(&label)).collect()
        };
        let t = cells(&truth);
        let p = cells(&predicted);
        let labels: BTreeSet<u32> = truth.iter().chain(&predicted).flatten().copied().collect();
        let by_label = labels.iter().map(|&j| f1(&column(&truth, j), &column(&predicted, j)));
        let macro_f1 = if labels.is_empty() { 1.0 } else { by_label.sum::<f64>() / labels.len() as f64 };
        prop_assert_eq!(actual.labels, labels.len());
        let hamming = t.symmetric_difference(&p).count() as f64 / (n * 130.0);
        for (actual, expected) in [
            (actual.f1, sample),
            (actual.micro_f1, f1(&t, &p)),
            (actual.macro_f1, macro_f1),
            (actual.hamming_loss, hamming),
        ] {
            prop_assert!((actual - expected).abs() < 1e-12, "{} {}", actual, expected);
        }
    }
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let two = rows(3, &vec![BTreeSet::from([0]), BTreeSet::new()]);
    let one = rows(3, &vec![BTreeSet::from([0])]);
    let narrow = rows(2, &vec![BTreeSet::from([0]), BTreeSet::new()]);
    let none = rows(3, &Vec::new());
    let metrics = MultiLabelMetrics::from_sets;
    assert_eq!(message(metrics(&two, &one)), "1 predicted label sets, expected 2");
    assert_eq!(message(metrics(&two, &narrow)), "2 predicted labels, expected 3");
    assert_eq!(message(metrics(&none, &none)), "no queries, at least 1 is needed");
    let empty = rows(3, &vec![BTreeSet::new(); 2]);
    let actual = metrics(&empty, &empty).unwrap();
    assert_eq!((actual.f1, actual.micro_f1, actual.macro_f1), (1.0, 1.0, 1.0));
    assert_eq!((actual.labels, actual.hamming_loss), (0, 0.0));
}
