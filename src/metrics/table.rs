//! Tables for people, programs and papers.

/// The widest column of texts that is aligned, in characters; longer texts push what follows aside.
const WIDEST: usize = 64;

/// Columns with names, texts first and numbers behind, and rows of cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    names: Vec<String>,
    /// How many columns are texts.
    texts: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without rows, whose first `texts` columns hold texts and whose others hold numbers.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>, texts: usize) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), texts, rows: Vec::new() }
    }

    /// Adds rows, which have a cell a column.
    pub fn with<S: Into<String>>(
        mut self,
        rows: impl IntoIterator<Item = impl IntoIterator<Item = S>>,
    ) -> Self {
        rows.into_iter().for_each(|row| self.push(row));
        self
    }

    /// Adds a row, which has a cell a column.
    pub fn push<S: Into<String>>(&mut self, row: impl IntoIterator<Item = S>) {
        self.rows.push(row.into_iter().map(Into::into).collect());
    }

    /// Returns the names of the columns and the rows.
    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        [&self.names].into_iter().chain(&self.rows)
    }

    /// Returns columns aligned by spaces, texts to the left and numbers to the right.
    pub fn text(&self) -> String {
        let width = |at: usize| {
            let widths = self.lines().map(|line| line[at].chars().count());
            let widest = widths.max().unwrap_or_default();
            if at < self.texts { widest.min(WIDEST) } else { widest }
        };
        let widths: Vec<usize> = (0..self.names.len()).map(width).collect();
        let line = |line: &Vec<String>| {
            let cells = line.iter().zip(&widths).enumerate();
            let padded = cells.map(|(at, (text, &width))| {
                if at < self.texts {
                    format!("{:<width$}", cell(text))
                } else {
                    format!("{:>width$}", cell(text))
                }
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        self.lines().map(line).collect()
    }

    /// Returns fields separated by tabs, which no field holds.
    pub fn tsv(&self) -> String {
        self.lines().map(|line| tsv_line(line)).collect()
    }

    /// Returns comma-separated values for a spreadsheet, with `end` at the end of each line.
    pub fn csv(&self, end: &str) -> String {
        self.lines().map(|line| csv_fields(line) + end).collect()
    }

    /// Returns a Markdown table.
    pub fn markdown(&self) -> String {
        let line = |line: &Vec<String>| {
            let cells = line.iter().map(|text| text.replace('|', "\\|"));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rule = format!("|{}\n", "---|".repeat(self.names.len()));
        line(&self.names) + &rule + &self.rows.iter().map(line).collect::<String>()
    }

    /// Returns a LaTeX tabular, for the package booktabs, with a rule above each row whose first cell is not empty.
    pub fn latex(&self) -> String {
        let line = |line: &Vec<String>, numbers: bool| {
            let cell = |(at, text): (usize, &String)| {
                let is_number = numbers && at >= self.texts && !text.is_empty();
                // signs need mathematics
                if is_number { format!("${text}$") } else { escaped(text) }
            };
            let cells = line.iter().enumerate().map(cell);
            cells.collect::<Vec<_>>().join(" & ") + " \\\\\n"
        };
        let columns = "l".repeat(self.texts) + &"r".repeat(self.names.len() - self.texts);
        let mut text = format!("\\begin{{tabular}}{{{columns}}}\n\\toprule\n");
        text += &line(&self.names, false);
        for row in &self.rows {
            text += if row[0].is_empty() { "" } else { "\\midrule\n" };
            text += &line(row, true);
        }
        text + "\\bottomrule\n\\end{tabular}\n"
    }
}

/// Returns a cell of a table whose columns are separated by tabs: tabs and line breaks become spaces.
pub fn cell(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}

/// Returns a line of fields separated by tabs.
pub fn tsv_line<S: AsRef<str>>(cells: &[S]) -> String {
    cells.iter().map(|text| cell(text.as_ref())).collect::<Vec<_>>().join("\t") + "\n"
}

/// Returns a line of comma-separated values for a spreadsheet.
pub fn csv_line<S: AsRef<str>>(cells: &[S]) -> String {
    csv_fields(cells) + "\n"
}

fn csv_fields<S: AsRef<str>>(cells: &[S]) -> String {
    cells.iter().map(|text| quoted(text.as_ref())).collect::<Vec<_>>().join(",")
}

/// Returns the decimal places of a metric: at least three digits that count.
pub(crate) fn places(value: f64) -> usize {
    match value.abs() {
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        // below 1e-15 is 0 with an error of rounding
        size if !(1e-15..0.01).contains(&size) => 4,
        size if size < 1e-4 => (2.0 - size.log10().floor()) as usize,
        _ => 6,
    }
}

/// Returns the decimal places of an error in the unit of the outputs: four digits count, of very small ones three.
pub(crate) fn places_of_error(value: f64) -> usize {
    if value != 0.0 && value.abs() < 1e-4 { places(value) } else { places_of_four_digits(value) }
}

/// Returns the decimal places with which four digits of a number count, at most six; four where six show only zeros, as of 0.
pub(crate) fn places_of_four_digits(value: f64) -> usize {
    if value.abs() <= 5e-7 {
        return 4;
    }
    (3.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize
}

/// Returns an interval with `places` decimal places; empty for none.
pub(crate) fn interval(ends: Option<[f64; 2]>, places: usize) -> String {
    ends.map_or(String::new(), |[low, high]| format!("[{low:.places$}, {high:.places$}]"))
}

/// Returns a text whose special characters LaTeX prints.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '↑' => escaped += "$\\uparrow$",
            '↓' => escaped += "$\\downarrow$",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Returns a text as a field of comma-separated values for a spreadsheet, quoted where it must be (RFC 4180). An
/// apostrophe precedes what the spreadsheet takes for a formula: what begins with `=`, `+`, `-`, `@`, a tab or a
/// carriage return and is not a number.
fn quoted(field: &str) -> String {
    let number = field.parse::<f64>().is_ok_and(f64::is_finite);
    let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && !number;
    let field = format!("{}{field}", if formula { "'" } else { "" });
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}
