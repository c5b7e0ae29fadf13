//! The strict reader: all of RFC 8259 and nothing else, and one meaning for each text it accepts.

use std::cmp::Ordering;

use super::canonical::utf16_order;
use super::error::{Fault, JsonError};
use super::path::{Step, quoted};
use super::{MAX_DEPTH, Number, Value};

pub(super) type Outcome<T> = Result<T, Box<Fault>>;

/// Reads one JSON value that fills `bytes`, white space around it aside.
///
/// # Errors
/// Refuses what RFC 8259 refuses, and also: a byte-order mark, invalid UTF-8, unpaired surrogates, a name
/// that appears twice in one object (however it is spelled), nesting deeper than [`MAX_DEPTH`], and numbers
/// beyond the range of a double, but for integer literals, which keep their digits.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    document(bytes).map_err(|fault| JsonError::locate(*fault, bytes))
}

fn document(bytes: &[u8]) -> Outcome<Value> {
    if bytes.starts_with("\u{feff}".as_bytes()) {
        return Err(Fault::new("the text begins with a byte-order mark, which JSON does not allow", 0));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Fault::new(format!("the text is not valid UTF-8: byte 0x{:02X} cannot stand here", bytes[at]), at)
    })?;
    let mut reader = Reader { text, at: 0 };
    reader.skip_space();
    let value = reader.value(0)?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.wrong("the end of the text")),
    }
}

/// A place in a text that is being read.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl Reader<'_> {
    /// Reads the value that begins here, inside `depth` lists and objects.
    fn value(&mut self, depth: usize) -> Outcome<Value> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'N' | b'I') => Err(Fault::new("NaN and Infinity are not JSON numbers", self.at)),
            _ => Err(self.wrong("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Outcome<Value> {
        let opened = self.at;
        self.open(depth)?;
        let mut members: Vec<(String, Value)> = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        let mut in_order = true;
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a member's name in double quotes"));
            }
            let name = self.string()?;
            self.skip_space();
            if !self.take(b':') {
                return Err(self.wrong("`:` after the member's name"));
            }
            self.skip_space();
            let value = self.value(depth + 1).map_err(|fault| fault.inside(Step::Member(name.clone())))?;
            if let Some((last, _)) = members.last() {
                in_order &= utf16_order(last, &name) == Ordering::Less;
            }
            members.push((name, value));
            if self.closes(b'}', "`,` or `}` after the member")? {
                break;
            }
        }
        if !in_order {
            members.sort_unstable_by(|(a, _), (b, _)| utf16_order(a, b));
            if let Some([(name, _), _]) = members.array_windows().find(|[(a, _), (b, _)]| a == b) {
                let reason =
                    format!("the object that begins here has the member {} more than once", quoted(name));
                return Err(Fault::new(reason, opened));
            }
        }
        Ok(Value::Object(members))
    }

    fn array(&mut self, depth: usize) -> Outcome<Value> {
        self.open(depth)?;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            let item = self.value(depth + 1).map_err(|fault| fault.inside(Step::Item(items.len())))?;
            items.push(item);
            if self.closes(b']', "`,` or `]` after the item")? {
                return Ok(Value::Array(items));
            }
        }
    }

    /// Steps over an opening bracket that stands inside `depth` others, and the space after it.
    fn open(&mut self, depth: usize) -> Outcome<()> {
        if depth == MAX_DEPTH {
            return Err(Fault::new(
                format!("lists and objects nest deeper than {MAX_DEPTH} levels"),
                self.at,
            ));
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    /// Steps over what follows a member or an item: true for the closing `bracket`, false for a comma.
    fn closes(&mut self, bracket: u8, expected: &str) -> Outcome<bool> {
        self.skip_space();
        if self.take(bracket) {
            return Ok(true);
        }
        if !self.take(b',') {
            return Err(self.wrong(expected));
        }
        self.skip_space();
        if self.peek() == Some(bracket) {
            return Err(Fault::new("a comma must not stand before a closing bracket", self.at));
        }
        Ok(false)
    }

    fn word(&mut self, word: &str, value: Value) -> Outcome<Value> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.wrong("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Outcome<Number> {
        let start = self.at;
        let negative = self.take(b'-');
        if negative && self.peek() == Some(b'I') {
            return Err(Fault::new("NaN and Infinity are not JSON numbers", start));
        }
        if self.take(b'0') {
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(Fault::new("a number must not begin with a superfluous 0", start));
            }
        } else {
            self.digits("a digit after the minus sign")?;
        }
        let mut integer = true;
        if self.take(b'.') {
            integer = false;
            self.digits("a digit after the decimal point")?;
        }
        if self.take(b'e') || self.take(b'E') {
            integer = false;
            let _signed = self.take(b'+') || self.take(b'-');
            self.digits("a digit in the exponent")?;
        }
        let literal = &self.text[start..self.at];
        if integer {
            return Ok(Number::from_integer_literal(literal));
        }
        Number::from_rounded_literal(literal).map_err(|reason| Fault::new(reason, start))
    }

    /// Steps over digits, at least one.
    fn digits(&mut self, expected: &str) -> Outcome<()> {
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return Err(self.wrong(expected));
        }
        self.at += digits;
        Ok(())
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Steps over `byte` if it stands here, and says whether it did.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// The fault of finding something else here than was `expected`.
    pub(super) fn wrong(&self, expected: &str) -> Box<Fault> {
        let reason = match self.text[self.at..].chars().next() {
            None => format!("expected {expected}, but the text ends"),
            Some(found) if found.is_ascii_graphic() || found.is_alphanumeric() => {
                format!("expected {expected}, found `{found}`")
            }
            Some(found) => format!("expected {expected}, found the character U+{:04X}", u32::from(found)),
        };
        Fault::new(reason, self.at)
    }
}
