//! Is exactly JSON read, and does each value have exactly one text?

mod canonical;
mod diff;
mod grammar;
mod number;
mod number_corpus;
mod properties;

use callonce::domain::json::{JsonError, parse};

/// The canonical form of a text that is valid JSON.
fn canonical(text: &str) -> String {
    let value = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
    value.canonical().as_str().to_owned()
}

/// Why a text is refused.
fn refused(text: impl AsRef<[u8]>) -> JsonError {
    let text = text.as_ref();
    match parse(text) {
        Err(error) => error,
        Ok(value) => panic!("{} was read as {value:?}", String::from_utf8_lossy(text)),
    }
}

/// `text` as the value of a member of the arguments in a request's body.
fn in_body(text: &[u8]) -> Vec<u8> {
    [br#"{"tool":"charge","args":{"v":"#, text, b"}}"].concat()
}
