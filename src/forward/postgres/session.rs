//! One connection's life: from the cursor on, until the sink stops or the connection is of no more use.
//!
//! A refused statement leaves the connection as it is, and those behind it are done all the same: their answers are
//! awaited, and then it goes on from the refused one, row by row as far as that reached. What is sent a second time by
//! this finds its rows there.

use super::batch::{Batch, Pushed};
use super::check::check;
use super::{Encoding, Layout, Options};
use crate::forward::{Feed, SinkStatus};
use crate::link::Trouble;
use crate::link::postgres::{Connection, Fault, connect};
use crate::store::{Store, StoreError};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Statements of one row that may be under way while the refused one is looked for.
const SINGLES_IN_FLIGHT: usize = 32;
/// How much longer than the server a client waits for a statement that the server was to end.
const GRACE: Duration = Duration::from_secs(5);

/// A connection, and the batches handed to it without an answer yet.
pub(super) struct Session<'a> {
    options: &'a Options,
    store: &'a Arc<Store>,
    status: &'a SinkStatus,
    connection: Connection,
    feed: Feed,
    batch: Batch,
    flight: VecDeque<Sent>,
    /// Rows below go one a statement.
    single_below: u64,
    /// Where to go on once every answer is there, after a refusal.
    rewind: Option<u64>,
    poison: Option<Poison>,
    /// Since when the oldest batch is waited for.
    since: Instant,
}

struct Sent {
    first: u64,
    next: u64,
    rows: usize,
}

/// A verdict that cannot become a row.
#[derive(Clone, Debug)]
pub(super) struct Poison {
    pub sequence: u64,
    pub reason: String,
}

/// What a look at the answers brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    Confirmed,
    /// Refused, or of no more interest.
    Other,
}

impl<'a> Session<'a> {
    /// Connects and looks at the table.
    pub async fn open(options: &'a Options, store: &'a Arc<Store>, status: &'a SinkStatus) -> Result<Self, Fault> {
        let cursor = store.cursor(&options.name).map_err(|error| of_store(&error))?;
        let mut connection = connect(&options.server).await?;
        let ready = tokio::time::timeout(options.server.patience + GRACE, prepared(&mut connection, &options.layout));
        ready.await.unwrap_or_else(|_| Err(silent(options)))?;
        Ok(Self {
            options,
            store,
            status,
            connection,
            feed: Feed::new(Arc::clone(store), options.filter.clone(), cursor),
            batch: Batch::new(&options.layout),
            flight: VecDeque::new(),
            single_below: 0,
            rewind: None,
            poison: None,
            since: Instant::now(),
        })
    }

    /// Everything below is confirmed.
    pub fn cursor(&self) -> u64 {
        self.rewind.or_else(|| self.flight.front().map(|sent| sent.first)).unwrap_or_else(|| self.feed.next())
    }

    pub fn is_idle(&self) -> bool {
        self.flight.is_empty()
    }

    pub fn is_done(&self) -> bool {
        self.is_idle() && self.poison.is_none() && self.feed.is_at_end()
    }

    /// The poisoned verdict, once it is the first without a confirmation.
    pub fn due_poison(&self) -> Option<&Poison> {
        self.poison.as_ref().filter(|poison| self.is_idle() && self.cursor() == poison.sequence)
    }

    /// Passes over the poisoned verdict, which was set aside.
    pub fn pass_poison(&mut self) {
        if let Some(poison) = self.poison.take() {
            self.feed.seek(poison.sequence + 1);
        }
    }

    /// Hands over what is committed, as far as there is room.
    pub fn hand_over(&mut self) -> Result<(), Fault> {
        while self.rewind.is_none() && self.poison.is_none() && self.has_room() {
            let first = self.gather()?;
            if self.batch.rows() == 0 {
                break;
            }
            if self.flight.is_empty() {
                self.since = Instant::now();
            }
            self.connection.begin(self.batch.columns());
            self.flight.push_back(Sent { first, next: self.feed.next(), rows: self.batch.rows() });
            self.batch.clear();
        }
        self.keep_cursor()
    }

    fn has_room(&self) -> bool {
        let is_single = self.feed.next() < self.single_below;
        let most = if is_single { self.options.in_flight.max(SINGLES_IN_FLIGHT) } else { self.options.in_flight };
        self.flight.len() < most.max(1)
    }

