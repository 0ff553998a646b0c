//! Trainings, and what a step of one shows of batches, losses, gradients and optimisers.

mod checkpoint;
mod common;
mod control;
mod golden;
mod gradients;
mod loss;
mod optimizer;
mod steps;
