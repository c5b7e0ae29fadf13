//! A row's values in the order of its table's columns.

use super::{CallRow, EffectRow};
use crate::store::cell::Cell;

impl CallRow<'_> {
    /// The columns of `calls`, in the order of [`CallRow::cells`].
    pub const COLUMNS: [&'static str; 25] = [
        "call_id",
        "idem_key",
        "fingerprint",
        "client_id",
        "seq",
        "tool",
        "args_json",
        "status",
        "result_json",
        "error_json",
        "attempt",
        "lease_until",
        "owner",
        "effect_id",
        "created_at",
        "updated_at",
        "version",
        "chain",
        "held_since",
        "held_reason",
        "due_at",
        "open_attempt",
        "effect_amount",
        "fingerprint_scheme",
        "checksum",
    ];

    /// The values of all columns.
    pub fn cells(&self) -> [Cell<'_>; 25] {
        let (fixed, state) = (&self.fixed, &self.state);
        [
            Cell::text(&fixed.call_id),
            Cell::text(fixed.idem_key),
            Cell::text(&fixed.fingerprint),
            Cell::optional(fixed.client_id, Cell::text),
            Cell::optional(fixed.seq, Cell::Integer),
            Cell::text(fixed.tool),
            Cell::text(fixed.args_json),
            Cell::text(state.status),
            Cell::optional(state.result_json, Cell::text),
            Cell::optional(state.error_json.as_deref(), Cell::text),
            Cell::Integer(state.attempt),
            Cell::optional(state.lease_until, Cell::Real),
            Cell::optional(state.owner, Cell::text),
            Cell::optional(state.effect_id.as_deref(), Cell::text),
            Cell::Real(fixed.created_at),
            Cell::Real(state.updated_at),
            Cell::Integer(state.version),
            Cell::Blob(state.chain),
            Cell::optional(state.held_since, Cell::Real),
            Cell::optional(state.held_reason, Cell::text),
            Cell::optional(state.due_at, Cell::Real),
            Cell::optional(state.open_attempt, Cell::Integer),
            Cell::optional(state.effect_amount, Cell::Integer),
            Cell::Integer(fixed.fingerprint_scheme),
            Cell::Integer(self.checksum),
        ]
    }
}

impl EffectRow<'_> {
    /// The columns of `effects`, in the order of [`EffectRow::cells`].
    pub const COLUMNS: [&'static str; 5] = ["effect_id", "call_id", "tool", "amount", "created_at"];

    /// The values of all columns.
    pub fn cells(&self) -> [Cell<'_>; 5] {
        [
            Cell::text(&self.effect_id),
            Cell::text(&self.call_id),
            Cell::text(self.tool),
            Cell::optional(self.amount, Cell::Integer),
            Cell::Real(self.created_at),
        ]
    }
}
