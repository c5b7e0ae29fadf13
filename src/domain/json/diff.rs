//! Which members two values differ in: by path, so that a conflict can be explained without showing a value.

use std::cmp::Ordering;

use super::Value;
use super::canonical::{in_order, utf16_order};
use super::path::{push_item, push_member};

/// The paths of members and items that were added, removed or changed between `a` and `b`: at most `limit`,
/// in order of the canonical form (members by name, items by index).
///
/// A member that only one side has stands for all below it. Values of different kinds differ as a whole; when
/// `a` and `b` themselves do, the one path is `$`.
pub fn differing_paths(a: &Value, b: &Value, limit: usize) -> Vec<String> {
    let mut search = Search { path: String::new(), found: Vec::new(), limit };
    search.compare(a, b);
    search.found
}

struct Search {
    path: String,
    found: Vec<String>,
    limit: usize,
}

impl Search {
    fn compare(&mut self, a: &Value, b: &Value) {
        match (a, b) {
            (Value::Object(a), Value::Object(b)) => self.compare_members(a, b),
            (Value::Array(a), Value::Array(b)) => self.compare_items(a, b),
            (a, b) if a == b => {}
            _ => self.report(),
        }
    }

    /// Walks both sides by name at once, like the merge of two sorted lists.
    fn compare_members(&mut self, a: &[(String, Value)], b: &[(String, Value)]) {
        let (a, b) = (in_order(a), in_order(b));
        let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
        while self.found.len() < self.limit {
            let order = match (a.peek(), b.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((a, _)), Some((b, _))) => utf16_order(a, b),
            };
            let left = if order.is_le() { a.next() } else { None };
            let right = if order.is_ge() { b.next() } else { None };
            let Some((name, _)) = left.or(right) else { return };
            let values = (left.map(|(_, value)| value), right.map(|(_, value)| value));
            self.step(|path| push_member(path, name), values);
        }
    }

    fn compare_items(&mut self, a: &[Value], b: &[Value]) {
        for index in 0..a.len().max(b.len()) {
            if self.found.len() == self.limit {
                return;
            }
            self.step(|path| push_item(path, index), (a.get(index), b.get(index)));
        }
    }

    /// Compares what stands one step further down; one side may have nothing there.
    fn step(&mut self, push: impl FnOnce(&mut String), values: (Option<&Value>, Option<&Value>)) {
        let above = self.path.len();
        push(&mut self.path);
        match values {
            (Some(a), Some(b)) => self.compare(a, b),
            _ => self.report(),
        }
        self.path.truncate(above);
    }

    fn report(&mut self) {
        if self.found.len() < self.limit {
            self.found.push(if self.path.is_empty() { "$".to_owned() } else { self.path.clone() });
        }
    }
}
