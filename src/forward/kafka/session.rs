//! One producer's life: from the cursor on, until the sink stops or the producer is of no more use.

use super::producer::{News, Producer, Reports, is_echo};
use super::record::Rendered;
use super::width::Width;
use super::{Options, producer};
use crate::forward::{Feed, InFlight, SinkStatus};
use crate::link::Trouble;
use crate::link::kafka::{SetupError, trouble, trouble_of_global};
use crate::store::{Store, StoreError};
use crate::verdict::Verdict;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::MetadataTopic;
use rdkafka::producer::{BaseRecord, Producer as _};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the brokers are asked what ails a topic.
const ASK_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a session is over.
#[derive(Debug)]
pub(super) struct Failure {
    pub trouble: Trouble,
    pub text: String,
    /// The record that was refused, where it is one's.
    pub sequence: Option<u64>,
    /// Everything handed over is below.
    pub handed_over: u64,
}

/// A producer, what was handed to it, and what the brokers have confirmed of it.
pub(super) struct Session<'a> {
    options: &'a Options,
    store: &'a Arc<Store>,
    status: &'a SinkStatus,
    producer: Option<Producer>,
    reports: Arc<Reports>,
    feed: Feed,
    flight: InFlight,
    rendered: Rendered,
    /// Handles count from here, so that they fit a pointer.
    base: u64,
    /// Records from here on are not handed over.
    pub below: u64,
    /// When last something was confirmed, or nothing was left to be.
    pub progress: Instant,
    /// Only a person can mend it, as this producer was told: what it tells besides is a consequence.
    is_parked: bool,
}

impl<'a> Session<'a> {
    pub fn open(
        options: &'a Options,
        store: &'a Arc<Store>,
        status: &'a SinkStatus,
        width: Width,
    ) -> Result<Self, Failure> {
        let base = store.cursor(&options.name).map_err(|error| Failure::store(&error))?;
        let (producer, reports) = producer::open(options, width).map_err(|error| Failure::setup(&error))?;
        Ok(Self {
            options,
            store,
            status,
            producer: Some(producer),
            reports,
            feed: Feed::new(Arc::clone(store), options.filter.clone(), base),
            flight: InFlight::new(options.in_flight_records, options.in_flight_bytes),
            rendered: Rendered::default(),
            base,
            below: width.below(),
            progress: Instant::now(),
            is_parked: false,
        })
    }

    /// Everything below is confirmed.
    pub fn cursor(&self) -> u64 {
        self.flight.first().unwrap_or_else(|| self.feed.next())
    }

    pub fn is_idle(&self) -> bool {
        self.flight.is_empty()
    }

    pub fn is_done(&self) -> bool {
        self.flight.is_empty() && self.feed.is_at_end()
    }

    /// Passes over a record that was set aside.
    pub fn pass(&mut self, next: u64) {
        self.feed.seek(next);
    }

    pub async fn news(&self) {
        self.reports.rung().await;
    }

    /// Takes the reports that came; true where something was confirmed.
    pub fn settle(&mut self) -> Result<bool, Failure> {
        let news = self.reports.take();
        let any = self.note(&news)?;
        if let Some(code) = news.failed {
            let sequence = self.base + news.failed_handle as u64;
            return Err(self.fail(code, &news, Some(sequence)));
        }
        for (code, reason) in &news.errors {
            self.client_error(*code, reason, &news)?;
        }
        Ok(any)
    }

    fn note(&mut self, news: &News) -> Result<bool, Failure> {
        let freed = news.confirmed.iter().map(|handle| self.flight.confirm(self.base + *handle as u64)).sum();
        if !news.confirmed.is_empty() {
            self.is_parked = false;
            self.status.add_delivered(freed);
            self.status.recovered();
        }
        if !news.confirmed.is_empty() || self.flight.is_empty() {
            self.progress = Instant::now();
        }
        let store = |error: StoreError| Failure::store(&error);
        if self.store.cursor(&self.options.name).map_err(store)? != self.cursor() {
            // Never back: a session that was slow to end may come here after its successor.
            self.store.advance_cursor(&self.options.name, self.cursor());
        }
        Ok(!news.confirmed.is_empty())
    }

    /// An error of the client as a whole: it goes on by itself, but for a fatal one.
    fn client_error(&mut self, code: RDKafkaErrorCode, reason: &str, news: &News) -> Result<(), Failure> {
        if code == RDKafkaErrorCode::Fatal || self.fatal().is_some() {
            return Err(self.fail(RDKafkaErrorCode::Fatal, news, None));
        }
        let trouble = trouble_of_global(code, reason);
        // One of several connections may close for its own reasons; without any there is no link.
        let is_down = code == RDKafkaErrorCode::AllBrokersDown || !self.flight.is_empty();
        if trouble == Trouble::Configuration || is_down {
            self.tell(trouble, &format!("{code}: {reason}"));
        }
        Ok(())
    }

    /// Whether it waits for a person, for as long as a probe.
    pub fn is_due_anew(&self) -> bool {
        self.is_parked && !self.flight.is_empty() && self.progress.elapsed() >= self.options.probe
    }

