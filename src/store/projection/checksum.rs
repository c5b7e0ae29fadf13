//! Eight bytes over all columns of a row, so that a flipped bit is an error and never an answer.

use sha2::{Digest, Sha256};

use super::{FixedColumns, StateColumns};

/// The first eight bytes of SHA-256 over the columns in the table's order, each after a byte that says its type, texts
/// and blobs after their length too: no two rows have one input.
pub(super) fn checksum(fixed: &FixedColumns<'_>, state: &StateColumns<'_>) -> i64 {
    let mut row = Encoder(Vec::with_capacity(512 + fixed.args_json.len()));
    row.text(&fixed.call_id);
    row.text(fixed.idem_key);
    row.text(&fixed.fingerprint);
    row.optional(fixed.client_id, Encoder::text);
    row.optional(fixed.seq, Encoder::integer);
    row.text(fixed.tool);
    row.text(fixed.args_json);
    row.text(state.status);
    row.optional(state.result_json, Encoder::text);
    row.optional(state.error_json.as_deref(), Encoder::text);
    row.integer(state.attempt);
    row.optional(state.lease_until, Encoder::real);
    row.optional(state.owner, Encoder::text);
    row.optional(state.effect_id.as_deref(), Encoder::text);
    row.real(fixed.created_at);
    row.real(state.updated_at);
    row.integer(state.version);
    row.blob(state.chain);
    row.optional(state.held_since, Encoder::real);
    row.optional(state.held_reason, Encoder::text);
    row.optional(state.due_at, Encoder::real);
    row.optional(state.open_attempt, Encoder::integer);
    row.optional(state.effect_amount, Encoder::integer);
    row.integer(fixed.fingerprint_scheme);
    let hash: [u8; 32] = Sha256::digest(&row.0).into();
    let (first, _) = hash.split_first_chunk::<8>().expect("SHA-256 has 32 bytes");
    i64::from_be_bytes(*first)
}

struct Encoder(Vec<u8>);

impl Encoder {
    fn optional<T>(&mut self, value: Option<T>, write: fn(&mut Self, T)) {
        match value {
            Some(value) => write(self, value),
            None => self.0.push(0),
        }
    }

    fn integer(&mut self, value: i64) {
        self.0.push(1);
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn real(&mut self, value: f64) {
        self.0.push(2);
        self.0.extend_from_slice(&value.to_bits().to_be_bytes());
    }

    fn text(&mut self, value: &str) {
        self.bytes(3, value.as_bytes());
    }

    fn blob(&mut self, value: &[u8]) {
        self.bytes(4, value);
    }

    fn bytes(&mut self, tag: u8, value: &[u8]) {
        self.0.push(tag);
        self.0.extend_from_slice(&(value.len() as u64).to_be_bytes());
        self.0.extend_from_slice(value);
    }
}
