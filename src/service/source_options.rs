//! From the config's tables of sources to what each type of source takes.

use super::clients;
use crate::config::{
    self, After, FileSource, FileStart, Format, KafkaSource, KafkaStart, MqttSource, OnGap, SerialSource, Source,
    SpoolSource,
};
use crate::ingest::{self, file, kafka, mqtt, serial, spool};

/// Of a member of a consumer group.
pub fn kafka(instance: &str, source: &Source, from: &KafkaSource) -> kafka::Options {
    let connection = clients::kafka(instance, &source.name, &from.brokers, from.tls.as_ref(), from.sasl.as_ref());
    kafka::Options {
        group: from.group.clone(),
        start: match from.start {
            KafkaStart::Earliest => kafka::Start::Earliest,
            KafkaStart::Latest => kafka::Start::Latest,
        },
        on_gap: match from.on_gap {
            OnGap::Earliest => kafka::OnGap::Earliest,
            OnGap::Stop => kafka::OnGap::Stop,
        },
        default_id: !source.event.id_given,
        session: from.session_timeout.duration(),
        ..kafka::Options::new(&source.name, connection, instance, from.topics.clone())
    }
}

/// Of a client of a broker that keeps its session.
pub fn mqtt(source: &Source, from: &MqttSource, event_bytes_max: usize) -> mqtt::Options {
    let topics = from.topics.iter().map(ToString::to_string).collect();
    mqtt::Options {
        session_expiry: from.session_expiry.duration(),
        in_flight: from.in_flight,
        default_id: !source.event.id_given,
        ..mqtt::Options::new(&source.name, clients::mqtt(&from.client), topics, event_bytes_max)
    }
}

/// Of a file that is followed.
pub fn file(source: &Source, from: &FileSource, event_bytes_max: usize) -> file::Options {
    file::Options {
        format: format(&from.format),
        start: match from.start {
            FileStart::Beginning => file::Start::Beginning,
            FileStart::End => file::Start::End,
        },
        default_id: !source.event.id_given,
        poll_interval: from.poll_interval.duration(),
        rotate_wait: from.rotate_wait.duration(),
        ..file::Options::new(&source.name, from.path.clone(), event_bytes_max)
    }
}

/// Of a spool folder.
pub fn spool(source: &Source, from: &SpoolSource, event_bytes_max: usize) -> spool::Options {
    let usual = spool::Options::new(&source.name, from.path.clone(), event_bytes_max);
    spool::Options {
        format: format(&from.format),
        after: match from.after {
            After::Move => spool::After::Move,
            After::Delete => spool::After::Delete,
        },
        done: from.done.clone().unwrap_or_else(|| usual.done.clone()),
        failed: from.failed.clone().unwrap_or_else(|| usual.failed.clone()),
        default_id: !source.event.id_given,
        poll_interval: from.poll_interval.duration(),
        ..usual
    }
}

/// Of a serial line.
pub fn serial(source: &Source, from: &SerialSource, event_bytes_max: usize) -> serial::Options {
    serial::Options {
        baud: from.baud,
        data_bits: from.data_bits,
        parity: match from.parity {
            config::Parity::None => serial::Parity::None,
            config::Parity::Even => serial::Parity::Even,
            config::Parity::Odd => serial::Parity::Odd,
        },
        stop_bits: from.stop_bits,
        flow_control: match from.flow_control {
            config::FlowControl::None => serial::FlowControl::None,
            config::FlowControl::Hardware => serial::FlowControl::Hardware,
            config::FlowControl::Software => serial::FlowControl::Software,
        },
        framing: match from.framing {
            config::Framing::Lines => serial::Framing::Lines,
            config::Framing::Frames => serial::Framing::Frames,
        },
        reply: match from.reply {
            config::Reply::Ack => serial::Reply::Ack,
            config::Reply::Verdict => serial::Reply::Verdict,
            config::Reply::None => serial::Reply::None,
        },
        ..serial::Options::new(&source.name, from.device.clone(), event_bytes_max)
    }
}

fn format(format: &Format) -> ingest::Format {
    match format {
        Format::Ndjson => ingest::Format::Ndjson,
        Format::Csv(form) => ingest::Format::Csv(form.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        KAFKA_SOURCE_BYTES, SinkKind, SourceKind, Text, http_sink_bytes, kafka_sink_bytes, mqtt_sink_bytes, parse,
        postgres_sink_bytes, starter,
    };

    #[test]
    fn the_memory_plan_counts_what_clients_say_they_need() {
        let text = starter(&["kafka"], &["kafka", "mqtt", "http", "postgres"]).unwrap();
        let text = Text { file: "/etc/v.toml".into(), text };
        let config = parse(&[text], "box", &|_| None).unwrap().config;
        let needed = |bytes: usize| u64::try_from(bytes).unwrap();
        let SourceKind::Kafka(from) = &config.sources[0].kind else { panic!() };
        assert!(KAFKA_SOURCE_BYTES >= needed(kafka("box", &config.sources[0], from).memory_bytes()));
        for sink in &config.sinks {
            match &sink.kind {
                SinkKind::Kafka(to) => {
                    let options = super::super::sinks::kafka_options("box", sink, to);
                    assert!(kafka_sink_bytes(to) >= needed(options.memory_bytes()));
                }
                SinkKind::Mqtt(to) => {
                    let options = super::super::sinks::mqtt_options(sink, to).unwrap();
                    assert!(mqtt_sink_bytes(to) >= needed(options.memory_bytes()));
                }
                SinkKind::Http(to) => {
                    let options = super::super::sinks::http_options(sink, to);
                    assert!(http_sink_bytes(to) >= needed(options.memory_bytes()));
                }
                SinkKind::Postgres(to) => {
                    let options = super::super::sinks::postgres_options("box", sink, to).unwrap();
                    assert!(postgres_sink_bytes(to) >= needed(options.memory_bytes()));
                }
                SinkKind::File(_) => {}
            }
        }
    }
}
