//! `resolve`: a held call is settled through a server, or in the file of one that is stopped.

use callonce::domain::call::Call;
use callonce::domain::policy::Interrupted;
use callonce::store::Store as _;
use callonce::store::record::Snapshot;
use callonce::store::sqlite::{Options, SqliteStore};
use callonce::testing::random_calls::{claim, decided, recover, request, submit};

use crate::harness::{Home, callonce, callonce_with};

/// A home whose database holds as many held calls; the ids of their calls and their keys.
fn with_held(calls: u64) -> (Home, Vec<(String, String)>) {
    let home = Home::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let names = runtime.block_on(async {
        let store = SqliteStore::open(&home.database(), Options::default()).expect("a new file opens");
        let mut names = Vec::new();
        for n in 1..=calls {
            let mut call = Snapshot::absent();
            for command in [submit(&request(n)), claim(2, "w"), recover(40, 1, Interrupted::Hold)] {
                let events = decided(&call.call, command);
                call = store.append(&call, events).await.expect("it is stored");
            }
            assert!(matches!(call.call, Call::Held { .. }));
            names.push((request(n).call_id.to_string(), request(n).key.as_str().to_owned()));
        }
        store.close().await;
        names
    });
    (home, names)
}

#[test]
fn a_held_call_is_settled_by_a_server_and_in_a_file() {
    let (home, held) = with_held(6);
    let database = home.database();
    let file = ["--db", database.to_str().expect("a plain name")];
    let server = home.serve();
    let base = format!("http://{}", server.address);
    let sources = [["--base", base.as_str()], file];
    let mut server = Some(server);
    for (source, held) in sources.into_iter().zip(held.chunks(3)) {
        if source == file {
            let running = server.take().expect("it still runs");
            let refused =
                callonce(&[&["resolve", &held[0].0, "--abandon", "--evidence", "e"], &file[..]].concat());
            assert_eq!(refused.code, Some(75), "{refused:?}");
            assert_eq!(running.stop().code, Some(0));
        }
        let [happened, abandoned, not_happened] = held else { panic!("three") };
        let list = callonce(&[&["list", "--held", "--output", "json"], &source[..]].concat());
        assert!(list.stdout.contains(&happened.0) && list.stdout.contains("owner_gone"), "{list:?}");

        let settle = |args: &[&str]| {
            let evidence = ["--evidence", "- the bank says so", "--who", "ops", "--output", "json"];
            let done = callonce(&[&["resolve"], args, &evidence[..], &source[..]].concat());
            assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
            done.json()
        };
        let call = settle(&[&happened.0, "--happened", "--result", r#"{"paid":-1}"#]);
        assert_eq!((&call["status"], &call["result"]["paid"]), (&"succeeded".into(), &(-1).into()));
        let call = settle(&["--key", &abandoned.1, "--abandon"]);
        assert_eq!(call["error"]["code"], "abandoned");
        assert_eq!(settle(&[&not_happened.0, "--not-happened"])["status"], "pending");

        let again =
            callonce(&[&["resolve", &happened.0, "--abandon", "--evidence", "e"], &source[..]].concat());
        assert_eq!(again.code, Some(2), "{again:?}");
        assert!(again.stderr.contains("not_held") && again.stderr.contains("final"), "{again:?}");
        let log = callonce(&[&["log", &happened.0, "--output", "json"], &source[..]].concat());
        assert!(log.stdout.contains("- the bank says so") && log.stdout.contains(r#""by":"ops""#), "{log:?}");
    }
    // What did not happen runs now.
    let server = home.serve();
    for (_, key) in [&held[2], &held[5]] {
        server.client().reaches(key, "succeeded");
    }
    assert_eq!(server.stop().code, Some(0));
    home.db().keeps_the_laws();
}

#[test]
fn nonsense_is_refused_before_anything_is_asked() {
    let id = format!("c_{}", "0".repeat(32));
    let cases: [(&[&str], &str); 7] = [
        (&["--happened", "--evidence", "e"], "<ID|--key <K>>"),
        (&[&id, "--evidence", "e"], "--abandon"),
        (&[&id, "--happened"], "--evidence"),
        (&[&id, "--happened", "--abandon", "--evidence", "e"], "cannot be used with"),
        (&[&id, "--abandon", "--result", "1", "--evidence", "e"], "--result"),
        (&[&id, "--happened", "--result", "{", "--evidence", "e"], "--result"),
        (&[&id, "--happened", "--evidence", " "], "evidence"),
    ];
    for (args, says) in cases {
        let done = callonce_with(&[("CALLONCE_BASE", "http://127.0.0.1:9")], &[&["resolve"], args].concat());
        assert_eq!(done.code, Some(2), "{args:?}: {done:?}");
        assert!(done.stderr.contains(says), "{args:?}: {done:?}");
    }
    let home = Home::new();
    let nowhere = home.database();
    let file = ["--db", nowhere.to_str().expect("a plain name")];
    let done = callonce(&[&["resolve", &id, "--abandon", "--evidence", "e"], &file[..]].concat());
    assert_eq!(done.code, Some(74), "{done:?}");
    assert!(!nowhere.exists(), "nothing is made");
    assert_eq!(home.serve().stop().code, Some(0));
    let done = callonce(&[&["resolve", &id, "--abandon", "--evidence", "e"], &file[..]].concat());
    assert_eq!(done.code, Some(4), "{done:?}");
}
