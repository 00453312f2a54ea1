//! The routes of the `http` source: events in, verdicts out.
//!
//! `POST /v1/events` answers after the commit; `GET /v1/verdicts?source=S&id=I` finds what was answered.

use super::{
    Answer, Budget, Form, Intake, Limits, Outcome, Permit, Problem, ProblemKind, Reply, Routes, Submission, body,
    cloudevents,
    limits::{EVENT_COST_BYTES, SLICE_BYTES_MAX, SLICE_LINES_MAX},
    reply::{self, Chunk, Next},
    slices,
};
use crate::event::batch_events;
use bytes::Bytes;
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{ALLOW, CONNECTION, CONTENT_TYPE, EXPECT, HeaderValue},
};
use percent_encoding::percent_decode_str;
use std::{borrow::Cow, sync::Arc, time::Duration};

const TYPES: &str = "expected the content type application/json, application/cloudevents+json, \
    application/cloudevents-batch+json or application/x-ndjson";

/// The routes of one `http` source.
pub struct EventRoutes<I> {
    intake: Arc<I>,
    budget: Budget,
    limits: Limits,
}

impl<I: Intake> EventRoutes<I> {
    /// `budget` must hold at least [`Limits::budget_bytes_min`], or the largest bodies are never taken.
    #[must_use]
    pub fn new(intake: Arc<I>, budget: Budget, limits: Limits) -> Self {
        Self { intake, budget, limits }
    }

    async fn events(&self, request: Request<Incoming>, labels: bool) -> Result<Response<Reply>, Problem<'static>> {
        let form = form(&request)?;
        let expects = request.headers().contains_key(EXPECT);
        let body = request.into_body();
        let read = body::read(body, &self.budget, &self.limits, self.limits.body_bytes_max, expects).await;
        let (body, permit) = match read {
            Ok(read) => read,
            Err(problem) if problem.kind == ProblemKind::Busy => {
                self.intake.refused(1);
                return Err(problem);
            }
            Err(problem) => return Ok(unread(&problem)),
        };
        match form {
            Form::Ndjson => self.lines(body, labels, permit).await,
            Form::CloudEventBatch => self.batch(body, labels, permit).await,
            form => self.single(Submission { form, body, labels, permit }).await,
        }
    }

    async fn single(&self, submission: Submission) -> Result<Response<Reply>, Problem<'static>> {
        let answer = self.intake.submit(submission).await?;
        match answer.outcome(0) {
            outcome @ (Outcome::Verdict { .. } | Outcome::Label { .. }) => {
                let replayed = outcome == Outcome::Verdict { replayed: true };
                let mut out = Vec::with_capacity(reply::VERDICT_BYTES);
                answer.write_verdict(0, &mut out);
                if out.is_empty() {
                    let detail = "internal error: the verdict is durable but cannot be shown; ask again";
                    return Err(Problem::new(ProblemKind::Internal, detail));
                }
                Ok(reply::verdict(reply::paid(out, answer.into_held()), replayed))
            }
            Outcome::Problem(problem) => Ok(reply::problem(&problem)),
        }
    }

    async fn batch(&self, body: Bytes, labels: bool, mut permit: Permit) -> Result<Response<Reply>, Problem<'static>> {
        let events = batch_events(&body);
        let cost = events * EVENT_COST_BYTES;
        if permit.bytes() + cost > self.budget.bytes() {
            // Waiting would not help.
            let detail = format!("expected a batch that fits the memory for requests, found {events} events");
            return Err(Problem::new(ProblemKind::Oversized, detail));
        }
        let Ok(paid) = self.budget.take(cost, self.limits.budget_wait).await else {
            self.intake.refused(events as u64);
            return Err(Problem::busy("the memory for requests is in use"));
        };
        permit.merge(paid);
        let answer = self.intake.submit(Submission { form: Form::CloudEventBatch, body, labels, permit }).await?;
        Ok(reply::whole(StatusCode::OK, reply::NDJSON, reply::lines_of(answer)))
    }

    async fn lines(&self, mut body: Bytes, labels: bool, permit: Permit) -> Result<Response<Reply>, Problem<'static>> {
        let Some(slice) = slices::next(&mut body) else {
            return Ok(reply::whole(StatusCode::OK, reply::NDJSON, Bytes::new()));
        };
        let is_all = body.is_empty();
        let (intake, budget) = (Arc::clone(&self.intake), self.budget.clone());
        let work = Slices { intake, budget, wait: self.limits.budget_wait, labels, rest: body, _paid: permit };
        let first = reply::lines_of(work.submit(slice).await?);
        if is_all {
            return Ok(reply::whole(StatusCode::OK, reply::NDJSON, first));
        }
        let mut response = Response::new(Reply::lines(first, work.then()));
        response.headers_mut().insert(CONTENT_TYPE, reply::NDJSON);
        Ok(response)
    }

    async fn find(&self, query: &str) -> Result<Response<Reply>, Problem<'static>> {
        let (Some(source), Some(id)) = (parameter(query, "source"), parameter(query, "id")) else {
            return Err(Problem::new(ProblemKind::Malformed, "expected ?source=SOURCE&id=ID, percent-encoded"));
        };
        let found = match self.intake.find(&source?.form(), &id?.form()).await? {
            // A plus sign is a blank to most who encode, and itself to some who write by hand.
            None if query.contains('+') => {
                let (source, id) = (parameter(query, "source"), parameter(query, "id"));
                match (source, id) {
                    (Some(source), Some(id)) => self.intake.find(&source?.plain(), &id?.plain()).await?,
                    _ => None,
                }
            }
            found => found,
        };
        match found {
            Some(verdict) => Ok(reply::whole(StatusCode::OK, reply::JSON, verdict)),
            None => Err(Problem::new(ProblemKind::NotFound, "no verdict of this source and id is known")),
        }
    }
}

