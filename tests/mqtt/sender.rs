//! A producer of events: a client of another make, QoS 1.

use super::support::child::{WATCHDOG, poll};
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{Packet, PublishProperties};
use rumqttc::v5::{Client, Event, MqttOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

pub struct Sender {
    client: Client,
    confirmed: Arc<AtomicU64>,
    sent: u64,
}

impl Sender {
    pub fn start(port: u16) -> Self {
        let mut options = MqttOptions::new("sender", "127.0.0.1", port);
        options.set_max_packet_size(Some(16 << 20));
        let (client, mut connection) = Client::new(options, 100);
        let confirmed = Arc::<AtomicU64>::default();
        let counting = Arc::clone(&confirmed);
        thread::spawn(move || {
            for event in connection.iter() {
                match event {
                    Ok(Event::Incoming(Packet::PubAck(_))) => {
                        counting.fetch_add(1, SeqCst);
                    }
                    Ok(_) => {}
                    Err(_) => return,
                }
            }
        });
        Self { client, confirmed, sent: 0 }
    }

    pub fn send(&mut self, topic: &str, payload: impl Into<Vec<u8>>) {
        self.send_with(topic, payload, None, &[]);
    }

    pub fn send_with(
        &mut self,
        topic: &str,
        payload: impl Into<Vec<u8>>,
        content_type: Option<&str>,
        properties: &[(&str, &str)],
    ) {
        let text = |text: &&str| (*text).to_owned();
        let properties = PublishProperties {
            content_type: content_type.map(str::to_owned),
            user_properties: properties.iter().map(|(name, value)| (text(name), text(value))).collect(),
            ..PublishProperties::default()
        };
        let sent = self.client.publish_with_properties(topic, QoS::AtLeastOnce, false, payload.into(), properties);
        sent.expect("a message on its way");
        self.sent += 1;
    }

    pub fn send_retained(&mut self, topic: &str, payload: impl Into<Vec<u8>>) {
        self.client.publish(topic, QoS::AtLeastOnce, true, payload.into()).expect("a message on its way");
        self.sent += 1;
    }

    pub fn send_at_most_once(&mut self, topic: &str, payload: impl Into<Vec<u8>>) {
        self.client.publish(topic, QoS::AtMostOnce, false, payload.into()).expect("a message on its way");
    }

    /// Waits until the broker has confirmed all.
    pub fn settle(&self) {
        let all = || (self.confirmed.load(SeqCst) >= self.sent).then_some(());
        poll(WATCHDOG, all).expect("the broker's confirmations");
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let _ = self.client.disconnect();
    }
}
