//! `get`, `list`, `stats`, `log`: the same from a server, from the file beside it, and from the file alone.

use std::path::Path;

use serde_json::Value;

use crate::harness::{CHARGE, Done, Home, callonce, callonce_with};

/// A home with three calls, two of them of one client.
fn filled() -> Home {
    let home = Home::new();
    let server = home.serve();
    server.client().settle("a", CHARGE);
    server
        .client()
        .settle("b", r#"{"tool":"fail","args":{"message":"no\u001b[2J\u009b"},"client_id":"me","seq":1}"#);
    server.client().settle("c", r#"{"tool":"sleep","args":{},"client_id":"me","seq":2}"#);
    assert_eq!(server.stop().code, Some(0));
    home
}

fn look(source: [&str; 2], args: &[&str]) -> Done {
    let done = callonce(&[args, &source].concat());
    assert_eq!(done.stderr, "", "{args:?}");
    done
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a temporary folder has a plain name")
}

#[test]
fn a_server_and_its_file_say_the_same() {
    let home = filled();
    let (database, server) = (home.database(), home.serve());
    let base = format!("http://{}", server.address);
    let id = server.client().by_key("a").call_id();
    let from_server = ["--base", base.as_str()];
    let from_file = ["--db", text(&database)];
    let questions: [&[&str]; 14] = [
        &["get", &id],
        &["get", "--key", "a"],
        &["list"],
        &["list", "--limit", "1"],
        &["list", "--limit", "0"],
        &["list", "--status", "failed"],
        &["list", "--tool", "sleep"],
        &["list", "--client-id", "me"],
        &["list", "--held"],
        &["log", &id],
        &["log", "--key", "a"],
        &["log", "--key", "a", "--at", "2"],
        &["get", "--key", "b"],
        &["get", "--key", "c"],
    ];
    let ask = |source: [&str; 2]| -> Vec<Vec<String>> {
        let formats = ["table", "json", "ndjson"];
        let all = questions.map(|question| {
            let answers = formats.map(|format| look(source, &[question, &["--output", format]].concat()));
            assert!(answers.iter().all(|answer| answer.code == Some(0)), "{answers:?}");
            answers.map(|answer| answer.stdout).to_vec()
        });
        all.to_vec()
    };
    let answers = ask(from_server);
    let documents =
        |answers: &[Vec<String>]| -> Vec<Value> { answers.iter().map(|answer| parsed(&answer[1])).collect() };
    assert_eq!(documents(&answers), documents(&ask(from_file)));

    let keys = |answer: &Vec<String>| -> Vec<String> {
        let Value::Array(calls) = parsed(&answer[1]) else { panic!("{answer:?}") };
        calls.iter().filter_map(|call| call["idem_key"].as_str().map(str::to_owned)).collect()
    };
    let lists: Vec<_> = answers[2..9].iter().map(keys).collect();
    let expected: [&[&str]; 7] = [&["c", "b", "a"], &["c"], &[], &["b"], &["c"], &["c", "b"], &[]];
    assert_eq!(lists, expected);
    let events = parsed(&answers[9][1]);
    let names: Vec<_> = events.as_array().into_iter().flatten().map(|event| event["event"].clone()).collect();
    assert_eq!(names, ["created", "claimed", "succeeded"]);

    let stats = parsed(&look(from_server, &["stats", "--output", "json"]).stdout);
    assert_eq!(stats["by_status"], serde_json::json!({"failed": 1, "succeeded": 2}));
    let counters =
        |stats: &Value| (stats["calls"].clone(), stats["effects"].clone(), stats["attempts"].clone());
    let beside = parsed(&look(from_file, &["stats", "--output", "json"]).stdout);
    assert_eq!(counters(&stats), counters(&beside));
    server.kill();
    assert_eq!(documents(&answers), documents(&ask(from_file)));
    // An address in the environment is for those who name no file.
    let env = [("CALLONCE_BASE", "http://127.0.0.1:1"), ("CALLONCE_OUTPUT", "json")];
    let alone = callonce_with(&env, &["stats", from_file[0], from_file[1]]);
    assert_eq!(counters(&alone.json()), counters(&stats));
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {json}"))
}

#[test]
fn each_format_is_what_it_says() {
    let home = filled();
    let database = home.database();
    let file = ["--db", text(&database)];
    let table = look(file, &["list"]).stdout;
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    let header = ["call_id", "idem_key", "tool", "status", "attempt", "created_at", "updated_at"];
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), header);
    assert!(lines[1..].iter().all(|line| line.trim_start().starts_with("c_")), "{table}");

    let json = look(file, &["list", "--output", "json"]);
    assert_eq!(json.json().as_array().map(Vec::len), Some(3));
    let ndjson = look(file, &["list", "--output", "ndjson"]).stdout;
    let documents: Vec<Value> = ndjson.lines().map(parsed).collect();
    assert_eq!(Value::Array(documents), json.json());

    let log = look(file, &["log", "--output", "ndjson"]).stdout;
    let positions: Vec<_> = log.lines().map(|line| parsed(line)["position"].as_u64()).collect();
    assert_eq!(positions, (1..=9).map(Some).collect::<Vec<_>>());
    assert!(log.lines().all(|line| line.contains("\"call_id\":\"c_")), "{log}");
    assert_eq!(look(file, &["log"]).stdout.lines().count(), 10);
    assert!(look(file, &["stats"]).stdout.contains("calls"));
}

