//! An answer to each request, and the OpenAPI description of requests and answers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use axum::extract::rejection::QueryRejection;
use axum::extract::{MatchedPath, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use dsokr_core::Processes;
use dsokr_molecule::FunctionalGroup;
use serde::Serialize;
use serde::de::Error as _;
use serde_json::{Map, Value, json};
use utoipa::{OpenApi, ToSchema};

use super::candidates::{
    CandidatesRequest, CandidatesResponse, DrawingRequest, EmbedRequest, EmbedResponse,
    RankRequest, RankResponse,
};
use super::description::ModelDescription;
use super::export::ExportRequest;
use super::model::{Model, ReadPart};
use super::queries::{Endpoint, QueryKind};
use super::refusal::{Body, ErrorBody, Refusal};
use super::replicas::{self, Passed};
use super::search::{SearchRequest, SearchResponse};
use super::{Limits, Server};
use crate::error::{Error, listed};

/// All models.
#[derive(Serialize, ToSchema)]
pub(super) struct ModelsResponse {
    /// The version of the program.
    pub version: String,
    /// The models; the first is the default.
    pub models: Vec<ModelDescription>,
    /// Functional groups that filters know.
    pub groups: Vec<String>,
    /// The most hits for each query.
    pub most_hits: usize,
    /// The most hits of all queries of a request together, and ids to rank.
    pub most_hits_of_all: usize,
    /// The most queries of a request.
    pub most_queries: usize,
    /// The longest text in characters.
    pub longest_text: usize,
    /// The largest body of a request in bytes.
    pub largest_body: usize,
}

impl Server {
    /// Returns the model of a name, or the first one.
    pub(super) fn model(&self, name: Option<&str>) -> Result<Arc<Model>, Refusal> {
        let models = &self.0.models;
        let Some(name) = name else { return Ok(Arc::clone(&models[0])) };
        models.iter().find(|model| model.name() == name).map(Arc::clone).ok_or_else(|| {
            Refusal::not_found("model", name, &listed(models.iter().map(|model| model.name())))
        })
    }

    /// Computes an answer about a model outside of the threads of connections, with the other ranks if there are
    /// any.
    async fn answer<A: Endpoint>(&self, request: A) -> Result<A::Answer, Refusal> {
        let queries = request.queries();
        let model = self.model(queries.model)?;
        let server = self.clone();
        self.0.counters.queries.fetch_add(queries.len() as u64, Relaxed);
        let needed = request.needs();
        if needed.contains(&ReadPart::Properties) {
            model.hurry();
        }
        model.wait(&needed, self.0.limits.read).await?;
        let compute = move |processes: &Processes| {
            replicas::pass(processes, A::NAME, &request)?;
            request.answer(processes, &model, &server.0.limits)
        };
        self.0.workers.compute(compute).await
    }
}

/// Counts a request, gives it an end, and says that nothing but this server's own is loaded by its pages.
pub(super) async fn watch(State(server): State<Server>, request: Request, next: Next) -> Response {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                          img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let begun = Instant::now();
    let path = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str);
    let of_page = PAGE.iter().any(|&(served, ..)| served == path);
    let path = if of_page { "/" } else { path }.to_owned();
    let limit = server.0.limits.request;
    let mut response = match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let error = format!("the request took longer than {limit:?}");
            let refusal = Refusal::new(StatusCode::REQUEST_TIMEOUT, error);
            // the rest of its body would be read as the next request
            ([(header::CONNECTION, "close")], refusal).into_response()
        }
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // addresses of the page hold queries
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    server.0.counters.count(path, response.status().as_u16(), begun.elapsed());
    response
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files of the page, which are in the program and load nothing else: path, type and text.
const PAGE: [(&str, &str, &str); 8] = [
    ("/", "text/html; charset=utf-8", include_str!("page/page.html")),
    ("/numbers.js", SCRIPT, include_str!("page/numbers.js")),
    ("/page.js", SCRIPT, include_str!("page/page.js")),
    ("/answers.js", SCRIPT, include_str!("page/answers.js")),
    ("/search.js", SCRIPT, include_str!("page/search.js")),
    ("/spectrum.js", SCRIPT, include_str!("page/spectrum.js")),
    ("/table.js", SCRIPT, include_str!("page/table.js")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
];

/// Returns the routes of the page.
pub(super) fn page() -> Router<Server> {
    PAGE.into_iter().fold(Router::new(), |served, (path, kind, text)| {
        // a newer program has a newer page
        let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")];
        served.route(path, get((headers, text)))
    })
}

async fn openapi(State(server): State<Server>) -> Response {
    typed("application/json", server.0.openapi.clone())
}

fn typed(kind: &'static str, body: String) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

/// Returns the models, what they were trained on, and their metrics.
#[utoipa::path(get, path = "/api/models", responses(
    (status = 200, body = ModelsResponse),
    ErrorBody,
))]
async fn models(State(server): State<Server>) -> Result<Json<ModelsResponse>, Refusal> {
    let shared = Arc::clone(&server.0);
    let begun = Instant::now();
    let texts = BTreeSet::from([ReadPart::Texts]);
    for model in &shared.models {
        // what is not read by then is said to be missing
        let rest = shared.limits.read.saturating_sub(begun.elapsed());
        let _ = model.wait(&texts, rest).await;
    }
    let limits = &server.0.limits;
    let models =
        move |_: &Processes| Ok(shared.models.iter().map(|model| model.description()).collect());
    Ok(Json(ModelsResponse {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        models: server.0.workers.compute(models).await?,
        groups: FunctionalGroup::ALL.iter().map(|group| group.name()).collect(),
        most_hits: limits.hits,
        most_hits_of_all: limits.all_hits,
        most_queries: limits.queries,
        longest_text: limits.text,
        largest_body: limits.body,
    }))
}

