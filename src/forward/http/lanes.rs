//! Lanes: each sends what it is given, in order, one request at a time over one kept connection.

use super::Options;
use super::answer::{Said, retry_after, shown};
use super::request::{Item, post};
use crate::forward::SinkStatus;
use crate::link::http::{Answer, Client};
use crate::link::{Backoff, Trouble};
use hyper::header::RETRY_AFTER;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// What became of verdicts.
#[derive(Debug)]
pub enum Report {
    Confirmed(Vec<u64>),
    /// The receiver refuses this one for what it is.
    Refused(u64, String),
}

/// What all lanes of a sink share.
pub struct Shared {
    pub options: Options,
    pub status: Arc<SinkStatus>,
    /// Lanes whose last try failed.
    pub failing: AtomicUsize,
    pub reports: UnboundedSender<Report>,
}

/// One of them.
pub struct Lane {
    shared: Arc<Shared>,
    client: Client,
    backoff: Backoff,
    random: Pcg64,
    is_failing: bool,
}

impl Lane {
    #[must_use]
    pub fn new(shared: &Arc<Shared>) -> Self {
        let client = Client::new(shared.options.client.clone());
        let random = Pcg64::from_os_rng();
        Self { shared: Arc::clone(shared), client, backoff: Backoff::default(), random, is_failing: false }
    }

    /// Sends what comes until nothing more can. The `first` lane looks whether the receiver is there before there is
    /// anything to send.
    pub async fn run(mut self, mut items: UnboundedReceiver<Item>, first: bool) {
        if first {
            self.reach(&items).await;
        }
        while let Some(item) = items.recv().await {
            let mut batch = vec![item];
            while batch.len() < self.shared.options.batch
                && let Ok(item) = items.try_recv()
            {
                batch.push(item);
            }
            self.deliver(batch).await;
        }
    }

    /// Connects, until that works or there is something to send.
    async fn reach(&mut self, items: &UnboundedReceiver<Item>) {
        while items.is_empty() {
            match self.client.connect().await {
                Ok(()) => return self.works(),
                Err(error) => {
                    let wait = self.failed(error.trouble, &error.text, None);
                    // Something to send may come meanwhile: it is tried all the same when the wait is over.
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    /// Sends these until each is taken or refused.
    async fn deliver(&mut self, batch: Vec<Item>) {
        let Some(reason) = self.send(&batch).await else { return };
        if let [one] = batch.as_slice() {
            self.report(Report::Refused(one.sequence, reason));
            return;
        }
        for item in batch {
            let sequence = item.sequence;
            if let Some(reason) = self.send(&[item]).await {
                self.report(Report::Refused(sequence, reason));
            }
        }
    }

    /// Sends one request until there is a word on it; the reason where it is refused for what it holds.
    async fn send(&mut self, items: &[Item]) -> Option<String> {
        loop {
            let call = post(&self.shared.options, items);
            let wait = match self.client.call(call).await {
                Ok(answer) => match Said::by(answer.status) {
                    Said::Taken => {
                        self.works();
                        self.report(Report::Confirmed(items.iter().map(|item| item.sequence).collect()));
                        return None;
                    }
                    Said::Refused => {
                        self.works();
                        return Some(shown(answer.status, &answer.text));
                    }
                    said => {
                        let text = shown(answer.status, &answer.text);
                        self.failed(said.trouble().unwrap_or(Trouble::Transient), &text, asked_wait(&answer))
                    }
                },
                Err(error) => self.failed(error.trouble, &error.text, None),
            };
            tokio::time::sleep(wait).await;
        }
    }

    fn report(&self, report: Report) {
        // Nobody takes it where the sink has ended: what was not reported is sent again.
        let _ = self.shared.reports.send(report);
    }

    fn works(&mut self) {
        self.backoff.reset();
        if std::mem::take(&mut self.is_failing) {
            self.shared.failing.fetch_sub(1, SeqCst);
        }
        if self.shared.failing.load(SeqCst) == 0 {
            self.shared.status.recovered();
        }
    }

    /// The wait until the next try.
    fn failed(&mut self, trouble: Trouble, text: &str, asked: Option<Duration>) -> Duration {
        if !std::mem::replace(&mut self.is_failing, true) {
            self.shared.failing.fetch_add(1, SeqCst);
        }
        self.shared.status.failed(trouble, text);
        if trouble == Trouble::Configuration {
            self.client.disconnect();
            return self.shared.options.probe;
        }
        let wait = self.backoff.next(&mut self.random);
        asked.map_or(wait, |asked| asked.max(wait))
    }
}

/// How long the receiver asks to be left alone.
pub(super) fn asked_wait(answer: &Answer) -> Option<Duration> {
    retry_after(answer.headers.get(RETRY_AFTER)?.to_str().ok()?, jiff::Timestamp::now())
}
