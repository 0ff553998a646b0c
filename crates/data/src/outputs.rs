use std::collections::HashMap;

use dsokr_basis::RowSource;
use dsokr_basis::features::JoinedRows;

use crate::fitted::FittedFeatures;
use crate::output_features::{OutputFiles, OutputTable};
use crate::output_source::{CandidateConfig, OutputSource};
use crate::table::{Table, unique_ids};
use crate::{Error, Truth};

/// The outputs y: ids, labels to show, feature rows, and which of them are candidates.
pub struct Outputs {
    /// Unique ids.
    pub ids: Vec<String>,
    /// What `search` shows; empty strings where no column is named.
    pub labels: Vec<String>,
    /// One feature row an output.
    pub rows: Box<dyn RowSource>,
    /// Indices of the candidates, ascending.
    pub candidates: Vec<usize>,
    /// What they are, where figures say more than ranks do.
    pub truth: Option<Truth>,
    /// What the columns of the rows are.
    pub features: FittedFeatures,
}

impl Outputs {
    /// From a table with the columns of [`OutputSource::columns`] and ids in the column `id`. With the columns of
    /// an earlier training the rows have as many, and all files that were given must be read.
    pub(crate) fn from_table(
        table: &Table,
        id: &str,
        config: &OutputSource,
        files: OutputFiles,
        fitted: Option<&FittedFeatures>,
    ) -> Result<Self, Error> {
        let path = table.path();
        unique_ids(table, id)?;
        let ids = table.column(id)?.to_vec();
        let labels = match config.label {
            Some(column) => table.column(column)?.to_vec(),
            None => vec![String::new(); ids.len()],
        };
        let candidates = match config.candidate {
            None => (0..ids.len()).collect(),
            Some(rule) => {
                let values = table.column(&rule.column)?.iter().enumerate();
                let chosen: Vec<usize> =
                    values.filter(|(_, v)| **v == rule.value).map(|(i, _)| i).collect();
                if chosen.is_empty() {
                    let CandidateConfig { column, value } = rule;
                    let message =
                        format!("no row has {column} = {value:?}, so there is no candidate");
                    return Err(Error::file(path, message));
                }
                chosen
            }
        };
        let molecules = HashMap::new();
        let mut from =
            OutputTable { table, id, files, fitted: None, truth: None, labels, molecules };
        let read = config.kernels().iter().enumerate().map(|(at, features)| {
            from.fitted = fitted.and_then(|fitted| fitted.parts.get(at));
            features.kind().read(&mut from)
        });
        let read = read.collect::<Result<Vec<_>, Error>>()?;
        let (parts, mut rows): (Vec<_>, Vec<Box<dyn RowSource>>) = read.into_iter().unzip();
        let rows = match (rows.len(), rows.pop()) {
            (1, Some(rows)) => rows,
            (_, last) => {
                rows.extend(last);
                Box::new(JoinedRows::new(rows)?)
            }
        };
        let (found, features) = (rows.width(), FittedFeatures { parts });
        if let Some(expected) = fitted.map(FittedFeatures::width).filter(|&width| width != found) {
            let message = format!("outputs of {found} features; those of the run have {expected}");
            return Err(Error::file(path, message));
        }
        from.files.check_read()?;
        let OutputTable { truth, labels, .. } = from;
        Ok(Self { ids, labels, rows, candidates, truth, features })
    }

    /// What some outputs are; none if one of them is unknown.
    pub(crate) fn truth_of(&self, outputs: &[Option<usize>]) -> Option<Truth> {
        self.truth.as_ref()?.select(outputs)
    }
}
