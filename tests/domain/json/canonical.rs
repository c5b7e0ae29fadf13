//! Is the canonical form RFC 8785's, byte for byte, and can nothing else pose as canonical?

use callonce::domain::json::{Canonical, MAX_DEPTH, Value, parse};
use sha2::{Digest, Sha256};

use super::{canonical, in_body};

/// Published inputs, and length and SHA-256 of their canonical bytes.
const PUBLISHED: &[(&str, usize, &str)] = &[
    (
        r#"[56,{"d":true,"10":null,"1":[]}]"#,
        32,
        "099601b171cafed97c333f8878d68e7f8c8f795412adb34b2fdcf0e7c7beac42",
    ),
    (
        r#"{"peach":"This sorting order","p\u00e9ch\u00e9":"is wrong according to French","p\u00eache":"but canonicalization MUST","sin":"ignore locale"}"#,
        130,
        "d99d0ebdcb0033cb858cfa830ae46bc0fb3309413b271f1da828c89901a27ed5",
    ),
    (
        r#"{"1":{"f":{"f":"hi","F":5},"\n":56.0},"10":{},"":"empty","a":{},"111":[{"e":"yes","E":"no"}],"A":{}}"#,
        98,
        "605f65004ec2db7692522a0852c22f1c989e036d547e88963d1a3143cf3195d5",
    ),
    (
        r#"{"Unnormalized Unicode":"A\u030a"}"#,
        30,
        "0d99aad92a125196ff887876643fd3206786a84ddce2cee52ba4ad256d2381d3",
    ),
    (
        r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
        118,
        "2d5e01a318d0f0879ab568c4be289c8b1f64ef8921a53c6277d5e069978baacb",
    ),
    (
        r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\u000a":"Newline","1":"One","\u0080":"Control\u007f","\ud83d\ude02":"Smiley","\u00f6":"Latin Small Letter O With Diaeresis","\ufb33":"Hebrew Letter Dalet With Dagesh","</script>":"Browser Challenge"}"#,
        214,
        "6af595a9aa80110b964b4de3f82a05fa6ae7423005019bacfa2620dddc4e94d1",
    ),
];

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_published_vectors_hold_alone_and_as_arguments() {
    for (input, length, hash) in PUBLISHED {
        let text = canonical(input);
        assert_eq!((text.len(), sha256(&text).as_str()), (*length, *hash), "{text}");
        let body = parse(&in_body(input.as_bytes())).expect("a valid body");
        let args = body.get("args").expect("the body has args").canonical();
        assert_eq!(args.as_str(), format!(r#"{{"v":{text}}}"#));
    }
}

#[test]
fn names_sort_by_utf16_code_units() {
    assert_eq!(canonical(r#"{"\ufb33":2,"\ud83d\ude00":1}"#), "{\"\u{1f600}\":1,\"\u{fb33}\":2}");
    assert_eq!(
        canonical("{\"\u{ffff}\":1,\"\u{10000}\":2,\"\u{e000}\":3,\"\u{d7ff}\":4,\"\u{10ffff}\":5,\"z\":6}"),
        "{\"z\":6,\"\u{d7ff}\":4,\"\u{10000}\":2,\"\u{10ffff}\":5,\"\u{e000}\":3,\"\u{ffff}\":1}"
    );
    assert_eq!(
        canonical(r#"{"aa":1,"a":2,"":3,"B":4,"b":5,"a\u0000":6}"#),
        r#"{"":3,"B":4,"a":2,"a\u0000":6,"aa":1,"b":5}"#
    );
    assert_eq!(canonical(r#"{"10":1,"9":2,"1":3}"#), r#"{"1":3,"10":1,"9":2}"#);
}

#[test]
fn a_string_has_one_spelling() {
    let spellings = [r#""a\/b""#, r#""\u0061\u002fb""#, r#""a\u002Fb""#, r#""a/b""#];
    assert!(spellings.iter().all(|spelling| canonical(spelling) == r#""a/b""#));
    assert_eq!(canonical(r#""\u0008\u0009\u000a\u000c\u000d\u0022\u005c""#), r#""\b\t\n\f\r\"\\""#);
    assert_eq!(canonical(r#""\u0000\u000B\u001F\u007f""#), "\"\\u0000\\u000b\\u001f\u{7f}\"");
}

#[test]
fn null_and_absent_differ_and_so_do_the_forms_of_one_letter() {
    assert_ne!(canonical(r#"{"a":null}"#), canonical("{}"));
    assert_ne!(canonical("\"\u{e9}\""), canonical("\"e\u{301}\""));
}

#[test]
fn what_is_canonical_is_taken_as_it_is_and_nothing_else() {
    for (input, _, _) in PUBLISHED {
        let text = canonical(input);
        let taken = Canonical::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(taken.as_str(), text);
        assert_eq!(taken.to_string(), text);
        assert_eq!(taken.to_value(), parse(input.as_bytes()).expect("valid"));
    }
    let others = [
        (r#"{"a":1} "#, 7),
        (r#" {"a":1}"#, 0),
        (r#"{"a": 1}"#, 5),
        (r#"{"b":1,"a":1}"#, 2),
        ("[1.0]", 2),
        ("[1e3]", 2),
        ("[-0]", 1),
        (r#"["\/"]"#, 2),
        (r#"["\u001F"]"#, 7),
        (r#"["\u0061"]"#, 2),
    ];
    for (text, differs) in others {
        let error = Canonical::parse(text).expect_err(text);
        assert_eq!(error.offset(), differs, "{text}: {error}");
        assert!(error.to_string().contains("not in canonical form"), "{error}");
    }
    assert!(
        Canonical::parse(r#"{"a":1,"a":1}"#)
            .expect_err("a repeated name")
            .to_string()
            .contains("more than once")
    );
}

#[test]
fn a_value_built_by_hand_is_put_in_order() {
    let member = |name: &str, number: i64| (name.to_owned(), Value::from(number));
    let value = Value::Object(vec![
        member("b", 1),
        member("a", 2),
        member("b", 3),
        member("\u{1f600}", 4),
        member("\u{fb33}", 5),
    ]);
    let text = value.canonical();
    assert_eq!(text.as_str(), "{\"a\":2,\"b\":3,\"\u{1f600}\":4,\"\u{fb33}\":5}");
    assert_eq!(Canonical::parse(text.as_str()), Ok(text.clone()));
}

#[test]
fn an_object_built_by_hand_equals_the_one_that_is_read() {
    let member = |number: i64| Value::from(number);
    let built =
        Value::object([("to", member(1)), ("\u{fb33}", member(2)), ("😀", Value::Null), ("to", member(3))]);
    assert_eq!(built.canonical().to_value(), built);
    assert_eq!(built.get("to"), Some(&Value::from(3)));
}

#[test]
fn a_value_built_too_deep_by_hand_never_becomes_a_text_that_cannot_be_read_back() {
    let nested = |depth| (1..depth).fold(Value::Array(Vec::new()), |inner, _| Value::Array(vec![inner]));
    let deepest = nested(MAX_DEPTH);
    assert_eq!(deepest.canonical().to_value(), deepest);
    assert!(std::panic::catch_unwind(|| nested(MAX_DEPTH + 1).canonical()).is_err());
}
