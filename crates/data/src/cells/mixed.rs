//! Columns in which some numbers have a point and others a comma.

use super::numbers::{NumberNotation, ungrouped, with_ascii_digits, written};

/// How many times as large as the largest number with one sign that with the other one may be, if both signs are before decimals;
/// and how many times as large as all others numbers must be that are suspected to be no thousands.
const TIMES: f64 = 10.0;

/// The least number whose digits are grouped, and the least one that has three before decimals.
const THOUSAND: f64 = 1000.0;
const HUNDRED: f64 = 100.0;

/// Cells that are written alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    /// Their number.
    pub count: usize,
    /// The place of the first one in the column, from 0.
    pub first: usize,
}

/// Numbers of a column some of which have a point and others a comma, where no cell tells that one of both groups thousands, as
/// `1,234.5` and `1,234,567` do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixedSigns {
    /// The cells with the sign that the notation has before decimals.
    pub own: Alike,
    /// The cells with the other sign.
    pub other: Alike,
    /// The cells with the other sign that are thousands, such as `1,234`, unless that sign stands before decimals too.
    pub grouped: Option<Alike>,
    /// Whether both signs surely stand before decimals.
    pub are_decimals: bool,
    /// Whether numbers that are read as thousands are far larger than all others, or no cell tells that only one sign is before
    /// decimals.
    pub are_apart: bool,
}

/// The cells of a column with a sign.
#[derive(Clone, Copy, Debug, Default)]
struct Signed {
    all: Option<Alike>,
    /// The cells that are thousands if the sign groups digits.
    grouped: Option<Alike>,
    /// Number of cells with more or fewer digits than three behind the sign.
    uneven: usize,
    /// The largest number, with decimals.
    largest: f64,
    /// The smallest number of those that may be grouped, with decimals.
    least_grouped: f64,
}

impl Signed {
    /// Adds the number of a cell with the sign, and returns whether it may be grouped.
    fn add(&mut self, place: usize, (number, sign): (&str, char), value: f64) -> bool {
        let add = |alike: &mut Option<Alike>| {
            alike.get_or_insert(Alike { count: 0, first: place }).count += 1;
        };
        add(&mut self.all);
        self.largest = self.largest.max(value);
        let is_grouped = ungrouped(number, sign.encode_utf8(&mut [0; 4])).is_some();
        let behind = number.rsplit(sign).next().unwrap_or_default();
        if is_grouped {
            let least = if self.grouped.is_some() { self.least_grouped } else { value };
            self.least_grouped = least.min(value);
            add(&mut self.grouped);
        } else if behind.len() != 3 || !behind.bytes().all(|byte| byte.is_ascii_digit()) {
            self.uneven += 1;
        }
        is_grouped
    }

    /// Returns the number of cells that have decimals, whatever the sign does elsewhere.
    fn decimals(&self) -> usize {
        self.all.map_or(0, |all| all.count) - self.grouped.map_or(0, |grouped| grouped.count)
    }
}

impl NumberNotation {
    /// Returns the names of the sign before decimals and of the other one.
    pub fn names_of_signs(&self) -> [&'static str; 2] {
        if self.decimal == ',' { ["comma", "point"] } else { ["point", "comma"] }
    }

    /// Returns the other one of `.` and `,`.
    pub fn other_sign(&self) -> char {
        if self.decimal == ',' { '.' } else { ',' }
    }

