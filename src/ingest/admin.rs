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
const RESOLVE: &str = "/v1/uncertain/resolve";
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

/// An uncertain call is to be settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolve {
    /// None: the only one that has a call of this verdict.
    pub sink: Option<String>,
    pub sequence: u64,
    /// It is made again; else it counts as made.
    pub resend: bool,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// A JSON object.
    Done(Vec<u8>),
    /// There is no such call, or it cannot be settled so: says why.
    Refused(String),
    Failed(String),
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
    /// A JSON object: the calls whose outcome is not known. May look into the store.
    fn uncertain(&self) -> Vec<u8>;
    /// Settles one of them; resolves when that is durable.
    fn resolve(&self, resolve: Resolve) -> impl Future<Output = Resolved> + Send;
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
            "/v1/uncertain" => &|| reply::whole(StatusCode::OK, JSON, self.admin.uncertain()),
            "/version" => &|| reply::whole(StatusCode::OK, JSON, self.admin.version()),
            _ => {
                let detail = "expected /metrics, /healthz, /readyz, /v1/status, /v1/uncertain, /version, POST /v1/reload or POST \
                              /v1/uncertain/resolve";
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

impl<A: Admin> AdminRoutes<A> {
    /// `sequence=N&as=delivered` or `as=resend`, and `sink=NAME`.
    async fn resolve(&self, query: &str) -> Response<Reply> {
        let of = |name: &str| query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        let (Some(sequence), Some(how)) = (of("sequence").and_then(|text| text.parse().ok()), of("as")) else {
            let detail = "expected sequence=N and as=delivered or as=resend";
            return reply::problem(&Problem::new(ProblemKind::Malformed, detail));
        };
        let resend = how == "resend";
        if !resend && how != "delivered" {
            return reply::problem(&Problem::new(ProblemKind::Malformed, "expected as=delivered or as=resend"));
        }
        match self.admin.resolve(Resolve { sink: of("sink").map(str::to_owned), sequence, resend }).await {
            Resolved::Done(body) => reply::whole(StatusCode::OK, JSON, body),
            Resolved::Refused(why) => reply::problem(&Problem::new(ProblemKind::NotFound, why)),
            Resolved::Failed(why) => reply::problem(&Problem::busy(why)),
        }
    }
}

impl<A: Admin> Routes for AdminRoutes<A> {
    async fn handle(&self, request: Request<Incoming>) -> Response<Reply> {
        let path = request.uri().path();
        if path != RELOAD && path != RESOLVE {
            return self.answer(&request);
        }
        let is_reload = path == RELOAD;
        if request.method() != Method::POST {
            return reply::problem_with(&Problem::new(ProblemKind::MethodNotAllowed, "expected POST"), |headers| {
                headers.insert(ALLOW, HeaderValue::from_static("POST"));
            });
        }
        if !self.may_reload {
            let detail = if is_reload {
                "a reload is asked for on a Unix socket only; send SIGHUP instead"
            } else {
                "an uncertain call is settled on a Unix socket only, or while the daemon is stopped"
            };
            return reply::problem(&Problem::new(ProblemKind::NotFound, detail));
        }
        let query = request.uri().query().unwrap_or_default();
        if !is_reload {
            return self.resolve(query).await;
        }
        let back_to = query.split('&').find_map(|part| part.strip_prefix(BACK_TO)).map(str::to_owned);
        self.reload(back_to).await
    }
}
