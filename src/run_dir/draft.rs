use std::path::Path;

use dsokr_data::{DataRoot, Dataset};
use dsokr_decode::Candidates;
use dsokr_machines::Scaling;

use super::{Folder, PreparationFiles, candidates, save_data_folder};
use crate::config::Checked;
use crate::exact::save_labels;
use crate::run_files::{CANDIDATES, FEATURES};
use crate::targets::OutputTargets;
use crate::{Error, scaling};

/// All that a run directory holds before anything is fitted: it is made when the inputs have been accepted.
pub(crate) struct Draft<'a> {
    /// Where it is to be.
    pub path: &'a Path,
    /// Whether it is there already, and is resumed.
    pub resumed: bool,
    /// Whether this process writes it; others read it.
    pub writes: bool,
    pub config: &'a Checked,
    pub root: &'a DataRoot,
    pub dataset: &'a Dataset,
    pub scaling: Option<&'a Scaling>,
    pub targets: &'a OutputTargets,
    pub candidates: &'a Candidates,
    /// Names of the labels, for exact search.
    pub labels: &'a [String],
    /// The fingerprint of the data.
    pub data: &'a str,
}

impl Draft<'_> {
    /// Makes the run directory, or opens that of a resumed run, with the files of the preparation of inputs.
    pub fn open(&self, files: Vec<(&'static str, String)>) -> Result<Folder, Error> {
        let Self { path, config, .. } = *self;
        let (files, space) = (PreparationFiles::new(files)?, self.targets.space.fingerprint());
        let folder = match (self.writes, self.resumed) {
            (false, _) => return Ok(Folder::open(path, space, &files)),
            (true, true) => Folder::open(path, space, &files),
            (true, false) => {
                let save = |here: &Path| {
                    self.targets.space.save(here)?;
                    self.dataset.outputs.features.save(&here.join(FEATURES))?;
                    scaling::save(self.scaling, here)?;
                    save_data_folder(here, self.root)?;
                    save_labels(here, self.labels)?;
                    candidates::save(&here.join(CANDIDATES), self.candidates, &space, self.data)
                };
                Folder::create(path, config, &files, space.clone(), save)?
            }
        };
        Ok(folder.logging(&config.logging))
    }
}
