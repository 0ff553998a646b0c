//! The families of models: how each differs from BERT, and what its config.json and its weight files call their parts.

use serde_json::Value;

use super::config::JsonFile;
use crate::error::Error;
use crate::transformer::{Activation, Architecture, MaskedTokens, NormPlace, Positions};

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
    /// None is known.
    Unknown,
}

const BERT_TOKENS: Vocabulary = Vocabulary::WordPieces(["[CLS]", "[SEP]", "[MASK]", "[PAD]"]);

/// What a family's config.json calls the sizes and rates.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) width: &'static str,
    pub(super) heads: &'static str,
    pub(super) layers: &'static str,
    pub(super) feed_forward: &'static str,
    pub(super) positions: &'static str,
    pub(super) activation: &'static str,
    pub(super) epsilon: &'static str,
    pub(super) dropout: &'static str,
    pub(super) attention_dropout: &'static str,
    /// The number of token types; `None` for a family without them.
    pub(super) types: Option<&'static str>,
}

const BERT_KEYS: Keys = Keys {
    width: "hidden_size",
    heads: "num_attention_heads",
    layers: "num_hidden_layers",
    feed_forward: "intermediate_size",
    positions: "max_position_embeddings",
    activation: "hidden_act",
    epsilon: "layer_norm_eps",
    dropout: "hidden_dropout_prob",
    attention_dropout: "attention_probs_dropout_prob",
    types: Some("type_vocab_size"),
};

/// What a family's weight files call the parts of a body, without `.weight` and `.bias`. Of layers, what follows
/// [`layer`](Self::layer).
#[derive(Debug)]
pub(super) struct Names {
    pub(super) tokens: &'static str,
    pub(super) positions: &'static str,
    pub(super) types: &'static str,
    pub(super) norm: &'static str,
    pub(super) projection: &'static str,
    pub(super) relative: &'static str,
    pub(super) final_norm: &'static str,
    /// What precedes the parts of a layer, whose number is in the place of `#`.
    pub(super) layer: &'static str,
    /// Queries, keys and values, one below the other in one tensor or in three.
    pub(super) qkv: &'static [&'static str],
    pub(super) output: &'static str,
    pub(super) attention_norm: &'static str,
    /// The first linear layer of the feed-forward layer, in one tensor, or in one of units and one of their factors.
    pub(super) up: &'static [&'static str],
    pub(super) down: &'static str,
    pub(super) feed_forward_norm: &'static str,
    /// How names of heads of pre-training and of other tasks start.
    pub(super) unused: &'static [&'static str],
}

const BERT_NAMES: Names = Names {
    tokens: "embeddings.word_embeddings",
    positions: "embeddings.position_embeddings",
    types: "embeddings.token_type_embeddings",
    norm: "embeddings.LayerNorm",
    projection: "embeddings_project",
    relative: "encoder.relative_attention_bias",
    final_norm: "encoder.emb_layer_norm_after",
    layer: "encoder.layer.#.",
    qkv: &["attention.self.query", "attention.self.key", "attention.self.value"],
    output: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    up: &["intermediate.dense"],
    down: "output.dense",
    feed_forward_norm: "output.LayerNorm",
    unused: &["cls.", "lm_head.", "classifier.", "qa_outputs."],
};

/// All families, BERT first.
pub(super) static FAMILIES: [Family; 12] = [
    Family {
        name: "bert",
        class: "BertModel",
        keys: &BERT_KEYS,
        names: &BERT_NAMES,
        vocabulary: BERT_TOKENS,
        differences: |_, _| Ok(()),
    },
    Family {
        name: "roberta",
        class: "RobertaModel",
        keys: &BERT_KEYS,
        names: &BERT_NAMES,
        vocabulary: Vocabulary::BytePairs,
        differences: after_padding,
    },
    Family {
        name: "xlm-roberta",
        class: "XLMRobertaModel",
        keys: &BERT_KEYS,
        names: &BERT_NAMES,
        vocabulary: Vocabulary::Unknown,
        differences: after_padding,
    },
    Family {
        name: "camembert",
        class: "CamembertModel",
        keys: &BERT_KEYS,
        names: &BERT_NAMES,
        vocabulary: Vocabulary::Unknown,
        differences: after_padding,
    },
    Family {
        name: "distilbert",
        class: "DistilBertModel",
        keys: &Keys {
            width: "dim",
            heads: "n_heads",
            layers: "n_layers",
            feed_forward: "hidden_dim",
            activation: "activation",
            dropout: "dropout",
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
        vocabulary: BERT_TOKENS,
        differences: |_, _| Ok(()),
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
        differences: mpnet,
    },
    Family {
        name: "electra",
        class: "ElectraModel",
        keys: &BERT_KEYS,
        names: &Names {
            unused: &["discriminator_predictions.", "generator_", "classifier.", "qa_outputs."],
            ..BERT_NAMES
        },
        vocabulary: BERT_TOKENS,
        differences: |file, architecture| {
            let width = file.size("embedding_size")?;
            if width != architecture.width {
                architecture.embedding_width = width;
            }
            Ok(())
        },
    },
    Family {
        name: "albert",
        class: "AlbertModel",
        keys: &BERT_KEYS,
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
        differences: albert,
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
        differences: esm,
    },
    Family {
        name: "modernbert",
        class: "ModernBertModel",
        keys: &Keys {
            activation: "hidden_activation",
            epsilon: "norm_eps",
            dropout: "embedding_dropout",
            attention_dropout: "attention_dropout",
            types: None,
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
            up: &["mlp.Wi"],
            down: "mlp.Wo",
            feed_forward_norm: "mlp_norm",
            unused: &["head.", "decoder.", "classifier."],
            ..BERT_NAMES
        },
        vocabulary: Vocabulary::Unknown,
        differences: modernbert,
    },
    Family {
        name: "nomic_bert",
        class: "NomicBertModel",
        keys: &BERT_KEYS,
        names: &NOMIC_NAMES,
        vocabulary: BERT_TOKENS,
        differences: nomic,
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
            positions: "n_positions",
            epsilon: "layer_norm_epsilon",
            dropout: "resid_pdrop",
            attention_dropout: "attn_pdrop",
            ..BERT_KEYS
        },
        names: &NOMIC_NAMES,
        vocabulary: BERT_TOKENS,
        differences: nomic_of_hub,
    },
];

