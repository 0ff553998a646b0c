//! The settings that assign the rows of a file to splits.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_untagged::{UntaggedEnumVisitor, de};
use smart_default::SmartDefault;

use crate::error::{Error, check};
use crate::groups::GroupRule;

/// The rule that assigns the rows of a file to splits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitsConfig {
    /// The order in which rows are taken.
    #[serde(default)]
    pub order: RowOrder,
    /// Validation pairs: their number, or their share of the rows. 0 is for kernel machines that choose nothing on
    /// them: with one λ, or several that leave-one-out errors choose from. Required, unless `column` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<SplitSize>,
    /// Test pairs: their number, or their share of the rows.
    #[serde(default)]
    pub test: SplitSize,
    /// Training pairs: their number, or their share of the rows; all that are left, if not given.
    pub train: Option<SplitSize>,
    /// The seed that draws the splits; the seed of the configuration, if left out.
    pub seed: Option<u64>,
    /// Rows that are drawn together, so that no two of them are on different sides: `"repeats"`, those with the same
    /// molecule (whatever SMILES of it), text, vector or id, in the inputs or in outputs that are molecules or texts, and
    /// rows connected by such rows; `"molecule"`, those with the same molecule apart from its configuration, as output, else
    /// as input; `"scaffold"`, those whose molecules have the same Bemis-Murcko scaffold; else the name of a column,
    /// those with the same value in it, and each row without a value by itself. A group that does not fit into what is left
    /// of the validation split goes to the test split, else to training. Left out, rows are drawn one by one, which is the
    /// same where no rows belong together. Vectors are compared where the table has at least 20 different ones. Beside
    /// `column`, or files of validation and test pairs, no row is moved: training rows of one group are left out together
    /// where predictions are held out. Intervals of metrics and candidate sets with a probability count these groups whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The column that names the split of each row, in the place of sizes and seed: `train` (also `training`),
    /// `validation` (`valid`, `val`, `dev`, `development`) or `test` (`testing`), in upper or lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Whether the rows of no split are outputs without a pair: candidates, also under
    /// `output.only_training`.
    #[serde(default)]
    pub unpaired: bool,
}

/// How many rows a split has.
#[derive(
    Clone, Copy, Debug, derive_more::Display, PartialEq, Serialize, JsonSchema, SmartDefault,
)]
#[serde(untagged)]
pub enum SplitSize {
    /// So many.
    #[default]
    Rows(usize),
    /// A share of all rows, between 0 and 1, rounded down.
    Share(f64),
}

impl SplitSize {
    /// Returns whether it is zero rows of any file.
    pub fn is_zero(self) -> bool {
        self == Self::Rows(0)
    }

    /// Returns the number of rows of a file with so many.
    pub(super) fn of(self, rows: usize) -> usize {
        match self {
            Self::Rows(rows) => rows,
            // 0.29 of 100 is 29, not 28.999999999999996
            Self::Share(share) => (share * rows as f64 + 1e-9) as usize,
        }
    }

    fn validate(self, key: &str, least: usize) -> Result<(), Error> {
        let (holds, allowed) = match self {
            Self::Rows(rows) => (
                rows >= least,
                format!("a number of rows from {least}, or a share between 0 and 1"),
            ),
            Self::Share(share) => (share > 0.0 && share < 1.0, "a share between 0 and 1".into()),
        };
        check(holds, key, self, &allowed)
    }
}

impl<'de> Deserialize<'de> for SplitSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        UntaggedEnumVisitor::new()
            .expecting("a number of rows, or a share between 0 and 1")
            .u64(|rows| usize::try_from(rows).map(Self::Rows).map_err(de::Error::custom))
            .f64(|share| Ok(Self::Share(share)))
            .deserialize(deserializer)
    }
}

/// The order in which rows of a file are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowOrder {
    /// The seed draws them.
    #[default]
    Drawn,
    /// The order of the file: training pairs first, then validation, then test pairs.
    File,
}

impl SplitsConfig {
    /// Returns whether the seed of the configuration draws the splits: they have no seed of their own, and neither the file's
    /// order nor a column decides.
    pub fn are_drawn_by_configuration(&self) -> bool {
        self.seed.is_none() && self.order == RowOrder::Drawn && self.column.is_none()
    }

    /// Returns the rule of the groups.
    pub(crate) fn rule(&self) -> Option<GroupRule<'_>> {
        self.group.as_deref().map(GroupRule::named)
    }

    /// Returns the columns that say which rows belong to which split, or together.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        let group = self.rule().and_then(GroupRule::column);
        self.column.as_deref().into_iter().chain(group)
    }

    /// Returns whether there are validation pairs, where no file has them; a column may have none.
    pub(crate) fn may_have_validation(&self) -> bool {
        self.column.is_some() || !self.validation.unwrap_or_default().is_zero()
    }

    /// Returns whether there are test pairs, where no file has them; a column may have none.
    pub(super) fn may_have_test(&self) -> bool {
        self.column.is_some() || !self.test.is_zero()
    }

    /// Checks that a column is given instead of everything that draws splits.
    fn validate_column(&self) -> Result<(), Error> {
        let given = [
            ("validation", self.validation.map(|size| size.to_string())),
            ("test", (!self.test.is_zero()).then(|| self.test.to_string())),
            ("train", self.train.map(|size| size.to_string())),
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("order", (self.order == RowOrder::File).then(|| "\"file\"".to_owned())),
        ];
        let allowed = "absent, with data.splits.column, which names the split of each row";
        for (name, value) in given {
            let Some(value) = value else { continue };
            return Err(Error::value(format!("data.splits.{name}"), value, allowed));
        }
        Ok(())
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        if self.column.is_some() {
            return self.validate_column();
        }
        let Some(validation) = self.validation else {
            let allowed =
                "a number of rows, a share between 0 and 1, or data.splits.column in its place";
            return Err(Error::value("data.splits.validation", "absent", allowed));
        };
        validation.validate("data.splits.validation", 0)?;
        self.test.validate("data.splits.test", 0)?;
        let drawn = self.order == RowOrder::Drawn;
        let allowed = "absent, with data.splits.order = \"file\": groups are drawn";
        let group = self.group.as_ref().map(|group| format!("{group:?}")).unwrap_or_default();
        check(drawn || self.group.is_none(), "data.splits.group", group, allowed)?;
        self.train.map_or(Ok(()), |train| train.validate("data.splits.train", 1))
    }
}
