//! Ensembles of runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use dsokr_basis::Ranks;
use dsokr_basis::store::{Contents, Tensor};
use dsokr_decode::{
    CandidateBlocks, Candidates, Combination, Decoded, Ensemble, Member, MissingGold, PerQuery,
    Pool, SecondLook, Shards,
};

use super::ranking::Ranking;
use super::{QueryAnswers, Run};
use crate::Error;
use crate::config::{Checked, IN_ENSEMBLES};
use crate::decoder::Decoder;
use crate::evaluation::judged;
use crate::golds::{GoldRows, RankedGolds, missing_gold, truth_of};
use crate::query_texts::QueryTexts;
use crate::run_dir::{Folder, candidates, fingerprints, inner};
use crate::run_files::{RULE, read_json};
use crate::scores::Evaluation;
use dsokr_data::Split;
use dsokr_data::config::OnBadRow;

/// Trained runs with the same candidates, and the rule that combines them.
pub struct EnsembleRun {
    pub(super) names: Vec<String>,
    /// At least one.
    pub(super) members: Vec<Run>,
    /// How their scores are combined.
    pub rule: Combination,
    /// The candidates of the one run, if they are in shards.
    pub(super) shards: Option<Shards>,
}

impl EnsembleRun {
    /// Reads run directories, of one model each, or one of an ensemble. An ensemble's directory has
    /// its rule; otherwise the rule is the mean of standardised scores. One run alone is an
    /// ensemble of one, which ranks like the run.
    ///
    /// # Errors
    /// As [`Run::open`].
    pub fn open(paths: &[PathBuf], device: &Device) -> Result<Self, Error> {
        let mut opened = Vec::new();
        let mut rule = Combination::Mean { weights: None, standardise: true };
        for path in paths {
            let config = Folder::config(path)?;
            if config.ensemble.is_none() {
                opened.push((path.display().to_string(), Run::open_on(path, device)?));
                continue;
            }
            if let [_] = paths {
                rule = read_rule(path)?;
            }
            opened.extend(open_inner(path, &config, device)?);
        }
        Self::of(opened, rule)
    }

    /// The trained members of an ensemble's directory, which may have no rule yet.
    pub(crate) fn open_members(
        path: &Path,
        config: &Checked,
        device: &Device,
    ) -> Result<Self, Error> {
        Self::of(open_inner(path, config, device)?, Combination::default())
    }

    fn of(opened: Vec<(String, Run)>, rule: Combination) -> Result<Self, Error> {
        if opened.is_empty() {
            let found = "an ensemble of no members".into();
            return Err(dsokr_decode::Error::TooFew { found, least: 1 }.into());
        }
        let (names, members): (Vec<String>, Vec<Run>) = opened.into_iter().unzip();
        let beyond = names.iter().zip(&members).find_map(|(name, run)| {
            run.config.decoding.beyond_candidates().map(|refused| (name, refused))
        });
        if let (true, Some((name, (key, found)))) = (members.len() > 1, beyond) {
            return Err(Error::value(format!("{key} of {name}"), found, IN_ENSEMBLES));
        }
        let rule = if members.len() == 1 { Combination::default() } else { rule };
        Ok(Self { names, members, rule, shards: None })
    }

