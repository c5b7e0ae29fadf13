//! A request with a key arrives.

use std::sync::Arc;

use callonce::domain::Refusal;
use callonce::domain::call::Request;
use callonce::domain::command::Submit;
use callonce::domain::fingerprint::fingerprint;
use callonce::domain::id::{CallId, ClientId, ToolName};
use callonce::domain::json;
use callonce::testing::given::*;

use super::states::calls;

fn submit_of(request: Request) -> Submit {
    Submit { at: NOW, request: Arc::new(request) }
}

/// The same key with this tool and these args.
fn asking(tool: &str, args: &str) -> Request {
    let tool = ToolName::parse(tool).expect("a name");
    let args = json::parse(args.as_bytes()).expect("JSON").canonical();
    Request { fingerprint: fingerprint(tool.as_str(), &args), tool, args, ..request() }
}

fn conflict(paths: &[&str]) -> Refusal {
    Refusal::IdempotencyConflict { paths: paths.iter().map(ToString::to_string).collect() }
}

#[test]
fn a_new_key_takes_the_request_as_it_came() {
    Given::absent().when(submit()).then([created()]).is("pending");
}

#[test]
fn a_repetition_is_answered_by_the_call_as_it_is() {
    for given in [Given::pending(), Given::running(), Given::held(), Given::succeeded(), Given::failed()] {
        given.when(submit()).nothing();
    }
}

#[test]
fn a_repetition_needs_only_the_same_tool_and_args() {
    let repetition = Request {
        call_id: CallId::from_bytes([8; 16]),
        client_id: Some(ClientId::parse("another").expect("valid")),
        seq: Some(9),
        created_at: LEASE_OVER,
        ..request()
    };
    Given::running().when(submit_of(repetition)).nothing();
    let other_spelling = asking("charge", r#" { "amount" : 1e2 } "#);
    Given::running().when(submit_of(other_spelling)).nothing();
}

#[test]
fn a_failed_call_is_tried_again_by_its_key_until_it_succeeds() {
    Given::failed_retryable()
        .when(submit())
        .then([reset()])
        .is("pending")
        .when(claim())
        .then([claimed(2)])
        .when(succeed(2))
        .then([succeeded(2)])
        .when(submit())
        .nothing();
}

#[test]
fn two_retries_of_a_failed_call_reset_it_once() {
    let reset_once = Given::failed_retryable().when(submit()).then([reset()]);
    reset_once.when(submit()).nothing();
}

#[test]
fn another_request_changes_nothing_in_any_state() {
    for given in calls().into_iter().filter(|given| given.call.request().is_some()) {
        given.when(submit_of(other_request())).refused(conflict(&["args.amount"]));
    }
}

#[test]
fn a_conflict_names_what_differs_and_never_its_value() {
    let cases: [(&str, &str, &[&str]); 6] = [
        ("charge", r#"{"amount":101}"#, &["args.amount"]),
        ("charge", r#"{"amount":100,"note":"secret"}"#, &["args.note"]),
        ("charge", "{}", &["args.amount"]),
        ("charge", r#"{"amount":100,"a.b":1}"#, &[r#"args["a.b"]"#]),
        ("sleep", r#"{"amount":100}"#, &["tool"]),
        ("sleep", r#"{"secret":100}"#, &["tool", "args.amount", "args.secret"]),
    ];
    for (tool, args, paths) in cases {
        Given::pending().when(submit_of(asking(tool, args))).refused(conflict(paths));
    }
}

#[test]
fn a_conflict_names_at_most_sixteen_members() {
    let members: Vec<String> = (10..60).map(|n| format!(r#""m{n}":1"#)).collect();
    let other = asking("charge", &format!(r#"{{"amount":100,{}}}"#, members.join(",")));
    let first: Vec<String> = (10..26).map(|n| format!("args.m{n}")).collect();
    Given::pending().when(submit_of(other)).refused(Refusal::IdempotencyConflict { paths: first });
}
