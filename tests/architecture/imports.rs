//! Who imports whom? Every path of every file against the rules.

use std::collections::BTreeSet;

use super::rules::{ANY, EXCEPTIONS, FENCES, RULES, Rule};
use super::source::{Named, Token, paths, tokens};
use super::tree::{File, files, read};

/// What is wrong with the file at `path`, given the crates that the package depends on.
fn faults(path: &str, source: &str, dependencies: &BTreeSet<String>) -> Vec<String> {
    let fitting = RULES.iter().filter(|rule| path.starts_with(rule.folder));
    let rule = fitting.max_by_key(|rule| rule.folder.len());
    let tests_from = tests_from(source);
    let mut faults = Vec::new();
    for named in paths(source) {
        let mut fault = |what: String| {
            faults.push(format!("{path}:{}: `{}` {what}", named.line, named.path.join("::")));
        };
        if named.starts_with("super::super") {
            fault("goes up two folders: name it from `crate` down".into());
        }
        for fence in FENCES.iter().filter(|fence| !fence.inside.iter().any(|inside| path.starts_with(inside)))
        {
            for what in fence.what.iter().filter(|what| contains(&named, what)) {
                fault(format!("is fenced in: `{what}` belongs to {}", fence.inside.join(", ")));
            }
        }
        let Some(rule) = rule else { continue };
        if named.line >= tests_from && KIT.iter().any(|kit| named.starts_with(kit)) {
            continue;
        }
        if let Some(floor) = own(path, &named).filter(|_| !may_see(rule, path, &named)) {
            fault(format!("is not for {}: it must not see `{floor}`", rule.folder));
        }
        let head = &named.path[0];
        let allowed = rule.crates == ANY || rule.crates.contains(&head.as_str());
        if dependencies.contains(head) && !allowed {
            fault(format!("is not for {}: it must not use `{head}`", rule.folder));
        }
        for never in rule.never.iter().filter(|never| named.starts_with(never)) {
            fault(format!("is not for {}: it must not name `{never}`", rule.folder));
        }
    }
    let Some(rule) = rule else { return faults };
    for (line, token) in tokens(source) {
        if let Token::Word(word) = &token
            && rule.never.contains(&word.as_str())
        {
            faults.push(format!("{path}:{line}: `{word}` is not for {}", rule.folder));
        }
    }
    faults
}

/// What the tests at the end of a file may use on top.
const KIT: [&str; 3] = ["crate::testing", "proptest", "tempfile"];

/// The line where the tests at the end of a file begin; beyond the last one, if there are none.
fn tests_from(source: &str) -> usize {
    let mut lines = source.lines();
    let begins = lines.position(|line| line == "#[cfg(test)]");
    begins
        .filter(|_| lines.next().is_some_and(|line| line.starts_with("mod ")))
        .map_or(usize::MAX, |at| at + 1)
}

/// The floor of ours that a path leads to, if it leads to one.
fn own<'a>(path: &str, named: &'a Named) -> Option<&'a str> {
    let is_root_of_floor = path.matches('/').count() == 2 && path.ends_with("/mod.rs");
    match named.path.first().map(String::as_str) {
        Some("crate" | "callonce") => named.path.get(1),
        // From the first file of a floor, one step up is the crate.
        Some("super") if is_root_of_floor => named.path.get(1),
        _ => None,
    }
    .map(String::as_str)
    .filter(|name| FLOORS.contains(name))
}

const FLOORS: [&str; 6] = ["domain", "store", "engine", "http", "cli", "testing"];

fn may_see(rule: &Rule, path: &str, named: &Named) -> bool {
    let Some(floor) = own(path, named) else { return true };
    let exception = EXCEPTIONS.iter().find(|exception| (exception.file, exception.floor) == (path, floor));
    match exception {
        Some(exception) => {
            named.path.len() == 3
                && named.path.get(2).is_some_and(|name| exception.names.contains(&name.as_str()))
        }
        None => path.starts_with(&format!("src/{floor}/")) || rule.ours.contains(&floor),
    }
}

/// Whether the segments of `what` stand in the path, one after the other.
fn contains(named: &Named, what: &str) -> bool {
    let what: Vec<&str> = what.split("::").collect();
    named.path.windows(what.len()).any(|window| window.iter().zip(&what).all(|(a, b)| a == b))
}

/// The names by which code calls the crates of a manifest.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim_end_matches(']').ends_with("dependencies");
        } else if let (true, Some((name, _))) = (inside && !line.starts_with('#'), line.split_once('=')) {
            names.insert(name.trim().replace('-', "_"));
        }
    }
    names.remove("callonce");
    names
}

/// The files that rules are about: all that is shipped, and the tests whose worth is what they do not share.
fn ruled() -> Vec<File> {
    ["src", "tests/survival"].into_iter().flat_map(|folder| files(folder, ".rs")).collect()
}

