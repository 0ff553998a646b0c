//! Parts of pairs for cross-validation: one of them is held out.

use dsokr_core::grouped;
use dsokr_core::random::{generator, shuffle};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dataset::{Dataset, Split};
use crate::error::{Error, check};
use crate::groups::{
    GroupRule, connected, groups_of_cells, keys_of_molecules, log_cells_without_value, scaffold,
};
use crate::inputs::InputKind;
use crate::outputs::{OutputSource, Outputs};
use crate::pairs::{PairFacts, joined};

/// One of the k parts of a cross-validation, which is held out. Training and validation pairs together are divided into
/// parts of about equal sizes. Test pairs of the data stay as they are, or are left out where the part is the test
/// split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FoldConfig {
    /// Number of parts, k.
    pub count: usize,
    /// The part that is held out, from 1 to k.
    pub held: usize,
    /// The seed that draws the parts. It differs from the seed of the configuration.
    #[serde(default)]
    pub seed: u64,
    /// The groups that parts do not share: the values of a column of the tables of pairs, or `"scaffold"` (also
    /// `"skeleton"`), the Bemis-Murcko scaffolds of the molecules that outputs are, else inputs; molecules without
    /// rings are one group. A row without a value in the column is a group of its own. The groups of `splits.group`, over the
    /// rows of all files, and rows of one query stay together as well: parts divide none of these, and groups that are
    /// connected by another kind are one. Left out, only these stay together, and other pairs are divided one by one.
    pub group: Option<String>,
    /// Whether the part is the test split. Validation pairs are then drawn from the other parts, as large a share of
    /// them as before and again whole groups, so that nothing is chosen on the part. Else the part is the validation
    /// split.
    #[serde(default)]
    pub nested: bool,
}

impl FoldConfig {
    /// Returns the column of the groups.
    pub(crate) fn column(&self) -> Option<&str> {
        GroupRule::named(self.group.as_deref()?).column()
    }

    pub(crate) fn validate(&self, source: &str, facts: &PairFacts) -> Result<(), Error> {
        let Self { count, held, .. } = *self;
        check(count > 1, "data.fold.count", count, "at least 2")?;
        let allowed = format!("1 to {count}, the number of parts");
        check((1..=count).contains(&held), "data.fold.held", held, &allowed)?;
        let kernels = facts.inputs == InputKind::Kernels;
        let allowed = "absent: inputs that are kernels are files of all training pairs";
        check(!kernels, "data.fold", "given", allowed)?;
        let allowed = "absent: other pairs are drawn by a different seed";
        check(source != "synthetic", "data.fold", "given", allowed)?;
        let rule = self.group.as_deref().map(GroupRule::named);
        let allowed =
            "absent, which keeps what data.splits.group names together, \"scaffold\" or a column";
        let is_allowed = !matches!(rule, Some(GroupRule::Repeats | GroupRule::Molecule));
        check(is_allowed, "data.fold.group", self.group_name(), allowed)?;
        let group = self.column().unwrap_or_default();
        let allowed = "absent, or \"scaffold\": only tables (data.source = \"tables\" or \"pool\") have columns";
        check(
            group.is_empty() || ["tables", "pool"].contains(&source),
            "data.fold.group",
            format!("{group:?}"),
            allowed,
        )
    }

    /// Returns the data with the part held out.
    pub(crate) fn divide(&self, dataset: Dataset, source: &OutputSource) -> Result<Dataset, Error> {
        let Dataset { outputs, train, validation, test, skipped, input_columns } = dataset;
        let validation = validation.into_pairs(&outputs)?;
        let chosen = validation.ids.len() as f64;
        let Some(mut pairs) = joined([train, validation])? else {
            return Err(self.too_few(0, "training and validation pairs"));
        };
        if !pairs.groups_of_files.is_empty() {
            // what parts keep together is left out together in each of them
            pairs.groups = std::mem::take(&mut pairs.groups_of_files);
        }
        let share = chosen / pairs.ids.len() as f64;
        let groups = self.groups(&pairs, &outputs, source)?;
        if groups.len() < self.count {
            let counted = if self.group.is_some() {
                "groups of pairs"
            } else if groups.len() == pairs.ids.len() {
                "training and validation pairs"
            } else if pairs.groups.is_empty() {
                "queries of training and validation pairs"
            } else {
                "groups of data.splits.group"
            };
            return Err(self.too_few(groups.len(), counted));
        }
        let random = &mut generator(self.seed, "cross-validation", 0);
        let mut parts = divide(groups.clone(), self.count, random);
        let held = parts.swap_remove(self.held - 1);
        let leave = |others: &mut Vec<Vec<usize>>, part: &[usize]| {
            others.retain(|group| part.binary_search(&group[0]).is_err());
        };
        let mut others = groups;
        leave(&mut others, &held);
        let mut inner = Vec::new();
        if self.nested {
            let random = &mut generator(self.seed, "cross-validation", self.held as u64);
            let size = share * others.iter().map(Vec::len).sum::<usize>() as f64;
            let drawn = some(&others, size.round() as usize, random);
            if drawn.is_empty() && share > 0.0 {
                let allowed = "absent, or smaller groups: one must fit into the validation split";
                return Err(Error::value("data.fold.group", self.group_name(), allowed));
            }
            leave(&mut others, &drawn);
            inner = drawn;
        }
        let mut others = others.concat();
        others.sort_unstable();
        // an output that is not known can be evaluated, not learned
        others.retain(|&pair| pairs.outputs[pair].is_some());
        let mut train = pairs.select(&others)?;
        train.fold_groups = Vec::new();
        let held = pairs.held_out(&held, &outputs)?;
        let (validation, test) = if self.nested {
            (pairs.held_out(&inner, &outputs)?, Some(held))
        } else {
            (held, test)
        };
        Ok(Dataset { outputs, train, validation, test, skipped, input_columns })
    }

