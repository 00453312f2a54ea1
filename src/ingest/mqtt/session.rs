//! One connection's life: subscribe, gather, hand in, acknowledge, until the source stops or the connection fails.

use super::arrival::Arrivals;
use super::gathering::{Batch, Gathering};
use super::topics::{self, Change, Subscribed, TOPICS_BYTES_MAX};
use super::{Options, stopped};
use crate::ingest::{Budget, Exhausted, Intake, Permit, Problem, SourceStatus, until_taken};
use crate::link::Trouble;
use crate::link::mqtt::{Connection, Granted, Inbound, Message, MqttError, Session as Kept, is_refusal, named_reason};
use crate::notice;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long one wait for memory lasts; the next follows at once.
const BUDGET_WAIT: Duration = Duration::from_secs(10);
/// What the head of a packet adds to its payload: the longest topic, and properties within reason.
const PACKET_HEAD_BYTES: usize = 72 << 10;

// Packet ids of ours.
const SUBSCRIBE: u16 = 1;
const UNSUBSCRIBE: u16 = 2;

/// The largest packet that is kept whole.
pub(super) fn packet_bytes_max(event_bytes_max: usize) -> usize {
    event_bytes_max + PACKET_HEAD_BYTES
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A batch under way, and what is to be acknowledged when it is taken.
pub(super) struct Committing<'a> {
    answer: Boxed<'a, Result<(), Problem<'static>>>,
    acks: Vec<u16>,
}

/// What outlives a connection.
pub(super) struct State<'a, I: Intake> {
    pub options: &'a Options,
    pub intake: &'a I,
    pub budget: &'a Budget,
    pub status: &'a SourceStatus,
    pub arrivals: Arrivals,
    pub gathering: Gathering<'a, I>,
    pub committing: Option<Committing<'a>>,
    /// Set where the connection was of use.
    pub progress: bool,
}

/// What has to be done about subscriptions, in this order.
enum Todo {
    /// Remember that the broker may hold these.
    Remember(Vec<String>),
    Ask(Change),
}

struct Session<'s, 'a, I: Intake> {
    state: &'s mut State<'a, I>,
    connection: Connection,
    todo: VecDeque<Todo>,
    /// Filters whose answer is due, and those the broker refused.
    asked: Vec<String>,
    unsubscribing: bool,
    refused: Vec<String>,
    ask_again: Option<Instant>,
    /// A message that is not paid for.
    held: Option<Message>,
    /// A packet above the read buffer, paid for.
    large: Option<Permit>,
    waiting: Option<Boxed<'static, Result<Permit, Exhausted>>>,
}

/// Connects and receives until `stop` turns true. An error is the connection's; Ok is the end.
pub(super) async fn receive<I: Intake>(
    state: &mut State<'_, I>,
    stop: &mut watch::Receiver<bool>,
) -> Result<(), MqttError> {
    let options = state.options;
    if options.topics.iter().map(String::len).sum::<usize>() > TOPICS_BYTES_MAX {
        return Err(MqttError::Unfit("the source's topics are more than 64 KiB in all"));
    }
    let kept = Kept::Kept { expiry: options.session_expiry, receive_max: options.in_flight };
    let connecting = Connection::connect(&options.client, kept, packet_bytes_max(options.event_bytes_max));
    let (connection, granted) = tokio::select! {
        connected = connecting => connected?,
        () = stopped(stop) => {
            state.finish(stop).await;
            return Ok(());
        }
    };
    let mut session = Session {
        state,
        connection,
        todo: VecDeque::new(),
        asked: Vec::new(),
        unsubscribing: false,
        refused: Vec::new(),
        ask_again: None,
        held: None,
        large: None,
        waiting: None,
    };
    session.plan(granted);
    let ended = session.run(stop).await;
    // The broker sends again what it has no acknowledgement of.
    state.gathering.forget_acks();
    if let Some(committing) = &mut state.committing {
        committing.acks.clear();
    }
    ended
}

impl<I: Intake> State<'_, I> {
    fn commit(&mut self, batch: Batch, offsets: Vec<(std::sync::Arc<str>, Vec<u8>)>, stop: &watch::Receiver<bool>) {
        let (intake, mut stop) = (self.intake, stop.clone());
        let Batch { events, acks, paid } = batch;
        let answer = async move { until_taken(intake, events, paid, offsets, &mut stop).await.map(drop) };
        self.committing = Some(Committing { answer: Box::pin(answer), acks });
    }

    /// Without a connection: commits what came. What is of QoS 1 the broker will send again all the same.
    pub async fn finish(&mut self, stop: &watch::Receiver<bool>) {
        loop {
            if let Some(committing) = self.committing.take()
                && committing.answer.await.is_err()
            {
                return;
            }
            if self.gathering.is_empty() {
                return;
            }
            let batch = self.gathering.take();
            self.commit(batch, Vec::new(), stop);
        }
    }
}

