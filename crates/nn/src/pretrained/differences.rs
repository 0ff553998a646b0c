//! How each family of models differs from BERT, as its config.json says it.

use serde_json::{Map, Value};

use super::json::JsonFile;
use crate::error::Error;
use crate::transformer::{
    Activation, Architecture, DistanceVectors, Distances, MaskedTokens, NormPlace, Positions,
};

/// The longest text in tokens of a family without positions, which nothing but memory bounds.
pub(super) const LONGEST_WITHOUT_TABLE: usize = 1 << 16;

pub(super) fn dpr(file: &JsonFile, _: &mut Architecture) -> Result<(), Error> {
    let allowed = "0: a projection behind the encoder is not supported";
    file.only_value("projection_dim", 0, allowed)
}

pub(super) fn ernie(file: &JsonFile, _: &mut Architecture) -> Result<(), Error> {
    let allowed = "false: vectors of tasks are not supported";
    file.only_value("use_task_id", false, allowed)
}

/// Returns the id of the padding token, which may be left out.
fn padding_of(file: &JsonFile) -> Result<u32, Error> {
    let allowed = "a whole number; that of RoBERTa, its relatives and ESM is 1";
    file.value("pad_token_id", Some(1), allowed, |id| u32::try_from(id.as_u64()?).ok())
}

pub(super) fn after_padding(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    start_behind(padding_of(file)?, file, architecture)
}

/// Sets positions that follow the id of the padding token, as in fairseq.
fn start_behind(
    padding: u32,
    file: &JsonFile,
    architecture: &mut Architecture,
) -> Result<(), Error> {
    let first = padding as usize + 1;
    if architecture.positions <= first {
        let allowed = format!("at least {}: the first position is row {first}", first + 1);
        return Err(file.refuse("max_position_embeddings", &allowed));
    }
    architecture.first_position = first;
    architecture.padding = Some(padding);
    Ok(())
}

pub(super) fn mpnet(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    // transformers uses 32 whatever the file says, and its padding is always token 1
    file.only("relative_attention_num_buckets", |value| value == 32, "32")?;
    architecture.position_kind = Positions::LearnedAndRelative(Distances::default());
    start_behind(1, file, architecture)
}

pub(super) fn electra(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    let width = file.size("embedding_size")?;
    if width != architecture.width {
        architecture.embedding_width = width;
    }
    Ok(())
}

pub(super) fn albert(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    file.only("inner_group_num", |value| value == 1, "1, one layer in each group")?;
    architecture.embedding_width = file.size("embedding_size")?;
    let layers = architecture.layers;
    architecture.own_layers = file.integer("num_hidden_groups", 1..=layers as u64, Some(1))?;
    Ok(())
}

pub(super) fn deberta(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    for (key, default, supported) in [
        ("relative_attention", false, true),
        ("share_att_key", false, true),
        ("position_biased_input", true, false),
    ] {
        if file.flag(key, default)? != supported {
            return Err(file.refuse(key, &format!("{supported}, as DeBERTa v2 and v3 have it")));
        }
    }
    let allowed = "\"c2p\" and \"p2c\", as DeBERTa v2 and v3 have it";
    file.value("pos_att_type", None, allowed, |value| {
        let mut kinds: Vec<String> = match value {
            Value::Array(kinds) => {
                kinds.iter().map(|kind| kind.as_str().map(str::to_owned)).collect::<Option<_>>()?
            }
            kinds => kinds.as_str()?.split('|').map(|kind| kind.trim().to_lowercase()).collect(),
        };
        kinds.sort();
        (kinds == ["c2p", "p2c"]).then_some(())
    })?;
    let allowed = "0: a convolution behind the first layer is not supported";
    file.only_value("conv_kernel_size", 0, allowed)?;
    let Architecture { width, heads, positions, .. } = *architecture;
    file.only_value("embedding_size", width, &format!("hidden_size = {width}"))?;
    let head = width / heads;
    file.only_value("attention_head_size", head, &format!("{head}"))?;
    architecture.types = file.integer("type_vocab_size", 0..=u64::from(u32::MAX), Some(0))?;
    architecture.position_kind = Positions::Disentangled(distance_vectors(file, positions)?);
    Ok(())
}

