//! Are an event's bytes the ones that were promised, and is everything else refused?

use callonce::domain::call::{Attempt, Effect, Failure};
use callonce::domain::event::{Event, Interruption, Verdict, Way};
use callonce::domain::json::Canonical;
use callonce::store::codec::{CodecError, decode, encode};
use callonce::testing::random_calls::{at, owner, request_with};

/// Bytes before the body: format, kind, schema version, length.
const HEADER: usize = 7;

/// One event of each kind, with the bytes it has had since the first release. They never change: logs that hold them are
/// out there.
pub fn golden() -> [(Event, &'static str); 6] {
    [
        (
            Event::Created {
                request: request_with(7, "demo-1", "charge", r#"{"amount":100}"#, Some(("demo", 300))),
            },
            "010101610000000a0a0a0a0a0a0a0a00000000000000070664656d6f2d31066368617267650e7b22616d6f756e74223a\
             3130307d01c136471529280eb4c70db92d5b8ff8d553408953a5794966a81ad3d42c83ec5d010464656d6f01fb2c01fd\
             02a4f052b1890c00",
        ),
        (
            Event::Claimed {
                at: at(1),
                attempt: Attempt { number: 251, side_effect: true },
                owner: owner("4242-worker"),
                lease_until: at(31),
            },
            "01020122000000fd02893952b1890c00fbfb00010b343234322d776f726b6572fd0210cd55b1890c00",
        ),
        (
            Event::Succeeded {
                at: at(2),
                attempt: 1,
                result: Canonical::parse(r#"{"note":"żółć"}"#).unwrap(),
                effect: Some(Effect { amount: Some(-100) }),
                by: Verdict::Attempt,
            },
            "01030122000000fd820d5852b1890c0001137b226e6f7465223a22c5bcc3b3c582c487227d0101c700",
        ),
        (
            Event::Failed {
                at: at(3),
                attempt: 20,
                error: Failure {
                    code: "retry_exhausted".into(),
                    message: "all 20 attempts are used up".into(),
                    retryable: false,
                    cause: Some("timeout".into()),
                },
                by: Verdict::Server,
            },
            "01040141000000fd02927652b1890c00140f72657472795f6578686175737465641b616c6c20323020617474656d7074\
             7320617265207573656420757000010774696d656f757402",
        ),
        (
            Event::RetryReset {
                at: at(4),
                due: Some(at(60)),
                by: Verdict::Settled { who: "ops".into(), evidence: "ticket 7".into() },
            },
            "01050121000000fd82169552b1890c0001fd82124259b1890c0003036f7073087469636b65742037",
        ),
        (
            Event::Recover {
                at: at(5),
                attempt: 2,
                lost: owner("w"),
                cause: Interruption::OutcomeUnknown,
                way: Way::Held,
            },
            "0106010e000000fd029bb352b1890c000201770401",
        ),
    ]
}

#[test]
fn the_bytes_of_each_kind_never_change() {
    for (event, bytes) in golden() {
        assert_eq!(hex(&encode(&event)), bytes, "encoding `{}`", event.name());
        assert_eq!(decode(&unhex(bytes)), Ok(event), "decoding {bytes}");
    }
}

#[test]
fn every_variant_comes_back() {
    let mut events: Vec<_> = golden().into_iter().map(|(event, _)| event).collect();
    events.push(Event::Created { request: request_with(123_456_789, "k", "sleep", "{}", None) });
    for cause in Interruption::ALL {
        for way in [Way::Requeued, Way::Held] {
            events.push(Event::Recover { at: at(-1), attempt: u32::MAX, lost: owner("w"), cause, way });
        }
    }
    for by in [Verdict::Attempt, Verdict::Client, Verdict::Server] {
        events.push(Event::RetryReset { at: at(0), due: None, by });
    }
    for effect in [None, Some(Effect { amount: None }), Some(Effect { amount: Some(i64::MIN) })] {
        let result = Canonical::parse("null").unwrap();
        events.push(Event::Succeeded { at: at(0), attempt: 1, result, effect, by: Verdict::Attempt });
    }
    for event in events {
        assert_eq!(decode(&encode(&event)), Ok(event));
    }
}

#[test]
fn anything_cut_off_or_added_is_refused() {
    for (event, bytes) in golden() {
        let whole = unhex(bytes);
        for end in 0..whole.len() {
            assert!(decode(&whole[..end]).is_err(), "`{}` cut to {end} bytes", event.name());
            // The same with a frame that says it is whole.
            if end >= HEADER {
                assert!(
                    decode(&reframed(&whole[..end])).is_err(),
                    "the body of `{}` cut at {end}",
                    event.name()
                );
            }
        }
        for added in [0, 1, 0xff] {
            let mut longer = whole.clone();
            longer.push(added);
            assert!(
                matches!(decode(&longer), Err(CodecError::WrongLength { .. })),
                "`{}` + {added}",
                event.name()
            );
            assert!(matches!(decode(&reframed(&longer)), Err(CodecError::Body { .. })), "`{}`", event.name());
        }
    }
}

#[test]
fn what_is_not_known_is_named() {
    let [(_, created), ..] = golden();
    let changed = |at: usize, to: u8| {
        let mut bytes = unhex(created);
        bytes[at] = to;
        decode(&bytes)
    };
    assert_eq!(changed(0, 2), Err(CodecError::UnknownFormat(2)));
    assert_eq!(changed(1, 0), Err(CodecError::UnknownKind(0)));
    assert_eq!(changed(1, 9), Err(CodecError::UnknownKind(9)));
    assert_eq!(changed(2, 0), Err(CodecError::UnknownVersion { kind: "created", version: 0 }));
    assert_eq!(changed(2, 2), Err(CodecError::UnknownVersion { kind: "created", version: 2 }));
    assert_eq!(decode(&[]), Err(CodecError::TooShort(0)));
    let problem = changed(2, 2).unwrap_err().to_string();
    assert!(problem.contains("created") && problem.contains("version 2"), "{problem}");
}

/// A length in the bytes decides nothing before it is known to be there: these say they are huge, and are not.
#[test]
fn huge_lengths_are_refused_at_once() {
    let owner_at = HEADER + 9 + 3 + 1;
    let (_, claimed) = &golden()[1];
    let claimed = unhex(claimed);
    for length in [
        [&[0xfd][..], &u64::MAX.to_le_bytes()].concat(),
        [&[0xfd][..], &(200u64 << 20).to_le_bytes()].concat(),
        [&[0xfc][..], &(200u32 << 20).to_le_bytes()].concat(),
        [&[0xfe][..], &u128::MAX.to_le_bytes()].concat(),
    ] {
        assert_eq!(claimed[owner_at], 11, "here is the length of the owner's name");
        let bytes = [&claimed[..owner_at], &length, &claimed[owner_at + 1..]].concat();
        assert!(matches!(decode(&reframed(&bytes)), Err(CodecError::Body { kind: "claimed", .. })));
    }
    for says in [u32::MAX, 200 << 20] {
        let mut bytes = claimed.clone();
        bytes[3..HEADER].copy_from_slice(&says.to_le_bytes());
        assert!(matches!(decode(&bytes), Err(CodecError::WrongLength { kind: "claimed", .. })));
    }
}

#[test]
fn a_text_that_is_no_name_or_not_canonical_is_refused() {
    let [(_, created), (_, claimed), (_, succeeded), ..] = golden();
    let replaced = |bytes: &str, from: &str, to: &str| {
        assert_eq!(from.len(), to.len(), "the length stays");
        let from = hex(from.as_bytes());
        assert!(bytes.contains(&from));
        decode(&unhex(&bytes.replace(&from, &hex(to.as_bytes()))))
    };
    let body = |result| assert!(matches!(result, Err(CodecError::Body { .. })), "{result:?}");
    body(replaced(created, "demo-1", "demo 1"));
    body(replaced(created, "charge", "char/e"));
    body(replaced(created, r#"{"amount":100}"#, r#"{"amount":1e2}"#));
    body(replaced(created, r#"{"amount":100}"#, r#"{"amount":100 "#));
    body(replaced(succeeded, r#"{"note":"#, r#"{"note" "#));
    let not_utf8 = claimed.replace(&hex(b"4242"), "ff424242");
    body(decode(&unhex(&not_utf8)));
    let other_scheme = created.replace("7d01c136", "7d02c136");
    body(decode(&unhex(&other_scheme)));
}

/// One event has one encoding: an integer that is written longer than it need be is not what was stored.
#[test]
fn a_roundabout_encoding_is_refused() {
    let (_, recover) = &golden()[5];
    let bytes = unhex(recover);
    let attempt_at = HEADER + 9;
    assert_eq!(bytes[attempt_at], 2);
    let longer = [&bytes[..attempt_at], &[0xfb, 2, 0], &bytes[attempt_at + 1..]].concat();
    assert!(matches!(decode(&reframed(&longer)), Err(CodecError::Body { kind: "recover", .. })));
}

proptest::proptest! {
    /// Whatever the bytes are, they are refused, or they are exactly what the event they mean is stored as.
    #[test]
    fn bytes_are_refused_or_mean_one_event(
        which in 0..6usize,
        flips in proptest::collection::vec((0..200usize, proptest::prelude::any::<u8>()), 0..4),
        reframe in proptest::prelude::any::<bool>(),
    ) {
        let mut bytes = unhex(golden()[which].1);
        for (at, to) in flips {
            let at = at % bytes.len();
            bytes[at] = to;
        }
        if reframe {
            bytes = reframed(&bytes);
        }
        if let Ok(event) = decode(&bytes) {
            proptest::prop_assert_eq!(encode(&event), bytes);
        }
    }

    #[test]
    fn noise_is_refused(noise in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..64)) {
        if let Ok(event) = decode(&noise) {
            proptest::prop_assert_eq!(encode(&event), noise);
        }
    }
}

/// The same bytes with the length that they have.
fn reframed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let length = u32::try_from(bytes.len() - HEADER).unwrap();
    bytes[3..HEADER].copy_from_slice(&length.to_le_bytes());
    bytes
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
