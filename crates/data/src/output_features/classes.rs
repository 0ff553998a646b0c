//! Classes: every output is one of a few names.

use std::collections::BTreeSet;

use dsokr_basis::features::DenseRows;
use dsokr_core::message::list;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureFacts, FittedColumns, FittedRows, OutputKind, OutputTable};
use crate::cells;
use crate::error::{Error, check};
use crate::table::Table;
use crate::truth::{Truth, bad};

/// Classes: every output is one of a few names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassFeatures {
    /// The column. A cell is the name of a class, of one or several words; spaces around it are ignored. A cell that is
    /// empty or says that there is no value, such as `NA`, is one that cannot be read; `none` and `unknown` are
    /// classes, and so are `-` and `--` beside `+`.
    pub column: String,
    /// The class that the metrics `f1`, `roc_auc` and `pr_auc` are about, such as `"active"`; left out, they are means
    /// over classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
}

impl ClassFeatures {
    /// Returns the class of each cell of the column; [`dsokr_core::Error::File`] for an empty cell.
    pub(crate) fn classes<'t>(
        &'t self,
        table: &'t Table,
    ) -> Result<impl Iterator<Item = Result<&'t str, Error>> + 't, Error> {
        let column = self.column.as_str();
        let all = table.column(column)?;
        let is_minus_class = self.positive.as_deref() == Some("+")
            || cells::are_signs(all.iter().map(String::as_str));
        let class = move |(row, cell): (usize, &'t String)| {
            let class = cell.trim();
            if class.is_empty() {
                return Err(Error::empty_value(table.path(), table.line(row), column));
            }
            if cells::is_no_class(class) && !(is_minus_class && cells::is_minus(class)) {
                let message = format!("{class:?} in the column {column:?}: a class is needed");
                return Err(table.error(row, message));
            }
            Ok(class)
        };
        Ok(all.iter().enumerate().map(class))
    }

    fn all<'t>(&'t self, table: &'t Table) -> Result<Vec<&'t str>, Error> {
        self.classes(table)?.collect()
    }
}

impl OutputKind for ClassFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(&self.column), is_compared: true, ..Default::default() }
    }

    fn bad_rows(&self, table: &Table) -> Result<Vec<(usize, Error)>, Error> {
        Ok(bad(self.classes(table)?))
    }

    fn truth(&self, table: &Table) -> Result<Option<Truth>, Error> {
        let classes = self.all(table)?;
        Ok(Some(Truth::Classes(classes.into_iter().map(str::to_owned).collect())))
    }

    fn truth_of_labels(&self, labels: &[&str]) -> Result<Option<Truth>, Error> {
        let classes = labels.iter().map(|label| label.trim().to_owned());
        Ok(Some(Truth::Classes(classes.collect())))
    }

    /// Reads rows that are 1 in the column of their class, the last where classes without a column count, and 0 elsewhere.
    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let classes = self.all(from.table)?;
        let names: Vec<String> = match from.fitted {
            Some(fitted) => {
                if !from.counts_unknown {
                    let rows = classes.iter().copied().enumerate();
                    fitted.check_known("class", &self.column, from.table, rows)?;
                }
                fitted.terms.clone()
            }
            None => {
                let names: BTreeSet<&str> = classes.iter().copied().collect();
                names.into_iter().map(str::to_owned).collect()
            }
        };
        let width = names.len();
        if let Some(positive) = &self.positive
            && from.fitted.is_none()
        {
            let is_class = names.contains(positive);
            let key = "output.features.positive";
            let found = format!("{positive:?}");
            check(is_class, key, found, &format!("one of the classes: {}", list(&names)))?;
        }
        let row_width = width + usize::from(from.counts_unknown);
        let mut values = vec![0.0; row_width * classes.len()];
        for (row, class) in values.chunks_exact_mut(row_width).zip(&classes) {
            let place = names.binary_search_by(|name| name.as_str().cmp(class));
            // the last column has the classes that are not known
            row[place.unwrap_or(width)] = 1.0;
        }
        from.truth = self.truth(from.table)?;
        let columns = FittedColumns { width, terms: names, ..FittedColumns::default() };
        Ok((columns, Box::new(dsokr_basis::Features::Dense(DenseRows::new(row_width, values)?))))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_minus_is_a_class_beside_a_plus() {
        let classes = |positive: Option<&str>, cells: [&str; 3]| {
            let cells = cells.map(str::to_owned).to_vec();
            let table = Table::numbered(Path::new("pcr.csv"), "id", [("result", cells)]);
            let positive = positive.map(str::to_owned);
            let features = ClassFeatures { column: "result".into(), positive };
            let classes = features.classes(&table).unwrap();
            classes.map(|class| class.unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(classes(None, ["+", "-", "NA"]), ["+", "-", ""]);
        assert_eq!(classes(None, ["+/-", "-", "-"]), ["+/-", "-", "-"]);
        assert_eq!(classes(None, ["++", "--", "NA"]), ["++", "--", ""]);
        assert_eq!(classes(None, ["-", "-", "-"]), ["-", "-", "-"]);
        assert_eq!(classes(Some("+"), ["-", "-", "NA"]), ["-", "-", ""]);
        assert_eq!(classes(None, ["dead", "-", "Na"]), ["dead", "", "Na"]);
    }
}