#[test]
fn nothing_that_a_client_sent_and_no_colour_reaches_the_terminal() {
    let home = filled();
    let database = home.database();
    let file = ["--db", text(&database)];
    // Its message would clear the screen.
    for format in ["table", "json", "ndjson"] {
        let shown = look(file, &["get", "--key", "b", "--output", format]).stdout;
        assert!(!shown.contains('\u{1b}'), "{format}: {shown:?}");
        assert!(format != "table" || !shown.contains('\u{9b}'), "{shown:?}");
        assert!(shown.contains("no"), "{shown:?}");
    }
    let env = [("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")];
    for args in [&["--help"][..], &["list", file[0], file[1]], &["get"], &["serve", "--lease", "x"]] {
        let done = callonce_with(&env, args);
        assert!(!done.stdout.contains('\u{1b}') && !done.stderr.contains('\u{1b}'), "{args:?}: {done:?}");
    }
    let server = home.start().env("NO_COLOR", "1").env("CALLONCE_LOG", "debug").server();
    server.client().settle("d", CHARGE);
    let said = server.stop().stderr;
    assert!(said.contains("listening") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn what_is_not_there_has_its_own_code() {
    let home = filled();
    let (database, server) = (home.database(), home.serve());
    let base = format!("http://{}", server.address);
    let absent = "c_00000000000000000000000000000000";
    for source in [["--db", text(&database)], ["--base", &base]] {
        for args in
            [&["get", absent][..], &["get", "--key", "absent"], &["log", absent], &["log", "--key", "absent"]]
        {
            let done = callonce(&[args, &source].concat());
            assert_eq!((done.code, done.stdout.as_str()), (Some(4), ""), "{args:?} {done:?}");
            assert!(done.stderr.contains("not_found"), "{done:?}");
        }
    }
    let nothing = home.folder().join("nothing.db");
    let foreign = home.folder().join("foreign.db");
    let other = rusqlite::Connection::open(&foreign).expect("it can be made");
    other.execute_batch("CREATE TABLE calls (anything)").expect("it is SQL");
    for (path, code) in [(&nothing, 74), (&foreign, 78)] {
        for args in [&["list"][..], &["stats"], &["log"], &["get", absent]] {
            let done = callonce(&[args, &["--db", text(path)]].concat());
            assert_eq!(done.code, Some(code), "{args:?} {done:?}");
            assert!(done.stderr.contains(text(path)), "{done:?}");
        }
    }
    assert!(!nothing.exists(), "a look makes no database");
    assert_eq!(callonce(&["log", "--base", &base]).code, Some(2), "a server shows one call's events");
}
