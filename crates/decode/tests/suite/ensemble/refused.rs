//! Ensembles that are none.

use dsokr_core::Error;
use dsokr_decode::{Combination, Ensemble, Member, Pool, Queries, fit_weights};

use super::models::{Models, reordered};
use crate::common::{Set, integer_queries};

fn refused(result: Result<impl std::fmt::Debug, Error>) -> String {
    result.unwrap_err().to_string()
}

fn mean(weights: &[f64]) -> Combination {
    Combination::Mean { weights: Some(weights.to_vec()), standardise: false }
}

#[test]
fn members_must_agree() {
    assert_eq!(
        refused(Ensemble::new(Vec::new())),
        "an ensemble of no members, at least 1 is needed"
    );
    let set = Set::integers(1, 5, 4, 3);
    let candidates = set.candidates();
    let rows = integer_queries(1, 3, 3);
    let names = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    let abc = names("a b c");
    let abd = names("a b d");
    let member = |name, queries, candidates| Member { name, queries, candidates, normalised: true };
    let named = |names| Queries::named(names, 3, &rows).unwrap();
    let pair = |other| Ensemble::new(vec![member("one", named(&abc), &candidates), other]);

    assert_eq!(
        refused(pair(member("two", named(&abd), &candidates))),
        "query 2 is \"c\" for ensemble member \"one\" and \"d\" for \"two\""
    );
    let two = Queries::new(3, &rows[..6]).unwrap();
    assert_eq!(
        refused(pair(member("two", two, &candidates))),
        "query 2 is \"c\" for ensemble member \"one\" and missing for \"two\""
    );
    assert!(pair(member("two", Queries::new(3, &rows).unwrap(), &candidates)).is_ok());
    let wide = Queries::new(9, &rows).unwrap();
    assert_eq!(
        refused(Ensemble::new(vec![member("one", wide, &candidates)])),
        "ensemble member \"one\": queries of dimension 9, candidates of dimension 3"
    );

    // c3 is missing, or c5 is one too many, or c1 goes by another name.
    let fewer = reordered(&set, &[4, 0, 2, 1]);
    assert_eq!(
        refused(pair(member("two", named(&abc), &fewer))),
        "candidate \"c3\" of ensemble member \"one\" is not a candidate of \"two\""
    );
    let six = Set { class: [set.class.clone(), vec![0]].concat(), ..set.clone() };
    let more = six.candidates();
    assert_eq!(
        refused(pair(member("two", named(&abc), &more))),
        "candidate \"c5\" of ensemble member \"two\" is not a candidate of \"one\""
    );
    let other = reordered(&six, &[5, 0, 2, 3, 4]);
    assert_eq!(
        refused(pair(member("two", named(&abc), &other))),
        "candidate \"c1\" of ensemble member \"one\" is not a candidate of \"two\""
    );
}

#[test]
fn rules_must_suit_the_members() {
    let models = Models::integers(2, 3, 4, 9);
    let ensemble = models.ensemble();
    let gold = [None; 4];
    let rank = |rule: &Combination| refused(ensemble.rank(Pool::Shared, rule, &gold));
    assert_eq!(rank(&mean(&[0.5, 0.5])), "2 weights of ensemble members, expected 3");
    assert_eq!(
        rank(&mean(&[0.5, 0.6, -0.1])),
        "weight -0.1 of ensemble member \"run2\", allowed: 0 and above"
    );
    assert_eq!(
        rank(&mean(&[0.5, f64::NAN, 0.5])),
        "weight NaN of ensemble member \"run1\", allowed: 0 and above"
    );
    assert_eq!(
        rank(&mean(&[0.5, 0.25, 0.2])),
        "the weights of the ensemble sum to 0.95, expected 1 within 0.000001"
    );
    assert!(ensemble.rank(Pool::Shared, &mean(&[0.5, 0.25, 0.2500009]), &gold).is_ok());
    for weights in [vec![0.5; 3], vec![1.0]] {
        let rule = Combination::Rank { weights: Some(weights.clone()) };
        assert!(ensemble.rank(Pool::Shared, &rule, &gold).is_err());
        let rule = Combination::ReciprocalRank { weights: Some(weights), constant: 60.0 };
        assert!(ensemble.rank(Pool::Shared, &rule, &gold).is_err());
    }
    for constant in [0.0, -1.0, 1e7, f64::NAN, f64::INFINITY] {
        let rule = Combination::ReciprocalRank { weights: None, constant };
        assert_eq!(
            rank(&rule),
            format!("reciprocal rank constant {constant}, allowed: above 0, at most 1000000")
        );
    }
    let max = Combination::Max { standardise: false };
    assert_eq!(refused(max.with_weights(None)), "the rule \"max\" has no weights");
    let fitted = fit_weights(&ensemble, Pool::Shared, &max, &gold, 0);
    assert_eq!(refused(fitted), "the rule \"max\" has no weights");
    for k in [0, 10] {
        let top = ensemble.top_k(Pool::Shared, &Combination::default(), k);
        let expected = format!("the top {k} candidates were asked for, allowed: 1..=9");
        assert_eq!(refused(top), expected);
    }
    let gold = [None, Some(99), None, None];
    let refused = refused(ensemble.rank(Pool::Shared, &Combination::default(), &gold));
    assert!(refused.starts_with("query #1: gold row 99, allowed: 0.."), "{refused}");
}

#[test]
fn scores_that_are_not_comparable_are_not_averaged() {
    let models = Models::integers(3, 3, 4, 9);
    let mut members = models.members();
    members[1].normalised = false;
    let alone = Ensemble::new(vec![members[1]]).unwrap();
    let ensemble = Ensemble::new(members).unwrap();
    let gold = [None; 4];
    let bad =
        [Combination::default(), mean(&[0.5, 0.25, 0.25]), Combination::Max { standardise: false }];
    for rule in bad {
        assert_eq!(
            refused(ensemble.rank(Pool::Shared, &rule, &gold)),
            format!(
                "the rule {:?} combines scores, but the kernel of ensemble member \"run1\" is not \
                 normalised: standardise the scores or combine ranks",
                rule.name()
            )
        );
    }
    assert!(alone.rank(Pool::Shared, &Combination::default(), &gold).is_ok());
    for rule in [
        Combination::Mean { weights: None, standardise: true },
        Combination::Max { standardise: true },
        Combination::Rank { weights: None },
        Combination::ReciprocalRank { weights: None, constant: 60.0 },
    ] {
        assert!(ensemble.rank(Pool::Shared, &rule, &gold).is_ok());
    }
}

#[test]
fn what_is_not_finite_names_the_member_and_the_query() {
    let mut models = Models::reals(4, 2, 40, 50);
    models.models[1].set.rows[3].fill(1e30);
    let order: Vec<usize> = (0..50).collect();
    models.models[1].candidates = reordered(&models.models[1].set, &order);
    let dim = models.models[1].set.dim;
    models.models[1].rows[34 * dim..35 * dim].fill(1e30);
    let ensemble = models.ensemble();
    for rule in super::rules(4, 2) {
        let error = ensemble.rank(Pool::Shared, &rule, &[None; 40]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("ensemble member \"run1\": query #34, candidate row 3, score: "),
            "{text}"
        );
    }
}
