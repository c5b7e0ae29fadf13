//! The kind `http`: a section that says what is sent where.

use std::time::Duration;

use super::facts::{Fact, fact};
use super::section::Section;
use super::source::{Named, Surroundings, named};
use super::written::{Bytes, Codes};
use crate::engine::tools::http::{Endpoint, Settings, Statuses, same_origin};

/// How long it may take to connect, where nothing is said: several tries to reach a machine that drops packets.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest answer, where nothing is said.
const MAX_ANSWER: usize = 256 << 10;

/// What a tool sends, and what its probe may send along.
pub(super) struct Declaration {
    pub(super) endpoint: Endpoint,
    pub(super) facts: Vec<Fact>,
    url: String,
    headers: Vec<Named>,
}

/// Reads where an attempt is sent.
pub(super) fn to_do(section: &mut Section<'_>, around: &dyn Surroundings) -> Option<Declaration> {
    let headers = section.section("headers").map(|headers| named(headers, around));
    let statuses = section.section("statuses").map_or(Some(Statuses::default()), |mut declared| {
        let lists =
            ["success", "retryable", "final", "unknown"].map(|list| declared.or(list, Codes::default()).0);
        let [success, retryable, r#final, unknown] = lists;
        let statuses = Statuses::default().with(&success, &retryable, &r#final, &unknown);
        finish(declared, statuses)
    });
    read(section, "POST", headers.unwrap_or_default(), statuses)
}

/// Reads where a question is sent. It brings the headers of the tool, if it goes to the same place and states none.
pub(super) fn whether_done(
    section: &mut Section<'_>,
    around: &dyn Surroundings,
    tool: Option<&Declaration>,
) -> Option<Declaration> {
    let url: Option<String> = section.get("url");
    let of_the_tool = || {
        let tool = tool.filter(|tool| url.as_ref().is_some_and(|url| same_origin(url, &tool.url)))?;
        Some(tool.headers.clone())
    };
    let headers = section.section("headers").map(|headers| named(headers, around)).or_else(of_the_tool);
    let statuses = section.section("statuses").map_or(Some(Statuses::of_a_question()), |mut declared| {
        let lists = ["happened", "not_happened", "unknown"].map(|list| declared.or(list, Codes::default()).0);
        let [happened, not_happened, unknown] = lists;
        let statuses = Statuses::of_a_question().with(&happened, &[], &not_happened, &unknown);
        finish(declared, statuses)
    });
    read(section, "GET", headers.unwrap_or_default(), statuses)
}

fn finish(declared: Section<'_>, statuses: Result<Statuses, String>) -> Option<Statuses> {
    let statuses = statuses.map_err(|problem| declared.refuse_itself(problem)).ok();
    declared.close();
    statuses
}

fn read(
    section: &mut Section<'_>,
    method: &str,
    headers: Vec<Named>,
    statuses: Option<Statuses>,
) -> Option<Declaration> {
    let method: String = section.or("method", method.to_owned());
    let connect_timeout = section.or("connect_timeout", CONNECT_TIMEOUT);
    let Bytes(max_body) = section.or("max_body", Bytes(MAX_ANSWER));
    let url: String = section.need("url")?;
    let mut facts = vec![
        fact("request", format!("{method} {url}")),
        fact("connect_timeout", humantime::format_duration(connect_timeout)),
        fact("max_body", format!("{max_body} bytes")),
    ];
    facts.extend(
        headers.iter().map(|header| fact(format!("header {}", header.name), format!("from {}", header.from))),
    );
    let settings = Settings {
        method,
        url: url.clone(),
        headers: headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect(),
        connect_timeout,
        max_body,
        statuses: statuses?,
    };
    match Endpoint::new(settings) {
        Ok(endpoint) => Some(Declaration { endpoint, facts, url, headers }),
        Err(unfit) => {
            section.refuse(unfit.setting, unfit.problem);
            None
        }
    }
}
