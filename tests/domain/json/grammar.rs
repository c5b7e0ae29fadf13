//! Is exactly RFC 8259 accepted, less what has two meanings, and does a refusal say what and where?

use callonce::domain::json::{MAX_DEPTH, Value, parse};

use super::{canonical, in_body, refused};

/// The stack a server's worker thread has; the deepest texts must be handled within it.
const STACK: usize = 2 << 20;

fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test).expect("a thread can start");
    thread.join().expect("the test holds on a small stack");
}

const ACCEPTED: &[(&str, &str)] = &[
    // Lists and objects.
    ("[]", "[]"),
    ("[[]   ]", "[[]]"),
    (r#"[""]"#, r#"[""]"#),
    ("[null, 1, \"1\", {}]", r#"[null,1,"1",{}]"#),
    ("[1\n]", "[1]"),
    (" [1]", "[1]"),
    ("[1,null,null,null,2]", "[1,null,null,null,2]"),
    ("[2] ", "[2]"),
    ("{}", "{}"),
    (r#"{"":0}"#, r#"{"":0}"#),
    (r#"{"asd":"sdf", "dfg":"fgh"}"#, r#"{"asd":"sdf","dfg":"fgh"}"#),
    (r#"{"foo\u0000bar": 42}"#, r#"{"foo\u0000bar":42}"#),
    (r#"{ "min": -1.0e+28, "max": 1.0e+28 }"#, r#"{"max":1e+28,"min":-1e+28}"#),
    (r#"{"x":[{"id": "xxxxxxxx"}], "id": "xxxxxxxx"}"#, r#"{"id":"xxxxxxxx","x":[{"id":"xxxxxxxx"}]}"#),
    ("{\r\n\t\"a\" :\t[ ]\n}", r#"{"a":[]}"#),
    // A value alone.
    ("null", "null"),
    ("true", "true"),
    (" false\n", "false"),
    ("42", "42"),
    ("-0.1", "-0.1"),
    (r#""asd""#, r#""asd""#),
    (r#""""#, r#""""#),
    (" \"x\"\r\n\t ", r#""x""#),
    // Strings.
    (r#"["\u0060\u012a\u12AB"]"#, "[\"`\u{12a}\u{12ab}\"]"),
    (r#"["\uD801\udc37"]"#, "[\"\u{10437}\"]"),
    (r#"["\ud83d\ude39\ud83d\udc8d"]"#, "[\"\u{1f639}\u{1f48d}\"]"),
    (r#"["\"\\\/\b\f\n\r\t"]"#, r#"["\"\\/\b\f\n\r\t"]"#),
    (r#"["\\u0000"]"#, r#"["\\u0000"]"#),
    (r#"["\""]"#, r#"["\""]"#),
    ("[\"a/*b*/c/*d//e\"]", "[\"a/*b*/c/*d//e\"]"),
    (r#"["\\a"]"#, r#"["\\a"]"#),
    (r#"["\u0012"]"#, r#"["\u0012"]"#),
    (r#"["\uFFFF\uDBFF\uDFFF"]"#, "[\"\u{ffff}\u{10ffff}\"]"),
    ("[\"\u{ffff}\u{10ffff}\u{fdd0}\"]", "[\"\u{ffff}\u{10ffff}\u{fdd0}\"]"),
    (r#"["\u0000"]"#, r#"["\u0000"]"#),
    (r#"["\u002c\u0022\u005C"]"#, r#"[",\"\\"]"#),
    (r#"["new\u000Aline"]"#, r#"["new\nline"]"#),
    ("[\"\u{2028}\u{2029}\u{feff}\u{7f}\u{a0}\"]", "[\"\u{2028}\u{2029}\u{feff}\u{7f}\u{a0}\"]"),
    (r#"["\u200B\u2064\uFDD0\uFEFF"]"#, "[\"\u{200b}\u{2064}\u{fdd0}\u{feff}\"]"),
    // Numbers.
    ("[123e65]", "[1.23e+67]"),
    ("[0e+1, 0E1, 0e0, -0, -0.0, 0.0]", "[0,0,0,0,0,0]"),
    ("[ 4]", "[4]"),
    ("[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]", "[-1e-78]"),
    ("[20e1, -123, -1, 1E22, 1E-2, 1E+2, 123e45]", "[200,-123,-1,1e+22,0.01,100,1.23e+47]"),
    ("[123.456e78, 1e-2, 1e+2, 123, 123.456789]", "[1.23456e+80,0.01,100,123,123.456789]"),
    // Where implementations differ: underflow is zero, integer literals keep their digits.
    ("[123.456e-789, 123e-10000000, -1e-400, 5e-324, 2e-324]", "[0,0,0,5e-324,0]"),
    ("[-123123123123123123123123123123]", "[-123123123123123123123123123123]"),
    ("[100000000000000000000]", "[100000000000000000000]"),
    (
        "[-237462374673276894279832749832423479823246327846]",
        "[-237462374673276894279832749832423479823246327846]",
    ),
];

#[test]
fn valid_texts_are_read_alone_and_inside_a_body() {
    for (text, expected) in ACCEPTED {
        assert_eq!(canonical(text), *expected, "{text}");
        let body = parse(&in_body(text.as_bytes())).unwrap_or_else(|error| panic!("{text}: {error}"));
        let inside = body.get("args").and_then(|args| args.get("v")).map(Value::canonical);
        assert_eq!(inside.as_ref().map(|inside| inside.as_str()), Some(*expected), "{text}");
    }
}

const REFUSED: &[&[u8]] = &[
    // Lists.
    b"[1 true]", b"[a\xe5]", b"[\"\": 1]", b"[\"\"],", b"[,1]", b"[1,,2]", b"[\"x\",,]", b"[\"x\"]]", b"[\"\",]", b"[\"x\"",
    b"[x", b"[3[4]]", b"[\xff]", b"[1:2]", b"[,]", b"[-]", b"[   , \"\"]", b"[\"a\",\n4\n,1,", b"[1,]", b"[1,,]",
    b"[\"\x0ba\"\\f]", b"[*]", b"[\"\"", b"[1,", b"[1,\n1\n,1", b"[{}", b"[1}", b"[", b"]", b"[[]", b"[][]", b"1]",
    // Objects.
    b"[\"x\", truth]", b"{[: \"x\"}", b"{\"x\", null}", b"{\"x\"::\"b\"}", "{\u{1f1e8}\u{1f1ed}}".as_bytes(),
    b"{\"a\":\"a\" 123}", b"{key: 'value'}", b"{\"\xb9\":\"0\",}", b"{\"a\" b}", b"{:\"b\"}", b"{\"a\" \"b\"}", b"{\"a\":",
    b"{\"a\"", b"{1:1}", b"{9999E9999:1}", b"{null:null,null:null}", b"{\"id\":0,,,,,}", b"{'a':0}", b"{\"id\":0,}",
    b"{\"a\":\"b\"}/**/", b"{\"a\":\"b\"}/**//", b"{\"a\":\"b\"}//", b"{\"a\":\"b\"}/", b"{\"a\":\"b\",,\"c\":\"d\"}",
    b"{a: \"b\"}", b"{\"a\":\"a", b"{ \"foo\" : \"bar\", \"a\" }", b"{\"a\":\"b\"}#", b"{", b"{]", b"{,", b"{}}", b"{\"a\":1",
    b"{\"a\": true} \"x\"", b"{\"\":", b"}", b"{\"a\":/*comment*/\"b\"}", b"{\"asd\":\"asd\"", b"{{", b"{{}:1}", b"{\"a\":1;}",
    // Words.
    b"nul", b"[fals]", b"[nul]", b"[tru]", b"[True]", b"TRUE", b"nulll", b"[undefined]", b"[truefalse]", b"[None]",
    // Numbers.
    b"[++1234]", b"[+1]", b"[+Inf]", b"[-01]", b"[-1.0.]", b"[-2.]", b"[-NaN]", b"[.-1]", b"[.2e-3]", b"[0.1.2]",
    b"[0.3e+]", b"[0.3e]", b"[0.e1]", b"[0E+]", b"[0E]", b"[0e]", b"[0e+]", b"[1.0e+]", b"[1.0e-]", b"[1.0e]", b"[1 000.0]",
    b"[1eE2]", b"[2.e+3]", b"[2.e-3]", b"[2.e3]", b"[9.e+]", b"[Inf]", b"[NaN]", b"[Infinity]", b"[-Infinity]", b"[1+2]",
    b"[0x1]", b"[0x42]", b"[0e+-1]", b"[-foo]", b"[- 1]", b"[-012]", b"[-.123]", b"[-1x]", b"[1ea]", b"[1e\xe5]", b"[1.]",
    b"[.123]", b"[1.2a-3]", b"[1.8011670033376514H-308]", b"[012]", b"[00]", b"[-]", b"-", b"[1_000]", b"[1,000.0.0]", b"[1f]",
    "[\u{ff11}]".as_bytes(), "[\u{661}]".as_bytes(), b"[1e1.5]", b"[1e 5]",
    // Numbers beyond a double.
    b"[0.4e00669999999999999999999999999999999999999999999999999999999999999999999999999999999999999969999999006]",
    b"[-1e+9999]", b"[1.5e+9999]", b"[-123123e100000]", b"[123123e100000]", b"[1e400]", b"[1.7976931348623159e308]",
    // Strings.
    br#"["\uD800\"]"#, br#"["\uD800\u"]"#, br#"["\uD800\u1"]"#, br#"["\uD800\u1x"]"#, "[\u{e9}]".as_bytes(), b"[\"\\\x00\"]",
    br#"["\\\"]"#, b"[\"\\\t\"]", "[\"\\\u{1f300}\"]".as_bytes(), br#"["\"]"#, br#"["\u00A"]"#, br#"["\uD834\uDd"]"#,
    br#"["\uD800\uD800\x"]"#, b"[\"\\u\xe5\"]", br#"["\a"]"#, br#"["\uqqqq"]"#, b"[\"\\\xe5\"]", b"[\\u0020\"asd\"]", b"[\\n]",
    b"\"", b"['single quote']", b"abc", b"[\"\\", b"[\"a\x00a\"]", b"[\"new\nline\"]", b"[\"\t\"]", b"[\"\x1f\"]",
    br#""\UA66D""#, br#""\x00""#, br#""\u+123""#, br#""\u 123""#, br#""\u-123""#, b"\"\"x", b"\"abc", b"'a'", b"\"\\u12\"", b"`a`",
    // Surrogates without a partner, inverted, or spelled as bytes.
    br#"["\uDADA"]"#, br#"["\uD888\u1234"]"#, br#"["\uD800\n"]"#, br#"["\uDd1ea"]"#, br#"["\uD800\uD800\n"]"#, br#"["\ud800"]"#,
    br#"["\ud800abc"]"#, br#"["\uDd1e\uD834"]"#, br#"["\uDFAA"]"#, b"[\"\xed\xa0\x80\"]", b"[\"\xed\xa0\xbd\xed\xb8\x80\"]",
    br#"["\ud83d \ude00"]"#, br#"["\udbff\ue000"]"#, br#"{"\ud800":1}"#,
    // Not UTF-8.
    b"[\"\xff\"]", b"[\"\xe9\"]", b"[\"\x81\"]", b"[\"\xf4\xbf\xbf\xbf\"]", b"[\"\xc0\xaf\"]", b"[\"\xc0\x80\"]",
    b"[\"\xfc\x83\xbf\xbf\xbf\xbf\"]", b"[\"\xfc\x80\x80\x80\x80\x80\"]", b"[\"\xe0\xff\"]", b"[\"\xe6\x97\xa5\xd1\x88\xfa\"]",
    b"\x00[\x00\"\x00\xe9\x00\"\x00]", b"[\x00\"\x00\xe9\x00\"\x00]\x00", b"\xff\xfe[\x00\"\x00\xe9\x00\"\x00]\x00",
    b"\xfe\xff\x00[\x00]", b"[\"\xc3", b"\xe5", b"[\"\xf0\x9f\x98\"]",
    // Space and structure.
    b"", b" ", b"<.>", b"[<null>]", b"\xe2\x81\xa0", b"[\xe2\x81\xa0]", b"*", b"{\"a\":\"b\"}#{}", b"[\\u000A\"\"]", b"[1\x0c]",
    b"[\x0c]", b"\x0b1", b"\xc2\xa01", b"123\x00", b"1 2", b"[1],", b"// c\n1", b"/* c */1", b"1,", b"\xef\xbb\xbf", b"[\xef\xbb\xbf]",
    "\u{2028}1".as_bytes(), b"@", b"{\"a\":1}{\"a\":1}", b"{\"amount\":42",
];

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
