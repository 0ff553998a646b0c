//! The families of models, and what their config.json and their weight files call their parts.

use serde_json::Value;

use super::differences;
use super::json::JsonFile;
use crate::error::Error;
use crate::transformer::{Activation, Architecture};

/// A family of models.
#[derive(Debug)]
pub(super) struct Family {
    /// `model_type` in config.json.
    pub(super) name: &'static str,
    /// Class of the body in transformers.
    pub(super) class: &'static str,
    pub(super) keys: &'static Keys,
    pub(super) names: &'static Names,
    pub(super) vocabulary: Vocabulary,
    /// The class that transformers has for the tokenizers of a tokenizer.json, without the ending `Fast`; none for a
    /// family whose files it takes as they are.
    pub(super) tokenizer_class: Option<&'static str>,
    /// Whether transformers takes a tokenizer.json as it is where a folder names a class too.
    pub(super) ignores_class: bool,
    /// Whether [`differences`](Self::differences) reads `position_embedding_type`, which of other families is null or
    /// `absolute`.
    pub(super) has_position_kinds: bool,
    /// `model_type` in what is written, where it is not the family's name.
    pub(super) written_as: Option<&'static str>,
    /// Whether the keys are those of the model's own code, which the class in transformers does not know.
    pub(super) has_own_keys: bool,
    /// Adds what is different from BERT to an architecture of the sizes in config.json.
    pub(super) differences: fn(&JsonFile, &mut Architecture) -> Result<(), Error>,
}

/// The tokenizer that a family's vocabulary makes without a tokenizer.json.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vocabulary {
    /// vocab.txt has pieces of words, and texts are enclosed in these tokens. The third stands for masked tokens, and the
    /// last is padding.
    WordPieces([&'static str; 4]),
    /// vocab.json and merges.txt have pairs of bytes.
    BytePairs,
    /// vocab.txt has one letter a line, such as amino acids.
    Letters,
    /// No form of a vocabulary that is known.
    Unknown,
}

/// The class of BERT's tokenizers.
pub(super) const BERT_TOKENIZER: &str = "BertTokenizer";
/// The class of MPNet's, which has special tokens of its own.
pub(super) const MPNET_TOKENIZER: &str = "MPNetTokenizer";
/// The class of RoBERTa's.
pub(super) const ROBERTA_TOKENIZER: &str = "RobertaTokenizer";
/// The class of ALBERT's.
pub(super) const ALBERT_TOKENIZER: &str = "AlbertTokenizer";
/// The class of XLM-RoBERTa's.
pub(super) const XLM_ROBERTA_TOKENIZER: &str = "XLMRobertaTokenizer";
/// The class of CamemBERT's.
pub(super) const CAMEMBERT_TOKENIZER: &str = "CamembertTokenizer";
/// The class of T5's, which put no token before a text.
pub(super) const T5_TOKENIZER: &str = "T5Tokenizer";
/// The class of Llama's.
pub(super) const LLAMA_TOKENIZER: &str = "LlamaTokenizer";
/// The class of Gemma's.
pub(super) const GEMMA_TOKENIZER: &str = "GemmaTokenizer";
/// The class of Qwen's.
pub(super) const QWEN2_TOKENIZER: &str = "Qwen2Tokenizer";

const BERT_TOKENS: Vocabulary = Vocabulary::WordPieces(["[CLS]", "[SEP]", "[MASK]", "[PAD]"]);

/// What a family's config.json calls the sizes and rates.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) width: &'static str,
    pub(super) heads: &'static str,
    pub(super) head: HeadWidth,
    pub(super) layers: &'static str,
    pub(super) feed_forward: &'static str,
    /// The number of positions; `None` for a family without a bound.
    pub(super) positions: Option<&'static str>,
    pub(super) activation: &'static str,
    pub(super) epsilon: &'static str,
    /// The share of units that are dropped; `None` for a family that drops probabilities of attention alone.
    pub(super) dropout: Option<&'static str>,
    pub(super) attention_dropout: &'static str,
    /// The number of token types; `None` for a family without them.
    pub(super) types: Option<&'static str>,
    pub(super) defaults: Defaults,
}

