//! Clients that mean harm, or are broken: requests that are none, crowds that hold on to what they can, floods.

pub mod crowd;
pub mod figures;
pub mod load;
pub mod malformed;
