//! Words of texts against facts about candidates.

use std::sync::Arc;

use dsokr_core::Error;
use dsokr_decode::{
    CandidateParts, Candidates, Combination, Ensemble, Hit, Lexicon, Neighbourhood, PerQuery, Pool,
    Queries, Rank, Reranker, RerankerExamples, RerankerFeatures, Words,
};

use crate::common::message;

/// A text has the letter, and so has the label. Nothing is known about a label with a question mark.
#[derive(Debug)]
struct Letters(&'static str);

impl Letters {
    fn of(&self, text: &str) -> Vec<bool> {
        self.0.chars().map(|letter| text.contains(letter)).collect()
    }
}

impl Lexicon for Letters {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn said(&self, text: &str) -> Vec<bool> {
        self.of(text)
    }

    fn holds(&self, label: &str) -> Vec<Option<bool>> {
        let known_fact = |holds: bool| (!label.contains('?')).then_some(holds);
        self.of(&label.to_lowercase()).into_iter().map(known_fact).collect()
    }

    fn text(&self) -> &str {
        self.0
    }
}

const GROUPS: usize = 30;

/// Returns a candidate A and a candidate B of each group, which lie side by side.
fn candidates() -> Candidates {
    labelled(["A", "B"])
}

/// Returns the same with other labels.
fn labelled(labels: [&str; 2]) -> Candidates {
    let count = 2 * GROUPS;
    let point = |candidate: usize| {
        let angle = 0.2 * (candidate / 2) as f32 + 0.001 * (candidate % 2) as f32;
        [angle.cos(), angle.sin()]
    };
    Candidates::new(CandidateParts {
        ids: (0..count).map(|candidate| format!("c{candidate}")).collect(),
        labels: (0..count).map(|candidate| labels[candidate % 2].to_owned()).collect(),
        class: (0..count as u32).collect(),
        dim: 2,
        coordinates: (0..count).flat_map(point).collect(),
        constants: vec![0.0; count],
        ..CandidateParts::default()
    })
    .unwrap()
}

/// Returns queries between the two candidates of their group; the text of each is the letter of one of them.
fn queries() -> (Vec<f32>, Vec<String>, Vec<Option<u32>>) {
    let angle = |group: usize| 0.2 * group as f32 + 0.0005;
    let z = (0..GROUPS).flat_map(|group| [angle(group).cos(), angle(group).sin()]).collect();
    let letter = |group: usize| group / 3 % 2;
    let texts = (0..GROUPS).map(|group| ["a", "b"][letter(group)].to_owned()).collect();
    let gold = (0..GROUPS).map(|group| Some((2 * group + letter(group)) as u32)).collect();
    (z, texts, gold)
}

fn lexicon() -> Arc<dyn Lexicon> {
    Arc::new(Letters("abx"))
}

fn words() -> Words {
    let a = [true, false, false];
    let b = [false, true, false];
    let has_a = a.map(Some);
    let has_b = b.map(Some);
    // of every third pair nothing is known, and it is not counted
    let pair = |pair| match pair % 3 {
        0 => (&a[..], &has_a[..]),
        1 => (&b[..], &has_b[..]),
        _ => (&b[..], &[None; 3][..]),
    };
    Words::fit(lexicon(), (0..30).map(pair)).unwrap()
}

fn reranker(candidates: &Candidates) -> Reranker {
    let (z, texts, gold) = queries();
    let queries = Queries::new(2, &z).unwrap();
    let neighbourhood = Neighbourhood::new(2, z.clone(), z.clone(), 3).unwrap();
    let mut reranker_features =
        RerankerFeatures { neighbourhood, words: Some(words()), evidence: None };
    let mut examples = RerankerExamples::new(6);
    let error = message(examples.add(&queries, &gold, candidates, &reranker_features));
    assert!(error.contains("0 rows of the words, expected 60"), "{error}");
    reranker_features.words =
        reranker_features.words.map(|words| words.for_rows(candidates.distinct()));
    let error = message(examples.add(&queries, &gold, candidates, &reranker_features));
    // all are without, and any thread may say it first
    assert!(error.contains("query #") && error.contains(" has no text"), "{error}");
    // from 30 queries the network would take only 16 steps
    for _ in 0..20 {
        examples
            .add(&queries.with_texts(&texts).unwrap(), &gold, candidates, &reranker_features)
            .unwrap();
    }
    // features without words are not those with words
    let without = RerankerFeatures { words: None, ..reranker_features.clone() };
    let error = message(examples.add(&queries, &gold, candidates, &without));
    assert_eq!(error, "a reranker has examples with words and features without words");
    assert_eq!(error, message(Reranker::fit(&examples.without_first(1), without, 0)));
    Reranker::fit(&examples, reranker_features, 0).unwrap()
}

fn ranks(
    queries: Queries,
    gold: &[Option<u32>],
    candidates: &Candidates,
    reranker: Option<&Reranker>,
) -> Result<Vec<Option<Rank>>, Error> {
    Ensemble::one(queries, candidates, reranker)?.rank(Pool::Shared, &Combination::default(), gold)
}

fn hits(
    pool: Pool,
    queries: Queries,
    k: usize,
    candidates: &Candidates,
    reranker: &Reranker,
) -> Result<Vec<Vec<Hit>>, Error> {
    Ensemble::one(queries, candidates, Some(reranker))?.top_k(pool, &Combination::default(), k)
}

#[test]
fn words_decide_between_candidates_that_lie_side_by_side() {
    let plain = candidates();
    let reranker = reranker(&plain);
    let (z, texts, gold) = queries();
    let queries = Queries::new(2, &z).unwrap();
    let right = |ranks: Vec<Option<dsokr_decode::Rank>>| {
        ranks.into_iter().flatten().filter(|rank| rank.above() == 0).count()
    };
    assert!(right(ranks(queries, &gold, &plain, None).unwrap()) < GROUPS);
    let with = queries.with_texts(&texts).unwrap();
    assert_eq!(right(ranks(with, &gold, &plain, Some(&reranker)).unwrap()), GROUPS);
    // the other letter is said
    let other: Vec<String> =
        texts.iter().map(|text| if text == "a" { "b" } else { "a" }.to_owned()).collect();
    let with_other = queries.with_texts(&other).unwrap();
    assert_eq!(right(ranks(with_other, &gold, &plain, Some(&reranker)).unwrap()), 0);
    let lists = vec![(0..6).collect::<Vec<u32>>(); GROUPS];
    let lists = PerQuery::new(&lists, &plain).unwrap();
    let hits = hits(Pool::PerQuery(&lists), with, 1, &plain, &reranker).unwrap();
    assert_eq!(hits[0][0].candidate, 0);
}

#[test]
fn what_is_not_known_of_a_candidate_is_no_evidence() {
    let unknown = labelled(["C", "?"]);
    // moved by nothing, a reranker has no facts of other candidates
    let reranker = reranker(&candidates()).moved(&[0.0; 2]).unwrap();
    let reranker = reranker.among(&unknown).unwrap();
    let (z, ..) = queries();
    // of C neither letter holds
    let texts = vec!["ab".to_owned(); GROUPS];
    let queries = Queries::new(2, &z).unwrap().with_texts(&texts).unwrap();
    // six candidates, as the network has seen them
    let first = |at: usize| (2 * at).saturating_sub(2).min(2 * GROUPS - 6) as u32;
    let lists: Vec<Vec<u32>> = (0..GROUPS).map(|at| (first(at)..first(at) + 6).collect()).collect();
    let lists = PerQuery::new(&lists, &unknown).unwrap();
    let hits = hits(Pool::PerQuery(&lists), queries, 1, &unknown, &reranker).unwrap();
    let first: Vec<usize> = hits.iter().map(|hits| hits[0].candidate).collect();
    assert_eq!(first, (0..GROUPS).map(|at| 2 * at + 1).collect::<Vec<_>>());
}

#[test]
fn a_query_without_text_is_refused() {
    let plain = candidates();
    let reranker = reranker(&plain);
    let (z, mut texts, gold) = queries();
    let queries = Queries::new(2, &z).unwrap();
    let says = "has no text: the reranker compares it with candidates";
    let error = message(ranks(queries, &gold, &plain, Some(&reranker)));
    assert!(error.contains(says), "{error}");
    texts[4].clear();
    let error =
        message(hits(Pool::Shared, queries.with_texts(&texts).unwrap(), 2, &plain, &reranker));
    assert!(error.contains("query #4") && error.contains(says), "{error}");
    let error = message(queries.with_texts(&texts[1..]));
    assert!(error.contains("29 texts of queries, expected 30"), "{error}");
}

#[test]
fn a_file_keeps_the_weights_and_the_lexicon() {
    let plain = candidates();
    let reranker = reranker(&plain);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("look");
    let again = folder.path().join("again");
    reranker.save(&file, &Default::default()).unwrap();
    let stored = Reranker::open(&file).unwrap();
    assert_eq!(stored.metadata(Reranker::LEXICON).unwrap(), "abx");
    let read = Reranker::read(&stored, Some(lexicon()), None).unwrap();
    assert_eq!(read, reranker);
    read.save(&again, &Default::default()).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(&again).unwrap());
    let read = read.among(&plain).unwrap();
    let (z, texts, gold) = queries();
    let with = Queries::new(2, &z).unwrap().with_texts(&texts).unwrap();
    let ranks = ranks(with, &gold, &plain, Some(&read)).unwrap();
    assert!(ranks.iter().flatten().all(|rank| rank.above() == 0));

    let error = |lexicon: Option<Arc<dyn Lexicon>>| message(Reranker::read(&stored, lexicon, None));
    let other = error(Some(Arc::new(Letters("ab"))));
    assert!(other.contains("expected finite numbers [2, 4]"), "{other}");
    let none = error(None);
    assert!(none.contains("weights, expected"), "{none}");
}

