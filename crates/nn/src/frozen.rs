use burn::module::{Module, Param, ParamId};
use burn::tensor::{Device, Tensor, TensorData};

/// The last layer: the eigenbasis of the sketched output kernel, which training never changes.
///
/// Its matrix `B` `[p, q]` is [`Basis::matrix`](dsokr_basis::eigenbasis::Basis::matrix): row j holds
/// basis function j as a combination of q atoms, which are feature coordinates for kernels linear in
/// features (`q = d`) and anchors otherwise (`q = a`). `z B` is the predicted point of the feature
/// space in atoms, and its inner product with a candidate, `⟨z B, atoms(c)⟩`, equals `⟨z, ψ̃(c)⟩`
/// (thesis, section 5.2: `h_θ = g_E ∘ g_W` with `E` fixed). The basis is orthonormal, so training and
/// decoding work with z.
#[derive(Module, Debug)]
pub struct FrozenBasis {
    weight: Param<Tensor<2>>,
}

impl FrozenBasis {
    /// A layer from the basis's matrix: p rows of `values.len() / p` values.
    pub fn new(values: Vec<f32>, p: usize, device: &Device) -> Self {
        let shape = [p, values.len() / p.max(1)];
        let tensor = Tensor::from_data(TensorData::new(values, shape), device);
        // `Param::from_tensor` would turn gradients back on
        Self { weight: Param::initialized(ParamId::new(), tensor.set_require_grad(false)) }
    }

    /// Rank p of the basis.
    pub fn rank(&self) -> usize {
        self.weight.dims()[0]
    }

    /// Maps coordinates `z` `[batch, p]` to the predicted point in atoms `[batch, q]`.
    pub fn forward(&self, z: Tensor<2>) -> Tensor<2> {
        z.matmul(self.weight.val())
    }
}
