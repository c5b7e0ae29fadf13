//! What may be asked in which state? The contract's table, cell by cell.

use crate::reference::Ask;

/// The six states of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Absent,
    Pending,
    Running,
    Held,
    FailedRetryable,
    Final,
}

/// What a cell says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// No event; the call as it is answers.
    Nothing,
    Create,
    Reset,
    Claim,
    /// Of the open current attempt; stale from any other.
    Report,
    /// The same completion again is done, all else is stale.
    SameOrStale,
    Recover,
    Settle,
    Conflict,
    NotFound,
    Leased,
    Held,
    NotPending,
    NotHeld,
    Stale,
    Final,
}

/// One line a state: submit of the same request, of another; claim; succeed or fail; recover; resolve; put off.
#[rustfmt::skip]
const TABLE: [(State, [Cell; 7]); 6] = [
    (State::Absent,          [Cell::Create,  Cell::Create,   Cell::NotFound,   Cell::NotFound,    Cell::NotFound, Cell::NotFound, Cell::NotFound]),
    (State::Pending,         [Cell::Nothing, Cell::Conflict, Cell::Claim,      Cell::Report,      Cell::Nothing,  Cell::NotHeld,  Cell::Nothing]),
    (State::Running,         [Cell::Nothing, Cell::Conflict, Cell::Leased,     Cell::Report,      Cell::Recover,  Cell::NotHeld,  Cell::Nothing]),
    (State::Held,            [Cell::Nothing, Cell::Conflict, Cell::Held,       Cell::Report,      Cell::Nothing,  Cell::Settle,   Cell::Nothing]),
    (State::FailedRetryable, [Cell::Reset,   Cell::Conflict, Cell::NotPending, Cell::Stale,       Cell::Nothing,  Cell::NotHeld,  Cell::Reset]),
    (State::Final,           [Cell::Nothing, Cell::Conflict, Cell::Final,      Cell::SameOrStale, Cell::Nothing,  Cell::Final,    Cell::Nothing]),
];

/// The cell for what is asked; `same` tells of a submit whether it is the request that the key knows.
pub fn cell(state: State, ask: &Ask, same: bool) -> Cell {
    let column = match ask {
        Ask::Submit { .. } if same => 0,
        Ask::Submit { .. } => 1,
        Ask::Claim { .. } => 2,
        Ask::Succeed { .. } | Ask::Fail { .. } => 3,
        Ask::Recover { .. } => 4,
        Ask::Happened { .. } | Ask::NotHappened { .. } | Ask::Abandon => 5,
        Ask::PutOff { .. } => 6,
    };
    let (_, cells) = TABLE.iter().find(|(known, _)| *known == state).expect("the table has every state");
    cells[column]
}
