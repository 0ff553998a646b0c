//! Checkpoints as files: their tensors, resumed trainings, and files that do not fit.

use std::collections::BTreeMap;
use std::path::Path;

use dsokr_core::Processes;
use dsokr_core::store::Contents;
use dsokr_nn::bag::NgramBag;
use dsokr_nn::{Encoder, Model};
use dsokr_train::{
    Checkpoint, CheckpointSink, Decay, Error, OptimizerName, Pairs, Task, TrainingConfig,
    Validation, train,
};
use safetensors::{Dtype, SafeTensors};

use crate::common::{Shared, bag, device, rows, values};

/// Writes a file for each checkpoint.
struct Files<'a>(&'a Path);

impl CheckpointSink<f64> for Files<'_> {
    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        checkpoint.save(&self.0.join(checkpoint.step.to_string()), "basis")
    }
}

/// Returns the parameters after a training of 6 epochs of 3 steps, whose checkpoints lie in a folder.
fn trained(
    config: &TrainingConfig,
    model: Model<NgramBag>,
    start: Option<Checkpoint>,
    folder: &Path,
) -> Result<BTreeMap<String, Vec<f32>>, Error> {
    trained_on(&rows(6), config, model, start, folder)
}

/// Trains an encoder on six inputs, as [`trained`] does.
fn trained_on<E: Encoder>(
    inputs: &[E::Input],
    config: &TrainingConfig,
    model: Model<E>,
    start: Option<Checkpoint>,
    folder: &Path,
) -> Result<BTreeMap<String, Vec<f32>>, Error> {
    let pairs = Pairs::new(inputs, &[1.0; 12], &[0.0; 6])?;
    let validate = &|_: &_| Ok(Validation { metrics: 0.0, score: 0.0, loss: None });
    let ranks = &Processes::default();
    let task = Task { config, seed: 0, device: &device(), pairs, ranks, validate };
    train(&task, model, start, &mut Files(folder), &mut ()).map(|done| values(&done.model))
}

fn config(optimizer: OptimizerName) -> TrainingConfig {
    TrainingConfig {
        optimizer,
        batch: 2,
        epochs: 6,
        warmup: 2,
        checkpoint_seconds: 0,
        ..TrainingConfig::default()
    }
}

#[test]
fn a_training_goes_on_from_each_checkpoint_bit_for_bit() {
    // the validation score stays the same, so that a plateau reduces the rate in the second epoch and in the fourth
    let plateau = |config| TrainingConfig {
        decay: Decay::Plateau,
        plateau_patience: Some(1),
        ema: 0.7,
        ..config
    };
    let momentum = TrainingConfig { momentum: Some(0.9), ..config(OptimizerName::Sgd) };
    for config in [
        config(OptimizerName::Sgd),
        config(OptimizerName::Adam),
        momentum,
        plateau(config(OptimizerName::AdamW)),
        plateau(config(OptimizerName::Lion)),
        config(OptimizerName::Muon),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let model = || Model::new(bag(false, 40));
        let whole = trained(&config, model(), None, folder.path()).unwrap();
        for step in [3, 4, 17] {
            let start = Checkpoint::load(&folder.path().join(step.to_string()), "basis").unwrap();
            let has_moments = config.optimizer != OptimizerName::Sgd || config.momentum.is_some();
            assert_eq!((start.step, start.moments.is_empty()), (step, !has_moments));
            assert_eq!(start.average.is_empty(), config.ema == 0.0);
            let other = tempfile::tempdir().unwrap();
            let resumed = trained(&config, model(), Some(start), other.path()).unwrap();
            assert!(resumed == whole, "{config:?} from step {step}");
            let last = |folder: &Path| std::fs::read(folder.join("18")).unwrap();
            assert!(last(folder.path()) == last(other.path()), "{config:?}");
        }
    }
}

#[test]
fn parameters_that_modules_share_go_on_as_one() {
    let config = config(OptimizerName::Adam);
    let folder = tempfile::tempdir().unwrap();
    let model = || Model::new(Shared::new(&[0.3, -0.2, 0.1, 0.5], 2));
    let inputs = [0, 1, 1, 0, 1, 0];
    let whole = trained_on(&inputs, &config, model(), None, folder.path()).unwrap();
    let start = Checkpoint::load(&folder.path().join("4"), "basis").unwrap();
    let other = tempfile::tempdir().unwrap();
    let resumed = trained_on(&inputs, &config, model(), Some(start), other.path()).unwrap();
    assert!(resumed == whole, "{resumed:?} {whole:?}");
}

