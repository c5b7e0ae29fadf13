//! Are texts that other systems take for SQL, markup, formats or paths stored and shown as the texts they are?

use callonce::testing::app::App;
use serde_json::Value;

use super::{accepted, calls, found, settle, text};

/// Texts that mean something to a shell, a database, a browser, a template, a file system, or a careless comparison.
pub const TEXTS: &[&str] = &[
    "'",
    "\"",
    "`",
    "''",
    "\"\"",
    "--",
    "/*",
    "*/",
    ";",
    "\\",
    "\\\\",
    "%",
    "_",
    "?",
    "?1",
    ":x",
    "@x",
    "$1",
    "$x",
    "1;DROP TABLE calls",
    "1'; DROP TABLE calls-- 1",
    "' OR 1=1 -- 1",
    "' OR '1'='1",
    "'; UPDATE calls SET status='failed'; --",
    "\"; DELETE FROM effects; --",
    "') ; SELECT load_extension('x'); --",
    "x' UNION SELECT sql FROM sqlite_master --",
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "<!--",
    "]]>",
    "&lt;&amp;&quot;",
    "javascript:alert(1)",
    "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>",
    "{{7*7}}",
    "${7*7}",
    "#{7*7}",
    "<%= 7*7 %>",
    "%s%s%s%n",
    "%d",
    "{0}",
    "{}",
    "{args}",
    "%00",
    "%2e%2e%2f",
    "../../../../etc/passwd",
    "..\\..\\boot.ini",
    "file:///etc/passwd",
    "/dev/null; touch /tmp/naughty",
    "$(touch /tmp/naughty)",
    "`touch /tmp/naughty`",
    "() { :; }; echo",
    "-rf",
    "--help",
    "CON",
    "NUL",
    "null",
    "NULL",
    "nil",
    "None",
    "undefined",
    "true",
    "false",
    "NaN",
    "Infinity",
    "-0",
    "0x10",
    "1e400",
    "1,5",
    "012",
    "١٢٣",
    "½",
    "",
    " ",
    "  two  ",
    "\t",
    "\n",
    "\r\n",
    "a\r\nSet-Cookie: x=1",
    "a\u{0}b",
    "\u{0}",
    "\u{1}\u{1f}",
    "\u{7f}",
    "\u{80}\u{9f}",
    "\u{1b}[31mred",
    "\u{feff}",
    "\u{200b}",
    "\u{202e}reversed",
    "\u{2028}\u{2029}",
    "\u{fffd}",
    "\u{ffff}",
    "\u{10ffff}",
    "é",
    "e\u{301}",
    "ﬁ",
    "ß",
    "İ",
    "ı",
    "Ω≈ç√∫˜µ",
    "田中さんにあげて",
    "사회과학원",
    "مُنَاقَشَةُ",
    "👩‍👩‍👧‍👧",
    "🇺🇸🇷🇺",
    "Z\u{335}\u{317}a\u{334}\u{31b}l\u{337}g\u{338}o",
    "{\"a\":1}",
    "[1,2]",
    "\"quoted\"",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "toString",
    "$where",
    "a.b.c",
    "a[0]",
    "a/b",
    "~0~1",
    "-",
    "c_00000000000000000000000000000000",
];

#[test]
fn each_text_comes_back_as_it_went_in() {
    let app = App::start();
    for (row, naughty) in TEXTS.iter().enumerate() {
        let string = Value::from(*naughty).to_string();
        let client = if naughty.is_empty() { "null" } else { &string };
        let body = format!(
            r#"{{"tool":"send_email","args":{{"to":{string},"subject":{string},"body":{string},"deep":[{{"x{row}":{string}}}]}},"client_id":{client}}}"#
        );
        let call = settle(&app, &format!("k{row}"), &body);
        let url = text(&call, "query_url");
        assert_eq!(found(&app.get(url, &[])), call);
        for value in [
            &call["args"]["to"],
            &call["args"]["body"],
            &call["args"]["deep"][0][format!("x{row}")],
            &call["result"]["to"],
        ] {
            assert_eq!(value.as_str(), Some(*naughty), "{call}");
        }
        assert_eq!(call["client_id"].as_str().unwrap_or_default(), *naughty);
        if !naughty.is_empty() {
            let escaped: String = naughty.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let list = found(&app.get(&format!("/v1/tool-calls?client_id={escaped}"), &[]));
            assert_eq!(list["calls"], Value::from(vec![call]), "{naughty:?}");
        }
        let stats = app.get("/stats", &[]).json();
        assert_eq!((&stats["calls"], &stats["effects"]), (&Value::from(row + 1), &Value::from(row + 1)));
    }
}

#[test]
fn each_text_is_a_member_name_like_any_other() {
    let app = App::start();
    let names: Vec<String> = TEXTS.iter().map(|naughty| Value::from(*naughty).to_string()).collect();
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), names.len());
    let args: Vec<_> = names.iter().enumerate().map(|(row, name)| format!("{name}:{row}")).collect();
    let call = accepted(&app.post("k", &[], format!(r#"{{"tool":"sleep","args":{{{}}}}}"#, args.join(","))));
    let stored = call["args"].as_object().expect("an object");
    assert_eq!(stored.len(), TEXTS.len());
    for (row, naughty) in TEXTS.iter().enumerate() {
        assert_eq!(stored[*naughty], row, "{naughty:?}");
    }
}

#[test]
fn each_text_that_may_be_a_key_is_one() {
    let app = App::start();
    let may_be = |text: &&&str| {
        (1..=255).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b',' | b';'))
    };
    let keys: Vec<_> = TEXTS.iter().filter(may_be).collect();
    assert!(keys.len() > 50);
    let mut by_key = std::collections::BTreeMap::new();
    for key in &keys {
        let call = settle(&app, key, r#"{"tool":"sleep","args":{}}"#);
        assert_eq!(text(&call, "idem_key"), **key);
        assert_eq!(by_key.insert(text(&call, "call_id").to_owned(), **key), None);
    }
    for (id, key) in by_key {
        let escaped: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let call = found(&app.get(&format!("/v1/tool-calls/by-key/{escaped}"), &[]));
        assert_eq!((text(&call, "idem_key"), text(&call, "call_id")), (key, id.as_str()));
    }
    assert_eq!(calls(&app), keys.len() as u64);
}
