//! Requests none of which is a valid call, by kind. Each is drawn from a seed, so that one that does harm can be sent again.
//!
//! Keys begin with `bad-`, or with `smuggled-` where a whole request hides in the body of another: none of them may ever be
//! taken. Smuggling works where two readers differ about where a request ends, so each such kind is one in which they could.

use crate::testing::random_calls::Chance;

/// A way in which a request is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `Content-Length` and `Transfer-Encoding`, and a second request behind the end that one of them names.
    BothLengths,
    /// Two lengths that differ.
    TwoLengths,
    /// A length that is no number.
    BadLength,
    /// Chunks that are framed as they must not be.
    BadChunks,
    /// A transfer coding other than `chunked`.
    BadCoding,
    /// A request that is refused, or has no use for a body, with a whole call as its body.
    CallAsBody,
    /// A first line that is none.
    BadFirstLine,
    /// A version of HTTP that is not spoken here.
    BadVersion,
    /// NUL, or another control character, in the head.
    Control,
    /// A header that goes on in the next line.
    Folded,
    /// A name of a header that is none.
    BadName,
    /// Lines that end as they must not.
    BadLineEnd,
    /// A head that is too long.
    HugeHead,
    /// A body that is too long, or says so.
    HugeBody,
    /// A valid call that is cut short.
    Cut,
    /// No key, two keys, or one that is none.
    BadKey,
    /// No host, or two.
    BadHost,
    /// A body that is not JSON, or not a call.
    BadBody,
    /// A body of another type.
    BadType,
    /// Another protocol, or noise.
    Noise,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::BothLengths,
        Self::TwoLengths,
        Self::BadLength,
        Self::BadChunks,
        Self::BadCoding,
        Self::CallAsBody,
        Self::BadFirstLine,
        Self::BadVersion,
        Self::Control,
        Self::Folded,
        Self::BadName,
        Self::BadLineEnd,
        Self::HugeHead,
        Self::HugeBody,
        Self::Cut,
        Self::BadKey,
        Self::BadHost,
        Self::BadBody,
        Self::BadType,
        Self::Noise,
    ];

    /// Whether it may be answered with 200: a look that has a body is a look.
    pub fn may_succeed(self) -> bool {
        self == Self::CallAsBody
    }
}

const CALL: &str = r#"{"tool":"charge","args":{"amount":100}}"#;

/// The head of a valid call, up to the headers that frame its body.
fn head(key: &str) -> String {
    format!(
        "POST /v1/tool-calls HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: {key}\r\nContent-Type: application/json\r\n"
    )
}

/// A valid call.
fn call(key: &str) -> String {
    framed(key, CALL)
}

fn framed(key: &str, body: &str) -> String {
    format!("{}Content-Length: {}\r\n\r\n{body}", head(key), body.len())
}

