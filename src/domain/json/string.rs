//! Reading strings: which characters may stand in one, and what each escape means.

use super::error::Fault;
use super::parse::{Outcome, Reader};

impl Reader<'_> {
    /// Reads the string whose opening quote stands here.
    pub(super) fn string(&mut self) -> Outcome<String> {
        let opened = self.at;
        let mut unescaped = String::new();
        self.at += 1;
        loop {
            let start = self.at;
            let plain = self.rest().iter().position(|&byte| matches!(byte, b'"' | b'\\' | ..b' '));
            let Some(plain) = plain else {
                let reason = format!("the text ends inside the string that begins at byte {opened}");
                return Err(Fault::new(reason, self.text.len()));
            };
            self.at += plain;
            let run = &self.text[start..self.at];
            match self.rest()[0] {
                b'"' => {
                    self.at += 1;
                    if unescaped.is_empty() {
                        return Ok(run.to_owned());
                    }
                    unescaped.push_str(run);
                    return Ok(unescaped);
                }
                b'\\' => {
                    unescaped.push_str(run);
                    let escaped = self.escape()?;
                    unescaped.push(escaped);
                }
                control => {
                    let reason = format!("the control character U+{control:04X} must be escaped in a string");
                    return Err(Fault::new(reason, self.at));
                }
            }
        }
    }

    /// Reads the escape whose backslash stands here; a surrogate pair is one escape.
    fn escape(&mut self) -> Outcome<char> {
        let start = self.at;
        self.at += 1;
        let escaped = match self.peek() {
            Some(b'u') => return self.unicode(start),
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.wrong(r#"one of `"`, `\`, `/`, b, f, n, r, t, u after a backslash"#)),
        };
        self.at += 1;
        Ok(escaped)
    }

    /// Reads the rest of a `\u` escape that began at `start`, from its `u`.
    fn unicode(&mut self, start: usize) -> Outcome<char> {
        self.at += 1;
        let first = self.four_hex_digits()?;
        let is_high = (0xd800..0xdc00).contains(&first);
        let second = if is_high && self.rest().starts_with(br"\u") {
            self.at += 2;
            Some(self.four_hex_digits()?)
        } else {
            None
        };
        let mut decoded = char::decode_utf16([first].into_iter().chain(second));
        decoded.next().and_then(Result::ok).ok_or_else(|| {
            let reason =
                format!(r"the surrogate \u{first:04x} has no partner, so it stands for no character");
            Fault::new(reason, start)
        })
    }

    fn four_hex_digits(&mut self) -> Outcome<u16> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return Err(self.wrong(r"four hexadecimal digits after \u"));
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(u16::try_from(unit).expect("four hexadecimal digits fit into 16 bits"))
    }
}
