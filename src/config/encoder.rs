//! The `[encoder]` table: one of several kinds of settings.

use std::any::{Any, TypeId};
use std::fmt::Debug;
use std::sync::{Arc, PoisonError, RwLock};

use dsokr_nn::pretrained::PretrainedConfig;
use dsokr_nn::{MlpConfig, PeakTransformerConfig, TransformerConfig};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::abilities::Abilities;
use super::lowered::Lowered;
use super::{Config, KernelMachineConfig};
use crate::encoders::ngram_bag::NgramBagConfig;
use crate::encoders::{BagBesideConfig, PeakBagConfig};
use crate::error::{Error, ensure};

/// The settings of an `[encoder]` table, as the checks of a configuration see them. Every
/// [`Learner`](crate::Learner) is such settings.
pub(crate) trait EncoderSettings: Any + Debug + Send + Sync {
    /// Checks the settings, and what else of the configuration they are compatible with.
    fn check(&self, config: &Config) -> Result<(), Error>;

    /// Returns the inputs, needs and predictions of the learner.
    fn abilities(&self) -> Abilities<'_>;

    /// Returns the settings for so many training pairs, and the sizes that are lowered; none where they stay as they are.
    fn for_pairs(&self, pairs: usize) -> Result<Option<(EncoderTable, Vec<Lowered>)>, Error>;

    /// Returns the learner, which this module does not know.
    fn learner(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// The built-in kinds: name, type of the other keys, meaning. A static, because a constant would be
/// compiled, with all that reads these types, in every program that registers a kind.
static BUILT_IN: [Kind; 9] = [
    Kind::built_in::<NgramBagConfig>("ngram-bag", "TF-IDF n-grams of the text."),
    Kind::built_in::<MlpConfig>("mlp", "A multi-layer perceptron on the vectors of `data.inputs`."),
    Kind::built_in::<TransformerConfig>(
        "transformer",
        "A transformer over the text's tokens, from scratch.",
    ),
    Kind::built_in::<PretrainedConfig>(
        "pretrained",
        "A pretrained transformer of the families of BERT, DeBERTa, T5 and Llama, from a local folder; see pretrained.md.",
    ),
    Kind::built_in::<BagBesideConfig<TransformerConfig>>(
        "bag-and-transformer",
        "A bag of n-grams and a transformer from scratch, trained together: their coordinates are added.",
    ),
    Kind::built_in::<BagBesideConfig<PretrainedConfig>>(
        "bag-and-pretrained",
        "A bag of n-grams and a pretrained transformer, trained together: their coordinates are added.",
    ),
    Kind::built_in::<PeakBagConfig>("peak-bag", "Bins of mass spectra, and an MLP on them."),
    Kind::built_in::<PeakTransformerConfig>(
        "peak-transformer",
        "A transformer over the peaks of mass spectra.",
    ),
    Kind::built_in::<KernelMachineConfig>(
        "kernel-machine",
        "A kernel machine in the encoder's place: IOKR and its sketched forms.",
    ),
];

/// The kinds that the program has registered.
static REGISTERED: RwLock<Vec<Kind>> = RwLock::new(Vec::new());

/// Returns all kinds, the built-in ones first.
fn all_kinds() -> Vec<Kind> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    BUILT_IN.iter().chain(registered.iter()).copied().collect()
}

/// One kind of `[encoder]` table.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    meaning: &'static str,
    id: fn() -> TypeId,
    read: fn(&str, toml::Table) -> Result<EncoderTable, String>,
    schema: Option<fn(&mut SchemaGenerator) -> Schema>,
    keys: fn() -> &'static [&'static str],
}

impl Kind {
    const fn built_in<T>(name: &'static str, meaning: &'static str) -> Self
    where
        T: EncoderSettings + Serialize + DeserializeOwned + JsonSchema + 'static,
    {
        let schema = SchemaGenerator::subschema_for::<T>;
        Self { meaning, schema: Some(schema), ..Self::custom::<T>(name) }
    }

    const fn custom<T: EncoderSettings + Serialize + DeserializeOwned + 'static>(
        name: &'static str,
    ) -> Self {
        let read = |kind: &str, table: toml::Table| {
            let settings: T =
                table.try_into().map_err(|e: toml::de::Error| e.message().to_string())?;
            EncoderTable::new(kind, settings).map_err(|e| e.to_string())
        };
        Self { name, meaning: "", id: TypeId::of::<T>, read, schema: None, keys: keys::<T> }
    }
}

/// Returns the names of the keys of settings, as a derived `Deserialize` asks for them; none where it takes any.
fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Keys<'k>(&'k mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Keys<'_> {
        type Error = serde::de::value::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(Self::Error::custom("names of keys only"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            names: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            *self.0 = names;
            self.deserialize_any(visitor)
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut names: &'static [&'static str] = &[];
    // reading ends at the first value that it asks for
    drop(T::deserialize(Keys(&mut names)));
    names
}

