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
use std::future::Future;
use std::sync::Arc;

const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const RELOAD: &str = "/v1/reload";
/// The parameter of a reload that goes back.
const BACK_TO: &str = "back-to=";
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Whether it is well, and a line that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub well: bool,
    /// Without a line end.
    pub line: String,
}

/// What became of a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// False: something is wrong, and everything is as it was.
    pub taken: bool,
    /// A JSON object.
    pub body: Vec<u8>,
}

/// What the admin listener shows. Calls are short and do no I/O, but for a reload.
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
    /// Reads the config and the models anew; resolves when all is swapped or refused. None: it is stopping. `back_to`:
    /// the SHA-256 of the one manifest that may be taken into use, also where it is older than what was.
    fn reload(&self, back_to: Option<String>) -> impl Future<Output = Option<Reloaded>> + Send;
}

/// The routes.
pub struct AdminRoutes<A> {
    pub admin: Arc<A>,
    /// Whether `POST /v1/reload` is served: only where the file system says who may connect.
    pub may_reload: bool,
}

impl<A: Admin> AdminRoutes<A> {
    fn answer<B>(&self, request: &Request<B>) -> Response<Reply> {
        let health = |health: Health| {
            let status = if health.well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            reply::whole(status, TEXT, health.line + "\n")
        };
        let answer: &dyn Fn() -> Response<Reply> = match request.uri().path() {
            "/metrics" => &|| reply::whole(StatusCode::OK, OPEN_METRICS, self.admin.metrics()),
            "/healthz" => &|| health(self.admin.health()),
            "/readyz" => &|| health(self.admin.ready()),
            "/v1/status" => &|| reply::whole(StatusCode::OK, JSON, self.admin.status()),
            "/version" => &|| reply::whole(StatusCode::OK, JSON, self.admin.version()),
            _ => {
                let detail = "expected /metrics, /healthz, /readyz, /v1/status, /version or POST /v1/reload";
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

impl<A: Admin> AdminRoutes<A> {
    async fn reload(&self, back_to: Option<String>) -> Response<Reply> {
        match self.admin.reload(back_to).await {
            Some(Reloaded { taken, body }) => {
                let status = if taken { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
                reply::whole(status, JSON, body)
            }
            None => reply::problem(&Problem::busy("verdictd is stopping")),
        }
    }
}

impl<A: Admin> Routes for AdminRoutes<A> {
    async fn handle(&self, request: Request<Incoming>) -> Response<Reply> {
        if request.uri().path() != RELOAD {
            return self.answer(&request);
        }
        if request.method() != Method::POST {
            return reply::problem_with(&Problem::new(ProblemKind::MethodNotAllowed, "expected POST"), |headers| {
                headers.insert(ALLOW, HeaderValue::from_static("POST"));
            });
        }
        if !self.may_reload {
            let detail = "a reload is asked for on a Unix socket only; send SIGHUP instead";
            return reply::problem(&Problem::new(ProblemKind::NotFound, detail));
        }
        let query = request.uri().query().unwrap_or_default();
        let back_to = query.split('&').find_map(|part| part.strip_prefix(BACK_TO)).map(str::to_owned);
        self.reload(back_to).await
    }
}
