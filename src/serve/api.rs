//! The OpenAPI description of requests and answers.

use serde_json::{Map, json};
use utoipa::OpenApi;

use super::Limits;
use super::problem::ErrorBody;
use crate::Error;

/// The description of the API.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "dsokr",
        description = "Search by trained runs of dsokr. Answers to requests that cannot be answered hold \
                       `error`, which says what was found and what is allowed."
    ),
    paths(
        super::handlers::models,
        super::handlers::search,
        super::handlers::embed,
        super::handlers::rank,
        super::handlers::candidates,
        super::handlers::export,
        super::handlers::drawing,
        super::handlers::metrics,
    ),
    components(schemas(ErrorBody))
)]
struct Description;

/// The description as JSON. What the types of requests leave open is added: that queries are of one kind, and how
/// many and how long they may be.
pub(super) fn description(limits: &Limits) -> Result<String, Error> {
    let failed = |error: serde_json::Error| Error::Serialise(error.to_string());
    let mut described = serde_json::to_value(Description::openapi()).map_err(failed)?;
    let schemas = &mut described["components"]["schemas"];
    const KINDS: [&str; 3] = ["texts", "vectors", "coordinates"];
    for (request, kinds) in
        [("SearchRequest", &KINDS[..]), ("EmbedRequest", &KINDS[..2]), ("RankRequest", &KINDS[..])]
    {
        let one = kinds.iter().map(|&kind| {
            let items = match kind {
                "texts" => json!({"pattern": "\\S", "maxLength": limits.text}),
                _ => {
                    let number = json!({"minimum": f32::MIN, "maximum": f32::MAX});
                    json!({"type": "array", "minItems": 1, "items": number})
                }
            };
            let mut keys: Map<_, _> =
                kinds.iter().map(|&other| (other.to_owned(), json!({"type": "null"}))).collect();
            let (least, most) = (1, limits.queries);
            let list =
                json!({"type": "array", "minItems": least, "maxItems": most, "items": items});
            keys.insert(kind.to_owned(), list);
            json!({"required": [kind], "properties": keys})
        });
        schemas[request]["oneOf"] = one.collect();
    }
    let one_query: Map<_, _> =
        KINDS.iter().map(|&kind| (kind.to_owned(), json!({"maxItems": 1}))).collect();
    let search = schemas["ExportRequest"]["properties"]["search"].take();
    schemas["ExportRequest"]["properties"]["search"] =
        json!({"allOf": [search, {"properties": one_query}]});
    serde_json::to_string(&described).map_err(failed)
}
