//! Is a retry known as a retry however it is written, and another request never taken for one?

use callonce::domain::id::IdemKey;
use callonce::engine::Store;
use callonce::testing::app::App;

use super::{accepted, calls, found, refused, settle};

/// The fingerprint of the call that `key` leads to, which clients do not see.
pub fn fingerprint<S: Store>(app: &App<S>, key: &str) -> String {
    let key = IdemKey::parse(key).expect("a key");
    let snapshot =
        app.wait_for(app.engine().find(&key)).expect("the store works").expect("the call is there");
    snapshot.call.request().expect("a call").fingerprint.to_string()
}

fn sleep(args: &str) -> String {
    format!(r#"{{"tool":"sleep","args":{args}}}"#)
}

#[test]
fn spellings_of_one_request_are_one_call() {
    let spellings: &[&[&str]] = &[
        &[
            r#"{"tool":"sleep","args":{"a":"x/y","b":[1,{"c":null,"d":true}]}}"#,
            r#"{"args":{"b":[1,{"d":true,"c":null}],"a":"x/y"},"tool":"sleep"}"#,
            "\n{ \"tool\" :\t\"sleep\" ,\r\n \"args\": { \"b\" : [ 1 , { \"c\" : null , \"d\" : true } ] , \"a\" : \"x/y\" } }\n",
            r#"{"\u0074ool":"sl\u0065ep","args":{"\u0061":"\u0078\/y","b":[1,{"c":null,"d":true}]}}"#,
            r#"{"tool":"sleep","args":{"a":"x\u002fy","b":[1.0,{"c":null,"d":true}]},"client_id":"c","seq":3}"#,
        ],
        &[
            r#"{"tool":"sleep","args":{"n":1}}"#,
            r#"{"tool":"sleep","args":{"n":1.0}}"#,
            r#"{"tool":"sleep","args":{"n":10E-1}}"#,
        ],
        &[
            r#"{"tool":"sleep","args":{"n":0}}"#,
            r#"{"tool":"sleep","args":{"n":-0}}"#,
            r#"{"tool":"sleep","args":{"n":1e-400}}"#,
        ],
        &[
            r#"{"tool":"sleep","args":{"s":"caf\u00e9"}}"#,
            "{\"tool\":\"sleep\",\"args\":{\"s\":\"caf\u{e9}\"}}",
        ],
        &[r#"{"tool":"sleep","args":{"s":"\ud83d\ude00"}}"#, r#"{"tool":"sleep","args":{"s":"😀"}}"#],
    ];
    let app = App::start();
    for (row, spellings) in spellings.iter().enumerate() {
        let key = format!("k{row}");
        let first = settle(&app, &key, spellings[0]);
        for spelling in &spellings[1..] {
            assert_eq!(settle(&app, &key, spelling), first, "{spelling}");
        }
    }
    assert_eq!(calls(&app), spellings.len() as u64);
}

#[test]
fn requests_that_differ_are_never_one_call() {
    let pairs = [
        (r#"{"order_id":9007199254740992}"#, r#"{"order_id":9007199254740993}"#),
        (r#"{"id":18446744073709551615}"#, r#"{"id":18446744073709551616}"#),
        (r#"{"id":1234567890123456789}"#, r#"{"id":1234567890123456788}"#),
        (r#"{"id":-9007199254740992}"#, r#"{"id":-9007199254740993}"#),
        (r#"{"x":1.5777777777770001}"#, r#"{"x":1.577777777777}"#),
        (r#"{"x":1}"#, r#"{"x":"1"}"#),
        (r#"{"x":true}"#, r#"{"x":"true"}"#),
        (r#"{"x":null}"#, r#"{"x":"null"}"#),
        (r#"{"x":null}"#, "{}"),
        (r#"{"x":""}"#, "{}"),
        (r#"{"x":[]}"#, r#"{"x":{}}"#),
        (r#"{"x":[1,2]}"#, r#"{"x":[2,1]}"#),
        (r#"{"x":"caf\u00e9"}"#, r#"{"x":"cafe\u0301"}"#),
        (r#"{"a":{"b":1}}"#, r#"{"a":"{\"b\":1}"}"#),
        (r#"{"x":"a"}"#, r#"{"X":"a"}"#),
        (r#"{"x":"a"}"#, r#"{"x":"a "}"#),
        (r#"{"x":"a"}"#, r#"{"x":"a\u0000"}"#),
        (r#"{"__proto__":{"a":1}}"#, r#"{"__proto__":{"a":2}}"#),
        (r#"{"constructor":1}"#, r#"{"constructor":2}"#),
        (r#"{"$ref":"a.b"}"#, r#"{"$ref":{"a":"b"}}"#),
        (r#"{"a.b":1}"#, r#"{"a":{"b":1}}"#),
    ];
    let app = App::start();
    for (row, (one, other)) in pairs.iter().enumerate() {
        let key = format!("k{row}");
        let first = settle(&app, &key, &sleep(one));
        refused(&app.post(&key, &[], sleep(other)), 409, "idempotency_conflict");
        assert_eq!(settle(&app, &key, &sleep(one)), first);
        // The other way round too.
        let key = format!("l{row}");
        accepted(&app.post(&key, &[], sleep(other)));
        refused(&app.post(&key, &[], sleep(one)), 409, "idempotency_conflict");
    }
    assert_eq!(calls(&app), 2 * pairs.len() as u64);
}

#[test]
fn args_are_stored_in_canonical_form_with_all_their_digits() {
    let cases = [
        (r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
        (r#"{ "n" : 9007199254740993 }"#, r#"{"n":9007199254740993}"#),
        (r#"{"n":12345678901234567890123456789}"#, r#"{"n":12345678901234567890123456789}"#),
        (r#"{"n":1.5777777777770001}"#, r#"{"n":1.5777777777770001}"#),
        (r#"{"n":1E30}"#, r#"{"n":1e+30}"#),
        (r#"{"n":0.000001,"m":1e-7}"#, r#"{"m":1e-7,"n":0.000001}"#),
        (r#"{"n":-0.0,"m":1e-400}"#, r#"{"m":0,"n":0}"#),
        (r#"{"s":"\u0041\/\u20ac\u000a"}"#, "{\"s\":\"A/\u{20ac}\\n\"}"),
        (r#"{"\ufb33":2,"\ud83d\ude00":1}"#, "{\"\u{1f600}\":1,\"\u{fb33}\":2}"),
        (r#"{"s":"A\u030a"}"#, "{\"s\":\"A\u{30a}\"}"),
        (r#"{"10":1,"9":2,"1":3}"#, r#"{"1":3,"10":1,"9":2}"#),
    ];
    let app = App::start();
    for (row, (sent, stored)) in cases.iter().enumerate() {
        let key = format!("k{row}");
        let posted = app.post(&key, &[], sleep(sent));
        accepted(&posted);
        for answer in [posted, app.get(&format!("/v1/tool-calls/by-key/{key}"), &[])] {
            let member = format!(r#""args":{stored},"client_id""#);
            assert!(answer.text().contains(&member), "{sent}: {}", answer.text());
        }
    }
}

#[test]
fn a_request_is_known_again_after_a_restart() {
    let mut app = App::start();
    let bodies = [
        sleep(r#"{"x":1.5777777777770001}"#),
        sleep(r#"{"id":18446744073709551615,"s":"\ud83d\ude00"}"#),
        r#"{"tool":"charge","args":{"amount":1e3}}"#.to_owned(),
    ];
    let first: Vec<_> =
        bodies.iter().enumerate().map(|(row, body)| settle(&app, &format!("k{row}"), body)).collect();
    for _ in 0..2 {
        app = app.restart();
        for (row, body) in bodies.iter().enumerate() {
            let answer = app.post(&format!("k{row}"), &[], body);
            assert_eq!(answer.header("idempotent-replayed"), Some("true"));
            assert_eq!(found(&answer), first[row]);
        }
        refused(&app.post("k0", &[], sleep(r#"{"x":1.577777777777}"#)), 409, "idempotency_conflict");
    }
}

#[test]
fn the_stored_args_have_the_stored_fingerprint() {
    let app = App::start();
    for (row, args) in [
        r#"{"amount":4711,"n":9007199254740993,"x":1.5777777777770001,"y":[1e30,0.000001,-0.0]}"#,
        r#"{"amount":1e3,"s":"\u2028\u2029\u007f\u0080<>&'","\ufb33":1,"\ud83d\ude00":2}"#,
    ]
    .iter()
    .enumerate()
    {
        let key = format!("k{row}");
        let call = app.post(&key, &[], format!(r#"{{"tool":"charge","args":{args}}}"#));
        let stored = &call.text()[call.text().find(r#""args":"#).expect("there") + 7
            ..call.text().find(r#","client_id""#).expect("there")];
        let canonical = callonce::domain::json::parse(stored.as_bytes()).expect("JSON").canonical();
        assert_eq!(canonical.as_str(), stored);
        let computed = callonce::domain::fingerprint::fingerprint("charge", &canonical).to_string();
        assert_eq!(fingerprint(&app, &key), computed);
    }
}
