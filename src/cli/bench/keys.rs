//! Which key does the next request carry? A new one, always the same, now and then an earlier one, or one of a few.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hyper::header::HeaderValue;

use crate::engine::ids;

/// A repeat is of one of so many latest keys: retries come soon, and what is remembered must not grow with the run.
const MEMORY: usize = 10_000;

/// How keys come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Pattern {
    /// Every request has a key of its own: all are new calls.
    Distinct,
    /// All requests have one key: one call, and its replays.
    Same,
    /// New keys, and a share (--repeat) of earlier ones: calls with their retries.
    Mixed,
    /// A few keys (--hot), drawn at random: many clients want the same few calls.
    Hot,
}

impl Pattern {
    /// Its name, as it is typed.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Distinct => "distinct",
            Self::Same => "same",
            Self::Mixed => "mixed",
            Self::Hot => "hot",
        }
    }
}

/// A key, and what was learned of the call it leads to.
pub(super) struct Key {
    /// As it is sent.
    pub(super) header: HeaderValue,
    acknowledged: Cell<bool>,
    call_id: RefCell<Option<String>>,
}

impl Key {
    /// Random, as clients make them: keys that grow would hide what a large index of keys costs.
    fn new() -> Rc<Self> {
        let header = HeaderValue::from_str(ids::key().as_str()).expect("a key is visible ASCII");
        Rc::new(Self { header, acknowledged: Cell::new(false), call_id: RefCell::new(None) })
    }

    /// Notes that a server has taken it. Returns whether that is news.
    pub(super) fn acknowledge(&self) -> bool {
        !self.acknowledged.replace(true)
    }

    /// Notes which call it leads to. Returns false if it led to another one before.
    pub(super) fn leads_to(&self, call_id: &str) -> bool {
        let mut known = self.call_id.borrow_mut();
        known.get_or_insert_with(|| call_id.to_owned()) == call_id
    }
}

/// Hands out keys.
pub(super) struct Keys {
    pattern: Pattern,
    /// Which share of requests repeats an earlier key.
    repeat: f64,
    /// How much of a repeat is due: grows by the share with each request, so that the share is met exactly.
    owed: f64,
    /// How many keys there are, where they are few.
    few: usize,
    earlier: Vec<Rc<Key>>,
    /// Where the next key is remembered, once all places are taken.
    oldest: usize,
    made: u64,
}

impl Keys {
    pub(super) fn new(pattern: Pattern, repeat: f64, hot: usize) -> Self {
        let few = if pattern == Pattern::Same { 1 } else { hot };
        Self { pattern, repeat, owed: 0.0, few, earlier: Vec::new(), oldest: 0, made: 0 }
    }

    /// How many keys there are so far.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Whether a key can come more than once, so that it matters which call it leads to.
    pub(super) fn repeat(&self) -> bool {
        self.pattern != Pattern::Distinct
    }

    /// The key of the next request.
    pub(super) fn next(&mut self) -> Rc<Key> {
        match self.pattern {
            Pattern::Distinct => self.make(),
            Pattern::Same | Pattern::Hot if self.earlier.len() < self.few => {
                let key = self.make();
                self.earlier.push(key.clone());
                key
            }
            Pattern::Same | Pattern::Hot => self.draw(),
            Pattern::Mixed => {
                self.owed += self.repeat;
                if self.owed >= 1.0 && !self.earlier.is_empty() {
                    self.owed -= 1.0;
                    return self.draw();
                }
                let key = self.make();
                self.remember(key.clone());
                key
            }
        }
    }

    fn make(&mut self) -> Rc<Key> {
        self.made += 1;
        Key::new()
    }

    fn draw(&self) -> Rc<Key> {
        let place = match self.earlier.len() {
            1 => 0,
            places => (ids::chance() * places as f64) as usize,
        };
        self.earlier[place].clone()
    }

    fn remember(&mut self, key: Rc<Key>) {
        if self.earlier.len() < MEMORY {
            self.earlier.push(key);
        } else {
            self.earlier[self.oldest] = key;
            self.oldest = (self.oldest + 1) % MEMORY;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn drawn(pattern: Pattern, repeat: f64, hot: usize, requests: usize) -> (Keys, Vec<HeaderValue>) {
        let mut keys = Keys::new(pattern, repeat, hot);
        let drawn = (0..requests).map(|_| keys.next().header.clone()).collect();
        (keys, drawn)
    }

    #[test]
    fn each_pattern_makes_as_many_keys_as_it_says() {
        for (pattern, repeat, hot, made) in [
            (Pattern::Distinct, 0.2, 16, 1000),
            (Pattern::Same, 0.2, 16, 1),
            (Pattern::Hot, 0.2, 16, 16),
            (Pattern::Mixed, 0.25, 16, 750),
            (Pattern::Mixed, 0.0, 16, 1000),
        ] {
            let (keys, drawn) = drawn(pattern, repeat, hot, 1000);
            let distinct: HashSet<_> = drawn.iter().collect();
            assert_eq!((distinct.len(), keys.made()), (made, made as u64), "{pattern:?}");
        }
    }

    #[test]
    fn few_keys_are_all_in_use() {
        let (_, drawn) = drawn(Pattern::Hot, 0.0, 4, 4000);
        for key in drawn.iter().collect::<HashSet<_>>() {
            let uses = drawn.iter().filter(|other| *other == key).count();
            // Of a thousand on average, with a standard deviation of 27.
            assert!((700..1300).contains(&uses), "one of four keys was used {uses} of 4000 times");
        }
    }

    #[test]
    fn what_is_remembered_stays_bounded_and_is_the_latest() {
        let (keys, drawn) = drawn(Pattern::Mixed, 0.0, 1, MEMORY + 10);
        let remembered: HashSet<_> = keys.earlier.iter().map(|key| &key.header).collect();
        assert_eq!(remembered, drawn[10..].iter().collect());
    }

    #[test]
    fn a_key_is_news_once_and_notices_a_second_call() {
        let key = Key::new();
        assert!(key.acknowledge() && !key.acknowledge());
        assert!(key.leads_to("c_1") && key.leads_to("c_1") && !key.leads_to("c_2"));
    }
}
