//! The arguments for queries that `evaluate`, `rank` and `compare` share.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use dsokr_core::{Argument, Processes};
use dsokr_data::SplitName;
use dsokr_data::config::OnBadRow;
use dsokr_decode::MissingGold;
use dsokr_nn::Processor;

use crate::cli::hints::check_runs;
use crate::config::candidate_rule::CandidateRule;
use crate::error::Error;
use crate::run::{QueryRequest, Run, SplitUse};

/// Which queries are ranked, among which candidates.
#[derive(clap::Args)]
pub struct QueryArguments {
    /// A table of queries, with columns for id and text as in the run's configuration; default: a
    /// split of the run's data.
    #[arg(long = "queries", id = "queries", value_name = "FILE")]
    file: Option<PathBuf>,
    /// The split of the run's data: train, validation or test; default: evaluation.split of its configuration.
    #[arg(long, conflicts_with = "queries", value_parser = split_names())]
    split: Option<SplitName>,
    /// The column of --queries that names the query of each row; rows of one query are its right outputs.
    #[arg(long, requires = "queries")]
    query_id: Option<String>,
    /// Leave the outputs that training pairs give the same query, or the same text where queries have no
    /// ids, out of its candidates.
    #[arg(long)]
    filter_known: bool,
    /// The candidates of each query: a file of JSON lines {"query": id, "candidates": [id, …]}; queries (the right
    /// outputs of all queries); sample:N or sample:N:SEED (the right output and N others, drawn for each query); for
    /// spectra mass:PPM (with the precursor's mass) or formula (with the formula that the spectrum names); or all.
    /// Default: for a split, evaluation.candidates of the configuration, if given; else all candidates.
    #[arg(long, value_name = "FILE|RULE")]
    candidates: Option<CandidateRule>,
    /// The least number of candidates that a query has in its list; queries with fewer are left out, such as those whose
    /// gold is the only molecule of its formula.
    #[arg(long, value_name = "N")]
    least_candidates: Option<usize>,
    /// How to rank a query whose right output is no candidate: error, or rank-infinity, which counts it as not found.
    /// Default: evaluation.missing_gold of the configuration, which is error where it is not given; for a new table of classes, or
    /// of molecules with output.features.kind = "molecules", rank-infinity. Label sets, rankings, graphs and numbers of a new
    /// table are compared only, and refuse error.
    #[arg(long, value_name = "RULE", value_parser = missing_gold_rules())]
    missing_gold: Option<MissingGold>,
    /// Measure MCES at 1: the myopic MCES distance, with the threshold 15, of each query's first molecule from the right
    /// one, as MassSpecGym does.
    #[arg(long)]
    mces: bool,
    /// The data root; default: the folder of the data that each run was trained on, else the
    /// environment variable DSOKR_DATA, else data/.
    #[arg(long)]
    data: Option<PathBuf>,
    /// What becomes of rows that cannot be read: stop ends the command at the first one; skip lists and counts them and goes on
    /// without them; skip-spectra skips mass spectra alone. Default: what each run's
    /// configuration says.
    #[arg(long, value_name = "stop|skip|skip-spectra")]
    on_bad_row: Option<OnBadRow>,
    /// The device: cpu, wgpu, cuda or cuda:NUMBER.
    #[arg(long, default_value_t)]
    device: Processor,
}

fn split_names() -> impl TypedValueParser<Value = SplitName> {
    PossibleValuesParser::new(["train", "validation", "test"])
        .try_map(|name| name.parse::<SplitName>())
}

fn missing_gold_rules() -> impl TypedValueParser<Value = MissingGold> {
    PossibleValuesParser::new(["error", "rank-infinity"])
        .try_map(|rule| rule.parse::<MissingGold>())
}

impl QueryArguments {
    /// Refuses queries where others are given.
    pub fn refuse(&self, allowed: &str) -> Result<(), Error> {
        let given = [
            ("queries", self.file.is_some()),
            ("split", self.split.is_some()),
            ("filter-known", self.filter_known),
            ("candidates", self.candidates.is_some()),
            ("least-candidates", self.least_candidates.is_some()),
            ("missing-gold", self.missing_gold.is_some()),
            ("mces", self.mces),
            ("data", self.data.is_some()),
            ("on-bad-row", self.on_bad_row.is_some()),
        ];
        let mut given = given.iter();
        match given.find(|(_, given)| *given) {
            Some((name, _)) => Err(Error::value(Argument::new(name), "given", allowed)),
            None => Ok(()),
        }
    }

    /// Opens a run, or several as an ensemble, that reads the queries.
    pub fn open(
        &self,
        processes: &Processes,
        runs: &[PathBuf],
        shards: Option<&Path>,
    ) -> Result<Run, Error> {
        check_runs(runs)?;
        let run =
            Run::open_shared(processes, runs, shards, None, &self.device.open_for(processes)?)?;
        run.on_bad_row(self.on_bad_row)
    }

    /// Returns the queries that the command names, else the split that the configuration of the run evaluates.
    pub fn request(&self, run: &Run) -> QueryRequest {
        let evaluated = run.config().evaluation.split;
        let evaluated = self.file.is_none().then_some(evaluated);
        QueryRequest {
            file: self.file.clone(),
            split: self.split.or(evaluated),
            split_use: SplitUse::Evaluation,
            query_id: self.query_id.clone(),
            filter_known: self.filter_known,
            candidates: self.candidates.clone(),
            least_candidates: self.least_candidates,
            missing_gold: self.missing_gold,
            mces: self.mces,
            data: self.data.clone(),
        }
    }
}
