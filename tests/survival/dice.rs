//! Chance that a seed repeats: SplitMix64.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The stream `number` of this seed: another one for each who draws.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut dice = Self(seed ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03));
        // Neighbouring numbers would begin alike.
        dice.next();
        dice
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `end`, without it.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// From `least` to `most`, with both.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// Whether something happens that happens so many times in a hundred.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

#[test]
fn a_seed_repeats_its_stream_and_streams_differ() {
    let draw = |seed, number| {
        let mut dice = Dice::new(seed, number);
        [dice.next(), dice.next(), dice.between(5, 9)]
    };
    assert_eq!(draw(7, 1), draw(7, 1));
    assert!(draw(7, 1) != draw(7, 2) && draw(7, 1) != draw(8, 1));
    let mut dice = Dice::new(1, 1);
    let mut seen = [0; 5];
    (0..1_000).for_each(|_| seen[dice.between(5, 9) as usize - 5] += 1);
    assert!(seen.iter().all(|times| *times > 100), "{seen:?}");
}
