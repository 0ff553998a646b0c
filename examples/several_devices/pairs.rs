//! Training pairs, and a loader that gives each device its share of every batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;
use dsokr::basis::random::generator;
use dsokr::nn::{Pass, TokenIds};
use dsokr::train::batches;
use rand::Rng;

/// Prepared inputs, their lengths, targets `[n × p]` and residuals r(y).
pub struct Pairs {
    pub inputs: Vec<TokenIds>,
    pub lengths: Vec<usize>,
    pub targets: Vec<f32>,
    pub residuals: Vec<f64>,
}

/// What one device encodes in one step.
pub struct Part {
    pub pairs: Arc<Pairs>,
    pub rows: Vec<usize>,
    /// Pairs of the whole batch divided by the devices: the mean over devices of sums divided by it
    /// is the mean over the batch, however unequal the parts are.
    pub count: f64,
    pub pass: Pass,
}

/// What decides which pairs are in which step.
#[derive(Clone, Copy)]
pub enum Order {
    /// The trainer's own batches and dropout keys.
    Train { seed: u64 },
    /// All pairs by length.
    Evaluate,
}

/// Batches of pairs, whole or a device's share of each.
///
/// Every device must take equally many steps, since each waits in every step for the gradients of all
/// others. So the loader is not cut by pairs but by batches: each of `devices` devices takes an equal
/// part of every batch, up to one pair. An epoch's last batch is left out if it has fewer pairs
/// than there are devices.
pub struct Loader {
    pairs: Arc<Pairs>,
    order: Order,
    batch: usize,
    devices: usize,
    /// The device whose share this is; none for whole batches.
    rank: Option<usize>,
    /// Epochs that have been begun.
    epoch: AtomicU64,
}

impl Loader {
    /// Whole batches; `slice` cuts them for `devices` devices.
    pub fn new(pairs: Arc<Pairs>, order: Order, batch: usize, devices: usize) -> Self {
        Self { pairs, order, batch, devices, rank: None, epoch: AtomicU64::new(0) }
    }

    /// Steps an epoch, the same on every device.
    pub fn steps(&self) -> usize {
        self.sizes().count()
    }

    /// Sizes of an epoch's batches.
    fn sizes(&self) -> impl Iterator<Item = usize> {
        let (n, batch) = (self.pairs.inputs.len(), self.batch);
        let all = (0..n).step_by(batch).map(move |start| batch.min(n - start));
        all.filter(|&size| size >= self.devices)
    }

    /// The part of a batch of `size` pairs that this loader gives out.
    fn share(&self, size: usize) -> std::ops::Range<usize> {
        match self.rank {
            None => 0..size,
            Some(rank) => size * rank / self.devices..size * (rank + 1) / self.devices,
        }
    }

    fn with_rank(&self, rank: Option<usize>) -> Arc<Self> {
        let loader = Self::new(self.pairs.clone(), self.order, self.batch, self.devices);
        Arc::new(Self { rank, ..loader })
    }

    fn part(&self, batch: &[usize], step: u64) -> Part {
        let parts = if self.rank.is_some() { self.devices } else { 1 };
        let pass = match self.order {
            Order::Evaluate => Pass::Evaluate,
            // the trainer encodes the parts of a batch under one key after the other, too
            Order::Train { seed } => {
                let mut keys = generator(seed, "dropout", step);
                let mut key = keys.next_u64();
                for _ in 0..self.rank.unwrap_or(0) {
                    key = keys.next_u64();
                }
                Pass::Train { key }
            }
        };
        Part {
            pairs: self.pairs.clone(),
            rows: batch[self.share(batch.len())].to_vec(),
            count: batch.len() as f64 / parts as f64,
            pass,
        }
    }
}

