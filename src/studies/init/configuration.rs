//! The configuration for a table, written from the template for its outputs.

use dsokr_data::cells::NumberNotation;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Value, value};

use super::kind::ColumnKind;
use super::template::{
    add_lambdas_between, add_larger_lambdas, compare_characters, compare_single_words,
    compare_vectors, keep_case, lower_sizes, number_tables, parsed, put, remove_output_kernels,
    remove_reranker, scale_lambdas, sketch_inputs, train_encoder, weigh_equally,
};
use super::{Division, Survey, WordRemarks};
use crate::error::Error;

/// The fewest training pairs with which a reranker and the correction for hubs are worth their time.
pub(super) const MANY: usize = 500;

/// The most training pairs whose inputs are all compared with each other.
pub(super) const COMPARED: usize = 20_000;

/// The fewest training pairs for which no larger λ than the templates have is needed.
const REGULAR: usize = 1000;

/// The most items whose rankings are all searched.
const SEARCHED: usize = 8;

impl Survey {
    /// Returns the configuration, in TOML, with comments. `folder` is that of the table, as `data.folder` names it;
    /// `constant` are the positions of output kernels that are left out.
    pub(super) fn configuration(&self, folder: &str, constant: &[usize]) -> Result<String, Error> {
        // quantiles of one number are a kernel machine's
        let ridge =
            !self.roles.further.is_empty() || self.compares_molecules() || self.encoder.is_some();
        let template = match self.roles.output.kind {
            ColumnKind::Smiles => include_str!("../../../configs/molecules.toml"),
            ColumnKind::Labels(_) => include_str!("templates/labels.toml"),
            ColumnKind::Classes(_) => include_str!("templates/classes.toml"),
            ColumnKind::Numbers(_) if ridge => include_str!("templates/several_numbers.toml"),
            ColumnKind::Rankings(_) | ColumnKind::Orders(_) => {
                include_str!("templates/rankings.toml")
            }
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
        if let Some(encoder) = &self.encoder {
            let searched = self.roles.output.kind == ColumnKind::Smiles;
            train_encoder(&mut document, encoder, searched, self.training())?;
        }
        number_tables(document.as_table_mut(), &mut 0);
        Ok(self.data_section(folder) + document.to_string().trim_start_matches('\n'))
    }

    /// Returns whether inputs are molecules.
    fn compares_molecules(&self) -> bool {
        self.roles.input.kind == ColumnKind::Smiles
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
        if self.roles.output.kind == ColumnKind::Smiles {
            weigh_equally(encoder);
        }
        let kernels = encoder.get_mut("kernels").and_then(Item::as_array_of_tables_mut);
        for kernel in kernels.into_iter().flat_map(|kernels| kernels.iter_mut()) {
            let inputs = kernel["inputs"].as_inline_table_mut();
            let features = inputs.and_then(|inputs| inputs.get_mut("features"));
            if let Some(features) = features.and_then(Value::as_inline_table_mut) {
                put(features, "column", &self.roles.input.name);
            }
        }
        Ok(())
    }

    /// Returns the table `[data]`, with the comment that begins the file.
    fn data_section(&self, folder: &str) -> String {
        let text = |text: &str| toml::Value::from(text).to_string();
        // a comment is one line, whatever the name of a column holds
        let words =
            |text: &str| format!("\"{}\"", text.split_whitespace().collect::<Vec<_>>().join(" "));
        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
        let input = text(&self.roles.input.name);
        let outputs = self.roles.outputs().map(|column| words(&column.name));
        let outputs = outputs.collect::<Vec<_>>().join(", ");
        let plural = if self.roles.further.is_empty() { "" } else { "s" };
        let id = match &self.roles.id {
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
        let header = if self.table.has_header {
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
        let files = [("validation", &self.division.validation), ("test", &self.division.test)];
        let files: String = files
            .into_iter()
            .filter_map(|(key, file)| file.as_ref().map(|file| format!("{key} = {}\n", text(file))))
            .collect();
        let splits = self.splits();
        format!(
            "# {inputs} of the column {} → outputs of the column{plural} {outputs}. Every key is explained by\n\
             # `dsokr config-reference`.\n\
             [data]\nsource = \"pool\"\n\
             folder = {}                      # next to this file\nfile = {}\n{files}{header}{id}\n{bad}\
             inputs = {{ column = {input}{kind} }}\n{splits}\n",
            words(&self.roles.input.name),
            text(folder),
            text(&file),
        )
    }

    /// Returns the key `data.splits`, below a comment on how rows are divided.
    fn splits(&self) -> String {
        let text = |text: &str| toml::Value::from(text).to_string();
        let [validation, test] = self.held_out();
        let Division { group, column, validation: validation_file, test: test_file } =
            &self.division;
        let has_files = validation_file.is_some() && test_file.is_some();
        let rule = match (column, group.as_deref()) {
            (Some(_), None) => "a column names the split of each row",
            (Some(_), Some(_)) => {
                "a column names the split of each row; training rows that belong together are held out together"
            }
            (None, None) if has_files => "all rows train",
            (None, Some(_)) if has_files => {
                "all rows train; those that belong together are held out together"
            }
            (None, None) => "drawn by the seed; the rest trains",
            (None, Some("repeats")) => {
                "drawn by the seed, rows with the same molecule, text or id together; the rest trains"
            }
            (None, Some("scaffold")) => {
                "drawn by the seed, molecules with the same scaffold together; the rest trains"
            }
            (None, Some(_)) => {
                "drawn by the seed, rows with the same value together; the rest trains"
            }
        };
        let keys = match column {
            Some(column) => format!("column = {}", text(&column.name)),
            None => format!("validation = {validation}, test = {test}"),
        };
        let group =
            group.as_ref().map_or(String::new(), |group| format!(", group = {}", text(group)));
        format!("# {rule}\nsplits = {{ {keys}{group} }}\n")
    }

    /// Returns whether the inputs are numbers, one or several in each row.
    pub fn reads_vectors(&self) -> bool {
        let kind = &self.roles.input.kind;
        matches!(kind, ColumnKind::Vectors(_))
            || kind.notation() == Some(&NumberNotation::default())
    }

    /// Returns whether the table `decoding` of a template is worth its time.
    fn decodes(&self) -> bool {
        match self.roles.output.kind {
            ColumnKind::Smiles => self.training() >= MANY,
            ColumnKind::Rankings(items) => items <= SEARCHED,
            ColumnKind::Orders(ref items) => items.len() <= SEARCHED,
            ColumnKind::Labels(_)
            | ColumnKind::Classes(_)
            | ColumnKind::Numbers(_)
            | ColumnKind::Vectors(_)
            | ColumnKind::Texts
            | ColumnKind::Ids
            | ColumnKind::Inchi
            | ColumnKind::Dates
            | ColumnKind::Nothing => true,
        }
    }

    /// Writes the columns, the notation and the sizes of this table into a template.
    fn adapt(&self, document: &mut DocumentMut, constant: &[usize]) {
        if !self.decodes() {
            document.remove("decoding");
        }
        self.adapt_inputs(document);
        lower_sizes(document.as_table_mut(), self.training(), self.least_texts());
        remove_output_kernels(document, constant);
        self.adapt_outputs(document);
        if self.training() > COMPARED {
            sketch_inputs(&mut document["encoder"], self.training());
        }
        if self.held_out()[1] == 0 && self.division.column.is_some() {
            document["evaluation"]["split"] = value("validation");
        }
        self.adapt_lambdas(document);
    }

    /// Writes into a template how the inputs are compared.
    fn adapt_inputs(&self, document: &mut DocumentMut) {
        if self.reads_vectors() {
            compare_vectors(document);
        }
        // words that are all different are found to be ids
        let input = &self.roles.input;
        let has_words = matches!(input.kind, ColumnKind::Texts | ColumnKind::Ids);
        let WordRemarks { are_single_words, are_unspaced, share_no_words, .. } = input.words;
        let has_no_words = has_words && (are_single_words || are_unspaced || share_no_words);
        // compositions and reactions that recur are found to be classes
        if has_no_words || input.words.case_means_something {
            compare_characters(document);
        }
        if input.words.case_means_something {
            keep_case(document);
        }
        if input.classes.are_unordered {
            compare_single_words(document);
        }
    }

    /// Returns the fewest texts that have a word from which something is learned: where outputs are numbers, nothing is from one
    /// that only one text has.
    fn least_texts(&self) -> usize {
        match self.roles.output.kind {
            ColumnKind::Numbers(_) | ColumnKind::Vectors(_) => 2,
            ColumnKind::Smiles
            | ColumnKind::Rankings(_)
            | ColumnKind::Orders(_)
            | ColumnKind::Labels(_)
            | ColumnKind::Classes(_)
            | ColumnKind::Texts
            | ColumnKind::Ids
            | ColumnKind::Inchi
            | ColumnKind::Dates
            | ColumnKind::Nothing => 1,
        }
    }

    /// Writes the column of the outputs into a template, and how its cells are written.
    fn adapt_outputs(&self, document: &mut DocumentMut) {
        let Some(output) = document["output"].as_table_mut() else { return };
        if let Some(label) = output.get_mut("label") {
            *label = value(self.roles.output.name.as_str());
        }
        if let Some(features) = output.get_mut("features").and_then(Item::as_inline_table_mut) {
            self.adapt_features(features);
        }
        let kernels = output.get_mut("kernels").and_then(Item::as_array_of_tables_mut);
        for kernel in kernels.into_iter().flat_map(ArrayOfTables::iter_mut) {
            if let Some(features) = kernel["features"].as_inline_table_mut() {
                self.adapt_features(features);
            }
        }
    }

    /// Has a template try values of λ for numbers of this size, and larger ones where few pairs train.
    fn adapt_lambdas(&self, document: &mut DocumentMut) {
        let standardised = document["output"].get("scaling").is_some();
        let lambda = &mut document["encoder"]["lambda"];
        let deviation = self.roles.output.numbers.deviation;
        if deviation > 0.0 && !standardised {
            scale_lambdas(lambda, -deviation.log10().round());
        }
        if self.training() < REGULAR {
            add_larger_lambdas(lambda);
            if document["encoder"]["solver"]["name"].as_str() == Some("lipschitz") {
                add_lambdas_between(&mut document["encoder"]["lambda"]);
            }
        }
    }

    /// Writes the column of the outputs, and how its cells are written, into a table of features.
    fn adapt_features(&self, features: &mut InlineTable) {
        put(features, "column", &self.roles.output.name);
        if !self.roles.further.is_empty() {
            let names: Array = self.roles.outputs().map(|column| column.name.as_str()).collect();
            features.insert("column", names.into());
            features.fmt();
        }
        match &self.roles.output.kind {
            ColumnKind::Labels(separator) => put(features, "separator", &separator.to_string()),
            ColumnKind::Numbers(notation) => {
                let plain = NumberNotation::default();
                if notation.decimal != plain.decimal {
                    put(features, "decimal", &notation.decimal.to_string());
                }
                if notation.unit != plain.unit {
                    put(features, "unit", &notation.unit);
                }
                if notation.mixed_decimals {
                    features.insert("mixed_decimals", true.into());
                    features.fmt();
                }
            }
            ColumnKind::Classes(_) => {
                if let Some(positive) = &self.roles.output.classes.positive {
                    put(features, "positive", positive);
                }
            }
            ColumnKind::Orders(items) => {
                let names: Array = items.iter().map(String::as_str).collect();
                features.insert("items", names.into());
                features.fmt();
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