    /// The same with [`Run::on_bad_row`] of every member.
    ///
    /// # Errors
    /// As of the members.
    pub fn on_bad_row(mut self, on_bad_row: OnBadRow) -> Result<Self, Error> {
        let members = self.members.into_iter().map(|run| run.on_bad_row(on_bad_row));
        self.members = members.collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// The names of the members.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The members; at least one.
    pub fn members(&self) -> &[Run] {
        &self.members
    }

    pub(super) fn member(&self, name: &str) -> Option<&Run> {
        self.names.iter().position(|own| own == name).map(|at| &self.members[at])
    }

    /// The configuration of the first member, for the settings that all members share.
    pub fn config(&self) -> &Checked {
        &self.members[0].config
    }

    /// The predictions of every member for the queries that `read` reads for it, with all
    /// candidates or with the lists in the file `lists`.
    ///
    /// # Errors
    /// As [`Run::coordinates`]; errors of `read`; a file of lists that cannot be read.
    pub fn ask(
        &self,
        read: impl Fn(&Run) -> Result<Split, Error>,
        lists: Option<&Path>,
    ) -> Result<QueryAnswers, Error> {
        self.ask_with(read, lists, Run::coordinates)
    }

    /// The same with the coordinates that `predict` gives in the place of each member's own.
    ///
    /// # Errors
    /// Errors of `read` and `predict`; a file of lists that cannot be read; coordinates that are not
    /// finite.
    pub fn ask_with(
        &self,
        read: impl Fn(&Run) -> Result<Split, Error>,
        lists: Option<&Path>,
        predict: impl Fn(&Run, &Split) -> Result<Vec<f32>, Error>,
    ) -> Result<QueryAnswers, Error> {
        if let (Some(file), Some(_)) = (lists, &self.shards) {
            let allowed = "absent: queries have lists where candidates are in no shards";
            return Err(Error::value("lists of candidates", file.display(), allowed));
        }
        let ask = || {
            let splits = self.members.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
            let candidates = &self.members[0].candidates;
            let list = |file| PerQuery::read(file, splits[0].names(), candidates);
            let lists = lists.map(list).transpose()?;
            let answer = |(run, split): (&Run, &Split)| {
                let z = predict(run, split)?;
                Ok(run.config.decoding.scaled(&z, run.candidates.dim())?.into_owned())
            };
            let answers = self.members.iter().zip(&splits).map(answer);
            let answers = answers.collect::<Result<Vec<_>, Error>>()?;
            Ok(QueryAnswers { splits, lists, answers })
        };
        let ranks = Ranks::current();
        let asked = ranks.agree::<_, Error>(ask())?;
        if ranks.size() > 1 {
            // ranks that differ in a bit would count other candidates as above or tied
            let answers = asked.answers.iter();
            let tensors: Vec<Tensor> =
                answers.map(|z| Tensor::f32("answers", &[z.len()], z)).collect();
            let checksum = Contents::new("answers", 1, &BTreeMap::new(), &tensors).checksum();
            ranks.check_same("answers' checksum", &checksum)?;
        }
        Ok(asked)
    }

    /// What ranks queries by the members' predictions for them.
    ///
    /// # Errors
    /// Members whose candidates or queries differ from the first one's.
    pub(super) fn ranking<'a>(&'a self, asked: &'a QueryAnswers) -> Result<Ranking<'a>, Error> {
        self.ranking_with(QueryTexts::of(asked.split()), &asked.answers)
    }

    /// The same by these predictions for these queries.
    pub(super) fn ranking_with<'a>(
        &'a self,
        texts: QueryTexts<'a>,
        answers: &'a [Vec<f32>],
    ) -> Result<Ranking<'a>, Error> {
        match (&self.shards, answers) {
            (Some(shards), [z]) => {
                let queries = texts.queries(shards.dim(), z)?;
                Ok(Ranking::Shards(shards, queries, &self.names[0]))
            }
            _ => {
                let each = self.members.iter().map(|run| (&run.candidates, run.look.as_ref()));
                Ok(Ranking::Whole(self.members_among(texts, each.zip(answers))?))
            }
        }
    }

    /// The members with these candidates and second looks at them, and predictions for these queries.
    pub(super) fn members_among<'a>(
        &'a self,
        texts: QueryTexts<'a>,
        each: impl Iterator<Item = ((&'a Candidates, Option<&'a SecondLook>), &'a Vec<f32>)>,
    ) -> Result<Ensemble<'a>, Error> {
        let (mut members, mut looks) = (Vec::new(), Vec::new());
        for ((run, name), ((candidates, look), z)) in self.members.iter().zip(&self.names).zip(each)
        {
            members.push(Member {
                name,
                queries: texts.queries(candidates.dim(), z)?,
                candidates,
                normalised: run.config.output.is_normalised(),
            });
            looks.push(look);
        }
        Ok(Ensemble::new(members)?.with_second_looks(looks)?)
    }

    /// The evaluation of the ensemble on queries, under its rule.
    ///
    /// # Errors
    /// Members whose candidates or queries differ from the first one's; a rule that is not valid
    /// for them.
    pub fn evaluate(&self, asked: &QueryAnswers) -> Result<(Evaluation, Vec<Decoded>), Error> {
        let (split, pool) = (asked.split(), asked.pool());
        let ranking = self.ranking(asked)?;
        let config = self.config();
        let (mut golds, mut decoded) = self.rank_golds(asked, &ranking)?;
        let metrics = ranking.metrics(pool, &golds.ranks)?;
        let named = ranking.named(&mut golds, &mut decoded)?;
        let run = &self.members[0];
        let candidates = named.as_ref().unwrap_or(&run.candidates);
        let truth = truth_of(split, &golds.ids, candidates, &config.output.features)?;
        let exact = run.exact()?;
        let decoder = Decoder { candidates, ..run.decoder(exact.as_ref()) };
        let predicted = decoder.predicted(ranking.queries(), pool, config, || {
            Ok(decoded.iter().flat_map(|query| &query.hits).map(|hit| hit.candidate).collect())
        })?;
        let rows = golds.rows.clone();
        let mut found = judged(golds, metrics, &predicted, truth, config)?;
        if let [z] = asked.answers.as_slice() {
            let points = (decoder.candidates, decoder.origin);
            found = found.with_answers(z, &rows, points, config)?;
        }
        found.named = named;
        Ok((found, decoded))
    }

    /// The evaluation of each member by itself, on the queries as it reads them.
    ///
    /// # Errors
    /// As [`Run::evaluate`]; lists that name a candidate which a member lacks.
    pub fn evaluate_members(&self, asked: &QueryAnswers) -> Result<Vec<Evaluation>, Error> {
        let first = &self.members[0].candidates;
        let own = |(run, split): (&Run, &Split)| match asked.pool() {
            // lists hold places, which differ where members order their candidates differently
            Pool::PerQuery(lists) if !run.candidates.ids().eq(first.ids()) => {
                let lists = lists.moved(first, &run.candidates)?;
                run.evaluate(split, Pool::PerQuery(&lists))
            }
            Pool::PerQuery(_) | Pool::Shared => run.evaluate(split, asked.pool()),
        };
        self.members.iter().zip(&asked.splits).map(own).collect()
    }

    /// The right output of each query that counts, and how the queries were decoded.
    pub(super) fn rank_golds(
        &self,
        asked: &QueryAnswers,
        ranking: &Ranking,
    ) -> Result<(RankedGolds, Vec<Decoded>), Error> {
        let (split, pool) = (asked.split(), asked.pool());
        let missing = missing_gold(split, self.config().evaluation.missing_gold);
        let Some(rows) = GoldRows::of(split, pool)? else {
            let found = ranking.gold(pool, &split.ids, missing)?;
            let decoded = ranking.decode(pool, &self.rule, &found, 1)?;
            let ranks = decoded.iter().map(|query| query.rank).collect();
            let ids = split.ids.clone();
            return Ok((RankedGolds { ranks, rows: found, ids }, decoded));
        };
        let repeat = |(run, z): (&Run, &Vec<f32>)| rows.golds.repeat(run.candidates.dim(), z);
        let answers: Vec<Vec<f32>> = self.members.iter().zip(&asked.answers).map(repeat).collect();
        let repeated = self.ranking_with(rows.texts.of_rows(), &answers)?;
        let pool = rows.pool();
        let found = rows.resolve(split, missing, |rows| {
            repeated.gold(pool, rows.golds.ids(), MissingGold::RankInfinity)
        })?;
        let all = repeated.decode(pool, &self.rule, &found, 1)?;
        let ranks: Vec<_> = all.iter().map(|row| row.rank).collect();
        let (golds, chosen) = rows.choose(&found, &ranks)?;
        let decoded = chosen.iter().zip(&golds.ranks);
        let decoded = decoded.map(|(&row, &rank)| Decoded { rank, ..all[row].clone() }).collect();
        Ok((golds, decoded))
    }

    /// Writes the rule into the ensemble's directory.
    pub(crate) fn save_rule(&self, path: &Path) -> Result<(), Error> {
        fingerprints::replace_json(path, RULE, &self.rule)
    }
}