    fn tell(&mut self, trouble: Trouble, text: &str) {
        self.is_parked |= trouble == Trouble::Configuration;
        if trouble == Trouble::Configuration || !self.is_parked {
            self.status.failed(trouble, text);
        }
    }

    fn fatal(&self) -> Option<(RDKafkaErrorCode, String)> {
        self.producer.as_ref().and_then(|producer| producer.client().fatal_error())
    }

    fn fail(&self, code: RDKafkaErrorCode, news: &News, sequence: Option<u64>) -> Failure {
        let reasons = news.errors.iter().map(|(_, reason)| reason.as_str()).collect::<Vec<_>>().join("; ");
        let (code, text) = match (code, self.fatal()) {
            (RDKafkaErrorCode::Fatal, Some((cause, text))) => (cause, text),
            (code, fatal) => (code, fatal.map_or(reasons, |(_, text)| text)),
        };
        let topic = &self.options.topic;
        let text = match trouble(code) {
            Trouble::Poison => code.to_string(),
            _ if text.is_empty() => format!("topic {topic}: {code}"),
            _ => format!("topic {topic}: {code}: {text}"),
        };
        Failure { trouble: trouble(code), text, sequence, handed_over: self.feed.next() }
    }

    /// Hands over what is committed, as far as there is room. A record larger than the client takes at all comes
    /// back as a failure of its own.
    pub fn hand_over(&mut self) -> Result<(), Failure> {
        let Self { options, producer, feed, flight, rendered, base, below, .. } = self;
        let Some(producer) = producer else { return Ok(()) };
        let mut failed = None;
        let read = feed.read(|sequence, verdict| {
            if sequence >= *below || !flight.has_room(0) {
                return ControlFlow::Break(());
            }
            let Ok(handle) = usize::try_from(sequence - *base) else { return ControlFlow::Break(()) };
            match send(producer, options, rendered, verdict, handle) {
                Ok(()) => {
                    flight.push(sequence, rendered.cost(verdict));
                    ControlFlow::Continue(())
                }
                Err(RDKafkaErrorCode::QueueFull) => ControlFlow::Break(()),
                Err(code) => {
                    failed = Some((code, sequence));
                    ControlFlow::Break(())
                }
            }
        });
        read.map_err(|error| Failure::store(&error))?;
        match failed {
            Some((code, sequence)) => Err(self.fail(code, &News::default(), Some(sequence))),
            None => Ok(()),
        }
    }

    /// Asks the brokers about the topic, where a person may have to mend something that is told nowhere else.
    pub fn ask(&mut self) {
        let Some(producer) = &self.producer else { return };
        let topic = &self.options.topic;
        let answer = producer.client().fetch_metadata(Some(topic), ASK_TIMEOUT);
        let (code, text) = match answer.map(|metadata| metadata.topics().first().and_then(MetadataTopic::error)) {
            Err(error) => {
                let code = error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown);
                (code, format!("the brokers do not answer: {code}"))
            }
            Ok(Some(code)) => {
                let code = RDKafkaErrorCode::from(code);
                (code, format!("topic {topic}: {code}"))
            }
            // With records under way only their confirmation tells that all is well.
            Ok(None) if !self.flight.is_empty() => return,
            Ok(None) => {
                self.is_parked = false;
                self.status.recovered();
                return;
            }
        };
        self.tell(trouble(code), &text);
    }

    /// Ends the producer: what is under way is given up, and what was confirmed until then counts.
    ///
    /// Returns the failure with what became known of its cause meanwhile.
    pub fn close(mut self, failure: Option<Failure>) -> Option<Failure> {
        let fatal = self.fatal();
        drop(self.producer.take());
        let news = self.reports.take();
        // A store that fails now fails again in the next session, which tells it.
        let _ = self.note(&news);
        let failure = failure?;
        match news.failed {
            Some(code) if failure.sequence.is_none() && fatal.is_some() && !is_echo(code) => {
                Some(self.fail(code, &News::default(), Some(self.base + news.failed_handle as u64)))
            }
            _ => Some(failure),
        }
    }
}

fn send(
    producer: &Producer,
    options: &Options,
    rendered: &mut Rendered,
    verdict: &Verdict<'_>,
    handle: usize,
) -> Result<(), RDKafkaErrorCode> {
    rendered.value(options.encoding, verdict);
    let headers = rendered.headers(options.encoding, verdict);
    let mut record = BaseRecord::<[u8], [u8], usize>::with_opaque_to(&options.topic, handle)
        .payload(rendered.value.as_slice())
        .headers(headers);
    record.key = verdict.key.map(str::as_bytes);
    producer.send(record).map_err(|(error, _)| match error {
        KafkaError::MessageProduction(code) => code,
        other => other.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown),
    })
}

impl Failure {
    pub fn store(error: &StoreError) -> Self {
        Self { trouble: Trouble::Transient, text: error.to_string(), sequence: None, handed_over: 0 }
    }

    fn setup(error: &SetupError) -> Self {
        Self { trouble: Trouble::Configuration, text: error.to_string(), sequence: None, handed_over: 0 }
    }
}
