//! Each write, each cut and each sync of a fixed story fails once: nothing is acknowledged that is not durable, nothing is
//! called a failure, the process ends without a second sync, and the next start serves what is true.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callonce::engine::clock::Stopwatch;
use serde_json::Value;

use super::harness::{Answer, CHARGE, Client, Exit, Home, Server, Shim, callonce, until};

/// The part of a server's life in which something fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Where there is no database yet, to the end of its first calls.
    FirstStart,
    /// On what a kill left: a WAL to copy, a call to give up and to run again.
    Restart,
    /// Calls of each kind, one after the other, to the last write of the head file.
    Work,
    /// A large WAL is copied and cut off while the server is idle.
    Tidying,
    /// The last checkpoint and the last words of the head file.
    Stop,
}

const PHASES: [Phase; 5] = [Phase::FirstStart, Phase::Restart, Phase::Work, Phase::Tidying, Phase::Stop];

/// The one operation that fails: in which phase, which (`sync -wal`), and the how-manieth of its kind.
#[derive(Debug, Clone)]
struct Point {
    phase: Phase,
    operation: String,
    nth: usize,
}

const SLEEP: &str = r#"{"tool":"sleep","args":{"seconds":0.02}}"#;
const FAILS_ONCE: &str = r#"{"tool":"fail","args":{"retryable":true,"times":1}}"#;
/// SQLite syncs the folder after it has made a file there, and goes on if that fails; the server syncs it itself, after the
/// last of these files is there and before anything is answered, and does not go on.
const IGNORED: &str = "sync folder";
/// Large requests that together make the WAL worth copying.
const LARGE: usize = 4;
/// Signal 6, by which a process ends itself.
const ABORTED: i32 = 6;
/// Servers at once; they mostly wait.
const AT_ONCE: usize = 4;
/// What is tried of a checkpoint beside a running server, which writes hundreds of pages.
const OF_A_CHECKPOINT: [(&str, &[usize]); 4] =
    [("write db", &[1, 2, 10, 100, 500]), ("sync db", &[1]), ("cut db", &[1]), ("cut -wal", &[1])];