const NOMIC_NAMES: Names = Names {
    norm: "emb_ln",
    layer: "encoder.layers.#.",
    qkv: &["attn.Wqkv"],
    output: "attn.out_proj",
    attention_norm: "norm1",
    // activated units, and their factors
    up: &["mlp.fc12", "mlp.fc11"],
    down: "mlp.fc2",
    feed_forward_norm: "norm2",
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

/// Positions follow the id of the padding token, as in fairseq.
fn after_padding(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    let first = file.integer("pad_token_id", 0..=u64::from(u32::MAX), Some(1))? + 1;
    if architecture.positions <= first {
        let allowed = format!("at least {}, pad_token_id + 2", first + 1);
        return Err(file.refuse("max_position_embeddings", &allowed));
    }
    architecture.first_position = first;
    Ok(())
}

fn mpnet(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    // transformers uses 32 whatever the file says, and its padding is always token 1
    file.only("relative_attention_num_buckets", |value| value == 32, "32")?;
    architecture.position_kind = Positions::LearnedAndRelative;
    architecture.first_position = 2;
    if architecture.positions <= architecture.first_position {
        return Err(file.refuse("max_position_embeddings", "at least 3"));
    }
    Ok(())
}

fn albert(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    file.only("inner_group_num", |value| value == 1, "1, one layer in each group")?;
    architecture.embedding_width = file.size("embedding_size")?;
    let layers = architecture.layers;
    architecture.own_layers = file.integer("num_hidden_groups", 1..=layers as u64, Some(1))?;
    Ok(())
}

fn esm(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    let pad = file.integer("pad_token_id", 0..=u64::from(u32::MAX), Some(1))?;
    file.only("is_folding_model", |value| value.is_null() || value == false, "false")?;
    let allowed = "\"rotary\" or \"absolute\"";
    let rotary =
        file.value("position_embedding_type", Some(false), allowed, |value| {
            match value.as_str()? {
                "rotary" => Some(true),
                "absolute" => Some(false),
                _ => None,
            }
        })?;
    if rotary {
        let base = base(file, "rope_theta", 10_000.0)?;
        architecture.position_kind = Positions::Rotary {
            base,
            local_base: base,
            reach: 0,
            local: vec![false; architecture.layers],
        };
        even_heads(file, architecture)?;
    } else {
        architecture.first_position = pad + 1;
    }
    architecture.norm_place = NormPlace::Before;
    architecture.embedding_norm = file.flag("emb_layer_norm_before", false)?;
    // the model has a function of its own, the exact GELU
    architecture.activation = Activation::Gelu;
    if file.flag("token_dropout", false)? {
        let mask = file.integer("mask_token_id", 0..=u64::from(u32::MAX), None)?;
        architecture.masked_tokens = Some(MaskedTokens { mask: mask as u32 });
    }
    Ok(())
}

fn modernbert(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    let layers = architecture.layers;
    let every = file.integer("global_attn_every_n_layers", 1..=u64::from(u32::MAX), Some(3))?;
    let allowed = format!("{layers} of \"full_attention\" and \"sliding_attention\"");
    let local = file.value("layer_types", Some(None), &allowed, |value| {
        if value.is_null() {
            return Some(None);
        }
        let kinds = value.as_array()?.iter().map(|kind| match kind.as_str()? {
            "sliding_attention" => Some(true),
            "full_attention" => Some(false),
            _ => None,
        });
        let kinds = kinds.collect::<Option<Vec<_>>>()?;
        (kinds.len() == layers).then_some(Some(kinds))
    })?;
    let window = file.integer("local_attention", 1..=u64::from(u32::MAX), Some(128))?;
    let (global, near) = rope_bases(file)?;
    architecture.position_kind = Positions::Rotary {
        base: global,
        local_base: near,
        reach: window / 2,
        local: local.unwrap_or_else(|| (0..layers).map(|layer| layer % every != 0).collect()),
    };
    even_heads(file, architecture)?;
    architecture.norm_place = NormPlace::BeforeButFirst;
    architecture.gated = true;
    architecture.norm_bias = file.flag("norm_bias", false)?;
    architecture.attention_bias = file.flag("attention_bias", false)?;
    architecture.feed_forward_bias = file.flag("mlp_bias", false)?;
    architecture.inner_dropout = file.rate("mlp_dropout", 0.0)?;
    Ok(())
}

fn nomic(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    let allowed = "an object with {\"rope_type\": \"default\", \"rope_theta\": …}";
    let base = file.value("rope_parameters", Some(NOMIC_BASE), allowed, |value| {
        rope_base(value, NOMIC_BASE)
    })?;
    let head = architecture.width / architecture.heads;
    file.only("head_dim", |value| value.is_null() || value == head, &format!("{head}"))?;
    nomic_layers(file, architecture, base)
}

fn nomic_of_hub(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    for key in [
        "prenorm",
        "qkv_proj_bias",
        "mlp_fc1_bias",
        "mlp_fc2_bias",
        "parallel_block",
        "use_rms_norm",
        "rotary_emb_interleaved",
        "causal",
    ] {
        file.only(key, |value| value.is_null() || value == false, "false")?;
    }
    file.only("rotary_emb_fraction", |value| value.as_f64() == Some(1.0), "1.0")?;
    file.only("rotary_emb_scale_base", Value::is_null, "null")?;
    architecture.activation =
        file.value("activation_function", None, "\"swiglu\" or \"geglu\"", |value| {
            match value.as_str()? {
                "swiglu" => Some(Activation::Silu),
                "geglu" => Some(Activation::Gelu),
                _ => None,
            }
        })?;
    // longer texts need angles that depend on their length
    let trained = file.integer("max_trained_positions", 1..=u64::from(u32::MAX), Some(2048))?;
    architecture.positions = architecture.positions.min(trained);
    let base = base(file, "rotary_emb_base", NOMIC_BASE)?;
    nomic_layers(file, architecture, base)
}

/// The base of the angles of Nomic's models.
const NOMIC_BASE: f64 = 1000.0;

fn nomic_layers(file: &JsonFile, architecture: &mut Architecture, base: f64) -> Result<(), Error> {
    let local = vec![false; architecture.layers];
    architecture.position_kind = Positions::Rotary { base, local_base: base, reach: 0, local };
    even_heads(file, architecture)?;
    architecture.gated = true;
    architecture.attention_bias = false;
    architecture.feed_forward_bias = false;
    Ok(())
}

/// Returns the base of an object with parameters of rotary positions, unless they change with the length of texts.
fn rope_base(parameters: &Value, default: f64) -> Option<f64> {
    if parameters.is_null() {
        return Some(default);
    }
    let is_default = parameters["rope_type"].as_str().is_none_or(|kind| kind == "default");
    let theta = match &parameters["rope_theta"] {
        Value::Null => Some(default),
        theta => theta.as_f64().filter(|theta| theta.is_finite() && *theta > 1.0),
    };
    theta.filter(|_| is_default)
}

/// Returns the base of the angles of rotary positions.
fn base(file: &JsonFile, key: &str, default: f64) -> Result<f64, Error> {
    let read = |value: &Value| value.as_f64().filter(|base| base.is_finite() && *base > 1.0);
    file.value(key, Some(default), "a number above 1", read)
}

/// Returns the bases of ModernBERT's global and local layers, which older files have in keys of their own.
fn rope_bases(file: &JsonFile) -> Result<(f64, f64), Error> {
    let old =
        (base(file, "global_rope_theta", 160_000.0)?, base(file, "local_rope_theta", 10_000.0)?);
    let allowed = "an object with {\"rope_type\": \"default\", \"rope_theta\": …} for \"full_attention\" and \
                   \"sliding_attention\"";
    file.value("rope_parameters", Some(old), allowed, |value| {
        if value.is_null() {
            return Some(old);
        }
        let of_kind = |kind: &str, default: f64| rope_base(&value[kind], default);
        Some((of_kind("full_attention", old.0)?, of_kind("sliding_attention", old.1)?))
    })
}

/// Refuses heads whose coordinates make no pairs.
fn even_heads(file: &JsonFile, architecture: &Architecture) -> Result<(), Error> {
    let head = architecture.width / architecture.heads;
    if head.is_multiple_of(2) {
        return Ok(());
    }
    let allowed = format!("a number that leaves each head an even width, and not {head}");
    Err(file.refuse("num_attention_heads", &allowed))
}
