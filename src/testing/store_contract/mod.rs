//! Does a store keep its promise? One suite for all of them, written once against the trait.
//!
//! [`store_contract!`](crate::store_contract) makes one test of each case for one store; a store is done when they pass.

#![expect(clippy::unwrap_used, missing_docs, reason = "these are tests, and their names say what they check")]

mod agreement;
mod appends;
mod reads;

pub use agreement::*;
pub use appends::*;
pub use reads::*;

use std::collections::BTreeMap;

use super::random_calls::{
    Chance, LEASE_SECONDS, MAX_ATTEMPTS, at, claim, decided, fail, happening, not_happened, recover, request,
    request_with, retry_at, submit, succeed,
};
use crate::domain::call::{Call, Status};
use crate::domain::command::Command;
use crate::domain::event::Event;
use crate::domain::id::{CallId, ClientId, IdemKey, Position, ToolName, Version};
use crate::domain::policy::Interrupted;
use crate::domain::time::Timestamp;
use crate::store::memory::MemoryStore;
use crate::store::record::{Recorded, Snapshot};
use crate::store::{AppendError, DueCursor, Filter, Stats, Store, StoreError};

/// Makes a module of tests, one for each case of the suite.
///
/// `$fresh` gives an empty store and something that is kept until the test is over.
#[macro_export]
macro_rules! store_contract {
    ($module:ident, $fresh:expr) => {
        $crate::store_contract!(@cases $module, $fresh,
            a_new_call_is_found_by_id_and_by_key,
            what_is_absent_is_nothing,
            a_taken_key_answers_with_its_holder,
            the_same_creation_twice_is_one_call,
            an_id_is_never_used_for_two_keys,
            of_two_appends_at_one_version_one_wins,
            many_at_once_with_one_key_are_one_call,
            an_old_snapshot_changes_nothing,
            a_snapshot_from_another_log_is_corrupt,
            an_illegal_event_is_refused_whole,
            several_events_are_appended_together,
            nothing_to_append_changes_nothing,
            the_late_report_of_the_same_worker_changes_nothing,
            a_late_failure_does_not_touch_a_success,
            a_recovery_that_lost_the_race_changes_nothing,
            the_last_attempt_that_is_given_up_fails,
            a_history_is_read_in_pages,
            the_log_is_read_in_pages,
            a_list_is_newest_first_and_filtered,
            due_calls_come_oldest_first_and_not_before_their_time,
            due_pages_follow_each_other,
            expired_leases_are_found_and_held_calls_are_not,
            stats_of_an_empty_store_are_nothing,
            any_history_reads_as_in_the_reference,
            a_closed_store_is_unavailable,
        );
    };
    (@cases $module:ident, $fresh:expr, $($case:ident),+ $(,)?) => {
        mod $module {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[tokio::test]
                async fn $case() {
                    let (store, _kept) = $fresh;
                    $crate::testing::store_contract::$case(store).await;
                }
            )+
        }
    };
}

/// Appends what `command` leads to.
async fn does<S: Store>(store: &S, before: &Snapshot, command: Command) -> Snapshot {
    let events = decided(&before.call, command);
    store.append(before, events).await.expect("nothing is in the way")
}

/// Call number `n`, just created.
async fn created<S: Store>(store: &S, n: u64) -> Snapshot {
    does(store, &Snapshot::absent(), submit(&request(n))).await
}

fn id(snapshot: &Snapshot) -> CallId {
    snapshot.call.request().expect("it was created").call_id
}

fn key(snapshot: &Snapshot) -> IdemKey {
    snapshot.call.request().expect("it was created").key.clone()
}

async fn loaded<S: Store>(store: &S, snapshot: &Snapshot) -> Snapshot {
    store.load(id(snapshot)).await.expect("the store works").expect("the call is there")
}

async fn log<S: Store>(store: &S) -> Vec<Recorded> {
    store.scan(Position::START, usize::MAX).await.expect("the store works")
}

/// The snapshot in a conflict; anything else fails the test.
fn conflict(result: Result<Snapshot, AppendError>) -> Snapshot {
    match result {
        Err(AppendError::Conflict(current)) => *current,
        other => panic!("a conflict was due, not {other:?}"),
    }
}

fn corrupt(result: Result<Snapshot, AppendError>) -> String {
    match result {
        Err(AppendError::Store(StoreError::Corrupt(problem))) => problem,
        other => panic!("corruption was to be found, not {other:?}"),
    }
}