fn large(number: usize) -> String {
    format!(r#"{{"tool":"charge","args":{{"amount":{},"note":"{}"}}}}"#, number + 1, "x".repeat(900_000))
}

/// What is asked of a server in one phase.
fn story(phase: Phase) -> Vec<(String, String)> {
    let ask = |key: &str, body: &str| (key.to_owned(), body.to_owned());
    match phase {
        Phase::FirstStart => vec![ask("first", CHARGE)],
        Phase::Restart => vec![ask("interrupted", SLEEP)],
        Phase::Work => vec![
            ask("charged", CHARGE),
            ask("slept", SLEEP),
            ask("failed", FAILS_ONCE),
            ask("failed", FAILS_ONCE),
            ask("charged", CHARGE),
        ],
        Phase::Tidying => (0..LARGE).map(|number| (format!("large-{number}"), large(number))).collect(),
        Phase::Stop => vec![],
    }
}

/// Databases to begin with.
struct Templates {
    clean: Home,
    killed: Home,
}

impl Templates {
    fn make() -> Self {
        let clean = Home::new();
        let server = clean.serve();
        server.client().settle("before", CHARGE);
        assert_eq!(server.stop().code, Some(0));
        let killed = copy(&clean);
        // Four charges pass the point before the call that does not.
        let server = killed.start().dying_at("worker.after_claim:5").server();
        for number in 0..4 {
            server.client().settle(&format!("kept-{number}"), CHARGE);
        }
        let _ = server.client().try_post("interrupted", SLEEP);
        assert!(server.exit().was_killed());
        Self { clean, killed }
    }

    fn of(&self, phase: Phase) -> Home {
        match phase {
            Phase::FirstStart => Home::new(),
            Phase::Restart => copy(&self.killed),
            Phase::Work | Phase::Tidying | Phase::Stop => copy(&self.clean),
        }
    }
}

fn copy(from: &Home) -> Home {
    let home = Home::new();
    for suffix in ["", "-wal", "-head"] {
        if from.beside(suffix).exists() {
            std::fs::copy(from.beside(suffix), home.beside(suffix)).expect("it can be copied");
        }
    }
    home
}

/// What came of a phase.
struct Played {
    exit: Exit,
    /// Complete answers, by key: the last one counts.
    answers: BTreeMap<String, Answer>,
    /// From the failure to the end of the process, as seen from here.
    took: Duration,
}

/// Plays one phase to its end, or to the server's.
fn play(home: &Home, phase: Phase, shim: &Shim) -> Played {
    std::thread::scope(|scope| {
        let playing = scope.spawn(|| live(home, phase, shim));
        until("something fails, or nothing does", || {
            (shim.after_the_fault().is_some() || playing.is_finished()).then_some(())
        });
        let watch = Stopwatch::start();
        let (exit, answers) = playing.join().expect("the story does not panic");
        Played { exit, answers, took: watch.elapsed() }
    })
}

fn live(home: &Home, phase: Phase, shim: &Shim) -> (Exit, BTreeMap<String, Answer>) {
    let mut answers = BTreeMap::new();
    if matches!(phase, Phase::FirstStart | Phase::Restart) {
        shim.arm();
    }
    let environment = shim.environment();
    let start = environment.iter().fold(home.start(), |start, (name, value)| start.env(name, value));
    let server = match start.attempt() {
        Ok(server) => server,
        Err(exit) => return (exit, answers),
    };
    if matches!(phase, Phase::Work | Phase::Tidying | Phase::Stop) {
        shim.arm();
    }
    let client = server.client();
    for (key, body) in story(phase) {
        let text = super::harness::post_text(&key, "Prefer: wait=60\r\n", &body);
        match client.send(&text) {
            Ok(answer) => drop(answers.insert(key, answer)),
            Err(_) => break,
        }
    }
    match phase {
        Phase::Stop => return (server.stop(), answers),
        // The WAL file is cut off by the checkpoint that comes when nothing else does.
        Phase::Tidying => {
            // It may have come between two requests, where the machine is slow.
            let cut_off = || shim.operations().iter().any(|operation| operation == "cut -wal");
            until("the WAL is cut off, or something fails", || {
                (cut_off() || shim.after_the_fault().is_some()).then_some(())
            });
        }
        Phase::FirstStart | Phase::Restart | Phase::Work => {
            let last = answers.keys().map(|key| last_position(&client, key).unwrap_or_default()).max();
            until("the head file covers every call, or something fails", || {
                (head(home) >= last || shim.after_the_fault().is_some()).then_some(())
            });
        }
    }
    let exit = match shim.after_the_fault() {
        Some(_) if !shim.fault().starts_with(IGNORED) => server.exit(),
        Some(_) | None => still_there(server),
    };
    (exit, answers)
}

/// How far the head file says that the log is durable.
fn head(home: &Home) -> Option<u64> {
    let head = std::fs::read_to_string(home.beside("-head")).unwrap_or_default();
    head.lines().filter_map(|line| line.strip_prefix("position ")?.parse().ok()).max()
}

fn last_position(client: &Client, key: &str) -> std::io::Result<u64> {
    let call = client.try_get(&format!("/v1/tool-calls/by-key/{key}"))?;
    let events = client.try_get(&format!("/v1/tool-calls/{}/events", call.call_id()))?.json();
    let last = events["events"].as_array().and_then(|events| events.last()?["position"].as_u64());
    Ok(last.unwrap_or(u64::MAX))
}

/// Ends a server that nothing has happened to.
fn still_there(server: Server) -> Exit {
    let exit = server.kill();
    assert!(exit.was_killed(), "it ended by itself: {exit:?}");
    exit
}

/// Every operation of a phase in which nothing fails, those of the lock file aside, which is only a courtesy to read.
fn points(templates: &Templates, phase: Phase) -> Vec<Point> {
    let (home, shim) = (templates.of(phase), Shim::new(None));
    play(&home, phase, &shim);
    let mut counts = BTreeMap::<String, usize>::new();
    for operation in shim.operations().into_iter().filter(|operation| !operation.ends_with("-lock")) {
        *counts.entry(operation).or_default() += 1;
    }
    eprintln!("{phase:?}: {counts:?}");
    if phase == Phase::Tidying {
        let point = |operation: &str, nth| Point { phase, operation: operation.into(), nth };
        let some = |(operation, all): (&'static str, &'static [usize])| {
            all.iter().map(move |nth| point(operation, *nth))
        };
        return OF_A_CHECKPOINT.into_iter().flat_map(some).collect();
    }
    let each = |(operation, count): (String, usize)| {
        (1..=count).map(move |nth| Point { phase, operation: operation.clone(), nth })
    };
    counts.into_iter().flat_map(each).collect()
}

/// How the processes ended, and how long the slowest took.
#[derive(Debug, Default)]
struct Tally {
    aborted: usize,
    refused_to_start: usize,
    /// Where SQLite's own sync of the folder failed, which the server's own makes up for.
    went_on: usize,
    acknowledged: usize,
    slowest: Duration,
}

fn strike(templates: &Templates, point: &Point, tally: &Mutex<Tally>) {
    let home = templates.of(point.phase);
    let shim = Shim::new(Some(format!("{} {}", point.operation, point.nth)));
    let played = play(&home, point.phase, &shim);
    let after = shim.after_the_fault().unwrap_or_else(|| panic!("{point:?} was not reached"));

    let Played { exit, answers, took } = played;
    let aborted = exit.signal == Some(ABORTED);
    let went_on = exit.was_killed() && point.operation == IGNORED;
    let refused = exit.code == Some(74) && matches!(point.phase, Phase::FirstStart | Phase::Restart);
    assert!(aborted || refused || went_on, "{point:?}: {exit:?}");
    assert!(went_on || exit.stderr.contains("calls.db"), "{point:?}: it does not say which file: {exit:?}");
    // A database that is being made is rolled back by SQLite itself, syncs included, and there is nothing in it yet.
    let rolled_back = point.phase == Phase::FirstStart && point.operation == "sync db";
    if point.operation.starts_with("sync") && !rolled_back && !went_on {
        assert!(
            !after.contains(&point.operation),
            "{point:?}: a second sync after one that failed: {after:?}"
        );
    }
    for (key, answer) in &answers {
        assert!(answer.status < 300, "{point:?}: {key} was called a failure: {answer:?}");
    }

    let server = home.serve();
    let client = server.client();
    for (key, answer) in &answers {
        let (then, now) = (answer.json(), client.by_key(key).json());
        assert_eq!(now["call_id"], then["call_id"], "{point:?}: {key} was acknowledged");
        assert!(now["version"].as_u64() >= then["version"].as_u64(), "{point:?}: {then} became {now}");
        if then["final"] == true {
            assert_eq!(now, then, "{point:?}");
        }
    }
    for (key, body) in story(point.phase) {
        let settles = || (client.settle(&key, &body).text("status") == "succeeded").then_some(());
        until("the call succeeds", settles);
    }
    let db = home.db();
    db.keeps_the_laws();
    let charges = db.count("SELECT count(*) FROM calls WHERE tool = 'charge'");
    assert_eq!(db.count("SELECT count(*) FROM effects"), charges, "{point:?}");
    drop(db);
    assert_eq!(server.stop().code, Some(0), "{point:?}");
    let path = home.database();
    let verified = callonce(&["verify", "--db", path.to_str().expect("it is plain"), "--output", "json"]);
    assert_eq!(verified.code, Some(0), "{point:?}: {verified:?}");
    assert!(verified.json() != Value::Null);

    let mut tally = tally.lock().expect("nobody panics with it");
    tally.aborted += usize::from(aborted);
    tally.refused_to_start += usize::from(refused);
    tally.went_on += usize::from(went_on);
    tally.acknowledged += answers.len();
    tally.slowest = tally.slowest.max(took);
}

#[test]
fn each_write_and_each_sync_fails_once() {
    let templates = Templates::make();
    let points: Vec<_> = PHASES.into_iter().flat_map(|phase| points(&templates, phase)).collect();
    for expected in ["write db", "sync db", "write -wal", "sync -wal", "write -head", "sync -head"] {
        assert!(points.iter().any(|point| point.operation == expected), "there is no `{expected}`");
    }
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    strike(&templates, point, &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().expect("nobody panicked with it");
    eprintln!("{} points, each reached and failed once: {tally:?}", points.len());
    assert_eq!(tally.aborted + tally.refused_to_start + tally.went_on, points.len());
    // Without these the story would have shown little.
    assert!(
        tally.aborted >= 60 && tally.refused_to_start >= 10 && tally.acknowledged >= 60 && tally.went_on <= 6,
        "{tally:?}"
    );
}
