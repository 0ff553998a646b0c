//! A body with pooling and head as a folder that the Python library sentence-transformers loads.

use std::path::Path;

use dsokr_basis::store::Tensor;
use serde_json::{Value, json};

use super::folder::{COMPANIONS, Pretrained};
use super::layout::transposed;
use super::write::{CONFIG, TOKENIZER, WEIGHTS, create, write_bytes, write_weights};
use crate::parameters::{check_finite, collect};
use crate::{Error, Pooling, Transformer};

/// Kind in the metadata of the head's file.
const KIND: &str = "sentence-head";

const BERT: &str = "sentence_bert_config.json";
const SENTENCES: &str = "config_sentence_transformers.json";
const MODULES: &str = "modules.json";
const POOLING: &str = "1_Pooling";
const HEAD: &str = "2_Dense";

impl Pretrained {
    /// [Writes](Self::write) the body of an encoder, and pooling and head in the same folder, as sentence-transformers saves
    /// its modules `Transformer`, `Pooling`, `Dense` and `Normalize`: `SentenceTransformer(folder).encode(texts)`
    /// then returns z of texts of at most `max_length` tokens, scaled to unit length where `unit_length` says so.
    ///
    /// The files of the layers are `sentence_bert_config.json`, `config_sentence_transformers.json`,
    /// `1_Pooling/config.json`, `2_Dense/config.json`, `2_Dense/model.safetensors` and, written last,
    /// `modules.json`.
    ///
    /// # Errors
    /// As [`write`](Self::write); [`Error::NotFinite`] for the head.
    pub fn export(
        &self,
        folder: &Path,
        encoder: &Transformer,
        max_length: usize,
        unit_length: bool,
    ) -> Result<(), Error> {
        let layer = collect(encoder.head());
        check_finite(&layer)?;
        self.write(folder, &collect(encoder.body()))?;
        let [width, outputs] = encoder.head().weight.dims();
        let is = |pooling| encoder.pooling() == pooling;
        let (pooling, head) = (folder.join(POOLING), folder.join(HEAD));
        let own = json!({ "max_seq_length": max_length, "do_lower_case": false });
        write_json(folder, BERT, &own)?;
        // candidates are ranked by inner products
        let ranking =
            json!({ "prompts": {}, "default_prompt_name": null, "similarity_fn_name": "dot" });
        write_json(folder, SENTENCES, &ranking)?;
        let modes = json!({
            "word_embedding_dimension": width,
            "pooling_mode_cls_token": is(Pooling::First),
            "pooling_mode_mean_tokens": is(Pooling::Mean),
            "pooling_mode_max_tokens": is(Pooling::Max),
            "pooling_mode_mean_sqrt_len_tokens": false,
        });
        write_json(&pooling, CONFIG, &modes)?;
        let sizes = json!({
            "in_features": width,
            "out_features": outputs,
            "bias": true,
            "activation_function": "torch.nn.modules.linear.Identity",
        });
        write_json(&head, CONFIG, &sizes)?;
        // PyTorch's linear layers are `[out, in]`
        let weight = transposed(&layer["weight"].values, outputs);
        let tensors = [
            Tensor::f32("linear.weight", &[outputs, width], &weight),
            Tensor::f32("linear.bias", &[outputs], &layer["bias"].values),
        ];
        write_weights(&head, KIND, &tensors)?;
        let modules = [
            ("", "Transformer"),
            (POOLING, "Pooling"),
            (HEAD, "Dense"),
            ("3_Normalize", "Normalize"),
        ];
        let modules = &modules[..if unit_length { 4 } else { 3 }];
        let entry = |(at, (path, class)): (usize, &(&str, &str))| {
            let class = format!("sentence_transformers.models.{class}");
            json!({ "idx": at, "name": at.to_string(), "path": path, "type": class })
        };
        write_json(folder, MODULES, &modules.iter().enumerate().map(entry).collect())
    }
}

/// Whether [`Pretrained::export`] gives a file, or a folder, this name.
pub fn is_exported(name: &str) -> bool {
    let body = [CONFIG, TOKENIZER, WEIGHTS];
    let layers = [BERT, SENTENCES, MODULES, POOLING, HEAD];
    body.iter().chain(&COMPANIONS).chain(&layers).any(|own| *own == name)
}

fn write_json(folder: &Path, name: &str, value: &Value) -> Result<(), Error> {
    create(folder)?;
    write_bytes(&folder.join(name), format!("{value:#}\n").as_bytes())
}
