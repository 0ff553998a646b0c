//! What several splits have in common.

use std::collections::HashMap;

use dsokr_basis::features::distinct;

use crate::error::Error;
use crate::groups::molecule_keys;
use crate::inputs::Inputs;

/// Returns a number for each input of some splits, which equal inputs share: equal texts, two SMILES of one molecule, and
/// vectors of equal numbers. Empty texts have none, and neither have values of kernels.
///
/// ```
/// use dsokr_data::{Inputs, input_numbers};
///
/// let train = Inputs::Texts(vec!["CCO".into(), "c1ccccc1".into()]);
/// let test = Inputs::Texts(vec!["OCC".into(), "CO".into()]);
/// let numbers = input_numbers(&[&train, &test])?;
/// assert_eq!(numbers[1][0], numbers[0][0]);
/// assert!(!numbers[0].contains(&numbers[1][1]));
/// # Ok::<(), dsokr_data::Error>(())
/// ```
///
/// # Errors
/// Errors from reading vectors.
pub fn input_numbers(splits: &[&Inputs]) -> Result<Vec<Vec<Option<u64>>>, Error> {
    let texts: Vec<Vec<&str>> = splits.iter().copied().map(texts_of).collect();
    let mut numbers = text_numbers(&texts);
    for (numbers, inputs) in numbers.iter_mut().zip(splits) {
        match inputs {
            Inputs::Texts(_) => {}
            Inputs::Vectors(vectors) => {
                let equal = distinct(vectors)?;
                let number = |&class: &u32| Some(equal.hashes[class as usize]);
                *numbers = equal.class.iter().map(number).collect();
            }
            Inputs::Kernels(_) => *numbers = vec![None; inputs.len()],
        }
    }
    Ok(numbers)
}

/// Returns the texts of inputs; none of other inputs.
fn texts_of(inputs: &Inputs) -> Vec<&str> {
    match inputs {
        Inputs::Texts(texts) => texts.iter().map(String::as_str).collect(),
        Inputs::Vectors(_) | Inputs::Kernels(_) => Vec::new(),
    }
}

/// Returns a number for each text of some splits, which equal texts and two SMILES of one molecule share. Empty texts have
/// none.
pub fn text_numbers(splits: &[Vec<&str>]) -> Vec<Vec<Option<u64>>> {
    let texts: Vec<&str> = splits.iter().flatten().map(|text| text.trim()).collect();
    let keys = molecule_keys(&texts);
    let mut known: HashMap<&str, u64> = HashMap::with_capacity(keys.len());
    let mut all = keys.iter().map(|key| {
        let next = known.len() as u64;
        (!key.is_empty()).then(|| *known.entry(key.as_str()).or_insert(next))
    });
    splits.iter().map(|split| all.by_ref().take(split.len()).collect()).collect()
}
