//! What is refused before anything happens: each time with the option's name, and nothing sent or stored.

use super::script::{call, done_at_once, keys};
use crate::harness::{Home, Listener, callonce, callonce_with};

#[test]
fn a_duration_without_sense_is_refused_by_its_option() {
    let home = Home::new();
    let database = home.database();
    let database = database.to_str().expect("a temporary folder has a plain name");
    for (command, option) in [
        ("serve", "--lease"),
        ("serve", "--time-limit"),
        ("serve", "--drain"),
        ("call", "--timeout"),
        ("call", "--wait"),
    ] {
        for nonsense in ["0s", "0ms", "-1s", "30", "nonsense", "", "1 fortnight", "1e400s"] {
            let target = if command == "serve" { ["--db", database] } else { ["charge", "--seq=1"] };
            let done = callonce(&[command, target[0], target[1], option, nonsense]);
            assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{option} {nonsense:?}: {done:?}");
            assert!(done.stderr.contains(option), "{option} {nonsense:?}: {done:?}");
        }
    }
    for variable in ["LEASE", "TIME_LIMIT", "DRAIN"] {
        let option = format!("--{}", variable.to_lowercase().replace('_', "-"));
        let variable = format!("CALLONCE_{variable}");
        let done = callonce_with(&[(&variable, "30")], &["serve", "--db", database]);
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.stderr.contains(&option), "{done:?}");
    }
    assert!(!home.database().exists());
}

#[test]
fn settings_that_do_not_go_together_are_refused_before_the_database_is_touched() {
    let home = Home::new();
    for (args, env, says) in [
        (&["--lease", "1s", "--time-limit", "3s"][..], None, &["--lease", "--time-limit", "1s", "3s"][..]),
        (&["--lease", "25s"], None, &["--lease", "--time-limit", "25s"]),
        (&["--chaos"], Some("nowhere"), &["CALLONCE_CRASH_AT", "`nowhere`", "store.before_commit"]),
        (&["--chaos"], Some("store.before_commit.claimed"), &["`store.before_commit.claimed`"]),
        (&["--chaos"], Some("store.before_commit:0"), &["`store.before_commit:0`"]),
        (&["--log", "callonce=loud"], None, &["--log"]),
    ] {
        let start = home.start().args(args.iter().copied());
        let start = match env {
            Some(point) => start.env("CALLONCE_CRASH_AT", point),
            None => start,
        };
        let exit = start.end();
        assert_eq!(exit.code, Some(78), "{args:?} {exit:?}");
        for part in says {
            assert!(exit.stderr.contains(part), "no `{part}` in {exit:?}");
        }
        assert_eq!(std::fs::read_dir(home.folder()).expect("it can be listed").count(), 0, "{args:?}");
    }
    for (args, option) in [
        (&["--workers", "0"][..], "--workers"),
        (&["--workers", "-1"], "--workers"),
        (&["--workers", "18446744073709551615"], "--workers"),
        (&["--page-cache-mib", "0"], "--page-cache-mib"),
        (&["--page-cache-mib", "1GB"], "--page-cache-mib"),
        (&["--max-attempts", "-1"], "--max-attempts"),
        (&["--max-attempts", "0"], "--max-attempts"),
        (&["--listen", "somewhere"], "--listen"),
    ] {
        let exit = home.start().args(args.iter().copied()).end();
        assert_eq!(exit.code, Some(2), "{args:?} {exit:?}");
        assert!(exit.stderr.contains(option), "{exit:?}");
    }
    // Without --chaos nothing is armed, and a server that was meant to die must not run on.
    let exit = home.start().env("CALLONCE_CRASH_AT", "store.before_commit").end();
    assert_eq!(exit.code, Some(2), "{exit:?}");
    assert!(exit.stderr.contains("--chaos"), "{exit:?}");
}

#[test]
fn malformed_requests_are_refused_with_the_place_and_not_sent() {
    let listener = Listener::answering("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n");
    let base = listener.base();
    for (rest, says) in [
        (&["charge", "--args", r#"{"amount":42"#][..], &["--args", "line 1, column 13"][..]),
        (&["charge", "--args", r#"{"amount":100}{"amount":100}"#], &["--args", "line 1, column 15"]),
        (&["charge", "--args", "{\"amount\":100,\n\"amount\":1}"], &["--args", "\"amount\" more than once"]),
        (&["charge", "--args", "[1]"], &["--args", "a list"]),
        (&["charge", "--args", "null"], &["--args", "null"]),
        (&["charge", "--args", "{'amount':1}"], &["--args", "column 2"]),
        (&["charge", "--args", "{}", "--arg", "a=1"], &["--args", "--arg"]),
        (&["charge", "--arg", "amount"], &["--arg", "NAME=VALUE"]),
        (&["charge", "--arg", "amount=1", "--arg", "amount=2"], &["--arg amount", "more than once"]),
        (&["charge", "--key", "two words"], &["--key"]),
        (&["charge", "--key", ""], &["--key"]),
        (&["charge", "--seq", "-1"], &["seq"]),
        (&["charge", "--seq", "9007199254740992"], &["--seq"]),
        (&["no such tool"], &["TOOL"]),
        (&["charge", "--unknown"], &["--unknown"]),
        (&[], &["TOOL"]),
    ] {
        let done = callonce(&[&["call", "--base", &base], rest].concat());
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{rest:?} {done:?}");
        for part in says {
            assert!(done.stderr.contains(part), "{rest:?}: no `{part}` in {}", done.stderr);
        }
    }
    for args in [
        &["get"][..],
        &["get", "c_1"],
        &["get", "c_00000000000000000000000000000000", "--key", "k"],
        &["list", "--status", "done"],
        &["list", "--output", "xml"],
        &["list", "--db", "x.db", "--base", "http://127.0.0.1:1"],
        &["stats", "--base", "ftp://127.0.0.1"],
        &["stats", "--base", "https://127.0.0.1"],
        &["stats", "--base", "http://127.0.0.1/?tenant=1"],
        &["log", "c_00000000000000000000000000000000", "--key", "k"],
        &["nothing"],
        &[],
    ] {
        let base = if args.iter().any(|arg| matches!(*arg, "--base")) || args.len() < 2 {
            &[][..]
        } else {
            &["--base", &base]
        };
        let done = callonce(&[args, base].concat());
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{args:?} {done:?}");
        assert!(!done.stderr.is_empty(), "{args:?}");
    }
    assert!(listener.requests().is_empty());
}

#[test]
fn a_value_that_begins_with_a_dash_is_refused_with_the_way_to_write_it() {
    for args in [&["call", "charge", "--key", "-x"][..], &["get", "--key", "-x"], &["log", "--key", "-x"]] {
        let done = callonce(args);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{args:?}: {done:?}");
        assert!(done.stderr.contains("'--key=-x'") && !done.stderr.contains("-- -x"), "{args:?}: {done:?}");
    }
    // The way it says: it is sent, and so it was taken for a key.
    let listener = done_at_once();
    let ended = call(&listener.base(), &["charge", "--arg", "amount=1", "--key=-x"]);
    assert_eq!((ended.code, keys(&listener.requests())), (Some(0), vec![vec!["-x"]]), "{ended:?}");
}
