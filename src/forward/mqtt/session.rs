//! One connection's life: from the cursor on, until the sink stops or the connection fails.

use super::message::Writer;
use super::packet_ids::PacketIds;
use super::{Options, stopped};
use crate::forward::{Feed, InFlight, SetAside, SinkStatus};
use crate::link::Trouble;
use crate::link::mqtt::{
    Connection, Inbound, MqttError, Protocol, Reason, Session as Kept, is_refusal, packet_bytes, publish_trouble,
};
use crate::store::{QuarantineEntry, Store, StoreError};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::time::Instant;

/// Bytes put and not written, above which nothing more is put.
const OUT_BYTES_MAX: usize = 256 << 10;
/// How often a record is refused for a reason that says nothing, before it is taken for the record's fault.
const REFUSALS_MAX: u32 = 5;
/// The largest packet that a broker sends to a client that subscribes to nothing.
const INCOMING_BYTES_MAX: usize = 16 << 10;

/// Why a connection is of no more use.
#[derive(Debug)]
pub(super) struct Failure {
    pub trouble: Trouble,
    pub text: String,
}

impl From<MqttError> for Failure {
    fn from(error: MqttError) -> Self {
        Self { trouble: error.trouble(), text: error.to_string() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { trouble: Trouble::Transient, text: error.to_string() }
    }
}

/// A record that was refused, and how often in a row: kept from one connection to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refused {
    sequence: u64,
    times: u32,
}

/// What a session works with.
pub(super) struct Work<'a> {
    pub options: &'a Options,
    pub store: &'a Arc<Store>,
    pub aside: &'a dyn SetAside,
    pub status: &'a SinkStatus,
    pub refused: &'a mut Refused,
    /// Set where the connection was of use.
    pub progress: &'a mut bool,
}

struct Session<'a> {
    work: Work<'a>,
    connection: Connection,
    feed: Feed,
    flight: InFlight,
    ids: PacketIds,
    writer: Writer,
    /// Records in flight that are to be set aside when all before them is confirmed, with the reason.
    poison: BTreeMap<u64, String>,
    packet_bytes_max: usize,
    cursor: u64,
}

/// Connects and delivers until `stop` turns true; then what is committed by then, for at most
/// [`Options::drain`].
pub(super) async fn deliver(work: Work<'_>, stop: &mut watch::Receiver<bool>) -> Result<(), Failure> {
    let options = work.options;
    let (connection, granted) = tokio::select! {
        connected = Connection::connect(&options.client, Kept::Clean, INCOMING_BYTES_MAX) => connected?,
        () = stopped(stop) => return Ok(()),
    };
    if options.retain && !granted.retain {
        return Err(MqttError::Unfit("it retains no messages, and retain is set").into());
    }
    let cursor = work.store.cursor(&options.name)?;
    let records = usize::from(options.in_flight_records.min(granted.receive_max));
    let session = Session {
        connection,
        feed: Feed::new(Arc::clone(work.store), options.filter.clone(), cursor),
        flight: InFlight::new(records, options.in_flight_bytes),
        ids: PacketIds::default(),
        writer: Writer::new(options.client.protocol, options.encoding, options.topic.clone(), options.retain),
        poison: BTreeMap::new(),
        packet_bytes_max: granted.packet_bytes_max.unwrap_or(usize::MAX),
        cursor,
        work,
    };
    session.run(stop).await
}

