//! Does everything that the pages point at exist? Links, files and folders.

use std::path::Path;

use super::tree::{File, files, read, root};

/// Where a path in a page may begin.
const FROM: [&str; 3] = ["", "src/", "docs/"];

/// The pages that readers get.
fn all_pages() -> Vec<File> {
    let mut pages = files("docs", ".md");
    for path in ["README.md", "CHANGELOG.md"] {
        pages.extend(read(path).map(|text| File { path: path.into(), text }));
    }
    pages
}

/// What a page points at and `exists` does not know.
fn faults(path: &str, page: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for target in links(page).filter(|target| !target.contains("://") && !target.starts_with('#')) {
        let file = target.split('#').next().unwrap_or_default();
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if !exists(&plain(folder, file)) {
            faults.push(format!("{path} links to {target}, which is not there"));
        }
    }
    for named in quoted(page).filter(|quoted| is_path(quoted)) {
        if !FROM.iter().any(|from| exists(&format!("{from}{named}"))) {
            faults.push(format!("{path} names `{named}`, which is not there"));
        }
    }
    faults
}

/// The targets of `[text](target)`.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

/// What stands between single backquotes, blocks of code aside.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    let prose = page.split("```").step_by(2);
    prose.flat_map(|part| part.lines()).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Whether this is meant as a path of the repository.
fn is_path(text: &str) -> bool {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let ends = text.ends_with('/') || [".rs", ".sql", ".md"].iter().any(|ending| text.ends_with(ending));
    plain && ends && text.contains('/') && !text.starts_with('/')
}

/// A relative path, with its steps up taken.
fn plain(folder: &str, target: &str) -> String {
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    steps.join("/")
}

#[test]
fn every_page_points_at_what_is_there() {
    let pages = all_pages();
    assert!(pages.len() > 10, "only {} pages were found", pages.len());
    let exists = |path: &str| Path::new(root()).join(path).exists();
    let faults: Vec<_> = pages.iter().flat_map(|page| faults(&page.path, &page.text, exists)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_page_is_found_from_the_readme() {
    let readme = read("README.md").expect("a README");
    let architecture = read("docs/ARCHITECTURE.md").expect("docs/ARCHITECTURE.md");
    for page in all_pages().iter().filter(|page| page.path.starts_with("docs/")) {
        let name = page.path.trim_start_matches("docs/");
        let linked =
            links(&readme).any(|target| target == page.path) || links(&architecture).any(|t| t == name);
        assert!(linked, "neither README.md nor docs/ARCHITECTURE.md links to {}", page.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Vec<String> {
        let there =
            ["README.md", "docs/api.md", "docs/decisions/0001-a.md", "src/domain/", "src/domain/call.rs"];
        faults("docs/page.md", page, |path| there.contains(&path))
    }

    #[test]
    fn what_is_there_is_no_fault() {
        let page = "[a](api.md#x) [b](decisions/0001-a.md) [c](../README.md) [d](https://example.org/x) [e](#here)\n\
                    `src/domain/call.rs` `domain/call.rs` `src/domain/` `call.rs` `a/b` `/v1/x/` `x y/z.rs`\n\
                    ```\n`src/none.rs` [f](none.md\n```\n";
        assert_eq!(found(page), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_there_is_found() {
        for (page, said) in [
            ("[a](none.md)", "links to none.md"),
            ("[a](../docs/none.md#x)", "links to ../docs/none.md#x"),
            ("see `src/none.rs`", "names `src/none.rs`"),
            ("see `engine/none/`", "names `engine/none/`"),
            ("```\ncode\n```\nsee `store/none.sql`", "names `store/none.sql`"),
        ] {
            let faults = found(page);
            assert!(faults.len() == 1 && faults[0].contains(said), "{page}: {faults:?}");
        }
    }
}
