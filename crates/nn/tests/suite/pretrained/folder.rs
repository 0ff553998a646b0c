//! A small made-up encoder's folder, to be changed before it is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr_nn::pretrained::Pretrained;
use half::{bf16, f16};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

pub const VOCABULARY: [&str; 16] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "c", "##a", "##c", "é", "e", "中", "文",
    ".", ",", "the",
];

/// Returns the element k of the made-up tensor of this name: multiples of 1/256 in (-0.5, 0.5), which 16-bit
/// floats hold exactly.
pub fn value(name: &str, k: usize) -> f32 {
    let h: usize = name.bytes().map(usize::from).sum();
    (((k * 37 + h * 11) % 251) as f32 - 125.0) / 256.0
}

/// Shape and values.
pub type Values = (Vec<usize>, Vec<f32>);

/// The content of a pretrained folder. It lies in a temporary folder of its own, removed at the end.
pub struct Fixture {
    pub config: Value,
    /// Files that are neither configuration nor weights.
    pub files: BTreeMap<&'static str, String>,
    pub tensors: BTreeMap<String, Values>,
    pub dtype: Dtype,
    pub folder: tempfile::TempDir,
}

impl Fixture {
    /// Creates a BERT of width 4 with two layers, two heads and 16 tokens.
    pub fn bert() -> Self {
        let config = json!({
            "model_type": "bert", "vocab_size": 16, "hidden_size": 4, "num_hidden_layers": 2,
            "num_attention_heads": 2, "intermediate_size": 6, "max_position_embeddings": 8,
            "type_vocab_size": 2, "hidden_act": "gelu", "pad_token_id": 0, "layer_norm_eps": 1e-12,
            "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.2,
        });
        Self {
            config,
            files: BTreeMap::from([("vocab.txt", VOCABULARY.join("\n") + "\n")]),
            tensors: tensors("", 8, 2),
            dtype: Dtype::F32,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Creates a RoBERTa of the same sizes: no second token type, positions from `pad_token_id + 1`, a
    /// byte-pair tokenizer whose file asks for padding and truncation.
    pub fn roberta() -> Self {
        let mut fixture = Self::bert();
        fixture.set("model_type", "roberta".into());
        fixture.set("pad_token_id", 1.into());
        fixture.set("type_vocab_size", 1.into());
        fixture.set("max_position_embeddings", 10.into());
        fixture.tensors = tensors("roberta.", 10, 1);
        let special = |(id, content)| {
            json!({"id": id, "content": content, "single_word": false, "lstrip": false,
                   "rstrip": false, "normalized": false, "special": true})
        };
        let added = [(0, "<s>"), (1, "<pad>"), (2, "</s>"), (3, "<unk>")].map(special);
        let tokenizer = json!({
            "version": "1.0",
            "truncation":
                {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
            "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null,
                        "pad_id": 1, "pad_type_id": 0, "pad_token": "<pad>"},
            "added_tokens": added,
            "normalizer": null,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                              "use_regex": true},
            "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
                               "trim_offsets": true, "add_prefix_space": false},
            "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                        "use_regex": true},
            "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>",
                      "continuing_subword_prefix": "", "end_of_word_suffix": "",
                      "fuse_unk": false, "byte_fallback": false,
                      "vocab": {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "c": 5,
                                "Ġ": 6, "Ġa": 7, "ac": 8},
                      "merges": [["Ġ", "a"], ["a", "c"]]},
        });
        fixture.files = BTreeMap::from([("tokenizer.json", tokenizer.to_string())]);
        fixture
    }

    /// Sets a key of the configuration; null removes it.
    pub fn set(&mut self, key: &str, value: Value) {
        let config = self.config.as_object_mut().unwrap();
        match value {
            Value::Null => config.remove(key),
            value => config.insert(key.into(), value),
        };
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes all but the weights.
    pub fn write_description(&self) -> &Path {
        std::fs::write(self.file("config.json"), self.config.to_string()).unwrap();
        for (name, text) in &self.files {
            std::fs::write(self.file(name), text).unwrap();
        }
        self.path()
    }

    /// Writes all, the weights as model.safetensors.
    pub fn write(&self) -> &Path {
        write_safetensors(&self.file("model.safetensors"), self.dtype, &self.tensors);
        self.write_description()
    }

    pub fn open(&self) -> Result<Pretrained, dsokr_nn::Error> {
        Pretrained::open(self.write())
    }
}

/// Returns all tensors of the made-up body.
fn tensors(prefix: &str, positions: usize, types: usize) -> BTreeMap<String, Values> {
    let d = 4;
    let ff = 6;
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![16, d]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![positions, d]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![types, d]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![d]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![d]),
    ];
    for i in 0..2 {
        let matrices = [
            ("attention.self.query", d, d),
            ("attention.self.key", d, d),
            ("attention.self.value", d, d),
            ("attention.output.dense", d, d),
            ("intermediate.dense", ff, d),
            ("output.dense", d, ff),
        ];
        for (name, outputs, inputs) in matrices {
            shapes.push((format!("encoder.layer.{i}.{name}.weight"), vec![outputs, inputs]));
            shapes.push((format!("encoder.layer.{i}.{name}.bias"), vec![outputs]));
        }
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            shapes.push((format!("encoder.layer.{i}.{name}.weight"), vec![d]));
            shapes.push((format!("encoder.layer.{i}.{name}.bias"), vec![d]));
        }
    }
    let filled = |(name, shape): (String, Vec<usize>)| {
        let values = (0..shape.iter().product()).map(|k| value(&name, k)).collect();
        (format!("{prefix}{name}"), (shape, values))
    };
    shapes.into_iter().map(filled).collect()
}

/// Writes the small files of a model into a folder, as a run keeps them.
pub fn write_files(model: &Pretrained, folder: &Path) {
    for (name, text) in model.files() {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

pub fn write_safetensors(path: &Path, dtype: Dtype, tensors: &BTreeMap<String, Values>) {
    let encode = |v: &f32| match dtype {
        Dtype::F16 => f16::from_f32(*v).to_le_bytes().to_vec(),
        Dtype::BF16 => bf16::from_f32(*v).to_le_bytes().to_vec(),
        Dtype::F64 => f64::from(*v).to_le_bytes().to_vec(),
        _ => v.to_le_bytes().to_vec(),
    };
    let encoded: Vec<(&String, &Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, (shape, values))| (name, shape, values.iter().flat_map(encode).collect()))
        .collect();
    let views = encoded.iter().map(|(name, shape, bytes)| {
        (name.as_str(), TensorView::new(dtype, shape.to_vec(), bytes).unwrap())
    });
    std::fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}
