//! Tables of results, and the figures in them.

use dsokr::compare::holm;
use dsokr::data::featurizers::UNRANKED;
use dsokr::table::Table;
use dsokr::{LabelScores, RankingScores};

#[test]
fn fields_are_no_formulas_of_a_spreadsheet() {
    for (text, field) in [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(1,2)", "\"'@SUM(1,2)\""),
        ("\t=1", "'\t=1"),
        ("\r=1", "\"'\r=1\""),
        ("-inf", "'-inf"),
        // numbers stay numbers, and texts texts
        ("-1.5", "-1.5"),
        ("+3e-4", "+3e-4"),
        ("a=1", "a=1"),
        ("C[N+](C)C", "C[N+](C)C"),
        ("", ""),
    ] {
        let table = Table::new(["a"], 1).with([[text]]);
        assert_eq!(table.csv("\n"), format!("a\n{field}\n"), "{text:?}");
    }
}

#[test]
fn every_form_has_every_cell() {
    let rows = [["a_1", "é|d\t", "-0.5"], ["", "b, \"c\"", ""]];
    let table = Table::new(["↑", "name", "95 %"], 2).with(rows);
    assert_eq!(table.text(), "↑    name    95 %\na_1  é|d     -0.5\n     b, \"c\"\n");
    assert_eq!(table.tsv(), "↑\tname\t95 %\na_1\té|d \t-0.5\n\tb, \"c\"\t\n");
    assert_eq!(table.csv("\r\n"), "↑,name,95 %\r\na_1,é|d\t,-0.5\r\n,\"b, \"\"c\"\"\",\r\n");
    let markdown =
        "| ↑ | name | 95 % |\n|---|---|---|\n| a_1 | é\\|d\t | -0.5 |\n|  | b, \"c\" |  |\n";
    assert_eq!(table.markdown(), markdown);
    let latex = "\\begin{tabular}{llr}\n\\toprule\n$\\uparrow$ & name & 95 \\% \\\\\n\\midrule\na\\_1 & é|d\t & \
                     $-0.5$ \\\\\n & b, \"c\" &  \\\\\n\\bottomrule\n\\end{tabular}\n";
    assert_eq!(table.latex(), latex);
}

/// Values of statsmodels 0.15.0, `multipletests(p, method="holm")[1]`.
#[test]
fn agrees_with_statsmodels() {
    let p = [0.01, 0.04, 0.03, 0.005, 0.5, 0.03];
    let expected = [0.05, 0.12, 0.12, 0.03, 0.5, 0.12];
    for (found, expected) in holm(&p).into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    assert!(holm(&[]).is_empty());
}

#[test]
fn kendalls_tau_counts_pairs() {
    let truth = [vec![0, 1, 2, 3], vec![0, 1, 2, 3], vec![0, 0, 1, 2], vec![3, 2, 1, 0]];
    let predicted = [vec![0, 1, 2, 3], vec![1, 0, 2, 3], vec![0, 1, 2, 3], vec![0, 1, 2, 3]];
    let scores = RankingScores::from_rankings(&truth, &predicted).unwrap();
    let expected = (1.0 + 4.0 / 6.0 + 5.0 / 30f64.sqrt() - 1.0) / 4.0;
    assert!((scores.kendall_tau - expected).abs() < 1e-12, "{scores:?}");
    assert_eq!(scores.exact, 0.25);
    let tied = RankingScores::from_rankings(&[vec![1, 1]], &[vec![0, 1]]).unwrap();
    assert_eq!(tied, RankingScores { kendall_tau: 0.0, exact: 0.0 });
    assert!(RankingScores::from_rankings(&[vec![0, 1]], &[vec![0, 1, 2]]).is_err());
    // of the items that both rank, as scipy.stats.kendalltau has it
    let partial = |truth: [u32; 5], predicted: [u32; 5]| {
        let scores =
            RankingScores::from_rankings(&[truth.to_vec()], &[predicted.to_vec()]).unwrap();
        (scores.kendall_tau, scores.exact)
    };
    let none = UNRANKED;
    assert!((partial([0, 1, none, 2, 3], [1, 0, 2, none, 3]).0 - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(partial([0, 0, 1, none, 2], [2, 0, 1, 3, none]), (0.0, 0.0));
    // what the truth does not order is right in every order
    assert_eq!(partial([2, none, 0, none, 1], [4, 0, 2, 1, 3]), (1.0, 1.0));
    assert_eq!(partial([4, 0, 2, 1, 3], [2, none, 0, none, 1]), (1.0, 0.0));
    assert_eq!(partial([0, 1, none, none, none], [none, none, 0, 1, 2]), (0.0, 0.0));
}

#[test]
fn labels_are_counted_one_by_one() {
    let set = |labels: &[&str]| labels.iter().map(|label| label.to_string()).collect();
    let truth: Vec<Vec<String>> = vec![set(&["a", "b"]), set(&["b", "b"]), set(&[])];
    let predicted = vec![set(&["b"]), set(&["a", "b"]), set(&["c"])];
    let all = LabelScores::from_sets(&truth, &predicted).unwrap();
    let of = |at: usize| (&all[at].label[..], all[at].support, all[at].predicted, all[at].f1);
    assert_eq!([of(0), of(1), of(2)], [("b", 2, 2, 1.0), ("a", 1, 1, 0.0), ("c", 0, 1, 0.0)]);
    assert_eq!((all[1].precision, all[1].recall, all[2].recall), (0.0, 0.0, 0.0));
    assert!(LabelScores::from_sets(&truth, &predicted[..2]).is_err());
}
