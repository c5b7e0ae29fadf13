//! What can be done to a request or its answer.

use std::time::Duration;

/// One way in which a network, or what lies in it, fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is done: request and answer pass.
    Pass,
    /// Upstream executes the request; the client never hears of it.
    DropResponse(Silence),
    /// Upstream executes the request; the client hears of it so much later.
    DelayResponse(Duration),
    /// Upstream is sent the request twice. The client is given the answer to the second.
    DuplicateRequest(Second),
    /// Upstream never sees the request.
    DropRequest(Silence),
    /// Upstream executes the request; the client gets the head of the answer and half of its body.
    TruncateResponse,
    /// The client's connection is reset.
    Reset(Moment),
}

/// What a client notices of an answer that does not come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Silence {
    /// The connection is closed.
    #[default]
    Close,
    /// Nothing: the connection stays open until the client gives up.
    Hold,
}

/// How the second copy of a request travels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Second {
    /// On a connection of its own, at the same time as the first.
    #[default]
    NewConnection,
    /// On the connection of the first, once that is answered.
    SameConnection,
}

/// When a connection is reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Moment {
    /// When the head of the request is there. Upstream never sees it.
    Request,
    /// When upstream has answered.
    #[default]
    Response,
}

impl Mode {
    /// As it is typed, and shown as evidence.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::DropResponse(_) => "drop-response",
            Self::DelayResponse(_) => "delay-response",
            Self::DuplicateRequest(_) => "duplicate-request",
            Self::DropRequest(_) => "drop-request",
            Self::TruncateResponse => "truncate-response",
            Self::Reset(_) => "reset",
        }
    }
}
