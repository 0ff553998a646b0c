//! Makes the quickstart set in `datasets/quickstart`: [`select`] chooses its molecules, [`describe`] says
//! in English what they are, [`tables`] splits them. The program of the same name writes the files.

mod describe;
mod draw;
mod longest_chain;
mod ring_names;
mod tables;

pub use describe::describe;
pub use longest_chain::longest_carbon_chain;
pub use ring_names::{NamedSystem, named_systems};
pub use tables::{
    MOLECULES, QuickstartError, SEED, TEST, Tables, VALIDATION, select, sources, tables,
};
