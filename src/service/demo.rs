//! The config of a private daemon for `demo` and `bench`: one folder, two sockets, the file sink.

use std::path::Path;

/// A whole config for a daemon that lives in `folder` alone.
#[must_use]
pub fn demo_config(folder: &Path, bundle: &Path) -> String {
    // Debug form: quoted and escaped as a TOML basic string is.
    let text = |path: &Path| format!("{:?}", path.display().to_string());
    let socket = |name: &str| format!("{:?}", format!("unix:{}", folder.join(name).display()));
    format!(
        r#"instance = "demo"
state-dir = {state}

[model]
bundle = {bundle}

[admin]
listen = {admin}

[sources.pos]
type = "http"
listen = {events}
event = {{ id = "/TRANSACTION_ID", key = "/CUSTOMER_ID", time = "/TX_DATETIME" }}

[sinks.audit]
type = "file"
path = {verdicts}
"#,
        state = text(&folder.join("state")),
        bundle = text(bundle),
        admin = socket("admin.sock"),
        events = socket("events.sock"),
        verdicts = text(&folder.join("state/verdicts/verdicts.ndjson")),
    )
}