#[test]
fn weights_are_logarithms_of_counts_over_expected_counts() {
    let words = words();
    assert_eq!(words.lexicon().len(), 3);
    // of "a" 10 of 20 pairs say it, it holds of 10, and both of 10: 5 are expected
    let plain = candidates();
    let (z, texts, gold) = queries();
    let neighbourhood = Neighbourhood::new(2, z.clone(), z.clone(), 3).unwrap();
    let reranker_features = RerankerFeatures {
        neighbourhood,
        words: Some(words.for_rows(plain.distinct())),
        evidence: None,
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("look");
    let mut examples = RerankerExamples::new(6);
    let queries = Queries::new(2, &z).unwrap();
    examples.add(&queries.with_texts(&texts).unwrap(), &gold, &plain, &reranker_features).unwrap();
    Reranker::fit(&examples, reranker_features, 0)
        .unwrap()
        .save(&file, &Default::default())
        .unwrap();
    let (shape, weights) = Reranker::open(&file)
        .and_then(|stored| {
            let (shape, weights) = stored.read::<f64>("words", 2)?;
            Ok((shape.to_vec(), weights.to_vec()))
        })
        .unwrap();
    assert_eq!(shape, [3, 4]);
    let same = (11.0_f64 / 6.0).ln();
    let other = (1.0_f64 / 6.0).ln();
    for (actual, expected) in weights.iter().zip([same, other, other, same]) {
        assert!((actual - expected).abs() < 1e-12, "{weights:?}");
    }
    // nobody says x
    assert_eq!(weights[8..], [0.0; 4]);
    let pairs = [(&[true][..], &[Some(true), None, None][..])];
    let error: Error = Words::fit(lexicon(), pairs).unwrap_err();
    assert!(error.to_string().contains("1 values of what a text says, expected 3"), "{error}");
}
