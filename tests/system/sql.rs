//! Does the SQL that people type work as printed, in their own sqlite3 and beside the running server?

use std::process::Command;

use super::harness::{CHARGE, Home};

/// Two charges and a call that failed once, so that every statement has something to show.
const FAIL_ONCE: &str = r#"{"tool":"fail","args":{"retryable":true,"times":1}}"#;

/// What the server stored, as each statement should print it.
struct Expected {
    statements: Vec<(&'static str, Vec<String>)>,
}

impl Expected {
    /// Fills the database of a server, and foretells.
    fn of(home: &Home) -> Self {
        let server = home.serve();
        let client = server.client();
        let owner = format!("{}:", server.pid());
        let charges = ["demo-1", "demo-2"].map(|key| client.settle(key, CHARGE));
        client.settle("demo-3", FAIL_ONCE);
        let failing = client.settle("demo-3", FAIL_ONCE);
        let ids = charges.each_ref().map(|charge| (charge.call_id(), charge.text("effect_id")));
        let retried = failing.call_id();

        let mut calls: Vec<_> = ids.iter().map(|(id, effect)| format!("{id}|succeeded|1|{effect}")).collect();
        calls.push(format!("{retried}|succeeded|2|"));
        let mut audit = Vec::new();
        for (id, effect) in &ids {
            audit.extend([
                format!("{id}|created|charge"),
                format!("{id}|claimed|{owner}"),
                format!("{id}|succeeded|{effect}"),
            ]);
        }
        audit.extend([
            format!("{retried}|created|fail"),
            format!("{retried}|claimed|{owner}"),
            format!("{retried}|failed|tool_failed"),
            format!("{retried}|retry_reset|client"),
            format!("{retried}|claimed|{owner}"),
            format!("{retried}|succeeded|"),
        ]);
        let statements = vec![
            ("SELECT call_id,status,attempt,effect_id FROM calls;", calls),
            ("SELECT call_id,count(*) FROM effects GROUP BY call_id HAVING count(*)>1;", vec![]),
            ("SELECT call_id,event,detail FROM audit ORDER BY id;", audit),
            (
                "SELECT attempt, count(*) FROM calls GROUP BY attempt ORDER BY attempt;",
                vec!["1|2".into(), "2|1".into()],
            ),
        ];
        let expected = Self { statements };
        // Beside the server, which goes on.
        let db = home.db();
        expected.compare(|sql| db.rows(sql));
        assert_eq!(client.settle("demo-1", CHARGE).body, charges[0].body);
        assert_eq!(server.stop().code, Some(0));
        expected
    }

    /// Lets `ask` answer every statement. The owner of a claim is a pid and an id that was drawn at the start.
    fn compare(&self, ask: impl Fn(&str) -> Vec<String>) {
        for (sql, expected) in &self.statements {
            let mut rows = ask(sql);
            if sql.contains("FROM calls") && sql.contains("effect_id") {
                rows.sort_unstable();
            }
            assert_eq!(rows.len(), expected.len(), "{sql}\n{rows:#?}");
            for (row, expected) in rows.iter().zip(expected) {
                let owner = expected.contains("|claimed|") && row.starts_with(expected.as_str());
                assert!(row == expected || owner, "{sql}\nfound    {row}\nexpected {expected}");
            }
        }
    }
}

#[test]
fn the_printed_statements_work_beside_the_server() {
    Expected::of(&Home::new());
}

#[test]
fn the_printed_statements_work_in_the_sqlite3_program() {
    let sqlite3 = |arguments: &[&str]| Command::new("sqlite3").args(arguments).output();
    if sqlite3(&["-version"]).is_err() {
        eprintln!("skipped: there is no sqlite3 program on this machine");
        return;
    }
    let home = Home::new();
    let expected = Expected::of(&home);
    // A stopped database is one file, and a copy of it is a database.
    let copy = home.folder().join("copy.db");
    std::fs::copy(home.database(), &copy).expect("it can be copied");
    let copy = copy.to_str().expect("a temporary folder has a plain name");
    expected.compare(|sql| {
        let output = sqlite3(&[copy, sql]).expect("it ran a moment ago");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{sql}: {errors}");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    });
    // The guards hold in their hands too.
    for (sql, says) in [
        ("UPDATE audit SET detail = 'x';", "append-only"),
        ("DELETE FROM audit;", "append-only"),
        ("DELETE FROM calls;", "never deleted"),
        ("DELETE FROM effects;", "never deleted"),
    ] {
        let output = sqlite3(&[copy, sql]).expect("it ran a moment ago");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(says), "{sql}: {errors}");
    }
}
