//! Reading a request's body: paid for as it arrives, within its limit of bytes and time.
//!
//! A small body that comes whole in one frame, the usual case, is taken as it is: no copy, no timer.

use super::{Budget, Limits, Permit, Problem, ProblemKind, limits::REQUEST_COST_BYTES};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;
use std::fmt::Display;
use tokio::time::timeout;

/// A body for which there is no memory is read on and thrown away up to this, so that its connection goes on.
const DISCARD_BYTES_MAX: usize = 8 << 20;

/// The whole body, and the memory it was paid with. `expects` when the client waits for `100 Continue`.
/// After a problem other than [`ProblemKind::Busy`] the rest of the body is unread.
pub(super) async fn read<B>(
    mut body: B,
    budget: &Budget,
    limits: &Limits,
    bytes_max: usize,
    expects: bool,
) -> Result<(Bytes, Permit), Problem<'static>>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    // Answered at once: its connection ends with it.
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large(bytes_max));
    }
    let Some(mut permit) = budget.try_take(REQUEST_COST_BYTES) else {
        // Who waits for leave to send has sent nothing.
        if !expects {
            discard(&mut body, limits).await;
        }
        return Err(Problem::busy("the memory for requests is in use"));
    };
    let collected = timeout(limits.body_timeout, async {
        let mut whole = Collected::default();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| broken(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            if whole.len() + data.len() > bytes_max {
                return Err(too_large(bytes_max));
            }
            let Ok(paid) = budget.take(data.len(), limits.budget_wait).await else {
                return Err(Problem::busy("the memory for requests is in use"));
            };
            permit.merge(paid);
            whole.push(data);
            if body.is_end_stream() {
                break;
            }
        }
        Ok(whole.into_bytes())
    });
    let problem = match collected.await {
        Ok(Ok(bytes)) => return Ok((bytes, permit)),
        Ok(Err(problem)) => problem,
        Err(_) => {
            let seconds = limits.body_timeout.as_secs_f32();
            return Err(Problem::new(ProblemKind::Timeout, format!("expected the whole body within {seconds} s")));
        }
    };
    // What was held is given back before the rest is thrown away.
    drop(permit);
    if problem.kind == ProblemKind::Busy {
        discard(&mut body, limits).await;
    }
    Err(problem)
}

fn too_large(bytes_max: usize) -> Problem<'static> {
    Problem::new(ProblemKind::Oversized, format!("expected a body of at most {bytes_max} bytes"))
}

fn broken(error: &impl Display) -> Problem<'static> {
    Problem::new(ProblemKind::Malformed, format!("the body broke off: {error}"))
}

async fn discard<B>(body: &mut B, limits: &Limits)
where
    B: Body<Data = Bytes> + Unpin,
{
    let _ = timeout(limits.body_timeout, async {
        let mut left = DISCARD_BYTES_MAX;
        while let Some(Ok(frame)) = body.frame().await {
            let Some(rest) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else { break };
            left = rest;
        }
    })
    .await;
}

/// Frames that become one `Bytes`; a single one stays as it is.
#[derive(Default)]
struct Collected {
    first: Bytes,
    rest: Vec<u8>,
}

impl Collected {
    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    fn push(&mut self, data: Bytes) {
        if self.len() == 0 {
            self.first = data;
            return;
        }
        let first = std::mem::take(&mut self.first);
        // Exact, because growing by doubling would hold up to twice what was paid for.
        self.rest.reserve_exact(first.len() + data.len());
        self.rest.extend_from_slice(&first);
        self.rest.extend_from_slice(&data);
    }

    fn into_bytes(self) -> Bytes {
        if self.rest.is_empty() { self.first } else { self.rest.into() }
    }
}
