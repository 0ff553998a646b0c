use std::collections::HashMap;
use std::hash::Hash;

/// Returns the places of equal keys, in the order of the first ones.
///
/// ```
/// assert_eq!(dsokr_core::grouped(&["a", "b", "a"]), [vec![0, 2], vec![1]]);
/// ```
pub fn grouped<K: Hash + Eq>(keys: &[K]) -> Vec<Vec<usize>> {
    let mut places: HashMap<&K, usize> = HashMap::with_capacity(keys.len());
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (row, key) in keys.iter().enumerate() {
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(row);
    }
    groups
}
