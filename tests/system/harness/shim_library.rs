//! Compiles the library that stands between a server and the C library; `shim.c` says what it can do.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/system/harness/shim.c");

/// The library, compiled once for each test program.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (library, new) = (folder.join("shim.so"), folder.join(format!("shim-{}.so", std::process::id())));
        let mut compiler = Command::new("cc");
        compiler.args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", SOURCE, "-ldl", "-o"]);
        let compiled = compiler.arg(&new).status().expect("the bundled SQLite needs a C compiler, too");
        assert!(compiled.success(), "{SOURCE} does not compile");
        // Another test program may be using the one that is there.
        std::fs::rename(&new, &library).expect("it was just made");
        library
    })
}
