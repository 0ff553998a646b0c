//! V2000 blocks: fields of fixed width.

use super::{Block, BlockAtom, BlockBond, Mark, Wrong, bond_order, check_group, element};
use crate::element::Element;

/// Reads the block whose line of counts is number `counts`.
pub(super) fn read(lines: &[&str], counts: usize) -> Result<Block, Wrong> {
    let count = |at: usize, what: &str| {
        number(lines[counts], at * 3, 3).ok_or_else(|| (counts, format!("no number of {what}")))
    };
    let atoms = count(0, "atoms")?;
    let bonds = count(1, "bonds")?;
    let line = |at: usize, what: &str| {
        lines.get(at).copied().ok_or_else(|| (at, format!("the block ends before its last {what}")))
    };
    let first = counts + 1;
    let mut properties =
        lines.iter().skip(first + atoms + bonds).take_while(|line| !line.starts_with("M  END"));
    // isotopes among the properties replace the differences of mass on all lines of atoms
    let has_isotopes = properties.any(|line| line.starts_with("M  ISO"));
    let mut block = Block { atoms: Vec::new(), atom_lines: Vec::new(), bonds: Vec::new() };
    for at in first..first + atoms {
        let atom = atom(line(at, "atom")?, has_isotopes);
        block.atoms.push(atom.map_err(|message| (at, message))?);
        block.atom_lines.push(at);
    }
    for at in first + atoms..first + atoms + bonds {
        block.bonds.push(bond(line(at, "bond")?, atoms).map_err(|message| (at, message))?);
    }
    let mut replaced = false;
    for (at, &line) in lines.iter().enumerate().skip(first + atoms + bonds) {
        if line.starts_with("M  END") {
            break;
        }
        property(line, &mut block, &mut replaced).map_err(|message| (at, message))?;
    }
    Ok(block)
}

/// Returns the field of a line, by its first column and width; empty where the line is shorter.
fn field(line: &str, start: usize, width: usize) -> &str {
    let end = line.len().min(start + width);
    line.get(start.min(end)..end).unwrap_or_default().trim()
}

fn number<T: std::str::FromStr>(line: &str, start: usize, width: usize) -> Option<T> {
    field(line, start, width).parse().ok()
}

/// Reads a line of an atom. Its difference of mass does not count where the properties have isotopes.
fn atom(line: &str, has_isotopes: bool) -> Result<BlockAtom, String> {
    let coordinate = |at: usize| {
        let text = field(line, at * 10, 10);
        text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| {
            format!("a coordinate {text:?} of an atom; allowed: a number of ten characters")
        })
    };
    let place = [coordinate(0)?, coordinate(1)?, coordinate(2)?];
    let symbol = field(line, 31, 3);
    let (element, isotope) =
        element(symbol).ok_or_else(|| format!("an atom {symbol:?}, which is no element"))?;
    let difference = number::<i16>(line, 34, 2).filter(|&difference| difference != 0);
    let isotope = match difference {
        Some(difference) if !has_isotopes && isotope.is_none() && element != Element::WILDCARD => {
            element.mass_number().checked_add_signed(difference)
        }
        Some(_) | None => isotope,
    };
    // 4 is a doublet radical without a charge
    let (charge, radical) = match number::<u8>(line, 36, 3) {
        Some(code @ 1..=3) => (4 - code as i8, 0),
        Some(4) => (0, 1),
        Some(code @ 5..=7) => (4 - code as i8, 0),
        Some(_) | None => (0, 0),
    };
    let valence = match number::<u8>(line, 48, 3) {
        Some(15) => Some(0),
        Some(0) | None => None,
        given => given,
    };
    Ok(BlockAtom { element, charge, isotope, radical, valence, place })
}

fn bond(line: &str, atoms: usize) -> Result<BlockBond, String> {
    let end = |at: usize| {
        let number = number::<usize>(line, at * 3, 3).filter(|number| (1..=atoms).contains(number));
        number.map(|number| number - 1).ok_or_else(|| {
            format!("a bond of atom {:?}; allowed: 1 to {atoms}", field(line, at * 3, 3))
        })
    };
    let ends = [end(0)?, end(1)?];
    if ends[0] == ends[1] {
        return Err(format!("a bond of atom {} to itself", ends[0] + 1));
    }
    let order = bond_order(number(line, 6, 3).unwrap_or(0))?;
    let mark = match number::<u8>(line, 9, 3) {
        Some(1) => Mark::Up,
        Some(6) => Mark::Down,
        Some(3 | 4) => Mark::Either,
        Some(_) | None => Mark::Plain,
    };
    Ok(BlockBond { atoms: ends, order, mark })
}

/// Reads a line of the properties. The first one of charges or radicals replaces what the lines of atoms say of them.
fn property(line: &str, block: &mut Block, replaced: &mut bool) -> Result<(), String> {
    let Some(name) = line.strip_prefix("M  ").and_then(|rest| rest.get(..3)) else { return Ok(()) };
    if name == "STY" {
        return line[6..].split_whitespace().try_for_each(check_group);
    }
    if !["CHG", "RAD", "ISO"].contains(&name) {
        return Ok(());
    }
    if name != "ISO" && !std::mem::replace(replaced, true) {
        for atom in &mut block.atoms {
            atom.charge = 0;
            atom.radical = 0;
        }
    }
    let mut numbers = line[6..].split_whitespace().map(str::parse::<i32>);
    let count = numbers.next();
    let wrong =
        || format!("{line:?}; allowed: a number of entries, then an atom and a value for each");
    let mut entries = 0;
    while let Some(atom) = numbers.next() {
        let Ok(atom) = atom else { return Err(wrong()) };
        let Some(Ok(value)) = numbers.next() else { return Err(wrong()) };
        let place = usize::try_from(atom).ok().and_then(|atom| atom.checked_sub(1));
        let atom = place.and_then(|place| block.atoms.get_mut(place)).ok_or_else(wrong)?;
        match name {
            "CHG" => atom.charge = i8::try_from(value).map_err(|_| wrong())?,
            // singlet and triplet have two electrons
            "RAD" => atom.radical = [0, 2, 1, 2].get(value as usize).copied().ok_or_else(wrong)?,
            _ => atom.isotope = Some(u16::try_from(value).map_err(|_| wrong())?),
        }
        entries += 1;
    }
    match count {
        Some(Ok(count)) if count == entries => Ok(()),
        _ => Err(wrong()),
    }
}