/// Where a family's config.json says how wide a head is.
#[derive(Clone, Copy, Debug)]
pub(super) enum HeadWidth {
    /// Nowhere: heads share the width.
    Shared,
    /// In this key.
    Key(&'static str),
    /// In this key, unless heads share the width.
    KeyOrShared(&'static str),
}

/// What a config.json means that does not say it.
#[derive(Debug)]
pub(super) struct Defaults {
    pub(super) activation: Activation,
    pub(super) epsilon: f64,
    /// Both shares of dropout.
    pub(super) dropout: f32,
}

const BERT_DEFAULTS: Defaults =
    Defaults { activation: Activation::Gelu, epsilon: 1e-12, dropout: 0.1 };

const BERT_KEYS: Keys = Keys {
    width: "hidden_size",
    heads: "num_attention_heads",
    head: HeadWidth::Shared,
    layers: "num_hidden_layers",
    feed_forward: "intermediate_size",
    positions: Some("max_position_embeddings"),
    activation: "hidden_act",
    epsilon: "layer_norm_eps",
    dropout: Some("hidden_dropout_prob"),
    attention_dropout: "attention_probs_dropout_prob",
    types: Some("type_vocab_size"),
    defaults: BERT_DEFAULTS,
};

/// What a family's weight files call the parts of a body, without `.weight` and `.bias`. Of layers, what follows
/// [`layer`](Self::layer).
#[derive(Debug)]
pub(super) struct Names {
    pub(super) tokens: &'static str,
    /// Another name of the table of tokens, which files may have beside it or in its place.
    pub(super) tokens_again: Option<&'static str>,
    pub(super) positions: &'static str,
    pub(super) types: &'static str,
    pub(super) norm: &'static str,
    pub(super) projection: &'static str,
    /// Numbers or vectors for distances.
    pub(super) relative: &'static str,
    /// The normalisation of vectors for distances.
    pub(super) relative_norm: &'static str,
    pub(super) final_norm: &'static str,
    /// What precedes the parts of a layer, whose number is in the place of `#`.
    pub(super) layer: &'static str,
    /// Queries, keys and values, one below the other in one tensor or in three.
    pub(super) qkv: &'static [&'static str],
    /// The normalisations of each head of queries and of keys.
    pub(super) query_norm: &'static str,
    pub(super) key_norm: &'static str,
    pub(super) output: &'static str,
    pub(super) attention_norm: &'static str,
    /// The normalisation of what attention adds to its input.
    pub(super) attention_result_norm: &'static str,
    /// The first linear layer of the feed-forward layer.
    pub(super) up: &'static [&'static str],
    /// That layer where units are gated: in one tensor, or in one of units and one of their factors.
    pub(super) gated_up: &'static [&'static str],
    pub(super) down: &'static str,
    pub(super) feed_forward_norm: &'static str,
    /// The normalisation of what the feed-forward layer adds to its input.
    pub(super) feed_forward_result_norm: &'static str,
    /// How names of heads of pre-training and of other tasks start.
    pub(super) unused: &'static [&'static str],
}

const BERT_NAMES: Names = Names {
    tokens: "embeddings.word_embeddings",
    tokens_again: None,
    positions: "embeddings.position_embeddings",
    types: "embeddings.token_type_embeddings",
    norm: "embeddings.LayerNorm",
    projection: "embeddings_project",
    relative: "encoder.relative_attention_bias",
    relative_norm: "encoder.LayerNorm",
    final_norm: "encoder.emb_layer_norm_after",
    layer: "encoder.layer.#.",
    qkv: &["attention.self.query", "attention.self.key", "attention.self.value"],
    query_norm: "attention.self.query_norm",
    key_norm: "attention.self.key_norm",
    output: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    attention_result_norm: "attention.output.result_norm",
    up: &["intermediate.dense"],
    gated_up: &[],
    down: "output.dense",
    feed_forward_norm: "output.LayerNorm",
    feed_forward_result_norm: "output.result_norm",
    unused: &["cls.", "lm_head.", "classifier.", "qa_outputs."],
};

/// What the others differ from.
const BERT: Family = Family {
    name: "bert",
    class: "BertModel",
    keys: &BERT_KEYS,
    names: &BERT_NAMES,
    vocabulary: BERT_TOKENS,
    tokenizer_class: Some(BERT_TOKENIZER),
    ignores_class: false,
    has_position_kinds: false,
    written_as: None,
    has_own_keys: false,
    differences: |_, _| Ok(()),
};

