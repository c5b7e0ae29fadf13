//! One SQLite file.
