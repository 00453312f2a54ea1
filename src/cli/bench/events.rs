//! Requests for the load: made before it starts, with ids that are written in as each is sent.
//!
//! Events are JSON of about 300 bytes, card transactions of the simulator with a fixed seed.

use crate::simulate::{Options, Simulator};

/// Bytes of one event, about.
const EVENT_BYTES: usize = 300;
/// Digits of an id.
const ID_DIGITS: usize = 14;
/// Different events before they repeat under new ids.
const TEMPLATE_EVENTS: usize = 3200;

/// One request, whole, and where the ids stand in it.
struct Template {
    bytes: Vec<u8>,
    ids: Vec<usize>,
}

/// An endless supply of requests with ids that never repeat within a run.
pub struct Requests {
    templates: Vec<Template>,
    next_template: usize,
    next_id: u64,
}

impl Requests {
    /// Requests of `per_request` events: one as JSON, more as NDJSON. Ids of different `series` differ.
    #[must_use]
    pub fn new(per_request: usize, series: u64) -> Self {
        let mut simulator = Simulator::new(series, &Options::default());
        let per_request = per_request.max(1);
        let templates =
            (0..TEMPLATE_EVENTS.div_ceil(per_request)).map(|_| template(per_request, &mut simulator)).collect();
        Self { templates, next_template: 0, next_id: series * 10_000_000_000 }
    }

    /// Appends the next request.
    pub fn write(&mut self, out: &mut Vec<u8>) {
        let Some(template) = self.templates.get(self.next_template) else { return };
        self.next_template = (self.next_template + 1) % self.templates.len();
        let start = out.len();
        out.extend_from_slice(&template.bytes);
        for at in &template.ids {
            if let Some(digits) = out.get_mut(start + at..start + at + ID_DIGITS) {
                write_digits(self.next_id, digits);
            }
            self.next_id += 1;
        }
    }
}

fn write_digits(mut number: u64, digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
}

fn template(per_request: usize, simulator: &mut Simulator) -> Template {
    let mut body = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..per_request {
        ids.push(body.len() + event(&mut body, simulator));
        if per_request > 1 {
            body.push(b'\n');
        }
    }
    let content_type = if per_request > 1 { "application/x-ndjson" } else { "application/json" };
    let mut bytes = format!(
        "POST /v1/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    for at in &mut ids {
        *at += bytes.len();
    }
    bytes.extend_from_slice(&body);
    Template { bytes, ids }
}

/// Appends one event; where its id stands, from its start.
fn event(out: &mut Vec<u8>, simulator: &mut Simulator) -> usize {
    const HEAD: &[u8] = b"{\"TRANSACTION_ID\":\"";
    let mut json = Vec::with_capacity(EVENT_BYTES);
    if let Some(transaction) = simulator.next() {
        transaction.write_json(&mut json);
    }
    // The simulator's own id gives way to one of a fixed width.
    let rest = json.strip_prefix(HEAD).unwrap_or_default();
    let rest = rest.get(rest.iter().take_while(|byte| byte.is_ascii_digit()).count()..).unwrap_or_default();
    out.extend_from_slice(HEAD);
    out.resize(out.len() + ID_DIGITS, b'0');
    out.extend_from_slice(rest);
    HEAD.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn requests_hold_events_of_about_300_bytes_with_ids_of_their_own() {
        let mut seen = HashSet::new();
        for (per_request, series) in [(1, 0), (100, 1)] {
            let mut requests = Requests::new(per_request, series);
            for _ in 0..50 {
                let mut out = Vec::new();
                requests.write(&mut out);
                let text = String::from_utf8(out).unwrap();
                let (head, body) = text.split_once("\r\n\r\n").unwrap();
                assert!(head.contains(&format!("content-length: {}", body.len())));
                assert_eq!(body.lines().count(), per_request);
                for line in body.lines() {
                    assert!(line.len().abs_diff(EVENT_BYTES) < 60, "{}", line.len());
                    let event: serde_json::Value = serde_json::from_str(line).unwrap();
                    assert!(seen.insert(event["TRANSACTION_ID"].as_str().unwrap().to_owned()));
                }
            }
        }
        assert_eq!(seen.len(), 50 + 5000);
    }
}
