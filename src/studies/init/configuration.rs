//! The configuration for a table, written from the template for its outputs.

use dsokr_data::cells::NumberNotation;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use super::Survey;
use super::kind::ColumnKind;
use crate::error::Error;

/// The fewest training pairs with which a reranker and the correction for hubs are worth their time.
pub(super) const MANY: usize = 500;

/// The most training pairs whose inputs are all compared with each other.
pub(super) const COMPARED: usize = 20_000;

/// The largest sketch of inputs, and pairs times its size squared, which a fit's time goes with.
const LARGEST_SKETCH: f64 = 5000.0;
const SKETCH_WORK: f64 = 5e11;

/// The fewest training pairs for which no larger λ than the templates have is needed.
const REGULAR: usize = 1000;

/// The most items whose rankings are all searched.
const SEARCHED: usize = 8;

impl Survey {
    /// The configuration, in TOML, with comments. `folder` is that of the table, as `data.folder` names it; `constant` are
    /// the places of output kernels that are left out.
    pub(super) fn configuration(&self, folder: &str, constant: &[usize]) -> Result<String, Error> {
        let ridge = !self.further.is_empty() || self.compares_molecules();
        let template = match self.output.kind {
            ColumnKind::Smiles => include_str!("../../../configs/molecules.toml"),
            ColumnKind::Labels(_) => include_str!("templates/labels.toml"),
            ColumnKind::Classes(_) => include_str!("templates/classes.toml"),
            ColumnKind::Numbers(_) if ridge => include_str!("templates/several_numbers.toml"),
            ColumnKind::Rankings(_) => include_str!("templates/rankings.toml"),
            ColumnKind::Numbers(_) => include_str!("templates/numbers.toml"),
            ColumnKind::Vectors(_) => include_str!("templates/vectors.toml"),
            ColumnKind::Nothing
            | ColumnKind::Ids
            | ColumnKind::Inchi
            | ColumnKind::Dates
            | ColumnKind::Texts => include_str!("templates/texts.toml"),
        };
        let mut document = parsed(template)?;
        document.remove("data");
        if self.compares_molecules() {
            self.compare_molecules(&mut document)?;
            remove_reranker(&mut document);
        }
        self.adapt(&mut document, constant);
        number_tables(document.as_table_mut(), &mut 0);
        Ok(self.data_section(folder) + document.to_string().trim_start_matches('\n'))
    }

    /// Whether inputs are molecules.
    fn compares_molecules(&self) -> bool {
        self.input.kind == ColumnKind::Smiles
    }

    /// Compares inputs by the parts of molecules, in the place of words of texts.
    fn compare_molecules(&self, document: &mut DocumentMut) -> Result<(), Error> {
        let template = parsed(include_str!("templates/molecule_inputs.toml"))?;
        let Some(encoder) = document["encoder"].as_table_mut() else { return Ok(()) };
        encoder.remove("inputs");
        encoder.remove("kernel");
        if let Some(settings) = template["encoder"].as_table() {
            for (key, item) in settings {
                encoder.insert(key, item.clone());
            }
        }
        encoder.decor_mut().set_prefix(
            "\n# One ridge regression from what molecules have in common, in several ways. The weights of the kernels are those\n\
             # with the least leave-one-out error, and so is λ.\n",
        );
        if self.output.kind == ColumnKind::Smiles {
            weigh_equally(encoder);
        }
        let kernels = encoder.get_mut("kernels").and_then(Item::as_array_of_tables_mut);
        for kernel in kernels.into_iter().flat_map(|kernels| kernels.iter_mut()) {
            let inputs = kernel["inputs"].as_inline_table_mut();
            let features = inputs.and_then(|inputs| inputs.get_mut("features"));
            if let Some(features) = features.and_then(Value::as_inline_table_mut) {
                put(features, "column", &self.input.name);
            }
        }
        Ok(())
    }

