//! Waiting between tries: doubling, with a ceiling and jitter.

use rand::Rng;
use std::time::Duration;

/// First wait after a failure.
pub const RETRY_DELAY_MIN: Duration = Duration::from_millis(100);
/// Longest wait.
pub const RETRY_DELAY_MAX: Duration = Duration::from_secs(30);

/// The wait after each of a row of failures.
#[derive(Clone, Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// It went well: the next wait is short again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// The next wait: between half of and the whole doubled delay, so that many do not try in step.
    pub fn next(&mut self, random: &mut impl Rng) -> Duration {
        let doubled = RETRY_DELAY_MIN.saturating_mul(1 << self.failures.min(20));
        self.failures = self.failures.saturating_add(1);
        doubled.min(RETRY_DELAY_MAX).mul_f64(random.random_range(0.5..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn waits_grow_to_the_ceiling_and_start_anew_after_success() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(1);
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..40).map(|_| backoff.next(&mut random)).collect();
        assert!(waits[0] <= RETRY_DELAY_MIN && waits[0] >= RETRY_DELAY_MIN / 2);
        assert!(waits.iter().all(|wait| *wait <= RETRY_DELAY_MAX));
        assert!(waits[39] >= RETRY_DELAY_MAX / 2);
        backoff.reset();
        assert!(backoff.next(&mut random) <= RETRY_DELAY_MIN);
    }
}
