//! What is not sure of a column: cells that are not what it holds, or only in part.

use dsokr_core::message::{shell_word, shorten_to};
use dsokr_data::cells::{NumberNotation, remarks_on_spellings};

use crate::studies::init::{Column, ColumnKind, Exceptions, PointsAndCommas, StandIn};

/// A doubt, without a line break behind it; none where there is nothing to say.
type Doubt = fn(&Column) -> Option<String>;

/// All doubts, in the order in which they are printed.
const DOUBTS: [Doubt; 18] = [
    others,
    repaired,
    measures,
    unread_list,
    peaks,
    odd_separator,
    commas_in_names,
    thousand,
    unitless,
    other_unit,
    below,
    stand_in,
    point_marks,
    mixed,
    code,
    zero_in_front,
    spellings,
    reordered,
];

/// Returns what is not sure of a column, a line each; none where all is.
pub(super) fn doubts(column: &Column) -> Option<String> {
    lines(DOUBTS.iter().filter_map(|doubt| doubt(column)))
}

/// Returns texts with line breaks between; none of no text.
pub(super) fn lines(texts: impl Iterator<Item = String>) -> Option<String> {
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { None } else { Some(texts.join("\n")) }
}

/// Returns the cells that are not what the column holds.
fn others(column: &Column) -> Option<String> {
    let Column { name, kind, filled, readings, .. } = column;
    let invalid = &readings.invalid;
    let (line, cell) = invalid.first.as_ref()?;
    let remedy = if matches!(kind, ColumnKind::Classes(_)) {
        "such cells say that there is no value; where one is a name, write it out".to_owned()
    } else {
        format!("--as {}=... says what the column holds", shell_word(name))
    };
    let cell = shorten_to(cell, 40);
    Some(format!(
        "{name}: {kind} in {} of {filled} cells; the first other one is {cell:?} on line {line} ({remedy})",
        filled - invalid.count
    ))
}

fn repaired(column: &Column) -> Option<String> {
    let name = &column.name;
    let repaired = &column.readings.repaired;
    let (line, cell) = repaired.first.as_ref()?;
    let count = repaired.count;
    let cell = shorten_to(cell, 40);
    Some(format!(
        "{name}: {count} SMILES have a name or an extension behind them, which is left out (first on line {line}: \
         {cell:?})"
    ))
}

fn measures(column: &Column) -> Option<String> {
    let Column { name, kind, .. } = column;
    if !column.lists.are_measures || column.lists.are_peaks {
        return None;
    }
    let cell = shorten_to(column.lists.measure.as_ref().unwrap_or(&column.example), 40);
    Some(format!(
        "{name}: cells such as {cell:?} are measures and read as {kind}; numbers have one number in a cell, and \
         most of them the same unit"
    ))
}

fn unread_list(column: &Column) -> Option<String> {
    let Column { name, kind, .. } = column;
    let list = column.lists.unread_list.as_ref()?;
    let cell = shorten_to(list, 40);
    let argument = shell_word(name);
    Some(if is_cut(list) {
        format!(
            "{name}: cells such as {cell:?} are arrays without their middle, which NumPy leaves out, so that they are {kind}; write \
             all numbers, in pandas by frame[{name:?}].map(list), or leave the column out by --as {argument}=nothing"
        )
    } else if is_dictionary(list) {
        format!(
            "{name}: cells such as {cell:?} are dictionaries, which are not read, so that they are {kind}; in pandas, \
             frame.join(pandas.json_normalize(frame[{name:?}].map(ast.literal_eval))) makes columns of their keys"
        )
    } else {
        format!(
            "{name}: cells such as {cell:?} are lists in a notation that is not read, so that they are {kind}; lists are \
             written [\"a\", \"b\"], and sets of labels a;b"
        )
    })
}

/// Returns whether a list is an array whose first and last numbers alone NumPy or PyTorch has written.
fn is_cut(list: &str) -> bool {
    list.starts_with('[') && list.split([' ', ',']).any(|part| part == "...")
}

