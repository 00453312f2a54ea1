//! Sink `postgres`: a verdict a row, once under its identity, however often it is sent.
//!
//! - **Layout** (`layout.rs`): columns hold members of the verdict as the config maps them; one may hold all the rest
//!   as JSON. Values travel as text and are cast to the columns' types by the server.
//! - **A batch** (`batch.rs`) is one `INSERT … ON CONFLICT (source, id)` statement and so one transaction. Several are
//!   under way on one connection; their answers come in order.
//! - **Confirmation**: the cursor follows the server's answers alone, and the session is set so that one means a durable
//!   row. What a lost answer makes come twice finds its rows there: with `nothing` they stay, with `update` they stay
//!   unless the sequence is higher, so that nothing goes backward.
//! - **The table** (`check.rs`) is looked at on each connection: that it is there and survives a crash, has the columns,
//!   of fitting types, and a unique index on exactly source and id. What lacks parks the sink, and the text names the
//!   command that prints the table.
//! - **Errors** (`driver.rs`): links, restarts, full disks, deadlocks, serialisation failures, servers that are read-only
//!   after a failover are waited out with a back-off, on a new connection. What only a person can mend parks the sink and
//!   is tried every [`Options::probe`]. A row that the server refuses for what it is, alone in its statement, is set
//!   aside: a statement in which one is refused is sent again row by row (`session.rs`).
//! - **U+0000** can be stored in no text of PostgreSQL: a verdict with one in a member that a column holds is set aside.
//!   It is not replaced, as two identities could become one.
//! - **Limits**: rows and bytes of a batch, batches under way, the time a batch may take.

mod batch;
mod check;
mod ddl;
mod driver;
mod layout;
mod session;
#[cfg(test)]
mod tests;

pub use crate::config::{Column, OnConflict};
pub use ddl::ddl;
pub use layout::{Layout, LayoutError};

use super::{Encoding, Filter, SetAside, SinkStatus};
use crate::link::postgres as client;
use crate::store::Store;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Rows of a batch, where nothing else is configured.
pub const BATCH_ROWS: usize = 1000;
/// Bytes of a batch.
pub const BATCH_BYTES: usize = 256 << 10;
/// Batches under way: what a crash may repeat.
pub const IN_FLIGHT: usize = 4;
/// Between two tries where only a person can mend it.
pub const PROBE: Duration = Duration::from_secs(30);
/// How long a stopping sink goes on delivering what is committed.
pub const DRAIN: Duration = Duration::from_secs(3);

/// One PostgreSQL sink, as configured.
#[derive(Clone, Debug)]
pub struct Options {
    pub name: String,
    pub server: client::Options,
    pub layout: Layout,
    /// What the column of the rest holds.
    pub encoding: Encoding,
    pub filter: Filter,
    /// See [`BATCH_ROWS`], [`BATCH_BYTES`] and [`IN_FLIGHT`].
    pub batch_rows: usize,
    pub batch_bytes: usize,
    pub in_flight: usize,
    pub probe: Duration,
    pub drain: Duration,
}

impl Options {
    /// With the defaults for everything but these.
    #[must_use]
    pub fn new(name: &str, server: client::Options, layout: Layout) -> Self {
        Self {
            name: name.to_owned(),
            server,
            layout,
            encoding: Encoding::default(),
            filter: Filter::default(),
            batch_rows: BATCH_ROWS,
            batch_bytes: BATCH_BYTES,
            in_flight: IN_FLIGHT,
            probe: PROBE,
            drain: DRAIN,
        }
    }

    /// Memory it may use, for the plan: a batch that gathers, one being put into a message, buffers that may be twice as
    /// large, and what a server that takes nothing leaves on its way out.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.batch_bytes.saturating_mul(self.in_flight.saturating_add(4)).saturating_add(256 << 10)
    }
}

/// Runs the sink until `stop` turns true, and then delivers what is committed, for at most [`Options::drain`].
pub async fn run(
    options: Options,
    store: Arc<Store>,
    aside: Arc<dyn SetAside>,
    status: Arc<SinkStatus>,
    stop: watch::Receiver<bool>,
) {
    driver::Driver::new(options, store, aside, status, stop).run().await;
}
