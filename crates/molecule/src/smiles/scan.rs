//! One walk over the text before the parser sees it: places, balance and limits.

use std::collections::BTreeMap;

use crate::Error;

/// The longest SMILES that is read, in bytes.
pub const MAX_LENGTH: usize = 16_384;
/// The most atoms that a molecule may have.
pub const MAX_ATOMS: usize = 4_096;
/// The most rings that a molecule may have: perceiving them takes time cubic in their number, up to
/// some seconds at this limit. (The most in ChEBI-20 is 69.)
pub const MAX_RINGS: usize = 512;
/// The most wildcards in rings: each may have a double bond or not, and a Kekulé structure is searched among
/// all combinations.
pub const MAX_RING_WILDCARDS: usize = 10;
/// How deep branches may be nested. (The deepest of ChEBI-20 is 32.)
pub const MAX_NESTING: usize = 256;

/// Byte offsets of the atoms and ring labels that the parser's errors name.
#[derive(Default)]
pub(super) struct Places {
    atoms: Vec<usize>,
    ring_labels: Vec<usize>,
}

impl Places {
    /// The place of an atom, numbered as the parser numbers atoms.
    pub(super) fn atom(&self, index: usize) -> usize {
        self.atoms.get(index).copied().unwrap_or(0)
    }

    /// The last ring label that begins before `position`.
    pub(super) fn ring_label_before(&self, position: usize) -> usize {
        let labels = self.ring_labels.iter().rev();
        labels.copied().find(|&l| l < position).unwrap_or(position)
    }
}

/// Walks over the text once, before any recursion.
pub(super) fn scan(smiles: &str) -> Result<Places, Error> {
    if smiles.is_empty() {
        return Err(Error::smiles(0, "the SMILES is empty; at least one atom is needed"));
    }
    if smiles.len() > MAX_LENGTH {
        return Err(too_long(smiles.len()));
    }
    if let Some((position, found)) = smiles.char_indices().find(|(_, c)| !c.is_ascii_graphic()) {
        let expected = "a SMILES is written in printable ASCII without spaces";
        return Err(unexpected(position, found, expected));
    }

    let bytes = smiles.as_bytes();
    let mut places = Places::default();
    let mut open_branches = Vec::new();
    // Label → (its place, number of atoms so far).
    let mut open_rings: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    let mut closed = 0;
    // Whether an atom must come before a branch, a dot or the end may.
    let mut expects_atom = true;
    let mut i = 0;
    while let Some(&byte) = bytes.get(i) {
        let unexpected = |expected| unexpected(i, char::from(byte), expected);
        let mut length = 1;
        match byte {
            b'[' => {
                let inside = &bytes[i + 1..];
                let end = inside.iter().position(|&b| b == b']' || b == b'[');
                match end {
                    Some(end) if inside[end] == b']' => length = end + 2,
                    _ => return Err(unbalanced(i, '[')),
                }
                places.atoms.push(i);
                expects_atom = false;
            }
            b']' => return Err(unbalanced(i, ']')),
            b'(' => {
                if expects_atom {
                    return Err(unexpected("a branch follows an atom"));
                }
                if open_branches.len() == MAX_NESTING {
                    let message = format!("branches nested deeper than {MAX_NESTING}");
                    return Err(Error::smiles(i, message));
                }
                open_branches.push(i);
                expects_atom = true;
            }
            b')' => {
                if open_branches.pop().is_none() {
                    return Err(unbalanced(i, ')'));
                }
                if expects_atom {
                    return Err(unexpected("a branch holds at least one atom"));
                }
            }
            b'.' => {
                if expects_atom {
                    return Err(unexpected("a part holds at least one atom"));
                }
                if let Some(&position) = open_branches.last() {
                    return Err(unbalanced(position, '('));
                }
                expects_atom = true;
            }
            b'0'..=b'9' | b'%' => {
                let (label, read) = ring_label(&bytes[i..])
                    .ok_or_else(|| unexpected("`%` is followed by two digits"))?;
                length = read;
                places.ring_labels.push(i);
                let here = places.atoms.len();
                match open_rings.remove(&label) {
                    Some((_, opened)) if opened == here => {
                        return Err(Error::smiles(i, "a ring bond joins the atom to itself"));
                    }
                    Some(_) if closed == MAX_RINGS => {
                        let message =
                            format!("more than {MAX_RINGS} rings, the most that are read");
                        return Err(Error::smiles(i, message));
                    }
                    Some(_) => closed += 1,
                    None => {
                        open_rings.insert(label, (i, here));
                    }
                }
            }
            b'~' => return Err(unexpected("query bonds describe no molecule")),
            b'-' | b'=' | b'#' | b'$' | b':' | b'/' | b'\\' | b'>' | b'<' | b'@' => {}
            _ if byte.is_ascii_alphabetic() || byte == b'*' => {
                let next = bytes.get(i + 1).copied();
                length = match (byte, next) {
                    (b'C', Some(b'l')) | (b'B', Some(b'r')) | (b's', Some(b'e')) => 2,
                    _ => 1,
                };
                places.atoms.push(i);
                expects_atom = false;
            }
            _ => return Err(unexpected("no atom, bond or branch starts like this")),
        }
        if places.atoms.len() > MAX_ATOMS {
            let message = format!("more than {MAX_ATOMS} atoms, the largest molecule that is read");
            return Err(Error::smiles(i, message));
        }
        i += length;
    }
    if let Some(&position) = open_branches.last() {
        return Err(unbalanced(position, '('));
    }
    if expects_atom {
        return Err(Error::smiles(smiles.len(), "the text ends where an atom is expected"));
    }
    if let Some((&label, &(position, _))) = open_rings.iter().min_by_key(|(_, open)| open.0) {
        return Err(unclosed_ring(position, label));
    }
    Ok(places)
}

/// The error for a text of too many bytes.
pub(super) fn too_long(length: usize) -> Error {
    let message = format!("the SMILES has {length} bytes; at most {MAX_LENGTH} are read");
    Error::smiles(MAX_LENGTH, message)
}

/// The error for a character that no SMILES has at this place.
pub(super) fn unexpected(position: usize, found: char, expected: &str) -> Error {
    Error::smiles(position, format!("unexpected {found:?}; {expected}"))
}

/// The error for a ring bond that is opened and never closed.
pub(super) fn unclosed_ring(position: usize, label: u32) -> Error {
    Error::smiles(position, format!("ring bond {label} is opened here and never closed"))
}

/// The error for a parenthesis or bracket without its partner.
fn unbalanced(position: usize, found: char) -> Error {
    Error::smiles(position, format!("{found:?} has no partner"))
}

/// A ring label and the bytes that it takes: a digit, `%nn`, or `%(n…)`.
fn ring_label(text: &[u8]) -> Option<(u32, usize)> {
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse().ok();
    match text {
        [d @ b'0'..=b'9', ..] => Some((u32::from(d - b'0'), 1)),
        [b'%', b'(', rest @ ..] => {
            let end = rest.iter().position(|&b| b == b')')?;
            Some((number(&rest[..end])?, end + 3))
        }
        [b'%', a, b, ..] if a.is_ascii_digit() && b.is_ascii_digit() => {
            Some((number(&[*a, *b])?, 3))
        }
        _ => None,
    }
}
