//! Tools that a file declares: what it says becomes a [`Tool`], or a list of what is wrong with it, line by line.

mod endpoint;
mod facts;
mod fault;
mod schema;
mod section;
mod source;
mod terms;
mod written;

use std::collections::BTreeSet;

use toml::de::{DeTable, DeValue};

pub use self::facts::{Fact, of_terms, word};
pub use self::fault::Fault;
pub use self::source::Surroundings;

use self::fault::Faults;
use self::schema::Schema;
use self::section::Section;
use self::written::Written;
use super::http::Endpoint;
use super::{Finding, InvalidArgs, Invocation, Outcome, Probing, Running, Terms, Tool};
use crate::domain::id::ToolName;
use crate::domain::json::Value;

/// The largest answer that a tool may declare: as much as a request may bring, in bytes.
const LARGEST_ANSWER: usize = 1 << 20;

/// A tool from a file.
pub struct Declared {
    name: String,
    kind: Kind,
    terms: Terms,
    schema: Option<Schema>,
    to_do: Means,
    whether_done: Option<Means>,
    facts: Vec<Fact>,
}

/// What a downstream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Http,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
        }
    }
}

impl Written for Kind {
    const EXPECTED: &'static str = "\"http\" or \"command\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        match value.as_str()? {
            "http" => Some(Self::Http),
            _ => None,
        }
    }
}

/// By what means a downstream is reached.
enum Means {
    Http(Endpoint),
}

impl Means {
    async fn run(&self, invocation: &Invocation) -> Outcome {
        match self {
            Self::Http(endpoint) => endpoint.run(invocation).await,
        }
    }

    async fn ask(&self, attempt: &Invocation) -> Finding {
        match self {
            Self::Http(endpoint) => endpoint.ask(attempt).await,
        }
    }
}

/// Reads a file of tools. What lies outside of it is asked of `around`.
///
/// # Errors
/// All that is wrong, from its first line to its last.
pub fn parse(text: &str, around: &dyn Surroundings) -> Result<Vec<Declared>, Vec<Fault>> {
    let faults = Faults::of(text);
    let (document, broken) = DeTable::parse_recoverable(text);
    for error in broken {
        faults.note(error.span().map_or(0, |span| span.start), "", error.message());
    }
    let mut tools = Vec::new();
    // A text that is no TOML was read as far as it could be guessed: what is said of it would be guesses, too.
    let faults = match faults.into_sorted() {
        broken if !broken.is_empty() => return Err(broken),
        _ => Faults::of(text),
    };
    let mut names = BTreeSet::new();
    for (index, (table, at)) in tables(document.get_ref(), &faults).into_iter().enumerate() {
        if let Some(tool) = tool(table, at, index, &mut names, &faults, around) {
            tools.push(tool);
        }
    }
    match faults.into_sorted() {
        none if none.is_empty() => Ok(tools),
        found => Err(found),
    }
}

/// The sections `[[tool]]`, each with where it begins.
fn tables<'t>(document: &'t DeTable<'t>, faults: &Faults<'_>) -> Vec<(&'t DeTable<'t>, usize)> {
    let expected = "expected one section [[tool]] for each tool";
    for (name, _) in document.iter().filter(|(name, _)| name.get_ref() != "tool") {
        faults.note(name.span().start, name.get_ref(), format!("unknown; {expected}"));
    }
    let Some(value) = document.get("tool") else {
        faults.note(0, "tool", format!("missing; {expected}"));
        return Vec::new();
    };
    let items: Option<Vec<_>> = value.get_ref().as_array().and_then(|items| {
        items.iter().map(|item| Some((item.get_ref().as_table()?, item.span().start))).collect()
    });
    items.unwrap_or_else(|| {
        faults.note(value.span().start, "tool", expected);
        Vec::new()
    })
}

fn tool<'t>(
    table: &'t DeTable<'t>,
    at: usize,
    index: usize,
    names: &mut BTreeSet<&'t str>,
    faults: &'t Faults<'t>,
    around: &dyn Surroundings,
) -> Option<Declared> {
    let name = table.get("name").and_then(|name| name.get_ref().as_str());
    let path = name.map_or_else(|| format!("tool[{}]", index + 1), str::to_owned);
    let mut section = Section::new(table, at, path, faults);
    let written: Option<String> = section.need("name");
    if let Some(name) = name {
        if let Err(problem) = ToolName::parse(name) {
            section.refuse("name", problem.to_string());
        }
        if !names.insert(name) {
            section.refuse("name", "another tool in this file has the same name");
        }
    }
    let kind: Option<Kind> = section.need("kind");
    let tool = kind.and_then(|kind| whole(&mut section, kind, around));
    // What its other fields can be depends on its kind.
    if kind.is_some() {
        section.close();
    }
    Some(Declared { name: written?, ..tool? })
}

/// Reads all of a tool but its name.
fn whole(section: &mut Section<'_>, kind: Kind, around: &dyn Surroundings) -> Option<Declared> {
    let schema = schema::schema(section, around);
    let to_do = match kind {
        Kind::Http => endpoint::to_do(section, around),
    };
    let probe = section.section("probe").map(|mut probe| {
        let schedule = terms::probes(&mut probe);
        let whether_done = endpoint::whether_done(&mut probe, around, to_do.as_ref());
        probe.close();
        (schedule, whether_done)
    });
    let terms = terms::terms(section, probe.as_ref().map(|(schedule, _)| *schedule));
    let to_do = to_do?;
    let mut facts = to_do.facts;
    facts.extend(of_terms(&terms));
    let whether_done = match probe {
        Some((_, whether_done)) => {
            let whether_done = whether_done?;
            facts.extend(whether_done.facts.into_iter().map(Fact::of_probe));
            Some(Means::Http(whether_done.endpoint))
        }
        None => None,
    };
    Some(Declared {
        name: String::new(),
        kind,
        terms,
        schema,
        to_do: Means::Http(to_do.endpoint),
        whether_done,
        facts,
    })
}

impl Declared {
    /// Its kind, by its word in the file.
    pub const fn kind(&self) -> &'static str {
        self.kind.word()
    }

    /// What is in force for it, secrets only by where they come from.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }
}

impl Tool for Declared {
    fn name(&self) -> &str {
        &self.name
    }

    fn terms(&self) -> Terms {
        self.terms
    }

    fn check(&self, args: &Value) -> Result<(), InvalidArgs> {
        self.schema.as_ref().map_or(Ok(()), |schema| schema.check(args))
    }

    fn run(&self, invocation: Invocation) -> Running<'_> {
        Box::pin(async move { self.to_do.run(&invocation).await })
    }

    fn probe(&self, attempt: Invocation) -> Probing<'_> {
        Box::pin(async move {
            match &self.whether_done {
                Some(whether_done) => whether_done.ask(&attempt).await,
                None => Finding::Unknown { message: "it declares no probe".into() },
            }
        })
    }
}
