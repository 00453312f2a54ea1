//! How `limits.memory` divides: pure arithmetic, shown by `check` and obeyed by the service.
//!
//! Everything but the dedup index has its share; the index gets the rest, and with it the number of events
//! that the window can hold. Where the rest is under [`INDEX_EVENTS_MIN`] events the config is refused.

use super::{Config, HttpSink, KafkaSink, MqttSink, PostgresSink, SinkKind, Size, SourceKind};
use crate::store::{INDEX_HEAD_BYTES, kept_list_bytes};
use std::fmt;

/// Code, stacks, the runtime, the allocator's slack and TLS: measured on an idle daemon, rounded up.
pub const PROCESS_BYTES: u64 = 18 << 20;
/// What an open connection keeps: its read and write buffers and its task.
pub const CONNECTION_BYTES: u64 = 16 << 10;
/// What a request needs over its body to be taken at all: one slice of decoded events and its answer.
const REQUEST_OVERHEAD_BYTES: u64 = 1 << 20;
/// Bytes of index an event.
pub const INDEX_BYTES_AN_EVENT: u64 = 12;
/// The least window worth the name.
pub const INDEX_EVENTS_MIN: u64 = 100_000;
/// What a sink holds of lines rendered and not yet confirmed.
pub const FORWARD_BYTES: u64 = 1 << 20;

/// What sources that hand in batches need at once: one under way and one that is read, with what is decoded of them.
const BATCHES_BYTES: u64 = 8 << 20;
/// What a Kafka source fetches ahead, in its client's queue and in the answer that is being read.
pub const KAFKA_SOURCE_BYTES: u64 = 12 << 20;
/// A client of a broker beyond what it holds of records: connections, TLS, tables.
pub const CLIENT_BYTES: u64 = 2 << 20;
/// What a Kafka sink that drains a backlog was seen to take on top, with the index full: kept free of the index where
/// the budget has it. Where the index is small anyway it is not full of a million events.
const KAFKA_DRAIN_BYTES: u64 = 3 << 20;
/// The same of an MQTT client, which has one connection.
pub const MQTT_CLIENT_BYTES: u64 = 512 << 10;
/// What an MQTT sink has waiting to be written, and what a message in flight costs.
const MQTT_WRITE_BYTES: u64 = 512 << 10;
const MESSAGE_BYTES: u64 = 64;
/// What a request of an HTTP sink costs: buffers, a connection with TLS.
const REQUEST_BYTES: u64 = 96 << 10;
/// What a verdict handed to it, or an open call, costs beyond its bytes.
const VERDICT_BYTES: u64 = 256;
/// Batches that a PostgreSQL sink holds beside those on their way out: one that gathers, one being put into a message,
/// for which buffers may be twice as large.
const POSTGRES_BATCHES: u64 = 4;
const POSTGRES_CLIENT_BYTES: u64 = 512 << 10;
/// What a Kafka record in flight costs beyond its bytes: headers, places in queues.
pub const RECORD_BYTES: u64 = 768;

/// What the model needs, known when it is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelCost {
    pub weights_bytes: u64,
    pub scratch_bytes: u64,
    /// Both of a shadow model, if there is one.
    pub shadow_bytes: u64,
    /// Whether any of them has window features.
    pub windows: bool,
}

/// The shares, in bytes. They add up to the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    pub budget: u64,
    pub process: u64,
    pub model: u64,
    /// A second model beside the first.
    pub shadow: u64,
    /// The past that window features need.
    pub windows: u64,
    pub connections: u64,
    /// Request bodies in flight, with what is decoded from them and the answers.
    pub queues: u64,
    /// Of `queues`, what the listeners may admit at once; the rest is what the allocator rounds up.
    pub admitted: u64,
    /// The newest chunks, for repeats and sinks.
    pub tail: u64,
    /// The store's own cache.
    pub cache: u64,
    pub forward: u64,
    /// Clients of brokers: what they queue and have in flight.
    pub clients: u64,
    /// The list of the events kept for a replay.
    pub replay: u64,
    /// The dedup index: the rest.
    pub index: u64,
}

/// The budget is under what the parts need.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{budget}\" does not hold its parts, which need \"{needed}\": {parts}, and the index of at least \
     {INDEX_EVENTS_MIN} events ({index}); raise limits.memory, or lower limits.request, limits.connections, \
     windows.memory or what sinks have in flight (in-flight, in-flight-size)"
)]
pub struct DoesNotFitMemory {
    pub budget: Size,
    /// The least budget that would do, in whole MiB.
    pub needed: Size,
    parts: String,
    index: String,
}

