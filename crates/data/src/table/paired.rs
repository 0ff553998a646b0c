//! The column of peaks that are pairs, in tables of fields.

use std::borrow::Cow;

use dsokr_spectra::{PARTS, Record};

use super::json::{PeakLists, SMILES, peak_lists};

/// The name of the column, in any case: that of matchms and GNPS. A column `peaks` may be of other things.
const PAIRS: &str = "peaks_json";

/// A column of peaks that are pairs, and the columns that stand for it behind all others, as [`PARTS`] and the molecule are called.
pub(super) struct PairColumn {
    /// The place of the column.
    peaks: usize,
    /// The names of columns that are repeated by the names of [`PARTS`] and of the molecule, with their places.
    repeated: Vec<(&'static str, usize)>,
}

impl PairColumn {
    /// Returns the column of pairs of a table whose columns have these names. A table without a precursor has none, nor has one
    /// that has the lists of [`PARTS`].
    pub(super) fn of(names: &[String]) -> Option<Self> {
        let [precursor, mzs, intensities] = PARTS;
        let has = |name: &str| names.iter().any(|other| other == name);
        if has(mzs) || has(intensities) {
            return None;
        }
        let peaks = names.iter().position(|name| name.eq_ignore_ascii_case(PAIRS))?;
        let place =
            |field: &str| names.iter().position(|name| Record::common_name(name) == Some(field));
        let precursor_place = place(precursor)?;
        let fields = [(precursor, Some(precursor_place)), (SMILES, place(SMILES))];
        let missing = fields.into_iter().filter(|(name, _)| !has(name));
        let repeated = missing.filter_map(|(name, place)| Some((name, place?))).collect();
        Some(Self { peaks, repeated })
    }

    /// Returns the place of the column.
    pub(super) fn place(&self) -> usize {
        self.peaks
    }

    /// Returns the names of the columns behind all others.
    pub(super) fn names(&self) -> Vec<String> {
        let lists = PARTS[1..].iter().copied();
        lists.chain(self.repeated.iter().map(|(name, _)| *name)).map(str::to_owned).collect()
    }

    /// Returns the fields of a row with those of [`names`](Self::names) behind them. Peaks that are none are empty.
    ///
    /// # Errors
    /// What is wrong with the peaks, if they are `needed`.
    pub(super) fn extended<'f>(
        &self,
        mut fields: Vec<Cow<'f, str>>,
        needed: bool,
    ) -> Result<Vec<Cow<'f, str>>, String> {
        let lists = match peak_lists(fields[self.peaks].trim()) {
            PeakLists::Read(lists) => lists,
            PeakLists::NoPeaks => Default::default(),
            PeakLists::Wrong(reason) if needed => return Err(reason),
            PeakLists::Wrong(_) => Default::default(),
        };
        let repeated: Vec<_> =
            self.repeated.iter().map(|(_, place)| fields[*place].clone()).collect();
        fields.extend(lists.map(Cow::Owned));
        fields.extend(repeated);
        Ok(fields)
    }
}