impl DataLoader<Part> for Loader {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<Part> + 'a> {
        let epoch = self.epoch.fetch_add(1, Ordering::Relaxed);
        let (lengths, batch) = (&self.pairs.lengths, self.batch);
        let mut batches = match self.order {
            Order::Train { seed } => batches::training(seed, epoch, lengths, batch),
            Order::Evaluate => batches::evaluation(lengths, batch),
        };
        batches.retain(|batch| batch.len() >= self.devices);
        let step = epoch * batches.len() as u64;
        Box::new(Epoch { loader: self, batches: batches.into_iter(), step, done: 0 })
    }

    fn num_items(&self) -> usize {
        self.sizes().map(|size| self.share(size).len()).sum()
    }

    fn to_device(&self, _: &Device) -> Arc<dyn DataLoader<Part>> {
        // an encoder puts its inputs where its parameters are
        self.with_rank(self.rank)
    }

    /// Burn cuts the items into as many slices as there are devices, all but the last of one length:
    /// where a slice starts says whose it is.
    fn slice(&self, start: usize, _: usize) -> Arc<dyn DataLoader<Part>> {
        let length = (self.num_items() / self.devices).max(1);
        self.with_rank(Some((start / length).min(self.devices - 1)))
    }
}

struct Epoch<'a> {
    loader: &'a Loader,
    batches: std::vec::IntoIter<Vec<usize>>,
    step: u64,
    done: usize,
}

impl Iterator for Epoch<'_> {
    type Item = Result<Part, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        let part = self.loader.part(&batch, self.step);
        self.step += 1;
        self.done += part.rows.len();
        Some(Ok(part))
    }
}

impl DataLoaderIterator<Part> for Epoch<'_> {
    fn progress(&self) -> Progress {
        Progress::new(self.done, self.loader.num_items(), Some("pairs".into()))
    }
}

#[cfg(test)]
mod tests {
    use burn::data::dataloader::split::split_dataloader;

    use super::*;

    #[test]
    fn devices_share_every_batch_and_draw_their_own_masks() {
        let n = 205;
        let pairs = Arc::new(Pairs {
            inputs: (0..n).map(|i| TokenIds::Tokens(vec![i as u32].into())).collect(),
            lengths: (0..n).map(|i| i * 7919 % 13).collect(),
            targets: Vec::new(),
            residuals: Vec::new(),
        });
        for (devices, left_out) in [(2, 0), (3, 0), (4, 0), (7, 5)] {
            let whole = Loader::new(pairs.clone(), Order::Train { seed: 3 }, 10, devices);
            let whole: Arc<dyn DataLoader<Part>> = Arc::new(whole);
            let places = vec![Device::flex(); devices];
            let shares = split_dataloader(whole.clone(), &places);
            assert_eq!(whole.num_items(), n - left_out);
            assert_eq!(shares.iter().map(|share| share.num_items()).sum::<usize>(), n - left_out);
            for epoch in 0..2 {
                let all = |loader: &Arc<dyn DataLoader<Part>>| -> Vec<Part> {
                    loader.iter().map(Result::unwrap).collect()
                };
                let parts: Vec<Vec<Part>> = shares.iter().map(all).collect();
                let batches = all(&whole);
                assert!(parts.iter().all(|parts| parts.len() == batches.len()));
                for (step, batch) in batches.iter().enumerate() {
                    let mine: Vec<&Part> = parts.iter().map(|parts| &parts[step]).collect();
                    let rows: Vec<usize> = mine.iter().flat_map(|p| p.rows.clone()).collect();
                    assert_eq!(rows, batch.rows, "{devices} devices, epoch {epoch}, step {step}");
                    assert!(mine.iter().all(|part| !part.rows.is_empty()));
                    // weights of the pairs over all devices add up to one
                    let weight: f64 = mine.iter().map(|p| p.rows.len() as f64 / p.count).sum();
                    assert!((weight / devices as f64 - 1.0).abs() < 1e-12);
                    assert!(mine[0].pass == batch.pass && mine[0].pass != mine[1].pass);
                }
            }
        }
    }
}
