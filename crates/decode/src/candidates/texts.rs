//! A column of texts as one text with offsets, as files hold it.

use std::path::Path;

use dsokr_core::Error;
use dsokr_core::store::Array;
use rayon::prelude::*;

/// Texts, all in one, with where each starts and the last ends, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Texts {
    pub bytes: Array<u8>,
    pub offsets: Array<u64>,
}

impl Texts {
    pub fn from_strings<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Self {
        let mut bytes = Vec::new();
        let mut offsets = vec![0];
        for text in texts {
            bytes.extend_from_slice(text.as_ref().as_bytes());
            offsets.push(bytes.len() as u64);
        }
        Self { bytes: bytes.into(), offsets: offsets.into() }
    }

    /// Reads the texts of a file, which calls them `name`, and checks them without taking them apart.
    pub fn checked(
        bytes: Array<u8>,
        offsets: Array<u64>,
        name: &str,
        path: &Path,
    ) -> Result<Self, Error> {
        let whole = std::str::from_utf8(&bytes);
        let bad = |pair: &[u64]| {
            let start = pair[0] as usize;
            let end = pair[1] as usize;
            match whole {
                Ok(text) => text.get(start..end).is_none(),
                Err(_) => bytes.get(start..end).is_none_or(|text| str::from_utf8(text).is_err()),
            }
        };
        match offsets.windows(2).position(bad) {
            None => Ok(Self { bytes, offsets }),
            Some(at) => {
                let start = offsets[at];
                let end = offsets[at + 1];
                let reason = format!("{name} {at} (bytes {start}..{end}) is not a text");
                Err(Error::file(path, reason))
            }
        }
    }

    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub fn get(&self, at: usize) -> &str {
        let range = self.offsets[at] as usize..self.offsets[at + 1] as usize;
        // all are UTF-8: they were texts, or were checked
        str::from_utf8(&self.bytes[range]).unwrap_or_default()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Returns these texts, and others behind them.
    pub fn with_more(&self, more: &Self) -> Self {
        let end = self.bytes.len() as u64;
        let offsets = self.offsets.iter().copied();
        let offsets = offsets.chain(more.offsets[1..].iter().map(|offset| end + offset));
        Self {
            bytes: [&self.bytes[..], &more.bytes].concat().into(),
            offsets: offsets.collect::<Vec<u64>>().into(),
        }
    }
}

/// Returns candidates in the order of their ids; an id that occurs twice is an error.
pub(crate) fn sorted(ids: &Texts) -> Result<Vec<u32>, Error> {
    let mut order: Vec<u32> = (0..ids.len() as u32).collect();
    let key = |candidate: u32| (ids.get(candidate as usize), candidate);
    order.par_sort_unstable_by(|&a, &b| key(a).cmp(&key(b)));
    let same = |pair: &&[u32]| ids.get(pair[0] as usize) == ids.get(pair[1] as usize);
    match order.windows(2).filter(same).min_by_key(|pair| pair[1]) {
        Some(pair) => Err(same_id(pair[0], pair[1], ids.get(pair[0] as usize))),
        None => Ok(order),
    }
}

pub(super) fn same_id(first: u32, second: u32, id: &str) -> Error {
    Error::inconsistent(format_args!("candidates {first} and {second} have the same id {id:?}"))
}
