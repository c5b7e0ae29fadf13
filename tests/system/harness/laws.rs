//! The laws in plain SQL: each query finds what breaks one, so a sound database has no rows for any of them.

/// Each law with the query that finds its violations.
pub const LAWS: [(&str, &str); 11] = [
    ("a key leads to one call", "SELECT idem_key FROM calls GROUP BY idem_key HAVING count(*) > 1"),
    ("a call has at most one effect", "SELECT call_id FROM effects GROUP BY call_id HAVING count(*) > 1"),
    (
        "a call has an effect exactly if it succeeded with a tool that has one",
        "SELECT call_id, 'no effect' FROM calls WHERE status = 'succeeded' AND tool IN ('charge', 'send_email')
           AND call_id NOT IN (SELECT call_id FROM effects)
         UNION ALL
         SELECT call_id, 'effect' FROM effects WHERE call_id NOT IN
           (SELECT call_id FROM calls WHERE status = 'succeeded' AND calls.effect_id = effects.effect_id)",
    ),
    (
        "attempts are numbered without a gap",
        "SELECT call_id, attempt, (SELECT count(*) FROM audit a WHERE a.call_id = c.call_id AND event = 'claimed') n
         FROM calls c WHERE attempt <> n",
    ),
    (
        "versions of a call have no gap",
        "SELECT call_id FROM audit GROUP BY call_id HAVING min(version) <> 1 OR max(version) <> count(*)",
    ),
    (
        "positions have no gap",
        "SELECT max(id), count(*) FROM audit HAVING count(*) > 0 AND (min(id) <> 1 OR max(id) <> count(*))",
    ),
    (
        "a call begins with created, and only there",
        "SELECT call_id, version, event FROM audit WHERE (version = 1) <> (event = 'created')",
    ),
    (
        "every call has its events, and every event its call",
        "SELECT call_id, version FROM calls c
           WHERE version <> coalesce((SELECT max(version) FROM audit a WHERE a.call_id = c.call_id), 0)
         UNION ALL
         SELECT call_id, version FROM audit WHERE call_id NOT IN (SELECT call_id FROM calls)",
    ),
    (
        "a call's status is what its last event made it",
        "SELECT call_id, status, event FROM calls JOIN audit USING (call_id, version)
         WHERE status <> CASE event WHEN 'created' THEN 'pending' WHEN 'claimed' THEN 'running'
           WHEN 'retry_reset' THEN 'pending' WHEN 'recover' THEN iif(held_since IS NULL, 'pending', 'running')
           ELSE event END",
    ),
    (
        "success is the end",
        "SELECT a.call_id, b.event FROM audit a JOIN audit b ON b.call_id = a.call_id AND b.version > a.version
         WHERE a.event = 'succeeded'",
    ),
    (
        "the counters count",
        "SELECT name, value FROM counters WHERE value <> CASE
           WHEN name = 'calls' THEN (SELECT count(*) FROM calls)
           WHEN name = 'effects' THEN (SELECT count(*) FROM effects)
           WHEN name = 'held' THEN (SELECT count(*) FROM calls WHERE held_since IS NOT NULL)
           WHEN name LIKE 'status %' THEN (SELECT count(*) FROM calls WHERE 'status ' || status = name)
           WHEN name LIKE 'attempts %' THEN (SELECT count(*) FROM calls WHERE 'attempts ' || attempt = name)
           ELSE -1 END",
    ),
];