impl Session<'_> {
    async fn run(mut self, stop: &mut watch::Receiver<bool>) -> Result<(), Failure> {
        let mut committed = self.work.store.watch();
        let mut end = None;
        loop {
            committed.borrow_and_update();
            if !self.set_aside().await? {
                return Ok(());
            }
            self.fill()?;
            self.keep_cursor();
            let idle = self.flight.is_empty() && self.feed.is_at_end();
            if idle {
                self.work.status.recovered();
                if end.is_some() {
                    self.connection.bye().await;
                    return Ok(());
                }
            }
            let at_end = self.feed.is_at_end();
            tokio::select! {
                turn = self.connection.turn(true) => {
                    turn?;
                    self.take()?;
                }
                _ = committed.changed(), if at_end => {}
                () = stopped(stop), if end.is_none() => end = Some(Instant::now() + self.work.options.drain),
                () = at(end) => return Ok(()),
            }
        }
    }

    /// Puts what is committed as far as there is room.
    fn fill(&mut self) -> Result<(), Failure> {
        let Self { connection, feed, flight, ids, writer, poison, packet_bytes_max, work, .. } = self;
        let protocol = work.options.client.protocol;
        // After a refusal one at a time: what is sent behind it would overtake it.
        let cautious = work.refused.times > 0;
        feed.read(|sequence, verdict| {
            if (cautious && !flight.is_empty()) || connection.waiting() > OUT_BYTES_MAX || !flight.has_room(0) {
                return ControlFlow::Break(());
            }
            let put = catch_unwind(AssertUnwindSafe(|| {
                writer.write(verdict, |message| {
                    let bytes = packet_bytes(protocol, message);
                    if bytes > *packet_bytes_max {
                        return Some(Err(format!("{bytes} bytes, and the broker takes packets of {packet_bytes_max}")));
                    }
                    if !flight.has_room(bytes) {
                        return None;
                    }
                    let id = ids.give(sequence);
                    if connection.publish(id, message) {
                        return Some(Ok(bytes));
                    }
                    ids.take(id);
                    Some(Err("its topic or its packet is longer than MQTT allows".to_owned()))
                })
            }));
            match put {
                Ok(None) => return ControlFlow::Break(()),
                Ok(Some(Ok(bytes))) => flight.push(sequence, bytes),
                Ok(Some(Err(reason))) => {
                    flight.push(sequence, 0);
                    poison.insert(sequence, reason);
                }
                Err(_) => {
                    flight.push(sequence, 0);
                    poison.insert(sequence, "internal error: it cannot be written".to_owned());
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Takes what came.
    fn take(&mut self) -> Result<(), Failure> {
        while let Some(inbound) = self.connection.take()? {
            // It subscribes to nothing; what else may come is none of its business.
            if let Inbound::Confirmed { packet_id, reason } = inbound {
                self.confirmed(packet_id, &reason)?;
            }
        }
        Ok(())
    }

    fn confirmed(&mut self, packet_id: u16, reason: &Reason) -> Result<(), Failure> {
        let Some(sequence) = self.ids.take(packet_id) else {
            return Err(MqttError::Protocol(format!("PUBACK of packet id {packet_id}, which is not in flight")).into());
        };
        if self.work.options.client.protocol == Protocol::V5 && is_refusal(reason.code) {
            return self.refused(sequence, reason);
        }
        if self.work.refused.sequence == sequence {
            *self.work.refused = Refused::default();
        }
        let freed = self.flight.confirm(sequence);
        self.work.status.add_delivered(freed);
        if freed > 0 {
            *self.work.progress = true;
            self.work.status.recovered();
        }
        Ok(())
    }

    fn refused(&mut self, sequence: u64, reason: &Reason) -> Result<(), Failure> {
        let refused = &mut *self.work.refused;
        let times = if refused.sequence == sequence { refused.times + 1 } else { 1 };
        *refused = Refused { sequence, times };
        let text = format!("the broker refuses a verdict: {reason}");
        let trouble = match publish_trouble(reason.code, self.work.options.topic.is_fixed()) {
            // A full broker may stay full for long; other reasons that say nothing may be the record's.
            Trouble::Transient if times >= REFUSALS_MAX && reason.code != 0x97 => Trouble::Poison,
            trouble => trouble,
        };
        if trouble != Trouble::Poison {
            return Err(Failure { trouble, text });
        }
        self.poison.insert(sequence, text);
        Ok(())
    }

    /// Sets aside what is poison and now first; false where the engine takes nothing more.
    async fn set_aside(&mut self) -> Result<bool, Failure> {
        while let Some(first) = self.poison.first_entry().filter(|first| self.flight.first() == Some(*first.key())) {
            let (sequence, reason) = first.remove_entry();
            let entry = self.entry(sequence, &reason)?;
            let event_id = entry.id.clone();
            if self.work.aside.set_aside(entry, &self.work.options.name, sequence + 1).await.is_err() {
                return Ok(false);
            }
            self.work.status.poisoned(sequence, event_id.as_deref(), &reason);
            if self.work.refused.sequence == sequence {
                *self.work.refused = Refused::default();
            }
            // Itself, and those behind it that were confirmed already.
            let freed = self.flight.confirm(sequence);
            self.work.status.add_delivered(freed.saturating_sub(1));
        }
        Ok(true)
    }

    fn entry(&mut self, sequence: u64, reason: &str) -> Result<QuarantineEntry, StoreError> {
        let chunk = self.work.store.chunk_of(sequence)?;
        let record = chunk.as_ref().and_then(|chunk| chunk.get(sequence));
        let mut entry = QuarantineEntry {
            kind: Trouble::Poison.name().to_owned(),
            source: String::new(),
            id: None,
            reason: format!("sink {}: {reason}", self.work.options.name),
            bytes: Vec::new(),
            length: 0,
            at_ms: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
        };
        if let Some(record) = record {
            record.verdict.source.clone_into(&mut entry.source);
            entry.id = Some(record.verdict.id.to_owned());
            let write = || self.writer.write(&record.verdict, |message| message.payload.to_vec());
            entry.bytes = catch_unwind(AssertUnwindSafe(write)).unwrap_or_default();
            entry.length = entry.bytes.len() as u64;
        }
        Ok(entry)
    }

    /// Moves the cursor behind what is confirmed.
    fn keep_cursor(&mut self) {
        let next = self.flight.first().unwrap_or_else(|| self.feed.next());
        if next > self.cursor {
            self.work.store.advance_cursor(&self.work.options.name, next);
            self.cursor = next;
        }
    }
}

async fn at(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}