/// Reads the vectors for distances of a DeBERTa; `positions` is the farthest distance of one that does not say it.
fn distance_vectors(file: &JsonFile, positions: usize) -> Result<DistanceVectors, Error> {
    // numbers below 1 stand for none
    let number = |key| {
        file.value(key, Some(None), "a whole number", |value| {
            let number = value.as_i64().filter(|number| *number <= i64::from(i32::MAX))?;
            Some(usize::try_from(number).ok().filter(|number| *number > 0))
        })
    };
    let farthest = number("max_relative_positions")?.unwrap_or(positions);
    let buckets = number("position_buckets")?;
    if let Some(buckets) = buckets {
        // logarithms from half of the buckets to the last distance are shared out
        let most = 2 * farthest.saturating_sub(1);
        if buckets < 4 || buckets >= most {
            let allowed =
                format!("at least 4 and less than {most}, twice max_relative_positions - 1");
            return Err(file.refuse("position_buckets", &allowed));
        }
    }
    let none = "none".to_owned();
    let norms = file.value("norm_rel_ebd", Some(none), "\"none\" or \"layer_norm\"", |value| {
        value.as_str().map(str::to_lowercase)
    })?;
    Ok(DistanceVectors {
        span: buckets.unwrap_or(farthest),
        farthest: buckets.map(|_| farthest),
        has_norm: norms.split('|').any(|norm| norm.trim() == "layer_norm"),
    })
}

pub(super) fn esm(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    let padding = padding_of(file)?;
    file.only_value("is_folding_model", false, "false")?;
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
        start_behind(padding, file, architecture)?;
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

pub(super) fn modernbert(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    let layers = architecture.layers;
    let every = file.integer("global_attn_every_n_layers", 1..=u64::from(u32::MAX), Some(3))?;
    let local = local_layers(file, layers)?;
    only_default_scaling(file)?;
    let window = file.integer("local_attention", 1..=u64::from(u32::MAX), Some(128))?;
    let (global, near) =
        rope_bases(file, [("global_rope_theta", 160_000.0), ("local_rope_theta", 10_000.0)])?;
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
    architecture.output_bias = architecture.attention_bias;
    architecture.feed_forward_bias = file.flag("mlp_bias", false)?;
    architecture.inner_dropout = file.rate("mlp_dropout", 0.0)?;
    Ok(())
}

/// Returns whether each layer is one of local attention, where the file says it.
fn local_layers(file: &JsonFile, layers: usize) -> Result<Option<Vec<bool>>, Error> {
    let allowed = format!("{layers} of \"full_attention\" and \"sliding_attention\"");
    file.value_or_null("layer_types", None, &allowed, |value| {
        let kinds = value.as_array()?.iter().map(|kind| match kind.as_str()? {
            "sliding_attention" => Some(true),
            "full_attention" => Some(false),
            _ => None,
        });
        let kinds = kinds.collect::<Option<Vec<_>>>()?;
        (kinds.len() == layers).then_some(Some(kinds))
    })
}

pub(super) fn nomic(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    let base = one_base(file, NOMIC_BASE)?;
    let head = architecture.width / architecture.heads;
    file.only_value("head_dim", head, &format!("{head}"))?;
    nomic_layers(file, architecture, base)
}

pub(super) fn nomic_of_hub(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
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
        file.only_value(key, false, "false")?;
    }
    // the model's code turns nothing where it is not said
    let whole = |share: &Value| (share.as_f64() == Some(1.0)).then_some(());
    file.value("rotary_emb_fraction", None, "1.0", whole)?;
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
    let base = base(file, "rotary_emb_base", 10_000.0)?;
    nomic_layers(file, architecture, base)
}

/// The base of the angles of Nomic's models, where a configuration in transformers' keys does not say it.
const NOMIC_BASE: f64 = 1000.0;

fn nomic_layers(file: &JsonFile, architecture: &mut Architecture, base: f64) -> Result<(), Error> {
    let local = vec![false; architecture.layers];
    architecture.position_kind = Positions::Rotary { base, local_base: base, reach: 0, local };
    even_heads(file, architecture)?;
    architecture.gated = true;
    architecture.attention_bias = false;
    architecture.output_bias = false;
    architecture.feed_forward_bias = false;
    Ok(())
}

