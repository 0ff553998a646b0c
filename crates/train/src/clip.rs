use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use dsokr_nn::RowGradient;

/// Scales the gradients of a module to norm `limit` over all parameters together, if their norm is
/// larger. Returns the norm before.
pub fn clip<M: Module>(module: &M, gradients: &mut GradientsParams, limit: f32) -> f64 {
    let mut squares = Squares { gradients, sum: 0.0 };
    module.visit(&mut squares);
    let length = squares.sum.sqrt();
    if length > f64::from(limit) {
        let factor = (f64::from(limit) / length) as f32;
        module.visit(&mut Scale { gradients, factor });
    }
    length
}

struct Squares<'a> {
    gradients: &'a mut GradientsParams,
    sum: f64,
}

impl ModuleVisitor for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            let gradient = match RowGradient::is(&gradient, &param.val()) {
                true => {
                    let [_, values] = RowGradient::split(gradient);
                    values
                }
                false => gradient,
            };
            self.sum += f64::from(gradient.square().sum().into_scalar::<f32>());
        }
    }
}

struct Scale<'a> {
    gradients: &'a mut GradientsParams,
    factor: f32,
}

impl ModuleVisitor for Scale<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            let scaled = match RowGradient::is(&gradient, &param.val()) {
                true => {
                    let [rows, values] = RowGradient::split(gradient);
                    Tensor::cat(vec![rows, values * self.factor], 1)
                }
                false => gradient * self.factor,
            };
            self.gradients.register(param.id, scaled);
        }
    }
}
