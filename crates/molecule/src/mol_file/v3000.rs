//! V3000 blocks: words behind `M  V30`.

use super::{Block, BlockAtom, BlockBond, Mark, Wrong, bond_order, check_group, element};

/// Reads the block whose line of counts of version 2 is number `counts`.
pub(super) fn read(lines: &[&str], counts: usize) -> Result<Block, Wrong> {
    let mut block = Block { atoms: Vec::new(), atom_lines: Vec::new(), bonds: Vec::new() };
    // numbers of atoms need not follow each other
    let mut numbers: Vec<usize> = Vec::new();
    let mut section = String::new();
    for (at, text) in joined(&lines[counts + 1..], counts + 1) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let wrong = |message: String| (at, message);
        match words.as_slice() {
            ["BEGIN", name, ..] => section = (*name).to_owned(),
            ["END", ..] => section.clear(),
            [number, rest @ ..] if section == "ATOM" => {
                let number = number.parse().map_err(|_| wrong(format!("an atom {number:?}")))?;
                numbers.push(number);
                block.atoms.push(atom(rest).map_err(wrong)?);
                block.atom_lines.push(at);
            }
            [_, rest @ ..] if section == "BOND" => {
                block.bonds.push(bond(rest, &numbers).map_err(wrong)?);
            }
            [_, kind, ..] if section == "SGROUP" => check_group(kind).map_err(wrong)?,
            _ => {}
        }
    }
    if block.atoms.is_empty() {
        Err((counts, "no atoms between BEGIN ATOM and END ATOM".into()))
    } else {
        Ok(block)
    }
}

/// Returns the texts behind `M  V30`, with the number of their first lines; a line that ends with `-` goes on in the
/// next one.
fn joined(lines: &[&str], first: usize) -> Vec<(usize, String)> {
    let mut texts: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("M  END") {
            break;
        }
        let Some(text) = line.strip_prefix("M  V30") else { continue };
        // what goes on may start with a blank, which divides words
        let text = text.strip_prefix(' ').unwrap_or(text).trim_end();
        let (text, more) = text.strip_suffix('-').map_or((text, false), |text| (text, true));
        match texts.last_mut().filter(|_| goes_on) {
            Some((_, last)) => last.push_str(text),
            None => texts.push((first + at, text.to_owned())),
        }
        goes_on = more;
    }
    texts
}

/// Returns the values of `KEY=value` among words.
fn value<'w>(words: &[&'w str], key: &str) -> Option<&'w str> {
    words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

fn atom(words: &[&str]) -> Result<BlockAtom, String> {
    let [symbol, x, y, z, _, rest @ ..] = words else {
        return Err("an atom without a symbol, three coordinates and a mapping".into());
    };
    let coordinate = |text: &str| {
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
        value.ok_or_else(|| format!("a coordinate {text:?} of an atom; allowed: a number"))
    };
    let place = [coordinate(x)?, coordinate(y)?, coordinate(z)?];
    let (element, isotope) =
        element(symbol).ok_or_else(|| format!("an atom {symbol:?}, which is no element"))?;
    let number = |key: &str| {
        let text = value(rest, key);
        let number = text.map(str::parse::<i32>).transpose();
        number.map_err(|_| format!("{key}={}, which is no number", text.unwrap_or_default()))
    };
    let charge = i8::try_from(number("CHG")?.unwrap_or(0)).map_err(|error| error.to_string())?;
    // singlet and triplet have two electrons
    let radical = match number("RAD")?.unwrap_or(0) {
        1 | 3 => 2,
        2 => 1,
        _ => 0,
    };
    let mass = number("MASS")?.and_then(|mass| u16::try_from(mass).ok());
    let valence = number("VAL")?.and_then(|valence| match valence {
        0 => None,
        valence => Some(u8::try_from(valence).unwrap_or(0)),
    });
    Ok(BlockAtom { element, charge, isotope: mass.or(isotope), radical, valence, place })
}

fn bond(words: &[&str], numbers: &[usize]) -> Result<BlockBond, String> {
    let [order, a, b, rest @ ..] = words else {
        return Err("a bond without a type and two atoms".into());
    };
    let end = |text: &str| {
        let place = text.parse().ok().and_then(|number: usize| {
            // the usual numbers are those of the lines
            match numbers.get(number.wrapping_sub(1)) {
                Some(&listed) if listed == number => Some(number - 1),
                Some(_) | None => numbers.iter().position(|&listed| listed == number),
            }
        });
        place.ok_or_else(|| format!("a bond of atom {text:?}, which there is not"))
    };
    let atoms = [end(a)?, end(b)?];
    if atoms[0] == atoms[1] {
        return Err(format!("a bond of atom {a} to itself"));
    }
    let order = bond_order(order.parse().unwrap_or(0))?;
    let mark = match value(rest, "CFG") {
        Some("1") => Mark::Up,
        Some("2") => Mark::Either,
        Some("3") => Mark::Down,
        Some(_) | None => Mark::Plain,
    };
    Ok(BlockBond { atoms, order, mark })
}
