//! Axes: ranges, ticks and their labels.

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    Logarithmic,
}

/// An axis before it knows its values.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The quantity, with its unit in parentheses.
    pub label: String,
    pub scale: Scale,
    /// Whether values are whole numbers: ticks are too.
    pub whole: bool,
    /// Whether zero belongs to the axis.
    pub with_zero: bool,
    /// The names of the values 0, 1 and so on, where they are no numbers.
    pub names: Vec<String>,
    /// The largest value that the quantity can have; the axis does not go beyond.
    pub most: Option<f64>,
}

impl Axis {
    pub fn linear(label: impl Into<String>) -> Self {
        let label = label.into();
        let scale = Scale::Linear;
        Self { label, scale, whole: false, with_zero: false, names: Vec::new(), most: None }
    }

    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { scale: Scale::Logarithmic, ..Self::linear(label) }
    }

    /// A logarithmic axis of whole numbers.
    pub fn numbers(label: impl Into<String>) -> Self {
        Self { whole: true, ..Self::logarithmic(label) }
    }

    /// An axis from 0 to 1.
    pub fn share(label: impl Into<String>) -> Self {
        Self { with_zero: true, most: Some(1.0), ..Self::linear(label) }
    }

    /// An axis of values side by side, which have names.
    pub fn named(label: impl Into<String>, names: Vec<String>) -> Self {
        Self { names, ..Self::linear(label) }
    }

    /// The axis over values, which takes `length` points from `start` on; `padding` is the part of the
    /// range that is left free at each end. Values that a logarithmic axis cannot show do not count.
    pub fn over(
        &self,
        values: impl Iterator<Item = f64>,
        padding: f64,
        (start, length): (f64, f64),
    ) -> Ruler<'_> {
        let scale = self.scale;
        let shown = |value: &f64| value.is_finite() && (scale == Scale::Linear || *value > 0.0);
        let ends = values.filter(shown).map(|value| to_scale(scale, value));
        let zero = (self.with_zero && scale == Scale::Linear).then_some(0.0);
        let fold = |ends: Option<(f64, f64)>, value: f64| {
            Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        };
        let (low, high) = ends.chain(zero).fold(None, fold).unwrap_or((0.0, 1.0));
        let (low, high) = match self.names.len() {
            0 => (low, high),
            names => (-0.5, names as f64 - 0.5),
        };
        let (low, high) = match high - low > 1e-12 * high.abs().max(1e-300) {
            true => (low, high),
            // one value: it lies in the middle
            false if low == 0.0 => (0.0, 1.0),
            false if self.scale == Scale::Logarithmic => (low - 0.3, high + 0.3),
            false => (low - 0.1 * low.abs(), high + 0.1 * high.abs()),
        };
        let free = padding * (high - low);
        let low_end = if zero == Some(low) { low } else { low - free };
        let most = self.most.map_or(f64::INFINITY, |most| to_scale(scale, most));
        let high_end = (high + free).min(most.max(high));
        Ruler { axis: self, low: low_end, high: high_end, start, length }
    }
}

fn to_scale(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Logarithmic => value.log10(),
    }
}

/// An axis where it is drawn.
#[derive(Clone, Debug)]
pub struct Ruler<'a> {
    axis: &'a Axis,
    /// Ends, as logarithms on a logarithmic axis.
    low: f64,
    high: f64,
    start: f64,
    /// Negative where larger values lie further up.
    length: f64,
}

impl Ruler<'_> {
    /// Where a value lies, in points; outside values lie at the end.
    pub fn place(&self, value: f64) -> f64 {
        let value = match self.axis.scale {
            Scale::Logarithmic if value <= 0.0 => self.low,
            scale => to_scale(scale, value),
        };
        let part = (value.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        self.start + part * self.length
    }

    /// Ticks with their labels, about `count`.
    pub fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        if !self.axis.names.is_empty() {
            return (0..).map(f64::from).zip(self.axis.names.iter().cloned()).collect();
        }
        match self.axis.scale {
            Scale::Linear => self.linear_ticks(self.low, self.high, count),
            Scale::Logarithmic => self.decades(count),
        }
    }

    fn linear_ticks(&self, low: f64, high: f64, count: usize) -> Vec<(f64, String)> {
        let raw = (high - low) / count.max(1) as f64;
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|part| part * power);
        let step = step.into_iter().find(|step| *step >= raw * 0.999).unwrap_or(10.0 * power);
        let step = if self.axis.whole { step.max(1.0) } else { step };
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        let places = (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
        let large = low.abs().max(high.abs());
        let label = |value: f64| match places > 4 || large >= 1e6 {
            true => scientific(value),
            false => grouped(&format!("{value:.places$}")),
        };
        // 0 and not −0
        (first..=last).map(|at| at as f64 * step + 0.0).map(|value| (value, label(value))).collect()
    }

    fn decades(&self, count: usize) -> Vec<(f64, String)> {
        let (first, last) = ((self.low - 1e-9).ceil() as i32, (self.high + 1e-9).floor() as i32);
        let within = |parts: &[f64]| -> Vec<(f64, String)> {
            let all = (first - 1..=last)
                .flat_map(|decade| parts.iter().map(move |part| part * 10f64.powi(decade)));
            let (low, high) = (self.low - 1e-9, self.high + 1e-9);
            let inside = all.filter(|value| (low..=high).contains(&value.log10()));
            let whole = |value: &f64| !self.axis.whole || *value >= 1.0;
            inside.filter(whole).map(|value| (value, short(value))).collect()
        };
        let decades = within(&[1.0]);
        if decades.len() > 2 {
            let step = decades.len().div_ceil(count.max(1));
            return decades.into_iter().step_by(step).collect();
        }
        let parts = within(&[1.0, 2.0, 5.0]);
        if parts.len() > 2 {
            return parts;
        }
        self.linear_ticks(10f64.powf(self.low), 10f64.powf(self.high), count)
    }
}