impl MemoryPlan {
    /// # Errors
    /// When the parts do not fit, with the numbers.
    pub fn divide(config: &Config, model: ModelCost) -> Result<Self, DoesNotFitMemory> {
        let budget = config.limits.memory.bytes();
        let has_http = config.sources.iter().any(|source| matches!(source.kind, SourceKind::Http(_)));
        let body = config.limits.request.bytes().saturating_add(REQUEST_OVERHEAD_BYTES);
        // The greatest event as it comes and as it is kept, with the head of its message.
        let batches = config.limits.event.bytes().saturating_mul(2).saturating_add(1 << 20).max(BATCHES_BYTES);
        let least = if has_http { body.max(batches) } else { batches };
        let wanted = least.max(if has_http { budget / 6 } else { budget / 8 });
        // With room to spare more may be on its way in at once.
        Self::share(config, model, wanted).or_else(|_| Self::share(config, model, least))
    }

    fn share(config: &Config, model: ModelCost, admitted: u64) -> Result<Self, DoesNotFitMemory> {
        let limits = &config.limits;
        let budget = limits.memory.bytes();
        let sinks = u64::try_from(config.sinks.len()).unwrap_or(u64::MAX);
        let listens = config.sources.iter().any(|source| source.kind.endpoint().is_some());
        let connections = if listens { u64::try_from(limits.connections).unwrap_or(u64::MAX) } else { 0 };
        let mut plan = Self {
            budget,
            process: PROCESS_BYTES,
            model: model.weights_bytes.saturating_add(model.scratch_bytes),
            shadow: model.shadow_bytes,
            windows: windows(config, model),
            connections: connections.saturating_mul(CONNECTION_BYTES),
            queues: admitted.saturating_add(admitted / 2),
            admitted,
            tail: (budget / 16).max(2 << 20),
            cache: (budget / 16).max(4 << 20),
            forward: FORWARD_BYTES.saturating_mul(sinks),
            clients: clients(config),
            replay: config.replay.keep.map_or(0, |_| kept_list_bytes(config.replay.disk.bytes())),
            index: 0,
        };
        let taken = plan.parts().iter().fold(0u64, |sum, (_, bytes, _)| sum.saturating_add(*bytes));
        let index_min = INDEX_EVENTS_MIN * INDEX_BYTES_AN_EVENT;
        if let Some(rest) = budget.checked_sub(taken).filter(|rest| *rest >= index_min) {
            let kafka = config.sinks.iter().filter(|sink| matches!(sink.kind, SinkKind::Kafka(_))).count();
            let wanted = KAFKA_DRAIN_BYTES.saturating_mul(u64::try_from(kafka).unwrap_or(u64::MAX));
            let drain = wanted.min(rest.saturating_sub(3 * index_min));
            plan.clients += drain;
            // Models are replaced while they are in use: their successors are loaded beside them.
            let successor = plan.model.saturating_add(plan.shadow).min((rest - drain).saturating_sub(3 * index_min));
            plan.model += successor;
            plan.index = rest - drain - successor;
            return Ok(plan);
        }
        let parts = plan.parts().into_iter().filter(|(_, bytes, _)| *bytes > 0);
        let parts = parts.map(|(name, bytes, _)| format!("{name} {}", Size(bytes).rounded())).collect::<Vec<_>>();
        Err(DoesNotFitMemory {
            budget: limits.memory,
            needed: Size(taken.saturating_add(index_min).div_ceil(1 << 20).saturating_mul(1 << 20)),
            parts: parts.join(", "),
            index: Size(index_min).rounded(),
        })
    }

    /// Gives the index room for so many events out of what is kept for a successor of the model, as far as it goes.
    /// Whether the index now holds them.
    pub fn hold_events(&mut self, events: u64, model: ModelCost) -> bool {
        let needed = events.saturating_mul(INDEX_BYTES_AN_EVENT).saturating_add(INDEX_HEAD_BYTES);
        let short = needed.saturating_sub(self.index);
        let spare = self.model.saturating_sub(model.weights_bytes.saturating_add(model.scratch_bytes));
        if short <= spare {
            self.index += short;
            self.model -= short;
        }
        short <= spare
    }

    /// Events that the index holds: the bound that memory sets to the dedup window.
    #[must_use]
    pub fn index_events(&self) -> u64 {
        self.index / INDEX_BYTES_AN_EVENT
    }

