//! Every state × every command, and every state × every event: as tables, and as stories.

mod claim;
mod evolve;
mod invariants;
mod page;
mod recover;
mod report;
mod resolve;
mod retry;
mod situations;
mod states;
mod submit;
mod table;
