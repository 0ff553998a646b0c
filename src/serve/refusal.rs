//! Requests that cannot be answered.

use std::collections::BTreeMap;
use std::fmt::{self, Formatter};
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;

use axum::Json;
use axum::body::HttpBody;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use dsokr_core::Cancellation;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response as OpenApiResponse, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

use super::Server;
use crate::error::{Error, in_words};

/// Why a request is not answered.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    error: String,
}

/// The body of the response to a request that cannot be answered.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    /// The message, with the value found and the values allowed.
    error: String,
}

impl IntoResponses for ErrorBody {
    fn responses() -> BTreeMap<String, RefOr<OpenApiResponse>> {
        let described = [
            (400, "A body that is not JSON, or parameters that are missing"),
            (404, "An unknown model, member or candidate, or a candidate that cannot be drawn"),
            (405, "A method that the path does not have"),
            (408, "A request that takes too long"),
            (413, "A body that is too large"),
            (415, "A body that is compressed, or whose content type is not application/json"),
            (421, "A request that is addressed to a name that is not allowed"),
            (422, "A value that is not allowed"),
            (500, "An error of the server itself, which its log has"),
            (
                503,
                "Too many requests wait already, or what the request needs is still read or computed",
            ),
        ];
        let response = |(status, description): (u16, &str)| {
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody")));
            let response = ResponseBuilder::new()
                .description(description)
                .content("application/json", content.build());
            (status.to_string(), RefOr::T(response.build()))
        };
        described.into_iter().map(response).collect()
    }
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error: impl ToString) -> Self {
        Self { status, error: error.to_string() }
    }

    /// Creates the refusal of a body or parameters that axum has not read, for this reason.
    pub(super) fn unread(status: StatusCode, reason: String) -> Self {
        Self::new(status, in_words(without_preface(reason), "an object"))
    }

    pub(super) fn not_found(what: &str, found: &str, allowed: &str) -> Self {
        let error = Error::value(what, format!("{found:?}"), allowed);
        Self::new(StatusCode::NOT_FOUND, error)
    }

    /// Creates the refusal of a request that may be answered later.
    pub(super) fn later(error: impl ToString) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
    }

    /// Logs an error of the server itself, and creates the refusal that says so.
    pub(super) fn failed(error: impl std::fmt::Display) -> Self {
        tracing::error!("a request failed: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the server failed; its log says why")
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        if error.is_request() {
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, error)
        } else if Cancellation::current().is_cancelled() {
            // nobody waits for the answer
            Self::later(error)
        } else {
            Self::failed(error)
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self { status, error } = self;
        let seconds = [(header::RETRY_AFTER, "1")];
        let later = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(seconds);
        (status, later, Json(ErrorBody { error })).into_response()
    }
}

/// A JSON body; one that is wrong is a [`Refusal`].
pub(super) struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Server> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, server: &Server) -> Result<Self, Refusal> {
        if let Some(coding) = request.headers().get(header::CONTENT_ENCODING)
            && coding != "identity"
        {
            let coding = String::from_utf8_lossy(coding.as_bytes()).into_owned();
            discard(request.into_body()).await;
            let error = Error::value("Content-Encoding", coding, "a body that is not compressed");
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
        }
        let length = request.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        let limit = server.0.limits.body as u64;
        let too_large = |found: String| {
            let error = Error::value("the body", found, format!("at most {limit}"));
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, error)
        };
        if let Some(length) = length.filter(|&length| length > limit) {
            discard(request.into_body()).await;
            return Err(too_large(format!("{length} bytes")));
        }
        let read = Json::<Object<T>>::from_request(request, server).await;
        let read = read.map(|Json(Object(body))| Self(body));
        read.map_err(|error: JsonRejection| match error.status() {
            // its length was not stated
            StatusCode::PAYLOAD_TOO_LARGE => too_large(format!("more than {limit} bytes")),
            status => Refusal::unread(status, error.body_text()),
        })
    }
}

/// A value of JSON that is an object. Structs are read from lists of their fields too, whose order a newer version may change.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

/// Reads the fields of an object.
struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, out: &mut Formatter) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// Returns the message about a value of a body or a parameter without what axum puts before it, without the key before a message
/// that has it, and without the place in the body behind it.
fn without_preface(text: String) -> String {
    const PREFACES: [&str; 2] = [
        "Failed to deserialize the JSON body into the target type: ",
        "Failed to deserialize query string: ",
    ];
    let message = PREFACES.iter().find_map(|preface| text.strip_prefix(preface));
    let Some(message) = message.map(without_place) else { return text };
    match message.split_once(": ") {
        Some((key, rest)) if rest.starts_with(&format!("{key} = ")) => rest.to_owned(),
        Some(_) | None => message.to_owned(),
    }
}

/// Returns a message without the place that serde_json puts behind it, as in `at line 1 column 40`.
fn without_place(message: &str) -> &str {
    let place = message.rsplit_once(" at line ").filter(|(_, place)| {
        let numbers = place.split_once(" column ");
        numbers.is_some_and(|(line, column)| {
            line.parse::<usize>().is_ok() && column.parse::<usize>().is_ok()
        })
    });
    place.map_or(message, |(before, _)| before)
}

/// Reads a body that is refused: a client that still writes when the connection is closed may lose the answer.
async fn discard(mut body: axum::body::Body) {
    /// The most bytes of it.
    const MOST: usize = 64 << 20;
    let mut read = 0;
    while read < MOST {
        match poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            Some(Ok(frame)) => read += frame.data_ref().map_or(0, |data| data.len()),
            Some(Err(_)) | None => return,
        }
    }
}

pub(super) async fn not_found(request: Request) -> Refusal {
    Refusal::not_found("the path", request.uri().path(), "/, or what GET /api describes")
}

pub(super) async fn not_allowed(request: Request) -> Refusal {
    let found = format!("{} {}", request.method(), request.uri().path());
    let error = Error::value("the method", found, "what GET /api describes");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, error)
}
