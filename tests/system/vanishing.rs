//! Clients that go without a word: what they asked for happens or does not, and leaves nothing open behind it.

use std::io::{Read, Write};
use std::time::Duration;

use callonce::engine::clock::Clock;
use rusqlite::Connection;

use super::harness::{CHARGE, Client, Home, all_at_once, post_text, until};

/// Enough chance for a test, from a seed that it prints.
struct Chance(u64);

impl Chance {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        // SplitMix64: any seed is as good as any other.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// The WAL, emptied by another program: possible only if nobody holds a transaction open.
fn checkpoint(home: &Home) -> u64 {
    let other = Connection::open(home.database()).expect("the database opens");
    until("the WAL can be emptied", || {
        let busy = other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        (busy.expect("a checkpoint answers") == 0).then_some(())
    });
    home.beside("-wal").metadata().map_or(0, |wal| wal.len())
}

#[test]
fn two_thousand_clients_vanish_and_nothing_is_left_open() {
    const THREADS: usize = 20;
    const EACH: usize = 100;
    let seed = Clock::System.now().as_micros().unsigned_abs();
    eprintln!("seed {seed}");
    let home = Home::new();
    let server = home.serve();
    let client = server.client();

    let vanished = all_at_once(THREADS, |thread| {
        let mut chance = Chance(seed.wrapping_add(thread as u64));
        (0..EACH).map(|call| vanish(client, &mut chance, &format!("{thread}-{call}"))).collect::<Vec<_>>()
    });

    until("every call has ended", || {
        let stats = client.stats();
        (stats["by_status"]["succeeded"] == stats["calls"]).then_some(())
    });
    let count =
        |when: Vanished| vanished.iter().flatten().filter(|vanished| **vanished >= when).count() as i64;
    let calls = home.db().count("SELECT count(*) FROM calls");
    let range = count(Vanished::WhenAnswered)..=count(Vanished::AfterSending);
    assert!(range.contains(&calls), "{calls} calls, not {range:?}, seed {seed}");
    assert!(*range.start() > 100, "only {range:?} were of any use, seed {seed}");
    assert_eq!(checkpoint(&home), 0, "seed {seed}");
    assert_eq!(client.settle("after", CHARGE).text("status"), "succeeded");
    home.db().keeps_the_laws();
}

/// How far a client had come when it hung up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Vanished {
    WhileSending,
    AfterSending,
    WhenAnswered,
}

/// Sends a call, or a part of one, and hangs up: within 5 ms, or at the first byte of the answer.
fn vanish(client: Client, chance: &mut Chance, key: &str) -> Vanished {
    let text = post_text(key, "", CHARGE);
    let (sent, vanished) = match chance.below(8) {
        0 | 1 => (chance.below(text.len() as u64) as usize, Vanished::WhileSending),
        2 => (text.len(), Vanished::WhenAnswered),
        _ => (text.len(), Vanished::AfterSending),
    };
    let mut stream = client.connect().expect("the server accepts");
    stream.write_all(&text.as_bytes()[..sent]).expect("the server reads");
    if vanished == Vanished::WhenAnswered {
        stream.read_exact(&mut [0]).expect("the server answers");
        return vanished;
    }
    let patience = Duration::from_micros(1 + chance.below(5_000));
    stream.set_read_timeout(Some(patience)).expect("a timeout can be set");
    // Whatever has come by then is not looked at.
    let _ = stream.read(&mut [0; 64]);
    vanished
}

#[test]
fn a_client_that_does_not_read_a_large_answer_holds_no_transaction() {
    const CALLS: usize = 120;
    let home = Home::new();
    let server = home.serve();
    let client = server.client();
    let large = format!(r#"{{"tool":"charge","args":{{"amount":1,"note":"{}"}}}}"#, "x".repeat(150_000));
    for batch in 0..CALLS / 8 {
        all_at_once(8, |number| client.post(&format!("{batch}-{number}"), &large));
    }
    until("every call has ended", || (client.stats()["by_status"]["succeeded"] == CALLS).then_some(()));

    let mut slow = client.connect().expect("the server accepts");
    let list = "GET /v1/tool-calls?limit=500 HTTP/1.1\r\nHost: callonce\r\n\r\n";
    slow.write_all(list.as_bytes()).expect("the server reads");
    slow.read_exact(&mut [0]).expect("the answer has begun");
    assert_eq!(client.settle("beside", CHARGE).text("status"), "succeeded");
    assert_eq!(checkpoint(&home), 0);
    drop(slow);
    home.db().keeps_the_laws();
}
