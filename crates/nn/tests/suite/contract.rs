//! The contract of encoders notices each of the mistakes that it is there for.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, activation};
use dsokr_core::Error;
use dsokr_core::random::generator;
use dsokr_nn::{Encoder, MlpConfig, Pass, Start, contract, dropout, init, pad};

/// A mistake that an encoder of tokens makes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    None,
    /// The mean is taken over padding too.
    LeaksPadding,
    /// A text's vector depends on its place.
    CountsPlaces,
    /// A text's vector depends on the one before it.
    LooksAtNeighbours,
    /// All vectors depend on which of the first two texts is longer.
    LooksAtTheOrder,
    /// Masks that differ from call to call, in evaluation too.
    DropsAtRandom,
    /// Masks of one key, in evaluation too.
    DropsInEvaluation,
    /// A parameter that nothing reads.
    LeavesOneOut,
    /// Draws a training pass from something else than its key.
    ForgetsTheKey,
    /// Divides by a sum that can be zero.
    IsNotFinite,
    /// Too few coordinates.
    IsTooNarrow,
}

#[derive(Module, Debug)]
struct Mean {
    table: Param<Tensor<2>>,
    spare: Param<Tensor<1>>,
    #[module(skip)]
    mistake: Mistake,
}

impl Encoder for Mean {
    type Input = Vec<u32>;

    fn dimension(&self) -> usize {
        self.table.dims()[1]
    }

    fn forward(&self, batch: &[&Vec<u32>], pass: Pass) -> Tensor<2> {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let device = self.table.device();
        let padded = pad(batch, &device);
        let [_, length] = padded.ids.dims();
        let vectors = burn::tensor::module::embedding(self.table.val(), padded.ids);
        let wrong = |mistake| self.mistake == mistake;
        let z = if wrong(Mistake::LeaksPadding) {
            vectors.sum_dim(1).squeeze_dim::<2>(1) / length as f32
        } else {
            (vectors * padded.mask).sum_dim(1).squeeze_dim::<2>(1) / padded.lengths
        };
        let z = match self.mistake {
            Mistake::CountsPlaces => {
                let places: Vec<f32> = (0..batch.len()).map(|i| i as f32).collect();
                let places = Tensor::<1>::from_floats(places.as_slice(), &device);
                z + places.unsqueeze_dim::<2>(1) * 0.01
            }
            Mistake::LooksAtNeighbours => z.clone() + z.roll(&[1], &[0]) * 0.01,
            Mistake::IsNotFinite => z.clone() / (z.clone() - z).abs(),
            Mistake::LooksAtTheOrder if batch.len() > 1 && batch[0].len() < batch[1].len() => {
                z + 0.01
            }
            _ => z,
        };
        let again = Pass::train(CALLS.fetch_add(1, Relaxed));
        let z = match (self.mistake, pass) {
            (Mistake::DropsAtRandom, _) => dropout(z, again, 0, 0.5),
            (Mistake::DropsInEvaluation, _) => dropout(z, Pass::train(3), 0, 0.5),
            (Mistake::ForgetsTheKey, Pass::Train(_)) => dropout(z, again, 0, 0.5),
            _ => dropout(z, pass, 0, 0.5),
        };
        let z = if wrong(Mistake::LeavesOneOut) {
            z
        } else {
            z + activation::tanh(self.spare.val()).unsqueeze()
        };
        if wrong(Mistake::IsTooNarrow) { z.slice([0..batch.len(), 0..1]) } else { z }
    }
}

fn checked(mistake: Mistake) -> Result<(), Error> {
    let device = Device::flex().autodiff();
    let mut random = generator(0, "contract", 0);
    let encoder = Mean {
        table: init::normal([9, 6], 1.0, &mut random, &device),
        spare: init::normal([6], 1.0, &mut random, &device),
        mistake,
    };
    let texts = [vec![1, 2, 3], vec![4], vec![5, 6, 7, 8, 1], vec![2, 2]];
    contract::check(&encoder, &texts)
}

#[test]
fn an_encoder_without_mistakes_passes() {
    checked(Mistake::None).unwrap();
}

#[test]
fn each_mistake_is_named() {
    for (mistake, part) in [
        (Mistake::LeaksPadding, "by itself differs"),
        (Mistake::CountsPlaces, "by itself differs"),
        (Mistake::LooksAtNeighbours, "by itself differs"),
        (Mistake::LooksAtTheOrder, "order of the batch"),
        (Mistake::DropsAtRandom, "does not repeat itself"),
        (Mistake::DropsInEvaluation, "by itself differs"),
        (Mistake::LeavesOneOut, "1 of 2 parameters"),
        (Mistake::ForgetsTheKey, "not a function of its key"),
        (Mistake::IsNotFinite, "not finite"),
        (Mistake::IsTooNarrow, "coordinates"),
    ] {
        let breach = checked(mistake).expect_err(&format!("{mistake:?} is not noticed"));
        assert!(breach.to_string().contains(part), "{mistake:?}: {breach}");
    }
}

#[test]
fn one_input_shows_nothing() {
    let device = Device::flex().autodiff();
    let mut random = generator(0, "contract", 0);
    let encoder = Mean {
        table: init::normal([9, 6], 1.0, &mut random, &device),
        spare: init::normal([6], 1.0, &mut random, &device),
        mistake: Mistake::None,
    };
    let refused = contract::check(&encoder, &[vec![1, 2]]).unwrap_err();
    assert!(matches!(refused, Error::Contract { part: "encoder", .. }), "{refused:?}");
    assert!(refused.to_string().contains("two inputs"), "{refused}");
    assert!(contract::check(&encoder, &[]).is_err());
}

#[test]
fn an_encoder_without_autodiff_and_a_training_pass_that_is_not_finite_are_named() {
    let inputs = [vec![1.0, 0.5], vec![0.0, 2.0]];
    let refused = |dropout: f32, device: &Device| {
        let mut random = generator(0, "contract", 0);
        let start = Start { offset: &[0.5, 0.5], random: &mut random, device };
        let encoder = MlpConfig { hidden: vec![3], dropout }.init(2, start);
        contract::check(&encoder, &inputs).err().map(|error| error.to_string())
    };
    let device = Device::flex().autodiff();
    assert_eq!(refused(0.5, &device), None);
    let breach = refused(0.5, &Device::flex()).unwrap();
    assert!(breach.contains("its parameters are on a device without autodiff"), "{breach}");
    for dropout in [1.0, f32::NAN] {
        let breach = refused(dropout, &device).unwrap();
        assert!(breach.contains("a coordinate of a training pass is not finite"), "{breach}");
    }
}

#[test]
fn sequences_are_padded_with_zeros_and_the_mask_says_where() {
    let long = vec![7, 8, 9];
    let short = vec![5];
    let empty = vec![];
    let padded = pad(&[&short, &long, &empty], &Device::flex());
    let ids = padded.ids.into_data().convert::<i64>().try_to_vec::<i64>().unwrap();
    assert_eq!(ids, [5, 0, 0, 7, 8, 9, 0, 0, 0]);
    let mask = padded.mask.into_data().try_to_vec::<f32>().unwrap();
    assert_eq!(mask, [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(padded.lengths.into_data().try_to_vec::<f32>().unwrap(), [1.0, 3.0, 1.0]);
}

#[test]
fn empty_sequences_alone_have_one_place() {
    let empty: Vec<u32> = vec![];
    assert_eq!(pad(&[&empty], &Device::flex()).ids.dims(), [1, 1]);
}
