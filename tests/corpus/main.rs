//! Does every property that is fuzzed hold on what the fuzzers started from and found?

use std::path::Path;

use callonce::testing::fuzz::PROPERTIES;

/// Random inputs for each property: about a second of work in a build that is not optimised.
const RANDOM_INPUTS: u64 = 20_000;

#[test]
fn every_property_holds_on_its_corpus() {
    for (name, property) in PROPERTIES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
        let inputs =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut count = 0;
        for input in inputs {
            property(&std::fs::read(input.expect("a file").path()).expect("it can be read"));
            count += 1;
        }
        assert!(count >= 5, "{name} has only {count} inputs");
    }
}

#[test]
fn every_property_holds_on_random_bytes() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for (_, property) in PROPERTIES {
        for _ in 0..RANDOM_INPUTS {
            let length = next() % 64;
            let bytes: Vec<u8> = (0..length).map(|_| next() as u8).collect();
            property(&bytes);
        }
    }
}

#[test]
fn every_target_has_its_file() {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let mut files: Vec<_> = std::fs::read_dir(targets)
        .expect("the targets are there")
        .map(|file| file.expect("a file").path().file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut names: Vec<_> = PROPERTIES.iter().map(|(name, _)| (*name).to_string()).collect();
    names.sort();
    assert_eq!(files, names);
}
