//! Can the log be read without the library that wrote it? The same golden bytes, by another implementation of the encoding
//! and another description of the bodies.

use wincode::config::{Configuration, deserialize_exact};
use wincode::{SchemaRead, SchemaWrite};

use crate::codec::{golden, unhex};

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Created {
    call_id: [u8; 16],
    key: String,
    tool: String,
    args: String,
    scheme: u8,
    fingerprint: [u8; 32],
    client_id: Option<String>,
    seq: Option<u64>,
    at: i64,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Claimed {
    at: i64,
    attempt: u32,
    side_effect: bool,
    owner: String,
    lease_until: i64,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Succeeded {
    at: i64,
    attempt: u32,
    result: String,
    effect: Option<Effect>,
    by: By,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Effect {
    amount: Option<i64>,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Failed {
    at: i64,
    attempt: u32,
    code: String,
    message: String,
    retryable: bool,
    cause: Option<String>,
    by: By,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct RetryReset {
    at: i64,
    due: Option<i64>,
    by: By,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Recover {
    at: i64,
    attempt: u32,
    lost: String,
    cause: Cause,
    way: Way,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
enum By {
    Attempt,
    Client,
    Server,
    Settled { who: String, evidence: String },
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
enum Cause {
    LeaseOver,
    OwnerGone,
    TimedOut,
    Panicked,
    OutcomeUnknown,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
enum Way {
    Requeued,
    Held,
}

/// Takes the frame off by hand, and the body by the second decoder.
macro_rules! read {
    ($kind:literal) => {{
        let bytes = unhex(golden()[$kind - 1].1);
        let (header, body) = bytes.split_at(7);
        assert_eq!(header, [&[1, $kind, 1][..], &u32::try_from(body.len()).unwrap().to_le_bytes()].concat());
        deserialize_exact(body, Configuration::default().with_varint_encoding()).unwrap()
    }};
}

/// Microseconds of an instant of the tests' day.
const fn at(seconds: i64) -> i64 {
    1_764_547_200_123_457 + seconds * 1_000_000
}

#[test]
fn another_implementation_reads_every_kind() {
    let created: Created = read!(1);
    assert_eq!(
        created,
        Created {
            call_id: [10, 10, 10, 10, 10, 10, 10, 10, 0, 0, 0, 0, 0, 0, 0, 7],
            key: "demo-1".into(),
            tool: "charge".into(),
            args: r#"{"amount":100}"#.into(),
            scheme: 1,
            fingerprint: unhex("c136471529280eb4c70db92d5b8ff8d553408953a5794966a81ad3d42c83ec5d")
                .try_into()
                .unwrap(),
            client_id: Some("demo".into()),
            seq: Some(300),
            at: at(7),
        }
    );
    let claimed: Claimed = read!(2);
    let owner = "4242-worker".into();
    assert_eq!(claimed, Claimed { at: at(1), attempt: 251, side_effect: true, owner, lease_until: at(31) });
    let succeeded: Succeeded = read!(3);
    let result = r#"{"note":"żółć"}"#.into();
    let effect = Some(Effect { amount: Some(-100) });
    assert_eq!(succeeded, Succeeded { at: at(2), attempt: 1, result, effect, by: By::Attempt });
    let failed: Failed = read!(4);
    assert_eq!(
        failed,
        Failed {
            at: at(3),
            attempt: 20,
            code: "retry_exhausted".into(),
            message: "all 20 attempts are used up".into(),
            retryable: false,
            cause: Some("timeout".into()),
            by: By::Server,
        }
    );
    let reset: RetryReset = read!(5);
    let by = By::Settled { who: "ops".into(), evidence: "ticket 7".into() };
    assert_eq!(reset, RetryReset { at: at(4), due: Some(at(60)), by });
    let recover: Recover = read!(6);
    let (cause, way) = (Cause::OutcomeUnknown, Way::Held);
    assert_eq!(recover, Recover { at: at(5), attempt: 2, lost: "w".into(), cause, way });
}
