//! Whatever is changed in a file behind callonce's back, verify finds it and names it: law, call, version and column.

use callonce::domain::id::{Position, Version};
use callonce::domain::law::{Law, Violation};

use crate::place::{FAILED, HELD, PENDING, Place, RUNNING, SECOND_TRY, SUCCEEDED, WITHOUT_EFFECT, id};

/// What is done to a database, and what has to be told of it.
struct Deed {
    /// `{ID}` stands for the call's id.
    sql: &'static str,
    law: Law,
    call: Option<u64>,
    version: Option<u64>,
    column: &'static str,
}

const fn deed(sql: &'static str, law: Law, call: u64, version: Option<u64>, column: &'static str) -> Deed {
    Deed { sql, law, call: Some(call), version, column }
}

const TRUTH: Law = Law::LogIsTruth;

const DEEDS: [Deed; 38] = [
    // The log.
    deed(
        "UPDATE audit SET hash = zeroblob(32) WHERE call_id = '{ID}' AND version = 2",
        TRUTH,
        SUCCEEDED,
        Some(2),
        "audit.hash",
    ),
    deed(
        "UPDATE audit SET hash = x'00' WHERE call_id = '{ID}' AND version = 1",
        TRUTH,
        PENDING,
        Some(1),
        "audit.hash",
    ),
    deed(
        "UPDATE audit SET ts = ts + 0.000001 WHERE call_id = '{ID}' AND version = 3",
        TRUTH,
        SUCCEEDED,
        Some(3),
        "audit.ts",
    ),
    deed(
        "UPDATE audit SET detail = 'sleep' WHERE call_id = '{ID}' AND version = 1",
        TRUTH,
        HELD,
        Some(1),
        "audit.detail",
    ),
    deed(
        "UPDATE audit SET detail = NULL WHERE call_id = '{ID}' AND version = 2",
        TRUTH,
        HELD,
        Some(2),
        "audit.detail",
    ),
    deed(
        "UPDATE audit SET event = 'failed' WHERE call_id = '{ID}' AND version = 3",
        TRUTH,
        SUCCEEDED,
        Some(3),
        "audit.event",
    ),
    deed(
        "UPDATE audit SET event = 'archived_v9' WHERE call_id = '{ID}' AND version = 3",
        TRUTH,
        SUCCEEDED,
        Some(3),
        "audit.event",
    ),
    deed(
        "UPDATE audit SET payload = x'' WHERE call_id = '{ID}' AND version = 2",
        TRUTH,
        SUCCEEDED,
        Some(2),
        "audit.payload",
    ),
    deed(
        "UPDATE audit SET payload = CAST(payload || x'00' AS BLOB) WHERE call_id = '{ID}' AND version = 2",
        TRUTH,
        SUCCEEDED,
        Some(2),
        "audit.payload",
    ),
    deed(
        "UPDATE audit SET payload = CAST('text' AS TEXT) WHERE call_id = '{ID}' AND version = 2",
        TRUTH,
        SUCCEEDED,
        Some(2),
        "audit.payload",
    ),
    deed(
        "UPDATE audit SET version = 4 WHERE call_id = '{ID}' AND version = 3",
        TRUTH,
        SUCCEEDED,
        Some(4),
        "version",
    ),
    deed("DELETE FROM audit WHERE call_id = '{ID}' AND version = 2", TRUTH, SECOND_TRY, Some(3), "version"),
    deed("DELETE FROM audit WHERE call_id = '{ID}' AND version = 1", TRUTH, PENDING, None, "calls"),
    deed("DELETE FROM audit WHERE call_id = '{ID}' AND version = 1", TRUTH, RUNNING, Some(2), "version"),
    deed(
        "DELETE FROM audit WHERE call_id = '{ID}' AND version = 3",
        TRUTH,
        SUCCEEDED,
        Some(2),
        "calls.status",
    ),
    // Two events of a call change places, with all that they say.
    deed(
        "UPDATE audit SET version = 0 WHERE call_id = '{ID}' AND version = 2; \
         UPDATE audit SET version = 2 WHERE call_id = '{ID}' AND version = 3; \
         UPDATE audit SET version = 3 WHERE call_id = '{ID}' AND version = 0",
        TRUTH,
        SECOND_TRY,
        Some(3),
        "position",
    ),
    // The calls.
    deed(
        "UPDATE calls SET status = 'failed' WHERE call_id = '{ID}'",
        TRUTH,
        SUCCEEDED,
        Some(3),
        "calls.status",
    ),
    deed(
        "UPDATE calls SET result_json = '{}' WHERE call_id = '{ID}'",
        TRUTH,
        SUCCEEDED,
        Some(3),
        "calls.result_json",
    ),
    deed(
        "UPDATE calls SET error_json = replace(error_json, 'false', 'true') WHERE call_id = '{ID}'",
        TRUTH,
        FAILED,
        Some(3),
        "calls.error_json",
    ),
    deed("UPDATE calls SET attempt = 0 WHERE call_id = '{ID}'", TRUTH, SECOND_TRY, Some(5), "calls.attempt"),
    deed(
        "UPDATE calls SET lease_until = lease_until + 1 WHERE call_id = '{ID}'",
        TRUTH,
        RUNNING,
        Some(2),
        "calls.lease_until",
    ),
    deed(
        "UPDATE calls SET held_reason = 'timeout' WHERE call_id = '{ID}'",
        TRUTH,
        HELD,
        Some(3),
        "calls.held_reason",
    ),
    deed(
        "UPDATE calls SET open_attempt = 0 WHERE call_id = '{ID}'",
        TRUTH,
        RUNNING,
        Some(2),
        "calls.open_attempt",
    ),
    deed("UPDATE calls SET version = 7 WHERE call_id = '{ID}'", TRUTH, PENDING, Some(1), "calls.version"),
    deed(
        "UPDATE calls SET checksum = checksum + 1 WHERE call_id = '{ID}'",
        TRUTH,
        PENDING,
        Some(1),
        "calls.checksum",
    ),
    deed(
        "UPDATE calls SET idem_key = 'key-99' WHERE call_id = '{ID}'",
        TRUTH,
        PENDING,
        Some(1),
        "calls.idem_key",
    ),
    deed(
        "UPDATE calls SET args_json = '{\"amount\":99}' WHERE call_id = '{ID}'",
        TRUTH,
        PENDING,
        Some(1),
        "calls.args_json",
    ),
    deed(
        "UPDATE calls SET fingerprint = replace(fingerprint, '0', '1') WHERE call_id = '{ID}'",
        TRUTH,
        PENDING,
        Some(1),
        "calls.fingerprint",
    ),
    deed("UPDATE calls SET tool = 7 WHERE call_id = '{ID}'", TRUTH, PENDING, Some(1), "calls.tool"),
    deed("DELETE FROM calls WHERE call_id = '{ID}'", TRUTH, HELD, None, "calls"),
    // The effects.
    deed("UPDATE effects SET amount = 8 WHERE call_id = '{ID}'", TRUTH, SUCCEEDED, Some(3), "effects.amount"),
    deed(
        "UPDATE effects SET amount = 8 WHERE call_id = '{ID}'",
        Law::OneEffectPerCall,
        SUCCEEDED,
        None,
        "effects.amount",
    ),
    deed(
        "UPDATE effects SET tool = 'refund' WHERE call_id = '{ID}'",
        TRUTH,
        SUCCEEDED,
        Some(3),
        "effects.tool",
    ),
    deed(
        "UPDATE effects SET created_at = 0 WHERE call_id = '{ID}'",
        TRUTH,
        SUCCEEDED,
        Some(3),
        "effects.created_at",
    ),
    deed("DELETE FROM effects WHERE call_id = '{ID}'", Law::OneEffectPerCall, SUCCEEDED, None, "effects"),
    deed(
        "INSERT INTO effects VALUES ('eff_' || substr('{ID}', 3), '{ID}', 'charge', 7, 1.0)",
        Law::OneEffectPerCall,
        FAILED,
        None,
        "effects",
    ),
    deed(
        "INSERT INTO effects VALUES ('eff_' || substr('{ID}', 3), '{ID}', 'charge', 7, 1.0)",
        Law::OneEffectPerCall,
        WITHOUT_EFFECT,
        None,
        "effects",
    ),
    deed(
        "PRAGMA ignore_check_constraints = 1; UPDATE effects SET effect_id = 'eff_other' WHERE call_id = '{ID}'",
        Law::OneEffectPerCall,
        SUCCEEDED,
        None,
        "effects.effect_id",
    ),
];