    /// The table `[data]`, with the comment that begins the file.
    fn data_section(&self, folder: &str) -> String {
        let text = |text: &str| toml::Value::from(text).to_string();
        let file = self.table.file_name().unwrap_or_default().to_string_lossy();
        let input = text(&self.input.name);
        let outputs = [&self.output].into_iter().chain(&self.further);
        let outputs = outputs.map(|column| text(&column.name)).collect::<Vec<_>>().join(", ");
        let plural = if self.further.is_empty() { "" } else { "s" };
        let id = match &self.id {
            Some(id) => format!("id = {}", text(id)),
            None => {
                "numbered = true                  # ids are the numbers of the lines".to_owned()
            }
        };
        let bad = match self.skipped() {
            0 => String::new(),
            n => format!(
                "# rows that cannot be read or have no valid input and output are skipped; more than are known give a warning\n\
                 on_bad_row = \"skip\"\nbad_rows = {n}\n"
            ),
        };
        let header = if self.header {
            ""
        } else {
            "header = false                   # the first line is a row\n"
        };
        let (inputs, kind) = if self.reads_vectors() {
            ("Vectors", ", numbers = true")
        } else if self.compares_molecules() {
            ("Molecules", ", smiles = true")
        } else {
            ("Texts", "")
        };
        let [validation, test] = self.held_out();
        let files = [("validation", &self.division.validation), ("test", &self.division.test)];
        let files: String = files
            .into_iter()
            .filter_map(|(key, file)| file.as_ref().map(|file| format!("{key} = {}\n", text(file))))
            .collect();
        let splits = match &self.division.column {
            Some(column) => format!("column = {}", text(&column.name)),
            None => format!("validation = {validation}, test = {test}"),
        };
        let (group, rule) = match self.division.group.as_deref() {
            None if self.division.column.is_some() => {
                (String::new(), "a column names the split of each row")
            }
            None => (String::new(), "drawn by the seed; the rest trains"),
            Some(group) => {
                let rule = match group {
                    "repeats" => {
                        "drawn by the seed, rows with the same molecule, text or id together; the rest trains"
                    }
                    "scaffold" => {
                        "drawn by the seed, molecules with the same scaffold together; the rest trains"
                    }
                    _ => "drawn by the seed, rows with the same value together; the rest trains",
                };
                (format!(", group = {}", text(group)), rule)
            }
        };
        format!(
            "# {inputs} of the column {input} → outputs of the column{plural} {outputs}. Every key is explained by\n\
             # `dsokr config-reference`.\n\
             [data]\nsource = \"pool\"\n\
             folder = {}                      # next to this file\nfile = {}\n{files}{header}{id}\n{bad}\
             inputs = {{ column = {input}{kind} }}\n\
             # {rule}\n\
             splits = {{ {splits}{group} }}\n\n",
            text(folder),
            text(&file),
        )
    }

    /// Whether the inputs are numbers, one or several in each row.
    fn reads_vectors(&self) -> bool {
        match &self.input.kind {
            ColumnKind::Vectors(_) => true,
            ColumnKind::Numbers(notation) => *notation == NumberNotation::default(),
            ColumnKind::Nothing
            | ColumnKind::Ids
            | ColumnKind::Smiles
            | ColumnKind::Inchi
            | ColumnKind::Rankings(_)
            | ColumnKind::Dates
            | ColumnKind::Labels(_)
            | ColumnKind::Classes(_)
            | ColumnKind::Texts => false,
        }
    }

    /// Writes the columns, the notation and the sizes of this table into a template.
    fn adapt(&self, document: &mut DocumentMut, constant: &[usize]) {
        let decodes = match self.output.kind {
            ColumnKind::Smiles => self.training() >= MANY,
            ColumnKind::Rankings(items) => items <= SEARCHED,
            ColumnKind::Labels(_)
            | ColumnKind::Classes(_)
            | ColumnKind::Numbers(_)
            | ColumnKind::Vectors(_)
            | ColumnKind::Texts
            | ColumnKind::Ids
            | ColumnKind::Inchi
            | ColumnKind::Dates
            | ColumnKind::Nothing => true,
        };
        if !decodes {
            document.remove("decoding");
        }
        if self.reads_vectors() {
            compare_vectors(document);
        }
        if self.input.kind == ColumnKind::Texts && self.input.are_single_words {
            compare_characters(document);
        }
        // of numbers nothing is learned from a word that only one text has
        let least_texts = match self.output.kind {
            ColumnKind::Numbers(_) | ColumnKind::Vectors(_) => 2,
            ColumnKind::Smiles
            | ColumnKind::Rankings(_)
            | ColumnKind::Labels(_)
            | ColumnKind::Classes(_)
            | ColumnKind::Texts
            | ColumnKind::Ids
            | ColumnKind::Inchi
            | ColumnKind::Dates
            | ColumnKind::Nothing => 1,
        };
        lower_sizes(document.as_table_mut(), self.training(), least_texts);
        let Some(output) = document["output"].as_table_mut() else { return };
        if let Some(label) = output.get_mut("label") {
            *label = value(self.output.name.as_str());
        }
        if let Some(features) = output.get_mut("features").and_then(Item::as_inline_table_mut) {
            self.adapt_features(features);
        }
        if let Some(kernels) = output.get_mut("kernels").and_then(Item::as_array_of_tables_mut) {
            for &place in constant.iter().rev() {
                kernels.remove(place);
            }
            for kernel in kernels.iter_mut() {
                if let Some(features) = kernel["features"].as_inline_table_mut() {
                    self.adapt_features(features);
                }
            }
        }
        if self.training() > COMPARED {
            sketch_inputs(&mut document["encoder"], self.training());
        }
        if self.held_out()[1] == 0 && self.division.column.is_some() {
            document["evaluation"]["split"] = value("validation");
        }
        let standardised = document["output"].get("scaling").is_some();
        let lambda = &mut document["encoder"]["lambda"];
        if self.output.deviation > 0.0 && !standardised {
            scale_lambdas(lambda, -self.output.deviation.log10().round());
        }
        if self.training() < REGULAR {
            add_larger_lambdas(lambda);
        }
    }

