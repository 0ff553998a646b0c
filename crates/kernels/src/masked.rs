use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use rayon::prelude::*;

use crate::dropout::Dropout;
use crate::operation::{Operation, values, wrap};

/// `x ∘ mask`; elements are counted in row-major order.
#[derive(Clone)]
pub struct Masked(pub Dropout);

impl Operation<Flex, 1> for Masked {
    type Saved = ();

    fn forward(&self, [x]: [FlexTensor; 1], _: bool) -> (FlexTensor, ()) {
        let all = values(&x).par_iter().enumerate();
        let y: Vec<f32> = all.map(|(i, x)| x * self.0.at(i as u32)).collect();
        (wrap(y, x.layout().shape().clone()), ())
    }

    fn backward(self, (): (), dy: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
        [Some(Operation::<Flex, 1>::forward(&self, [dy], false).0)]
    }
}
