//! The reader at the end, of both ways: what it sees and when, and the table it writes.

use super::support::kafka::Broker;
use super::support::postgres::{DATABASE, Postgres};
use super::way::{PARTITIONS, TO};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use verdictd::link::postgres::{Address, Connection, Options, Place, TextArray, connect};

/// Verdicts that are written by one statement, at most: as the shipped example has it.
const BATCH_RECORDS_MAX: usize = 500;

/// A verdict's way through the reader.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// The box that made it.
    pub source: String,
    pub id: usize,
    pub read: Instant,
    /// When its row was committed; as `read` where there is no table.
    pub stored: Instant,
}

/// Reads on a thread of its own until nobody takes what it tells.
pub fn start(broker: &Broker, database: Option<&Postgres>) -> Receiver<Vec<Arrived>> {
    let mut settings = ClientConfig::new();
    settings.set("bootstrap.servers", broker.bootstrap()).set("group.id", "reader").set("enable.auto.commit", "false");
    let consumer: BaseConsumer = settings.set("isolation.level", "read_committed").create().expect("a consumer");
    let mut all = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        all.add_partition_offset(TO, partition, Offset::Beginning).expect("an offset");
    }
    consumer.assign(&all).expect("an assignment");
    let mut table = database.map(Table::open);
    let (sender, arrivals) = channel();
    std::thread::spawn(move || {
        loop {
            let (mut batch, mut lines) = (Vec::new(), TextArray::default());
            let mut patience = Duration::from_millis(100);
            while batch.len() < BATCH_RECORDS_MAX
                && let Some(record) = consumer.poll(patience)
            {
                // Of the broker's end, as a rule.
                let Ok(record) = record else { break };
                let verdict = record.payload().expect("a verdict");
                batch.push(arrived(std::str::from_utf8(verdict).expect("text")));
                lines.push(|out| {
                    out.extend_from_slice(verdict);
                    true
                });
                patience = Duration::ZERO;
            }
            if let Some(table) = table.as_mut().filter(|_| !batch.is_empty()) {
                table.write(lines);
                let stored = Instant::now();
                for arrived in &mut batch {
                    arrived.stored = stored;
                }
            }
            // An empty one, too: so that it ends when nobody listens.
            if sender.send(batch).is_err() {
                return;
            }
        }
    });
    arrivals
}

/// From the text: `{"source":"a","id":"7",…`.
fn arrived(verdict: &str) -> Arrived {
    let mut quoted = verdict.split('"');
    let source = quoted.nth(3).expect("a source").to_owned();
    let id = quoted.nth(3).expect("an id").parse().expect("a number");
    let now = Instant::now();
    Arrived { source, id, read: now, stored: now }
}

/// The tables of the shipped example, and its statement.
struct Table {
    runtime: Runtime,
    connection: Connection,
}

impl Table {
    fn open(database: &Postgres) -> Self {
        database.psql("DROP TABLE IF EXISTS verdicts, balances, rejected");
        database.psql(include_str!("../../packaging/examples/consumer/schema.sql"));
        let example = include_str!("../../packaging/examples/consumer/consumer.py");
        let statement = example.split("WRITE = \"\"\"").nth(1).and_then(|rest| rest.split("\"\"\"").next());
        let statement = statement.expect("the statement of the example").replace("%s", "$1");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let place = Place::Unix { folder: database.socket_folder().to_owned(), port: database.port() };
        let options = Options {
            address: Address { place, user: "postgres".to_owned(), database: DATABASE.to_owned() },
            password_file: None,
            tls: None,
            application: "reader".to_owned(),
            patience: Duration::from_mins(1),
        };
        let connection = runtime.block_on(async {
            let mut connection = connect(&options).await?;
            connection.prepare(&statement, 1).await.map(|()| connection)
        });
        Self { runtime, connection: connection.unwrap_or_else(|fault| panic!("{fault:?}")) }
    }

    fn write(&mut self, lines: TextArray) {
        self.connection.begin(&[lines]);
        self.runtime.block_on(self.connection.answer()).unwrap_or_else(|fault| panic!("{fault:?}"));
    }
}
