//! The import rule, as docs/ARCHITECTURE.md tells it: who may import whom, and who may use what.

/// What the files below a folder may name.
pub struct Rule {
    /// From the root of the repository; the longest folder that fits a file counts.
    pub folder: &'static str,
    /// Our own floors, or parts of them; its own floor is always among them.
    pub ours: &'static [&'static str],
    /// Crates of others, or [`ANY`].
    pub crates: &'static [&'static str],
    /// What is forbidden all the same: paths, and single words.
    pub never: &'static [&'static str],
}

/// The domain decides: it neither waits, nor looks, nor draws, nor speaks.
const OUTSIDE: &[&str] =
    &["async", "await", "std::fs", "std::net", "std::env", "std::thread", "std::process", "std::io"];
const CLOCKS: &[&str] = &["SystemTime::now", "Instant::now"];

/// Crates do not matter: nothing that is shipped imports this.
pub const ANY: &[&str] = &["*"];

/// One rule a folder.
pub const RULES: [Rule; 16] = [
    Rule {
        folder: "src/domain/",
        ours: &[],
        crates: &["httpdate", "ryu_js", "serde", "serde_json", "sha2", "thiserror", "uuid"],
        never: OUTSIDE,
    },
    Rule {
        folder: "src/store/",
        ours: &["domain"],
        crates: &["serde", "serde_json", "sha2", "thiserror", "tokio", "tracing"],
        never: &["tokio::time", "tokio::net", "tokio::spawn"],
    },
    Rule {
        folder: "src/store/codec/",
        ours: &["domain"],
        crates: &["bincode", "serde", "thiserror"],
        never: OUTSIDE,
    },
    Rule {
        folder: "src/store/sqlite/",
        ours: &["domain"],
        crates: &["rusqlite", "rustix", "sha2", "thiserror", "tokio", "tracing"],
        never: &["crate::store::memory", "tokio::time", "tokio::net", "tokio::spawn"],
    },
    Rule {
        folder: "src/engine/",
        ours: &["domain", "store"],
        crates: &[
            "futures_util",
            "humantime",
            "rustix",
            "serde",
            "thiserror",
            "tokio",
            "tokio_util",
            "tracing",
            "uuid",
        ],
        never: &["crate::store::memory", "crate::store::sqlite", "tokio::net", "std::fs"],
    },
    // A downstream that is spoken to by HTTP.
    Rule {
        folder: "src/engine/tools/http/",
        ours: &["domain"],
        crates: &["reqwest"],
        never: &["crate::store", "tokio", "std::fs", "std::env"],
    },
    // What a file of tools says; what lies around the file is asked of whoever reads it.
    Rule {
        folder: "src/engine/tools/declared/",
        ours: &["domain"],
        crates: &["humantime", "jsonschema", "serde_json", "toml"],
        never: &["crate::store", "tokio", "std::fs", "std::env"],
    },
    Rule {
        folder: "src/http/",
        ours: &["domain", "engine"],
        crates: &[
            "axum",
            "bytes",
            "http_body_util",
            "humantime",
            "hyper",
            "hyper_util",
            "percent_encoding",
            "prometheus_client",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tokio_util",
            "tower",
            "tower_http",
            "tracing",
        ],
        never: &["std::fs"],
    },
    // A client needs no server.
    Rule {
        folder: "src/http/client/",
        ours: &["domain"],
        crates: &["httpdate", "percent_encoding", "reqwest", "serde", "serde_json", "thiserror", "tokio"],
        never: &[],
    },
    // A proxy stands before any service: it knows nothing of ours.
    Rule {
        folder: "src/http/chaos/",
        ours: &[],
        crates: &[
            "bytes",
            "http_body_util",
            "hyper",
            "hyper_util",
            "serde",
            "thiserror",
            "tokio",
            "tokio_util",
        ],
        never: &["crate::http::client", "crate::http::wire", "std::fs"],
    },
    Rule {
        folder: "src/cli/",
        ours: &["domain", "engine", "http", "store"],
        crates: &[
            "clap",
            "comfy_table",
            "humantime",
            "indicatif",
            "percent_encoding",
            "reqwest",
            "rustix",
            "serde",
            "serde_json",
            "tokio",
            "tokio_util",
            "tracing",
            "tracing_subscriber",
        ],
        never: &[],
    },
    // What sends as fast as it can speaks HTTP itself, and sees the server from outside, as a client does.
    Rule {
        folder: "src/cli/bench/",
        ours: &["domain", "engine", "http"],
        crates: &[
            "bytes",
            "clap",
            "futures_util",
            "hdrhistogram",
            "http_body_util",
            "hyper",
            "hyper_util",
            "indicatif",
            "reqwest",
            "rustix",
            "serde",
            "serde_json",
            "tokio",
        ],
        never: &["crate::store"],
    },
    // Looks at the machine from outside of a store that is open.
    Rule {
        folder: "src/cli/doctor/",
        ours: &["domain", "engine", "http", "store"],
        crates: &["clap", "hdrhistogram", "humantime", "rustix", "serde", "serde_json", "tokio"],
        never: &["crate::store::sqlite::SqliteStore"],
    },
    Rule { folder: "src/testing/", ours: &["domain", "engine", "http", "store"], crates: ANY, never: &[] },
    // A witness and a judge that share no code with the accused.
    Rule {
        folder: "tests/survival/load/",
        ours: &[],
        crates: &["serde", "serde_json"],
        never: &["callonce", "crate::server", "crate::stage", "crate::check"],
    },
    Rule {
        folder: "tests/survival/check/",
        ours: &[],
        crates: &["serde", "serde_json"],
        never: &["callonce", "crate::server", "crate::stage", "crate::load", "crate::process"],
    },
];

/// What only some files may name, wherever they lie: the paths end like this, or contain it.
pub struct Fence {
    pub what: &'static [&'static str],
    pub inside: &'static [&'static str],
}

/// Time, chance, and the crates that are kept apart.
pub const FENCES: [Fence; 4] = [
    Fence { what: CLOCKS, inside: &["src/engine/clock.rs"] },
    Fence {
        what: &["Uuid::now_v7", "Uuid::new_v4", "rand", "getrandom", "RandomState"],
        inside: &["src/engine/ids.rs"],
    },
    Fence { what: &["bincode"], inside: &["src/store/codec/v1.rs"] },
    Fence { what: &["rusqlite"], inside: &["src/store/sqlite/", "src/testing/"] },
];

/// Names that a file may take from a floor it may not see otherwise, with the reason.
pub struct Exception {
    pub file: &'static str,
    pub floor: &'static str,
    /// Nothing else of that floor.
    pub names: &'static [&'static str],
}

/// What a client and a server share is the shape of a call, not the engine.
pub const EXCEPTIONS: [Exception; 1] = [Exception {
    file: "src/http/wire.rs",
    floor: "engine",
    // Plain data that the engine hands out; wire only shows it.
    names: &["Recorded", "Snapshot", "Stats"],
}];
