//! Is each file small, and does it say what it answers?

use super::tree::files;

/// The most lines a file may have: what one sitting can take in.
const MOST_LINES: usize = 500;
/// Words for what somebody meant to do later.
const LEFT_TO_DO: [&str; 3] = ["TODO", "FIXME", "XXX"];

fn faults(path: &str, source: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let lines = source.lines().count();
    if lines > MOST_LINES {
        faults.push(format!("{path} has {lines} lines; {MOST_LINES} are allowed"));
    }
    let says = source.lines().next().and_then(|first| first.strip_prefix("//!")).map(str::trim);
    if !path.starts_with("tests/") && says.is_none_or(str::is_empty) {
        faults.push(format!("{path} does not begin with `//!` and what it answers"));
    }
    let name = path.rsplit('/').find(|part| *part != "mod.rs").unwrap_or(path).trim_end_matches(".rs");
    if ["util", "utils", "common", "helper", "helpers", "misc", "types"].contains(&name) {
        faults.push(format!("{path} has a name that says nothing"));
    }
    for (number, line) in source.lines().enumerate() {
        let comment = line.split_once("//").map_or("", |(_, comment)| comment);
        if comment.split(|c: char| !c.is_alphanumeric()).any(|word| LEFT_TO_DO.contains(&word)) {
            faults.push(format!("{path}:{}: what is left to do belongs in an issue", number + 1));
        }
    }
    faults
}

#[test]
fn every_file_is_small_and_says_what_it_answers() {
    let all: Vec<_> = ["src", "tests"].into_iter().flat_map(|folder| files(folder, ".rs")).collect();
    assert!(all.len() > 50, "only {} files were found", all.len());
    let faults: Vec<_> = all.iter().flat_map(|file| faults(&file.path, &file.text)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_file_has_no_fault() {
        assert_eq!(faults("src/a.rs", "//! What is a?\n\nfn a() {}\n"), Vec::<String>::new());
        assert_eq!(faults("tests/a/b.rs", "fn a() {}\n"), Vec::<String>::new());
        assert_eq!(faults("src/a.rs", &format!("//! Long.\n{}", "\n".repeat(499))), Vec::<String>::new());
    }

    #[test]
    fn bad_files_are_found() {
        let long = format!("//! Long.\n{}", "\n".repeat(500));
        let to_do = format!("//! A.\nfn a() {{}} // {}: b\n", LEFT_TO_DO[0]);
        for (path, source, said) in [
            ("src/a.rs", long.as_str(), "501 lines"),
            ("tests/a/main.rs", long.as_str(), "501 lines"),
            ("src/a.rs", "", "does not begin"),
            ("src/a.rs", "//!\nfn a() {}\n", "does not begin"),
            ("src/a.rs", "use b;\n//! A.\n", "does not begin"),
            ("src/a/utils.rs", "//! A.\n", "says nothing"),
            ("src/helpers/mod.rs", "//! A.\n", "says nothing"),
            ("src/a.rs", to_do.as_str(), "src/a.rs:2"),
        ] {
            let faults = faults(path, source);
            assert!(faults.len() == 1 && faults[0].contains(said), "{path}: {faults:?}");
        }
    }
}