impl<I: Intake> Routes for EventRoutes<I> {
    async fn handle(&self, request: Request<Incoming>) -> Response<Reply> {
        let result = match (request.uri().path(), request.method()) {
            ("/v1/events", &Method::POST) => self.events(request, false).await,
            ("/v1/labels", &Method::POST) => self.events(request, true).await,
            ("/v1/verdicts", &Method::GET) => self.find(request.uri().query().unwrap_or_default()).await,
            ("/v1/events" | "/v1/labels", _) => return not_allowed("POST"),
            ("/v1/verdicts", _) => return not_allowed("GET"),
            _ => Err(Problem::new(ProblemKind::NotFound, "expected POST /v1/events or GET /v1/verdicts")),
        };
        result.unwrap_or_else(|problem| reply::problem(&problem))
    }
}

/// What submitting slices takes, apart from the source, because an answer outlives its handler's call.
struct Slices<I> {
    intake: Arc<I>,
    budget: Budget,
    wait: Duration,
    labels: bool,
    rest: Bytes,
    /// What the whole body was paid with.
    _paid: Permit,
}

impl<I: Intake> Slices<I> {
    async fn submit(&self, slice: slices::Slice) -> Result<I::Answer, Problem<'static>> {
        let permit = slices::pay(&slice, 0, &*self.intake, &self.budget, self.wait).await?;
        self.intake.submit(Submission { form: Form::Ndjson, body: slice.body, labels: self.labels, permit }).await
    }

    /// The lines of the slices that are left, slice by slice. The request is whole by now, so its client
    /// reads: neither side can wait for the other.
    fn then(mut self) -> Next {
        Box::pin(async move {
            loop {
                let slice = slices::next(&mut self.rest)?;
                let body = slice.body.clone();
                let lines = match self.submit(slice).await {
                    Ok(answer) => reply::lines_of(answer),
                    Err(problem) => slices::refused(&body, &problem),
                };
                // An empty chunk would end the answer; such a slice held empty lines only.
                if !lines.is_empty() {
                    return Some(Chunk { bytes: lines, next: self.then() });
                }
            }
        })
    }
}

/// A problem with a request whose body is not read to its end: the connection cannot go on.
fn unread(problem: &Problem<'_>) -> Response<Reply> {
    reply::problem_with(problem, |headers| {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    })
}

/// How the request's body holds its events.
fn form<B>(request: &Request<B>) -> Result<Form, Problem<'static>> {
    let headers = request.headers();
    let unsupported = || Problem::new(ProblemKind::UnsupportedMediaType, TYPES);
    let whole = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).ok_or_else(unsupported)?;
    let mut parts = whole.split(';');
    let essence = parts.next().unwrap_or_default().trim();
    for parameter in parts {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let utf8 = ["utf-8", "utf8", "us-ascii"].iter().any(|c| value.trim().trim_matches('"').eq_ignore_ascii_case(c));
        if name.trim().eq_ignore_ascii_case("charset") && !utf8 {
            return Err(Problem::new(ProblemKind::UnsupportedMediaType, "expected charset=utf-8"));
        }
    }
    let is = |name: &str| essence.eq_ignore_ascii_case(name);
    if is("application/json") {
        return match cloudevents::attributes(headers) {
            Ok(Some(attributes)) => Ok(Form::Binary(Box::new(attributes))),
            Ok(None) => Ok(Form::Json),
            Err(detail) => Err(Problem::new(ProblemKind::Malformed, detail)),
        };
    }
    if is("application/cloudevents+json") {
        return Ok(Form::CloudEvent);
    }
    if is("application/cloudevents-batch+json") {
        return Ok(Form::CloudEventBatch);
    }
    if is("application/x-ndjson") {
        return Ok(Form::Ndjson);
    }
    Err(unsupported())
}

fn not_allowed(allow: &'static str) -> Response<Reply> {
    let problem = Problem::new(ProblemKind::MethodNotAllowed, format!("expected {allow}"));
    reply::problem_with(&problem, |headers| {
        headers.insert(ALLOW, HeaderValue::from_static(allow));
    })
}

/// A query parameter as it stands in the URL.
struct Parameter<'a>(&'a str);

impl<'a> Parameter<'a> {
    fn form(&self) -> Cow<'a, str> {
        if self.0.contains('+') { decode(&self.0.replace('+', " ")).into_owned().into() } else { decode(self.0) }
    }

    fn plain(&self) -> Cow<'a, str> {
        decode(self.0)
    }
}

fn decode(text: &str) -> Cow<'_, str> {
    // Checked by `parameter`.
    percent_decode_str(text).decode_utf8_lossy()
}

fn parameter<'a>(query: &'a str, name: &str) -> Option<Result<Parameter<'a>, Problem<'static>>> {
    let value = query.split('&').find_map(|pair| pair.split_once('=').filter(|(n, _)| *n == name))?.1;
    Some(match percent_decode_str(value).decode_utf8() {
        Ok(_) => Ok(Parameter(value)),
        Err(_) => Err(Problem::new(ProblemKind::Malformed, format!("{name}: expected UTF-8, percent-encoded"))),
    })
}

const _: () = assert!(SLICE_BYTES_MAX >= SLICE_LINES_MAX);
