//! Changes to a template: what configurations for different tables have in place of its keys.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use crate::config::EncoderTable;
use crate::error::Error;

/// The largest sketch of inputs, and pairs times its size squared, which a fit's time goes with.
const LARGEST_SKETCH: f64 = 5000.0;
const SKETCH_WORK: f64 = 5e11;

/// The most coordinates of outputs whose kernel is compared whole by kernel machines.
const MOST_COORDINATES: i64 = 1000;

/// The most characters of n-grams of strings without spaces.
const LONGEST_NGRAM: i64 = 4;

/// Has a template for texts compare vectors: by a Gaussian kernel on standardised numbers, and without the reranker, which
/// compares words.
pub(super) fn compare_vectors(document: &mut DocumentMut) {
    let inputs: InlineTable = [("kind", "vectors"), ("scaling", "standard")].into_iter().collect();
    let kernel: InlineTable = [("name", "gaussian"), ("gamma", "median")].into_iter().collect();
    if let Some(encoder) = document["encoder"].as_table_mut() {
        encoder.insert("inputs", value(inputs));
        encoder.insert("kernel", value(kernel));
        encoder.decor_mut().set_prefix("\n# One kernel machine on standardised vectors.\n");
    }
    remove_reranker(document);
}

/// Has a template for texts of words compare n-grams of characters, since inputs have no spaces between words, as sequences of
/// proteins and texts in Chinese, or share no words, as peptides with modifications.
pub(super) fn compare_characters(document: &mut DocumentMut) {
    for block in blocks(document) {
        if block.get("kind").and_then(Value::as_str) == Some("words") {
            put(block, "kind", "across-words");
            block.remove("min_characters");
            block.insert("max", LONGEST_NGRAM.into());
            block.fmt();
        }
    }
}

/// Has a template for texts of words compare single words, since inputs are labels whose order says nothing.
pub(super) fn compare_single_words(document: &mut DocumentMut) {
    for block in blocks(document) {
        if block.get("kind").and_then(Value::as_str) == Some("words") {
            block.insert("max", 1_i64.into());
            block.fmt();
        }
    }
}

/// Has n-grams of inputs tell capitals from small letters, as those of reactions and compositions do.
pub(super) fn keep_case(document: &mut DocumentMut) {
    for block in blocks(document) {
        block.insert("lowercase", false.into());
        block.fmt();
    }
}

/// Returns the blocks of n-grams of the inputs; none of other inputs.
fn blocks(document: &mut DocumentMut) -> impl Iterator<Item = &mut InlineTable> {
    let inputs = document["encoder"].get_mut("inputs").and_then(Item::as_inline_table_mut);
    let blocks = inputs.and_then(|inputs| inputs.get_mut("blocks")).and_then(Value::as_array_mut);
    blocks.into_iter().flat_map(Array::iter_mut).filter_map(Value::as_inline_table_mut)
}

/// Removes the reranker, which compares words of texts.
pub(super) fn remove_reranker(document: &mut DocumentMut) {
    let decoding = document.get_mut("decoding").and_then(Item::as_table_mut);
    if let Some(decoding) = decoding
        && decoding.remove("reranker").is_some()
    {
        decoding
            .decor_mut()
            .set_prefix("\n# A correction for outputs that are near every answer.\n");
    }
}

/// Removes the output kernels at some places, which ascend.
pub(super) fn remove_output_kernels(document: &mut DocumentMut, places: &[usize]) {
    let kernels = document["output"].get_mut("kernels").and_then(Item::as_array_of_tables_mut);
    let Some(kernels) = kernels else { return };
    for &place in places.iter().rev() {
        kernels.remove(place);
    }
}

/// Has an encoder learn from so many pairs by gradient descent, in the place of a kernel machine; without a reranker and the
/// correction for hubs, for which further encoders would be trained. Outputs that are `searched` for are compared with all
/// others.
pub(super) fn train_encoder(
    document: &mut DocumentMut,
    encoder: &EncoderTable,
    searched: bool,
    training: usize,
) -> Result<(), Error> {
    // without a sketch an encoder learns rows of features, whose products are these kernels
    let kernel = document["output"].get("kernel").and_then(|kernel| kernel.get("name"));
    let has_rows = matches!(kernel.and_then(Item::as_str), Some("linear" | "cosine"));
    if !has_rows && document["sketch"].get("full").is_some() {
        let size = i64::try_from(training).unwrap_or(i64::MAX).min(MOST_COORDINATES);
        document["sketch"]["full"] = Item::None;
        document["sketch"]["size"] = value(size);
    }
    let settings = parsed(&toml::to_string(encoder)?)?;
    let mut table = settings.as_table().clone();
    table.decor_mut().set_prefix("\n# An encoder that learns by gradient descent.\n");
    document.insert("encoder", Item::Table(table));
    if let Some(decoding) = document.get_mut("decoding").and_then(Item::as_table_mut) {
        decoding.remove("reranker");
        decoding.remove("hubs");
        if decoding.is_empty() {
            document.remove("decoding");
        }
    }
    let training = parsed(include_str!("templates/training.toml"))?;
    let mut table = training["training"].as_table().cloned().unwrap_or_default();
    if !searched {
        table.remove("loss");
    }
    document.insert("training", Item::Table(table));
    Ok(())
}

/// Sums kernels of inputs with equal weights, since weights are learned for one output kernel only. Of these kernels the ones
/// remain under which every input has unit length.
pub(super) fn weigh_equally(encoder: &mut Table) {
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

/// Returns a template as a document.
pub(super) fn parsed(template: &str) -> Result<DocumentMut, Error> {
    let parsed = template.parse::<DocumentMut>();
    parsed.map_err(|error| Error::value("the template", error, "a TOML document"))
}

/// Has tables follow each other in the order of their keys, where some come from a different template.
pub(super) fn number_tables(table: &mut Table, position: &mut isize) {
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
pub(super) fn put(table: &mut InlineTable, key: &str, text: &str) {
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
pub(super) fn scale_lambdas(lambda: &mut Item, power: f64) {
    for value in lambda.as_array_mut().into_iter().flat_map(Array::iter_mut) {
        if let Some(number) = value.as_float() {
            let decor = value.decor().clone();
            *value = rounded(number * 10f64.powf(power)).into();
            *value.decor_mut() = decor;
        }
    }
}

/// Adds the multiples of the largest λ by the next powers of ten.
pub(super) fn add_larger_lambdas(lambda: &mut Item) {
    let Some(values) = lambda.as_array_mut() else { return };
    let largest = values.iter().filter_map(Value::as_float).fold(0.0, f64::max);
    for factor in [1e1, 1e2, 1e3, 1e4, 1e5] {
        values.push(rounded(largest * factor));
    }
}

/// Adds twice and five times every λ but the largest. The error of quantiles of few rows changes much within a power of
/// ten of λ, so that the whole powers alone would give results that depend on the unit of the numbers.
pub(super) fn add_lambdas_between(lambda: &mut Item) {
    let Some(values) = lambda.as_array_mut() else { return };
    let mut powers: Vec<f64> = values.iter().filter_map(Value::as_float).collect();
    powers.sort_unstable_by(f64::total_cmp);
    values.clear();
    for (at, &power) in powers.iter().enumerate() {
        let factors: &[f64] = if at + 1 < powers.len() { &[1.0, 2.0, 5.0] } else { &[1.0] };
        factors.iter().for_each(|factor| values.push(rounded(factor * power)));
    }
}

/// Returns a number without the digits of rounding errors.
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
