//! What is broken: all of it counted, the first of it told.

use crate::domain::law::Violation;

/// Broken facts. However many there are, little is kept of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    first: Vec<Violation>,
    count: u64,
}

impl Findings {
    /// How many are told: enough to see a pattern, few enough to read.
    pub const TOLD: usize = 20;

    /// Takes in one.
    pub fn push(&mut self, violation: Violation) {
        self.count += 1;
        let place = self.first.partition_point(|known| order(known) <= order(&violation));
        if place < Self::TOLD {
            self.first.insert(place, violation);
            self.first.truncate(Self::TOLD);
        }
    }

    /// Takes in those of another part of the store.
    pub fn merge(&mut self, other: Self) {
        let untold = other.count - other.first.len() as u64;
        other.first.into_iter().for_each(|violation| self.push(violation));
        self.count += untold;
    }

    /// How many there are.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The first of them: those of no call in particular, then in the order of calls, versions and columns.
    pub fn first(&self) -> &[Violation] {
        &self.first
    }
}

impl Extend<Violation> for Findings {
    fn extend<I: IntoIterator<Item = Violation>>(&mut self, violations: I) {
        violations.into_iter().for_each(|violation| self.push(violation));
    }
}

/// What one is told before another by, so that the same store always tells the same.
fn order(violation: &Violation) -> impl Ord {
    let Violation { law, call, version, position, member, problem } = violation;
    (call, version, position, law, member, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::law::Law;

    fn numbered(numbers: impl IntoIterator<Item = u32>) -> Findings {
        let mut findings = Findings::default();
        findings.extend(numbers.into_iter().map(|n| Violation::new(Law::LogIsTruth, format!("{n:04}"), "")));
        findings
    }

    #[test]
    fn all_are_counted_and_the_first_are_told_in_whatever_order_they_come() {
        let mut parts = numbered((50..100).rev());
        parts.merge(numbered(0..50));
        assert_eq!(parts, numbered(0..100));
        assert_eq!(parts.count(), 100);
        let told: Vec<_> = parts.first().iter().map(|violation| violation.member.clone()).collect();
        assert_eq!(told, (0..20).map(|n| format!("{n:04}")).collect::<Vec<_>>());
    }
}
