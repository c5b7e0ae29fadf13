//! A disk that fails once: nothing is acknowledged, nothing is called a failure, and the restart finds what is there.

use super::harness::{CHARGE, Home, Injection};

/// Signal 6, by which a process ends itself.
const ABORTED: Option<i32> = Some(6);

#[test]
fn a_write_or_a_sync_that_fails_is_never_answered() {
    for fault in ["pwrite64:error=EIO:when=1", "fsync,fdatasync:error=EIO:when=1"] {
        let home = Home::new();
        let server = home.serve();
        let before = server.client().settle("before", CHARGE);
        let Some(injection) = Injection::into(server.pid(), fault) else { return };

        let answer = server.client().try_post("during", CHARGE);
        assert!(answer.is_err(), "{fault}: whether it is durable is unknown, but {answer:?}");
        let exit = server.exit();
        assert_eq!(exit.signal, ABORTED, "{fault}: {exit:?}");
        assert!(exit.stderr.contains("calls.db") && exit.stderr.contains("SQLite code"), "{fault}: {exit:?}");
        injection.has_struck();

        let server = home.serve();
        assert_eq!(server.client().post("before", CHARGE).body, before.body);
        assert_eq!(server.client().settle("during", CHARGE).text("status"), "succeeded");
        assert_eq!(home.db().count("SELECT count(*) FROM effects"), 2);
        home.db().keeps_the_laws();
    }
}

#[test]
fn a_write_that_finds_no_space_is_refused_and_the_next_is_not() {
    let home = Home::new();
    let server = home.serve();
    let client = server.client();
    client.settle("before", CHARGE);
    let Some(injection) = Injection::into(server.pid(), "pwrite64:error=ENOSPC:when=1") else { return };
    let refused = client.post("during", CHARGE);
    assert_eq!((refused.status, refused.code().as_str()), (507, "storage_full"));
    injection.has_struck();
    assert_eq!(client.by_key("during").status, 404);
    assert_eq!(client.settle("during", CHARGE).text("status"), "succeeded");
    assert_eq!(client.get("/readyz").status, 200);
    home.db().keeps_the_laws();
}
