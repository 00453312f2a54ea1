//! What single keys cannot say: values that do not go together.

mod clients;
mod places;

use super::{Config, DiskPlan, MemoryPlan, ModelCost, Problem, Reply, SourceKind, section::Reader};

/// Notes faults and warnings of a config whose keys are read.
pub(super) fn check(config: &Config, reader: &mut Reader) {
    listeners(config, reader);
    places::check(config, reader);
    clients::check(config, reader);
    sources(config, reader);
    limits(config, reader);
}

impl Reader {
    /// Notes a fault of the value of `key`.
    fn clash(&mut self, key: &str, message: &str, expected: &str, found: &str) {
        let problem = Problem::at(&self.origin(key), key, format!("{key}: {message}")).with(expected, found);
        self.problems.push(problem);
    }

    /// Notes a warning of the value of `key`; `place` is the key where it stands, if it is not set itself.
    fn caution(&mut self, key: &str, place: &str, message: &str) {
        self.warnings.push(Problem::at(&self.origin(place), key, format!("{key}: {message}")));
    }
}

fn listeners(config: &Config, reader: &mut Reader) {
    let mut seen = vec![("admin.listen".to_owned(), &config.admin.listen)];
    for source in &config.sources {
        let Some(endpoint) = source.kind.endpoint() else { continue };
        let key = format!("sources.{}.listen", source.name);
        if let Some((other, address)) = seen.iter().find(|(_, listen)| listen.collides(&endpoint.listen)) {
            let message = format!("{} is taken: {other} listens on {address}", endpoint.listen);
            let found = endpoint.listen.to_string();
            reader.clash(&key, &message, "an address that no other listener has", &found);
        }
        seen.push((key, &endpoint.listen));
    }
}

/// Sources that cannot promise what the others can.
fn sources(config: &Config, reader: &mut Reader) {
    for source in &config.sources {
        let key = |name: &str| format!("sources.{}.{name}", source.name);
        let without_id = match &source.kind {
            SourceKind::Mqtt(_) => {
                "not set: each arrival is an event of its own, also one that the broker delivers twice, unless the \
                 message brings an id: at /id, as a CloudEvent, or as the MQTT 5 user property id"
            }
            SourceKind::Kafka(_) => {
                "not set: a record that brings no id (at /id, or as a CloudEvent) is known by topic/partition/offset, \
                 so what a producer wrote twice is two events"
            }
            _ => "",
        };
        if !source.event.id_given && !without_id.is_empty() {
            reader.caution(&key("event.id"), &key("type"), without_id);
        }
        if let SourceKind::Serial(serial) = &source.kind
            && serial.reply == Reply::None
        {
            reader.caution(
                &key("reply"),
                &key("reply"),
                "the device hears nothing, so what it sends while verdictd is down or cannot take it is lost",
            );
        }
    }
}

fn limits(config: &Config, reader: &mut Reader) {
    let limits = &config.limits;
    // A limit that is faulty itself is 0 here and has been reported.
    if limits.request.bytes() > 0 && limits.event > limits.request {
        let message = format!(
            "an event of \"{}\" does not fit a request body of \"{}\" (limits.request)",
            limits.event, limits.request
        );
        let expected = format!("at most \"{}\"", limits.request);
        reader.clash("limits.event", &message, &expected, &limits.event.to_string());
    }
    let memory_set = [limits.memory, limits.request, limits.event].iter().all(|size| size.bytes() > 0);
    if memory_set && limits.connections > 0 {
        // The model is not loaded here: what it needs is checked when it is.
        if let Err(error) = MemoryPlan::divide(config, ModelCost::default()) {
            let expected = format!("at least \"{}\"", error.needed);
            reader.clash("limits.memory", &error.to_string(), &expected, &limits.memory.to_string());
        }
    }
    if limits.disk.bytes() > 0
        && config.quarantine.limit.bytes() > 0
        && let Err(error) = DiskPlan::divide(config)
    {
        let expected = format!("at least \"{}\"", error.needed);
        reader.clash("limits.disk", &error.to_string(), &expected, &limits.disk.to_string());
    }
}
