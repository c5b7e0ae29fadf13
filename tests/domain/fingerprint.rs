//! Is one request one fingerprint, however it is spelled, and every other request another?

use std::collections::BTreeSet;

use callonce::domain::fingerprint::{Fingerprint, InvalidFingerprint, fingerprint};
use callonce::domain::json::{Value, parse};
use sha2::{Digest, Sha256};

fn of(tool: &str, args: &str) -> Fingerprint {
    let args = parse(args.as_bytes()).unwrap_or_else(|error| panic!("{args}: {error}"));
    fingerprint(tool, &args.canonical())
}

/// Tool, spellings of the same arguments, and the hash all of them must have, computed independently.
const KNOWN: &[(&str, &[&str], &str)] = &[
    ("charge", &[r#"{"amount":100}"#], "c136471529280eb4c70db92d5b8ff8d553408953a5794966a81ad3d42c83ec5d"),
    (
        "charge",
        &[r#"{"amount":1}"#, r#"{"amount":1.0}"#, r#"{"amount":1e0}"#, r#"{"amount":10E-1}"#],
        "c00779a8b97e97f852c5c9069e7f01121de558c9b5bfd34e8c31770cca424c95",
    ),
    (
        "charge",
        &[
            r#"{"amount":0}"#,
            r#"{"amount":-0}"#,
            r#"{"amount":-0.0}"#,
            r#"{"amount":0e10}"#,
            r#"{"amount":1e-400}"#,
        ],
        "c7e73d336a936b627f3d1fe7c72dbac872ac7594bc9966086b4b3512d63fbb4e",
    ),
    ("charge", &[r#"{"amount":"1"}"#], "1191cebd17aadeb529317ace6f842469c5fc66c0f005112b197341745d94ca81"),
    (
        "charge",
        &[r#"{"a":1,"b":2}"#, "{ \"b\" : 2 ,\r\n\t\"a\" : 1 }\n", r#"{"\u0062":2,"\u0061":1}"#],
        "a54c641e6f5fe989e1bfcf0e670ac54c4809337bf5f5a44e4cceb9770ebea0aa",
    ),
    ("sleep", &["{}", " { } "], "d56ea4118634c93ae20a7563f1d5b130a3d3c86cb99c1b2064c4c09ccdfb919f"),
    ("sleep", &[r#"{"x":null}"#], "a6c8d615733eea5cd6a361bb7a48fb968837f61557cfe1e0addb5940777c2d58"),
    ("sleep", &[r#"{"x":"null"}"#], "32e086d277d6426141ff65db31deefa5f4a7f19b3c7c97f932eb5daf9f1a101d"),
    (
        "send_email",
        &[r#"{"to":"caf\u00e9"}"#, r#"{"to":"caf\u00E9"}"#, "{\"to\":\"caf\u{e9}\"}"],
        "7386ffcdd1f30b2d1372172e19c78ddf51796709a2e1ed83e93e73af68d59862",
    ),
    (
        "send_email",
        &[r#"{"to":"cafe\u0301"}"#, "{\"to\":\"cafe\u{301}\"}"],
        "c9b111b959d82bd48681cf0a9371690796e274d4cc5861ea58c98c291758701f",
    ),
    (
        "send_email",
        &[
            r#"{"to":"\u5f20\u4f1f","subject":"\u9000\u6b3e \uffe5100"}"#,
            r#"{"subject":"退款 ￥100","to":"张伟"}"#,
        ],
        "cf8f1d11c842de8ef3255104fbca8f0281170fa03b0f123f984aa66febe4a164",
    ),
    (
        "charge",
        &[r#"{"path":"a/b"}"#, r#"{"path":"a\/b"}"#],
        "e1fc5474ce429045b835df39ec7ebe3877b991d5f3a357ef3339f42547e00736",
    ),
    (
        "charge",
        &[r#"{"n":9007199254740991}"#],
        "70148844be181ae2caeff17e93c39e87132577b762af385d608090d1d089fb49",
    ),
    (
        "charge",
        &[r#"{"n":-9007199254740991}"#],
        "aa2191572ba78350b47919c70d95c50d41991de31742e823ede5dfa680a5d743",
    ),
    (
        "charge",
        &[r#"{"n":1e30}"#, r#"{"n":1000000000000000000000000000000.0}"#],
        "cd8d31e18c48b1909e8bd614f6c0e840e108aeb1afb2fc8fd9aed679dc26eb1d",
    ),
    (
        "charge",
        &[r#"{"n":0.000001}"#, r#"{"n":1e-6}"#],
        "54848bd4b6dbd6b99a2e172b0818fa4bf971b9cd4d246c7b7f69655e64e0aa49",
    ),
    (
        "charge",
        &[r#"{"n":1e-7}"#, r#"{"n":0.0000001}"#],
        "dbb44e4b641b256a48a0c7847e084a3566aaa784df274fad30036a8026b823ee",
    ),
    (
        "sleep",
        &[r#"{"s":"\u2028\u2029\u007f\u0080<>&'"}"#, "{\"s\":\"\u{2028}\u{2029}\u{7f}\u{80}<>&'\"}"],
        "12ef19e9e513da02e45001fd053b39ede4077466749bcd03a4865d26c222cd02",
    ),
    (
        "charge",
        &[r#"{"10":1,"9":2,"1":3}"#],
        "16a3d3b4f25efa93534ebee6cf535c8b2f161dc0b35017a088171d78d0bd4ee9",
    ),
];

#[test]
fn known_requests_have_their_known_fingerprints() {
    for (tool, spellings, expected) in KNOWN {
        for args in *spellings {
            assert_eq!(of(tool, args).to_string(), *expected, "{tool} {args}");
        }
    }
}

#[test]
fn different_requests_have_different_fingerprints() {
    let distinct: BTreeSet<&str> = KNOWN.iter().map(|(_, _, hash)| *hash).collect();
    assert_eq!(distinct.len(), KNOWN.len());
    let pairs = [
        (r#"{"order_id":9007199254740992}"#, r#"{"order_id":9007199254740993}"#),
        (r#"{"id":18446744073709551615}"#, r#"{"id":18446744073709551616}"#),
        (r#"{"id":1234567890123456789}"#, r#"{"id":1234567890123456788}"#),
        (r#"{"x":1.5777777777770001}"#, r#"{"x":1.577777777777}"#),
        (r#"{"a":{"b":1}}"#, r#"{"a":"{\"b\":1}"}"#),
        (r#"{"a":1}"#, r#"{"a":"1"}"#),
        (r#"{"a":null}"#, r#"{"a":"null"}"#),
        (r#"{"a":null}"#, "{}"),
        (r#"{"a":[]}"#, r#"{"a":{}}"#),
        (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#),
        (r#"{"a":""}"#, r#"{"a":" "}"#),
        (r#"{"a":1}"#, r#"{"A":1}"#),
    ];
    for (one, other) in pairs {
        assert_ne!(of("charge", one), of("charge", other), "{one} {other}");
    }
    assert_ne!(of("charge", "{}"), of("sleep", "{}"));
}

#[test]
fn the_tool_is_escaped_so_that_no_name_can_pose_as_another_request() {
    for tool in ["", "a\"b", "a\\", "\u{1}\n", "}", "\",\"tool\":\"", "张伟", "\u{1f602}"] {
        let whole = Value::Object(vec![
            ("tool".to_owned(), Value::String(tool.to_owned())),
            ("args".to_owned(), Value::Object(Vec::new())),
        ]);
        let hash: [u8; 32] = Sha256::digest(whole.canonical().as_str()).into();
        assert_eq!(of(tool, "{}"), Fingerprint::from_bytes(hash), "{tool}");
    }
}

#[test]
fn what_agents_emit_for_one_call_is_one_request() {
    let emitted = r#"{"amount":4200,"currency":"usd","customer":"cus_42","memo":"Order 1001"}"#;
    let retried = r#"{ "currency": "usd", "amount": 4200.0, "memo": "Order 1001", "customer": "cus_42" }"#;
    let expected = "ba8423130b0715ed97294c75f9572a06a498251eff50210ebd868be20a159ed3";
    assert_eq!(of("charge", emitted).to_string(), expected);
    assert_eq!(of("charge", retried).to_string(), expected);
    assert_eq!(of("charge", &format!("{emitted}\n")).to_string(), expected);
}

#[test]
fn names_that_other_languages_trip_over_are_only_names() {
    let args = [
        r#"{"__proto__":{"amount":1}}"#,
        r#"{"constructor":{"amount":1}}"#,
        r#"{"$ref":"a.b"}"#,
        r#"{"a.b":1}"#,
        r#"{"a":{"b":1}}"#,
        r#"{"":1}"#,
    ];
    let fingerprints: BTreeSet<String> = args.iter().map(|args| of("charge", args).to_string()).collect();
    assert_eq!(fingerprints.len(), args.len());
}

#[test]
fn text_and_bytes_round_trip() {
    let original = of("charge", r#"{"amount":100}"#);
    let text = original.to_string();
    assert_eq!(text.parse(), Ok(original));
    assert_eq!(Fingerprint::from_bytes(*original.as_bytes()), original);
    assert_eq!(format!("{original:?}"), text);
}

#[test]
fn a_fingerprint_has_one_spelling() {
    let text = of("charge", r#"{"amount":100}"#).to_string();
    let malformed = [
        String::new(),
        text[1..].to_owned(),
        text[2..].to_owned(),
        format!("{text}0"),
        format!("{text}00"),
        text.to_uppercase(),
        format!(" {}", &text[1..]),
        format!("g{}", &text[1..]),
        format!("é{}", &text[2..]),
    ];
    for malformed in malformed {
        assert_eq!(malformed.parse::<Fingerprint>(), Err(InvalidFingerprint), "{malformed}");
    }
}
