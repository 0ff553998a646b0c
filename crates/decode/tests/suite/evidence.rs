//! Further evidence in the texts of queries.

use std::collections::BTreeMap;
use std::sync::Arc;

use dsokr_core::Error;
use dsokr_decode::{
    CandidateParts, Candidates, Combination, Ensemble, Evidence, Neighbourhood, PerQuery, Pool,
    Queries, Rank, Reranker, RerankerExamples, RerankerFeatures,
};

use crate::common::message;

/// The first number is whether the label starts with the text, the others are the same for all.
#[derive(Debug)]
struct Starts(usize);

impl Evidence for Starts {
    fn len(&self) -> usize {
        self.0
    }

    fn first(&self) -> usize {
        1
    }

    fn values(&self, text: &str, labels: &[&str]) -> Result<Vec<f32>, Error> {
        if text == "?" {
            return Err(Error::unsupported("a question"));
        }
        let value = |label: &&str| f32::from(u8::from(label.starts_with(text)));
        let row = |label| [value(label)].into_iter().chain(std::iter::repeat(2.0)).take(self.0);
        Ok(labels.iter().flat_map(row).collect())
    }

    fn text(&self) -> String {
        self.0.to_string()
    }
}

const GROUPS: usize = 30;

/// Returns two candidates for each of some groups, which lie side by side.
fn candidates() -> Candidates {
    let count = 2 * GROUPS;
    let point = |candidate: usize| {
        let angle = 0.2 * (candidate / 2) as f32 + 0.001 * (candidate % 2) as f32;
        [angle.cos(), angle.sin()]
    };
    Candidates::new(CandidateParts {
        ids: (0..count).map(|candidate| format!("c{candidate}")).collect(),
        labels: (0..count).map(|candidate| ["ax", "bx"][candidate % 2].to_owned()).collect(),
        class: (0..count as u32).collect(),
        dim: 2,
        coordinates: (0..count).flat_map(point).collect(),
        constants: vec![0.0; count],
        ..CandidateParts::default()
    })
    .unwrap()
}

/// Returns queries between the two candidates of their group, which only their texts tell apart.
fn queries() -> (Vec<f32>, Vec<String>, Vec<Option<u32>>) {
    let angle = |group: usize| 0.2 * group as f32 + 0.0005;
    let z = (0..GROUPS).flat_map(|group| [angle(group).cos(), angle(group).sin()]).collect();
    let letter = |group: usize| group / 3 % 2;
    let texts = (0..GROUPS).map(|group| ["a", "b"][letter(group)].to_owned()).collect();
    let gold = (0..GROUPS).map(|group| Some((2 * group + letter(group)) as u32)).collect();
    (z, texts, gold)
}

fn features(evidence: Option<usize>) -> RerankerFeatures {
    let (z, ..) = queries();
    let neighbourhood = Neighbourhood::new(2, z.clone(), z, 3).unwrap();
    let evidence = evidence.map(|count| Arc::new(Starts(count)) as Arc<dyn Evidence>);
    RerankerFeatures { neighbourhood, words: None, evidence }
}

fn ranks(reranker: &Reranker, candidates: &Candidates, pool: Pool) -> Vec<Option<Rank>> {
    let (z, texts, gold) = queries();
    let queries = Queries::new(2, &z).unwrap().with_texts(&texts).unwrap();
    let ensemble = Ensemble::one(queries, candidates, Some(reranker)).unwrap();
    ensemble.rank(pool, &Combination::default(), &gold).unwrap()
}

