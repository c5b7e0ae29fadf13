//! Clients that mean harm, or are broken: requests that are none, and crowds that hold on to what they can.

pub mod malformed;