/// A number of a logarithmic axis.
fn short(value: f64) -> String {
    if !(1e-3 * 0.999..1e6).contains(&value) {
        return scientific(value);
    }
    let places = (-(value.log10() + 1e-9).floor()).max(0.0) as usize;
    grouped(&format!("{value:.places$}"))
}

/// Such as 2×10⁻⁵.
fn scientific(value: f64) -> String {
    // ticks have at most three digits
    let text = format!("{value:.2e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa: f64 = mantissa.parse().unwrap_or_default();
    if mantissa == 0.0 {
        return "0".into();
    }
    let raised = |character: char| match character.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    };
    let exponent: String = exponent.chars().map(raised).collect();
    let mantissa = mantissa.to_string().replace('-', "−");
    if mantissa == "1" { format!("10{exponent}") } else { format!("{mantissa}×10{exponent}") }
}

/// With commas between thousands, and a minus sign.
fn grouped(number: &str) -> String {
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("−", digits),
        None => ("", number),
    };
    let (whole, part) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut text = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && whole.len() > 4 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, low: f64, high: f64) -> Vec<String> {
        let ruler = axis.over([low, high].into_iter(), 0.0, (0.0, 100.0));
        ruler.ticks(5).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let plain = Axis::linear("a");
        assert_eq!(labels(&plain, 0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&plain, -3.0, 3.0), ["−2", "0", "2"]);
        assert_eq!(labels(&plain, 0.0, 40000.0), ["0", "10,000", "20,000", "30,000", "40,000"]);
        assert_eq!(labels(&plain, 0.0, 2e-5)[1..3], ["5×10⁻⁶", "10⁻⁵"]);
        assert_eq!(labels(&Axis { whole: true, ..plain.clone() }, 0.0, 3.0), ["0", "1", "2", "3"]);
        assert_eq!(labels(&plain, 7.0, 7.0), ["6.5", "7.0", "7.5"]);
    }

    #[test]
    fn logarithmic_ticks_are_decades_where_there_are_some() {
        let axis = Axis::logarithmic("a");
        assert_eq!(labels(&axis, 1.0, 2e4), ["1", "10", "100", "1000", "10,000"]);
        assert_eq!(labels(&axis, 1e-9, 1.0), ["10⁻⁹", "10⁻⁷", "10⁻⁵", "0.001", "0.1"]);
        assert_eq!(labels(&axis, 10.0, 400.0), ["10", "20", "50", "100", "200"]);
        assert_eq!(labels(&Axis::numbers("a"), 1.0, 3.0), ["1", "2", "3"]);
        assert_eq!(labels(&axis, 0.0, 10.0).len(), labels(&axis, 10.0, 10.0).len());
    }

    #[test]
    fn names_stand_side_by_side() {
        let axis = Axis::named("a", vec!["one".into(), "two".into()]);
        assert_eq!(labels(&axis, 0.0, 0.0), ["one", "two"]);
        let ruler = axis.over([0.0, 1.0].into_iter(), 0.0, (0.0, 100.0));
        assert_eq!([ruler.place(0.0), ruler.place(1.0)], [25.0, 75.0]);
    }

    #[test]
    fn places_are_within_the_axis() {
        let axis = Axis { most: Some(1.0), ..Axis::linear("a") };
        let ruler = axis.over([0.0, 1.0].into_iter(), 0.1, (0.0, -50.0));
        assert_eq!(ruler.place(1.0), -50.0);
        assert_eq!(ruler.place(9.0), -50.0);
        assert!(ruler.place(0.0) < 0.0);
    }
}
