//! Output that cannot be written is no success.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::harness::{CHARGE, Home, PROGRAM};

#[test]
fn a_full_disk_behind_stdout_is_told() {
    let home = Home::new();
    let server = home.serve();
    server.client().settle("K", CHARGE);
    let base = format!("http://{}", server.address);
    for args in [
        &["--help"][..],
        &["call", "--help"],
        &["--version"],
        &["help"],
        &["get", "--key", "K", "--base", &base],
        &["list", "--output", "ndjson", "--base", &base],
        &["stats", "--output", "json", "--base", &base],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("Linux has one");
        let output = Command::new(PROGRAM).env_clear().args(args).stdout(full).output().expect("it runs");
        assert_eq!(output.status.code(), Some(74), "{args:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("stdout") && said.contains("No space left"), "{args:?}: {said}");
    }
}

#[test]
fn a_reader_who_has_gone_is_no_failure_of_a_look() {
    for args in [&["--help"][..], &["--version"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        let mut command = Command::new(PROGRAM);
        let status = command.env_clear().args(args).stdout(writer).stderr(Stdio::null()).status();
        assert_eq!(status.expect("it runs").code(), Some(0), "{args:?}");
    }
}
