//! From the code's events to what is written, past the throttle.

use super::message::Message;
use super::throttle::Throttle;
use super::{journal, lines};
use crate::notice;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use systemd_journal_logger::JournalLog;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::Context;

/// The thread that tells summaries formats one message at a time.
const THREAD_STACK_BYTES: usize = 256 << 10;

/// Where messages go, and how.
pub(super) enum Output {
    Text { colour: bool },
    Json,
    Journal(Box<JournalLog>),
}

pub(super) struct Recorder {
    output: Output,
    /// Whether the journal did not take the last message.
    is_cut_off: AtomicBool,
    is_throttled: AtomicBool,
    throttle: Mutex<Throttle>,
    /// Told when a summary may be due earlier than before.
    earlier: Condvar,
    started: Instant,
}

/// The recorder as a subscriber's layer.
pub(super) struct Layer(pub Arc<Recorder>);

impl<S: Subscriber> tracing_subscriber::Layer<S> for Layer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.0.record(Message::of(event));
    }
}

impl Recorder {
    pub fn new(output: Output, is_throttled: bool) -> Self {
        Self {
            output,
            is_cut_off: AtomicBool::new(false),
            is_throttled: AtomicBool::new(is_throttled),
            throttle: Mutex::default(),
            earlier: Condvar::new(),
            started: Instant::now(),
        }
    }

    pub fn set_throttled(&self, is_throttled: bool) {
        self.is_throttled.store(is_throttled, Relaxed);
    }

    /// Starts the thread that tells summaries when they are due. Where there can be none, they are told with the
    /// next message or at the end.
    pub fn watch(recorder: &Arc<Self>) {
        let recorder = Arc::clone(recorder);
        let thread = std::thread::Builder::new().name("log".to_owned()).stack_size(THREAD_STACK_BYTES);
        drop(thread.spawn(move || recorder.tell_when_due()));
    }

    fn record(&self, message: Message) {
        // Single events are asked for as they are.
        if message.level > Level::INFO || !self.is_throttled.load(Relaxed) {
            self.write(&message);
            return;
        }
        let mut throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        let offered = throttle.offer(message, self.started.elapsed());
        // Writing may block, and may itself log.
        drop(throttle);
        if offered.is_first_held {
            self.earlier.notify_one();
        }
        offered.told.iter().for_each(|message| self.write(message));
    }

    pub fn flush(&self) {
        let mut throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        let told = throttle.all(self.started.elapsed(), SystemTime::now());
        drop(throttle);
        for message in &told {
            self.write(message);
        }
    }

    fn tell_when_due(&self) {
        let mut throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(due) = throttle.next_due() else {
                throttle = self.earlier.wait(throttle).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let now = self.started.elapsed();
            let wait = due.saturating_sub(now);
            if wait > Duration::ZERO {
                let waited = self.earlier.wait_timeout(throttle, wait).unwrap_or_else(PoisonError::into_inner);
                throttle = waited.0;
                continue;
            }
            let told = throttle.due(now, SystemTime::now());
            drop(throttle);
            for message in &told {
                self.write(message);
            }
            throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write(&self, message: &Message) {
        let line = match &self.output {
            Output::Text { colour } => lines::text(message, *colour),
            Output::Json => lines::json(message),
            Output::Journal(journal) => match journal::send(journal, message) {
                Ok(()) => {
                    self.is_cut_off.store(false, Relaxed);
                    return;
                }
                Err(error) => {
                    if !self.is_cut_off.swap(true, Relaxed) {
                        // This one finds the journal cut off and comes out below, as a line.
                        let kind = notice::JOURNAL_UNREACHABLE.kind;
                        tracing::warn!(kind, %error, "the journal does not take messages: JSON instead");
                    }
                    lines::json(message)
                }
            },
        };
        // There is nobody left to tell where stderr itself is closed.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}