impl<I: Intake> Session<'_, '_, I> {
    /// Finds out what the broker must be told.
    fn plan(&mut self, granted: Granted) {
        let options = self.state.options;
        let broker = options.client.broker.to_string();
        let known = topics::remembered(self.state.intake, &options.name, &broker, &options.client.client_id);
        let known = known.unwrap_or_default();
        let held: &[String] = if granted.session_present { &known } else { &[] };
        if !granted.session_present && !known.is_empty() {
            let source = &options.name;
            self.state.status.add("sessions-lost", 1);
            tracing::warn!(
                kind = notice::SESSION_LOST.kind,
                source,
                "the broker has not kept the session: what came for it since is lost, if anything did"
            );
        }
        let change = Change::between(held, &options.topics);
        if change.is_none() {
            self.state.status.recovered();
            return;
        }
        let mut both = held.to_vec();
        both.extend(change.add.iter().cloned());
        self.todo.push_back(Todo::Remember(both));
        self.todo.push_back(Todo::Ask(change));
    }

    async fn run(&mut self, stop: &mut watch::Receiver<bool>) -> Result<(), MqttError> {
        let mut stopping = false;
        loop {
            if !stopping {
                self.take()?;
            }
            self.step(stop);
            if stopping && self.state.committing.is_none() && self.state.gathering.is_empty() {
                // With the last acknowledgements; the broker keeps the session.
                self.connection.bye().await;
                return Ok(());
            }
            let reading = !stopping && self.waiting.is_none() && self.held.is_none() && self.state.gathering.has_room();
            let committing = self.state.committing.as_mut();
            tokio::select! {
                answer = async { match committing {
                    Some(committing) => committing.answer.as_mut().await,
                    None => std::future::pending().await,
                } } => {
                    let acks = self.state.committing.take().map(|committing| committing.acks).unwrap_or_default();
                    if answer.is_err() {
                        // The engine takes nothing more: this is the end, and nothing of it is acknowledged.
                        return Ok(());
                    }
                    self.state.progress |= !acks.is_empty();
                    for id in acks {
                        self.connection.confirm(id);
                    }
                }
                turn = self.connection.turn(reading) => drop(turn?),
                paid = async { match self.waiting.as_mut() {
                    Some(waiting) => waiting.as_mut().await,
                    None => std::future::pending().await,
                } } => {
                    self.waiting = None;
                    self.paid(paid);
                }
                () = at(self.ask_again) => {
                    self.ask_again = None;
                    let add = std::mem::take(&mut self.refused);
                    self.todo.push_back(Todo::Ask(Change { add, remove: Vec::new() }));
                }
                () = stopped(stop), if !stopping => {
                    stopping = true;
                    // It is not acknowledged, so it comes again.
                    self.held = None;
                    self.waiting = None;
                }
            }
        }
    }

    /// Hands in what is gathered, or remembers and asks for topics, where nothing else is under way.
    fn step(&mut self, stop: &watch::Receiver<bool>) {
        if self.state.committing.is_some() {
            return;
        }
        match self.todo.pop_front() {
            Some(Todo::Remember(topics)) => {
                let options = self.state.options;
                let (broker, client_id) = (options.client.broker.to_string(), options.client.client_id.clone());
                let subscribed = Subscribed { broker, client_id, topics };
                let nothing = Batch { events: crate::event::EventBatch::default(), acks: Vec::new(), paid: None };
                self.state.commit(nothing, topics::offsets(&options.name, &subscribed), stop);
                return;
            }
            Some(Todo::Ask(change)) => {
                if !change.remove.is_empty() {
                    self.unsubscribing = true;
                    self.connection.unsubscribe(UNSUBSCRIBE, &change.remove);
                }
                if !change.add.is_empty() {
                    self.connection.subscribe(SUBSCRIBE, &change.add);
                    self.asked = change.add;
                }
            }
            None => {}
        }
        if !self.state.gathering.is_empty() {
            let batch = self.state.gathering.take();
            self.state.commit(batch, Vec::new(), stop);
        }
    }