/// Names and runs of an ensemble's members.
fn open_inner(path: &Path, config: &Checked, device: &Device) -> Result<Vec<(String, Run)>, Error> {
    let (names, places): (Vec<String>, Vec<PathBuf>) = inner(path, config)?.into_iter().unzip();
    let configs = places.iter().map(|place| Run::config_of_one(place));
    let configs = configs.collect::<Result<Vec<_>, Error>>()?;
    let stored = candidates::open_all(path, &places)?;
    let runs = places.iter().zip(configs).zip(stored);
    let runs = runs.map(|((place, config), stored)| Run::open_with(place, config, stored, device));
    let mut opened: Vec<(String, Run)> =
        names.into_iter().zip(runs.collect::<Result<Vec<_>, Error>>()?).collect();
    same_candidates(path, &opened)?;
    let shared = config.ensemble.as_ref().and_then(|settings| settings.second_look.as_ref());
    let of = opened.iter().position(|(name, _)| Some(name) == shared);
    let with_look = |at: usize| {
        let (run, other) = (&opened[at].1, &opened[of?].1);
        let look = other.look.as_ref()?;
        run.look.is_none().then(|| run.looking(look, other))
    };
    let looking = (0..opened.len()).map(|at| with_look(at).transpose());
    let looking = looking.collect::<Result<Vec<_>, Error>>()?;
    for ((_, run), look) in opened.iter_mut().zip(looking) {
        run.look = run.look.take().or(look);
    }
    Ok(opened)
}

/// Refuses members of an ensemble whose candidates differ.
fn same_candidates(path: &Path, opened: &[(String, Run)]) -> Result<(), Error> {
    let Some((first, others)) = opened.split_first() else { return Ok(()) };
    let beyond = |(_, has): &(String, Run), (_, lacks): &(String, Run)| {
        let (ours, theirs) = (&has.candidates, &lacks.candidates);
        // the same order is usual, and then nothing is searched
        let is_there = |at: usize, id: &str| {
            (at < theirs.len() && theirs.id(at) == id) || theirs.find(id).is_some()
        };
        ours.ids().enumerate().find(|(at, id)| !is_there(*at, id)).map(|(_, id)| id.to_owned())
    };
    for other in others {
        for (has, lacks) in [(first, other), (other, first)] {
            if let Some(id) = beyond(has, lacks) {
                let message = format!(
                    "the candidate {id:?} of the member {:?} is not a candidate of {:?}; members have the same ones",
                    has.0, lacks.0
                );
                return Err(Error::Run { path: path.into(), message });
            }
        }
    }
    Ok(())
}

fn read_rule(path: &Path) -> Result<Combination, Error> {
    let file = path.join(RULE);
    read_json(&file)?.ok_or_else(|| Error::Run {
        path: file,
        message: "the ensemble is not complete: go on with --resume".into(),
    })
}