    /// Writes the column of the outputs, and how its cells are written, into a table of features.
    fn adapt_features(&self, features: &mut InlineTable) {
        put(features, "column", &self.output.name);
        if !self.further.is_empty() {
            let outputs = [&self.output].into_iter().chain(&self.further);
            let names: Array = outputs.map(|column| column.name.as_str()).collect();
            features.insert("column", names.into());
            features.fmt();
        }
        match &self.output.kind {
            ColumnKind::Labels(separator) => put(features, "separator", &separator.to_string()),
            ColumnKind::Numbers(notation) => {
                let plain = NumberNotation::default();
                if notation.decimal != plain.decimal {
                    put(features, "decimal", &notation.decimal.to_string());
                }
                if notation.unit != plain.unit {
                    put(features, "unit", &notation.unit);
                }
            }
            ColumnKind::Classes(_) => {
                if let Some(positive) = &self.output.positive {
                    put(features, "positive", positive);
                }
            }
            ColumnKind::Nothing
            | ColumnKind::Ids
            | ColumnKind::Smiles
            | ColumnKind::Inchi
            | ColumnKind::Rankings(_)
            | ColumnKind::Vectors(_)
            | ColumnKind::Dates
            | ColumnKind::Texts => {}
        }
    }
}

/// Has a template for texts compare vectors: by a Gaussian kernel on standardised numbers, and without the reranker, which
/// compares words.
fn compare_vectors(document: &mut DocumentMut) {
    let inputs: InlineTable = [("kind", "vectors"), ("scaling", "standard")].into_iter().collect();
    let kernel: InlineTable = [("name", "gaussian"), ("gamma", "median")].into_iter().collect();
    if let Some(encoder) = document["encoder"].as_table_mut() {
        encoder.insert("inputs", value(inputs));
        encoder.insert("kernel", value(kernel));
        encoder.decor_mut().set_prefix("\n# One kernel machine on standardised vectors.\n");
    }
    remove_reranker(document);
}

/// Has a template for texts of words compare n-grams of characters, since inputs are strings without spaces, such as sequences
/// of proteins.
fn compare_characters(document: &mut DocumentMut) {
    let inputs = document["encoder"].get_mut("inputs").and_then(Item::as_inline_table_mut);
    let blocks = inputs.and_then(|inputs| inputs.get_mut("blocks")).and_then(Value::as_array_mut);
    let blocks = blocks.into_iter().flat_map(Array::iter_mut);
    for block in blocks.filter_map(Value::as_inline_table_mut) {
        if block.get("kind").and_then(Value::as_str) == Some("words") {
            put(block, "kind", "across-words");
            block.insert("max", LONGEST_NGRAM.into());
            block.fmt();
        }
    }
}

/// The most characters of n-grams of strings without spaces.
const LONGEST_NGRAM: i64 = 4;

/// Removes the reranker, which compares words of texts.
fn remove_reranker(document: &mut DocumentMut) {
    let decoding = document.get_mut("decoding").and_then(Item::as_table_mut);
    if let Some(decoding) = decoding
        && decoding.remove("reranker").is_some()
    {
        decoding
            .decor_mut()
            .set_prefix("\n# A correction for outputs that are near every answer.\n");
    }
}

/// Sums kernels of inputs with equal weights, since weights are learned for one output kernel only. Of these kernels the ones
/// remain under which every input has unit length.
fn weigh_equally(encoder: &mut Table) {
    encoder.remove("weights");
    encoder.decor_mut().set_prefix(
        "\n# One ridge regression from what molecules have in common, in several ways.\n",
    );
    if let Some(kernels) = encoder.get_mut("kernels").and_then(Item::as_array_of_tables_mut) {
        let is_linear = |kernel: &Table| kernel["kernel"]["name"].as_str() == Some("linear");
        for place in (0..kernels.len()).rev() {
            if kernels.get(place).is_some_and(is_linear) {
                kernels.remove(place);
            }
        }
    }
}

