//! Commands to copy and paste: what settles a call whose outcome is unknown, as one line for a POSIX shell.

use crate::http::client::{Intent, shown_address};

/// The longest argument that is printed: Linux takes 128 KiB, and quoting can need some of them.
const LONGEST_ARGUMENT_BYTES: usize = 64 * 1024;

/// How a call can be asked for again.
pub(super) struct Again<'a> {
    /// The call.
    pub(super) intent: &'a Intent,
    /// Its arguments as they were typed, where that can be typed again: `@FILE`.
    pub(super) typed_args: Option<&'a str>,
    /// The server, unless it is the usual one.
    pub(super) base: Option<&'a str>,
}

impl Again<'_> {
    /// The same call with the same key.
    pub(super) fn call(&self) -> String {
        let intent = self.intent;
        let mut words = vec!["callonce call".to_string()];
        words.push(option("args", &self.args()));
        words.push(option("key", intent.key.as_str()));
        words.extend(intent.client_id.as_ref().map(|client| option("client-id", client.as_str())));
        words.extend(intent.seq.map(|seq| format!("--seq={seq}")));
        words.extend(self.base());
        // Last, because a name may begin with a dash.
        words.push(format!("-- {}", word(intent.tool.as_str())));
        words.join(" ")
    }

    /// A look at it.
    pub(super) fn look(&self) -> String {
        let base = self.base().map(|base| format!(" {base}")).unwrap_or_default();
        format!("callonce get {}{base}", option("key", self.intent.key.as_str()))
    }

    fn args(&self) -> String {
        match self.typed_args {
            Some(typed) => typed.to_owned(),
            None => {
                let args = escaped(self.intent.args.canonical().as_str());
                // Too long to be printed: they have to come from where they came from.
                if args.len() > LONGEST_ARGUMENT_BYTES { "-".into() } else { args }
            }
        }
    }

    fn base(&self) -> Option<String> {
        self.base.map(|base| option("base", &shown_address(base)))
    }
}

/// In one word, so that a value which begins with a dash is not taken for another option.
fn option(name: &str, value: &str) -> String {
    format!("--{name}={}", word(value))
}

/// Text as one word of a POSIX shell; plain where a shell reads it as it is.
fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:@".contains(&byte);
    match !text.is_empty() && text.bytes().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// JSON text without control characters, which a terminal would obey; they can only be inside strings.
fn escaped(json: &str) -> String {
    let shown = |c: char| match c.is_control() {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    };
    json.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::IdemKey;
    use crate::domain::id::{ClientId, ToolName};
    use crate::domain::json;

    fn intent(key: &str, tool: &str, args: &str) -> Intent {
        Intent {
            key: IdemKey::parse(key).expect("a key"),
            tool: ToolName::parse(tool).expect("a tool"),
            args: json::parse(args.as_bytes()).expect("JSON"),
            client_id: None,
            seq: None,
        }
    }

    #[test]
    fn the_command_is_the_same_call() {
        let plain = intent("K", "charge", r#"{"note":"it's","amount":1}"#);
        let again = Again { intent: &plain, typed_args: None, base: None };
        assert_eq!(again.call(), r#"callonce call --args='{"amount":1,"note":"it'\''s"}' --key=K -- charge"#);
        let client_id = ClientId::parse("a b").ok();
        let odd = Intent { client_id, seq: Some(7), ..intent("it's", "-x", "{\"a\":\"\u{9b}\"}") };
        let again = Again { intent: &odd, typed_args: None, base: Some("http://me:secret@h") };
        assert_eq!(
            again.call(),
            "callonce call --args='{\"a\":\"\\u009b\"}' --key='it'\\''s' --client-id='a b' --seq=7 \
             --base='http://me:***@h/' -- -x"
        );
        assert_eq!(again.look(), "callonce get --key='it'\\''s' --base='http://me:***@h/'");
        let again = Again { typed_args: Some("@my file"), base: Some("http://h:1/a"), ..again };
        assert!(again.call().contains("--args='@my file'") && again.call().contains("--base=http://h:1/a "));
    }

    #[test]
    fn arguments_that_no_command_line_takes_come_from_stdin() {
        let args = format!(r#"{{"a":"{}"}}"#, "x".repeat(LONGEST_ARGUMENT_BYTES));
        let long = intent("-x", "charge", &args);
        let again = Again { intent: &long, typed_args: None, base: None };
        assert_eq!(again.call(), "callonce call --args=- --key=-x -- charge");
    }

    #[test]
    fn a_word_is_one_word_to_a_shell() {
        for plain in ["a", "-x", "http://127.0.0.1:8081/a", "@file"] {
            assert_eq!(word(plain), plain);
        }
        for odd in ["", "a b", "$HOME", "a;b", "~", "*", "http://x/?a&b", "`a`", "\"", "\\"] {
            assert_eq!(word(odd), format!("'{odd}'"));
        }
    }
}
