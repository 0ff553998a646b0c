//! The filter of a request: a condition as a text, or an object with properties of molecules.

use std::fmt::{self, Formatter};

use dsokr_core::Place;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::decoding::filter::{Comparison, Condition, Filter, Operator, Value};
use crate::error::{Error, ensure};

/// Which candidates are wanted: a condition as a text, such as `price < 10`, which may name further columns of the
/// candidates, their ids and labels, and of molecules `mass`, `formula`, `group` and `similarity("SMILES")`; or an object.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum FilterRequest {
    /// A condition.
    #[schema(example = "price < 10 and group = \"carboxylic acid\"")]
    Expression(String),
    /// Conditions that must all hold.
    Object(FilterObject),
}

impl<'de> Deserialize<'de> for FilterRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrObject)
    }
}

/// What a [`FilterRequest`] is read from. An error within an object has its key.
struct TextOrObject;

impl<'de> Visitor<'de> for TextOrObject {
    type Value = FilterRequest;

    fn expecting(&self, out: &mut Formatter) -> fmt::Result {
        out.write_str("a text such as \"price < 10\", or an object")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<FilterRequest, E> {
        Ok(FilterRequest::Expression(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, keys: A) -> Result<FilterRequest, A::Error> {
        FilterObject::deserialize(MapAccessDeserializer::new(keys)).map(FilterRequest::Object)
    }
}

/// A condition and properties of candidates that are molecules; those that are given must all hold.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FilterObject {
    /// A condition as a text, such as `price < 10`.
    #[schema(example = "price < 10")]
    pub expression: Option<String>,
    /// A formula, whose elements may be in any order. With `*` at the end: at least these atoms.
    #[schema(example = "C9H8O4")]
    pub formula: Option<String>,
    /// The least molar mass in g/mol.
    pub min_mass: Option<f64>,
    /// The largest molar mass in g/mol.
    pub max_mass: Option<f64>,
    /// Functional groups, by the names that `GET /api/models` lists.
    #[serde(default)]
    #[schema(example = json!(["carboxylic acid"]))]
    pub groups: Vec<String>,
    /// A molecule, as a SMILES.
    #[schema(example = "OC(=O)c1ccccc1Br")]
    pub similar_to: Option<String>,
    /// The least Tanimoto similarity of Morgan fingerprints (radius 2, 2,048 bits) to that molecule; absent without
    /// `similar_to`.
    #[schema(default = 0.5, minimum = 0, maximum = 1)]
    pub min_similarity: Option<f64>,
}

/// The least similarity where a request does not say it.
const LEAST_SIMILARITY: f64 = 0.5;

impl FilterRequest {
    /// Returns the filter.
    ///
    /// # Errors
    /// A text that is no condition; masses in the wrong order; a similarity that is none.
    pub(super) fn read(&self) -> Result<Filter, Error> {
        match self {
            Self::Expression(text) => Filter::parse("filter", text),
            Self::Object(object) => object.read(),
        }
    }
}

impl FilterObject {
    fn read(&self) -> Result<Filter, Error> {
        let mut all = Vec::new();
        if let Some(text) = given(&self.expression) {
            all.push(Filter::parse("filter", text)?.into_condition());
        }
        if let Some(most) = self.max_mass {
            ensure(most >= 0.0, "filter.max_mass", most, "a mass in g/mol, at least 0")?;
            let least = self.min_mass.unwrap_or(0.0);
            let allowed = format_args!("at most filter.max_mass = {most}");
            ensure(least <= most, "filter.min_mass", least, allowed)?;
        }
        let bounds = [
            ("filter.min_mass", Operator::AtLeast, self.min_mass),
            ("filter.max_mass", Operator::AtMost, self.max_mass),
        ];
        for (key, operator, mass) in bounds {
            if let Some(mass) = mass {
                all.push(compared(key, "mass", None, operator, Value::Number(mass)));
            }
        }
        if let Some(formula) = given(&self.formula) {
            let value = Value::Text(formula.to_owned());
            all.push(compared("filter.formula", "formula", None, Operator::Equal, value));
        }
        for group in &self.groups {
            let value = Value::Text(group.clone());
            all.push(compared("filter.groups", "group", None, Operator::Equal, value));
        }
        let least = self.min_similarity.unwrap_or(LEAST_SIMILARITY);
        ensure((0.0..=1.0).contains(&least), "filter.min_similarity", least, "0 to 1")?;
        let similar_to = given(&self.similar_to);
        let allowed = "absent, or name a molecule in filter.similar_to";
        let holds = self.min_similarity.is_none() || similar_to.is_some();
        ensure(holds, "filter.min_similarity", least, allowed)?;
        if let Some(smiles) = similar_to {
            let value = Value::Number(least);
            let operator = Operator::AtLeast;
            all.push(compared("filter.similar_to", "similarity", Some(smiles), operator, value));
        }
        Ok(Filter::all(all))
    }
}

/// Returns a text that is not blank.
fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.trim().is_empty())
}

/// Returns a comparison that a key of the object stands for.
fn compared(
    key: impl Into<Place>,
    name: &str,
    argument: Option<&str>,
    operator: Operator,
    value: Value,
) -> Condition {
    Condition::Holds(Comparison::at(key, name, argument, operator, value))
}
