//! What the processes of one fit agree on.

use dsokr_basis::Processes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::config::Checked;

/// Refuses what several processes cannot share, and ranks whose configuration or version differ.
pub(super) fn check_shared(config: &Checked, ranks: &Processes) -> Result<(), Error> {
    ranks.check_same("version", env!("CARGO_PKG_VERSION"))?;
    ranks.check_same("configuration's fingerprint", &config.fingerprint()?)?;
    let found = ranks.size();
    if config.ensemble.is_some() {
        let allowed = "1 for an ensemble; each of its members may have several";
        return Err(Error::value("number of processes", found, allowed));
    }
    if !config.encoder.abilities().shares_training {
        let allowed = "1 for this encoder; neural encoders share their training, and kernel machines \
                       with encoder.solver.name = \"sketched\", \"conjugate-gradients\" or \
                       \"averaged\" their fit";
        return Err(Error::value("number of processes", found, allowed));
    }
    Ok(())
}

/// A result of rank 0, on all ranks; `work` makes it there, and an error of it is that of all.
pub(super) fn of_first<T: Serialize + DeserializeOwned>(
    ranks: &Processes,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    if ranks.size() == 1 {
        return work();
    }
    let wrong = |e: serde_json::Error| Error::Serialise(e.to_string());
    let made = || {
        let own = ranks.is_first().then(work).transpose()?;
        let text = own.as_ref().map_or(Ok(Vec::new()), serde_json::to_vec).map_err(wrong)?;
        Ok((own, text))
    };
    let (own, text) = ranks.agree::<_, Error>(made())?;
    let text = ranks.broadcast(|| text)?;
    own.map_or_else(|| serde_json::from_slice(&text).map_err(wrong), Ok)
}
