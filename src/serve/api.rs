//! The OpenAPI description of requests and answers.

use utoipa::OpenApi;

use super::problem::ErrorBody;

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
pub(super) struct Description;
