mod combination;
mod combiner;
mod decode;
mod fit;
mod likelihood;
mod looked;
mod member;
mod refine;
mod rivals;
mod shared;
mod streamed;
mod values;
mod whole;

pub use combination::Combination;
pub use fit::{FittedWeights, fit_weights};
pub use likelihood::{LikelyWeights, likely_weights};
pub use member::Member;
pub use shared::Ensemble;
