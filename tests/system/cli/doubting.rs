//! An answer that is no call of the key is not believed, and the command that settles it survives a copy and paste.

use std::path::Path;
use std::process::Command;

use super::script::{POST, answer, call, done_at_once, keys, lines, printed, view};
use crate::harness::{Done, Listener, PROGRAM, Reply, callonce};

#[test]
fn a_success_without_a_call_of_the_key_leaves_the_outcome_unknown() {
    let call_of_k = view("K", "succeeded");
    for (status, body, says) in [
        ("200 OK", format!("[{call_of_k}]"), "not a JSON object"),
        ("200 OK", r#"["c_1","K","succeeded",true,null,"charge",{"amount":1}]"#.into(), "not a JSON object"),
        ("200 OK", "<html><body>Welcome</body></html>".into(), "not a JSON object"),
        ("200 OK", String::new(), "not a JSON object"),
        ("204 No Content", String::new(), "not a JSON object"),
        ("200 OK", "{}".into(), "call_id"),
        ("202 Accepted", call_of_k.replace(r#""call_id":"c_1","#, ""), "call_id"),
        ("202 Accepted", call_of_k.replace("c_1", ""), "call_id"),
        ("200 OK", view("L", "succeeded"), "the call of another key"),
        ("201 Created", view("L", "succeeded"), "the call of another key"),
        ("200 OK", view("K", "done"), "status"),
    ] {
        let listener = Listener::in_turn([answer(status, "", &body)]);
        let ended = call(&listener.base(), &["charge", "--arg", "amount=1", "--key", "K"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(5), ""), "{body}: {ended:?}");
        assert!(ended.stderr.contains(says), "{body}: no `{says}` in {ended:?}");
        assert!(printed(&ended).contains("--key=K"), "{body}: {ended:?}");
        assert_eq!(lines(&listener.requests()), [POST], "{body}");
    }
}

/// Runs a line as a person would who has pasted it into a shell.
fn paste(line: &str) -> Done {
    let folder = Path::new(PROGRAM).parent().expect("the program lies in a folder");
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().env("PATH", folder).args(["-c", line]);
    Done::of(shell.output().expect("there is a shell"))
}

#[test]
fn the_printed_command_is_the_same_call_whatever_it_is_made_of() {
    for (key, args) in [
        ("K", r#"{"amount":1}"#),
        ("it's", r#"{"amount":1,"note":"it's 5 o'clock"}"#),
        ("-x", "{}"),
        ("--base", r#"{"a":"$HOME `ls` \"q\" \\ ! * ~"}"#),
        ("$(id)&|<>", r#"{"a":"line\nline","b":"\u001b[2J"}"#),
        ("a\\b", "{\"c\":\"\u{9b}2J\"}"),
    ] {
        let lossy = Listener::in_turn([Reply::HangUp]);
        let key_option = format!("--key={key}");
        let rest = ["charge", "--args", args, &key_option, "--client-id", "a b", "--seq=7", "--retries=0"];
        let ended = call(&lossy.base(), &rest);
        assert_eq!(ended.code, Some(5), "{key}: {ended:?}");
        assert!(!ended.stderr.contains(['\u{1b}', '\u{9b}']), "{ended:?}");
        let sent = lossy.requests();
        assert_eq!(keys(&sent)[0], [key]);

        let listener = done_at_once();
        let pasted = printed(&ended).replace(&lossy.base(), &listener.base());
        let again = paste(&pasted);
        assert_eq!(again.code, Some(0), "{pasted}: {again:?}");
        let requests = listener.requests();
        assert_eq!(keys(&requests).first(), Some(&vec![key]), "{pasted}: {again:?}");
        assert_eq!(requests[0].body, sent[0].body, "{pasted}");
    }
}

#[test]
fn a_look_is_printed_for_what_is_still_open() {
    let running = view("it's", "running");
    let listener = Listener::serving(move |_request| answer("200 OK", "", &running));
    let ended = call(&listener.base(), &["charge", "--key", "it's", "--wait", "1ms"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let look = paste(printed(&ended));
    assert_eq!(look.code, Some(0), "{look:?}");
}

#[test]
fn the_password_of_an_address_is_sent_and_never_shown() {
    let listener = Listener::in_turn([Reply::HangUp]);
    let base = listener.base().replace("http://", "http://me:secret@");
    let ended = callonce(&["call", "charge", "--key", "K", "--retries", "0", "--base", &base]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(printed(&ended).contains("--base='http://me:***@127.0.0.1:"), "{ended:?}");
    // me:secret, as HTTP says it.
    assert_eq!(listener.requests()[0].header("authorization"), ["Basic bWU6c2VjcmV0"]);
    let mut all = vec![ended];
    for base in [
        "http://me:secret@127.0.0.1:1",
        "http://me:secret@127.0.0.1:99999",
        "http://me:secret@127.0.0.1:1/?a",
        "https://me:secret@127.0.0.1:1",
        "me:secret@127.0.0.1:1",
        "http://me:secret@",
    ] {
        for command in [&["call", "charge", "--retries", "0"][..], &["stats"], &["get", "--key", "K"]] {
            let done = callonce(&[command, &["--base", base]].concat());
            assert!(matches!(done.code, Some(2 | 69)), "{base}: {done:?}");
            all.push(done);
        }
    }
    for done in all {
        assert!(!done.stderr.contains("secret") && !done.stdout.contains("secret"), "{done:?}");
    }
}
