//! Better edit paths by exchanging what two rows go to.

use super::instance::Instance;

/// Exchanges the columns of two rows for as long as that makes the assignment cheaper, the first
/// such pair first, and until `interrupted` says to stop.
pub(super) fn descend(instance: &Instance, columns: &mut [usize], interrupted: impl Fn() -> bool) {
    let (real, all) = (instance.small.len(), columns.len());
    loop {
        let mut better = false;
        for row in 0..real {
            if interrupted() {
                return;
            }
            for other in row + 1..all {
                if change(instance, columns, row, other) < 0 {
                    columns.swap(row, other);
                    better = true;
                }
            }
        }
        if !better {
            return;
        }
    }
}

/// What exchanging the columns of two rows adds to the cost; the first of them is not a blank.
fn change(instance: &Instance, columns: &mut [usize], row: usize, other: usize) -> i64 {
    let before = part(instance, columns, row, other);
    columns.swap(row, other);
    let after = part(instance, columns, row, other);
    columns.swap(row, other);
    after - before
}

/// The part of the cost that depends on the columns of two rows. The edge between the two counts
/// twice, but exchanging them keeps what it costs.
fn part(instance: &Instance, columns: &[usize], row: usize, other: usize) -> i64 {
    let own = |row: usize| {
        let label = instance.small.labels[row] != instance.large.labels[columns[row]];
        i64::from(label) - instance.saved(columns, row, columns[row]) as i64
    };
    own(row) + if other < instance.small.len() { own(other) } else { 0 }
}