    /// Returns which cells of a column have points and which commas, where both are before decimals, or the ones may be wrongly
    /// read as thousands; none of other columns.
    ///
    /// Both are before decimals if numbers are of a size and below 1,000, and both signs stand before other than three digits
    /// or behind 0, or all numbers have three digits behind one sign. What `1,234` beside `56.7` is, is not sure. It is 1234
    /// if other numbers are as large, or most have three digits before decimals.
    ///
    /// ```
    /// use dsokr_data::cells::NumberNotation;
    ///
    /// let plain = NumberNotation::default();
    /// let are_decimals = |cells: &[&str]| plain.mixed_signs(cells).map(|signs| signs.are_decimals);
    /// assert_eq!(are_decimals(&["1.667", "1,500", "0,777"]), Some(true));
    /// assert_eq!(are_decimals(&["56.7", "1,234"]), Some(false));
    /// assert_eq!(are_decimals(&["56.7", "1,234", "2,345,678"]), None);
    /// ```
    pub fn mixed_signs<S: AsRef<str>>(&self, cells: &[S]) -> Option<MixedSigns> {
        let signs = [self.decimal, self.other_sign()];
        let has =
            |sign: char| cells.iter().any(|cell| with_ascii_digits(cell.as_ref()).contains(sign));
        if !signs.into_iter().all(has) {
            return None;
        }
        let both = Self { mixed_decimals: true, ..self.clone() };
        let each = signs.map(|decimal| Self { decimal, mixed_decimals: false, ..self.clone() });
        let mut signed = [Signed::default(); 2];
        let mut without_sign = 0;
        // counts of numbers that are no thousands in either reading
        let [mut rest, mut hundreds, mut thousands] = [0; 3];
        let mut largest: f64 = 0.0;
        for (place, cell) in cells.iter().enumerate() {
            let cell = cell.as_ref();
            let value = both.normalised(cell).and_then(|number| number.parse::<f64>().ok());
            let Some(value) = value.map(f64::abs) else {
                if each.iter().any(|notation| notation.normalised(cell).is_some()) {
                    return None;
                }
                continue;
            };
            let cell = written(cell);
            let (_, number) = self.amount(&cell);
            let is_grouped = match signs.into_iter().position(|sign| number.contains(sign)) {
                Some(at) => signed[at].add(place, (number, signs[at]), value) && at == 1,
                None => {
                    without_sign += 1;
                    false
                }
            };
            if !is_grouped {
                rest += 1;
                hundreds += usize::from(value >= HUNDRED);
                thousands += usize::from(value >= THOUSAND);
                largest = largest.max(value);
            }
        }
        let [own, other] = signed;
        let are_of_a_size =
            own.largest <= TIMES * other.largest && other.largest <= TIMES * own.largest;
        let has_grouped = own.grouped.is_some() || other.grouped.is_some();
        let have_decimals = own.decimals() > 0 && other.decimals() > 0;
        let are_even = without_sign + own.uneven + other.uneven == 0;
        let may_be_decimals = thousands == 0 || !has_grouped;
        let are_decimals = are_of_a_size && may_be_decimals && (have_decimals || are_even);
        // others lead to thousands
        let are_large = thousands > 0 || 2 * hundreds > rest;
        let lead = !are_even && own.decimals() > 0 && other.decimals() == 0 && are_large;
        let is_doubtful = other.grouped.is_some() && !lead;
        let found = MixedSigns {
            own: own.all?,
            other: other.all?,
            grouped: other.grouped,
            are_decimals,
            are_apart: other.decimals() > 0
                || own.decimals() == 0
                || THOUSAND * other.least_grouped >= TIMES * largest,
        };
        (are_decimals || is_doubtful).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_signs_are_before_decimals_where_nothing_else_can_be() {
        let plain = NumberNotation::default();
        let comma = NumberNotation { decimal: ',', ..NumberNotation::default() };
        let cells = ["1.667", "1,500", "0,777", "n/a", "0.954", "2,088", "2"];
        let own = Alike { count: 2, first: 0 };
        let other = Alike { count: 3, first: 1 };
        let grouped = Some(Alike { count: 2, first: 1 });
        let found = MixedSigns { own, other, grouped, are_decimals: true, are_apart: true };
        assert_eq!(plain.mixed_signs(&cells), Some(found));
        let grouped = Some(Alike { count: 1, first: 0 });
        let found = MixedSigns { own: other, other: own, grouped, ..found };
        assert_eq!(comma.mixed_signs(&cells), Some(found));
        let kilograms = NumberNotation { unit: "kg".into(), ..NumberNotation::default() };
        let cases: [(&[&str], usize); 4] = [
            (&["1.667", "2.345", "4.000", "1,500"], 1),
            (&["10.88", "11,91", "4025,01", "1.2e3"], 0),
            (&["12.5 kg", "11,75 kg", "12,250 kg"], 1),
            (&["１．６６７", "２．３４５", "４．０００", "１，５００"], 1),
        ];
        for (cells, grouped) in cases {
            let found = kilograms.mixed_signs(cells).unwrap();
            let count = found.grouped.map_or(0, |grouped| grouped.count);
            assert_eq!((found.are_decimals, count), (true, grouped), "{cells:?}");
        }
    }

    #[test]
    fn thousands_are_in_doubt_unless_a_cell_tells_or_others_lead_to_them() {
        let plain = NumberNotation::default();
        let in_doubt: [(&[&str], bool); 5] = [
            (&["1,234", "56.7", "12.25"], true),
            (&["1,234", "156.7", "12.25"], false),
            (&["350,000", "0.500"], true),
            (&["1,234", "4025,01", "12.5"], true),
            // thousands of two languages
            (&["1,234", "1.234", "673"], true),
        ];
        for (cells, are_apart) in in_doubt {
            let found = plain.mixed_signs(cells).unwrap();
            assert!(!found.are_decimals && found.grouped.is_some(), "{cells:?}");
            assert_eq!(found.are_apart, are_apart, "{cells:?}");
        }
        let others: [&[&str]; 9] = [
            &["1,234", "56.7", "2,345,678"],
            &["1,234", "56.7", "1,234.5"],
            &["1,234", "956.7", "412.5", "88.25"],
            &["1,234", "56.7", "1234.5"],
            &["1.5", "2.25", "3"],
            &["1,234", "950"],
            &["1.5, 2", "0.5"],
            &["a.", "b,"],
            &[],
        ];
        for cells in others {
            assert_eq!(plain.mixed_signs(cells), None, "{cells:?}");
        }
    }
}
