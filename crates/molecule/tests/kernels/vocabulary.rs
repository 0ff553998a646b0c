//! Columns of fitted features, and what becomes of features that were not fitted.

use dsokr_molecule::graph::Graph;
use dsokr_molecule::kernels::{GraphKernel, GraphVocabulary};
use proptest::prelude::*;

use crate::support::{all_kernels, graphs, kernel};

fn histogram() -> GraphKernel {
    kernel(r#"{"name": "vertex-histogram"}"#)
}

fn nodes(labels: &[u64]) -> Graph {
    Graph::new(labels.to_vec(), &[]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn both_ways_to_rows_agree_with_any_number_of_threads(
        list in prop::collection::vec(graphs(6), 1..600),
    ) {
        for kernel in [histogram(), kernel(r#"{"name": "nspd", "radius": 1, "distance": 2}"#)] {
            let Ok((vocabulary, rows)) = GraphVocabulary::fit_rows(kernel.clone(), &list) else {
                continue;
            };
            let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let (alone, alone_rows) =
                one.install(|| GraphVocabulary::fit_rows(kernel.clone(), &list).unwrap());
            prop_assert_eq!(&alone_rows, &rows);
            prop_assert_eq!(&alone, &vocabulary);
            prop_assert_eq!(&vocabulary.rows(&list).unwrap(), &rows);
            let (features, again) = kernel.rows(&list, None).unwrap();
            prop_assert_eq!(&again, &rows);
            // the rows are the features, each in the column of its place in the vocabulary
            for (number, graph) in list.iter().enumerate() {
                let (columns, values) = rows.row(number);
                let actual: Vec<_> = columns.iter().zip(values).map(|(&column, &value)| {
                    (features[column as usize], value)
                }).collect();
                let expected = kernel.features(graph).unwrap();
                let expected: Vec<_> = expected.into_iter().map(|(f, v)| (f, v as f32)).collect();
                prop_assert_eq!(actual, expected);
            }
        }
    }
}

#[test]
fn what_was_not_fitted_is_in_the_last_column() {
    let vocabulary = GraphVocabulary::fit_rows(histogram(), &[nodes(&[6, 8])]).unwrap().0;
    assert_eq!(vocabulary.width(), 3);
    let rows = vocabulary.rows(&[nodes(&[6, 6]), nodes(&[7, 7, 7, 9, 9, 9, 9]), nodes(&[])]);
    let rows = rows.unwrap();
    assert_eq!(rows.row(0).1, [2.0]);
    assert_eq!(rows.row(1), (&[2][..], &[5.0][..]));
    assert_eq!(rows.row(2), (&[][..], &[][..]));
}

#[test]
fn rows_of_known_features_are_those_of_the_fit() {
    let list = [nodes(&[6, 8, 1, 2, 3]), Graph::new(vec![9, 6], &[(0, 1, 2)]).unwrap()];
    for kernel in all_kernels() {
        let (features, rows) = kernel.rows(&list, None).unwrap();
        assert_eq!(kernel.rows(&list, Some(&features)).unwrap(), (features, rows));
    }
    let error = histogram().rows(&list, Some(&[3, 5, 5])).unwrap_err();
    let said = "feature 2 of the vocabulary, 0x0000000000000005, does not exceed the one before it";
    assert!(error.to_string().starts_with(said), "{error}");
}

#[test]
fn graphs_without_nodes_give_no_vocabulary() {
    for graphs in [vec![], vec![nodes(&[]), nodes(&[])]] {
        let error = GraphVocabulary::fit_rows(histogram(), &graphs).unwrap_err();
        let count = graphs.len();
        let said = format!("none of the {count} graphs has a feature");
        assert!(error.to_string().ends_with(&said), "{error}");
    }
    let wl = kernel(r#"{"name": "weisfeiler-lehman", "iterations": 1000}"#);
    let error = GraphVocabulary::fit_rows(wl, &[nodes(&[6])]).unwrap_err();
    assert!(error.to_string().contains("iterations = 1000: expected 0..=100"), "{error}");
}