#[test]
fn what_only_texts_say_is_learned_from_all_candidates_and_from_lists() {
    let candidates = candidates();
    let (z, texts, gold) = queries();
    let queries = Queries::new(2, &z).unwrap().with_texts(&texts).unwrap();
    // the two candidates of the group of each query
    let lists: Vec<Vec<u32>> =
        (0..GROUPS as u32).map(|group| vec![2 * group, 2 * group + 1]).collect();
    let lists = PerQuery::new(&lists, &candidates).unwrap();
    let first = |ranks: &[Option<Rank>]| {
        ranks.iter().flatten().filter(|rank| rank.above() == 0 && rank.tied() == 1).count()
    };
    for listed in [false, true] {
        let reranker_features = features(Some(2));
        let mut examples = RerankerExamples::new(6);
        // from 30 queries the network would take only 16 steps
        for _ in 0..20 {
            let reranker_features = &reranker_features;
            if listed {
                let added =
                    examples.add_listed(&queries, &gold, &lists, &candidates, reranker_features);
                added.unwrap();
            } else {
                examples.add(&queries, &gold, &candidates, reranker_features).unwrap();
            }
        }
        assert_eq!(examples.len(), 20 * GROUPS);
        let reranker = Reranker::fit(&examples, reranker_features, 0).unwrap();
        assert!(reranker.reads_texts() && reranker.words().is_none());
        let pool = if listed { Pool::PerQuery(&lists) } else { Pool::Shared };
        let expected = ranks(&reranker, &candidates, pool);
        // half of them without the texts
        assert!(first(&expected) >= GROUPS - 3, "{listed} {}", first(&expected));

        // a file keeps it as a text
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reranker.safetensors");
        reranker.save(&path, &BTreeMap::new()).unwrap();
        let stored = Reranker::open(&path).unwrap();
        assert_eq!(Reranker::evidence_text(&stored).unwrap().as_deref(), Some("2"));
        let read = Reranker::read(&stored, None, Some(Arc::new(Starts(2)))).unwrap();
        assert_eq!(read, reranker);
        assert_eq!(ranks(&read, &candidates, pool), expected);
        let error = message(Reranker::read(&stored, None, None));
        assert!(error.contains("weights, expected"), "{error}");
    }
}

#[test]
fn lists_of_one_candidate_and_without_the_gold_are_no_examples() {
    let candidates = candidates();
    let (z, texts, gold) = queries();
    let queries = Queries::new(2, &z).unwrap().with_texts(&texts).unwrap();
    let list = |group: u32| match group % 3 {
        0 => vec![2 * group, 2 * group + 1],
        1 => vec![gold[group as usize].unwrap()],
        _ => vec![(2 * group + 2) % 60, (2 * group + 3) % 60],
    };
    let lists: Vec<Vec<u32>> = (0..GROUPS as u32).map(list).collect();
    let lists = PerQuery::new(&lists, &candidates).unwrap();
    let mut examples = RerankerExamples::new(6);
    examples.add_listed(&queries, &gold, &lists, &candidates, &features(Some(1))).unwrap();
    assert_eq!(examples.len(), GROUPS / 3);
}

#[test]
fn features_and_texts_must_fit() {
    let candidates = candidates();
    let (z, texts, gold) = queries();
    let queries = Queries::new(2, &z).unwrap().with_texts(&texts).unwrap();
    let mut examples = RerankerExamples::new(6);
    let error = message(examples.add(&queries_without(&z), &gold, &candidates, &features(Some(1))));
    assert!(error.contains(" has no text: the reranker compares it with candidates"), "{error}");
    examples.add(&queries, &gold, &candidates, &features(Some(1))).unwrap();
    let error = message(examples.add(&queries, &gold, &candidates, &features(None)));
    let says = "a reranker has examples with 1 numbers of evidence and features with 0";
    assert_eq!(error, says);
    assert_eq!(message(Reranker::fit(&examples, features(None), 0)), says);
    let questions = vec!["?".to_owned(); GROUPS];
    let questions = Queries::new(2, &z)
        .unwrap()
        .with_texts(&questions)
        .map(|questions| message(examples.add(&questions, &gold, &candidates, &features(Some(1)))));
    assert_eq!(questions.unwrap(), "a question");
}

fn queries_without(z: &[f32]) -> Queries<'_> {
    Queries::new(2, z).unwrap()
}
