//! Is anything missing in the pages? Every folder, route, error code, law and decision has its place.

use callonce::domain::Failure;
use callonce::domain::event::Interruption;

use super::source::{Token, tokens};
use super::tree::{files, folders, read};

/// The codes of failures that the rules and the sample tools give, beside those of interruptions.
const FAILURES: [&str; 6] =
    [Failure::RETRY_EXHAUSTED, "interrupted", "not_happened", "abandoned", "tool_failed", "bad_args"];
/// The laws, each with a section.
const LAWS: [&str; 8] = ["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8"];

/// The text below the heading that begins with `title`, up to the next heading of its kind.
fn section<'a>(page: &'a str, title: &str) -> Option<&'a str> {
    let start = page.match_indices("\n## ").map(|(at, heading)| at + heading.len());
    let mut bodies = start.map(|at| page[at..].split("\n## ").next().unwrap_or_default());
    bodies.find(|body| {
        body.strip_prefix(title).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    })
}

/// What a section lacks: each label at the beginning of a line, with something after it.
fn lacks(page: &str, title: &str, labels: &[&str]) -> Vec<String> {
    let Some(body) = section(page, title) else { return vec![format!("there is no section {title}")] };
    let says = |label: &str| {
        let mut lines = body.lines().skip_while(|line| !line.starts_with(label));
        let rest = lines.next().map(|line| line[label.len()..].trim());
        rest.is_some_and(|rest| !rest.is_empty())
            || lines.find(|line| !line.is_empty()).is_some_and(|l| l.starts_with("- "))
    };
    let missing = labels.iter().filter(|label| !says(label));
    missing.map(|label| format!("the section {title} does not say `{label}`")).collect()
}

/// The list items after a label, up to the next empty line that no item follows.
fn items(page: &str, title: &str, label: &str) -> usize {
    let lines = section(page, title).unwrap_or_default().lines();
    let after = lines.skip_while(|line| !line.starts_with(label)).skip(1);
    after
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty())
        .filter(|l| l.starts_with("- "))
        .count()
}

/// The codes in a table of statuses: the text after each `StatusCode::X`.
fn codes(source: &str) -> Vec<String> {
    let tokens: Vec<Token> = tokens(source).into_iter().map(|(_, token)| token).collect();
    let mut codes: Vec<String> = tokens
        .windows(6)
        .filter_map(|window| match window {
            [
                Token::Word(word),
                Token::Mark(':'),
                Token::Mark(':'),
                Token::Word(_),
                Token::Mark(','),
                Token::Text(code),
            ] if word == "StatusCode" => Some(code.clone()),
            _ => None,
        })
        .collect();
    codes.sort();
    codes.dedup();
    codes
}

/// The paths in a router: the text after each `.route(`.
fn routes(source: &str) -> Vec<String> {
    let tokens: Vec<Token> = tokens(source).into_iter().map(|(_, token)| token).collect();
    let routes = tokens.windows(3).filter_map(|window| match window {
        [Token::Word(word), Token::Mark('('), Token::Text(path)] if word == "route" => Some(path.clone()),
        _ => None,
    });
    routes.collect()
}

fn page(path: &str) -> String {
    read(path).unwrap_or_else(|| panic!("there is no {path}"))
}

#[test]
fn every_folder_is_on_the_map() {
    let map = page("docs/ARCHITECTURE.md");
    for folder in folders("src") {
        assert!(map.contains(&format!("{folder}/")), "docs/ARCHITECTURE.md does not mention {folder}/");
    }
}

