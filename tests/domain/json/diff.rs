//! Does a conflict name the members that differ, all of them, and nothing of what they hold?

use callonce::domain::json::{Value, differing_paths, parse};

fn paths(a: &str, b: &str) -> Vec<String> {
    let [a, b] = [a, b].map(|text| parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}")));
    let found = differing_paths(&a, &b, 100);
    assert_eq!(found, differing_paths(&b, &a, 100), "the order of the sides does not matter");
    found
}

#[test]
fn equal_values_differ_nowhere() {
    assert!(paths(r#"{"a":1,"b":[1,{"c":null}]}"#, r#"{"b":[1.0,{"c":null}],"a":1e0}"#).is_empty());
    assert!(paths("{}", " { } ").is_empty());
    assert!(paths("[1e17]", "[100000000000000000]").is_empty());
}

#[test]
fn what_was_changed_added_or_removed_is_named() {
    let cases: &[(&str, &str, &[&str])] = &[
        (r#"{"amount":100}"#, r#"{"amount":101}"#, &["amount"]),
        (r#"{"amount":100}"#, r#"{"amount":"100"}"#, &["amount"]),
        (r#"{"a":1}"#, r#"{"b":1}"#, &["a", "b"]),
        (r#"{"a":null}"#, "{}", &["a"]),
        (r#"{"a":{"b":{"c":1,"d":2}}}"#, r#"{"a":{"b":{"c":2,"d":2}}}"#, &["a.b.c"]),
        (r#"{"items":[1,2,{"sku":"x"}]}"#, r#"{"items":[1,3,{"sku":"y"}]}"#, &["items[1]", "items[2].sku"]),
        (r#"{"items":[1]}"#, r#"{"items":[1,2,3]}"#, &["items[1]", "items[2]"]),
        (r#"{"a":{"b":1}}"#, r#"{"a":"{\"b\":1}"}"#, &["a"]),
        (r#"{"a":{}}"#, r#"{"a":[]}"#, &["a"]),
        (r#"{"b":1,"a":1,"c":1}"#, r#"{"b":2,"c":2,"a":2}"#, &["a", "b", "c"]),
        (r#"{"n":9007199254740992}"#, r#"{"n":9007199254740993}"#, &["n"]),
        ("[[1],[2]]", "[[1],[3]]", &["[1][0]"]),
        ("1", "2", &["$"]),
        ("{}", "[]", &["$"]),
    ];
    for (a, b, expected) in cases {
        assert_eq!(paths(a, b), *expected, "{a} {b}");
    }
}

#[test]
fn names_that_could_be_misread_are_quoted() {
    let a = r#"{"a.b":1,"":1,"a b":1,"0":1,"a[0]":1,"$":1,"é":1,"\n\"":1,"__proto__":1,"_a1":1,"x":{"a-b":{"c":1}}}"#;
    let b = r#"{"x":{"a-b":{}}}"#;
    assert_eq!(
        paths(a, b),
        [
            r#"[""]"#,
            r#"["\n\""]"#,
            r#"["$"]"#,
            r#"["0"]"#,
            "__proto__",
            "_a1",
            r#"["a b"]"#,
            r#"["a.b"]"#,
            r#"["a[0]"]"#,
            r#"x["a-b"].c"#,
            r#"["é"]"#,
        ]
    );
}

#[test]
fn the_order_is_by_name_in_utf16_and_by_index_as_a_number() {
    let a = r#"{"items":[0,0,0,0,0,0,0,0,0,0,0],"\ufb33":0,"\ud83d\ude00":0}"#;
    let b = r#"{"items":[0,0,1,0,0,0,0,0,0,0,1],"\ufb33":1,"\ud83d\ude00":1}"#;
    assert_eq!(paths(a, b), ["items[2]", "items[10]", "[\"\u{1f600}\"]", "[\"\u{fb33}\"]"]);
}

#[test]
fn values_are_never_shown() {
    let a = r#"{"card":"4111-secret-a","deep":[{"pin":"secret-b"}]}"#;
    let b = r#"{"card":"4111-secret-c","deep":[{"pin":["secret-d"]}]}"#;
    assert_eq!(paths(a, b), ["card", "deep[0].pin"]);
}

#[test]
fn the_number_of_paths_and_their_length_are_limited() {
    let list = |from: i64| Value::Array((from..from + 1000).map(Value::from).collect());
    assert_eq!(differing_paths(&list(0), &list(1), 3), ["[0]", "[1]", "[2]"]);
    assert!(differing_paths(&list(0), &list(1), 0).is_empty());
    assert!(differing_paths(&Value::Null, &list(1), 0).is_empty());
    let long = "n".repeat(500_000);
    let found = paths(&format!(r#"{{"{long}":{{"a":1,"b":1}}}}"#), &format!(r#"{{"{long}":{{}}}}"#));
    assert_eq!(found, [format!("{}….a", "n".repeat(64)), format!("{}….b", "n".repeat(64))]);
}

#[test]
fn members_in_the_wrong_order_are_compared_by_name() {
    let member = |name: &str, number: i64| (name.to_owned(), Value::from(number));
    let a = Value::Object(vec![member("b", 1), member("a", 2), member("c", 3)]);
    let b = Value::Object(vec![member("c", 3), member("a", 2), member("b", 4)]);
    assert_eq!(differing_paths(&a, &b, 10), ["b"]);
}