pub(super) fn t5(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    layers_of_t5(file, architecture, "relu")
}

pub(super) fn mt5(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    layers_of_t5(file, architecture, "gated-gelu")
}

pub(super) fn llama(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    let base = one_base(file, LLAMA_BASE)?;
    layers_of_llama(file, architecture, (base, base))?;
    architecture.attention_bias = file.flag("attention_bias", false)?;
    architecture.output_bias = architecture.attention_bias;
    architecture.feed_forward_bias = file.flag("mlp_bias", false)?;
    Ok(())
}

pub(super) fn mistral(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    required_key_heads(file)?;
    let base = one_base(file, LLAMA_BASE)?;
    layers_of_llama(file, architecture, (base, base))?;
    // it stands for windows where the key is missing, and null for none
    let is_local = file.json.get("sliding_window").is_none_or(|window| !window.is_null());
    set_causal_windows(file, architecture, vec![is_local; architecture.layers])
}

pub(super) fn qwen2(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    layers_of_qwen(file, architecture)?;
    architecture.attention_bias = true;
    Ok(())
}

pub(super) fn qwen3(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    layers_of_qwen(file, architecture)?;
    architecture.head_norm = true;
    architecture.attention_bias = file.flag("attention_bias", false)?;
    architecture.output_bias = architecture.attention_bias;
    Ok(())
}

fn layers_of_qwen(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    required_key_heads(file)?;
    let base = one_base(file, LLAMA_BASE)?;
    layers_of_llama(file, architecture, (base, base))?;
    let layers = architecture.layers;
    let has_windows = file.flag("use_sliding_window", false)?
        && file.json.get("sliding_window").is_none_or(|window| !window.is_null());
    let first = file.integer("max_window_layers", 0..=u64::from(u32::MAX), Some(28))?;
    let local = match local_layers(file, layers)? {
        Some(local) => local,
        None => (0..layers).map(|layer| has_windows && layer >= first).collect(),
    };
    if local.contains(&true) && !has_windows {
        let allowed = "layers of \"full_attention\" alone where use_sliding_window is not true";
        return Err(file.refuse("layer_types", allowed));
    }
    set_causal_windows(file, architecture, local)
}

pub(super) fn gemma3(file: &JsonFile, architecture: &mut Architecture) -> Result<(), Error> {
    required_key_heads(file)?;
    only_default_scaling(file)?;
    let bases =
        rope_bases(file, [("rope_theta", 1_000_000.0), ("rope_local_base_freq", 10_000.0)])?;
    layers_of_llama(file, architecture, bases)?;
    let allowed = "true: use_bidirectional_attention says whether a token attends to both sides";
    file.only_value("is_causal", true, allowed)?;
    architecture.causal = !file.flag("use_bidirectional_attention", false)?;
    let head = architecture.head_width();
    let allowed = format!("{head}, head_dim: another scale of attention is not supported");
    file.value("query_pre_attn_scalar", (head == 256).then_some(()), &allowed, |scalar| {
        (scalar.as_f64() == Some(head as f64)).then_some(())
    })?;
    file.only("attn_logit_softcapping", Value::is_null, "null")?;
    architecture.attention_bias = file.flag("attention_bias", false)?;
    architecture.output_bias = architecture.attention_bias;
    architecture.head_norm = true;
    architecture.norm_adds_one = true;
    architecture.norm_place = NormPlace::Around;
    architecture.embedding_scale = true;

    let layers = architecture.layers;
    let every = file.integer("sliding_window_pattern", 1..=u64::from(u32::MAX), Some(6))?;
    let local = local_layers(file, layers)?
        .unwrap_or_else(|| (0..layers).map(|layer| (layer + 1) % every != 0).collect());
    let window = file.integer("sliding_window", 1..=u64::from(u32::MAX), Some(4096))?;
    let reach = if architecture.causal { window - 1 } else { window / 2 };
    set_windows(architecture, local, reach);
    Ok(())
}

/// The base of the angles of decoders where a configuration does not say it.
const LLAMA_BASE: f64 = 10_000.0;