    fn group_name(&self) -> String {
        self.group.as_ref().map_or("absent".into(), |group| format!("{group:?}"))
    }

    fn too_few(&self, groups: usize, counted: &str) -> Error {
        let allowed = format!("at most {groups}, the number of {counted}");
        Error::value("data.fold.count", self.count, allowed)
    }

    /// Returns the pairs that stay together.
    fn groups(
        &self,
        pairs: &Split,
        outputs: &Outputs,
        source: &OutputSource,
    ) -> Result<Vec<Vec<usize>>, Error> {
        let named = match (&self.group, self.column()) {
            (Some(_), Some(_)) => {
                log_cells_without_value(&pairs.fold_groups, "data.fold.group");
                groups_of_cells(&pairs.fold_groups)
            }
            (Some(_), None) => grouped(&scaffolds(pairs, outputs, source)?),
            (None, _) => Vec::new(),
        };
        let together = grouped(&pairs.groups);
        let queries = pairs.queries.as_deref().map(grouped).unwrap_or_default();
        let groups = connected(pairs.ids.len(), &[&named, &together, &queries]);
        if groups.len() < self.count && named.len() >= self.count {
            let allowed = format!(
                "absent, or groups that those of data.splits.group and queries do not connect: the {} groups are {} where \
                 pairs of all kinds stay together, fewer than the {} parts",
                named.len(),
                groups.len(),
                self.count
            );
            return Err(Error::value("data.fold.group", self.group_name(), allowed));
        }
        Ok(groups)
    }
}

/// Returns a key for the scaffold of each pair's molecule.
fn scaffolds(pairs: &Split, outputs: &Outputs, source: &OutputSource) -> Result<Vec<u64>, Error> {
    let key = "data.fold.group";
    if source.molecule_column().is_err() {
        return keys_of_molecules(pairs.inputs.texts()?, key, "scaffold", scaffold);
    }
    let label = |output: &Option<usize>| output.map_or("", |at| &outputs.labels[at]);
    let labels: Vec<&str> = pairs.outputs.iter().map(label).collect();
    keys_of_molecules(&labels, key, "scaffold", scaffold)
}

/// Divides groups of rows into parts. In a drawn order, the larger ones first, each goes to the smallest part; of single rows the
/// parts differ by one at most in size. Rows ascend.
pub fn divide(mut groups: Vec<Vec<usize>>, parts: usize, random: &mut impl Rng) -> Vec<Vec<usize>> {
    shuffle(&mut groups, random);
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let mut divided = vec![Vec::new(); parts];
    for group in groups {
        if let Some(least) = divided.iter_mut().min_by_key(|part| part.len()) {
            least.extend(group);
        }
    }
    divided.iter_mut().for_each(|part| part.sort_unstable());
    divided
}

/// Returns rows of whole groups in a drawn order, those that fit into `size` rows; ascending.
fn some(groups: &[Vec<usize>], size: usize, random: &mut impl Rng) -> Vec<usize> {
    let mut order: Vec<&Vec<usize>> = groups.iter().collect();
    shuffle(&mut order, random);
    let mut rows: Vec<usize> = Vec::new();
    for group in order {
        if rows.len() + group.len() <= size {
            rows.extend(group);
        }
    }
    rows.sort_unstable();
    rows
}
