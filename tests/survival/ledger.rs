//! The downstream: a process of its own that applies what it is asked to, and keeps the book by which effects are counted.
//!
//! A line is on the disk before it answers. It lies where no fault reaches it, and its process is never killed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::dice::Dice;
use crate::process::{Process, role, say, told};

const BOOK: &str = "CALLONCE_SURVIVAL_BOOK";
const SEED: &str = "CALLONCE_SURVIVAL_LEDGER_SEED";

/// One request, as the book has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, which is the receipt of what was applied.
    pub number: u64,
    pub kind: Kind,
    pub effect_id: String,
    pub call_id: String,
    pub key: String,
    pub amount: u64,
    /// Whether it was applied: a keyed request is, once for each effect id; a blind one always.
    pub applied: bool,
}

/// What a downstream makes of the effect id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It honours it: a second request with it is answered with the first one's receipt.
    Keyed,
    /// It takes no notice, and cannot be asked.
    Blind,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keyed => "keyed",
            Self::Blind => "blind",
        }
    }
}

/// The process, as the one who started it sees it.
pub struct Ledger {
    pub address: SocketAddr,
    _process: Process,
}

impl Ledger {
    pub fn start(book: &Path, seed: u64) -> Self {
        let mut command = role("ledger");
        command.env(BOOK, book).env(SEED, seed.to_string());
        let mut process = Process::start("the ledger", command);
        let address = process.hear_from("it listens", |words| words.strip_prefix("at ")?.parse().ok());
        Self { address, _process: process }
    }
}

/// Reads the book.
pub fn read(book: &Path) -> Vec<Entry> {
    let text = std::fs::read_to_string(book).unwrap_or_else(|error| panic!("{}: {error}", book.display()));
    let lines = text.lines();
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"))).collect()
}

/// The role: applies requests until its stdin is closed.
pub fn keeps() {
    let file = File::create_new(told(BOOK)).expect("the book is new");
    let book = Book { file, receipts: HashMap::new(), last: 0 };
    let seed = told(SEED).parse().expect("a seed is a number");
    let book = Arc::new(Mutex::new((book, Dice::new(seed, 0))));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    say(&format!("at {}", listener.local_addr().expect("it is bound")));
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let book = book.clone();
            std::thread::spawn(move || attend(client, &book));
        }
    });
    // Until the one who started it is gone.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    std::process::exit(0);
}

/// One request a connection: `KIND EFFECT-ID CALL-ID KEY AMOUNT`, answered with `applied NUMBER`, `refused` or nothing.
fn attend(mut client: TcpStream, book: &Mutex<(Book, Dice)>) {
    let mut line = String::new();
    if BufReader::new(&client).read_line(&mut line).is_err() || !line.ends_with('\n') {
        // A request that was cut off was not made.
        return;
    }
    let (receipt, mood) = {
        let mut kept = book.lock().unwrap_or_else(PoisonError::into_inner);
        let mood = Mood::draw(&mut kept.1);
        let applied = !matches!(mood, Mood::Refuses);
        (applied.then(|| kept.0.apply(line.trim_end())), mood)
    };
    let answer = match (receipt, mood) {
        (None, _) => "refused\n".to_owned(),
        (Some(_), Mood::HangsUp) => return,
        (Some(receipt), Mood::Answers(after) | Mood::Slow(after)) => {
            // How long this downstream takes to answer; what it did is done.
            std::thread::sleep(after);
            format!("applied {receipt}\n")
        }
        (Some(_), Mood::Refuses) => unreachable!("what is refused has no receipt"),
    };
    // Whoever asked may have been killed meanwhile.
    let _ = client.write_all(answer.as_bytes());
}

/// What comes of a request: downstreams are slow, busy and cut off.
enum Mood {
    Answers(Duration),
    Slow(Duration),
    /// Applied, but whoever asked is not told.
    HangsUp,
    /// Not applied, and it says so.
    Refuses,
}

impl Mood {
    fn draw(dice: &mut Dice) -> Self {
        match dice.below(100) {
            0..5 => Self::HangsUp,
            5..8 => Self::Refuses,
            // Long enough for many to be under way whenever the server dies.
            8..50 => Self::Slow(Duration::from_millis(dice.between(1, 25))),
            _ => Self::Answers(Duration::ZERO),
        }
    }
}

struct Book {
    file: File,
    /// The receipt of each effect id that a keyed request brought.
    receipts: HashMap<String, u64>,
    last: u64,
}

impl Book {
    /// Applies a request and returns its receipt; durable.
    fn apply(&mut self, request: &str) -> u64 {
        let words: Vec<_> = request.split(' ').collect();
        let [kind, effect_id, call_id, key, amount] = words[..] else { panic!("no request: {request}") };
        let kind = match kind {
            "keyed" => Kind::Keyed,
            "blind" => Kind::Blind,
            _ => panic!("no request: {request}"),
        };
        self.last += 1;
        let known = self.receipts.get(effect_id).copied().filter(|_| kind == Kind::Keyed);
        let entry = Entry {
            number: self.last,
            kind,
            effect_id: effect_id.to_owned(),
            call_id: call_id.to_owned(),
            key: key.to_owned(),
            amount: amount.parse().unwrap_or_else(|error| panic!("{error} in {request}")),
            applied: known.is_none(),
        };
        let line = format!("{}\n", serde_json::to_string(&entry).expect("an entry is JSON"));
        self.file.write_all(line.as_bytes()).expect("the book can be written");
        self.file.sync_data().expect("the book can be synced");
        if kind == Kind::Keyed {
            self.receipts.entry(effect_id.to_owned()).or_insert(self.last);
        }
        known.unwrap_or(self.last)
    }
}