/// Returns the answer to one query as a file.
#[utoipa::path(post, path = "/api/export", request_body = ExportRequest, responses(
    (status = 200, description = "The file", content(
        (String = "text/csv"), (String = "chemical/x-mdl-sdfile"), (String = "chemical/x-daylight-smiles"),
    )),
    ErrorBody,
))]
async fn export(
    State(server): State<Server>,
    Body(request): Body<ExportRequest>,
) -> Result<Response, Refusal> {
    let kind = request.format.content_type();
    Ok(typed(kind, server.answer(request).await?))
}

/// Returns a candidate that is a molecule or a graph, as SVG.
#[utoipa::path(get, path = "/api/drawing", params(DrawingRequest), responses(
    (status = 200, body = String, content_type = "image/svg+xml"),
    ErrorBody,
))]
async fn drawing(
    State(server): State<Server>,
    request: Result<Query<DrawingRequest>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(request) = request.map_err(|e| Refusal::unread(e.status(), e.body_text()))?;
    Ok(typed("image/svg+xml", server.answer(request).await?))
}

/// Counters for Prometheus.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, body = String, content_type = "text/plain"),
    (status = 421, description = "A request that is addressed to a name that is not allowed", body = ErrorBody),
))]
async fn metrics(State(server): State<Server>) -> Response {
    let text = server.0.counters.text(server.0.workers.inside.load(Relaxed));
    typed("text/plain; version=0.0.4", text)
}

/// The one list of endpoints, of which the routes and the description are made: those about the server, and the requests about
/// a model, of which handlers of those with JSON answers, and what other ranks compute, are made too.
macro_rules! endpoints {
    (
        server { $($of_server:ident $server_path:literal;)* }
        json { $($(#[$doc:meta])* $name:ident $path:literal $request:ident -> $answer:ident;)* }
        files { $($file:ident $method:ident $file_path:literal $file_request:ident;)* }
    ) => {
        $(
            $(#[$doc])*
            #[utoipa::path(post, path = $path, request_body = $request, responses(
                (status = 200, body = $answer),
                ErrorBody,
            ))]
            async fn $name(
                State(server): State<Server>,
                Body(request): Body<$request>,
            ) -> Result<Json<$answer>, Refusal> {
                server.answer(request).await.map(Json)
            }
        )*

        /// Returns the routes of the API.
        pub(super) fn api() -> Router<Server> {
            Router::new()
                .route("/api", get(openapi))
                $(.route($server_path, get($of_server)))*
                $(.route($path, post($name)))*
                $(.route($file_path, $method($file)))*
        }

        /// Computes with rank 0 the request of a name that it passes on.
        fn compute_passed(
            processes: &Processes,
            server: &Server,
            name: &str,
            request: Value,
        ) -> serde_json::Result<()> {
            match name {
                $(<$request as Endpoint>::NAME => {
                    compute::<$request>(processes, server, serde_json::from_value(request)?);
                    Ok(())
                })*
                $(<$file_request as Endpoint>::NAME => {
                    compute::<$file_request>(processes, server, serde_json::from_value(request)?);
                    Ok(())
                })*
                other => Err(serde_json::Error::custom(format_args!("{other:?}"))),
            }
        }

        /// The kinds of queries of each request, by the name of its type.
        const KINDS: &[(&str, &[QueryKind])] = &[
            $((stringify!($request), <$request as Endpoint>::KINDS),)*
            $((stringify!($file_request), <$file_request as Endpoint>::KINDS),)*
        ];

        /// The description of the API.
        #[derive(OpenApi)]
        #[openapi(
            info(
                title = "dsokr",
                description = "Search by trained runs of dsokr. Answers to requests that cannot be answered hold \
                               `error`, which says what was found and what is allowed."
            ),
            paths($($of_server,)* $($name,)* $($file,)*),
            components(schemas(ErrorBody))
        )]
        struct Description;
    };
}

