//! How long to wait before another try: exponential, capped, with full jitter.

use std::time::Duration;

/// Bounds of the wait between tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The longest first wait.
    pub base: Duration,
    /// The longest wait of all.
    pub cap: Duration,
}

impl Backoff {
    /// The wait after `failures` failures (from 1), somewhere between zero and `base · 2^(failures - 1)`, at most
    /// `cap`. `chance` in `[0, 1)` says where: full jitter, so that clients which failed together do not return
    /// together (Brooker, "Exponential Backoff and Jitter").
    pub fn wait(&self, failures: u32, chance: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(63);
        let ceiling = u32::try_from(1u64 << doublings.min(31))
            .ok()
            .and_then(|factor| self.base.checked_mul(factor))
            .unwrap_or(self.cap)
            .min(self.cap);
        ceiling.mul_f64(chance.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { base: Duration::from_millis(100), cap: Duration::from_secs(10) };

    #[test]
    fn the_ceiling_doubles_up_to_the_cap() {
        let ceilings: Vec<_> = (1..=9).map(|n| BACKOFF.wait(n, 1.0).as_millis()).collect();
        assert_eq!(ceilings, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(BACKOFF.wait(u32::MAX, 1.0), BACKOFF.cap);
    }

    #[test]
    fn chance_spreads_the_wait_from_zero() {
        assert_eq!(BACKOFF.wait(3, 0.0), Duration::ZERO);
        assert_eq!(BACKOFF.wait(3, 0.5), Duration::from_millis(200));
    }
}
