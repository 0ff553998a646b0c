//! Trainings that several processes share.

use dsokr_basis::Processes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::config::Checked;
use crate::error::ensure;

/// Refuses what several processes cannot share, and ranks whose configuration or version differ.
pub fn check_shared(config: &Checked, ranks: &Processes) -> Result<(), Error> {
    ranks.check_same("version", env!("CARGO_PKG_VERSION"))?;
    ranks.check_same("configuration's fingerprint", &config.fingerprint()?)?;
    let (key, found) = ("number of processes", ranks.size());
    let allowed = "1 for an ensemble; each of its members may have several";
    ensure(config.ensemble.is_none(), key, found, allowed)?;
    let allowed = "1 for this encoder; neural encoders share their training, and kernel machines \
                   with encoder.solver.name = \"sketched\", \"conjugate-gradients\" or \
                   \"averaged\" their fit";
    ensure(config.encoder.abilities().shares_training, key, found, allowed)
}

/// A result of rank 0, on all ranks; `work` makes it there, and an error of it is that of all.
pub fn of_first<T: Serialize + DeserializeOwned>(
    ranks: &Processes,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    if ranks.size() == 1 {
        return work();
    }
    let made = || {
        let own = ranks.is_first().then(work).transpose()?;
        let text = own.as_ref().map_or(Ok(Vec::new()), serde_json::to_vec)?;
        Ok((own, text))
    };
    let (own, text) = ranks.agree::<_, Error>(made())?;
    let text = ranks.broadcast(|| text)?;
    own.map_or_else(|| Ok(serde_json::from_slice(&text)?), Ok)
}
