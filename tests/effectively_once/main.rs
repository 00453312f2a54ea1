//! Effectively once, to the end: at least once on the way, and a unique key where it arrives.
//!
//! `proof.rs` is the whole way under fire: transactions in, the daemon, Kafka, the shipped example consumer, PostgreSQL,
//! each killed at random. `consumer.rs` and `sql.rs` are the example's two forms alone.
//!
//! | variable | what it sets |
//! |---|---|
//! | `VERDICTD_TEST_END_TO_END_KILLS` | how often each of daemon, broker, consumer and database is killed at least (default 50) |
//! | `VERDICTD_TEST_CONSUMER_KILLS` | how often each form of the consumer is killed alone (default 25) |
//! | `VERDICTD_TEST_SEED` | repeats a run's choices, not its moments |
//! | `VERDICTD_TEST_POSTGRES=required` | a machine without PostgreSQL, or the Python libraries of the example, fails instead of passing with a warning |
//! | `VERDICTD_TEST_KAFKA=required` | the same for one without Java |
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // helpers stop at the first surprise, as tests do

#[path = "../support/mod.rs"]
mod support;

mod books;
mod consumer;
mod example;
mod killers;
mod load;
mod proof;
#[allow(dead_code)] // shared with the tests of the sink
#[path = "../kafka/reader.rs"]
mod reader;
mod scene;
mod sql;
