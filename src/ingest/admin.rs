//! The admin listener's routes: for the supervisor, the metrics scraper and `verdictd status`.

use super::{
    Problem, ProblemKind, Reply, Routes,
    reply::{self, JSON},
};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{ALLOW, HeaderValue},
};
use std::sync::Arc;

const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Whether it is well, and a line that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub well: bool,
    /// Without a line end.
    pub line: String,
}

/// What the admin listener shows. Calls are short and do no I/O.
pub trait Admin: Send + Sync + 'static {
    /// OpenMetrics text, ended by `# EOF`.
    fn metrics(&self) -> Vec<u8>;
    /// Whether the process works: restart it if not.
    fn health(&self) -> Health;
    /// Whether events are taken.
    fn ready(&self) -> Health;
    /// A JSON object.
    fn status(&self) -> Vec<u8>;
    /// A JSON object.
    fn version(&self) -> Vec<u8>;
}

/// The routes.
pub struct AdminRoutes<A>(pub Arc<A>);

impl<A: Admin> AdminRoutes<A> {
    fn answer<B>(&self, request: &Request<B>) -> Response<Reply> {
        let health = |health: Health| {
            let status = if health.well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            reply::whole(status, TEXT, health.line + "\n")
        };
        let answer: &dyn Fn() -> Response<Reply> = match request.uri().path() {
            "/metrics" => &|| reply::whole(StatusCode::OK, OPEN_METRICS, self.0.metrics()),
            "/healthz" => &|| health(self.0.health()),
            "/readyz" => &|| health(self.0.ready()),
            "/v1/status" => &|| reply::whole(StatusCode::OK, JSON, self.0.status()),
            "/version" => &|| reply::whole(StatusCode::OK, JSON, self.0.version()),
            _ => {
                let detail = "expected /metrics, /healthz, /readyz, /v1/status or /version";
                return reply::problem(&Problem::new(ProblemKind::NotFound, detail));
            }
        };
        // hyper leaves the body out of the answer to HEAD.
        if request.method() == Method::GET || request.method() == Method::HEAD {
            return answer();
        }
        reply::problem_with(&Problem::new(ProblemKind::MethodNotAllowed, "expected GET or HEAD"), |headers| {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        })
    }
}

impl<A: Admin> Routes for AdminRoutes<A> {
    async fn handle(&self, request: Request<Incoming>) -> Response<Reply> {
        self.answer(&request)
    }
}
