//! A look at something that is no callonce server is a mistake of whoever typed the address, not an answer.

use super::script::{answer, bare, no_such_call, problem, view};
use crate::harness::{Home, Listener, Reply, callonce};

const ID: &str = "c_00000000000000000000000000000000";

/// Every command that asks a server.
fn looks() -> [Vec<&'static str>; 7] {
    [
        vec!["get", ID],
        vec!["get", "--key", "K"],
        vec!["list"],
        vec!["stats"],
        vec!["log", ID],
        vec!["log", "--key", "K"],
        vec!["log", ID, "--at", "1"],
    ]
}

fn exits(reply: &Reply, code: i32, says: &str) {
    let listener = Listener::in_turn([reply.clone()]);
    for look in looks() {
        for format in ["table", "json", "ndjson"] {
            let done = callonce(&[&look[..], &["--base", &listener.base(), "--output", format]].concat());
            assert_eq!((done.code, done.stdout.as_str()), (Some(code), ""), "{look:?} {reply:?}: {done:?}");
            assert!(done.stderr.contains(says), "{look:?} {reply:?}: no `{says}` in {done:?}");
        }
    }
}

#[test]
fn only_a_server_of_ours_can_say_that_there_is_no_such_call() {
    exits(&no_such_call(), 4, "not_found");
    for foreign in [
        bare("404 Not Found"),
        answer("404 Not Found", "", "<html>404</html>"),
        answer("404 Not Found", "", r#"{"error":"not_found"}"#),
        answer("404 Not Found", "", r#"{"error":{"code":404,"message":"no"}}"#),
        problem("404 Not Found", "There is no such route", "not_found"),
    ] {
        exits(&foreign, 2, "callonce");
    }
}

#[test]
fn an_answer_to_something_else_is_not_shown() {
    for other in
        ["<html><body>Welcome</body></html>", "", "[]", "{}", "null", r#""ok""#, r#"{"calls":"many"}"#]
    {
        exits(&answer("200 OK", "", other), 2, "is --base the address of a callonce server?");
    }
    // A call, but not the one that was asked for; and no list, no counters and no events either.
    exits(&answer("200 OK", "", &view("L", "succeeded")), 2, "is --base the address of a callonce server?");
    exits(&bare("302 Found"), 2, "302");
    exits(&bare("401 Unauthorized"), 2, "401");
}

#[test]
fn a_server_without_time_says_nothing_about_the_call() {
    for status in
        ["408 Request Timeout", "429 Too Many Requests", "500 Internal Server Error", "502 Bad Gateway"]
    {
        exits(&bare(status), 5, &status[..3]);
    }
    exits(&Reply::HangUp, 5, "no answer");
}

#[test]
fn a_wrong_path_before_a_real_server_is_told_from_a_missing_call() {
    let home = Home::new();
    let server = home.serve();
    let base = format!("http://{}", server.address);
    for look in looks() {
        let wrong = callonce(&[&look[..], &["--base", &format!("{base}/tools")]].concat());
        assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(2), ""), "{look:?}: {wrong:?}");
        assert!(wrong.stderr.contains("no route") && wrong.stderr.contains("is --base"), "{wrong:?}");
        let right = callonce(&[&look[..], &["--base", &base]].concat());
        let code = if matches!(look[0], "get" | "log") { 4 } else { 0 };
        assert_eq!(right.code, Some(code), "{look:?}: {right:?}");
    }
}