    /// Fills the batch; the sequence of its first row.
    fn gather(&mut self) -> Result<u64, Fault> {
        let Self { options, feed, batch, single_below, poison, .. } = self;
        let mut first = None;
        let encoding: Encoding = options.encoding;
        let read = feed.read(|sequence, verdict| {
            let is_single = sequence < *single_below;
            let most = if is_single { 1 } else { options.batch_rows.max(1) };
            let is_full = batch.rows() >= most || batch.bytes() >= options.batch_bytes;
            // A batch is of one kind: singles end before the others begin.
            if batch.rows() > 0 && (is_full || first.is_some_and(|first| first < *single_below) != is_single) {
                return ControlFlow::Break(());
            }
            match batch.push(&options.layout, encoding, verdict) {
                Pushed::Yes => {
                    first.get_or_insert(sequence);
                    ControlFlow::Continue(())
                }
                Pushed::Twice => ControlFlow::Break(()),
                Pushed::Unstorable(member) => {
                    let member = member.name();
                    let reason = format!("{member} holds the character U+0000, which PostgreSQL can store in no text");
                    *poison = Some(Poison { sequence, reason });
                    ControlFlow::Break(())
                }
            }
        });
        read.map_err(|error| of_store(&error))?;
        Ok(first.unwrap_or_else(|| self.feed.next()))
    }

    /// Waits for the next answer; with nothing under way, for the connection's end. It may be given up at any time.
    pub async fn settle(&mut self) -> Result<Settled, Fault> {
        let answer = if self.flight.is_empty() {
            self.connection.answer().await
        } else {
            let end = self.since + self.options.server.patience + GRACE;
            let answer = tokio::time::timeout_at(end, self.connection.answer()).await;
            answer.unwrap_or_else(|_| Err(silent(self.options)))
        };
        self.since = Instant::now();
        match answer {
            Ok(_) if self.rewind.is_none() => {
                if let Some(sent) = self.flight.pop_front() {
                    self.status.add_delivered(u64::try_from(sent.rows).unwrap_or(u64::MAX));
                }
                self.status.recovered();
                self.keep_cursor()?;
                Ok(Settled::Confirmed)
            }
            Err(fault) if fault.trouble != Trouble::Poison => Err(fault),
            // Of what came behind a refused one the answer does not matter, be it a refusal too.
            answer => {
                let Some(sent) = self.flight.pop_front() else { return Ok(Settled::Other) };
                if let (Err(fault), None) = (answer, self.rewind) {
                    self.refused(&sent, fault);
                }
                if let Some(rewind) = self.rewind.take_if(|_| self.flight.is_empty()) {
                    self.feed.seek(rewind);
                }
                Ok(Settled::Other)
            }
        }
    }

    fn refused(&mut self, sent: &Sent, fault: Fault) {
        self.rewind = Some(sent.first);
        if sent.rows == 1 {
            self.poison = Some(Poison { sequence: sent.first, reason: fault.text });
        } else {
            // One that was found meanwhile is found again.
            self.poison = None;
            self.single_below = self.single_below.max(sent.next);
        }
    }

    fn keep_cursor(&self) -> Result<(), Fault> {
        if self.store.cursor(&self.options.name).map_err(|error| of_store(&error))? < self.cursor() {
            self.store.advance_cursor(&self.options.name, self.cursor());
        }
        Ok(())
    }

    pub async fn close(self) {
        self.connection.close().await;
    }
}

/// The table is looked at, the statement prepared and run once over nothing: rights and the like are refused now.
async fn prepared(connection: &mut Connection, layout: &Layout) -> Result<(), Fault> {
    let casts = check(connection, layout).await?;
    connection.prepare(&layout.insert(&casts), layout.columns().len()).await?;
    connection.begin(Batch::new(layout).columns());
    connection.answer().await.map(drop)
}

fn silent(options: &Options) -> Fault {
    Fault::link(format!("{}: no answer within {:?}", options.server.address, options.server.patience + GRACE))
}

fn of_store(error: &StoreError) -> Fault {
    Fault::link(error.to_string())
}
