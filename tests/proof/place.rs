//! A folder with a database that holds a call in every state, and a hand that meddles with it.

use std::path::{Path, PathBuf};

use callonce::domain::command::Command;
use callonce::domain::id::CallId;
use callonce::domain::law::Violation;
use callonce::domain::policy::Interrupted;
use callonce::store::Store;
use callonce::store::rebuild::Rebuilt;
use callonce::store::record::Snapshot;
use callonce::store::sqlite::rebuild::{self, RebuildError};
use callonce::store::sqlite::{Options, SqliteStore, verify};
use callonce::store::verify::Report;
use callonce::testing::random_calls::{
    Chance, claim, decided, fail, happening, not_happened, recover, request, request_with, retry_at, submit,
    succeed,
};
use rusqlite::Connection;

/// A folder that is gone when the test is over.
pub struct Place {
    folder: tempfile::TempDir,
}

/// The calls of [`every_state`], by what became of them.
pub const SUCCEEDED: u64 = 1;
pub const PENDING: u64 = 2;
pub const RUNNING: u64 = 3;
pub const HELD: u64 = 4;
pub const RETRYABLE: u64 = 5;
pub const FAILED: u64 = 6;
pub const DUE: u64 = 7;
pub const REQUEUED: u64 = 8;
pub const SECOND_TRY: u64 = 9;
pub const WITHOUT_EFFECT: u64 = 10;
/// All of them.
pub const CALLS: u64 = 10;

impl Place {
    /// An empty folder.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A database with a call in every state, at rest.
    pub async fn with_every_state() -> Self {
        let place = Self::new();
        let store = place.open();
        every_state(&store).await;
        store.close().await;
        place
    }

    pub fn database(&self) -> PathBuf {
        self.folder.path().join("calls.db")
    }

    pub fn beside(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("calls.db{suffix}"))
    }

    pub fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.database(), Options::default()).unwrap()
    }

    /// Another program that meddles with the file, past the triggers that guard the log; they are put back afterwards.
    pub fn meddle<T>(&self, hand: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> T {
        let db = Connection::open(self.database()).unwrap();
        let triggers: Vec<(String, String)> = db
            .prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            .and_then(|mut all| all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
            .unwrap();
        triggers.iter().for_each(|(name, _)| db.execute_batch(&format!("DROP TRIGGER {name}")).unwrap());
        let done = hand(&db).unwrap();
        triggers.iter().for_each(|(_, sql)| db.execute_batch(sql).unwrap());
        done
    }

    /// Runs statements past the guards.
    pub fn execute(&self, sql: &str) {
        self.meddle(|db| db.execute_batch(sql));
    }

    pub fn verify(&self) -> Report {
        verify::verify(&self.database(), None, &|_, _| {}).unwrap()
    }

    /// What is wrong; nothing may have stayed unchecked.
    pub fn findings(&self) -> Vec<Violation> {
        let report = self.verify();
        assert_eq!(report.findings.count(), report.findings.first().len() as u64);
        report.findings.first().to_vec()
    }

    pub fn rebuild(&self) -> Result<Rebuilt, RebuildError> {
        rebuild::rebuild(&self.database(), &Options::default(), &|_, _| {})
    }

    pub fn compare(&self) -> Vec<Violation> {
        let compared = rebuild::compare(&self.database(), &Options::default(), &|_, _| {}).unwrap();
        compared.findings.first().to_vec()
    }

    /// Every value of the tables that the log makes, in the order of their rows. A counter that is nothing need not be there.
    pub fn tables(&self) -> Vec<String> {
        tables_of(&self.database())
    }
}

/// See [`Place::tables`].
pub fn tables_of(database: &Path) -> Vec<String> {
    dump(
        database,
        &[
            "SELECT rowid, * FROM calls ORDER BY rowid",
            "SELECT * FROM effects ORDER BY effect_id",
            "SELECT * FROM counters WHERE value <> 0 ORDER BY name",
        ],
    )
}

/// Every value that these statements find.
pub fn dump(database: &Path, statements: &[&str]) -> Vec<String> {
    let db = Connection::open(database).unwrap();
    let mut all = Vec::new();
    for sql in statements {
        let mut statement = db.prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            (0..columns)
                .map(|column| Ok(format!("{:?}", row.get_ref(column)?)))
                .collect::<Result<Vec<_>, _>>()
        });
        all.extend(rows.unwrap().map(|row| row.unwrap().join(" ")));
    }
    all
}

