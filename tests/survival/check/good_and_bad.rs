//! Histories made by hand.
