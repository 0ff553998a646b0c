//! The page, whose three files are in the program and load nothing else.

use axum::http::header;
use axum::response::{IntoResponse, Response};

pub(super) async fn html() -> Response {
    file("text/html; charset=utf-8", include_str!("page/page.html"))
}

pub(super) async fn script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("page/page.js"))
}

pub(super) async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("page/page.css"))
}

fn file(kind: &'static str, text: &'static str) -> Response {
    // a newer program has a newer page
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], text).into_response()
}
