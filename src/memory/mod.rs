//! The memory that a run needs, estimated before it is taken and compared with what there is.
//!
//! Each part of a run states its own needs: data in `dsokr_data`, encoders by
//! [`PartSize`](dsokr_nn::PartSize), kernel machines and the basis beside their code. A check compares
//! what is still to be taken with what is available at that moment, so what is held already counts as
//! it is.

mod outputs;
mod second_look;
mod training;

pub use dsokr_basis::memory::{Bytes, Limit, available};

pub(crate) use outputs::{coordinates, of_data, of_outputs};
pub(crate) use second_look::of_second_look;
pub(crate) use training::of_training;

use serde::Serialize;

use crate::Error;

/// A part of what a run needs. The numbers are no integers because settings may ask for more than an
/// integer holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Need {
    /// The keys of the configuration that determine its size.
    pub keys: String,
    /// What it is.
    pub what: &'static str,
    /// Bytes of memory.
    pub bytes: f64,
    /// Multiplications of the whole run.
    pub multiplications: f64,
    /// Bytes that the whole run reads and writes apart from products.
    pub traffic: f64,
}

impl Need {
    /// Memory alone.
    pub fn memory(keys: impl Into<String>, what: &'static str, bytes: f64) -> Self {
        Self { keys: keys.into(), what, bytes, multiplications: 0.0, traffic: 0.0 }
    }
}

/// Refuses needs that exceed what is available; `force` warns instead.
///
/// # Errors
/// [`Error::Memory`] with the keys of the largest need.
pub fn check(needs: &[Need], force: bool) -> Result<(), Error> {
    let Some(limit) = available() else { return Ok(()) };
    let total: f64 = needs.iter().map(|need| need.bytes).sum();
    let largest = needs.iter().max_by(|a, b| a.bytes.total_cmp(&b.bytes));
    let Some(largest) = largest.filter(|_| total > limit.bytes) else { return Ok(()) };
    let error = Error::Memory {
        keys: largest.keys.clone(),
        what: largest.what,
        part: Bytes(largest.bytes),
        total: Bytes(total),
        limit,
    };
    if force {
        tracing::warn!("{error}");
        return Ok(());
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_need_is_named_where_there_is_a_limit() {
        let needs = [Need::memory("a", "one", 1.0), Need::memory("b", "other", 1e24)];
        assert!(check(&needs[..1], false).is_ok());
        assert!(check(&needs, true).is_ok());
        if available().is_some() {
            let message = check(&needs, false).unwrap_err().to_string();
            assert!(
                message.starts_with("b: ") && message.contains("the argument force"),
                "{message}"
            );
        }
    }
}
