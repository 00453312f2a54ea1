//! A connection that is logged in: statements go out, their answers come back in the same order.

use super::{Address, Fault, TextArray, fault};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

/// Most rows that an answer may have: a table has at most 1,600 columns.
const ROWS_MAX: usize = 4096;
/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// A connection; dropping it ends it. What the server has begun it may still finish.
pub struct Connection {
    client: Arc<Client>,
    address: Address,
    /// Reads and writes for all statements; none once it has told how it ended.
    driver: Option<JoinHandle<Result<(), Error>>>,
    prepared: Option<Statement>,
    /// Statements under way, the oldest first.
    flight: VecDeque<Running>,
}

type Running = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send>>;

/// What a statement gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Rows, each with its columns, which must be texts; None is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Connection {
    pub(super) fn over(client: Client, driver: JoinHandle<Result<(), Error>>, address: Address) -> Self {
        Self { client: Arc::new(client), address, driver: Some(driver), prepared: None, flight: VecDeque::new() }
    }

    /// Runs a statement whose parameters and columns are texts.
    ///
    /// # Errors
    /// When the server refuses it, or the connection ends.
    pub async fn query(&mut self, sql: &str, parameters: &[&str]) -> Result<Answer, Fault> {
        let typed = |text| (text as &(dyn ToSql + Sync), Type::TEXT);
        let parameters: Vec<_> = parameters.iter().map(typed).collect();
        let rows = match self.client.query_typed(sql, &parameters).await {
            Ok(rows) if rows.len() <= ROWS_MAX => rows,
            Ok(rows) => return Err(Fault::link(format!("an answer of {} rows came", rows.len()))),
            Err(error) => return Err(self.fault(&error).await),
        };
        let text = |row: &Row| (0..row.len()).map(|n| row.try_get(n)).collect::<Result<Vec<_>, Error>>();
        let rows = rows.iter().map(text).collect::<Result<Vec<_>, Error>>();
        rows.map(|rows| Answer { rows }).map_err(|error| fault::of(&error))
    }

    /// Prepares the statement that [`Connection::begin`] runs; its parameters are arrays of texts.
    ///
    /// # Errors
    /// When the server refuses it, or the connection ends.
    pub async fn prepare(&mut self, sql: &str, parameters: usize) -> Result<(), Fault> {
        match self.client.prepare_typed(sql, &vec![Type::TEXT_ARRAY; parameters]).await {
            Ok(statement) => {
                self.prepared = Some(statement);
                Ok(())
            }
            Err(error) => Err(self.fault(&error).await),
        }
    }

    /// Hands the prepared statement over with these parameters: a transaction of its own. Several may be under way.
    pub fn begin(&mut self, parameters: &[TextArray]) {
        let Some(statement) = self.prepared.clone() else { return };
        let (client, parameters) = (Arc::clone(&self.client), parameters.to_vec());
        let mut running: Running = Box::pin(async move { client.execute_raw(&statement, parameters).await });
        // The first look sends it; the ones that wait for its answer are taken in `answer`.
        let mut context = Context::from_waker(Waker::noop());
        if let std::task::Poll::Ready(outcome) = running.as_mut().poll(&mut context) {
            running = Box::pin(std::future::ready(outcome));
        }
        self.flight.push_back(running);
    }

    /// Waits for the answer to the oldest statement under way: how many rows it changed. It may be given up at any time
    /// and asked for again. With none under way, waits for the connection's end.
    ///
    /// # Errors
    /// What the server says against the statement; or that the connection has ended, with the server's reason where it
    /// gave one.
    pub async fn answer(&mut self) -> Result<u64, Fault> {
        let Some(oldest) = self.flight.front_mut() else { return Err(self.ended().await) };
        let outcome = poll_fn(|cx| oldest.as_mut().poll(cx)).await;
        self.flight.pop_front();
        match outcome {
            Ok(affected) => Ok(affected),
            Err(error) => Err(self.fault(&error).await),
        }
    }

    /// What an error means. Why the connection has ended its driver knows.
    async fn fault(&mut self, error: &Error) -> Fault {
        if error.is_closed() { self.ended().await } else { fault::of(error) }
    }

    async fn ended(&mut self) -> Fault {
        let closed = Fault::link("the server closed the connection");
        let Some(driver) = &mut self.driver else { return closed };
        let outcome = driver.await;
        self.driver = None;
        let fault = match outcome {
            Ok(Err(error)) => fault::of(&error),
            _ => closed,
        };
        Fault { text: format!("{}: {}", self.address, fault.text), ..fault }
    }

    /// Says farewell, as far as it goes within a moment.
    pub async fn close(mut self) {
        self.flight.clear();
        let driver = self.driver.take();
        // Its last handle: the driver takes leave of the server then.
        drop(self);
        if let Some(mut driver) = driver
            && tokio::time::timeout(FAREWELL, &mut driver).await.is_err()
        {
            driver.abort();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(driver) = &self.driver {
            driver.abort();
        }
    }
}