#[test]
fn a_training_of_fewer_epochs_than_are_done_is_refused() {
    let longer = config(OptimizerName::Sgd);
    let folder = tempfile::tempdir().unwrap();
    let model = || Model::new(bag(false, 40));
    trained(&longer, model(), None, folder.path()).unwrap();
    // of three steps an epoch
    let start = Checkpoint::load(&folder.path().join("10"), "basis").unwrap();
    let shorter = TrainingConfig { epochs: 3, ..longer };
    let error = trained(&shorter, model(), Some(start), folder.path()).unwrap_err().to_string();
    let expected = "training.epochs = 3: expected at least 4: 10 steps are done";
    assert_eq!(error, expected);
}

#[test]
fn a_checkpoint_with_an_average_of_another_model_is_refused() {
    let config = TrainingConfig { ema: 0.9, ..config(OptimizerName::Sgd) };
    let folder = tempfile::tempdir().unwrap();
    let model = || Model::new(bag(false, 40));
    trained(&config, model(), None, folder.path()).unwrap();
    let load = || Checkpoint::load(&folder.path().join("6"), "basis").unwrap();
    let refused =
        |start| trained(&config, model(), Some(start), folder.path()).unwrap_err().to_string();

    let mut start = load();
    let table = start.average.remove("encoder.table").unwrap();
    assert_eq!(refused(start), "the checkpoint holds averages, but none of encoder.table");
    let mut start = load();
    start.average.insert("encoder.nothing".into(), table);
    assert!(refused(start).contains("an average of encoder.nothing, which is no parameter"));
    let mut start = load();
    start.average.insert("encoder.table".into(), vec![0.0; 3].into());
    assert!(refused(start).contains("averages of 3 values of encoder.table, which has 160"));
}

#[test]
fn moments_are_named_tensors_of_the_shapes_of_their_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(OptimizerName::Adam);
    trained(&config, Model::new(bag(false, 40)), None, folder.path()).unwrap();
    let bytes = std::fs::read(folder.path().join("18")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let of = |prefix: &str| -> BTreeMap<String, Vec<usize>> {
        let names = file.names().into_iter().filter_map(|name| {
            let tensor = file.tensor(name).unwrap();
            assert_eq!(tensor.dtype(), Dtype::F32);
            Some((name.strip_prefix(prefix)?.to_owned(), tensor.shape().to_vec()))
        });
        names.collect()
    };
    let parameters = of("parameter.");
    assert!(parameters.contains_key("encoder.table"), "{parameters:?}");
    assert!(of("moment1.") == parameters && of("moment2.") == parameters);
    assert_eq!(file.len(), 3 * parameters.len());
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().as_ref().unwrap();
    assert!(parameters.keys().all(|name| metadata[&format!("steps.{name}")] == "18"));
}

#[test]
fn checkpoints_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(OptimizerName::Adam);
    let model = || Model::new(bag(false, 40));
    trained(&config, model(), None, folder.path()).unwrap();
    let load = || Checkpoint::load(&folder.path().join("6"), "basis").unwrap();

    let mut start = load();
    let moments = start.moments.remove("encoder.table").unwrap();
    start.moments.insert("encoder.nothing".into(), moments);
    let error = trained(&config, model(), Some(start), folder.path()).unwrap_err().to_string();
    assert_eq!(
        error,
        "the checkpoint holds moments of encoder.nothing, which is no parameter of the model"
    );

    let mut start = load();
    start.moments.get_mut("encoder.table").unwrap().second = Some(vec![0.0; 3].into());
    let error = trained(&config, model(), Some(start), folder.path()).unwrap_err().to_string();
    assert_eq!(
        error,
        "the checkpoint holds 160 and 3 moments of encoder.table, which has 160 values"
    );

    let path = folder.path().join("other.safetensors");
    for version in [3, 5] {
        Contents::new("checkpoint", version, &BTreeMap::new(), &[]).write(&path).unwrap();
        let error = Checkpoint::load(&path, "basis").unwrap_err().to_string();
        let expected = format!(
            "other.safetensors: format version {version}, this program reads version 4: train again"
        );
        assert!(error.contains(&expected), "{error}");
    }
}
