//! What `call` sends again, and what it says when nobody answers.

use std::io::Read;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

use super::script::{
    LOOK_UP, POST, accepted, answer, bare, call, done, keys, lines, no_such_call, posts_and_a_look_up,
    printed, problem, view,
};
use crate::harness::{Done, Home, Listener, PROGRAM, Reply};

/// The pauses that were announced, in milliseconds.
fn pauses(done: &Done) -> Vec<u64> {
    let of = |line: &str| line.strip_suffix(" ms")?.rsplit(' ').next()?.parse().ok();
    done.stderr.lines().filter_map(of).collect()
}

/// An address where nobody listens.
fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    format!("http://{}", listener.local_addr().expect("it is bound"))
}

#[test]
fn a_key_is_told_before_the_first_try_and_the_same_on_every_other() {
    let home = Home::new();
    let said = home.folder().join("stderr");
    let (tell, told) = channel();
    let mut tries = 0;
    let (of_listener, file) = (tell, said.clone());
    let listener = Listener::serving(move |request| {
        tries += 1;
        let before = std::fs::read_to_string(&file).expect("the command writes there");
        of_listener.send(before).expect("the test waits for the command");
        match tries {
            1 | 2 => Reply::HangUp,
            _ => done(&request.header("idempotency-key").concat()),
        }
    });
    let stderr = std::fs::File::create(&said).expect("it can be made");
    let mut command = Command::new(PROGRAM);
    command.env_clear().args([
        "call",
        "charge",
        "--arg",
        "amount=1",
        "--retries",
        "3",
        "--base",
        &listener.base(),
    ]);
    let ended = command.stdout(Stdio::null()).stderr(stderr).status().expect("the program runs");
    assert_eq!(ended.code(), Some(0));
    let requests = listener.requests();
    let sent = keys(&requests).concat();
    let [first, second, third] = sent[..] else { panic!("{requests:?}") };
    assert!(first == second && second == third && !first.is_empty(), "{requests:?}");
    let told: Vec<_> = told.try_iter().collect();
    assert_eq!(told[0], format!("callonce: key {first}\n"), "what was said before the first try arrived");
    assert!(told[2].contains("retry 2"), "{told:?}");
}