impl Deed {
    fn is_told(&self, told: &Violation) -> bool {
        told.law == self.law
            && told.call == self.call.map(id)
            && told.version == self.version.map(Version)
            && told.member == self.column
    }
}

#[tokio::test]
async fn each_deed_is_found_and_named() {
    for deed in DEEDS {
        let place = Place::with_every_state().await;
        let name = deed.call.map(id).unwrap_or_default();
        let sql = deed.sql.replace("{ID}", &name);
        place.execute(&sql);
        let findings = place.findings();
        assert!(findings.iter().any(|told| deed.is_told(told)), "{sql}\n{findings:#?}");
        let others = findings.iter().filter(|told| told.call.as_ref().is_some_and(|call| *call != name));
        assert_eq!(others.collect::<Vec<_>>(), [] as [&Violation; 0], "{sql}: no other call is blamed");
    }
}

/// Each bit of each payload of a call counts.
#[tokio::test]
async fn a_flipped_bit_of_a_payload_is_found() {
    let place = Place::with_every_state().await;
    let name = id(SUCCEEDED);
    let payload: Vec<u8> = place.meddle(|db| {
        let sql = "SELECT payload FROM audit WHERE call_id = ?1 AND version = 2";
        db.query_row(sql, [&name], |row| row.get(0))
    });
    let store = |payload: &[u8]| {
        place.meddle(|db| {
            let sql = "UPDATE audit SET payload = ?2 WHERE call_id = ?1 AND version = 2";
            db.execute(sql, (&name, payload))
        });
    };
    for bit in (0..payload.len() * 8).step_by(7) {
        let mut flipped = payload.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        store(&flipped);
        let findings = place.findings();
        let told = findings.iter().any(|told| {
            told.call.as_ref() == Some(&name)
                && told.version == Some(Version(2))
                && matches!(told.member.as_ref(), "audit.payload" | "audit.hash")
        });
        assert!(told, "bit {bit}: {findings:#?}");
    }
    store(&payload);
    assert_eq!(place.findings(), []);
}