#[test]
fn every_error_code_has_its_section() {
    let errors = page("docs/errors.md");
    let of_answers = read("src/http/error.rs").map(|table| codes(&table)).unwrap_or_default();
    let of_calls =
        FAILURES.into_iter().chain(Interruption::ALL.map(Interruption::as_str)).map(str::to_string);
    let all: Vec<String> = of_answers.into_iter().chain(of_calls).collect();
    assert!(all.len() > 15, "only {all:?} were found");
    let labels = ["**Meaning.**", "**Cause.**", "**What to do.**", "**Retry?**"];
    let missing: Vec<_> = all.iter().flat_map(|code| lacks(&errors, &format!("`{code}`"), &labels)).collect();
    assert!(missing.is_empty(), "docs/errors.md: {}", missing.join("\n"));
    let titles = errors
        .lines()
        .filter_map(|line| line.strip_prefix("## `"))
        .filter_map(|title| title.split('`').next());
    for title in titles {
        assert!(
            all.iter().any(|code| code == title),
            "docs/errors.md explains `{title}`, which nothing gives"
        );
    }
}

#[test]
fn every_law_is_enforced_at_two_places_and_checked() {
    let laws = page("docs/laws.md");
    let missing: Vec<_> = LAWS
        .iter()
        .flat_map(|law| lacks(&laws, law, &["**Statement.**", "**Enforced at**", "**Checked by**"]))
        .collect();
    assert!(missing.is_empty(), "docs/laws.md: {}", missing.join("\n"));
    for law in LAWS {
        assert!(
            items(&laws, law, "**Enforced at**") >= 2,
            "docs/laws.md names fewer than two places for {law}"
        );
    }
}

#[test]
fn every_route_is_in_the_api_page() {
    let api = page("docs/api.md");
    let routes = read("src/http/router.rs").map(|router| routes(&router)).unwrap_or_default();
    for route in routes {
        assert!(api.contains(&format!("{route}`")), "docs/api.md does not mention {route}");
    }
}

#[test]
fn decisions_are_numbered_without_a_gap_and_have_one_form() {
    let decisions = files("docs/decisions", ".md");
    assert!(!decisions.is_empty(), "there are no decisions");
    for (number, decision) in decisions.iter().enumerate() {
        let name = decision.path.trim_start_matches("docs/decisions/");
        assert!(name.starts_with(&format!("{:04}-", number + 1)), "{name} is not number {}", number + 1);
        let first = decision.text.lines().next().unwrap_or_default();
        assert!(first.starts_with(&format!("# {}. ", number + 1)), "{name} has the title `{first}`");
        for title in ["Context", "Decision", "Consequences"] {
            assert!(section(&decision.text, title).is_some(), "{name} has no section {title}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Page\n\n## `a`\n\n**Meaning.** It is.\n**Cause.**\n\n- one\n- two\n\n## `ab`\n\n**Meaning.**\n\n## L1 one\n\nx\n";

    #[test]
    fn sections_end_where_the_next_begins() {
        assert!(section(PAGE, "`a`").is_some_and(|body| body.contains("It is") && !body.contains("L1")));
        assert!(section(PAGE, "L1").is_some_and(|body| body.contains('x')));
        assert!(section(PAGE, "L").is_none() && section(PAGE, "Page").is_none());
    }

    #[test]
    fn what_a_section_lacks_is_found() {
        assert_eq!(lacks(PAGE, "`a`", &["**Meaning.**", "**Cause.**"]), Vec::<String>::new());
        assert_eq!(lacks(PAGE, "`a`", &["**Retry?**"]).len(), 1);
        assert_eq!(lacks(PAGE, "`ab`", &["**Meaning.**"]).len(), 1);
        assert_eq!(lacks(PAGE, "`none`", &["**Meaning.**"]), ["there is no section `none`"]);
    }

    #[test]
    fn items_are_counted_up_to_the_end_of_their_list() {
        assert_eq!(items(PAGE, "`a`", "**Cause.**"), 2);
        assert_eq!(items(PAGE, "`a`", "**Retry?**"), 0);
    }

    #[test]
    fn codes_and_routes_are_read_from_the_source() {
        let table =
            r#"(StatusCode::NOT_FOUND, "not_found", "Title") (StatusCode::GONE, "gone", "x") f("other")"#;
        assert_eq!(codes(table), ["gone", "not_found"]);
        assert_eq!(routes(r#".route("/a/{id}", get(x)).route( "/b", y).other("/c")"#), ["/a/{id}", "/b"]);
    }
}
