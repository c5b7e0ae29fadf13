//! Is exactly RFC 8259 accepted, less what has two meanings, and does a refusal say what and where?

use callonce::domain::json::{MAX_DEPTH, Value, parse};
use callonce::testing::json_texts::{ACCEPTED, REFUSED};

use super::{canonical, in_body, refused};

/// The stack a server's worker thread has; the deepest texts must be handled within it.
const STACK: usize = 2 << 20;

fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test).expect("a thread can start");
    thread.join().expect("the test holds on a small stack");
}

#[test]
fn valid_texts_are_read_alone_and_inside_a_body() {
    for (text, expected) in ACCEPTED {
        assert_eq!(canonical(text), *expected, "{text}");
        let body = parse(&in_body(text.as_bytes())).unwrap_or_else(|error| panic!("{text}: {error}"));
        let inside = body.get("args").and_then(|args| args.get("v")).map(Value::canonical);
        assert_eq!(inside.as_ref().map(|inside| inside.as_str()), Some(*expected), "{text}");
    }
}

#[test]
fn anything_else_is_refused_alone_and_inside_a_body() {
    for text in REFUSED {
        let error = refused(text);
        assert!(error.offset() <= text.len(), "{error}");
        refused(in_body(text));
    }
}

#[test]
fn a_byte_order_mark_is_refused_though_it_may_stand_inside_a_string() {
    let error = refused("\u{feff}{}");
    assert_eq!(error.offset(), 0);
    assert!(error.to_string().contains("byte-order mark"), "{error}");
    assert_eq!(canonical("\"\u{feff}\""), "\"\u{feff}\"");
}

#[test]
fn every_control_character_must_be_escaped_and_nothing_else() {
    for code in 0..=0x9f_u32 {
        let character = char::from_u32(code).expect("not a surrogate");
        let raw = format!("\"{character}\"");
        let escaped = canonical(&format!("\"\\u{code:04x}\""));
        if code < 0x20 {
            assert_eq!(refused(&raw).offset(), 1, "{raw:?}");
        } else if character != '"' && character != '\\' {
            assert_eq!(canonical(&raw), escaped, "{raw:?}");
        }
    }
}