    /// Name, bytes and what it is, in the order shown; together the budget.
    #[must_use]
    pub fn parts(&self) -> Vec<(&'static str, u64, String)> {
        vec![
            ("process", self.process, "code, stacks, runtime".to_owned()),
            ("model", self.model, "weights and scratch, and room for a successor".to_owned()),
            ("shadow", self.shadow, "a second model's weights and scratch".to_owned()),
            ("windows", self.windows, "the past that window features need".to_owned()),
            ("connections", self.connections, format!("{} each", Size(CONNECTION_BYTES))),
            (
                "queues",
                self.queues,
                format!("events on their way in, {} admitted at once", Size(self.admitted).rounded()),
            ),
            ("tail", self.tail, "the newest verdicts, for repeats and sinks".to_owned()),
            ("cache", self.cache, "the store's".to_owned()),
            ("forward", self.forward, "lines on their way to sinks".to_owned()),
            ("clients", self.clients, "of brokers: what they fetch ahead and have in flight".to_owned()),
            ("replay", self.replay, "the list of the events kept".to_owned()),
            ("index", self.index, format!("dedup: {} events at {INDEX_BYTES_AN_EVENT} bytes", self.index_events())),
        ]
    }

    /// For `check --json` and `status --json`.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let parts = self.parts().into_iter().map(|(name, bytes, _)| (name.to_owned(), bytes.into()));
        serde_json::json!({
            "budget": self.budget,
            "parts": parts.collect::<serde_json::Map<_, _>>(),
            "admitted": self.admitted,
            "index-events": self.index_events(),
        })
    }
}

/// The least state worth the name.
const WINDOWS_BYTES_MIN: u64 = 1 << 20;

/// What the state of window features may take.
fn windows(config: &Config, model: ModelCost) -> u64 {
    let share = (config.limits.memory.bytes() / 4).max(WINDOWS_BYTES_MIN);
    if model.windows { config.windows.memory.map_or(share, Size::bytes) } else { 0 }
}

/// What all clients of brokers need.
fn clients(config: &Config) -> u64 {
    let sources = config.sources.iter().map(|source| match &source.kind {
        SourceKind::Kafka(_) => KAFKA_SOURCE_BYTES,
        // Its buffers are paid for out of `queues`.
        SourceKind::Mqtt(_) => MQTT_CLIENT_BYTES,
        _ => 0,
    });
    let sinks = config.sinks.iter().map(|sink| match &sink.kind {
        SinkKind::Kafka(kafka) => kafka_sink_bytes(kafka),
        SinkKind::Mqtt(mqtt) => mqtt_sink_bytes(mqtt),
        SinkKind::Http(http) => http_sink_bytes(http),
        SinkKind::Postgres(postgres) => postgres_sink_bytes(postgres),
        SinkKind::File(_) => 0,
    });
    sources.chain(sinks).fold(0, u64::saturating_add)
}

/// Each record in flight stands in the client's queue and in a request.
#[must_use]
pub fn kafka_sink_bytes(sink: &KafkaSink) -> u64 {
    let records = u64::try_from(sink.in_flight).unwrap_or(u64::MAX).saturating_mul(RECORD_BYTES);
    sink.in_flight_size.bytes().saturating_add(records).saturating_mul(2).saturating_add(CLIENT_BYTES)
}

/// Messages are sent from the log; what waits to be written, and a place for each that is in flight.
#[must_use]
pub fn mqtt_sink_bytes(sink: &MqttSink) -> u64 {
    let waiting = sink.in_flight_size.bytes().min(MQTT_WRITE_BYTES);
    waiting.saturating_add(u64::from(sink.in_flight) * MESSAGE_BYTES).saturating_add(MQTT_CLIENT_BYTES)
}

/// Verdicts as they wait and as they are sent, and what each request costs. A guarded sink makes one call at a time, and
/// holds a place for each open one.
#[must_use]
pub fn http_sink_bytes(sink: &HttpSink) -> u64 {
    let requests = u64::try_from(sink.in_flight).unwrap_or(u64::MAX);
    let verdicts = u64::try_from(sink.batch).unwrap_or(u64::MAX).saturating_mul(requests).saturating_mul(8);
    let open = sink.guarded.as_ref().map_or(0, |guarded| u64::try_from(guarded.uncertain_limit).unwrap_or(u64::MAX));
    let waiting = sink.in_flight_size.bytes().saturating_mul(2);
    let requests = requests.saturating_mul(REQUEST_BYTES);
    waiting.saturating_add(requests).saturating_add(verdicts.saturating_add(open).saturating_mul(VERDICT_BYTES))
}

/// A batch that gathers, and those on their way out as long as the server has not taken them.
#[must_use]
pub fn postgres_sink_bytes(sink: &PostgresSink) -> u64 {
    let batches = u64::try_from(sink.in_flight).unwrap_or(u64::MAX).saturating_add(POSTGRES_BATCHES);
    sink.batch_size.bytes().saturating_mul(batches).saturating_add(POSTGRES_CLIENT_BYTES)
}

/// A table: part, size, what it is.
impl fmt::Display for MemoryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:<12} {:>10}  limits.memory", "budget", Size(self.budget).rounded())?;
        for (name, bytes, what) in self.parts() {
            writeln!(f, "  {name:<12} {:>10}  {what}", Size(bytes).rounded())?;
        }
        Ok(())
    }
}