/// A template as a document.
fn parsed(template: &str) -> Result<DocumentMut, Error> {
    let parsed = template.parse::<DocumentMut>();
    parsed.map_err(|error| Error::value("the template", error, "a TOML document"))
}

/// Has tables follow each other in the order of their keys, where some come from a different template.
fn number_tables(table: &mut Table, position: &mut isize) {
    table.set_position(Some(*position));
    *position += 1;
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => number_tables(table, position),
            Item::ArrayOfTables(tables) => {
                tables.iter_mut().for_each(|table| number_tables(table, position));
            }
            Item::Value(_) | Item::None => {}
        }
    }
}

/// Puts a text behind the key of an inline table, in the place of the one that is there.
fn put(table: &mut InlineTable, key: &str, text: &str) {
    match table.get_mut(key) {
        Some(item) => {
            let decor = item.decor().clone();
            *item = text.into();
            *item.decor_mut() = decor;
        }
        None => {
            table.insert(key, text.into());
            table.fmt();
        }
    }
}

/// Replaces the closed form of a kernel machine by one that does not compare all inputs with each other.
pub(super) fn sketch_inputs(encoder: &mut Item, training: usize) {
    if encoder.get("solver").and_then(|solver| solver.get("name")).and_then(Item::as_str)
        != Some("closed-form")
    {
        return;
    }
    // as many multiplications for any number of pairs
    let size = (SKETCH_WORK / training as f64).sqrt().min(LARGEST_SKETCH) as i64;
    let sketch: InlineTable = [("size", size)].into_iter().collect();
    let mut solver: InlineTable = [("name", "sketched")].into_iter().collect();
    solver.insert("sketch", sketch.into());
    encoder["solver"] = value(solver);
    if let Some(inputs) = encoder.get_mut("inputs").and_then(Item::as_table_like_mut) {
        inputs.remove("weights");
    }
}

/// Multiplies λ by a power of ten: numbers that are ten times as large want a tenth of λ, because their loss is ten times
/// and the square of the norm a hundred times as large.
fn scale_lambdas(lambda: &mut Item, power: f64) {
    for value in lambda.as_array_mut().into_iter().flat_map(Array::iter_mut) {
        if let Some(number) = value.as_float() {
            let decor = value.decor().clone();
            *value = rounded(number * 10f64.powf(power)).into();
            *value.decor_mut() = decor;
        }
    }
}

/// Adds the multiples of the largest λ by the next powers of ten.
fn add_larger_lambdas(lambda: &mut Item) {
    let Some(values) = lambda.as_array_mut() else { return };
    let largest = values.iter().filter_map(Value::as_float).fold(0.0, f64::max);
    for factor in [1e1, 1e2, 1e3, 1e4, 1e5] {
        values.push(rounded(largest * factor));
    }
}

/// A number without the digits of rounding errors.
fn rounded(number: f64) -> f64 {
    format!("{number:.6e}").parse().unwrap_or(number)
}

/// Lowers sizes that so many training pairs do not reach. A sketch has at most as many columns as there are outputs, and
/// of few rows what only one has can still be learned from.
pub(super) fn lower_sizes(table: &mut dyn TableLike, training: usize, least_texts: usize) {
    for (key, item) in table.iter_mut() {
        let most = match key.get() {
            "size" => Some(training),
            "min_outputs" => Some(1 + training / 200),
            "min_texts" => Some(least_texts.max(1 + training / 200)),
            _ => None,
        };
        match (item, most) {
            (Item::Value(number @ Value::Integer(_)), Some(most)) => lower(number, most),
            (Item::Value(Value::InlineTable(table)), _) => {
                lower_sizes(table, training, least_texts)
            }
            (Item::Value(Value::Array(values)), _) => {
                let tables = values.iter_mut().filter_map(Value::as_inline_table_mut);
                tables.for_each(|table| lower_sizes(table, training, least_texts));
            }
            (Item::Table(table), _) => lower_sizes(table, training, least_texts),
            (Item::ArrayOfTables(tables), _) => {
                tables.iter_mut().for_each(|table| lower_sizes(table, training, least_texts));
            }
            (Item::Value(_) | Item::None, _) => {}
        }
    }
}

/// Lowers an integer to `most`.
fn lower(number: &mut Value, most: usize) {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    if number.as_integer().is_some_and(|number| number > most) {
        let decor = number.decor().clone();
        *number = most.into();
        *number.decor_mut() = decor;
    }
}
