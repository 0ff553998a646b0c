//! Fragmentation trees, which other programs compute.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;

use dsokr_core::Error;
use dsokr_core::message::shorten;
use dsokr_core::store::{check_inside, read_text};
use dsokr_molecule::{ElementCounts, formula, read_formula};
use serde::Deserialize;
use serde_json::Value;

/// A fragmentation tree (Böcker and Rasche 2008): formulas of fragments. Each formula is a part of its parent's.
///
/// As a text a tree is its fragments with slashes between, the root first. A fragment is `FORMULA:INTENSITY`; for all
/// but the root the number of the parent, from 0, and `>` come before it. An intensity that is left out is 1.
///
/// ```
/// use dsokr_spectra::FragmentationTree;
///
/// let tree: FragmentationTree = "C9H8O4:0.2/0>C7H6O3:1/1>C7H4O2:0.5".parse()?;
/// let losses: Vec<_> = tree.losses().collect();
/// assert_eq!(losses, [("C2H2O".to_owned(), 1.0), ("H2O".to_owned(), 0.5)]);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FragmentationTree(Vec<Node>);

#[derive(Clone, Debug, PartialEq)]
struct Node {
    atoms: ElementCounts,
    intensity: f64,
    /// The position of the parent, which comes before the node; none for the root.
    parent: Option<usize>,
}

impl FragmentationTree {
    /// Returns the formula of each fragment, with its intensity.
    pub fn fragments(&self) -> impl Iterator<Item = (String, f64)> {
        self.0.iter().map(|node| (formula(&node.atoms), node.intensity))
    }

    /// Returns the formula that each fragment but the root lost of its parent, with the intensity of the fragment.
    pub fn losses(&self) -> impl Iterator<Item = (String, f64)> {
        self.0.iter().filter_map(|node| Some((self.lost(node.parent?, node), node.intensity)))
    }

    /// Returns the formula that each fragment but the root lost of the root, with the intensity of the fragment.
    pub fn root_losses(&self) -> impl Iterator<Item = (String, f64)> {
        self.0[1..].iter().map(|node| (self.lost(0, node), node.intensity))
    }

    /// Returns the losses on each path downwards, in their order, as `C2H2O>H2O`, with the intensity of the fragment at
    /// its end.
    pub fn paths(&self) -> impl Iterator<Item = (String, f64)> {
        self.0.iter().flat_map(move |end| {
            let mut node = end;
            let mut path = String::new();
            std::iter::from_fn(move || {
                let parent = node.parent?;
                let arrow = if path.is_empty() { "" } else { ">" };
                path = self.lost(parent, node) + arrow + &path;
                node = &self.0[parent];
                Some((path.clone(), end.intensity))
            })
        })
    }

    fn lost(&self, parent: usize, node: &Node) -> String {
        formula(&without(&self.0[parent].atoms, &node.atoms).unwrap_or_default())
    }

    fn read(text: &str) -> Result<Self, String> {
        let mut nodes: Vec<Node> = Vec::new();
        for entry in text.split('/') {
            let (parent, node_text): (Option<usize>, _) = match entry.split_once('>') {
                Some((parent, node_text)) => {
                    (parent.parse().ok().filter(|&at| at < nodes.len()), node_text)
                }
                None => (None, entry),
            };
            if parent.is_none() != nodes.is_empty() {
                return Err(format!("{entry:?} does not name a parent that is before it"));
            }
            let (name, intensity) = node_text.split_once(':').unwrap_or((node_text, "1"));
            let number = intensity.parse::<f64>().ok();
            let intensity = number
                .filter(|value| value.is_finite() && *value >= 0.0)
                .ok_or_else(|| format!("the intensity {intensity:?} is not a number from 0 on"))?;
            let atoms = read_formula(name).ok_or_else(|| format!("{name:?} is not a formula"))?;
            if parent.is_some_and(|at| without(&nodes[at].atoms, &atoms).is_none()) {
                return Err(format!("{name} is not a part of its parent"));
            }
            nodes.push(Node { atoms, intensity, parent });
        }
        Ok(Self(nodes))
    }
}

impl FromStr for FragmentationTree {
    type Err = Error;