/// All families, BERT first.
pub(super) static FAMILIES: [Family; 23] = [
    BERT,
    Family {
        name: "roberta",
        class: "RobertaModel",
        vocabulary: Vocabulary::BytePairs,
        tokenizer_class: Some(ROBERTA_TOKENIZER),
        differences: differences::after_padding,
        ..BERT
    },
    Family {
        name: "data2vec-text",
        class: "Data2VecTextModel",
        vocabulary: Vocabulary::BytePairs,
        tokenizer_class: Some(ROBERTA_TOKENIZER),
        differences: differences::after_padding,
        ..BERT
    },
    Family {
        name: "xlm-roberta",
        class: "XLMRobertaModel",
        vocabulary: Vocabulary::Unknown,
        tokenizer_class: Some(XLM_ROBERTA_TOKENIZER),
        differences: differences::after_padding,
        ..BERT
    },
    Family {
        name: "camembert",
        class: "CamembertModel",
        vocabulary: Vocabulary::Unknown,
        tokenizer_class: Some(CAMEMBERT_TOKENIZER),
        differences: differences::after_padding,
        ..BERT
    },
    Family {
        name: "dpr",
        class: "BertModel",
        written_as: Some("bert"),
        differences: differences::dpr,
        ..BERT
    },
    Family { name: "ernie", class: "ErnieModel", differences: differences::ernie, ..BERT },
    Family {
        name: "distilbert",
        class: "DistilBertModel",
        keys: &Keys {
            width: "dim",
            heads: "n_heads",
            layers: "n_layers",
            feed_forward: "hidden_dim",
            activation: "activation",
            dropout: Some("dropout"),
            attention_dropout: "attention_dropout",
            types: None,
            ..BERT_KEYS
        },
        names: &Names {
            layer: "transformer.layer.#.",
            qkv: &["attention.q_lin", "attention.k_lin", "attention.v_lin"],
            output: "attention.out_lin",
            attention_norm: "sa_layer_norm",
            up: &["ffn.lin1"],
            down: "ffn.lin2",
            feed_forward_norm: "output_layer_norm",
            unused: &["vocab_", "pre_classifier.", "classifier.", "qa_outputs."],
            ..BERT_NAMES
        },
        // transformers does not read it
        differences: |_, architecture| {
            architecture.epsilon = 1e-12;
            Ok(())
        },
        ..BERT
    },
    Family {
        name: "mpnet",
        class: "MPNetModel",
        keys: &Keys { types: None, ..BERT_KEYS },
        names: &Names {
            qkv: &["attention.attn.q", "attention.attn.k", "attention.attn.v"],
            output: "attention.attn.o",
            attention_norm: "attention.LayerNorm",
            ..BERT_NAMES
        },
        vocabulary: Vocabulary::WordPieces(["<s>", "</s>", "<mask>", "<pad>"]),
        tokenizer_class: Some(MPNET_TOKENIZER),
        differences: differences::mpnet,
        ..BERT
    },
    Family {
        name: "electra",
        class: "ElectraModel",
        names: &Names {
            unused: &["discriminator_predictions.", "generator_", "classifier.", "qa_outputs."],
            ..BERT_NAMES
        },
        differences: differences::electra,
        ..BERT
    },
    Family {
        name: "albert",
        class: "AlbertModel",
        keys: &Keys {
            defaults: Defaults { activation: Activation::GeluTanh, dropout: 0.0, ..BERT_DEFAULTS },
            ..BERT_KEYS
        },
        names: &Names {
            projection: "encoder.embedding_hidden_mapping_in",
            layer: "encoder.albert_layer_groups.#.albert_layers.0.",
            qkv: &["attention.query", "attention.key", "attention.value"],
            output: "attention.dense",
            attention_norm: "attention.LayerNorm",
            up: &["ffn"],
            down: "ffn_output",
            feed_forward_norm: "full_layer_layer_norm",
            unused: &["predictions.", "sop_classifier.", "classifier.", "qa_outputs."],
            ..BERT_NAMES
        },
        vocabulary: Vocabulary::Unknown,
        tokenizer_class: Some(ALBERT_TOKENIZER),
        differences: differences::albert,
        ..BERT
    },
    Family {
        name: "deberta-v2",
        class: "DebertaV2Model",
        keys: &Keys {
            types: None,
            defaults: Defaults { epsilon: 1e-7, ..BERT_DEFAULTS },
            ..BERT_KEYS
        },
        names: &Names {
            relative: "encoder.rel_embeddings",
            qkv: &[
                "attention.self.query_proj",
                "attention.self.key_proj",
                "attention.self.value_proj",
            ],
            unused: &["cls.", "lm_predictions.", "mask_predictions.", "classifier.", "qa_outputs."],
            ..BERT_NAMES
        },
        vocabulary: Vocabulary::Unknown,
        tokenizer_class: None,
        differences: differences::deberta,
        ..BERT
    },
    Family {
        name: "esm",
        class: "EsmModel",
        keys: &Keys { types: None, ..BERT_KEYS },
        names: &Names {
            norm: "embeddings.layer_norm",
            attention_norm: "attention.LayerNorm",
            feed_forward_norm: "LayerNorm",
            unused: &["contact_head.", "lm_head.", "classifier.", "qa_outputs."],
            ..BERT_NAMES
        },
        vocabulary: Vocabulary::Letters,
        tokenizer_class: None,
        has_position_kinds: true,
        differences: differences::esm,
        ..BERT
    },
    Family {
        name: "modernbert",
        class: "ModernBertModel",
        keys: &Keys {
            activation: "hidden_activation",
            epsilon: "norm_eps",
            dropout: Some("embedding_dropout"),
            attention_dropout: "attention_dropout",
            types: None,
            defaults: Defaults { epsilon: 1e-5, dropout: 0.0, ..BERT_DEFAULTS },
            ..BERT_KEYS
        },
        names: &Names {
            tokens: "embeddings.tok_embeddings",
            norm: "embeddings.norm",
            final_norm: "final_norm",
            layer: "layers.#.",
            qkv: &["attn.Wqkv"],
            output: "attn.Wo",
            attention_norm: "attn_norm",
            gated_up: &["mlp.Wi"],
            down: "mlp.Wo",
            feed_forward_norm: "mlp_norm",
            unused: &["head.", "decoder.", "classifier."],
            ..BERT_NAMES
        },
        vocabulary: Vocabulary::Unknown,
        tokenizer_class: None,
        // transformers 5 knows folders of this family whose class is wrong
        ignores_class: true,
        differences: differences::modernbert,
        ..BERT
    },
    Family {
        name: "nomic_bert",
        class: "NomicBertModel",
        keys: &Keys {
            defaults: Defaults { activation: Activation::Silu, dropout: 0.0, ..BERT_DEFAULTS },
            ..BERT_KEYS
        },
        names: &NOMIC_NAMES,
        differences: differences::nomic,
        ..BERT
    },
    // with the keys of the model's own code, which its folders on the hub have
    Family {
        name: "nomic_bert",
        class: "NomicBertModel",
        keys: &Keys {
            width: "n_embd",
            heads: "n_head",
            layers: "n_layer",
            feed_forward: "n_inner",
            positions: Some("n_positions"),
            epsilon: "layer_norm_epsilon",
            dropout: Some("resid_pdrop"),
            attention_dropout: "attn_pdrop",
            // the defaults of GPT-2, whose configuration this one extends
            defaults: Defaults { epsilon: 1e-5, ..BERT_DEFAULTS },
            ..BERT_KEYS
        },
        names: &NOMIC_NAMES,
        has_own_keys: true,
        differences: differences::nomic_of_hub,
        ..BERT
    },
    T5,
    Family { name: "mt5", class: "MT5EncoderModel", differences: differences::mt5, ..T5 },
    LLAMA,
    Family { name: "mistral", class: "MistralModel", differences: differences::mistral, ..LLAMA },
    Family {
        name: "qwen2",
        class: "Qwen2Model",
        keys: &Keys { head: HeadWidth::Shared, ..LLAMA_KEYS },
        tokenizer_class: Some(QWEN2_TOKENIZER),
        differences: differences::qwen2,
        ..LLAMA
    },
    Family {
        name: "qwen3",
        class: "Qwen3Model",
        keys: &Keys { head: HeadWidth::Key("head_dim"), ..LLAMA_KEYS },
        tokenizer_class: Some(QWEN2_TOKENIZER),
        differences: differences::qwen3,
        ..LLAMA
    },
    Family {
        name: "gemma3_text",
        class: "Gemma3TextModel",
        keys: &Keys {
            head: HeadWidth::Key("head_dim"),
            activation: "hidden_activation",
            defaults: Defaults { activation: Activation::GeluTanh, epsilon: 1e-6, dropout: 0.0 },
            ..LLAMA_KEYS
        },
        names: &Names {
            attention_result_norm: "post_attention_layernorm",
            feed_forward_norm: "pre_feedforward_layernorm",
            feed_forward_result_norm: "post_feedforward_layernorm",
            ..LLAMA_NAMES
        },
        tokenizer_class: Some(GEMMA_TOKENIZER),
        differences: differences::gemma3,
        ..LLAMA
    },
];