/// What families of decoders have in common: rotary positions, causal attention in which keys and values may serve several
/// heads, gated units, and normalisation before sub-layers without means.
fn layers_of_llama(
    file: &JsonFile,
    architecture: &mut Architecture,
    (base, local_base): (f64, f64),
) -> Result<(), Error> {
    let local = vec![false; architecture.layers];
    architecture.position_kind = Positions::Rotary { base, local_base, reach: 0, local };
    even_heads(file, architecture)?;
    let heads = architecture.heads;
    let allowed = format!("a divisor of num_attention_heads = {heads}");
    let key_heads = file.value_or_null("num_key_value_heads", heads, &allowed, |value| {
        let number = usize::try_from(value.as_u64()?).ok()?;
        (number > 0 && heads.is_multiple_of(number)).then_some(number)
    })?;
    architecture.key_heads = if key_heads == heads { 0 } else { key_heads };
    // models that were made encoders of decoders say it in this key
    architecture.causal = file.flag("is_causal", true)?;
    architecture.gated = true;
    set_layers_without_vectors(architecture);
    Ok(())
}

/// Refuses a configuration that does not say the number of heads of keys; null stands for that of all heads.
fn required_key_heads(file: &JsonFile) -> Result<(), Error> {
    let allowed = "a whole number from 1 on, or null for num_attention_heads";
    file.value("num_key_value_heads", None, allowed, |_| Some(()))
}

/// Sets the layers of a decoder in which a token attends to near ones before it alone.
fn set_causal_windows(
    file: &JsonFile,
    architecture: &mut Architecture,
    is_local: Vec<bool>,
) -> Result<(), Error> {
    if !is_local.contains(&true) {
        return Ok(());
    }
    if !architecture.causal {
        return Err(file.refuse("is_causal", "true for a model with sliding windows"));
    }
    let window = file.integer("sliding_window", 1..=u64::from(u32::MAX), Some(4096))?;
    // the token itself is one of the window
    set_windows(architecture, is_local, window - 1);
    Ok(())
}

/// Sets the layers in which a token attends to near ones alone, and how far.
fn set_windows(architecture: &mut Architecture, is_local: Vec<bool>, farthest: usize) {
    if let Positions::Rotary { reach, local, .. } = &mut architecture.position_kind {
        *reach = farthest;
        *local = is_local;
    }
}

/// Returns whether inner units are gated, and their function, by the name that T5 has for both.
fn inner_units(name: &str) -> Option<(bool, Activation)> {
    let Some(gated) = name.strip_prefix("gated-") else {
        return Some((false, Activation::named(name)?));
    };
    // the function of T5 1.1, whose name transformers shortens
    let function = if gated == "gelu" { "gelu_new" } else { gated };
    Some((true, Activation::named(function)?))
}

/// Sets what T5 and the decoders after it have in common: the inputs of sub-layers alone are normalised, by their root mean
/// squares, and no layer adds a vector.
fn set_layers_without_vectors(architecture: &mut Architecture) {
    architecture.embedding_norm = false;
    architecture.norm_place = NormPlace::Before;
    architecture.norm_centred = false;
    architecture.norm_bias = false;
    architecture.attention_bias = false;
    architecture.output_bias = false;
    architecture.feed_forward_bias = false;
}

/// Reads the layers of T5; `units` is the name of inner units where the file does not say it.
fn layers_of_t5(
    file: &JsonFile,
    architecture: &mut Architecture,
    units: &str,
) -> Result<(), Error> {
    let allowed = format!("{}, or \"gated-\" and one of them", Activation::names());
    let (gated, activation) =
        file.value("feed_forward_proj", inner_units(units), &allowed, |name| {
            inner_units(name.as_str()?)
        })?;
    // transformers writes two more keys, and where it reads them, they replace the one above
    architecture.gated = file.flag("is_gated_act", gated)?;
    if !file.json.contains_key("dense_act_fn") {
        architecture.activation = activation;
    }

    let buckets = file.integer("relative_attention_num_buckets", 4..=1 << 16, Some(32))?;
    // half of the numbers are for keys before a query, and half of those for one distance each
    let least = buckets / 4 + 1;
    let range = least as u64..=LONGEST_WITHOUT_TABLE as u64;
    let farthest = file.integer("relative_attention_max_distance", range, Some(128))?;
    architecture.position_kind = Positions::Relative(Distances { buckets, farthest });
    architecture.scaled_scores = false;
    set_layers_without_vectors(architecture);
    architecture.drops_everywhere = true;
    Ok(())
}

