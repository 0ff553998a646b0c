//! Widths of texts.

/// Widths of the printable characters of ASCII in DejaVu Sans, in thousandths of the size of the type.
#[rustfmt::skip]
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];

/// About the width of any other character.
const OTHER: u16 = 650;

/// Width of a text, in points.
pub fn width(text: &str, size: f64) -> f64 {
    let one = |character: char| {
        let place = (character as usize).checked_sub(usize::from(b' '));
        place.and_then(|place| WIDTHS.get(place)).copied().unwrap_or(OTHER)
    };
    text.chars().map(|character| f64::from(one(character))).sum::<f64>() * size / 1000.0
}

/// The text cut to a width in points, with an ellipsis if it does not fit.
pub fn fitted(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.into();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while kept.pop().is_some() {
        let shorter = kept.iter().collect::<String>() + "…";
        if width(&shorter, size) <= most {
            return shorter;
        }
    }
    String::new()
}
