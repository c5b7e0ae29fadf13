//! The real process under a wall clock that jumps (libfaketime): back, forward, by years. Nothing is lost, nothing is doubled,
//! and everything ends. The machine's own clock is never set.

use std::path::{Path, PathBuf};

use crate::harness::{CHARGE, Home, Server, callonce, until};

/// Where the clock goes, one after the other, from the true time.
const JUMPS: [&str; 8] = ["+0", "+31", "-3600", "+3650d", "-3650d", "+1", "+18250d", "-2"];

/// The library that shows a process another time.
fn library() -> Option<PathBuf> {
    let places = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let places = places.chain(["/usr/lib".into(), "/usr/local/lib".into()]);
    let found =
        places.map(|place| place.join("faketime/libfaketimeMT.so.1")).find(|library| library.exists());
    if found.is_none() {
        eprintln!("skipped: there is no libfaketime on this machine");
    }
    found
}

/// A server that is shown the time that the file says.
fn serve(home: &Home, library: &Path, clock: &Path) -> Server {
    let text = |path: &Path| path.to_str().expect("a plain name").to_owned();
    home.start()
        .args(["--lease", "3s", "--time-limit", "2s"])
        .env("LD_PRELOAD", &text(library))
        .env("FAKETIME_TIMESTAMP_FILE", &text(clock))
        .env("FAKETIME_NO_CACHE", "1")
        .env("DONT_FAKE_MONOTONIC", "1")
        .server()
}

/// The year in which the call was created.
fn year(call: &serde_json::Value) -> String {
    call["created_at"].as_str().expect("a text")[..4].to_owned()
}

#[test]
fn a_wall_clock_that_jumps_by_seconds_and_years_loses_and_doubles_nothing() {
    let Some(library) = library() else { return };
    let home = Home::new();
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let clock = place.path().join("clock");
    let set = |offset: &str| {
        // Replaced whole, so that the server never reads half of it.
        let new = place.path().join("new");
        std::fs::write(&new, offset).and_then(|()| std::fs::rename(&new, &clock)).expect("it can be written");
    };
    set("+0");
    let mut server = serve(&home, &library, &clock);
    let mut years = Vec::new();
    for (turn, jump) in JUMPS.into_iter().enumerate() {
        let client = server.client();
        let key = |name: &str| format!("{name}-{turn}");
        // Under way when the clock jumps: one runs, one waits to be tried again by its client.
        client.post(&key("running"), r#"{"tool":"sleep","args":{"seconds":0.5}}"#);
        client.reaches(&key("running"), "running");
        let again = r#"{"tool":"fail","args":{"retryable":true,"times":1}}"#;
        client.settle(&key("again"), again);
        set(jump);
        let charged = client.settle(&key("charged"), CHARGE);
        assert_eq!(
            (charged.text("status").as_str(), &charged.json()["attempt"]),
            ("succeeded", &1.into()),
            "{jump}"
        );
        years.push(year(&charged.json()));
        for (name, body) in [("running", r#"{"tool":"sleep","args":{"seconds":0.5}}"#), ("again", again)] {
            let answer = client.settle(&key(name), body);
            assert_eq!(answer.text("status"), "succeeded", "{name} after {jump}: {answer:?}");
        }
        // What died in one year is taken up in the next.
        if turn % 2 == 1 {
            client.post(&key("died"), r#"{"tool":"sleep","args":{"seconds":0.2}}"#);
            client.reaches(&key("died"), "running");
            server.kill();
            set(JUMPS[(turn + 1) % JUMPS.len()]);
            server = serve(&home, &library, &clock);
            assert_eq!(server.client().reaches(&key("died"), "succeeded").json()["attempt"], 2, "{jump}");
        }
    }
    // The server did see other years.
    years.sort_unstable();
    years.dedup();
    assert!(years.len() >= 4, "{years:?}");
    let client = server.client();
    for turn in 0..JUMPS.len() {
        let charged = client.post(&format!("charged-{turn}"), CHARGE);
        assert_eq!((charged.status, charged.header("idempotent-replayed")), (200, Some("true")));
    }
    until("everything has ended", || {
        let stats = client.stats();
        (stats["by_status"]["succeeded"] == stats["calls"]).then_some(())
    });
    assert_eq!(client.stats()["effects"], JUMPS.len());
    assert_eq!(server.stop().code, Some(0));
    home.db().keeps_the_laws();
    let database = home.database();
    let verified = callonce(&["verify", "--db", database.to_str().expect("a plain name")]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
