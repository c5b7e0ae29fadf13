//! Ten thousand idle connections, heads and bodies that never end, readers that hardly read, all at once: a normal client is
//! answered, and the server's memory is bounded.

use callonce::testing::hostile::crowd::{Crowd, Sizes};
use callonce::testing::hostile::figures::{raise_file_limit, status};

use super::size;
use crate::harness::{CHARGE, Home, all_at_once, until};

/// Files that the tests of this process need beside the crowd's.
const OTHER_FILES: u64 = 2_000;
/// What the server may hold at its worst, in KiB.
const MOST_MEMORY: u64 = 300 * 1024;

#[test]
fn a_crowd_of_bad_clients_keeps_nobody_from_an_answer_and_takes_bounded_memory() {
    let wanted = size("CALLONCE_HOSTILE_IDLE", 10_000);
    let room = raise_file_limit().saturating_sub(OTHER_FILES);
    let sizes = Sizes {
        idle: usize::try_from(wanted.min(room)).expect("it fits"),
        half_heads: 200,
        half_bodies: 50,
        slow_readers: 50,
    };
    if wanted > room {
        eprintln!("skipped in part: the limit of open files leaves room for {room} idle connections");
    }
    let home = Home::new();
    let server = home.serve();
    let client = server.client();
    // A page of all of them would be 16 MB, for each slow reader.
    let large = format!(r#"{{"tool":"sleep","args":{{"note":"{}"}}}}"#, "x".repeat(400_000));
    for number in 0..40 {
        client.post(&format!("large-{number}"), &large);
    }

    let crowd = Crowd::gather(server.address, sizes).expect("threads can be started");
    until("the crowd is there", || (crowd.there() >= sizes.total() * 99 / 100).then_some(()));
    all_at_once(4, |thread| {
        for number in 0..50 {
            let key = format!("{thread}-{number}");
            assert_eq!(client.settle(&key, CHARGE).text("status"), "succeeded");
            assert_eq!(client.by_key(&key).status, 200);
        }
    });
    let (there, peak) = (crowd.there(), status(server.pid(), "VmHWM:").expect("Linux tells it"));
    eprintln!("{there} of {sizes:?} beside 200 normal calls; the server held {} MB at most", peak / 1024);
    assert!(there > sizes.total() / 2, "{there} of {sizes:?}");
    assert!(peak < MOST_MEMORY, "{peak} KiB");
    drop(crowd);
    assert_eq!(client.by_key("half").status, 404, "half a call is none");
    assert_eq!(client.stats()["effects"], 200);
    assert_eq!(server.stop().code, Some(0));
    home.db().keeps_the_laws();
}
