//! Data sets and pretrained weights from their public places.
//!
//! A [`Table`] says of each data set where its files are published, under which licence, and where they go
//! under the data root. [`Fetch::run`] downloads them with [`Network`], which resumes what was cut off, checks
//! sizes and checksums where the table has them, unpacks archives, and makes the files that the published
//! configurations read. Every file appears whole or not at all. [`hub::folder`] does the same for pretrained
//! encoders.

mod convert;
mod error;
mod fetch;
mod folder;
pub mod hub;
mod network;
mod part;
mod table;
mod unpack;

pub use error::Error;
pub use fetch::{Fetch, FetchedFile};
pub use network::{Network, Progress, Token, check};
pub use table::{Conversion, DataSet, RemoteFile, Table, Unpack};