    /// Gathers what came, as far as there is room and memory.
    fn take(&mut self) -> Result<(), MqttError> {
        let mut retained = 0;
        while self.waiting.is_none() && self.state.gathering.has_room() {
            let message = match self.held.take() {
                Some(message) => message,
                None => match self.connection.take()? {
                    Some(Inbound::Message(message)) => message,
                    Some(Inbound::Subscribed { packet_id: SUBSCRIBE, codes }) => {
                        self.subscribed(&codes)?;
                        continue;
                    }
                    Some(Inbound::Unsubscribed { packet_id: UNSUBSCRIBE }) => {
                        self.unsubscribing = false;
                        self.settled();
                        continue;
                    }
                    Some(other) => return Err(MqttError::Protocol(format!("an answer to nothing: {other:?}"))),
                    None => {
                        if let Some(bytes) = self.connection.wanted() {
                            self.wait_for(bytes);
                        }
                        break;
                    }
                },
            };
            let cost = Arrivals::cost(&message);
            if !self.state.gathering.pay(cost, self.state.budget) {
                self.held = Some(message);
                // What is gathered gives its memory back when it is taken.
                self.wait_for(cost);
                break;
            }
            self.large = None;
            retained += u64::from(message.retained);
            self.push(&message);
        }
        if retained > 0 {
            self.state.status.add("retained", retained);
            let (kind, source) = (notice::RETAINED_MESSAGES.kind, &self.state.options.name);
            tracing::info!(kind, source, retained, "retained messages came: events like others");
        }
        Ok(())
    }

    fn push(&mut self, message: &Message) {
        let status = self.state.status;
        if message.again {
            status.add("sent-again", 1);
        }
        if message.packet_id.is_none() {
            status.add("qos-0", 1);
        }
        let is_nothing = message.payload.is_empty() && message.cut_from.is_none() && message.user_properties.is_empty();
        if is_nothing {
            // It takes a retained message away; there is no event in it.
            status.add("empty", 1);
            self.state.gathering.push_nothing(message);
            return;
        }
        self.state.gathering.push(message, &mut self.state.arrivals, self.state.options.event_bytes_max);
    }

    fn wait_for(&mut self, bytes: usize) {
        let budget = self.state.budget.clone();
        let bytes = bytes.min(budget.bytes());
        self.waiting = Some(Box::pin(async move { budget.take(bytes, BUDGET_WAIT).await }));
    }

    /// A wait for memory is over.
    fn paid(&mut self, paid: Result<Permit, Exhausted>) {
        let Ok(permit) = paid else { return };
        if self.held.is_some() {
            self.state.gathering.paid_for(permit);
        } else {
            self.connection.allow(permit.bytes());
            self.large = Some(permit);
        }
    }

    /// The broker's answer for each of the topics it was asked for.
    fn subscribed(&mut self, codes: &[u8]) -> Result<(), MqttError> {
        let asked = std::mem::take(&mut self.asked);
        if codes.len() != asked.len() {
            return Err(MqttError::Protocol("SUBACK with another number of topics".to_owned()));
        }
        let mut reasons = Vec::new();
        let mut lower = Vec::new();
        for (topic, code) in asked.into_iter().zip(codes) {
            if is_refusal(*code) {
                reasons.push(format!("{topic}: {}", named_reason(*code)));
                self.refused.push(topic);
            } else if *code == 0 {
                lower.push(topic);
            }
        }
        let status = self.state.status;
        let warning = "the broker gives these topics at QoS 0 alone, so that a cut or a stop may lose messages: ";
        status.warn("qos", (!lower.is_empty()).then(|| format!("{warning}{}", lower.join(", "))));
        if !reasons.is_empty() {
            let text = format!("the broker refuses to be subscribed to: {}", reasons.join(", "));
            status.failed(Trouble::Configuration, &text);
            self.ask_again = Some(Instant::now() + self.state.options.probe);
        }
        self.settled();
        Ok(())
    }

    /// After the answers: remembers what is in force.
    fn settled(&mut self) {
        if self.unsubscribing || !self.asked.is_empty() {
            return;
        }
        let topics = self.state.options.topics.iter().filter(|topic| !self.refused.contains(topic));
        let topics: Vec<String> = topics.cloned().collect();
        self.todo.push_back(Todo::Remember(topics));
        if self.refused.is_empty() {
            self.state.status.recovered();
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
