//! The attributes of an ARFF file that are outputs.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use dsokr_core::message::list;

use crate::error::Error;
use crate::input_columns::NamedColumns;

/// The attributes of an ARFF file that are outputs, the others being inputs.
pub(super) struct OutputAttributes {
    /// The positions of the labels among the attributes.
    pub(super) outputs: Range<usize>,
    /// The number of all attributes.
    pub(super) all: usize,
    /// The place of each input among the training inputs, where it is another one.
    pub(super) input_order: Option<Vec<usize>>,
    /// The place of each output among the training outputs, where it is another one.
    output_order: Option<Vec<usize>>,
}

impl OutputAttributes {
    /// Creates the attributes that the relation of a file of MEKA states, else the last `given` ones.
    pub(super) fn new(relation: &str, given: Option<usize>, all: usize) -> Result<Self, Error> {
        let stated = meka_classes(relation);
        let key = "data.labels";
        let stated_count = stated.map(|stated| stated.unsigned_abs());
        let Some(count) = stated_count.or(given) else {
            let allowed = "the number of labels or targets, the last attributes of an .arff file";
            return Err(Error::value(key, "absent", allowed));
        };
        if let Some(given) = given
            && let Some(stated) = stated
            && given != count
        {
            let allowed = format!("absent, or {count}: the relation of the file says -C {stated}");
            return Err(Error::value(key, given, allowed));
        }
        if count == 0 || count >= all {
            return Err(Error::value(key, count, format!("1 to {}", all.saturating_sub(1))));
        }
        let first = stated.is_some_and(|stated| stated > 0);
        let outputs = if first { 0..count } else { all - count..all };
        Ok(Self { outputs, all, input_order: None, output_order: None })
    }

    /// Returns the number of inputs.
    pub(super) fn inputs(&self) -> usize {
        self.all - self.outputs.len()
    }

    /// Returns the position of an attribute among the outputs.
    pub(super) fn output(&self, attribute: usize) -> Option<usize> {
        let position = self.outputs.contains(&attribute).then(|| attribute - self.outputs.start)?;
        Some(self.output_order.as_ref().map_or(position, |order| order[position]))
    }

    /// Returns the position of an attribute among the inputs.
    pub(super) fn input(&self, attribute: usize) -> usize {
        let position =
            if attribute < self.outputs.start { attribute } else { attribute - self.outputs.len() };
        self.input_order.as_ref().map_or(position, |order| order[position])
    }

    /// Puts inputs, and outputs that the training has by their names, into its order. They must have the same names.
    pub(super) fn ordered(
        self,
        inputs: &[&str],
        outputs: &[&str],
        training: &NamedColumns,
    ) -> Result<Self, String> {
        let input_order = order("inputs", inputs, &training.inputs)?;
        let output_order = if training.outputs.is_empty() {
            None
        } else {
            order("targets", outputs, &training.outputs)?
        };
        Ok(Self { input_order, output_order, ..self })
    }
}

/// Returns the position of each name among those of the training, which must be the same ones; none where each has its own.
fn order(what: &str, names: &[&str], training: &[String]) -> Result<Option<Vec<usize>>, String> {
    if names.iter().eq(training) {
        return Ok(None);
    }
    let positions: HashMap<&str, usize> =
        training.iter().enumerate().map(|(position, name)| (name.as_str(), position)).collect();
    let is_there: HashSet<&str> = names.iter().copied().collect();
    let lacking = training.iter().filter(|name| !is_there.contains(name.as_str()));
    let lacking: Vec<String> = lacking.cloned().collect();
    let unknown = names.iter().filter(|name| !positions.contains_key(**name));
    let unknown: Vec<String> = unknown.map(|&name| name.to_owned()).collect();
    if !lacking.is_empty() || !unknown.is_empty() {
        return Err(format!(
            "the attributes that are {what} must be those of the training, in any order; lacking: {}; unknown: {}",
            list(&lacking),
            list(&unknown)
        ));
    }
    Ok(Some(names.iter().filter_map(|name| positions.get(name).copied()).collect()))
}

/// Returns the n of `-C n` in the name of a relation, as MEKA writes it: the first n attributes are labels, or the last
/// −n.
fn meka_classes(relation: &str) -> Option<isize> {
    let words: Vec<&str> =
        relation.split([' ', '\t', '\'', '"']).filter(|w| !w.is_empty()).collect();
    // filters of Weka, which the name lists too, have options -C without a number
    let mut options = words.windows(2).filter(|pair| pair[0].ends_with("-C"));
    options.find_map(|pair| pair[1].parse().ok())
}