/// Returns whether a list is a dictionary as Python writes it, whose keys are texts.
fn is_dictionary(list: &str) -> bool {
    list.starts_with("{'") && list.contains("':")
}

fn peaks(column: &Column) -> Option<String> {
    let Column { name, lists, .. } = column;
    let remark = || {
        format!(
            "{name}: cells are peaks of mass spectra and read as {}; spectra are learned from as such where the table has the columns \
             precursor_mz, mzs and intensities, the last two with lists of numbers, and smiles",
            column.kind
        )
    };
    lists.are_peaks.then(remark)
}

fn odd_separator(column: &Column) -> Option<String> {
    let name = &column.name;
    let separator = column.classes.odd_separator?;
    let sign = separator.to_string();
    let argument = shell_word(name);
    Some(format!(
        "{name}: cells are divided into labels at {separator:?} (separator = {sign:?} beside the column in the configuration, \
         where another sign is between labels; --as {argument}=classes or {argument}=texts divides no cell)"
    ))
}

fn commas_in_names(column: &Column) -> Option<String> {
    let name = &column.name;
    let remark = || {
        let argument = shell_word(name);
        format!(
            "{name}: commas are read as parts of names (--as {argument}=labels divides cells at them)"
        )
    };
    column.classes.has_commas_in_names.then(remark)
}

fn thousand(column: &Column) -> Option<String> {
    let name = &column.name;
    let notation = column.kind.notation()?;
    let cell = column.numbers.thousand.as_ref()?;
    let [_, sign] = notation.names_of_signs();
    let other = notation.other_sign();
    let numbers = if notation.decimal == ',' {
        ", since three digits stand behind each point and the other numbers are below 1,000"
    } else {
        ", though every number has one before three digits"
    };
    Some(format!(
        "{name}: the {sign} in {cell:?} is read as that of thousands{numbers} (decimal = \"{other}\" beside the column in the \
         configuration reads it as a decimal {sign})"
    ))
}

fn unitless(column: &Column) -> Option<String> {
    let Column { name, filled, numbers, .. } = column;
    let unitless = &numbers.unitless;
    let unit = &column.kind.notation()?.unit;
    let (line, cell) = unitless.first.as_ref()?;
    let share = if numbers.are_shares { ", most likely a share (100 times as many %)" } else { "" };
    Some(format!(
        "{name}: {} of {filled} cells lack the unit {unit:?} and are read as numbers of it; the first one, on line {line}, \
         is {:?}{share}: write all in one unit",
        unitless.count,
        shorten_to(cell, 40),
    ))
}

fn other_unit(column: &Column) -> Option<String> {
    let Column { name, kind, filled, numbers, .. } = column;
    let (unit, count) = numbers.other_unit.as_ref()?;
    Some(format!(
        "{name}: {count} of {filled} cells are skipped, since {unit:?} stands behind their number, beside {kind}: write all numbers in \
         one way"
    ))
}

fn below(column: &Column) -> Option<String> {
    let name = &column.name;
    let below = &column.numbers.below;
    let (line, cell) = below.first.as_ref()?;
    Some(format!(
        "{name}: {} cells are read as amounts below 0, the first one {:?} on line {line}; if brackets or a sign behind mean \
         something else, remove these cells",
        below.count,
        shorten_to(cell, 40),
    ))
}

fn stand_in(column: &Column) -> Option<String> {
    let Column { name, filled, numbers, .. } = column;
    let StandIn { cell, count, is_below } = numbers.stand_in.as_ref()?;
    let side = if *is_below { "below" } else { "above" };
    Some(format!(
        "{name}: {count} of {filled} cells are {cell:?}, far {side} the other numbers, and read as a number; where it stands for no \
         value, leave these cells empty"
    ))
}

