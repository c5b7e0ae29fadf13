//! Bits that flip, files that are cut short, old copies and deleted WALs, at places drawn by lot: each is refused at start,
//! refused on read, or named by `callonce verify`, and what is answered is never wrong.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use callonce::testing::random_calls::Chance;

use super::harness::{Client, Home, callonce, number, until};

/// Calls in each database: enough for indexes of several levels, few enough to compare each in every round.
const CALLS: usize = 60;
/// Servers at once.
const AT_ONCE: usize = 3;

/// A database whose every answer is known.
struct Original {
    home: Home,
    /// Path of a GET, and the body that is right.
    truth: BTreeMap<String, String>,
    /// An earlier state of the database file, as a backup has it.
    backup: Vec<u8>,
}

/// How a server ends that leaves a database behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Stopped,
    Killed,
}

fn body(number: usize) -> String {
    match number % 6 {
        0 => r#"{"tool":"fail","args":{"message":"no"}}"#.into(),
        1 => r#"{"tool":"sleep","args":{}}"#.into(),
        2 => format!(r#"{{"tool":"send_email","args":{{"to":"a{number}@example.org","subject":"s"}}}}"#),
        3 => format!(r#"{{"tool":"charge","args":{{"amount":{number},"note":"{}"}}}}"#, "n".repeat(3_000)),
        _ => format!(r#"{{"tool":"charge","args":{{"amount":{number}}},"client_id":"c","seq":{number}}}"#),
    }
}

impl Original {
    fn make(end: End) -> Self {
        let home = Home::new();
        let mut server = home.serve();
        let mut backup = Vec::new();
        for number in 0..CALLS {
            let done = server.client().settle(&format!("key-{number}"), &body(number));
            assert!(["succeeded", "failed"].contains(&done.text("status").as_str()), "{done:?}");
            if number == CALLS / 2 {
                assert_eq!(server.stop().code, Some(0));
                backup = std::fs::read(home.database()).expect("it is there");
                server = home.serve();
            }
        }
        let truth = answers(&server.client());
        let events = home.db().count("SELECT count(*) FROM audit");
        let covers = || std::fs::read_to_string(home.beside("-head")).ok();
        until("the head file covers all", || {
            covers().filter(|head| head.contains(&format!("position {events}\n")))
        });
        match end {
            End::Stopped => assert_eq!(server.stop().code, Some(0)),
            End::Killed => assert!(server.kill().was_killed()),
        }
        Self { home, truth, backup }
    }

    fn copy(&self) -> Home {
        let copy = Home::new();
        for suffix in ["", "-wal", "-head"] {
            if self.home.beside(suffix).exists() {
                std::fs::copy(self.home.beside(suffix), copy.beside(suffix)).expect("it can be copied");
            }
        }
        copy
    }
}

/// What every GET of a database says.
fn answers(client: &Client) -> BTreeMap<String, String> {
    let mut paths = vec!["/v1/tool-calls?limit=100".to_owned()];
    for number in 0..CALLS {
        let by_key = format!("/v1/tool-calls/by-key/key-{number}");
        let id = client.get(&by_key).call_id();
        paths.extend([by_key, format!("/v1/tool-calls/{id}"), format!("/v1/tool-calls/{id}/events")]);
    }
    let answer = |path: &String| {
        let answer = client.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.body
    };
    paths.iter().map(|path| (path.clone(), answer(path))).collect()
}

/// Does one damage, and says which.
fn damage(home: &Home, end: End, original: &Original, chance: &mut Chance) -> String {
    let file = match (end, chance.below(10)) {
        (End::Stopped, 0..8) | (End::Killed, 0..3) => "",
        (End::Killed, 3..8) => "-wal",
        (_, _) => "-head",
    };
    let path = home.beside(file);
    let mut bytes = std::fs::read(&path).expect("it is there");
    let length = bytes.len() as u64;
    match chance.below(10) {
        0 if end == End::Stopped => {
            std::fs::write(home.database(), &original.backup).expect("it can be written");
            "an old copy put back".into()
        }
        0 => {
            std::fs::remove_file(home.beside("-wal")).expect("it is there");
            "the WAL deleted".into()
        }
        1 | 2 => {
            let left = chance.below(length);
            cut(&path, left);
            format!("db{file} cut to {left} of {length} bytes")
        }
        _ => {
            let bit = chance.below(length * 8);
            bytes[usize::try_from(bit / 8).expect("a small file")] ^= 1 << (bit % 8);
            std::fs::write(&path, bytes).expect("it can be written");
            format!("bit {bit} of db{file} flipped")
        }
    }
}

fn cut(path: &Path, left: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.and_then(|file| file.set_len(left)).expect("it can be cut");
}

/// By what a damage came out, first of all.
#[derive(Debug, Default)]
struct Tally {
    refused_at_start: usize,
    refused_on_read: usize,
    named_by_verify: usize,
    /// Where nothing is stored, or where it is stored a second time.
    harmless: usize,
    /// Rounds of all kinds that `verify` told of.
    told_by_verify: usize,
    /// Rounds of all kinds in which a call was not found that was there; `verify` told of each.
    not_found: usize,
}

fn round(originals: &[(End, Original); 2], seed: u64, number: usize, tally: &Mutex<Tally>) {
    let mut chance = Chance::new(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
    let (end, original) = &originals[usize::from(chance.below(5) < 2)];
    let home = original.copy();
    let what = damage(&home, *end, original, &mut chance);
    let what = format!("seed {seed}, round {number} ({end:?}): {what}");

    let path = home.database();
    let verified = callonce(&["verify", "--db", path.to_str().expect("it is plain")]);
    let named = verified.code != Some(0);
    tally.lock().expect("nobody panics with it").told_by_verify += usize::from(named);
    let server = match home.start().attempt() {
        Ok(server) => server,
        Err(exit) => {
            assert!([Some(74), Some(78)].contains(&exit.code), "{what}: {exit:?}");
            assert!(exit.stderr.contains("calls.db"), "{what}: it does not say which file: {exit:?}");
            tally.lock().expect("nobody panics with it").refused_at_start += 1;
            return;
        }
    };
    let (mut refused, mut missing) = (0, 0);
    for (path, right) in &original.truth {
        let answer = server.client().get(path);
        match (answer.status, answer.code_if_any().as_str()) {
            (200, _) if answer.body == *right => {}
            (500, "internal") => refused += 1,
            // To whoever asks, this is not there: only an index leads past it.
            (404, "not_found") => missing += 1,
            (200, _) if path.contains('?') && is_a_part(&answer.body, right) => missing += 1,
            _ => panic!("{what}: a wrong answer to {path}: {answer:?} and not {right}"),
        }
    }
    server.kill();
    assert!(missing == 0 || named, "{what}: {missing} answers lack a call, and verify says {verified:?}");
    let mut tally = tally.lock().expect("nobody panics with it");
    tally.not_found += usize::from(missing > 0);
    *match (refused > 0, named) {
        (true, _) => &mut tally.refused_on_read,
        (false, true) => &mut tally.named_by_verify,
        (false, false) => &mut tally.harmless,
    } += 1;
}

/// Whether a list shows only calls that the right one shows, each as it is there.
fn is_a_part(list: &str, right: &str) -> bool {
    let calls = |text: &str| {
        let list: serde_json::Value = serde_json::from_str(text).expect("a list is JSON");
        list["calls"].as_array().cloned().unwrap_or_default()
    };
    let right = calls(right);
    calls(list).iter().all(|call| right.contains(call))
}

#[test]
fn no_damage_makes_an_answer_wrong() {
    let rounds = usize::try_from(number("CALLONCE_SURVIVAL_FLIPS", 100)).expect("it fits");
    let seed = number("CALLONCE_SURVIVAL_SEED", 20_261_203);
    let originals = [End::Stopped, End::Killed].map(|end| (end, Original::make(end)));
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= rounds {
                        return;
                    }
                    round(&originals, seed, number, &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().expect("nobody panicked with it");
    eprintln!("seed {seed}, {rounds} damages: {tally:?}; wrong answers: 0");
    let each = [tally.refused_at_start, tally.refused_on_read, tally.named_by_verify, tally.harmless];
    assert_eq!(each.iter().sum::<usize>(), rounds);
    // Fewer would mean that the places were not drawn from all of the files.
    assert!(
        each[0] >= rounds / 5 && each[1] >= rounds / 20 && tally.told_by_verify >= rounds / 4,
        "{tally:?}"
    );
}
