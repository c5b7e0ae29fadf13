//! Tool calls as language models and their clients emit them: what is done once, what is refused, what is not guessed.

use callonce::testing::app::App;
use serde_json::{Value, json};

use super::canonical::fingerprint;
use super::{calls, found, refused, settle, text};

/// What a model calls `arguments`: JSON text in a string.
const ARGUMENTS: &str = r#"{"amount":4200,"currency":"usd","customer":"cus_42","memo":"Order 1001"}"#;
/// The same from its retry, spelled another way.
const ARGUMENTS_AGAIN: &str =
    r#"{ "currency": "usd", "amount": 4200.0, "memo": "Order 1001", "customer": "cus_42" }"#;

fn charge(args: &str) -> String {
    format!(r#"{{"tool":"charge","args":{args}}}"#)
}

fn as_text(args: &str) -> String {
    Value::from(args).to_string()
}

#[test]
fn parsed_arguments_are_one_call_however_the_model_spells_them() {
    let app = App::start();
    refused(&app.post("call_a1", &[], charge(&as_text(ARGUMENTS))), 400, "bad_request");
    let call = settle(&app, "call_a1", &charge(ARGUMENTS));
    assert_eq!(
        fingerprint(&app, "call_a1"),
        "ba8423130b0715ed97294c75f9572a06a498251eff50210ebd868be20a159ed3"
    );
    assert_eq!(settle(&app, "call_a1", &charge(ARGUMENTS_AGAIN)), call);
    assert_eq!(call["args"], json!({"amount":4200,"currency":"usd","customer":"cus_42","memo":"Order 1001"}));
}

#[test]
fn no_arguments_are_an_empty_object() {
    let app = App::start();
    let problem = refused(&app.post("k", &[], r#"{"tool":"sleep","args":""}"#), 400, "bad_request");
    assert!(text(&problem, "detail").contains("`args` is a string"), "{problem}");
    settle(&app, "k", r#"{"tool":"sleep","args":{}}"#);
    assert_eq!(fingerprint(&app, "k"), "d56ea4118634c93ae20a7563f1d5b130a3d3c86cb99c1b2064c4c09ccdfb919f");
}

#[test]
fn glued_and_cut_arguments_are_refused_and_use_no_key_up() {
    let app = App::start();
    let glued = r#"{"amount":100}{"amount":100}"#;
    let cut = r#"{"amount":42"#;
    for args in [glued, cut] {
        for body in [
            charge(args),
            charge(&as_text(args)),
            args.to_owned(),
            format!(r#"{{"tool":"charge","args":{args}"#),
        ] {
            refused(&app.post("k", &[], &body), 400, "bad_request");
        }
    }
    refused(&app.get("/v1/tool-calls/by-key/k", &[]), 404, "not_found");
    assert_eq!(calls(&app), 0);
}

#[test]
fn strings_stay_strings_even_if_they_hold_json() {
    let app = App::start();
    let call = settle(
        &app,
        "k",
        r#"{"tool":"send_email","args":{"to":"a@b","subject":"s","body":"{\"a\":1}","n":"5","b":"true","z":"null"}}"#,
    );
    assert_eq!(
        call["args"],
        json!({"b":"true","body":"{\"a\":1}","n":"5","subject":"s","to":"a@b","z":"null"})
    );
}

#[test]
fn a_whole_run_that_is_replayed_does_nothing_twice() {
    let app = App::start();
    let steps = [
        ("charge", r#"{"amount":100}"#),
        ("send_email", r#"{"to":["a@b","c@d"],"subject":"paid"}"#),
        ("sleep", "{}"),
        ("charge", r#"{"amount":100}"#),
        ("fail", r#"{"message":"no"}"#),
    ];
    let run = || -> Vec<Value> {
        let sent = steps.iter().enumerate().map(|(step, (tool, args))| {
            settle(&app, &format!("run-7/call_{step}"), &format!(r#"{{"tool":"{tool}","args":{args}}}"#))
        });
        sent.collect()
    };
    let first = run();
    let stats = app.get("/stats", &[]).json();
    assert_eq!((&stats["calls"], &stats["effects"]), (&json!(5), &json!(3)));
    assert_eq!(run(), first);
    for (step, call) in first.iter().enumerate() {
        let (tool, args) = steps[step];
        let answer =
            app.post(&format!("run-7/call_{step}"), &[], format!(r#"{{"tool":"{tool}","args":{args}}}"#));
        assert_eq!(found(&answer), *call);
    }
    let after = app.get("/stats", &[]).json();
    assert_eq!(
        (&after["calls"], &after["effects"], &after["position"]),
        (&stats["calls"], &stats["effects"], &stats["position"])
    );
}
