//! Strict JSON and its canonical form.