#[tokio::test]
async fn what_belongs_to_no_call_of_the_log_is_found() {
    let stranger = "c_ffffffffffffffffffffffffffffffff";
    let rows = [
        (
            format!(
                "INSERT INTO calls SELECT '{stranger}', 'k', fingerprint, client_id, seq, tool, args_json, status, \
             result_json, error_json, attempt, lease_until, owner, effect_id, created_at, updated_at, version, chain, \
             held_since, held_reason, due_at, open_attempt, effect_amount, fingerprint_scheme, checksum FROM calls LIMIT 1"
            ),
            "calls",
        ),
        (
            format!("INSERT INTO effects VALUES ('eff_{}', '{stranger}', 'charge', 1, 1.0)", &stranger[2..]),
            "effects",
        ),
        (
            format!(
                "INSERT INTO audit (ts, call_id, event, detail, version, payload, hash) \
             SELECT ts, '{stranger}', event, detail, version, payload, hash FROM audit LIMIT 1"
            ),
            "call_id",
        ),
    ];
    for (sql, column) in rows {
        let place = Place::with_every_state().await;
        place.execute(&sql);
        let findings = place.findings();
        let told = |told: &Violation| told.call.as_deref() == Some(stranger) && told.member == column;
        assert!(findings.iter().any(told), "{sql}\n{findings:#?}");
    }
}

#[tokio::test]
async fn an_id_that_is_none_is_found() {
    let place = Place::with_every_state().await;
    place.execute(&format!("UPDATE audit SET call_id = 'c_1' WHERE call_id = '{}'", id(PENDING)));
    let findings = place.findings();
    assert!(findings.iter().any(|told| told.call.as_deref() == Some("c_1") && told.member == "call_id"));
    assert!(findings.iter().any(|told| told.call == Some(id(PENDING)) && told.member == "calls"));
}

