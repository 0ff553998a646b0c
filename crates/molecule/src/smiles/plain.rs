//! Texts that the grammar allows and the parser does not read, in a form that it reads: parts that begin in a branch
//! (`CC(C.O)N` is `CC(C)N.O`), and labels below 100 in parentheses (`C%(10)CC%(10)` is `C1CC1`).

use std::collections::BTreeMap;

use super::scan::ring_label;
use crate::canonical::push_label;

/// A text that the parser reads.
pub(super) struct Plain {
    pub(super) text: String,
    /// The place of each of its bytes in the text that was given, and the length of this.
    places: Vec<usize>,
}

impl Plain {
    /// Returns the place in the text that was given.
    pub(super) fn place(&self, position: usize) -> usize {
        self.places.get(position).or(self.places.last()).copied().unwrap_or(0)
    }
}

/// Returns the form that the parser reads of a text that the scan has passed; none where this is the text itself.
pub(super) fn plain(smiles: &str) -> Option<Plain> {
    let has_label = smiles.contains("%(");
    let has_part_in_branch = smiles.contains('.') && smiles.contains('(');
    if !has_label && !has_part_in_branch {
        return None;
    }
    let mut writer = Writer::default();
    let mut at = 0;
    while at < smiles.len() {
        at += writer.step(smiles.as_bytes(), at);
    }
    if !writer.differs {
        return None;
    }
    let mut plain = Plain { text: String::new(), places: Vec::new() };
    for (text, place) in writer.parts.into_iter().flatten() {
        plain.text.push_str(&text);
        plain.places.resize(plain.text.len(), place);
    }
    plain.places.push(smiles.len());
    Some(plain)
}

/// Writes the parts of a text in the order in which they begin. The labels of rings are unique over all parts, so rings
/// keep their partners where parts move.
struct Writer {
    /// Pieces of text with their places.
    parts: Vec<Vec<(String, usize)>>,
    /// The part that is written.
    current: usize,
    /// The part that each open branch belongs to.
    branches: Vec<usize>,
    /// The new label of each open ring, by the one that is given.
    open_rings: BTreeMap<u32, usize>,
    rings: usize,
    /// Whether the text is one that the parser does not read.
    differs: bool,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            parts: vec![Vec::new()],
            current: 0,
            branches: Vec::new(),
            open_rings: BTreeMap::new(),
            rings: 0,
            differs: false,
        }
    }
}

impl Writer {
    /// Writes what stands at a place, and says how many bytes it has.
    fn step(&mut self, bytes: &[u8], at: usize) -> usize {
        if let Some((label, length)) = ring_label(&bytes[at..]) {
            self.ring(label, at);
            self.differs |= label < 100 && bytes[at..].starts_with(b"%(");
            return length;
        }
        let mut length = 1;
        match bytes[at] {
            b'(' => self.branches.push(self.current),
            b')' => self.current = self.branches.pop().unwrap_or(self.current),
            b'.' => {
                self.differs |= !self.branches.is_empty();
                self.parts.push(Vec::new());
                self.current = self.parts.len() - 1;
            }
            b'[' => {
                let end = bytes[at..].iter().position(|&byte| byte == b']');
                length = end.map_or(1, |end| end + 1);
            }
            _ => {}
        }
        let text = String::from_utf8_lossy(&bytes[at..at + length]).into_owned();
        self.parts[self.current].push((text, at));
        length
    }

    fn ring(&mut self, label: u32, at: usize) {
        let mut text = String::new();
        if let Some(opened) = self.open_rings.remove(&label) {
            push_label(opened, &mut text);
        } else {
            self.rings += 1;
            self.open_rings.insert(label, self.rings);
            push_label(self.rings, &mut text);
        }
        self.parts[self.current].push((text, at));
    }
}
