//! Checks of a text: one walk before the parser sees it (places, balance and limits), and behind the
//! parser by the chemistry that the grammar allows and no molecule has.

use std::collections::BTreeMap;

use chematic_core::{AtomIdx, BondOrder as Order, Molecule as Parsed};
use chematic_perception::ring_bond_flags_shared;

use crate::error::Error;

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
pub(super) struct Positions {
    atoms: Vec<usize>,
    ring_labels: Vec<usize>,
}

impl Positions {
    /// Returns the place of an atom, numbered as the parser numbers atoms.
    pub(super) fn atom(&self, index: usize) -> usize {
        self.atoms.get(index).copied().unwrap_or(0)
    }

    /// Returns the last ring label that begins before `position`.
    pub(super) fn ring_label_before(&self, position: usize) -> usize {
        self.ring_labels.iter().rev().copied().find(|&l| l < position).unwrap_or(position)
    }
}

/// Walks over the text once, before any recursion.
pub(super) fn scan(smiles: &str) -> Result<Positions, Error> {
    if smiles.is_empty() {
        return Err(Error::smiles(0, "the SMILES is empty; at least one atom is needed"));
    }
    if let Some(message) = other_name(smiles) {
        return Err(Error::smiles(0, message));
    }
    if smiles.len() > MAX_LENGTH {
        let length = smiles.len();
        let message = format!("the SMILES has {length} bytes; at most {MAX_LENGTH} are read");
        return Err(Error::smiles(MAX_LENGTH, message));
    }
    if let Some((position, character)) = smiles.char_indices().find(|(_, c)| !c.is_ascii_graphic())
    {
        let expected = "a SMILES is written in printable ASCII without spaces";
        return Err(unexpected(position, character, expected));
    }
    let mut walk = Walk { expects_atom: true, ..Walk::default() };
    let mut at = 0;
    while at < smiles.len() {
        at += walk.step(smiles.as_bytes(), at)?;
    }
    if let Some(&position) = walk.open_branches.last() {
        return Err(unbalanced(position, '('));
    }
    if walk.expects_atom {
        return Err(Error::smiles(smiles.len(), "the text ends where an atom is expected"));
    }
    match walk.open_rings.iter().min_by_key(|(_, open)| open.0) {
        Some((label, &(position, _))) => {
            let message = format!("ring bond {label} is opened here and never closed");
            Err(Error::smiles(position, message))
        }
        None => Ok(walk.places),
    }
}

/// Returns advice for a text that is no SMILES but names a molecule in another notation.
fn other_name(text: &str) -> Option<&'static str> {
    let key = || {
        let letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_uppercase());
        let parts: Vec<&str> = text.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        lengths == [14, 10, 1] && parts.into_iter().all(letters)
    };
    if text.starts_with("InChI=") {
        Some(
            "an InChI, and a SMILES is expected; in Python, RDKit's Chem.MolToSmiles(Chem.MolFromInchi(text)) gives it, \
             and on the command line Open Babel's `obabel -iinchi FILE -osmi`",
        )
    } else if key() {
        Some(
            "an InChIKey, and a SMILES is expected; no program can compute it from a key: look it up where the key comes \
             from, or in PubChem",
        )
    } else {
        None
    }
}

/// The state of the walk.
#[derive(Default)]
struct Walk {
    places: Positions,
    open_branches: Vec<usize>,
    /// Label → (its place, number of atoms so far).
    open_rings: BTreeMap<u32, (usize, usize)>,
    closed_rings: usize,
    /// Whether an atom must come before a branch, a dot or the end may.
    expects_atom: bool,
}

impl Walk {
    /// Reads what stands at a place, and says how many bytes it has.
    fn step(&mut self, bytes: &[u8], i: usize) -> Result<usize, Error> {
        let byte = bytes[i];
        let unexpected = |expected| Err(unexpected(i, char::from(byte), expected));
        let mut length = 1;
        match byte {
            b'[' => {
                let inside = &bytes[i + 1..];
                match inside.iter().position(|&b| b == b']' || b == b'[') {
                    Some(end) if inside[end] == b']' => length = end + 2,
                    _ => return Err(unbalanced(i, '[')),
                }
                self.atom(i)?;
            }
            b'(' if self.expects_atom => return unexpected("a branch follows an atom"),
            b'(' if i > 0 && b"-=#$:/\\><".contains(&bytes[i - 1]) => {
                return unexpected(
                    "an atom or a ring label follows a bond; the bond of a branch stands inside it",
                );
            }
            b'(' if self.open_branches.len() == MAX_NESTING => {
                return Err(Error::smiles(i, format!("branches nested deeper than {MAX_NESTING}")));
            }
            b'(' => {
                self.open_branches.push(i);
                self.expects_atom = true;
            }
            b')' if self.open_branches.pop().is_none() => return Err(unbalanced(i, ')')),
            b')' if self.expects_atom => return unexpected("a branch holds at least one atom"),
            b'.' if self.expects_atom => return unexpected("a part holds at least one atom"),
            b'.' => self.expects_atom = true,
            b'0'..=b'9' | b'%' => {
                let Some((label, read)) = ring_label(&bytes[i..]) else {
                    return unexpected("`%` is followed by two digits");
                };
                length = read;
                self.ring_label(i, label)?;
            }
            b']' => return Err(unbalanced(i, ']')),
            b'~' => return unexpected("query bonds describe no molecule"),
            b')' | b'-' | b'=' | b'#' | b'$' | b':' | b'/' | b'\\' | b'>' | b'<' | b'@' => {}
            b'*' | b'a'..=b'z' | b'A'..=b'Z' => {
                if let (b'C', Some(b'l')) | (b'B', Some(b'r')) | (b's', Some(b'e')) =
                    (byte, bytes.get(i + 1))
                {
                    length = 2;
                }
                self.atom(i)?;
            }
            _ => return unexpected("no atom, bond or branch starts like this"),
        }
        Ok(length)
    }