#[test]
fn a_name_may_stand_only_once_in_an_object() {
    let repeated = [
        (r#"{"amount":1,"amount":100}"#, 0),
        (r#"{"amount":1,"amount":1}"#, 0),
        (r#"{"a":1,"\u0061":2}"#, 0),
        (r#"{"\ud83d\ude00":1,"x":2,"😀":3}"#, 0),
        (r#"{"/":1,"\/":2}"#, 0),
        (r#"{"":1,"":2}"#, 0),
        (r#"{"c":1,"b":2,"a":3,"b":4}"#, 0),
        (r#"{"tool":"charge","args":{},"tool":"sleep"}"#, 0),
        (r#"{"tool":"charge","args":{},"args":{"amount":1}}"#, 0),
        (r#"{"v":[0,{"w":{"x":{"y":{"z":1,"z":1}}}}]}"#, 23),
    ];
    for (text, object) in repeated {
        let error = refused(text);
        assert_eq!(error.offset(), object, "{text}: {error}");
        assert!(error.to_string().contains("more than once"), "{text}: {error}");
    }
    let composed_and_decomposed = "{\"caf\u{e9}\":1,\"cafe\u{301}\":2}";
    assert!(parse(composed_and_decomposed.as_bytes()).is_ok());
    assert_eq!(canonical(r#"{"A":1,"a":{"A":1,"a":1}}"#), r#"{"A":1,"a":{"A":1,"a":1}}"#);
}

/// `depth` lists, or objects, one inside the other.
fn nested(depth: usize, open: &str, innermost: &str, close: &str) -> String {
    format!("{}{innermost}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn nesting_is_read_up_to_the_limit_and_refused_beyond_it() {
    on_a_small_stack(|| {
        for depth in [1, 63, 64, 65, 126, 127, 128, 500, 100_000] {
            for text in [
                nested(depth, "[", "", "]"),
                nested(depth, r#"{"a":"#, "0", "}"),
                nested(depth / 2, r#"[{"a":"#, if depth % 2 == 0 { "0" } else { "[]" }, "}]"),
            ] {
                if depth <= MAX_DEPTH {
                    let value = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{depth}: {error}"));
                    assert_eq!(value.canonical().as_str(), text);
                    assert_eq!(value.canonical().to_value(), value.clone());
                } else {
                    assert!(refused(&text).to_string().contains("deeper than 64"));
                }
            }
            for unclosed in ["[".repeat(depth), r#"{"a":"#.repeat(depth), r#"[{"":"#.repeat(depth)] {
                refused(unclosed);
            }
        }
    });
}

#[test]
fn only_the_depth_is_limited_and_not_the_breadth() {
    let siblings = format!("[{}]", vec![nested(MAX_DEPTH - 1, "[", "", "]"); 1000].join(","));
    assert_eq!(canonical(&siblings), siblings);
}

#[test]
fn a_refusal_says_what_is_wrong_and_where() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "at line 1, column 1 (byte 0): expected a value, but the text ends"),
        (
            b"{\"amount\":42",
            "at line 1, column 13 (byte 12): expected `,` or `}` after the member, but the text ends",
        ),
        (
            b"{\"amount\":100}{\"amount\":100}",
            "at line 1, column 15 (byte 14): expected the end of the text, found `{`",
        ),
        (
            b"{\"args\":{\n  \"items\":[1,\n  {\"sku\":'x'}]}}",
            "at line 3, column 10 (byte 33), in `args.items[1].sku`: expected a value, found `'`",
        ),
        (
            b"{\"a.b\":[007]}",
            "at line 1, column 9 (byte 8), in `[\"a.b\"][0]`: a number must not begin with a superfluous 0",
        ),
        (
            b"{\"args\":{\"b\":1,\"a\":2,\"a\":3}}",
            "at line 1, column 9 (byte 8), in `args`: the object that begins here has the member \"a\" more than once",
        ),
        (
            b"{\"v\":1e400}",
            "at line 1, column 6 (byte 5), in `v`: the number is too large: a double ends near 1.8e308",
        ),
        (
            b"[\"\\ud800\"]",
            "at line 1, column 3 (byte 2), in `[0]`: the surrogate \\ud800 has no partner, so it stands for no character",
        ),
        (
            b"\"\xc3\xa9\xc3\xa9\n\"",
            "at line 1, column 4 (byte 5): the control character U+000A must be escaped in a string",
        ),
        (
            b"\"\xc3\xa9\xff\"",
            "at line 1, column 3 (byte 3): the text is not valid UTF-8: byte 0xFF cannot stand here",
        ),
        (b"[1,\n]", "at line 2, column 1 (byte 4): a comma must not stand before a closing bracket"),
        (b"\"abc", "at line 1, column 5 (byte 4): the text ends inside the string that begins at byte 0"),
        (b"[\x00]", "at line 1, column 2 (byte 1), in `[0]`: expected a value, found the character U+0000"),
        (b"[NaN]", "at line 1, column 2 (byte 1), in `[0]`: NaN and Infinity are not JSON numbers"),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(text).to_string(), *expected);
    }
}

#[test]
fn a_refusal_stays_short_however_long_the_names_are() {
    let name = "é".repeat(100_000);
    for text in [format!(r#"{{"{name}":[{{"{name}":}}]}}"#), format!(r#"{{"{name}":1,"{name}":2}}"#)] {
        let error = refused(text).to_string();
        assert!(error.len() < 600, "{} bytes", error.len());
        assert!(error.contains("…"), "{error}");
    }
}

#[test]
fn members_are_found_by_name_and_kinds_have_names() {
    let value = parse(br#"{"z":null,"a":[1,true,"x"],"m":{"n":1}}"#).expect("valid");
    assert_eq!(value.get("z"), Some(&Value::Null));
    assert_eq!(value.get("b"), None);
    assert_eq!(value.get("a").and_then(|a| a.get("n")), None);
    assert_eq!(value.get("a").and_then(Value::as_array).map(<[Value]>::len), Some(3));
    assert_eq!(value.as_object().map(<[_]>::len), Some(3));
    let kinds = ["null", "true", "1", "\"x\"", "[]", "{}"]
        .map(|text| parse(text.as_bytes()).expect("valid").kind_name());
    assert_eq!(kinds, ["null", "a boolean", "a number", "a string", "a list", "an object"]);
    assert_eq!(parse(b"true").expect("valid").as_bool(), Some(true));
    assert_eq!(parse(b"\"x\"").expect("valid").as_str(), Some("x"));
    assert_eq!(parse(b"\"1\"").expect("valid").as_number(), None);
}
