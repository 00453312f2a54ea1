//! What single keys cannot say: values that do not go together.

use super::{Config, DiskPlan, MemoryPlan, ModelCost, Problem, SinkKind, section::Reader};
use std::path::Path;

/// Notes faults and warnings of a config whose keys are read.
pub(super) fn check(config: &Config, reader: &mut Reader) {
    listeners(config, reader);
    sink_files(config, reader);
    limits(config, reader);
}

fn listeners(config: &Config, reader: &mut Reader) {
    let mut seen = vec![("admin.listen".to_owned(), &config.admin.listen)];
    for source in &config.sources {
        let Some(endpoint) = source.kind.endpoint() else { continue };
        let key = format!("sources.{}.listen", source.name);
        if let Some((other, address)) = seen.iter().find(|(_, listen)| listen.collides(&endpoint.listen)) {
            let message = format!("{key}: {} is taken: {other} listens on {address}", endpoint.listen);
            let problem = Problem::at(&reader.origin(&key), &key, message)
                .with("an address that no other listener has", endpoint.listen.to_string());
            reader.problems.push(problem);
        }
        seen.push((key, &endpoint.listen));
    }
}

fn sink_files(config: &Config, reader: &mut Reader) {
    if config.sinks.is_empty() {
        let message = "sinks: there is no sink, so verdicts are answered and kept but not forwarded";
        reader.warnings.push(Problem::at(&super::Origin::Default, "sinks", message));
    }
    let mut seen: Vec<(String, &Path)> = Vec::new();
    for sink in &config.sinks {
        let SinkKind::File(file) = &sink.kind else { continue };
        let key = format!("sinks.{}.path", sink.name);
        if let Some((other, _)) = seen.iter().find(|(_, path)| *path == file.path) {
            let message = format!("{key}: {} is written by {other} already", file.path.display());
            let problem = Problem::at(&reader.origin(&key), &key, message)
                .with("a file that no other sink has", file.path.display().to_string());
            reader.problems.push(problem);
        }
        seen.push((key.clone(), &file.path));
        if file.keep == 0 && file.path.starts_with(&config.state_dir) {
            let keep = format!("sinks.{}.keep", sink.name);
            let message = format!(
                "{keep}: all rotated files are kept, and they lie in state-dir: they grow until limits.disk is reached \
                 and nothing new is taken; set keep, or move or clear them"
            );
            let origin = reader.origin(&key);
            reader.warnings.push(Problem::at(&origin, &keep, message));
        }
    }
}

fn limits(config: &Config, reader: &mut Reader) {
    let limits = &config.limits;
    // A limit that is faulty itself is 0 here and has been reported.
    if limits.request.bytes() > 0 && limits.event > limits.request {
        let message = format!(
            "limits.event: an event of \"{}\" does not fit a request body of \"{}\" (limits.request)",
            limits.event, limits.request
        );
        let problem = Problem::at(&reader.origin("limits.event"), "limits.event", message)
            .with(format!("at most \"{}\"", limits.request), limits.event.to_string());
        reader.problems.push(problem);
    }
    let memory_set = [limits.memory, limits.request, limits.event].iter().all(|size| size.bytes() > 0);
    if memory_set && limits.connections > 0 {
        // The model is not loaded here: what it needs is checked when it is.
        if let Err(error) = MemoryPlan::divide(config, ModelCost::default()) {
            let problem =
                Problem::at(&reader.origin("limits.memory"), "limits.memory", format!("limits.memory: {error}"))
                    .with(format!("at least \"{}\"", error.needed), limits.memory.to_string());
            reader.problems.push(problem);
        }
    }
    if limits.disk.bytes() > 0 && config.quarantine.limit.bytes() > 0 {
        match DiskPlan::divide(config) {
            Ok(_) => {}
            Err(error) => {
                let problem =
                    Problem::at(&reader.origin("limits.disk"), "limits.disk", format!("limits.disk: {error}"))
                        .with(format!("at least \"{}\"", error.needed), limits.disk.to_string());
                reader.problems.push(problem);
            }
        }
    }
}
