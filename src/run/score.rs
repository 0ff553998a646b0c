//! Scores of pairs that no run has seen.

use std::collections::HashMap;

use dsokr_core::Processes;
use dsokr_data::cells;
use dsokr_data::config::OnBadRow;
use dsokr_decode::Candidates;
use dsokr_molecule::Molecule;
use rayon::prelude::*;

use super::{Member, Run};
use crate::error::{Error, ensure};

/// Pairs whose molecules are placed at once.
const TOGETHER: usize = 4096;

impl Run {
    /// Returns the score of each pair of a text and a molecule, given as a SMILES, in their order, with everything that
    /// the run has: its ensemble, its correction for hubs, its reranker. A molecule need not be a candidate.
    /// What stands behind a SMILES, a name or extensions, is left out.
    ///
    /// The score of a molecule for a text is the one that a [search](Self::search) for the text would show if the
    /// molecule alone were added to the candidates ([`add_candidates`](super::add_candidates)); of a candidate it is the
    /// one that the search shows, with a correction for hubs to about 2⁻¹², since a run keeps in 16 bits what the
    /// correction of new molecules is computed from. Where an ensemble standardises scores, the mean and the deviation of a
    /// text stay those of the candidates of its search, which a molecule that is added would change a little; of all
    /// candidates for a spectrum whose search has none.
    ///
    /// A text that occurs more than once among 4,096 pairs is encoded once. With [`OnBadRow::Skip`] a pair whose SMILES
    /// cannot be read has no score.
    ///
    /// # Errors
    /// A different number of texts and molecules; an empty text; a SMILES that cannot be read, unless it is skipped;
    /// outputs whose features are not computed from molecules; a run whose model was made from its parts, without features, or
    /// that no folder holds; candidates in shards; the rule of an ensemble that combines ranks, which a molecule that is
    /// no candidate does not have.
    pub fn score(
        &self,
        texts: &[&str],
        smiles: &[&str],
        on_bad_row: OnBadRow,
    ) -> Result<Vec<Option<f64>>, Error> {
        dsokr_core::Error::check_length("molecules", smiles.len(), texts.len())?;
        let allowed = "absent: shards of candidates keep no correction for hubs of new molecules";
        ensure(self.shards.is_none(), "shards", "given", allowed)?;
        let mut scores = Vec::with_capacity(texts.len());
        for first in (0..texts.len()).step_by(TOGETHER) {
            let pairs = first..(first + TOGETHER).min(texts.len());
            let part = self.score_at_once(first, &texts[pairs.clone()], &smiles[pairs], on_bad_row);
            scores.extend(part?);
        }
        Ok(scores)
    }

    /// Returns the scores of pairs that are few enough to be placed at once; `first` is the number of the first one, from 0.
    fn score_at_once(
        &self,
        first: usize,
        texts: &[&str],
        smiles: &[&str],
        on_bad_row: OnBadRow,
    ) -> Result<Vec<Option<f64>>, Error> {
        // 1. the molecules that can be read, each once
        let (distinct_smiles, smiles_of_pair) = distinct(smiles);
        let parsed = distinct_smiles.par_iter().map(|cell| Molecule::parse(cells::smiles(cell)));
        let mut labels = Vec::new();
        let mut molecules = Vec::new();
        let mut molecule_of_smiles = Vec::new();
        for (number, parsed) in parsed.collect::<Vec<_>>().into_iter().enumerate() {
            let smiles = distinct_smiles[number];
            match parsed {
                Ok(molecule) => {
                    molecule_of_smiles.push(Some(molecules.len()));
                    labels.push(cells::smiles(smiles).to_owned());
                    molecules.push(molecule);
                }
                Err(_) if on_bad_row == OnBadRow::Skip => molecule_of_smiles.push(None),
                Err(error) => {
                    let place = smiles_of_pair.iter().position(|&other| other == number);
                    let key = format!("the molecule of pair {}", first + place.unwrap_or(0));
                    return Err(Error::refused(key, smiles, error));
                }
            }
        }
        if molecules.is_empty() {
            return Ok(vec![None; texts.len()]);
        }

        // 2. where each model places them
        let alone = Processes::default();
        let models = self.models(&alone);
        let members = self.placement.read(&self.members)?.iter().zip(&self.members);
        let placed = members
            .map(|(placement, member)| placement.place(member, labels.clone(), molecules.clone()));
        let placed = placed.collect::<Result<Vec<Candidates>, Error>>()?;

        // 3. what each model predicts for the texts, each once
        let (queries, query_of_pair) = distinct(texts);
        let among = self.rule_of_search(None)?;
        let read = |member: &Member| member.texts(&queries);
        let predicted = self.predict(&alone, read, among.as_ref())?;

        // 4. the scores
        let ensemble = models.ensemble(predicted.split(), &predicted.predictions)?;
        let (scores, _) = ensemble.out_of_pool_scores(predicted.pool(), &self.rule, 0)?;
        let pairs = query_of_pair.into_par_iter().zip(smiles_of_pair);
        let score = |(query, smiles): (usize, usize)| {
            let score = |molecule| scores.score_alone(query, &placed, molecule);
            Ok(molecule_of_smiles[smiles].map(score).transpose()?)
        };
        pairs.map(score).collect()
    }
}

/// Returns the distinct texts in the order in which they first occur, and for each text its number among them.
fn distinct<'t>(texts: &[&'t str]) -> (Vec<&'t str>, Vec<usize>) {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut distinct = Vec::new();
    let number = |&text: &&'t str| {
        *numbers.entry(text).or_insert_with(|| {
            distinct.push(text);
            distinct.len() - 1
        })
    };
    let number_of_text = texts.iter().map(number).collect();
    (distinct, number_of_text)
}