    fn atom(&mut self, i: usize) -> Result<(), Error> {
        if self.places.atoms.len() == MAX_ATOMS {
            let message = format!("more than {MAX_ATOMS} atoms, the largest molecule that is read");
            return Err(Error::smiles(i, message));
        }
        self.places.atoms.push(i);
        self.expects_atom = false;
        Ok(())
    }

    fn ring_label(&mut self, i: usize, label: u32) -> Result<(), Error> {
        self.places.ring_labels.push(i);
        let here = self.places.atoms.len();
        match self.open_rings.remove(&label) {
            Some((_, opened)) if opened == here => {
                Err(Error::smiles(i, "a ring bond joins the atom to itself"))
            }
            Some(_) if self.closed_rings == MAX_RINGS => {
                let message = format!("more than {MAX_RINGS} rings, the most that are read");
                Err(Error::smiles(i, message))
            }
            Some(_) => {
                self.closed_rings += 1;
                Ok(())
            }
            None => {
                self.open_rings.insert(label, (i, here));
                Ok(())
            }
        }
    }
}

/// Returns the error for a character that no SMILES has at this place.
pub(super) fn unexpected(position: usize, character: char, expected: &str) -> Error {
    Error::smiles(position, format!("unexpected {character:?}; {expected}"))
}

/// Returns the error for a parenthesis or bracket without its partner.
fn unbalanced(position: usize, character: char) -> Error {
    Error::smiles(position, format!("{character:?} has no partner"))
}

/// Returns a ring label and the bytes that it takes: a digit, `%nn`, or `%(n…)`.
pub(super) fn ring_label(text: &[u8]) -> Option<(u32, usize)> {
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

/// Refuses lower-case atoms and `:` bonds outside of rings, to which the kekulisation would give double bonds or extra
/// hydrogens.
pub(super) fn check_aromatic_atoms(parsed: &Parsed, places: &Positions) -> Result<(), Error> {
    if !has_aromatic(parsed) {
        return Ok(());
    }
    let in_ring = ring_bond_flags_shared(parsed);
    let stray = parsed.atoms().find(|&(idx, atom)| {
        let mut bonds = parsed.neighbors(idx).map(|(_, b)| b);
        if atom.aromatic {
            !bonds.any(|b| in_ring[b.0 as usize])
        } else {
            bonds.any(|b| parsed.bond(b).order == Order::Aromatic && !in_ring[b.0 as usize])
        }
    });
    // B, C, N, O, Si, P, S, Ge, As, Se, Sb, Te.
    const CAN_BE_AROMATIC: [u8; 12] = [5, 6, 7, 8, 14, 15, 16, 32, 33, 34, 51, 52];
    let is_other = |atom: &chematic_core::Atom| {
        atom.aromatic && !atom.wildcard && !CAN_BE_AROMATIC.contains(&atom.element.atomic_number())
    };
    let refused = |idx: AtomIdx, reason: &str| Err(no_kekule(places.atom(idx.0 as usize), reason));
    if let Some((idx, _)) = stray {
        return refused(idx, "an aromatic atom or bond lies in no ring");
    }
    match parsed.atoms().find(|(_, atom)| is_other(atom)) {
        Some((idx, atom)) => refused(idx, &format!("{} cannot be aromatic", atom.element.symbol())),
        None => Ok(()),
    }
}

/// Refuses more than [`MAX_RING_WILDCARDS`] wildcards in rings.
pub(super) fn check_wildcards(parsed: &Parsed, places: &Positions) -> Result<(), Error> {
    let in_ring = |idx| {
        let flags = ring_bond_flags_shared(parsed);
        parsed.neighbors(idx).any(|(_, b)| flags[b.0 as usize])
    };
    let mut wildcards = parsed.atoms().filter(|&(idx, atom)| atom.wildcard && in_ring(idx));
    let Some((idx, _)) = wildcards.nth(MAX_RING_WILDCARDS) else { return Ok(()) };
    let message =
        format!("more than {MAX_RING_WILDCARDS} wildcards in rings, the most that are read");
    Err(Error::smiles(places.atom(idx.0 as usize), message))
}

/// Returns whether a text has aromatic atoms or bonds.
pub(super) fn has_aromatic(parsed: &Parsed) -> bool {
    parsed.atoms().any(|(_, atom)| atom.aromatic)
        || parsed.bonds().any(|(_, bond)| bond.order == Order::Aromatic)
}

/// Returns the error for lower-case atoms that admit no alternation of single and double bonds.
pub(super) fn no_kekule(position: usize, reason: &str) -> Error {
    Error::smiles(position, format!("the aromatic atoms have no Kekulé structure: {reason}"))
}
