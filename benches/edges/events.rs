//! Events of the load: card transactions of about 300 bytes, each with an id of its own.

use std::io::Write;
use verdictd::simulate::{Options, Simulator};

/// Different transactions before they repeat under new ids.
const TEMPLATES: usize = 5000;

/// An endless supply of events, each a line without its end.
pub struct Events {
    templates: Vec<Vec<u8>>,
    next: u64,
}

impl Events {
    pub fn new() -> Self {
        const HEAD: &[u8] = b"{\"TRANSACTION_ID\":\"";
        let simulator = Simulator::new(1, &Options::default());
        let rest = |json: Vec<u8>| {
            let rest = &json[HEAD.len()..];
            rest[rest.iter().take_while(|byte| byte.is_ascii_digit()).count()..].to_vec()
        };
        let templates = simulator.take(TEMPLATES).map(|transaction| {
            let mut json = Vec::new();
            transaction.write_json(&mut json);
            rest(json)
        });
        Self { templates: templates.collect(), next: 0 }
    }

    /// Appends the next one.
    pub fn write(&mut self, out: &mut Vec<u8>) {
        let at = usize::try_from(self.next).expect("a small number") % self.templates.len();
        write!(out, "{{\"TRANSACTION_ID\":\"{:014}", self.next).expect("a Vec");
        out.extend_from_slice(&self.templates[at]);
        self.next += 1;
    }

    pub fn one(&mut self) -> Vec<u8> {
        let mut out = Vec::with_capacity(320);
        self.write(&mut out);
        out
    }
}

/// The mapping of these events in a source's table.
pub const MAPPING: &str = r#"{ id = "/TRANSACTION_ID", key = "/CUSTOMER_ID", time = "/TX_DATETIME" }"#;
