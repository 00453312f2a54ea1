//! A verdict as a Kafka record: CloudEvents 1.0 in the Kafka protocol binding, binary or structured.

use super::RECORD_COST_BYTES;
use crate::forward::Encoding;
use crate::verdict::{VERDICT_TYPE, Verdict, write_decided};
use rdkafka::message::{Header, OwnedHeaders};

/// Renders one record at a time into buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub value: Vec<u8>,
    time: Vec<u8>,
}

impl Rendered {
    /// Renders the value; [`Rendered::headers`] belong to it.
    pub fn value(&mut self, encoding: Encoding, verdict: &Verdict<'_>) {
        self.value.clear();
        encoding.write(verdict, &mut self.value);
    }

    pub fn headers(&mut self, encoding: Encoding, verdict: &Verdict<'_>) -> OwnedHeaders {
        match encoding {
            Encoding::CloudEvents => {
                add(OwnedHeaders::new_with_capacity(1), "content-type", b"application/cloudevents+json; charset=UTF-8")
            }
            Encoding::Json => {
                self.time.clear();
                write_decided(verdict.decided_ms, &mut self.time);
                let headers = OwnedHeaders::new_with_capacity(7);
                let headers = add(headers, "ce_specversion", b"1.0");
                let headers = add(headers, "ce_id", verdict.id.as_bytes());
                let headers = add(headers, "ce_source", verdict.source.as_bytes());
                let headers = add(headers, "ce_type", VERDICT_TYPE.as_bytes());
                let headers = add(headers, "ce_time", &self.time);
                let headers = add(headers, "content-type", b"application/json");
                match verdict.key {
                    Some(key) => add(headers, "ce_subject", key.as_bytes()),
                    None => headers,
                }
            }
        }
    }

    /// What the record counts in flight, bytes.
    pub fn cost(&self, verdict: &Verdict<'_>) -> usize {
        let names = verdict.id.len() + verdict.source.len() + 2 * verdict.key.map_or(0, str::len);
        self.value.len() + names + RECORD_COST_BYTES
    }
}

fn add(headers: OwnedHeaders, key: &str, value: &[u8]) -> OwnedHeaders {
    headers.insert(Header { key, value: Some(value) })
}
