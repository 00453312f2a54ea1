//! What differs between the config in force and another one: what a reload may swap, and what waits for a restart.
//! Pure.

use crate::config::{Config, Sink};

/// The swaps and what has to wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Names of sinks that are new, gone, or otherwise than before.
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<String>,
    /// Whether the least level of the log differs.
    pub log_level: bool,
    /// Keys and tables that take effect at the next start.
    pub restart: Vec<String>,
}

impl Changes {
    /// From the config in force to the one that was read.
    #[must_use]
    pub fn between(old: &Config, new: &Config) -> Self {
        let find = |sinks: &[Sink], name: &str| sinks.iter().find(|sink| sink.name == name).cloned();
        let mut changes = Self { log_level: old.log.level != new.log.level, ..Self::default() };
        for sink in &new.sinks {
            match find(&old.sinks, &sink.name) {
                None => changes.added.push(sink.name.clone()),
                Some(before) if before != *sink => changes.changed.push(sink.name.clone()),
                Some(_) => {}
            }
        }
        let gone = old.sinks.iter().filter(|sink| find(&new.sinks, &sink.name).is_none());
        changes.removed.extend(gone.map(|sink| sink.name.clone()));
        let mut wait = |differs: bool, key: &str| {
            if differs {
                changes.restart.push(key.to_owned());
            }
        };
        wait(old.instance != new.instance, "instance");
        wait(old.state_dir != new.state_dir, "state-dir");
        wait(old.limits != new.limits, "limits");
        wait(old.dedup != new.dedup, "dedup");
        wait(old.windows != new.windows, "windows");
        wait(old.admin != new.admin, "admin");
        wait(old.quarantine != new.quarantine, "quarantine");
        wait(old.replay != new.replay, "replay");
        wait(old.log.format != new.log.format, "log.format");
        for source in &new.sources {
            let before = old.sources.iter().find(|before| before.name == source.name);
            wait(before != Some(source), &format!("sources.{}", source.name));
        }
        for source in &old.sources {
            let gone = new.sources.iter().all(|after| after.name != source.name);
            wait(gone, &format!("sources.{}", source.name));
        }
        changes
    }

    /// The config that is in force after the swaps: the old one where a restart is needed.
    #[must_use]
    pub fn merged(old: &Config, new: &Config) -> Config {
        let mut merged = old.clone();
        merged.sinks.clone_from(&new.sinks);
        merged.model.clone_from(&new.model);
        merged.log.level = new.log.level;
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Text, parse};

    fn config(text: &str) -> Config {
        let text = Text { file: "/etc/v.toml".into(), text: text.to_owned() };
        parse(&[text], "box", &|_| None).unwrap().config
    }

    const BASE: &str = r#"
        [model]
        bundle = "/m"
        [sources.pos]
        type = "http"
        listen = "unix:/run/e.sock"
        [sinks.audit]
        type = "file"
        path = "/v/a.ndjson"
        [sinks.old]
        type = "file"
        path = "/v/o.ndjson"
    "#;

    #[test]
    fn the_same_config_changes_nothing() {
        assert_eq!(Changes::between(&config(BASE), &config(BASE)), Changes::default());
    }

    #[test]
    fn sinks_model_and_log_level_are_swapped_and_the_rest_waits_for_a_restart() {
        let text = BASE.replace("a.ndjson", "b.ndjson").replace("sinks.old", "sinks.new").replace("e.sock", "f.sock");
        let text = text.replace("\"/m\"", "\"/n\"");
        let text = format!(
            "state-dir = \"/s\"\n[log]\nlevel = \"warn\"\nformat = \"json\"\n[limits]\nmemory = \"96 MiB\"\n{text}"
        );
        let (old, new) = (config(BASE), config(&text));
        let changes = Changes::between(&old, &new);
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(changes.added, names(&["new"]));
        assert_eq!(changes.removed, names(&["old"]));
        assert_eq!(changes.changed, names(&["audit"]));
        assert!(changes.log_level);
        assert_eq!(changes.restart, names(&["state-dir", "limits", "log.format", "sources.pos"]));
        let merged = Changes::merged(&old, &new);
        assert_eq!((&merged.sinks, &merged.model, merged.log.level), (&new.sinks, &new.model, new.log.level));
        assert_eq!((&merged.sources, &merged.limits, &merged.state_dir), (&old.sources, &old.limits, &old.state_dir));
        // What has been swapped is no change any more; what waits still is.
        assert_eq!(Changes::between(&merged, &new).restart, changes.restart);
    }
}
