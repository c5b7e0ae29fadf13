//! A disk that is full: new calls are refused, what runs is recorded, reads go on, and all resumes when there is space again.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::harness::{Answer, CHARGE, Client, Db, SmallDisk, Start, callonce, number, until};

const SLEEP: &str = r#"{"tool":"sleep","args":{"seconds":0.5}}"#;
const SLEEP_SHORT: &str = r#"{"tool":"sleep","args":{"seconds":0.05}}"#;
/// Room for the database, the space that is kept aside, and something to fill.
const MEGABYTES: u32 = 24;

/// Sends new calls until one is refused; returns the keys of the others, and the refusal.
fn until_refused(client: &Client, prefix: &str) -> (Vec<String>, String, Answer) {
    let mut accepted = Vec::new();
    let (key, refused) = until("a call is refused for want of space", || {
        let key = format!("{prefix}-{}", accepted.len());
        let answer = client.post(&key, CHARGE);
        if answer.status == 507 {
            return Some((key, answer));
        }
        assert_eq!(answer.status, 202, "{answer:?}");
        accepted.push(key);
        None
    });
    (accepted, key, refused)
}

#[test]
fn a_full_disk_refuses_new_calls_and_records_what_runs() {
    let Some(disk) = SmallDisk::mount(MEGABYTES) else { return };
    let database = disk.folder().join("calls.db");
    let server = Start::on(&database).server();
    let client = server.client();
    let before = client.settle("before", CHARGE);
    // Its outcome will have to be recorded while there is no space for anything else.
    client.post("running", SLEEP);
    client.reaches("running", "running");

    let filler = disk.fill();
    let (mut accepted, key, answer) = until_refused(&client, "k");
    assert_eq!((answer.code().as_str(), answer.json()["retryable"].as_bool()), ("storage_full", Some(true)));
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert!(!answer.body.contains("calls.db") && !answer.body.contains("SQLite"), "{answer:?}");
    let log = server.says("the store failed");
    assert!(log.contains("calls.db") && log.contains("full (SQLite code 13)"), "{log}");

    // What is there can be read, and what was refused is not there.
    assert_eq!(client.by_key("before").body, before.body);
    assert_eq!(client.by_key(&key).status, 404);
    assert_eq!(client.get("/stats").status, 200);
    assert_eq!(client.get("/v1/tool-calls").status, 200);
    assert_eq!(client.get("/readyz").status, 503);

    assert_eq!(client.reaches("running", "succeeded").json()["attempt"], 1);
    assert_eq!(client.post(&key, CHARGE).status, 507, "the disk is as full as before");

    std::fs::remove_file(filler).expect("it is ours");
    accepted.push(key.clone());
    assert_eq!(client.post(&key, CHARGE).status, 202, "space is back, and nobody restarts anything");
    for key in &accepted {
        assert_eq!(client.settle(key, CHARGE).text("status"), "succeeded");
    }
    assert_eq!(client.get("/readyz").status, 200);
    Db::open(&database).keeps_the_laws();
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_server_that_is_killed_on_a_full_disk_starts_there_again() {
    let Some(disk) = SmallDisk::mount(MEGABYTES) else { return };
    let database = disk.folder().join("calls.db");
    let server = Start::on(&database).server();
    let before = server.client().settle("before", CHARGE);
    // What is in the WAL has to be copied by the next start, which takes more than one step of what is kept aside.
    let note = "n".repeat(900_000);
    for key in ["large-1", "large-2", "large-3"] {
        let large = format!(r#"{{"tool":"charge","args":{{"amount":1,"note":"{note}"}}}}"#);
        assert_eq!(server.client().settle(key, &large).text("status"), "succeeded");
    }
    server.client().post("running", SLEEP);
    server.client().reaches("running", "running");
    let filler = disk.fill();
    let (accepted, key, _) = until_refused(&server.client(), "k");
    server.kill();

    let server = Start::on(&database).server();
    let client = server.client();
    assert_eq!(client.by_key("before").body, before.body);
    // The start has copied the WAL into the database and cut it off, so there may be a little space for a while.
    let (more, again, _) = until_refused(&client, "after");
    std::fs::remove_file(filler).expect("it is ours");
    for key in accepted.iter().chain(&more).chain([&key, &again]) {
        assert_eq!(client.settle(key, CHARGE).text("status"), "succeeded");
    }
    assert_eq!(client.reaches("running", "succeeded").json()["attempt"], 2);
    Db::open(&database).keeps_the_laws();
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_server_that_was_stopped_starts_on_a_full_disk_too() {
    let Some(disk) = SmallDisk::mount(MEGABYTES) else { return };
    let database = disk.folder().join("calls.db");
    let server = Start::on(&database).server();
    let before = server.client().settle("before", CHARGE);
    assert_eq!(server.stop().code, Some(0));
    let filler = disk.fill();
    for command in ["verify", "stats"] {
        let looked = callonce(&[command, "--db", database.to_str().expect("a plain name")]);
        assert_eq!(looked.code, Some(74), "{looked:?}");
        assert!(looked.stderr.contains("no space left") && looked.stderr.contains("make room"), "{looked:?}");
    }

    let server = Start::on(&database).server();
    let client = server.client();
    assert_eq!(client.by_key("before").body, before.body);
    let (accepted, key, _) = until_refused(&client, "k");
    std::fs::remove_file(filler).expect("it is ours");
    for key in accepted.iter().chain([&key]) {
        assert_eq!(client.settle(key, CHARGE).text("status"), "succeeded");
    }
    Db::open(&database).keeps_the_laws();
    assert_eq!(server.stop().code, Some(0));
}

/// Fills of one disk, one after the other; more with `CALLONCE_SURVIVAL_FILLS`.
const FILLS: usize = 10;
/// Clients that send at once.
const CLIENTS: usize = 4;
/// What each sends between two fills, once there is space again.
const BETWEEN: usize = 5;
const CLAIMED: &str = "SELECT count(*) FROM audit WHERE event = 'claimed'";

/// What the clients and the one who fills the disk tell each other.
#[derive(Default)]
struct Story {
    /// The fill that is on or has been, from 1; one beyond the last when all is over.
    fill: AtomicUsize,
    /// Clients that were refused in this fill, and those that were accepted again after it.
    refused: AtomicUsize,
    resumed: AtomicUsize,
    refusals: AtomicUsize,
    acknowledged: Mutex<Vec<(String, &'static str)>>,
}

impl Story {
    /// One client: sends until it is refused, sends the same again until it is not, and goes on.
    fn client(&self, client: &Client, number: usize, fills: usize) {
        for fill in 1..=fills {
            until("the disk is being filled", || (self.fill.load(Ordering::SeqCst) == fill).then_some(()));
            let (mut sent, mut refused) = (0, 0);
            while refused == 0 || sent < refused + BETWEEN {
                let key = format!("load-{fill}-{number}-{sent}");
                let body = if sent % 4 == 3 { SLEEP_SHORT } else { CHARGE };
                until("the call is accepted", || match client.post(&key, body) {
                    answer if answer.status == 202 => Some(()),
                    answer => {
                        assert_eq!(
                            (answer.status, answer.code().as_str()),
                            (507, "storage_full"),
                            "{answer:?}"
                        );
                        if refused == 0 {
                            refused = sent + 1;
                            self.refused.fetch_add(1, Ordering::SeqCst);
                        }
                        self.refusals.fetch_add(1, Ordering::SeqCst);
                        None
                    }
                });
                self.acknowledged.lock().expect("nobody panics with it").push((key, body));
                sent += 1;
            }
            self.resumed.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Waits until a count has reached all clients, and sets it back.
    fn all(count: &AtomicUsize, fact: &str) {
        until(fact, || (count.load(Ordering::SeqCst) == CLIENTS).then_some(()));
        count.store(0, Ordering::SeqCst);
    }
}

#[test]
fn a_disk_that_fills_up_under_load_loses_nothing() {
    let fills = number("CALLONCE_SURVIVAL_FILLS", FILLS as u64) as usize;
    let Some(disk) = SmallDisk::mount(6 * MEGABYTES) else { return };
    let database = disk.folder().join("calls.db");
    let server = Start::on(&database).server();
    let client = server.client();
    let story = Story::default();
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let story = &story;
            scope.spawn(move || story.client(&client, number, fills));
        }
        for fill in 1..=fills {
            let running = format!("running-{fill}");
            client.post(&running, SLEEP);
            client.reaches(&running, "running");
            story.fill.store(fill, Ordering::SeqCst);
            let filler = disk.fill();
            Story::all(&story.refused, "every client has been refused");
            // All that ran is recorded, and nothing is claimed in its place, or it would not stay at none.
            assert_eq!(client.reaches(&running, "succeeded").json()["attempt"], 1);
            until("nothing runs any more", || {
                let running = client.stats()["by_status"]["running"].as_u64();
                (running.unwrap_or_default() == 0).then_some(())
            });
            // A batch that was refused may leave room for a smaller one, and a checkpoint may cut the WAL off.
            let mut keys = (0..).map(|number| format!("full-{fill}-{number}"));
            until("a call is refused, and workers claim nothing", || {
                let claimed = Db::open(&database).count(CLAIMED);
                let key = keys.next().unwrap_or_default();
                if client.post(&key, CHARGE).status != 507 {
                    disk.fill();
                    return None;
                }
                assert_eq!(
                    client.get("/readyz").status,
                    503,
                    "what is recorded in the space kept aside is no sign of room"
                );
                assert_eq!(client.by_key(&key).status, 404);
                (Db::open(&database).count(CLAIMED) == claimed).then_some(())
            });
            assert_eq!(client.by_key(&running).text("status"), "succeeded");
            std::fs::remove_file(filler).expect("it is ours");
            Story::all(&story.resumed, "every client goes on");
        }
    });
    let acknowledged = story.acknowledged.into_inner().expect("nobody panicked with it");
    for (key, body) in &acknowledged {
        let done = client.settle(key, body);
        assert_eq!(
            (done.text("status").as_str(), &done.json()["attempt"]),
            ("succeeded", &1.into()),
            "{done:?}"
        );
    }
    let refusals = story.refusals.into_inner();
    eprintln!("{fills} fills: {} calls accepted and done, {refusals} refused, 0 lost", acknowledged.len());
    assert!(acknowledged.len() >= fills * CLIENTS * BETWEEN && refusals >= fills * CLIENTS);
    is_sound(&database);
    assert_eq!(server.stop().code, Some(0));
}

fn is_sound(database: &Path) {
    let db = Db::open(database);
    db.keeps_the_laws();
    let charges = db.count("SELECT count(*) FROM calls WHERE tool = 'charge' AND status = 'succeeded'");
    assert_eq!(db.count("SELECT count(*) FROM effects"), charges);
}
