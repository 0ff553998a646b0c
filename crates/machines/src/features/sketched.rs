//! Features of a sketch of the inputs: `t(x) = R k^x` with `R = W S`. W stays as sparse as the sketch draws it.

use std::sync::Arc;

use dsokr_basis::eigenbasis::{Eigen, leading, multiply};
use dsokr_basis::features::ranges;
use dsokr_basis::kernel::{IntoKernel, gram};
use dsokr_basis::{RowSource, Sketch, SketchKind, SketchOptions};
use dsokr_core::{Cancellation, Error, Processes};
use faer::Mat;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::map::{ANCHORS, AnchorFeatures};
use crate::linear::{DEPENDENT, PANEL, Panels};

/// The sketch of the inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputSketch {
    /// The size m of the sketch, at most the number of training pairs.
    pub size: usize,
    /// How it is drawn (default: sub-sampling without replacement).
    #[serde(default = "subsampling")]
    pub method: SketchKind,
}

impl InputSketch {
    /// Describes m inputs drawn without replacement.
    pub fn subsampling(size: usize) -> Self {
        Self { size, method: subsampling() }
    }
}

dsokr_core::defaults!(subsampling: SketchKind = SketchKind::Subsampling { replacement: false });

impl AnchorFeatures {
    /// Draws a sketch of the training rows. Where R only picks rows, their own kernel values are the features: they span
    /// the same space, whatever the weights of R.
    pub(crate) fn sketched(
        processes: &Processes,
        kernel: impl IntoKernel,
        rows: &dyn RowSource,
        InputSketch { size, method }: &InputSketch,
        seed: u64,
    ) -> Result<Self, Error> {
        let kernel = kernel.into_kernel();
        kernel.validate(rows.kind())?;
        let drawn = Sketch::fit(
            processes,
            &SketchOptions::new(method.clone(), *size).with_seed(seed),
            Arc::clone(&kernel),
            rows,
        )?;
        let anchors = Arc::new(rows.select(&drawn.anchors())?);
        kernel.check(&anchors)?;
        let mixing = (!method.picks_rows()).then(|| drawn.mixing());
        Ok(Self::new(kernel, anchors, mixing))
    }

    /// Computes `K̃ = R K Rᵀ`, the penalty of weights of the features.
    pub(crate) fn penalty(&self, processes: &Processes) -> Result<Panels<f64>, Error> {
        let m = self.len();
        let stage = Cancellation::current().stage("kernel matrix of the sketched inputs", m);
        let Some(mixing) = &self.mixing else {
            return Panels::try_new(m, |rows| {
                stage.advance(rows.len())?;
                let low = self.anchors.block(rows.clone())?;
                let high = self.anchors.block(0..rows.end)?;
                gram(self.kernel.as_ref(), &low, &high)
            });
        };
        // W K_{·A} W_Aᵀ of the anchors of each range
        let mut square = Mat::zeros(m, m);
        for range in ranges(processes.part_in_blocks(self.anchors.len(), ANCHORS), ANCHORS) {
            let features = self.of_block(&self.anchors.block(range.clone())?)?;
            square.par_row_chunks_mut(PANEL).enumerate().for_each(|(task, out)| {
                let features = features.as_ref().subrows(task * PANEL, out.nrows());
                mixing.add_mixed_right(range.clone(), features, 1.0, out);
            });
        }
        let mut penalty = Panels::try_new(m, |rows| {
            Ok::<_, Error>(
                square.as_ref().submatrix(rows.start, 0, rows.len(), rows.end).to_owned(),
            )
        })?;
        penalty.sum(processes)?;
        Ok(penalty)
    }

    /// Returns the same span by features whose penalty is the identity, `D^{-1/2} Uᵀ R k^x` with `K̃ = U D Uᵀ`, of the
    /// eigenvalues above 1e-12 of the largest: the pseudo-inverse of K̃ wherever one is needed.
    pub(crate) fn whitened(mut self, penalty: &Panels<f64>) -> Result<Self, Error> {
        let Eigen { values, vectors } = leading(penalty.whole(), DEPENDENT)?;
        let turn = Eigen::over_roots(&values, vectors).transpose().to_owned();
        self.turn = Some(match &self.turn {
            Some(before) => multiply(turn.as_ref(), before.as_ref()),
            None => turn,
        });
        Ok(self)
    }
}