/// Makes `kind = "name"` of an `[encoder]` table stand for the settings `T`, for this program.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for the name of different settings.
pub(crate) fn register<T>(name: &'static str) -> Result<(), Error>
where
    T: EncoderSettings + Serialize + DeserializeOwned + 'static,
{
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let namesake = BUILT_IN.iter().chain(registered.iter()).find(|kind| kind.name == name);
    let free = namesake.is_none_or(|kind| (kind.id)() == TypeId::of::<T>());
    let allowed = "a name that stands for no other learner";
    ensure(free, "encoder.kind", format_args!("{name:?}"), allowed)?;
    if namesake.is_none() {
        registered.push(Kind::custom::<T>(name));
    }
    Ok(())
}

/// The `[encoder]` table: settings with the name of their kind.
#[derive(Clone, Debug)]
pub struct EncoderTable {
    kind: String,
    pub(super) settings: Arc<dyn EncoderSettings>,
    /// The learner, of the type that [`EncoderSettings::learner`] gives.
    pub(crate) learner: Arc<dyn Any + Send + Sync>,
    /// Its keys, with all defaults.
    keys: toml::Table,
}

impl EncoderTable {
    /// Creates the table of settings whose kind has this name.
    ///
    /// # Errors
    /// Settings that cannot be written as TOML.
    fn new<T>(kind: &str, settings: T) -> Result<Self, Error>
    where
        T: EncoderSettings + Serialize + 'static,
    {
        // through text, which keeps a 32-bit number as it was written
        let text = toml::to_string(&settings)?;
        let keys = text.parse()?;
        let settings = Arc::new(settings);
        let learner = Arc::clone(&settings).learner();
        Ok(Self { kind: kind.into(), settings, learner, keys })
    }

    /// Creates the table of settings whose kind has been registered, or is built in.
    pub(crate) fn with_kind<T>(settings: T) -> Result<Self, Error>
    where
        T: EncoderSettings + Serialize + 'static,
    {
        let kind = all_kinds().into_iter().find(|kind| (kind.id)() == TypeId::of::<T>());
        let allowed = "settings of a kind that is built in or registered";
        let name = std::any::type_name::<T>();
        let kind = kind.ok_or_else(|| Error::value("encoder.kind", name, allowed))?;
        Self::new(kind.name, settings)
    }

    /// Returns the settings, if they are a `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        let settings: &dyn Any = self.settings.as_ref();
        settings.downcast_ref()
    }

    /// Returns the inputs, needs and predictions of the learner.
    pub fn abilities(&self) -> Abilities<'_> {
        self.settings.abilities()
    }

    /// Returns the name of the kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }
}

impl PartialEq for EncoderTable {
    fn eq(&self, other: &Self) -> bool {
        (&self.kind, &self.keys) == (&other.kind, &other.keys)
    }
}

impl Serialize for EncoderTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = self.keys.clone();
        table.insert("kind".into(), self.kind.clone().into());
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EncoderTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = toml::Table::deserialize(deserializer)?;
        let Some(kind) = table.remove("kind") else { return Err(D::Error::missing_field("kind")) };
        let kinds = all_kinds();
        let Some(chosen) = kinds.iter().find(|candidate| Some(candidate.name) == kind.as_str())
        else {
            let names: Vec<String> =
                kinds.iter().map(|candidate| format!("`{}`", candidate.name)).collect();
            let message = format!("kind = {kind}: expected one of {}", names.join(", "));
            return Err(D::Error::custom(message));
        };
        (chosen.read)(chosen.name, table).map_err(D::Error::custom)
    }
}

impl JsonSchema for EncoderTable {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EncoderConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let variant = |kind: &Kind| {
            let mut schema = kind.schema.map_or_else(Schema::default, |schema| schema(generator));
            let meaning = match (kind.schema, (kind.keys)()) {
                (Some(_), _) => kind.meaning.to_owned(),
                (None, []) => "A kind of this program.".to_owned(),
                (None, keys) => {
                    format!("A kind of this program, with the keys `{}`.", keys.join("`, `"))
                }
            };
            schema.insert("description".into(), meaning.into());
            schema.insert("type".into(), "object".into());
            schema.insert(
                "properties".into(),
                serde_json::json!({ "kind": { "type": "string", "const": kind.name } }),
            );
            schema.insert("required".into(), serde_json::json!(["kind"]));
            schema
        };
        let variants: Vec<Schema> = all_kinds().iter().map(variant).collect();
        json_schema!({ "description": "The built-in encoders.", "oneOf": variants })
    }
}
