//! Just enough of Rust's grammar to see which paths a file names: comments and texts aside, groups taken apart.

/// A piece of source that is neither space nor comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    Word(String),
    /// A string literal, as it is written between its quotes.
    Text(String),
    Mark(char),
}

/// The tokens of `source`, each with its line, from 1.
pub fn tokens(source: &str) -> Vec<(usize, Token)> {
    let chars: Vec<char> = source.chars().collect();
    let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
    while at < chars.len() {
        let rest = &chars[at..];
        let (length, token) = match rest {
            ['/', '/', ..] => (until(rest, 2, &['\n']), None),
            ['/', '*', ..] => (until(rest, 2, &['*', '/']), None),
            ['"', ..] => text(rest, 1, 0),
            ['r', '"' | '#', ..] if raw_hashes(&rest[1..]).is_some() => text(
                rest,
                1 + raw_hashes(&rest[1..]).unwrap_or(0) + 1,
                raw_hashes(&rest[1..]).unwrap_or(0) + 1,
            ),
            ['\'', '\\', ..] => (until(rest, 3, &['\'']), None),
            ['\'', _, '\'', ..] => (3, None),
            [first, ..] if first.is_alphanumeric() || *first == '_' => {
                let length = rest.iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
                (length, Some(Token::Word(rest[..length].iter().collect())))
            }
            [first, ..] if first.is_whitespace() => (1, None),
            [first, ..] => (1, Some(Token::Mark(*first))),
            [] => (1, None),
        };
        tokens.extend(token.map(|token| (line, token)));
        line += rest[..length].iter().filter(|c| **c == '\n').count();
        at += length;
    }
    tokens
}

/// The length of what ends with `end`, looked for from `from` on.
fn until(rest: &[char], from: usize, end: &[char]) -> usize {
    let found = rest.get(from..).and_then(|rest| rest.windows(end.len()).position(|window| window == end));
    found.map_or(rest.len(), |found| from + found + end.len())
}

/// How many `#` stand before the quote of a raw string; nothing if none begins here.
fn raw_hashes(rest: &[char]) -> Option<usize> {
    let hashes = rest.iter().take_while(|c| **c == '#').count();
    (rest.get(hashes) == Some(&'"')).then_some(hashes)
}

/// A string literal whose text begins at `from`; raw if `raw` is above 0, with one `#` less than that.
fn text(rest: &[char], from: usize, raw: usize) -> (usize, Option<Token>) {
    let mut at = from;
    while at < rest.len() {
        match rest[at] {
            '\\' if raw == 0 => at += 2,
            '"' if raw == 0 || rest[at + 1..].iter().take_while(|c| **c == '#').count() >= raw - 1 => {
                let text = rest[from..at].iter().collect();
                return (at + raw.max(1), Some(Token::Text(text)));
            }
            _ => at += 1,
        }
    }
    (rest.len(), None)
}

/// A path that is named somewhere, as its segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub line: usize,
    pub path: Vec<String>,
}

impl Named {
    /// Whether the path is `prefix`, or goes on from there.
    pub fn starts_with(&self, prefix: &str) -> bool {
        let mut segments = self.path.iter();
        prefix.split("::").all(|part| segments.next().is_some_and(|segment| segment == part))
    }
}

/// Every path of two or more segments, groups of `use` taken apart; a lone word after `use` counts too.
pub fn paths(source: &str) -> Vec<Named> {
    let tokens = tokens(source);
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let used = at > 0 && tokens[at - 1].1 == Token::Word("use".into());
        let (found, next) = tree(&tokens, at, &[]);
        paths.extend(found.into_iter().filter(|named| used || named.path.len() > 1));
        at = next.max(at + 1);
    }
    paths
}

/// The paths of the use-tree that begins at `at`, after `before`, and where it ends.
fn tree(tokens: &[(usize, Token)], mut at: usize, before: &[String]) -> (Vec<Named>, usize) {
    let mut path = before.to_vec();
    loop {
        let line = match tokens.get(at) {
            Some((line, Token::Word(word))) => {
                path.push(word.clone());
                at += 1;
                *line
            }
            Some((_, Token::Mark('{'))) if path.len() > before.len() || !before.is_empty() => {
                return group(tokens, at + 1, &path);
            }
            Some((here, Token::Mark('*'))) if path.len() > before.len() || !before.is_empty() => {
                path.push("*".into());
                return (vec![Named { line: *here, path }], at + 1);
            }
            _ => return (vec![], at),
        };
        let colons = [at, at + 1].map(|at| matches!(tokens.get(at), Some((_, Token::Mark(':')))));
        match colons {
            [true, true] => at += 2,
            _ => return (vec![Named { line, path }], at),
        }
    }
}

fn group(tokens: &[(usize, Token)], mut at: usize, before: &[String]) -> (Vec<Named>, usize) {
    let mut all = Vec::new();
    while at < tokens.len() && tokens[at].1 != Token::Mark('}') {
        let (found, next) = tree(tokens, at, before);
        all.extend(found);
        at = next.max(at + 1);
    }
    (all, at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(source: &str) -> Vec<String> {
        paths(source).iter().map(|named| named.path.join("::")).collect()
    }

    #[test]
    fn groups_are_taken_apart() {
        assert_eq!(
            named("use crate::{domain::{id::Key, call::*}, store}; use tokio;"),
            ["crate::domain::id::Key", "crate::domain::call::*", "crate::store", "tokio"]
        );
        assert_eq!(named("use a::b as c; use {x::y, z::w};"), ["a::b", "x::y", "z::w"]);
        assert_eq!(named("use std::{self, fs};"), ["std::self", "std::fs"]);
    }

    #[test]
    fn paths_inside_of_code_count() {
        assert_eq!(
            named("fn f(x: crate::engine::Stats) { tokio::time::sleep(a).await; #[serde::x] y }"),
            ["crate::engine::Stats", "tokio::time::sleep", "serde::x"]
        );
        assert_eq!(named("Vec::<crate::a::B>::new()"), ["crate::a::B"]);
    }

    #[test]
    fn comments_texts_and_characters_do_not_count() {
        let quiet = r###"
            //! crate::engine
            // tokio::spawn
            /* axum::Router */ let a = "crate::store"; let b = r#"use "std::fs""#; let c = '"'; let d = '\'';
            fn e<'a>(x: &'a str) -> char { ':' }
        "###;
        assert_eq!(named(quiet), Vec::<String>::new());
        assert_eq!(named("let a = \"\\\"\"; b::c"), ["b::c"]);
    }

    #[test]
    fn lines_are_counted() {
        let named = paths("// one\n/* two\nthree */\nuse a::b;\n\nc::d();");
        assert_eq!(named.iter().map(|named| named.line).collect::<Vec<_>>(), [4, 6]);
    }

    #[test]
    fn texts_are_kept() {
        let texts: Vec<_> = tokens(r##"f("a\"b", r#"c"d"#, "")"##)
            .into_iter()
            .filter_map(|(_, token)| if let Token::Text(text) = token { Some(text) } else { None })
            .collect();
        assert_eq!(texts, ["a\\\"b", "c\"d", ""]);
    }

    #[test]
    fn a_prefix_ends_between_segments() {
        let named = Named { line: 1, path: vec!["std".into(), "fs".into(), "read".into()] };
        assert!(named.starts_with("std") && named.starts_with("std::fs"));
        assert!(!named.starts_with("std::f") && !named.starts_with("std::fs::read::x"));
    }
}
