/// Bits that a pass looks at.
const DIGIT: u32 = 11;

/// Fewer keys are compared, for counting would look at more counters than keys.
const FEW: usize = 2048;

/// Sorts keys by their upper 32 bits, where equal ones are in ascending order of the lower 32.
///
/// Three passes of a radix sort from the lowest digit on, linear in the number of keys. `spare` is
/// memory that is kept from call to call.
pub(super) fn by_upper_half(keys: &mut Vec<u64>, spare: &mut Vec<u64>) {
    if keys.len() < FEW {
        return keys.sort_unstable();
    }
    spare.resize(keys.len(), 0);
    let mut counts = [[0u32; 1 << DIGIT]; 3];
    let digit =
        |key: u64, pass: usize| (key >> (32 + DIGIT * pass as u32)) as usize & ((1 << DIGIT) - 1);
    for &key in keys.iter() {
        (0..3).for_each(|pass| counts[pass][digit(key, pass)] += 1);
    }
    for (pass, counts) in counts.iter_mut().enumerate() {
        if counts.contains(&(keys.len() as u32)) {
            continue; // the same digit everywhere
        }
        let mut next = 0;
        for count in counts.iter_mut() {
            (*count, next) = (next, next + *count);
        }
        for &key in keys.iter() {
            let place = &mut counts[digit(key, pass)];
            spare[*place as usize] = key;
            *place += 1;
        }
        std::mem::swap(keys, spare);
    }
}

#[cfg(test)]
mod tests {
    use dsokr_basis::random::{below, generator};

    use super::*;

    #[test]
    fn keys_are_sorted() {
        let mut spare = Vec::new();
        for (count, upper) in [(10, 5), (2048, 1), (5000, 3), (40_000, 1 << 13), (9000, 1 << 32)] {
            let mut random = generator(0, "keys", count);
            let mut keys: Vec<u64> =
                (0..count).map(|row| below(&mut random, upper) << 32 | row).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            by_upper_half(&mut keys, &mut spare);
            assert!(keys == expected, "{count} keys");
        }
    }
}