/// Returns the base of an object with parameters of rotary positions, unless they change with the length of texts, or
/// turn a part of the coordinates only.
fn rope_base(parameters: &Value, default: f64) -> Option<f64> {
    if parameters.is_null() {
        return Some(default);
    }
    let parameters = parameters.as_object()?;
    // older files say `type`
    let mut kinds = ["rope_type", "type"].into_iter().filter_map(|key| parameters.get(key));
    let is_default = kinds.all(|kind| kind.is_null() || kind == "default");
    let is_whole =
        parameters.get("partial_rotary_factor").is_none_or(|share| share.as_f64() == Some(1.0));
    let theta = match parameters.get("rope_theta") {
        None | Some(Value::Null) => Some(default),
        Some(theta) => theta.as_f64().filter(|theta| theta.is_finite() && *theta > 1.0),
    };
    theta.filter(|_| is_default && is_whole)
}

/// Refuses positions that older files scale in a key of its own.
fn only_default_scaling(file: &JsonFile) -> Result<(), Error> {
    let is_default = |value: &Value| {
        let only_kind = |parameters: &Map<String, Value>| {
            parameters.values().all(|kind| kind == "default") && !parameters.is_empty()
        };
        value.is_null() || value.as_object().is_some_and(only_kind)
    };
    file.only("rope_scaling", is_default, "null: scaled positions are not supported")?;
    let is_whole = |share: &Value| share.is_null() || share.as_f64() == Some(1.0);
    file.only("partial_rotary_factor", is_whole, "null or 1.0")
}

/// Returns the base of the angles of all layers.
fn one_base(file: &JsonFile, default: f64) -> Result<f64, Error> {
    only_default_scaling(file)?;
    // older files have the base outside of `rope_parameters`
    let base = base(file, "rope_theta", default)?;
    let allowed = "an object with {\"rope_type\": \"default\", \"rope_theta\": …}";
    file.value("rope_parameters", Some(base), allowed, |value| rope_base(value, base))
}

/// Returns the base of the angles of rotary positions.
fn base(file: &JsonFile, key: &str, default: f64) -> Result<f64, Error> {
    let read = |value: &Value| value.as_f64().filter(|base| base.is_finite() && *base > 1.0);
    file.value(key, Some(default), "a number above 1", read)
}

/// Returns the bases of global and local layers, which older files have in these keys, with these defaults.
fn rope_bases(file: &JsonFile, keys: [(&str, f64); 2]) -> Result<(f64, f64), Error> {
    let [(global, global_default), (local, local_default)] = keys;
    let global = base(file, global, global_default)?;
    let local = base(file, local, local_default)?;
    let allowed = "an object with {\"rope_type\": \"default\", \"rope_theta\": …} for \"full_attention\" and \
                   \"sliding_attention\"";
    file.value_or_null("rope_parameters", (global, local), allowed, |value| {
        let kinds = ["full_attention", "sliding_attention"];
        let by_kind = value.as_object()?;
        if !by_kind.keys().all(|kind| kinds.contains(&kind.as_str())) {
            return None;
        }
        let of_kind = |kind: &str, default: f64| match by_kind.get(kind) {
            Some(parameters) => rope_base(parameters, default),
            None => Some(default),
        };
        Some((of_kind("full_attention", global)?, of_kind("sliding_attention", local)?))
    })
}

/// Refuses heads whose coordinates make no pairs.
fn even_heads(file: &JsonFile, architecture: &Architecture) -> Result<(), Error> {
    let head = architecture.head_width();
    if head.is_multiple_of(2) {
        return Ok(());
    }
    if architecture.head_width > 0 {
        return Err(file.refuse("head_dim", "an even number"));
    }
    let allowed = format!("a number that leaves each head an even width, and not {head}");
    Err(file.refuse("num_attention_heads", &allowed))
}
