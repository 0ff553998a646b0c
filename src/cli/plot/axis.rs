//! Axes: ranges, ticks and their labels.

/// An axis before it knows its values.
#[derive(Default)]
pub struct Axis {
    /// The quantity, with its unit in parentheses.
    pub label: String,
    pub logarithmic: bool,
    /// Whether values are whole numbers: ticks are too.
    pub whole: bool,
    /// Whether zero belongs to the axis.
    pub with_zero: bool,
    /// The names of the values 0, 1 and so on, where they are not numbers.
    pub names: Vec<String>,
    /// The largest value that the quantity can have; the axis does not go beyond.
    pub most: Option<f64>,
}

impl Axis {
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { logarithmic: true, ..Self::linear(label) }
    }

    /// Creates a logarithmic axis of whole numbers.
    pub fn numbers(label: impl Into<String>) -> Self {
        Self { whole: true, ..Self::logarithmic(label) }
    }

    /// Creates an axis from 0 to 1.
    pub fn share(label: impl Into<String>) -> Self {
        Self { with_zero: true, most: Some(1.0), ..Self::linear(label) }
    }

    fn scaled(&self, value: f64) -> f64 {
        if self.logarithmic { value.log10() } else { value }
    }

    /// Returns the axis over values, which takes `length` points from `start` on; `padding` is the part of the
    /// range that is left free at each end. Values that a logarithmic axis cannot show do not count.
    pub fn over(
        &self,
        values: impl Iterator<Item = f64>,
        padding: f64,
        (start, length): (f64, f64),
    ) -> Ruler<'_> {
        let zero = (self.with_zero && !self.logarithmic).then_some(0.0);
        let shown = values.map(|value| self.scaled(value)).filter(|value| value.is_finite());
        let (low, high) = shown
            .chain(zero)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, at| (at.min(ends.0), at.max(ends.1)));
        let (low, high) = match self.names.len() {
            0 if low > high => (0.0, 1.0),
            0 => (low, high),
            names => (-0.5, names as f64 - 0.5),
        };
        let (low, high) = if high - low > 1e-12 * high.abs() {
            (low, high)
        } else if low == 0.0 {
            (0.0, 1.0)
        } else {
            // one value lies in the middle
            let half = if self.logarithmic { 0.3 } else { 0.1 * low.abs() };
            (low - half, high + half)
        };
        let free = padding * (high - low);
        let most = self.most.map_or(f64::INFINITY, |most| self.scaled(most).max(high));
        let low = if zero == Some(low) { low } else { low - free };
        Ruler { axis: self, low, high: (high + free).min(most), start, length }
    }
}

/// An axis where it is drawn.
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
    /// Returns where a value lies, in points; outside values lie at the end.
    pub fn place(&self, value: f64) -> f64 {
        // the logarithm of a negative number is not a number, and `max` then gives the other one
        let value = self.axis.scaled(value).max(self.low).min(self.high);
        self.start + (value - self.low) / (self.high - self.low) * self.length
    }

    /// Returns about `count` ticks with their labels.
    pub fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        if !self.axis.names.is_empty() {
            return (0..).map(f64::from).zip(self.axis.names.iter().cloned()).collect();
        }
        if !self.axis.logarithmic {
            return self.linear_ticks(self.low, self.high, count);
        }
        let decades = self.parts_of_decades(&[1.0]);
        if decades.len() > 2 {
            let step = decades.len().div_ceil(count);
            return decades.into_iter().step_by(step).collect();
        }
        match self.parts_of_decades(&[1.0, 2.0, 5.0]) {
            parts if parts.len() > 2 => parts,
            _ => self.linear_ticks(10f64.powf(self.low), 10f64.powf(self.high), count),
        }
    }

    fn linear_ticks(&self, low: f64, high: f64, count: usize) -> Vec<(f64, String)> {
        let raw = (high - low) / count as f64;
        let power = 10f64.powf(raw.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|part| part * power);
        let step = steps.into_iter().find(|step| *step >= raw * 0.999).unwrap_or(steps[3]);
        let step = if self.axis.whole { step.max(1.0) } else { step };
        let ends = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
        let places = places(step);
        let short = places > 4 || low.abs().max(high.abs()) >= 1e6;
        // 0 and not −0
        let values = (ends.0..=ends.1).map(|at| at as f64 * step + 0.0);
        values.map(|value| (value, label(value, places, short))).collect()
    }

    /// Returns the products of powers of ten and these parts.
    fn parts_of_decades(&self, parts: &[f64]) -> Vec<(f64, String)> {
        let low = self.low - 1e-9;
        let high = self.high + 1e-9;
        let all = (low.floor() as i32..=high.floor() as i32)
            .flat_map(|decade| parts.iter().map(move |part| part * 10f64.powi(decade)));
        let inside = all.filter(|value| (low..=high).contains(&value.log10()));
        let whole = inside.filter(|value| !self.axis.whole || *value >= 1.0);
        let short = |value: f64| !(0.999e-3..1e6).contains(&value);
        whole.map(|value| (value, label(value, places(value), short(value)))).collect()
    }
}

/// Returns the decimal places of a number with one digit.
fn places(value: f64) -> usize {
    (-(value.log10() + 1e-9).floor()).max(0.0) as usize
}

/// Returns a number such as 0.5 or −2, or a `short` one such as 2×10⁻⁵.
fn label(value: f64, places: usize, short: bool) -> String {
    let digits = format!("{value:.2e}");
    let Some((mantissa, exponent)) = digits.split_once('e').filter(|_| short && value != 0.0)
    else {
        let places = if short { 0 } else { places };
        return format!("{value:.places$}").replace('-', "−");
    };
    let raised = |digit: char| match digit.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    };
    let power: String = exponent.chars().map(raised).collect();
    match mantissa.trim_end_matches('0').trim_end_matches('.') {
        "1" => format!("10{power}"),
        mantissa => format!("{}×10{power}", mantissa.replace('-', "−")),
    }
}