    /// Reads a text; its [`Error::Value`] says what is wrong, and what is allowed.
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::read(text).map_err(|reason| {
            let found = format_args!("{:?} ({reason})", shorten(text));
            Error::value(
                "the fragmentation tree",
                found,
                "such as C9H8O4:0.2/0>C7H6O3:1/1>C7H4O2:0.5",
            )
        })
    }
}

/// Returns the atoms that are left of `whole`; none where it has too few.
fn without(whole: &ElementCounts, part: &ElementCounts) -> Option<ElementCounts> {
    let mut left = whole.clone();
    for (element, count) in part {
        let count_left = left.get_mut(element)?;
        *count_left = count_left.checked_sub(*count)?;
    }
    left.retain(|_, count| *count > 0);
    Some(left)
}

/// A tree as SIRIUS writes it, to files and in its programming interface.
#[derive(Deserialize)]
struct Exported {
    fragments: Vec<ExportedFragment>,
    losses: Vec<ExportedLoss>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExportedFragment {
    /// The number by which losses name the fragment; none in files of old versions, whose losses name formulas.
    #[serde(alias = "fragmentId")]
    id: Option<u64>,
    molecular_formula: String,
    #[serde(default)]
    relative_intensity: Value,
    #[serde(default)]
    intensity: Value,
}

#[derive(Deserialize)]
struct ExportedLoss {
    #[serde(alias = "sourceFragmentIdx")]
    source: Value,
    #[serde(alias = "targetFragmentIdx")]
    target: Value,
}

/// Returns the text of a tree in a JSON file of SIRIUS. Fragments without a peak have intensity 0.
fn exported(json: &str) -> Result<String, String> {
    let read = serde_json::from_str(json);
    let Exported { fragments, losses } =
        read.map_err(|error| format!("not a tree as SIRIUS writes it: {error}"))?;
    let mut places = HashMap::new();
    for (at, fragment) in fragments.iter().enumerate() {
        places.entry(fragment.molecular_formula.clone()).or_insert(at);
        places.extend(fragment.id.map(|id| (id.to_string(), at)));
    }
    let place = |value: &Value| {
        let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let unknown = || format!("a loss names the fragment {name}, which is not in the file");
        places.get(&name).copied().ok_or_else(unknown)
    };
    let mut parents: Vec<Option<usize>> = vec![None; fragments.len()];
    for loss in &losses {
        parents[place(&loss.target)?] = Some(place(&loss.source)?);
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); fragments.len()];
    let mut order: Vec<usize> = Vec::new();
    for (at, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => children[*parent].push(at),
            None => order.push(at),
        }
    }
    let roots = order.len();
    // the place in the text of each fragment that is written
    let mut written: Vec<Option<usize>> = vec![None; fragments.len()];
    let mut text = String::new();
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        let ExportedFragment { molecular_formula, relative_intensity, intensity, .. } =
            &fragments[node];
        let parent = parents[node].and_then(|parent| written[parent]);
        let intensity = relative_intensity.as_f64().or(intensity.as_f64()).unwrap_or(0.0);
        let before = parent.map(|at| format!("/{at}>")).unwrap_or_default();
        text += &format!("{before}{molecular_formula}:{intensity}");
        order.append(&mut children[node]);
        written[node] = Some(at);
        at += 1;
    }
    match (roots, order.len() == fragments.len()) {
        (1, true) => Ok(text),
        _ => Err(format!(
            "{} of {} fragments below {roots} roots; one tree is needed",
            order.len(),
            fragments.len()
        )),
    }
}

/// Returns the text of a tree: the value of a field, or that of the JSON file of SIRIUS that the field names, with a
/// path below the folder of the file of spectra.
pub(crate) fn tree_text<'v>(value: &'v str, folder: Option<&Path>) -> Result<Cow<'v, str>, String> {
    let text = if value.ends_with(".json") {
        let folder = folder.ok_or("a file of a tree, which only files of spectra name")?;
        check_inside("the file of a tree", value).map_err(|error| error.to_string())?;
        let path = folder.join(value);
        let in_file = |reason: String| format!("{}: {reason}", path.display());
        let json = read_text(&path).map_err(|error| in_file(error.to_string()))?;
        Cow::Owned(exported(&json).map_err(in_file)?)
    } else {
        Cow::Borrowed(value)
    };
    FragmentationTree::read(&text)
        .map_err(|reason| format!("the tree {:?}: {reason}", shorten(&text)))?;
    Ok(text)
}
