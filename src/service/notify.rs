//! What the supervisor is told (`sd_notify(3)`): ready, reloading, stopping, a line for people, and that the engine
//! gets on. Without `NOTIFY_SOCKET` nothing is said.
//!
//! The watchdog is fed only while the engine moves, or has nothing to do ([`crate::engine::Engine::stuck_for`]): a commit that does
//! not come back trips it, an idle daemon does not.

use super::admin::View;
use super::status::{lag, window_in_force_ms};
use crate::engine::Progress;
use crate::notice;
use crate::store::Room;
use sd_notify::NotifyState;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How often the line for people is renewed.
const STATUS_EVERY: Duration = Duration::from_secs(5);
/// While the store is opened, more time is asked for so often, and each time so much.
const OPENING_EVERY: Duration = Duration::from_secs(5);
const OPENING_MORE: Duration = Duration::from_mins(1);
/// The longest that more time is asked for: an opening that hangs must end some time.
const OPENING_MAX: Duration = Duration::from_hours(1);

/// Tells the supervisor; that it cannot be reached is no reason to end.
pub fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(false, states) {
        tracing::debug!(%error, "the supervisor cannot be told");
    }
}

/// Ready, with what is now in force.
pub fn ready(line: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(line)]);
}

/// A reload begins; [`ready`] ends it.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now, NotifyState::Status("reloading")]),
        Err(_) => tell(&[NotifyState::Reloading, NotifyState::Status("reloading")]),
    }
}

pub fn stopping(line: &str) {
    tell(&[NotifyState::Stopping, NotifyState::Status(line)]);
}

/// Asks for more time while it lives: opening a store of gigabytes can take tens of seconds.
pub struct Opening(Arc<AtomicBool>);

impl Opening {
    #[must_use]
    pub fn begin() -> Self {
        let over = Arc::<AtomicBool>::default();
        if std::env::var_os("NOTIFY_SOCKET").is_some() {
            let seen = Arc::clone(&over);
            let begun = Instant::now();
            let ask = move || {
                while !seen.load(Relaxed) && begun.elapsed() < OPENING_MAX {
                    let more = u32::try_from(OPENING_MORE.as_micros()).unwrap_or(u32::MAX);
                    tell(&[NotifyState::ExtendTimeoutUsec(more), NotifyState::Status("opening the store")]);
                    std::thread::park_timeout(OPENING_EVERY);
                }
            };
            // Without a thread the supervisor's usual time has to do.
            drop(std::thread::Builder::new().name("opening".to_owned()).spawn(ask));
        }
        Self(over)
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// The supervisor's watchdog, if it has one for this process.
fn watchdog() -> Option<Duration> {
    let mut usec = 0;
    sd_notify::watchdog_enabled(false, &mut usec).then(|| Duration::from_micros(usec))
}

/// Feeds the watchdog and renews the line, until the daemon stops. On a thread of its own, which nothing that serves
/// waits for; a task tells it that the runtime gets on, too.
pub fn keep_telling(view: Arc<View>) {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return;
    }
    let watchdog = watchdog();
    let tick =
        watchdog.map_or(STATUS_EVERY, |watchdog| (watchdog / 4).min(STATUS_EVERY)).max(Duration::from_millis(10));
    let beat = Arc::new(Progress::default());
    let beating = Arc::clone(&beat);
    tokio::spawn(async move {
        loop {
            beating.note();
            tokio::time::sleep(tick).await;
        }
    });
    let teller = Teller { view, watchdog, beat };
    // Without a thread there is no feeding, and the supervisor starts it anew.
    drop(std::thread::Builder::new().name("notify".to_owned()).spawn(move || teller.run(tick)));
}

struct Teller {
    view: Arc<View>,
    watchdog: Option<Duration>,
    /// Of the runtime.
    beat: Arc<Progress>,
}

impl Teller {
    fn run(&self, tick: Duration) {
        let mut line = Line::default();
        let (mut said, mut was_stuck) = (None::<Instant>, false);
        while !self.view.stopping.load(Relaxed) {
            if let Some(watchdog) = self.watchdog {
                let still = self.view.engine.stuck_for().max(self.beat.elapsed());
                let stuck = is_too_long(still, watchdog);
                if stuck && !was_stuck {
                    let (kind, seconds) = (notice::ENGINE_STUCK.kind, still.as_secs());
                    tracing::error!(kind, seconds, "the engine does not get on: the watchdog is not fed any more");
                }
                was_stuck = stuck;
                if !stuck {
                    tell(&[NotifyState::Watchdog]);
                }
            }
            if said.is_none_or(|at| at.elapsed() >= STATUS_EVERY) {
                said = Some(Instant::now());
                tell(&[NotifyState::Status(&line.next(&self.view))]);
            }
            std::thread::sleep(tick);
        }
    }
}

/// Half of the watchdog's time without a move is too long: the other half is for the daemon to be ended in order.
fn is_too_long(still: Duration, watchdog: Duration) -> bool {
    still > watchdog / 2
}

/// The line for people, with the rate since the last one.
#[derive(Default)]
pub struct Line {
    last: Option<(Instant, u64)>,
}

impl Line {
    /// What is going on now, as in "1,204 events/s; audit: 0 behind; bank: down, 12,034 behind (180 s)".
    pub fn next(&mut self, view: &View) -> String {
        let stats = view.store.stats();
        let now = Instant::now();
        let rate = self.last.map_or(0, |(at, then)| {
            let millis = u64::try_from(now.duration_since(at).as_millis()).unwrap_or(u64::MAX).max(1);
            stats.committed.saturating_sub(then).saturating_mul(1000) / millis
        });
        self.last = Some((now, stats.committed));
        let mut line = match view.store.room() {
            Room::Yes => format!("{} events/s", grouped(rate)),
            full => format!("nothing new is taken: {full}"),
        };
        // A line of status output has room for a few.
        for sink in view.now().sinks.iter().take(6) {
            let lag = lag(&view.store, &sink.name);
            let down = if sink.link.is_up() { "" } else { "down, " };
            let _ = write!(line, "; {}: {down}{} behind", sink.name, grouped(lag.events));
            if lag.seconds >= 1.0 {
                let _ = write!(line, " ({:.0} s)", lag.seconds);
            }
        }
        let hours = window_in_force_ms(view, &stats) / 3_600_000;
        let cut = if stats.window_cut_by.is_some() { ", cut" } else { "" };
        let _ = write!(line, "; window {hours} h{cut}");
        line
    }
}

/// A count with its thousands set apart.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        for (count, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(count), text);
        }
    }
}
