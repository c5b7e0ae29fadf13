//! Can what clients saw be true of calls that happen once? Looks at what they were told alone, and asks no rule of the product.

use std::collections::{BTreeMap, BTreeSet};

/// Something that a client did; `request` is what it submitted, nothing if it only looked.
#[derive(Debug, Clone)]
pub struct Deed {
    pub client: u64,
    pub key: u64,
    pub request: Option<usize>,
    /// Its place in the order of all that was invoked and answered.
    pub invoked: u64,
    /// That of its answer, and the answer; nothing if the process was gone before.
    pub answered: Option<(u64, Told)>,
}

/// What it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    Call(Seen),
    Conflict,
    Absent,
}

/// A call as it was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub call_id: String,
    pub request: usize,
    pub version: u64,
    pub said: Said,
}

/// What was said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub state: &'static str,
    pub attempt: u32,
    pub answer: String,
}

/// What cannot be, key by key.
pub fn faults(deeds: &[Deed]) -> Vec<String> {
    let keys: BTreeSet<_> = deeds.iter().map(|deed| deed.key).collect();
    keys.into_iter().flat_map(|key| of_key(key, deeds.iter().filter(|deed| deed.key == key))).collect()
}

fn of_key<'a>(key: u64, deeds: impl Iterator<Item = &'a Deed>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut say = |what: String| faults.push(format!("key {key}: {what}"));
    let mut answered: Vec<_> =
        deeds.filter_map(|deed| deed.answered.as_ref().map(|(at, told)| (*at, deed, told))).collect();
    answered.sort_by_key(|(at, ..)| *at);
    let calls: Vec<_> = answered
        .iter()
        .filter_map(|(at, deed, told)| match told {
            Told::Call(seen) => Some((*at, *deed, seen)),
            Told::Conflict | Told::Absent => None,
        })
        .collect();
    let Some((_, _, first)) = calls.first() else {
        if answered.iter().any(|(_, _, told)| **told == Told::Conflict) {
            say("a conflict, and nobody ever saw the call".into());
        }
        return faults;
    };
    let mut by_version: BTreeMap<u64, &Said> = BTreeMap::new();
    let mut last: Option<&Seen> = None;
    for (_, deed, seen) in &calls {
        if seen.call_id != first.call_id || seen.request != first.request {
            say(format!("it led to {} and to {}", first.call_id, seen.call_id));
        }
        if deed.request.is_some_and(|request| request != seen.request) {
            say(format!("request {:?} was answered with a call of request {}", deed.request, seen.request));
        }
        let said = by_version.entry(seen.version).or_insert(&seen.said);
        if **said != seen.said {
            say(format!("version {} was {said:?} and {:?}", seen.version, seen.said));
        }
        if seen.said.state == "final" {
            if let Some(last) = last.filter(|last| *last != *seen) {
                say(format!("the end was {last:?} and {seen:?}"));
            }
            last = Some(seen);
        }
    }
    if let Some(end) = last
        && let Some((version, _)) = by_version.last_key_value()
        && *version > end.version
    {
        say(format!("version {version} was seen, and version {} was the end", end.version));
    }
    // Whoever asks after an answer was given sees that version or a later one, and no absent call.
    let mut seen_by = answered.iter().peekable();
    let (mut newest, mut taken) = (0, false);
    let mut asked = answered.clone();
    asked.sort_by_key(|(_, deed, _)| deed.invoked);
    for (_, deed, told) in asked {
        while let Some((_, _, before)) = seen_by.next_if(|(at, ..)| *at < deed.invoked) {
            match before {
                Told::Call(seen) => (newest, taken) = (newest.max(seen.version), true),
                Told::Conflict => taken = true,
                Told::Absent => {}
            }
        }
        match told {
            Told::Call(seen) if seen.version < newest => {
                say(format!("version {newest} was answered before client {} asked: {deed:?}", deed.client));
            }
            Told::Absent if taken => say(format!("the key was taken before {deed:?} was asked")),
            Told::Conflict if deed.request == Some(first.request) => {
                say(format!("a conflict with itself: {deed:?}"));
            }
            Told::Call(_) | Told::Absent | Told::Conflict => {}
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deed(invoked: u64, answered: u64, request: Option<usize>, told: Told) -> Deed {
        Deed { client: 0, key: 1, request, invoked, answered: Some((answered, told)) }
    }

    fn seen(call_id: &str, version: u64, state: &'static str, answer: &str) -> Told {
        let said = Said { state, attempt: 1, answer: answer.into() };
        Told::Call(Seen { call_id: call_id.into(), request: 0, version, said })
    }

    #[test]
    fn what_can_be_true_is_no_fault() {
        let deeds = [
            deed(0, 3, Some(0), seen("a", 1, "pending", "")),
            // Under way at the same time: either order is possible.
            deed(1, 2, None, seen("a", 3, "final", "done")),
            deed(4, 5, Some(1), Told::Conflict),
            deed(6, 7, Some(0), seen("a", 3, "final", "done")),
        ];
        assert_eq!(faults(&deeds), Vec::<String>::new());
    }

    #[test]
    fn what_cannot_be_true_is_found() {
        let pending = || deed(0, 1, Some(0), seen("a", 3, "final", "done"));
        for (wrong, told, request) in [
            ("two calls", seen("b", 3, "final", "done"), Some(0)),
            ("an older version", seen("a", 2, "running", ""), Some(0)),
            ("another end", seen("a", 3, "final", "other"), Some(0)),
            ("more after the end", seen("a", 4, "running", ""), Some(0)),
            ("a conflict with itself", Told::Conflict, Some(0)),
            ("another request's call", seen("a", 3, "final", "done"), Some(1)),
            ("forgotten", Told::Absent, None),
        ] {
            assert_ne!(faults(&[pending(), deed(2, 3, request, told)]), Vec::<String>::new(), "{wrong}");
        }
    }
}