#[tokio::test]
async fn counters_that_are_off_are_found() {
    for (sql, member) in [
        ("UPDATE counters SET value = value + 1 WHERE name = 'calls'", "counters.calls"),
        (
            "UPDATE counters SET value = value - 1 WHERE name = 'status succeeded'",
            "counters.status succeeded",
        ),
        ("DELETE FROM counters WHERE name = 'effects'", "counters.effects"),
        ("INSERT INTO counters VALUES ('attempts 17', 1)", "counters.attempts 17"),
        ("INSERT INTO counters VALUES ('likes', 1)", "counters.likes"),
        ("UPDATE counters SET value = 'ten' WHERE name = 'calls'", "counters.calls"),
    ] {
        let place = Place::with_every_state().await;
        place.execute(sql);
        let findings = place.findings();
        assert_eq!(findings.len(), 1, "{sql}: {findings:#?}");
        assert_eq!((findings[0].member.as_ref(), findings[0].call.as_ref()), (member, None), "{sql}");
    }
}

#[tokio::test]
async fn a_guard_that_is_gone_is_found() {
    for (sql, member) in [
        ("DROP TRIGGER audit_is_never_deleted", "schema.trigger audit_is_never_deleted"),
        ("DROP INDEX idx_calls_ready", "schema.index idx_calls_ready"),
        (
            "DROP INDEX idx_calls_held; CREATE INDEX idx_calls_held ON calls(status)",
            "schema.index idx_calls_held",
        ),
    ] {
        let place = Place::with_every_state().await;
        rusqlite::Connection::open(place.database()).unwrap().execute_batch(sql).unwrap();
        let findings = place.findings();
        assert_eq!(findings.iter().map(|told| told.member.as_ref()).collect::<Vec<_>>(), [member], "{sql}");
    }
    let place = Place::with_every_state().await;
    place.execute("CREATE INDEX of_my_own ON calls(tool)");
    assert_eq!(place.findings(), [], "an index more is nobody's business");
}

/// A table without its constraints can hold two effects of one call.
#[tokio::test]
async fn a_second_effect_is_found_where_the_constraint_is_gone() {
    let place = Place::with_every_state().await;
    place.execute(&format!(
        "ALTER TABLE effects RENAME TO old; CREATE TABLE effects (effect_id, call_id, tool, amount, created_at); \
         INSERT INTO effects SELECT * FROM old; DROP TABLE old; \
         INSERT INTO effects SELECT 'eff_2', call_id, tool, amount, created_at FROM effects WHERE call_id = '{}'",
        id(SUCCEEDED)
    ));
    let report = place.verify();
    assert!(report.findings.first().iter().any(|told| told.member == "schema.table effects"));
    assert_eq!(report.unchecked.len(), 1);
    let compared = place.compare();
    assert!(compared.iter().any(|told| told.member == "effects"), "{compared:#?}");
}

#[tokio::test]
async fn many_are_counted_and_few_are_told() {
    let place = Place::with_every_state().await;
    place.execute("UPDATE audit SET ts = 0, detail = 'x'");
    let report = place.verify();
    assert_eq!(report.findings.first().len(), 20);
    assert_eq!(report.findings.count(), report.events * 2);
    assert!(report.findings.first().is_sorted_by_key(|told| (told.call.clone(), told.version)));
}

#[tokio::test]
async fn the_first_event_of_a_call_tells_where() {
    let place = Place::with_every_state().await;
    place.execute(&format!("UPDATE audit SET ts = 0 WHERE call_id = '{}' AND version = 1", id(PENDING)));
    let findings = place.findings();
    assert_eq!(findings[0].position, Some(Position(PENDING)));
    let told = findings[0].to_string();
    assert!(told.contains("L7") && told.contains(&id(PENDING)) && told.contains("version 1"), "{told}");
    assert!(told.contains("audit.ts") && told.contains("position 2"), "{told}");
}