#[test]
fn a_server_without_time_is_asked_again_when_it_says() {
    for (status, retry_after, least) in [
        ("503 Service Unavailable", "Retry-After: 0\r\n", 0),
        ("503 Service Unavailable", "Retry-After: 1\r\n", 1000),
        ("503 Service Unavailable", "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 0),
        ("503 Service Unavailable", "Retry-After: soon\r\n", 0),
        ("429 Too Many Requests", "", 0),
        ("429 Too Many Requests", "Retry-After: 0\r\n", 0),
    ] {
        let listener = Listener::in_turn([answer(status, retry_after, ""), done("K")]);
        let ended = call(&listener.base(), &["charge", "--arg", "amount=1", "--key", "K"]);
        assert_eq!(ended.code, Some(0), "{status} {retry_after}: {ended:?}");
        assert_eq!(keys(&listener.requests()), [["K"], ["K"]], "{status} {retry_after}");
        // On top of what it asks for comes the first pause of our own.
        let [pause] = pauses(&ended)[..] else { panic!("{ended:?}") };
        assert!((least..=least + 100).contains(&pause), "{status} {retry_after}: {ended:?}");
    }
}

#[test]
fn any_other_answer_ends_it_at_once() {
    let of = |status, code| problem(status, "A title", code);
    for (reply, code) in [
        (of("400 Bad Request", "bad_request"), 2),
        (of("409 Conflict", "idempotency_conflict"), 3),
        // Not that there is no such call: a server of ours has the route.
        (bare("404 Not Found"), 2),
        (of("404 Not Found", "not_found"), 2),
        (no_such_call(), 2),
        (bare("403 Forbidden"), 2),
        (bare("302 Found"), 2),
        (of("413 Content Too Large", "bad_request"), 2),
        // What it conflicts with is not known, and so not whether it was accepted.
        (bare("409 Conflict"), 5),
        (bare("408 Request Timeout"), 5),
        (of("500 Internal Server Error", "internal"), 5),
        (bare("502 Bad Gateway"), 5),
        (bare("504 Gateway Timeout"), 5),
        (of("507 Insufficient Storage", "storage_full"), 5),
    ] {
        let listener = Listener::in_turn([reply.clone()]);
        let ended = call(&listener.base(), &["charge", "--arg", "amount=1", "--key", "K"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{reply:?}: {ended:?}");
        assert_eq!(lines(&listener.requests()), [POST], "{reply:?}");
        assert_eq!(ended.stderr.contains("the outcome is unknown"), code == 5, "{reply:?}: {ended:?}");
    }
}

#[test]
fn when_retries_run_out_the_key_is_looked_up() {
    let other = view("K", "succeeded").replace("\"amount\":1", "\"amount\":2");
    let problem = |title| problem("404 Not Found", title, "not_found");
    for (found, code, says) in [
        (answer("200 OK", "", &view("K", "succeeded")), 0, "the server has the call"),
        (answer("200 OK", "", &other), 3, "idempotency_conflict"),
        (no_such_call(), 5, "no call with this key so far"),
        (problem("There is no such route"), 5, "did not help"),
        (bare("404 Not Found"), 5, "did not help"),
        (answer("200 OK", "", "<html>"), 5, "did not help"),
        (answer("200 OK", "", &view("L", "succeeded")), 5, "another key"),
        (Reply::HangUp, 5, "did not help"),
    ] {
        let listener = Listener::in_turn([Reply::HangUp, Reply::HangUp, Reply::HangUp, found.clone()]);
        let ended = call(&listener.base(), &["charge", "--arg", "amount=1", "--key", "K", "--retries", "2"]);
        assert_eq!(ended.code, Some(code), "{found:?}: {ended:?}");
        let requests = listener.requests();
        assert_eq!(lines(&requests), posts_and_a_look_up(3), "{found:?}");
        assert!(keys(&requests)[..3].iter().all(|keys| *keys == ["K"]), "{requests:?}");
        assert!(ended.stderr.contains(says), "{found:?}: no `{says}` in {ended:?}");
        match code {
            0 => assert_eq!(ended.json()["call_id"], "c_1"),
            3 => assert!(!ended.stderr.contains("unknown"), "{ended:?}"),
            _ => {
                assert!(ended.stderr.contains("retry_exhausted: 3 tries"), "{ended:?}");
                assert!(printed(&ended).contains(" --key=K "), "{ended:?}");
            }
        }
    }
}

/// What a look-up finds may still be on its way to its end.
#[test]
fn a_call_that_was_found_is_waited_for() {
    let listener = Listener::in_turn([Reply::HangUp, accepted("K"), Reply::HangUp, done("K")]);
    let ended = call(&listener.base(), &["charge", "--arg", "amount=1", "--key", "K", "--retries", "0"]);
    assert_eq!(lines(&listener.requests()), [POST, LOOK_UP, LOOK_UP, LOOK_UP]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn only_if_nothing_was_ever_sent_it_is_unreachable() {
    let base = nowhere();
    let ended = call(&base, &["charge", "--arg", "amount=1", "--retries", "2"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(69), ""), "{ended:?}");
    assert!(ended.stderr.contains(&base) && pauses(&ended).len() == 2, "{ended:?}");
    assert!(!ended.stderr.contains("unknown"), "{ended:?}");

    // It was there for the first try, and has gone for all others.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let base = format!("http://{}", listener.local_addr().expect("it is bound"));
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client comes");
        let _ = client.read(&mut [0; 1]);
    });
    let ended = call(&base, &["charge", "--arg", "amount=1", "--key", "K"]);
    server.join().expect("the server does not panic");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(5), ""), "{ended:?}");
    assert!(ended.stderr.contains("retry_exhausted") && printed(&ended).contains("--key=K"), "{ended:?}");
}

#[test]
fn a_server_that_does_not_answer_in_time_is_asked_again() {
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n{\"call_id\"";
    for lost in [Reply::Silence, Reply::HangUp, Reply::Answer(half.into()), Reply::Answer("nonsense".into())]
    {
        let listener = Listener::in_turn([lost.clone(), done("K")]);
        let rest = ["charge", "--arg", "amount=1", "--key", "K", "--timeout", "500ms", "--retries", "1"];
        let ended = call(&listener.base(), &rest);
        assert_eq!(ended.code, Some(0), "{lost:?}: {ended:?}");
        assert_eq!(keys(&listener.requests()), [["K"], ["K"]], "{lost:?}");
    }
}

/// A gateway that has lost its server says 404 or 403 of a call which the try before may have brought home.
#[test]
fn after_a_try_without_an_answer_only_a_server_of_ours_can_refuse() {
    for (refusal, code) in [
        (bare("404 Not Found"), 5),
        (bare("403 Forbidden"), 5),
        (bare("302 Found"), 5),
        (problem("400 Bad Request", "The request is malformed", "bad_request"), 2),
        (problem("409 Conflict", "The key was used for another request", "idempotency_conflict"), 3),
    ] {
        for lost in [Reply::HangUp, bare("503 Service Unavailable")] {
            let listener = Listener::in_turn([lost, refusal.clone()]);
            let ended = call(&listener.base(), &["charge", "--arg", "amount=1", "--key", "K"]);
            assert_eq!(ended.code, Some(code), "{refusal:?}: {ended:?}");
            assert_eq!(lines(&listener.requests()), [POST, POST]);
        }
    }
    // Too many requests are refused before anybody looks at them.
    let listener = Listener::in_turn([bare("429 Too Many Requests"), bare("403 Forbidden")]);
    assert_eq!(call(&listener.base(), &["charge", "--key", "K"]).code, Some(2));
}

/// Another program keeps the file locked for longer than the server waits for it.
#[test]
fn a_server_whose_file_is_locked_is_asked_again_with_the_same_key() {
    let home = Home::new();
    let server = home.serve();
    let base = format!("http://{}", server.address);
    server.client().settle("before", r#"{"tool":"charge","args":{"amount":7}}"#);
    let other = rusqlite::Connection::open(home.database()).expect("the database opens");
    other.execute_batch("BEGIN EXCLUSIVE").expect("nobody else holds the lock");
    let mut command = Command::new(PROGRAM);
    command.env_clear().args([
        "call",
        "charge",
        "--arg",
        "amount=1",
        "--key",
        "K",
        "--timeout",
        "30s",
        "--base",
        &base,
    ]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program runs");
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("it is piped");
    let mut buffer = [0; 1024];
    while !said.contains("retry 1 in") {
        let read = stderr.read(&mut buffer).expect("the pipe can be read");
        assert!(read > 0, "it ended: {said}");
        said.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    assert!(said.contains("the server answered 503; retry 1 in 5"), "{said}");
    // Nothing was written, and the next try finds the way free.
    let calls = other.query_row("SELECT count(*) FROM calls", [], |row| row.get::<_, i64>(0));
    assert_eq!(calls.expect("the lock's owner can read"), 1);
    other.execute_batch("ROLLBACK").expect("the lock is given back");
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{said}");
    assert_eq!(home.db().rows("SELECT amount FROM effects ORDER BY amount"), ["1", "7"]);
    home.db().keeps_the_laws();
}
