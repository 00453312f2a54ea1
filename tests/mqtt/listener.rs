//! A consumer of verdicts: subscribes with a client of another make and keeps what comes, over restarts of the broker.
//!
//! At QoS 0: what the broker has confirmed to a publisher it has then put on the way to such a subscriber already, so
//! that a broker that is killed takes nothing with it.

use super::rig::KEYS;
use super::support::child::{WATCHDOG, poll};
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{Packet, Publish};
use rumqttc::v5::{Client, Event, MqttOptions};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub struct Listener {
    shared: Arc<Shared>,
    client: Client,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    got: Mutex<Vec<Publish>>,
    /// On the connection that it has now.
    subscribed: AtomicBool,
    closed: AtomicBool,
}

impl Listener {
    /// Subscribes to `filter` and waits until it is.
    pub fn start(port: u16, filter: &str) -> Self {
        let mut options = MqttOptions::new("listener", "127.0.0.1", port);
        options.set_max_packet_size(Some(1 << 20));
        let (client, mut connection) = Client::new(options, 100);
        let shared = Arc::<Shared>::default();
        let (state, asking, filter) = (Arc::clone(&shared), client.clone(), filter.to_owned());
        let thread = thread::spawn(move || {
            for event in connection.iter() {
                match event {
                    Ok(Event::Incoming(Packet::ConnAck(_))) => {
                        // Not from this thread: its queue may be full.
                        let (asking, filter) = (asking.clone(), filter.clone());
                        thread::spawn(move || drop(asking.subscribe(filter, QoS::AtMostOnce)));
                    }
                    Ok(Event::Incoming(Packet::SubAck(_))) => {
                        state.subscribed.store(true, SeqCst);
                    }
                    Ok(Event::Incoming(Packet::Publish(publish))) => {
                        state.got.lock().unwrap_or_else(PoisonError::into_inner).push(publish);
                    }
                    Ok(_) => {}
                    Err(_) if state.closed.load(SeqCst) => return,
                    Err(_) => {
                        state.subscribed.store(false, SeqCst);
                        // Spares the processor while the broker is away.
                        thread::park_timeout(Duration::from_millis(5));
                    }
                }
            }
        });
        let listener = Self { shared, client, thread: Some(thread) };
        listener.await_subscribed(true);
        listener
    }

    /// Waits until it is subscribed, or is no longer: where a broker is started again, first the one and then the
    /// other.
    pub fn await_subscribed(&self, subscribed: bool) {
        let changed = poll(WATCHDOG, || (self.shared.subscribed.load(SeqCst) == subscribed).then_some(()));
        changed.expect("a subscription");
    }

    pub fn len(&self) -> usize {
        self.shared.got.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub fn got(&self) -> Vec<Publish> {
        self.shared.got.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until each of these ids came at least once, and checks that the first arrivals of each key are in
    /// order and every verdict has one wording. How many were repeats.
    pub fn check(&self, ids: Range<u32>) -> usize {
        let all = |got: &[Publish]| {
            let mut found = vec![false; ids.len()];
            got.iter().filter_map(|publish| usize::try_from(id(publish).checked_sub(ids.start)?).ok()).for_each(|at| {
                if let Some(found) = found.get_mut(at) {
                    *found = true;
                }
            });
            found.iter().filter(|found| !**found).count()
        };
        let missing = poll(Duration::from_secs(30), || (all(&self.got()) == 0).then_some(()));
        let got = self.got();
        assert!(missing.is_some(), "{} of {} are missing, {} came", all(&got), ids.len(), got.len());
        let mut seen: BTreeMap<u32, &Publish> = BTreeMap::new();
        let mut last = vec![None; usize::try_from(KEYS).unwrap()];
        let mut repeats = 0;
        for publish in &got {
            let id = id(publish);
            if let Some(first) = seen.get(&id) {
                assert_eq!(
                    (&publish.payload, &publish.topic),
                    (&first.payload, &first.topic),
                    "another verdict of {id}"
                );
                repeats += 1;
                continue;
            }
            seen.insert(id, publish);
            let last = &mut last[usize::try_from(id % KEYS).unwrap()];
            assert!(last.is_none_or(|last| last < id), "{id} came after {last:?}, of the same key");
            *last = Some(id);
        }
        assert_eq!(seen.len(), ids.len(), "more verdicts than events");
        repeats
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.closed.store(true, SeqCst);
        let _ = self.client.disconnect();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// The event's id in a verdict of any form.
pub fn id(publish: &Publish) -> u32 {
    let value = json(publish);
    value["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("an id in {value}"))
}

pub fn json(publish: &Publish) -> Value {
    serde_json::from_slice(&publish.payload).expect("JSON")
}