/// The request of this kind that `number` leads to.
pub fn request(kind: Kind, number: u64) -> Vec<u8> {
    let mut chance = Chance::new(number);
    let key = format!("bad-{number}");
    let hidden = call(&format!("smuggled-{number}"));
    let text = match kind {
        Kind::BothLengths => return both_lengths(&mut chance, &key, &hidden),
        Kind::TwoLengths => two_lengths(&mut chance, &key, &hidden),
        Kind::BadLength => {
            let length = chance.pick(&[
                "-1",
                "+39",
                "39x",
                "0x27",
                "39,39",
                "39, 40",
                "3 9",
                "",
                " ",
                "39;",
                "\"39\"",
                "3e1",
                "18446744073709551616",
                "99999999999999999999999",
                "39.0",
                "Infinity",
            ]);
            format!("{}Content-Length: {length}\r\n\r\n{CALL}", head(&key))
        }
        Kind::BadChunks => bad_chunks(&mut chance, &key, &hidden),
        Kind::BadCoding => {
            let coding = chance.pick(&[
                "gzip",
                "identity",
                "chunked, identity",
                "xchunked",
                "chunked;q=1",
                "\"chunked\"",
                "chunked chunked",
                "identity, chunked",
                "gzip, chunked",
                "chunked, chunked",
                "chunked\r\nTransfer-Encoding: chunked",
                "chunked\r\nTransfer-Encoding: identity",
                "identity\r\nTransfer-Encoding: chunked",
                "x",
                "",
            ]);
            format!("{}Transfer-Encoding: {coding}\r\n\r\n{}{hidden}", head(&key), chunked(CALL))
        }
        Kind::CallAsBody => call_as_body(&mut chance, &hidden),
        Kind::BadFirstLine => {
            let line = chance.pick(&[
                "POST",
                "POST /v1/tool-calls",
                "POST  /v1/tool-calls HTTP/1.1",
                " POST /v1/tool-calls HTTP/1.1",
                "/v1/tool-calls HTTP/1.1",
                "POST /v1/tool calls HTTP/1.1",
                "POST\t/v1/tool-calls\tHTTP/1.1",
                "PO ST /v1/tool-calls HTTP/1.1",
                "POST v1/tool-calls HTTP/1.1",
                "POST /v1/tool-calls HTTP/1.1 x",
                "POST /v1/tool-calls http/1.1",
                "POST /v1/../v1/tool-calls HTTP/1.1",
                "POST //v1/tool-calls HTTP/1.1",
                "POST /v1/tool-calls/ HTTP/1.1",
                "POST * HTTP/1.1",
                "post /v1/tool-calls HTTP/1.1",
                "POST /v1/tool-calls\0 HTTP/1.1",
                "POST /v1/tool%2Dcall HTTP/1.1",
                "CONNECT /v1/tool-calls HTTP/1.1",
                "TRACE /v1/tool-calls HTTP/1.1",
                "P{ST /v1/tool-calls HTTP/1.1",
                "POST /v1/\u{e9} HTTP/1.1",
                "",
            ]);
            call(&key).replacen("POST /v1/tool-calls HTTP/1.1", line, 1)
        }
        Kind::BadVersion => {
            let version = chance.pick(&[
                "HTTP/0.9",
                "HTTP/1.2",
                "HTTP/2",
                "HTTP/2.0",
                "HTTP/3",
                "HTTP/9.9",
                "HTTP/1",
                "HTTP/1.10",
                "HTTP/11",
                "HTTPS/1.1",
                "HTTP/-1.1",
                "HTTP 1.1",
                "HTTP/1,1",
                "ICY/1.1",
                "HTTP/",
            ]);
            call(&key).replacen("HTTP/1.1", version, 1)
        }
        Kind::Control => control(&mut chance, &key),
        Kind::Folded => {
            let fold = chance.pick(&["\r\n ", "\r\n\t", "\r\n  \t"]);
            let folded = chance.pick(&[
                "Idempotency-Key:{}bad",
                "X: a{}b",
                "Content-Type: application/json{};charset=utf-8",
            ]);
            let line = folded.replace("{}", fold);
            format!(
                "POST /v1/tool-calls HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: {key}\r\n{line}\r\nContent-Type: \
                     application/json\r\nContent-Length: {}\r\n\r\n{CALL}",
                CALL.len()
            )
        }
        Kind::BadName => {
            let line = chance.pick(&[
                "Content-Length : 39",
                "Transfer-Encoding : chunked",
                " Leading: x",
                ": empty",
                "no colon",
                "na me: x",
                "n@me: x",
                "\u{e9}: x",
                "na\0me: x",
                "(x): y",
                "x\u{7f}: y",
                "[]: x",
            ]);
            call(&key).replacen("\r\n", &format!("\r\n{line}\r\n"), 1)
        }
        Kind::BadLineEnd => bad_line_end(&mut chance, &key),
        Kind::HugeHead => huge_head(&mut chance, &key),
        Kind::HugeBody => {
            let length = 1_048_577 + chance.below(1 << 40);
            let sent = hidden.repeat(1 + usize::try_from(chance.below(40)).unwrap_or(0));
            match chance.below(3) {
                0 => format!("{}Content-Length: {length}\r\n\r\n{sent}", head(&key)),
                1 => format!("{}Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n{sent}", head(&key)),
                _ => {
                    let body = format!("{CALL}{}", " ".repeat(1_100_000));
                    format!("{}Transfer-Encoding: chunked\r\n\r\n{}", head(&key), chunked(&body))
                }
            }
        }
        Kind::Cut => {
            let whole = match chance.below(2) {
                0 => call(&key),
                _ => format!("{}Transfer-Encoding: chunked\r\n\r\n{}", head(&key), chunked(CALL)),
            };
            // Of a chunked body all but the last line end would do: a reader that is content before it is not wrong.
            let most = whole.len() as u64 - 4;
            whole[..usize::try_from(chance.below(most)).unwrap_or(0)].to_owned()
        }
        Kind::BadKey => {
            let lines = chance.pick(&[
                "",
                "Idempotency-Key:\r\n",
                "Idempotency-Key:   \r\n",
                "Idempotency-Key: \"\"\r\n",
                "Idempotency-Key: a\r\nIdempotency-Key: a\r\n",
                "Idempotency-Key: two words\r\n",
                "Idempotency-Key: a,b\r\n",
                "Idempotency-Key: a;b=c\r\n",
                "Idempotency-Key: \"a\";b\r\n",
                "Idempotency-Key: \"a\r\n",
                "Idempotency-Key: a\"\r\n",
                "Idempotency-Key: \"a\\n\"\r\n",
                "Idempotency-Key: \u{e9}\r\n",
                "Idempotency-Key: ?1\r\nIdempotency-Key: b\r\n",
            ]);
            let long = format!(
                "Idempotency-Key: {}\r\n",
                "k".repeat(256 + usize::try_from(chance.below(4000)).unwrap_or(0))
            );
            let lines = if chance.below(8) == 0 { &long } else { lines };
            call(&key).replacen(&format!("Idempotency-Key: {key}\r\n"), lines, 1)
        }
        Kind::BadHost => {
            let lines = chance.pick(&[
                "",
                "Host: a\r\nHost: b\r\n",
                "Host: a b\r\n",
                "Host: a@b\r\n",
                "Host: a/b\r\n",
            ]);
            call(&key).replacen("Host: localhost\r\n", lines, 1)
        }
        Kind::BadBody => bad_body(&mut chance, &key),
        Kind::BadType => {
            let line = chance.pick(&[
                "",
                "Content-Type: text/plain\r\n",
                "Content-Type: application/xml\r\n",
                "Content-Type:\r\n",
                "Content-Type: application/json\r\nContent-Type: application/json\r\n",
                "Content-Type: application/json; charset=utf-16\r\n",
                "Content-Type: json\r\n",
                "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
                "Content-Type: multipart/form-data; boundary=x\r\n",
            ]);
            call(&key).replacen("Content-Type: application/json\r\n", line, 1)
        }
        Kind::Noise => return noise(&mut chance),
    };
    text.into_bytes()
}

