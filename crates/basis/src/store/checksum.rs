use std::collections::BTreeMap;

use safetensors::Dtype;

/// The running checksum; reader and writer feed it the same parts.
pub(super) struct Sum(crc32fast::Hasher);

impl Sum {
    pub(super) fn new(kind: &str, version: &str, metadata: &BTreeMap<String, String>) -> Self {
        let mut sum = Self(crc32fast::Hasher::new());
        sum.text(kind);
        sum.text(version);
        sum.number(metadata.len());
        for (key, value) in metadata {
            sum.text(key);
            sum.text(value);
        }
        sum
    }

    pub(super) fn tensor(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: usize) {
        self.text(name);
        self.text(&dtype.to_string());
        self.number(shape.len());
        shape.iter().for_each(|&extent| self.number(extent));
        self.number(bytes);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> String {
        format!("{:08x}", self.0.finalize())
    }

    fn number(&mut self, number: usize) {
        self.bytes(&(number as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.bytes(text.as_bytes());
    }
}