#[test]
fn nothing_flows_up() {
    let dependencies = dependencies(&read("Cargo.toml").expect("a manifest"));
    let sources = ruled();
    let faults: Vec<_> =
        sources.iter().flat_map(|file| faults(&file.path, &file.text, &dependencies)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let named: usize = sources.iter().map(|file| paths(&file.text).len()).sum();
    assert!(named > 1000, "only {named} paths were found in {} files", sources.len());
}

#[test]
fn every_rule_has_a_folder() {
    let sources = ruled();
    for rule in RULES.iter().filter(|rule| super::tree::root().join(rule.folder).exists()) {
        assert!(sources.iter().any(|file| file.path.starts_with(rule.folder)), "{} is empty", rule.folder);
    }
    for folder in super::tree::folders("src") {
        let folder = format!("{folder}/");
        assert!(RULES.iter().any(|rule| folder.starts_with(rule.folder)), "there is no rule for {folder}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, source: &str) -> Vec<String> {
        let crates = ["tokio", "axum", "rusqlite", "bincode", "serde", "uuid", "reqwest"];
        faults(path, source, &crates.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_is_allowed_is_no_fault() {
        for (path, source) in [
            ("src/domain/call.rs", "use super::id::Key; use std::sync::Arc; use serde::Serialize;"),
            ("src/domain/decide/claim.rs", "use crate::domain::call::Call; use super::Event;"),
            ("src/store/memory.rs", "use crate::domain::Call; use super::record; async fn f() { g().await }"),
            ("src/store/mod.rs", "pub mod sqlite; use crate::domain::id; use super::*;"),
            ("src/engine/mod.rs", "use crate::store::Store; use self::clock::Clock; tokio::spawn(x);"),
            ("src/http/wire.rs", "use crate::engine::{Recorded, Snapshot};"),
            ("src/cli/serve.rs", "use crate::store::sqlite::SqliteStore; use crate::http::router::router;"),
            ("src/store/sqlite/row.rs", "use rusqlite::Row; use crate::store::codec;"),
            ("src/engine/clock.rs", "let now = SystemTime::now();"),
            ("src/main.rs", "use callonce::cli;"),
            (
                "src/store/mod.rs",
                "#[cfg(test)]\nmod tests {\nuse crate::testing::given; use tempfile::tempdir; }",
            ),
        ] {
            assert_eq!(found(path, source), Vec::<String>::new(), "{path}");
        }
    }

    #[test]
    fn what_flows_up_is_found() {
        for (path, source, said) in [
            ("src/domain/call.rs", "use crate::engine::Engine;", "must not see `engine`"),
            ("src/domain/call.rs", "use crate::{domain::id, store::Store};", "must not see `store`"),
            ("src/domain/call.rs", "fn f() { crate::store::x() }", "must not see `store`"),
            ("src/domain/mod.rs", "use super::store;", "must not see `store`"),
            ("src/store/mod.rs", "use super::engine::Engine;", "must not see `engine`"),
            ("src/store/memory.rs", "use crate::engine::Engine;", "must not see `engine`"),
            ("src/http/read.rs", "use crate::store::Store;", "must not see `store`"),
            ("src/http/client/mod.rs", "use crate::engine::Until;", "must not see `engine`"),
            ("src/http/wire.rs", "use crate::engine::Engine;", "must not see `engine`"),
            ("src/http/wire.rs", "use crate::engine::*;", "must not see `engine`"),
            ("src/engine/mod.rs", "use crate::testing::given;", "must not see `testing`"),
            ("src/testing/mod.rs", "use crate::cli::run;", "must not see `cli`"),
            (
                "src/store/mod.rs",
                "use crate::testing::given;\n#[cfg(test)]\nmod tests {}",
                "must not see `testing`",
            ),
            (
                "src/store/mod.rs",
                "#[cfg(test)]\nmod tests { use crate::engine::Engine; }",
                "must not see `engine`",
            ),
            ("src/store/sqlite/row.rs", "use super::super::codec;", "goes up two folders"),
        ] {
            let faults = found(path, source);
            assert!(faults.len() == 1 && faults[0].contains(said), "{path} `{source}`: {faults:?}");
        }
    }

    #[test]
    fn what_does_not_belong_there_is_found() {
        for (path, source, said) in [
            ("src/domain/call.rs", "use tokio::sync::Mutex;", "must not use `tokio`"),
            ("src/domain/call.rs", "async fn f() {}", "`async` is not for"),
            ("src/domain/call.rs", "use std::{fmt, fs};", "must not name `std::fs`"),
            ("src/domain/time.rs", "let now = std::time::Instant::now();", "belongs to src/engine/clock.rs"),
            ("src/http/stats.rs", "SystemTime::now()", "belongs to src/engine/clock.rs"),
            ("src/cli/call.rs", "uuid::Uuid::new_v4()", "belongs to src/engine/ids.rs"),
            ("src/engine/mod.rs", "use rusqlite::Connection;", "belongs to src/store/sqlite/"),
            (
                "src/engine/mod.rs",
                "use crate::store::sqlite::SqliteStore;",
                "must not name `crate::store::sqlite`",
            ),
            ("src/store/sqlite/mod.rs", "use crate::store::memory::MemoryStore;", "must not name"),
            ("src/store/projection/mod.rs", "bincode::x()", "belongs to src/store/codec/v1.rs"),
            ("src/http/read.rs", "use reqwest::Client;", "must not use `reqwest`"),
            ("src/engine/wait.rs", "use axum::Router;", "must not use `axum`"),
        ] {
            let faults = found(path, source);
            assert!(faults.iter().any(|fault| fault.contains(said)), "{path} `{source}`: {faults:?}");
        }
    }

    #[test]
    fn a_fault_names_file_and_line() {
        let faults = found("src/domain/call.rs", "//! Calls.\n\nuse crate::http::wire;\n");
        assert!(faults[0].starts_with("src/domain/call.rs:3: `crate::http::wire`"), "{faults:?}");
    }

    #[test]
    fn dependencies_are_read_by_the_names_that_code_uses() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\n# no = 1\nhyper-util = \"1\"\nserde = { version = \"1\" }\n\
                        [dev-dependencies]\ncallonce = { path = \".\" }\ntower = \"1\"\n[profile.dev]\ndebug = 1\n";
        let names: Vec<_> = dependencies(manifest).into_iter().collect();
        assert_eq!(names, ["hyper_util", "serde", "tower"]);
    }
}
