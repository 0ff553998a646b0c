//! The memory that data take, known from the sizes and headers of their files before they are read.

use std::fs;
use std::path::Path;

use crate::config::{DataSource, FeatureFileConfig, InputsConfig, OutputFeatures};
use crate::error::extension_of;
use crate::{DataRoot, Source, npy};

/// Bytes that graphs and the entries of rows take, for each byte of their text.
const A_BYTE_OF_NUMBERS: f64 = 4.0;

impl Source<'_> {
    /// Bytes that drawing the data, or reading their files, takes, by the keys that determine them. A file
    /// that cannot be read counts as nothing: reading it says what is wrong.
    pub fn memory(&self, root: &DataRoot) -> Vec<(String, f64)> {
        let mut needs: Vec<(String, f64)> = Vec::new();
        let mut add = |key: &str, bytes: f64| needs.push((key.to_owned(), bytes));
        let table = |name: &str| table(&root.file(name));
        match &self.data.source {
            DataSource::Synthetic(drawn) => {
                drawn.memory().into_iter().for_each(|(key, bytes)| add(key, bytes));
            }
            DataSource::Tables(tables) => {
                add("data.train", table(&tables.train));
                add("data.validation", table(&tables.validation));
                add("data.test", tables.test.as_deref().map_or(0.0, table));
                match &tables.inputs {
                    InputsConfig::Text(_) => {}
                    InputsConfig::Features(inputs) => {
                        add("data.inputs.table", table(&inputs.table));
                        add("data.inputs.file", matrix(&root.file(&inputs.file), 4.0));
                    }
                    InputsConfig::Kernels(inputs) => {
                        add("data.inputs.table", table(&inputs.table));
                        // the matrix, and its rows and columns of the pairs
                        let matrices = inputs.files.iter();
                        let bytes = matrices.map(|name| matrix(&root.file(name), 16.0)).sum();
                        add("data.inputs.files", bytes);
                    }
                }
            }
            DataSource::Pool(pool) => add("data.file", table(&pool.file)),
            DataSource::MultiLabel(pool) => {
                add("data.file", A_BYTE_OF_NUMBERS * size(&root.file(&pool.file)));
            }
            DataSource::Official(official) => {
                let size = |name: &str| size(&root.file(name));
                add("data.train", size(&official.train));
                add("data.validation", size(&official.validation));
                add("data.test", official.test.as_deref().map_or(0.0, size));
            }
        }
        if let Some(name) = self.outputs.table {
            add("output.table", table(name));
        }
        add("output.features.file", features(self.outputs.features, root));
        for (at, summand) in self.outputs.summands.iter().enumerate() {
            add(&format!("output.kernels[{at}].features.file"), features(summand, root));
        }
        needs.retain(|(_, bytes)| *bytes > 0.0);
        needs
    }
}

/// The columns of a table, at most the whole text; a file of commas is held whole beside them.
fn table(path: &Path) -> f64 {
    size(path) * if extension_of(path) == "csv" { 2.0 } else { 1.0 }
}

/// A matrix that is held in memory, with so many bytes an element; other matrices are mapped.
fn matrix(path: &Path, an_element: f64) -> f64 {
    match extension_of(path).as_str() {
        "npy" => npy::elements(path).map_or(0.0, |count| an_element * count),
        _ => 0.0,
    }
}

/// Files of the outputs' features beside their table.
fn features(features: &OutputFeatures, root: &DataRoot) -> f64 {
    match features {
        OutputFeatures::File(FeatureFileConfig { file, packed, .. }) => {
            matrix(&root.file(file), if *packed { 2.0 } else { 4.0 })
        }
        OutputFeatures::Graphs { file, .. } => {
            let path = root.file(file);
            let files = fs::read_dir(&path).into_iter().flatten().flatten();
            let inside: f64 = files.map(|entry| size(&entry.path())).sum();
            A_BYTE_OF_NUMBERS * (inside + size(&path))
        }
        OutputFeatures::Ngrams { .. }
        | OutputFeatures::Substructures { .. }
        | OutputFeatures::Labels { .. }
        | OutputFeatures::Rankings { .. }
        | OutputFeatures::Numbers { .. }
        | OutputFeatures::Molecules { .. }
        | OutputFeatures::Source {} => 0.0,
    }
}

/// The length of a file in bytes; 0 where there is none.
fn size(path: &Path) -> f64 {
    fs::metadata(path).map_or(0.0, |file| if file.is_file() { file.len() as f64 } else { 0.0 })
}
