//! Which candidates a filter leaves.

use dsokr_core::Processes;
use dsokr_data::config::OutputFeatures;
use dsokr_decode::Candidates;

use super::Run;
use crate::decoding::filter::{Filter, MOST, MoleculeProperties, NumberCounts, ReadFilter};
use crate::error::{Error, ensure};
use crate::metrics::molecules::{are_smiles, labels_looked_at};

/// The candidates that a filter leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedCandidates {
    filter: ReadFilter,
    each: Vec<bool>,
    count: usize,
}

impl WantedCandidates {
    /// Returns whether each candidate is wanted: each of the run, or where they are in shards, each that the shards of this
    /// process hold.
    pub fn each(&self) -> &[bool] {
        &self.each
    }

    /// Returns the filter.
    pub(super) fn filter(&self) -> &ReadFilter {
        &self.filter
    }

    /// Returns how many candidates of all are wanted, duplicates counted.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Run {
    /// Returns the candidates for which a filter holds. Of shards, all processes that have opened them look together.
    ///
    /// # Errors
    /// A name that is no column of the candidates, nor a property where they are molecules; a value that cannot be
    /// compared; properties of more than a million candidates.
    pub fn wanted(
        &self,
        processes: &Processes,
        filter: &Filter,
    ) -> Result<WantedCandidates, Error> {
        let are_molecules = self.are_molecules(processes)?;
        let molecules = if are_molecules && filter.reads_molecules() {
            let all = self.candidates();
            let allowed = format_args!(
                "absent, or without properties of molecules, which are known of at most {MOST} candidates"
            );
            ensure(all <= MOST, "filter", format_args!("given, for {all} candidates"), allowed)?;
            Some(self.molecule_properties())
        } else {
            None
        };
        let candidates = &self.members[0].candidates;
        // of shards a member has some candidates, with the columns of all
        let columns = candidates.columns();
        let count_numbers = |column: usize| -> Result<NumberCounts, Error> {
            let Some(shards) = &self.shards else {
                return Ok(NumberCounts::from_column(columns, column));
            };
            let of_shard = |shard: &Candidates| NumberCounts::from_column(shard.columns(), column);
            let counts = shards.of_each(processes, of_shard)?.into_iter();
            Ok(counts.fold(NumberCounts::default(), NumberCounts::with))
        };
        let decimals = |column: usize| self.decimals.find(column, || count_numbers(column));
        let filter = filter.read(columns, are_molecules, &decimals)?;
        let Some(shards) = &self.shards else {
            let each = filter.wanted([candidates], molecules);
            let count = each.iter().filter(|&&wanted| wanted).count();
            return Ok(WantedCandidates { filter, each, count });
        };
        let each = filter.wanted(shards.held(), molecules);
        let count = shards.count_wanted(processes, &each)?;
        Ok(WantedCandidates { filter, each, count })
    }

    /// Returns whether candidates are molecules, whose labels are SMILES.
    ///
    /// # Errors
    /// Candidates in shards that cannot be read.
    pub(crate) fn are_molecules(&self, processes: &Processes) -> Result<bool, Error> {
        if let Some(&are_molecules) = self.molecules.are_molecules.get() {
            return Ok(are_molecules);
        }
        let are_molecules = match &self.config().output.features {
            OutputFeatures::Molecules(_) => true,
            OutputFeatures::File(_)
            | OutputFeatures::Ngrams(_)
            | OutputFeatures::Substructures(_)
            | OutputFeatures::Source(_) => {
                let all = self.all();
                are_smiles(&all.some(processes, labels_looked_at(all.len()))?.candidates)
            }
            OutputFeatures::Graphs(_)
            | OutputFeatures::Labels(_)
            | OutputFeatures::Classes(_)
            | OutputFeatures::Rankings(_)
            | OutputFeatures::Numbers(_) => false,
        };
        Ok(*self.molecules.are_molecules.get_or_init(|| are_molecules))
    }

    /// Returns the properties of candidates that are molecules: of all, or of those in the shards of this process. It takes long
    /// for many.
    pub(crate) fn molecule_properties(&self) -> &MoleculeProperties {
        if let Some(properties) = self.molecules.properties.get() {
            return properties;
        }
        let properties = match &self.shards {
            Some(shards) => MoleculeProperties::from_candidates(shards.held()),
            None => MoleculeProperties::from_candidates([&self.members[0].candidates]),
        };
        self.molecules.properties.get_or_init(|| properties)
    }
}
