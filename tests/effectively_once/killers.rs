//! Who kills: each its own victim, at random, until every victim has been killed often enough.

use rand::Rng;
use rand_pcg::Pcg64Mcg;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

pub const VICTIMS: [&str; 4] = ["daemon", "broker", "consumer", "database"];
const BROKER: usize = 1;

/// New rows between two kills of one victim, at most.
const WORK_MAX: u64 = 400;

/// From one kill to the next nobody needs longer, whatever else is being killed. No promise about speed.
const PATIENCE: Duration = Duration::from_mins(4);

/// A victim may be killed again when nothing has come through for so long. A broker that is alone and starved while it
/// starts may lose its own registration once more, and then never loads its groups until its next start: that is
/// Kafka's, and no more than a fault among those of this test.
pub const STUCK: Duration = Duration::from_secs(20);

/// How far everyone is.
#[derive(Default)]
pub struct Progress {
    kills: [AtomicU64; VICTIMS.len()],
    /// Verdicts that the tables held when they were last asked.
    pub stored: AtomicU64,
    /// Someone has failed: the others need not go on.
    failed: AtomicBool,
    over: AtomicBool,
}

/// Lets everyone end when the thread that holds it panics.
pub struct Alarm<'a>(pub &'a Progress);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, SeqCst);
        }
    }
}

impl Progress {
    pub fn kills(&self) -> [u64; VICTIMS.len()] {
        self.kills.each_ref().map(|kills| kills.load(SeqCst))
    }

    fn fewest(&self) -> u64 {
        self.kills().into_iter().min().unwrap_or_default()
    }

    /// While transactions are to come.
    pub fn goes_on(&self, kills: u64) -> bool {
        self.fewest() < kills && !self.failed.load(SeqCst)
    }

    /// Everything that was sent has come to its end, or someone has failed.
    pub fn is_over(&self) -> bool {
        self.over.load(SeqCst) || self.failed.load(SeqCst)
    }

    pub fn end(&self) {
        self.over.store(true, SeqCst);
    }
}

/// Kills a victim again and again; `strike` kills it and has it back.
///
/// Mostly after some rows have come through since it came back, a random number of them, and then at a random moment; one
/// time in four at once, wherever it then is. None is killed much more often than the one killed least, so that all of
/// them are under fire to the end.
pub fn kill(
    victim: usize,
    kills: u64,
    progress: &Progress,
    mut random: Pcg64Mcg,
    mut strike: impl FnMut(),
    log: impl Fn() -> String,
) {
    let _alarm = Alarm(progress);
    while progress.goes_on(kills) {
        let work = if random.random_ratio(1, 4) { 0 } else { random.random_range(1..=WORK_MAX) };
        let goal = progress.stored.load(SeqCst) + work;
        let begun = Instant::now();
        let is_due = || {
            let own = progress.kills[victim].load(SeqCst);
            let is_stuck = victim == BROKER && begun.elapsed() > STUCK;
            own <= progress.fewest() * 3 / 2 + 2 && (progress.stored.load(SeqCst) >= goal || is_stuck)
        };
        while progress.goes_on(kills) && !is_due() {
            assert!(begun.elapsed() < PATIENCE, "nothing goes on: {:?}\n{}", progress.kills(), log());
            std::thread::park_timeout(Duration::from_millis(5));
        }
        std::thread::park_timeout(Duration::from_millis(random.random_range(0..60)));
        strike();
        progress.kills[victim].fetch_add(1, SeqCst);
    }
}
