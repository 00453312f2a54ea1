//! `verdictd status`: what the running daemon says of itself, by its admin listener.

use super::{
    ConfigArg, Failure,
    client::{Address, Client, ClientOptions},
    output::{Mark, Output, say},
};
use crate::{
    config::{Config, files, load},
    listen::Listen,
};
use clap::Args;
use serde_json::Value;
use std::time::Duration;

/// How long the daemon may take to answer.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(5);

#[derive(Args, Debug)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// The admin listener, instead of the config's: unix:PATH or HOST:PORT
    #[arg(long, value_name = "ADDR", conflicts_with = "config")]
    to: Option<Address>,
    /// Print JSON for scripts
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &StatusArgs) -> Result<(), Failure> {
    let mut options = match &args.to {
        Some(address) => ClientOptions::new(address.clone()),
        None => options(&load(&args.config.config)?.config)?,
    };
    options.answer_timeout = ANSWER_WAIT_MAX;
    let status = fetch(options)?;
    let mut out = Output::new();
    if args.json {
        out.json(&status)?;
    } else {
        out.text(&as_text(&status))?;
        for warning in status["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            say(Mark::Warning, warning);
        }
    }
    out.finish()
}

fn options(config: &Config) -> Result<ClientOptions, Failure> {
    let admin = &config.admin;
    let address = match &admin.listen {
        Listen::Unix(path) => Address::Unix(path.clone()),
        Listen::Tcp(address) => {
            Address::Tcp { host: address.ip().to_string(), port: address.port(), tls: admin.tls.is_some() }
        }
    };
    let mut options = ClientOptions::new(address);
    if let Some(file) = &admin.token_file {
        let token = files::read_token(file).map_err(|error| Failure::input(&file.display().to_string(), &error))?;
        options.token = Some(token);
    }
    Ok(options)
}

fn fetch(options: ClientOptions) -> Result<Value, Failure> {
    let address = options.address.clone();
    let silent = |error: &dyn std::fmt::Display| Failure::does_not_hold(format!("{error}; is the daemon running?"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| silent(&error))?;
    let answered = runtime.block_on(async { Client::new(options)?.get("/v1/status").await });
    let answered = answered.map_err(|error| silent(&error))?;
    if answered.status != 200 {
        return Err(Failure::does_not_hold(format!("{address} answered with status {}", answered.status)));
    }
    serde_json::from_slice(&answered.body)
        .map_err(|error| Failure::does_not_hold(format!("{address} gave no JSON: {error}")))
}

/// One line a value, the path before it; lists of objects by their names. Warnings are said apart.
fn as_text(status: &Value) -> String {
    let mut lines = Vec::new();
    flatten("", status, &mut lines);
    lines.retain(|(key, _)| key != "warnings" && !key.starts_with("warnings."));
    let width = lines.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0);
    let lines: Vec<String> = lines.iter().map(|(key, value)| format!("{key:width$}  {value}\n")).collect();
    lines.concat()
}

fn flatten(path: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(members) => {
            for (name, member) in members
                .iter()
                .filter(|(name, member)| !(name.as_str() == "name" && member.is_string() && !path.is_empty()))
            {
                flatten(&below(name), member, lines);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                let name = item["name"].as_str().map_or_else(|| n.to_string(), ToOwned::to_owned);
                flatten(&below(&name), item, lines);
            }
        }
        Value::String(text) => lines.push((path.to_owned(), text.clone())),
        Value::Null => lines.push((path.to_owned(), "-".to_owned())),
        other => lines.push((path.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_has_a_line_for_every_value() {
        let status = serde_json::json!({
            "ready": true,
            "sinks": [{ "name": "audit", "lag-events": 3, "last-error": null }],
            "warnings": ["the window is cut"],
        });
        assert_eq!(
            as_text(&status),
            "ready                   true\nsinks.audit.lag-events  3\nsinks.audit.last-error  -\n"
        );
    }
}
