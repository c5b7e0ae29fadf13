//! Which requests a mode is applied to.

use std::sync::atomic::{AtomicU64, Ordering};

use hyper::Method;

/// Which of the requests that are looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Which {
    /// Every one.
    All,
    /// The first so many.
    First(u64),
    /// The Nth, the 2Nth, and so on.
    Every(u64),
    /// Each with this probability. The same seed picks the same numbers, whatever the timing.
    Share {
        /// From 0 to 1.
        share: f64,
        /// Chooses the sequence.
        seed: u64,
    },
}

/// Which requests are looked at at all. The others pass, and are not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Only {
    /// Of these methods; of any, if there are none.
    pub methods: Vec<Method>,
    /// Whose path begins like this; `/` is all of them, and `OPTIONS *`.
    pub path: String,
}

impl Only {
    /// `OPTIONS *` asks for the service as a whole, and so does a prefix that leaves nothing out.
    fn holds(&self, path: &str) -> bool {
        path.starts_with(&self.path) || (path == "*" && self.path == "/")
    }
}

/// Picks requests as they come.
#[derive(Debug)]
pub(super) struct Picker {
    which: Which,
    only: Only,
    looked_at: AtomicU64,
}

impl Picker {
    pub(super) fn new(which: Which, only: Only) -> Self {
        Self { which, only, looked_at: AtomicU64::new(0) }
    }

    /// Whether the mode is for the request that comes now.
    pub(super) fn picks(&self, method: &Method, path: &str) -> bool {
        let of_method = self.only.methods.is_empty() || self.only.methods.contains(method);
        of_method
            && self.only.holds(path)
            && self.which.picks(self.looked_at.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl Which {
    /// Whether it is one of them, the `number`th from 1.
    fn picks(self, number: u64) -> bool {
        match self {
            Self::All => true,
            Self::First(count) => number <= count,
            Self::Every(step) => number.is_multiple_of(step.max(1)),
            Self::Share { share, seed } => chance(seed, number) < share,
        }
    }
}

/// A number in `[0, 1)` for each place of the sequence of a seed: SplitMix64 (Steele, Lea, Flood, 2014), whose output for
/// a place can be had without those before it.
fn chance(seed: u64, place: u64) -> f64 {
    let mut bits = seed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    // A double has 53 bits.
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(which: Which, of: u64) -> Vec<u64> {
        (1..=of).filter(|number| which.picks(*number)).collect()
    }

    #[test]
    fn which_requests_are_picked_is_exact() {
        assert_eq!(picked(Which::All, 3), [1, 2, 3]);
        assert_eq!(picked(Which::First(2), 5), [1, 2]);
        assert_eq!(picked(Which::First(0), 5), Vec::<u64>::new());
        assert_eq!(picked(Which::Every(3), 10), [3, 6, 9]);
        assert_eq!(picked(Which::Every(1), 3), [1, 2, 3]);
    }

    #[test]
    fn a_share_is_drawn_from_its_seed() {
        let share = |share, seed| picked(Which::Share { share, seed }, 10_000);
        assert_eq!(share(0.3, 7), share(0.3, 7));
        assert_ne!(share(0.3, 7), share(0.3, 8));
        assert_eq!((share(0.0, 7).len(), share(1.0, 7).len()), (0, 10_000));
        let count = share(0.3, 7).len();
        assert!((2_800..3_200).contains(&count), "{count} of 10,000");
        // The first outputs of the published generator for seed 0.
        let published = [0xe220_a839_7b1d_cdaf_u64, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        for (place, bits) in (1..).zip(published) {
            assert_eq!(chance(0, place), (bits >> 11) as f64 / (1_u64 << 53) as f64);
        }
    }

    #[test]
    fn what_is_not_looked_at_is_not_counted() {
        let only = Only { methods: vec![Method::POST], path: "/v1".into() };
        let picker = Picker::new(Which::Every(2), only);
        let seen = [("POST", "/v1"), ("GET", "/v1"), ("POST", "/"), ("POST", "/v1/x"), ("POST", "/v1")];
        let picks = seen.map(|(method, path)| picker.picks(&method.parse().expect("a method"), path));
        assert_eq!(picks, [false, false, false, true, false]);
    }

    #[test]
    fn the_service_as_a_whole_is_below_the_prefix_that_means_all_of_it() {
        for (path, is_picked) in [("/", true), ("", true), ("/v1", false)] {
            let picker = Picker::new(Which::All, Only { methods: vec![], path: path.into() });
            assert_eq!(picker.picks(&Method::OPTIONS, "*"), is_picked, "{path:?}");
        }
    }
}
