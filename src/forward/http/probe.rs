//! Asks the receiver what came of uncertain calls: 200 says that it was done, 404 that it was not, and anything else leaves
//! it uncertain.
//!
//! The first question comes [`Probe::after`] the call became uncertain: what the receiver is still working on then would be
//! made again. The waits between further questions double, up to [`WAIT_MAX`].

use super::Probe;
use super::desk::{Desk, now_ms};
use super::guarded::Settled;
use super::request;
use super::session::stopped;
use crate::link::http::Client;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The longest wait between two questions about one call.
const WAIT_MAX: Duration = Duration::from_hours(1);
/// The shortest wait between two questions.
const BETWEEN: Duration = Duration::from_millis(100);

/// When a call is asked for next, and the wait after that.
struct Due {
    at: Instant,
    wait: Duration,
}

/// Asks until `stop` turns true.
pub(super) async fn run(probe: &Probe, desk: &Desk, mut stop: watch::Receiver<bool>) {
    let mut changed = desk.watch();
    let mut client = Client::new(probe.client.clone());
    // By verdict and call: what is known of an earlier call says nothing of a later one.
    let mut due: BTreeMap<(u64, u64), Due> = BTreeMap::new();
    while !*stop.borrow_and_update() {
        changed.borrow_and_update();
        let uncertain = desk.uncertain().await;
        due.retain(|call, _| uncertain.iter().any(|(sequence, number, _)| (*sequence, *number) == *call));
        for (sequence, number, at_ms) in uncertain {
            due.entry((sequence, number)).or_insert_with(|| first(probe.after, at_ms));
        }
        let next = due.iter_mut().min_by_key(|(_, due)| due.at);
        let Some((call, next)) = next else {
            tokio::select! {
                _ = changed.changed() => continue,
                () = stopped(&mut stop) => return,
            }
        };
        let at = next.at;
        if at > Instant::now() {
            tokio::select! {
                () = tokio::time::sleep_until(at) => {}
                _ = changed.changed() => {}
                () = stopped(&mut stop) => return,
            }
            continue;
        }
        next.wait = (next.wait * 2).min(WAIT_MAX);
        next.at = Instant::now() + next.wait;
        let (sequence, number) = *call;
        let said = tokio::select! {
            said = ask(probe, desk, &mut client, sequence) => said,
            () = stopped(&mut stop) => return,
        };
        if let Some(how) = said {
            // It may have been settled meanwhile; a store that fails is told by the calls.
            let _ = desk.settle_call(sequence, Some(number), how, "the receiver").await;
        }
        tokio::select! {
            () = tokio::time::sleep(BETWEEN) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

/// By the wall clock, as long as that is plausible.
fn first(after: Duration, at_ms: i64) -> Due {
    let since = Duration::from_millis(u64::try_from(now_ms().saturating_sub(at_ms)).unwrap_or(0));
    Due { at: Instant::now() + after.saturating_sub(since), wait: after }
}

async fn ask(probe: &Probe, desk: &Desk, client: &mut Client, sequence: u64) -> Option<Settled> {
    let case = desk.case(sequence).ok()??;
    let call = request::probe(&probe.target, &case.record()?.verdict);
    match client.call(call).await {
        Ok(answer) if answer.status == 200 => Some(Settled::Delivered),
        Ok(answer) if answer.status == 404 => Some(Settled::Again),
        Ok(answer) => {
            tracing::debug!(sequence, status = answer.status, "the probe says nothing of the call");
            None
        }
        Err(error) => {
            tracing::debug!(sequence, %error, "the probe got no answer");
            client.disconnect();
            None
        }
    }
}