endpoints! {
    server {
        models "/api/models";
        metrics "/metrics";
    }
    json {
        /// The best candidates of texts, vectors or coordinates.
        search "/api/search" SearchRequest -> SearchResponse;
        /// Predicted coordinates.
        embed "/api/embed" EmbedRequest -> EmbedResponse;
        /// Ranks and scores of chosen candidates among all.
        rank "/api/rank" RankRequest -> RankResponse;
        /// Candidates by id.
        candidates "/api/candidates" CandidatesRequest -> CandidatesResponse;
    }
    files {
        export post "/api/export" ExportRequest;
        drawing get "/api/drawing" DrawingRequest;
    }
}

/// Computes an answer that rank 0 gives; its refusals are rank 0's too.
fn compute<A: Endpoint>(processes: &Processes, server: &Server, request: A) {
    if let Ok(model) = server.model(request.queries().model) {
        let _ = request.answer(processes, &model, &server.0.limits);
    }
}

/// Computes with rank 0 what it passes on, until it stops. Signals to stop are rank 0's to obey.
pub(super) fn run_replica(processes: &Processes, server: &Server) -> Result<(), Error> {
    #[cfg(unix)]
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: signal(2) with valid arguments; no other thread sets the actions of these signals
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    loop {
        match replicas::next(processes)? {
            Passed::Stop => return Ok(()),
            Passed::Reliability(at) => {
                if let Some(model) = server.0.models.get(at) {
                    model.read_reliability(processes);
                }
            }
            Passed::Request { name, content } => {
                compute_passed(processes, server, &name, content).map_err(replicas::wrong)?;
            }
        }
    }
}

/// Returns the description as JSON. What the types of requests leave open is added: that queries are of one kind, and how
/// many and how long they may be. Facts of a search may be absent from an output.
pub(super) fn description(limits: &Limits) -> Result<String, Error> {
    let mut described = serde_json::to_value(Description::openapi())?;
    let schemas = &mut described["components"]["schemas"];
    for (request, kinds) in KINDS.iter().filter(|(_, kinds)| !kinds.is_empty()) {
        let one = kinds.iter().map(|&kind| {
            let items = match kind {
                QueryKind::Texts => json!({"pattern": "\\S", "maxLength": limits.text}),
                QueryKind::Vectors | QueryKind::Coordinates => {
                    let number = json!({"minimum": f32::MIN, "maximum": f32::MAX});
                    json!({"type": "array", "minItems": 1, "items": number})
                }
            };
            let others = kinds.iter().map(|other| other.key().to_owned());
            let mut keys: Map<_, _> = others.map(|key| (key, json!({"type": "null"}))).collect();
            let most = limits.queries;
            let list = json!({"type": "array", "minItems": 1, "maxItems": most, "items": items});
            keys.insert(kind.key().to_owned(), list);
            json!({"required": [kind.key()], "properties": keys})
        });
        schemas[*request]["oneOf"] = one.collect();
    }
    // the facts of a search are fields of an output like the others, which all but those that it found lack
    let facts = schemas["SearchFacts"]["properties"].clone();
    for part in schemas["PredictedOutput"]["allOf"].as_array_mut().into_iter().flatten() {
        if part.get("oneOf").is_some() {
            *part = json!({"type": "object", "properties": facts});
        }
    }
    let one_query: Map<_, _> = SearchRequest::KINDS
        .iter()
        .map(|kind| (kind.key().to_owned(), json!({"maxItems": 1})))
        .collect();
    let search = schemas["ExportRequest"]["properties"]["search"].take();
    schemas["ExportRequest"]["properties"]["search"] =
        json!({"allOf": [search, {"properties": one_query}]});
    Ok(serde_json::to_string(&described)?)
}
