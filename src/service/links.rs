//! Where the paths of the models lead: a link that is pointed to another bundle is taken without being asked.
//!
//! They are looked at every [`LOOK_EVERY`]. Another folder counts once two looks in a row found it, so that a link on
//! its way to somewhere is let pass. It is tried once: where it is refused, nothing is tried before the link leads
//! elsewhere. A path that leads nowhere is no change.

use super::admin::InForce;
use crate::config::Config;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The folders behind `model.bundle` and `model.shadow`, links resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    bundle: PathBuf,
    shadow: Option<PathBuf>,
}

impl Places {
    /// None where one of them leads nowhere.
    fn of(config: &Config) -> Option<Self> {
        let shadow = config.model.shadow.as_deref().map(Path::canonicalize).transpose().ok()?;
        Some(Self { bundle: config.model.bundle.canonicalize().ok()?, shadow })
    }

    /// Where the models in use came from.
    fn in_use(now: &InForce) -> Self {
        let (bundle, shadow) = (now.lineup.bundle(), now.lineup.shadow());
        let shadow = shadow.map(|shadow| shadow.bundle().folder().to_owned());
        Self { bundle: bundle.folder().to_owned(), shadow }
    }
}

/// What was seen so far.
#[derive(Default)]
struct Looks {
    seen: Option<Places>,
    /// What was in use or tried last.
    settled: Option<Places>,
}

impl Looks {
    /// Whether what was found is to be taken now.
    fn see(&mut self, found: Option<Places>, in_use: &Places) -> bool {
        let again = found.is_some() && found == self.seen;
        self.seen = found;
        if !again || self.seen == self.settled {
            return false;
        }
        self.settled.clone_from(&self.seen);
        self.seen.as_ref() != Some(in_use)
    }
}

/// The watch over them.
pub struct Links {
    looks: Looks,
    every: Interval,
}

impl Links {
    /// Within a runtime. What is in use at the start is settled, also where the shadow was left out of it.
    pub fn new(now: &InForce) -> Self {
        let mut settled = Places::in_use(now);
        settled.shadow = settled.shadow.or_else(|| now.config.model.shadow.as_ref()?.canonicalize().ok());
        let mut every = interval(LOOK_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { looks: Looks { seen: None, settled: Some(settled) }, every }
    }

    /// Resolves when they lead elsewhere. May be given up at any time.
    pub async fn changed(&mut self, now: impl Fn() -> Arc<InForce>) {
        loop {
            self.every.tick().await;
            let now = now();
            let found = resolve(&now).await;
            if self.looks.see(found, &Places::in_use(&now)) {
                return;
            }
        }
    }

    /// A reload is to be done that was asked for: what they lead to by now is tried by it.
    pub async fn tried(&mut self, now: &Arc<InForce>) {
        self.looks = Looks { seen: None, settled: resolve(now).await };
    }
}

/// Apart from the threads that must not wait for a disk.
async fn resolve(now: &Arc<InForce>) -> Option<Places> {
    let now = Arc::clone(now);
    tokio::task::spawn_blocking(move || Places::of(&now.config)).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::unnecessary_wraps)] // as a look finds it
    fn at(bundle: &str) -> Option<Places> {
        Some(Places { bundle: bundle.into(), shadow: Some("/shadow".into()) })
    }

    /// What is taken of looks one after another, the first of them in use.
    fn taken(found: &[&str]) -> Vec<usize> {
        let mut in_use = at(found[0]).unwrap();
        let mut looks = Looks { seen: None, settled: Some(in_use.clone()) };
        let mut taken = Vec::new();
        for (n, place) in found.iter().enumerate() {
            let found = if place.is_empty() { None } else { at(place) };
            if looks.see(found.clone(), &in_use) {
                taken.push(n);
                // "bad" is refused, what was in use still is.
                in_use = found.filter(|_| *place != "bad").unwrap_or(in_use);
            }
        }
        taken
    }

    #[test]
    fn another_folder_is_taken_at_the_second_look_and_one_on_the_way_is_let_pass() {
        assert_eq!(taken(&["a", "a", "b", "b", "b", "b"]), [3]);
        assert_eq!(taken(&["a", "b", "a", "b", "c", "c", "a", "a"]), [5, 7]);
        assert_eq!(taken(&["a", "b", "", "b", "", "", "a", "a", "b", "b"]), [9], "nowhere is no change");
    }

    #[test]
    fn a_bad_one_is_tried_once_and_again_only_after_the_link_led_elsewhere() {
        assert_eq!(taken(&["a", "bad", "bad", "bad", "bad", "", "bad", "bad"]), [2]);
        assert_eq!(taken(&["a", "bad", "bad", "a", "a", "bad", "bad", "bad"]), [2, 6], "what is in use is not taken");
        assert_eq!(taken(&["a", "bad", "bad", "good", "good"]), [2, 4]);
    }

    #[test]
    fn another_shadow_is_a_change_too() {
        let in_use = at("a").unwrap();
        let mut looks = Looks { seen: None, settled: Some(in_use.clone()) };
        let found = Some(Places { shadow: Some("/other".into()), ..in_use.clone() });
        assert!(!looks.see(found.clone(), &in_use));
        assert!(looks.see(found, &in_use));
    }
}
