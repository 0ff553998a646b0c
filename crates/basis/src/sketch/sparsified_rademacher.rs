use super::Columns;
use super::draw::{BadParameter, Draw, Entries, Independent, Stream, signed};
use super::sparsified;

#[derive(Clone, Debug)]
pub(super) struct SparsifiedRademacher {
    pub(super) density: f64,
}

impl Draw for SparsifiedRademacher {
    fn usual(n: usize) -> Self {
        Self { density: sparsified::usual_density(n) }
    }

    fn picks_rows(&self) -> bool {
        false
    }

    fn draw(&self, stream: &Stream) -> Result<Entries, String> {
        sparsified::not_all_zero(self.clone(), self.density, stream)
    }

    fn validate(&self, _: usize) -> Result<(), BadParameter> {
        sparsified::validate(self.density)
    }
}

impl Independent for SparsifiedRademacher {
    fn columns(&self, stream: &Stream, block: usize) -> Columns {
        sparsified::columns(self.density, stream, block, signed)
    }
}