const T5: Family = Family {
    name: "t5",
    class: "T5EncoderModel",
    keys: &T5_KEYS,
    names: &T5_NAMES,
    vocabulary: Vocabulary::Unknown,
    tokenizer_class: Some(T5_TOKENIZER),
    differences: differences::t5,
    ..BERT
};

const T5_KEYS: Keys = Keys {
    width: "d_model",
    heads: "num_heads",
    head: HeadWidth::Key("d_kv"),
    layers: "num_layers",
    feed_forward: "d_ff",
    positions: None,
    activation: "dense_act_fn",
    epsilon: "layer_norm_epsilon",
    dropout: Some("dropout_rate"),
    attention_dropout: "dropout_rate",
    types: None,
    defaults: Defaults { activation: Activation::Relu, epsilon: 1e-6, dropout: 0.1 },
};

const T5_NAMES: Names = Names {
    tokens: "shared",
    tokens_again: Some("encoder.embed_tokens"),
    relative: "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
    final_norm: "encoder.final_layer_norm",
    layer: "encoder.block.#.layer.",
    qkv: &["0.SelfAttention.q", "0.SelfAttention.k", "0.SelfAttention.v"],
    output: "0.SelfAttention.o",
    attention_norm: "0.layer_norm",
    up: &["1.DenseReluDense.wi"],
    gated_up: &["1.DenseReluDense.wi_0", "1.DenseReluDense.wi_1"],
    down: "1.DenseReluDense.wo",
    feed_forward_norm: "1.layer_norm",
    unused: &["decoder.", "lm_head.", "classification_head.", "classifier.", "qa_outputs."],
    ..BERT_NAMES
};