/// The id of call number `n`, as it is stored.
pub fn id(n: u64) -> String {
    call_id(n).to_string()
}

pub fn call_id(n: u64) -> CallId {
    request(n).call_id
}

/// Appends what `command` leads to.
pub async fn does<S: Store>(store: &S, before: &Snapshot, command: Command) -> Snapshot {
    store.append(before, decided(&before.call, command)).await.unwrap()
}

/// A call in every state that there is. Their events are mixed, and end in another order than they began.
pub async fn every_state<S: Store>(store: &S) {
    let mut calls = Vec::new();
    for n in 1..=CALLS {
        let client = (n % 2 == 0).then_some(("agent", n));
        let (key, args) = (format!("key-{n}"), format!(r#"{{"amount":{n},"order":"o-{n}"}}"#));
        let request = request_with(n, &key, "charge", &args, client);
        calls.push(does(store, &Snapshot::absent(), submit(&request)).await);
    }
    let second = |n: u64| 20 + i64::try_from(n).unwrap();
    for n in [9, 8, 7, 6, 5, 4, 3, 1] {
        let call = &mut calls[n as usize - 1];
        *call = does(store, call, claim(second(n), "worker-1")).await;
    }
    let mut then = async |n: u64, command: Command| {
        let call = &mut calls[n as usize - 1];
        *call = does(store, call, command).await;
    };
    then(SECOND_TRY, recover(40, 1, Interrupted::Replay)).await;
    then(SECOND_TRY, claim(41, "worker-2")).await;
    then(SECOND_TRY, succeed(42, 2)).await;
    then(SUCCEEDED, succeed(43, 1)).await;
    then(HELD, recover(44, 1, Interrupted::Hold)).await;
    then(RETRYABLE, fail(45, 1, true)).await;
    then(FAILED, fail(46, 1, false)).await;
    then(DUE, fail(47, 1, true)).await;
    then(REQUEUED, recover(48, 1, Interrupted::Replay)).await;
    calls[DUE as usize - 1] = store.append(&calls[DUE as usize - 1], vec![retry_at(49, 99)]).await.unwrap();
    without_effect(store, &calls[WITHOUT_EFFECT as usize - 1]).await;
}

async fn without_effect<S: Store>(store: &S, call: &Snapshot) {
    use callonce::domain::command::{Claim, Succeed};
    use callonce::domain::json::Canonical;
    use callonce::testing::random_calls::{at, owner, policy};
    let policy = policy(false, Interrupted::Replay);
    let claim = Claim { at: at(50), owner: owner("worker-1"), policy };
    let call = does(store, call, Command::Claim(claim)).await;
    let result = Canonical::parse(r#"{"slept":0}"#).unwrap();
    does(store, &call, Command::Succeed(Succeed { at: at(51), attempt: 1, result, effect: None })).await;
}

/// A long random life of many calls; the same seed gives the same.
pub async fn random_life<S: Store>(store: &S, seed: u64, steps: i64) {
    let mut chance = Chance::new(seed);
    let mut known: Vec<Snapshot> = Vec::new();
    for step in 1..=steps {
        if known.is_empty() || chance.below(4) == 0 {
            let n = known.len() as u64 + 1;
            known.push(does(store, &Snapshot::absent(), submit(&request(n))).await);
            continue;
        }
        let place = usize::try_from(chance.below(known.len() as u64)).unwrap();
        // The clock jumps to and fro: no fold depends on it.
        let seconds = step + i64::try_from(chance.below(100)).unwrap() - 50;
        let events = happening(&mut chance, &known[place].call, seconds);
        known[place] = store.append(&known[place], events).await.unwrap();
    }
}

/// A call that is held and then settled, so that its attempts go on.
pub async fn settled<S: Store>(store: &S, n: u64) -> Snapshot {
    let call = does(store, &Snapshot::absent(), submit(&request(n))).await;
    let call = does(store, &call, claim(60, "worker-1")).await;
    let call = does(store, &call, recover(61, 1, Interrupted::Hold)).await;
    let call = does(store, &call, not_happened(62)).await;
    let call = does(store, &call, claim(63, "worker-1")).await;
    does(store, &call, succeed(64, 2)).await
}

/// A call whose events happened at one instant, the last of them before the first.
pub async fn claimed_earlier<S: Store>(store: &S, n: u64) {
    let call = does(store, &Snapshot::absent(), submit(&request(n))).await;
    let call = does(store, &call, claim(-10, "worker-1")).await;
    does(store, &call, succeed(-10, 1)).await;
}