/// A body in one chunk.
fn chunked(body: &str) -> String {
    format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

fn both_lengths(chance: &mut Chance, key: &str, hidden: &str) -> Vec<u8> {
    let chunked_end = "0\r\n\r\n";
    let (body, length) = match chance.below(3) {
        // For whoever believes the chunks the body is empty and the hidden request is the next one.
        0 => (format!("{chunked_end}{hidden}"), chunked_end.len() + hidden.len()),
        // For whoever believes the length, the hidden request is the next one; in chunks it is a broken body.
        1 => (format!("{}{hidden}", chunked("[]")), chunked("[]").len()),
        _ => (format!("4\r\nnull\r\n{chunked_end}{hidden}"), 4),
    };
    let mut lines = [format!("Content-Length: {length}\r\n"), "Transfer-Encoding: chunked\r\n".to_owned()];
    if chance.below(2) == 0 {
        lines.reverse();
    }
    format!("{}{}{}\r\n{body}", head(key), lines[0], lines[1]).into_bytes()
}

fn two_lengths(chance: &mut Chance, key: &str, hidden: &str) -> String {
    let (first, second) = match chance.below(3) {
        0 => (CALL.len(), CALL.len() + hidden.len()),
        1 => (CALL.len() + hidden.len(), CALL.len()),
        _ => (0, CALL.len()),
    };
    let name = chance.pick(&["Content-Length", "content-length", "CONTENT-LENGTH"]);
    format!("{}Content-Length: {first}\r\n{name}: {second}\r\n\r\n{CALL}{hidden}", head(key))
}

fn bad_chunks(chance: &mut Chance, key: &str, hidden: &str) -> String {
    let size = CALL.len();
    let body = match chance.below(12) {
        0 => format!("{:x}\r\n{CALL}\r\n0\r\n\r\n", size - 1),
        1 => format!("{:x}\r\n{CALL}\r\n0\r\n\r\n", size + 9),
        2 => format!("-{size:x}\r\n{CALL}\r\n0\r\n\r\n"),
        3 => format!("+{size:x}\r\n{CALL}\r\n0\r\n\r\n"),
        4 => format!("0x{size:x}\r\n{CALL}\r\n0\r\n\r\n"),
        5 => format!("fffffffffffffffff\r\n{CALL}\r\n0\r\n\r\n"),
        6 => format!("{size:x}\n{CALL}\n0\n\n"),
        7 => format!("\r\n{CALL}\r\n0\r\n\r\n"),
        8 => format!("zz\r\n{CALL}\r\n0\r\n\r\n"),
        9 => format!("{size:x}\r\n{CALL}0\r\n\r\n"),
        10 => format!("{size:x};{}\r\n{CALL}\r\n0\r\n\r\n", "x".repeat(100_000)),
        _ => format!("{size:x}\r{CALL}\r0\r\r"),
    };
    format!("{}Transfer-Encoding: chunked\r\n\r\n{body}{hidden}", head(key))
}

fn call_as_body(chance: &mut Chance, hidden: &str) -> String {
    let length = hidden.len();
    let body = format!("Content-Length: {length}\r\n\r\n{hidden}");
    match chance.below(7) {
        0 => format!("GET /stats HTTP/1.1\r\nHost: a\r\n{body}"),
        1 => format!("HEAD /livez HTTP/1.1\r\nHost: a\r\n{body}"),
        2 => format!("DELETE /v1/tool-calls HTTP/1.1\r\nHost: a\r\n{body}"),
        3 => format!("POST /nowhere HTTP/1.1\r\nHost: a\r\n{body}"),
        4 => format!("POST /v1/tool-calls HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{body}"),
        5 => format!("POST /v1/tool-calls HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n{body}"),
        _ => format!(
            "GET /v1/tool-calls HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{}",
            chunked(hidden)
        ),
    }
}

fn control(chance: &mut Chance, key: &str) -> String {
    let byte = chance.pick(&['\0', '\u{1}', '\u{8}', '\u{b}', '\u{c}', '\u{1b}', '\u{7f}']);
    let at = chance.pick(&[
        "POST",
        "/v1/tool-calls",
        "HTTP/1.1",
        "localhost",
        "Idempotency-Key",
        "bad-",
        "Content-Type",
        "39",
    ]);
    let text = call(key);
    let place = text.find(at).unwrap_or(0) + 1;
    format!("{}{byte}{}", &text[..place], &text[place..])
}

fn bad_line_end(chance: &mut Chance, key: &str) -> String {
    let text = call(key);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    match chance.below(4) {
        0 => text.replace("\r\n", "\r"),
        1 => format!("{}\r\r\n{body}", head.replace("\r\n", "\r\r\n")),
        2 => format!("{}\n\r\n\r{body}", head.replace("\r\n", "\n\r")),
        // A line that ends with LF alone is accepted (RFC 9112, 2.2): so this lacks a key.
        _ => format!("{}\n\n{body}", head.replace("\r\n", "\n").replace("Idempotency-Key", "X")),
    }
}

fn huge_head(chance: &mut Chance, key: &str) -> String {
    let long = "x".repeat(70_000 + usize::try_from(chance.below(200_000)).unwrap_or(0));
    match chance.below(5) {
        0 => call(key).replacen("/v1/tool-calls", &format!("/{long}"), 1),
        1 => call(key).replacen(key, &long, 1),
        2 => call(key).replacen("\r\n", &format!("\r\n{long}: y\r\n"), 1),
        3 => call(key).replacen("\r\n", &format!("\r\n{}", "X: y\r\n".repeat(200)), 1),
        _ => long,
    }
}

fn bad_body(chance: &mut Chance, key: &str) -> String {
    let body = chance.pick(&[
        "",
        "{",
        "null",
        "[]",
        "\"x\"",
        "{}",
        r#"{"tool":"charge"}"#,
        r#"{"args":{"amount":1}}"#,
        r#"{"tool":"charge","args":null}"#,
        r#"{"tool":"charge","args":[]}"#,
        r#"{"tool":"charge","args":"{}"}"#,
        r#"{"tool":"none","args":{}}"#,
        r#"{"tool":"charge","args":{"amount":0}}"#,
        r#"{"tool":"charge","args":{"amount":1.5}}"#,
        r#"{"tool":"charge","args":{"amount":1e400}}"#,
        r#"{"tool":"charge","args":{"amount":"1"}}"#,
        r#"{"tool":"charge","args":{"amount":1},"x":1}"#,
        r#"{"tool":"charge","tool":"charge","args":{"amount":1}}"#,
        r#"{"tool":"charge","args":{"amount":1,"amount":1}}"#,
        r#"{"tool":"charge","args":{"amount":1},"seq":-1}"#,
        r#"{"tool":"charge","args":{"amount":1},"client_id":7}"#,
        r#"{"tool":"charge","args":{"amount":1}}{}"#,
        r#"{"tool":"charge","args":{"amount":1},}"#,
        r#"{"tool":"charge","args":{"amount":1,"s":"\ud800"}}"#,
        "\u{feff}{\"tool\":\"charge\",\"args\":{\"amount\":1}}",
        "{'tool':'charge','args':{'amount':1}}",
    ]);
    match chance.below(6) {
        0 => framed(key, &"[".repeat(100_000)),
        1 => framed(key, &CALL[..usize::try_from(chance.below(CALL.len() as u64)).unwrap_or(0)]),
        _ => framed(key, body),
    }
}

fn noise(chance: &mut Chance) -> Vec<u8> {
    match chance.below(5) {
        // The first bytes of TLS.
        0 => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
            .iter()
            .copied()
            .chain((0..500).map(|n| n as u8))
            .collect(),
        1 => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec(),
        2 => b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec(),
        3 => b"*1\r\n$4\r\nPING\r\n\r\n\r\n".to_vec(),
        _ => (0..1 + chance.below(3000)).map(|_| chance.below(256) as u8).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_is_the_same_request_and_others_differ() {
        for kind in Kind::ALL {
            let all: Vec<_> = (0..200).map(|number| request(kind, number)).collect();
            assert_eq!(all[7], request(kind, 7), "{kind:?}");
            let mut distinct = all.clone();
            distinct.sort();
            distinct.dedup();
            assert!(distinct.len() > 3, "{kind:?}: only {} differ", distinct.len());
        }
    }
}