const NOMIC_NAMES: Names = Names {
    norm: "emb_ln",
    layer: "encoder.layers.#.",
    qkv: &["attn.Wqkv"],
    output: "attn.out_proj",
    attention_norm: "norm1",
    // activated units, and their factors
    gated_up: &["mlp.fc12", "mlp.fc11"],
    down: "mlp.fc2",
    feed_forward_norm: "norm2",
    ..BERT_NAMES
};

const LLAMA: Family = Family {
    name: "llama",
    class: "LlamaModel",
    keys: &LLAMA_KEYS,
    names: &LLAMA_NAMES,
    vocabulary: Vocabulary::Unknown,
    tokenizer_class: Some(LLAMA_TOKENIZER),
    differences: differences::llama,
    ..BERT
};

const LLAMA_KEYS: Keys = Keys {
    head: HeadWidth::KeyOrShared("head_dim"),
    epsilon: "rms_norm_eps",
    dropout: None,
    attention_dropout: "attention_dropout",
    types: None,
    defaults: Defaults { activation: Activation::Silu, epsilon: 1e-6, dropout: 0.0 },
    ..BERT_KEYS
};

const LLAMA_NAMES: Names = Names {
    tokens: "embed_tokens",
    final_norm: "norm",
    layer: "layers.#.",
    qkv: &["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    query_norm: "self_attn.q_norm",
    key_norm: "self_attn.k_norm",
    output: "self_attn.o_proj",
    attention_norm: "input_layernorm",
    gated_up: &["mlp.gate_proj", "mlp.up_proj"],
    down: "mlp.down_proj",
    feed_forward_norm: "post_attention_layernorm",
    unused: &["lm_head.", "score.", "classifier.", "qa_outputs."],
    ..BERT_NAMES
};

/// Returns the family of a config.json, if there is one. Of families of one name it is the one whose keys there are.
pub(super) fn of(file: &JsonFile) -> Option<&'static Family> {
    let name = file.json.get("model_type").and_then(Value::as_str)?;
    let mut named = FAMILIES.iter().filter(|family| family.name == name);
    let first = named.clone().next();
    named.find(|family| file.json.contains_key(family.keys.width)).or(first)
}

/// Returns the names of all families, for messages.
pub(super) fn names() -> String {
    let mut names: Vec<String> =
        FAMILIES.iter().map(|family| format!("{:?}", family.name)).collect();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::FAMILIES;
    use crate::pretrained::Pretrained;

    /// Families with the layers of BERT and the names of its tensors.
    const LIKE_BERT: [&str; 7] =
        ["bert", "roberta", "data2vec-text", "xlm-roberta", "camembert", "dpr", "ernie"];

    /// What the folders of `tests/golden` have is compared with transformers.
    #[test]
    fn every_family_that_differs_from_bert_has_a_golden_folder() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let folders = golden.read_dir().unwrap().map(|entry| entry.unwrap().path());
        let folders = folders.filter(|path| path.join("expected.safetensors").exists());
        let in_golden: BTreeSet<&str> =
            folders.map(|path| Pretrained::open(&path).unwrap().config.family.name).collect();
        let others = FAMILIES.iter().filter(|family| !LIKE_BERT.contains(&family.name));
        assert_eq!(others.map(|family| family.name).collect::<BTreeSet<_>>(), in_golden);
    }
}