fn point_marks(column: &Column) -> Option<String> {
    let name = &column.name;
    let point_marks = &column.classes.point_marks;
    let (line, cell) = point_marks.first.as_ref()?;
    Some(format!(
        "{name}: {} cells such as {cell:?} on line {line} are read as classes; where they say that there is no value, as Stata and \
         SAS write it, leave them empty",
        point_marks.count
    ))
}

fn mixed(column: &Column) -> Option<String> {
    let notation = column.kind.notation()?;
    let mixed = column.numbers.mixed.as_ref()?;
    Some(format!("{}: {}", column.name, points_and_commas(notation, mixed)))
}

fn code(column: &Column) -> Option<String> {
    let Column { name, kind, .. } = column;
    let cell = column.classes.code.as_ref()?;
    let argument = shell_word(name);
    Some(format!(
        "{name}: cells such as {cell:?} are codes and no numbers, since all have as many digits and some begin with 0, and read \
         as {kind} (--as {argument}=numbers reads numbers)"
    ))
}

fn zero_in_front(column: &Column) -> Option<String> {
    let name = &column.name;
    let cell = column.numbers.zero_in_front.as_ref()?;
    let argument = shell_word(name);
    Some(format!(
        "{name}: cells such as {cell:?} begin with 0 and are read as numbers, since not all have as many digits (--as \
         {argument}=classes reads codes)"
    ))
}

fn spellings(column: &Column) -> Option<String> {
    let are_labels = matches!(column.kind, ColumnKind::Labels(_));
    let what = if are_labels { "labels" } else { "classes" };
    let remarks = remarks_on_spellings(what, &column.classes.spellings).into_iter();
    lines(remarks.map(|remark| format!("{}: {remark}", column.name)))
}

fn reordered(column: &Column) -> Option<String> {
    let Column { name, kind, .. } = column;
    let parts = column.lists.reordered.as_ref()?;
    let example = shorten_to(&column.example, 40);
    Some(if matches!(kind, ColumnKind::Rankings(_)) {
        format!(
            "{name}: cells such as {example:?} are read as the rank of each item; where they are orders of items, the best \
             first, write > between ({})",
            shorten_to(&parts.join(">"), 40)
        )
    } else {
        format!(
            "{name}: cells are the same parts in different orders, {example:?} and others; rankings are written {}",
            rankings(parts)
        )
    })
}

/// Returns what is read of numbers some of which have a point and others a comma.
fn points_and_commas(notation: &NumberNotation, mixed: &PointsAndCommas) -> String {
    let [sign, other] = notation.names_of_signs();
    let cells = |Exceptions { count, first }: &Exceptions, sign: &str| {
        let first = first.as_ref().map(|(line, cell)| {
            format!(", the first one {:?} on line {line},", shorten_to(cell, 40))
        });
        format!("{count} cells with a {sign}{}", first.unwrap_or_default())
    };
    let usual = cells(&mixed.usual, sign);
    let others = cells(&mixed.others, other);
    if notation.mixed_decimals {
        format!(
            "{usual} and {others} are read as decimals, and neither sign groups thousands (mixed_decimals = true beside the column \
             in the configuration)"
        )
    } else {
        format!(
            "{others} are read as thousands, beside {usual} which is before decimals; where both are, the ones are 1000 times too \
             large, and mixed_decimals = true beside the column in the configuration reads them as decimals"
        )
    }
}

/// Returns how a ranking is written whose parts are these: as an order of items, or also as the ranks of items.
fn rankings(parts: &[String]) -> String {
    let order = shorten_to(&parts.join(">"), 40);
    let order = format!("as orders of items, the best first, with > between ({order})");
    let mut ranks: Vec<usize> = parts.iter().filter_map(|part| part.parse().ok()).collect();
    ranks.sort_unstable();
    if ranks.len() == parts.len() && ranks.into_iter().eq(1..=parts.len()) {
        let ranks = shorten_to(&parts.join(" "), 40);
        format!("as the rank of each item, with spaces between ({ranks}), or {order}")
    } else {
        order
    }
}
