//! Lines of a history, put together to requests with their answers, each with its place in time.

use std::collections::HashMap;

use super::{Finding, Findings, Rule};
use crate::history::{Ask, Call, Line, Told};

/// The statuses that are promised: found, accepted, not there, another request, too busy, storage full, unavailable.
const STATUSES: [u16; 7] = [200, 202, 404, 409, 429, 503, 507];

/// One request. Times are places in the history: what is less was before.
#[derive(Debug)]
pub struct Op<'a> {
    pub ask: &'a Ask,
    pub sent: usize,
    pub end: End<'a>,
}

/// How a request ended.
#[derive(Debug)]
pub enum End<'a> {
    Told(usize, &'a Told),
    /// It may be carried out at any time after it was sent.
    Unknown,
}

impl<'a> Op<'a> {
    /// When its answer was read, and what it said.
    pub fn told(&self) -> Option<(usize, &'a Told)> {
        match self.end {
            End::Told(at, told) => Some((at, told)),
            End::Unknown => None,
        }
    }

    /// The call that it was shown, and when.
    pub fn shown(&self) -> Option<(usize, &'a Call)> {
        let (at, told) = self.told()?;
        Some((at, told.call.as_ref()?))
    }

    /// Whether it was told that there is no such call.
    pub fn found_nothing(&self) -> bool {
        self.told().is_some_and(|(_, told)| told.status == 404)
    }

    /// Whether it was refused because the key belongs to another request.
    pub fn conflicted(&self) -> bool {
        self.told().is_some_and(|(_, told)| told.status == 409)
    }

    /// Whether it can have had a consequence at some time between `from` and `to`.
    pub fn was_under_way(&self, from: usize, to: usize) -> bool {
        self.sent < to && self.told().is_none_or(|(at, _)| at > from)
    }
}

/// All requests in the order of their sending, and where the last looks begin.
pub fn read(history: &[Line]) -> (Vec<Op<'_>>, usize, Vec<Finding>) {
    let mut findings = Findings::of("");
    let mut ops: Vec<Op<'_>> = Vec::new();
    let mut open: HashMap<u64, usize> = HashMap::new();
    let mut settled = None;
    for (at, line) in history.iter().enumerate() {
        match line {
            Line::Sent { op, ask } => {
                if open.insert(*op, ops.len()).is_some() {
                    findings.add(Rule::History, format!("operation {op} is sent twice"));
                }
                ops.push(Op { ask, sent: at, end: End::Unknown });
            }
            Line::Answered { op, told } => match open.remove(op) {
                Some(index) => {
                    ops[index].end = End::Told(at, told);
                    expected(&ops[index], told, &mut findings);
                }
                None => findings.add(Rule::History, format!("operation {op} is answered but was not sent")),
            },
            Line::Unknown { op, .. } => {
                if open.remove(op).is_none() {
                    findings.add(Rule::History, format!("operation {op} is cut off but was not sent"));
                }
            }
            Line::Settled => settled = Some(at),
        }
    }
    if settled.is_none() {
        findings.add(Rule::History, "nobody took a last look".into());
    }
    (ops, settled.unwrap_or(history.len()), findings.found)
}

/// Whether an answer is of a kind that was promised to this request.
fn expected(op: &Op<'_>, told: &Told, findings: &mut Findings<'_>) {
    let status = told.status;
    let shows = told.call.is_some() || (told.stats.is_some() && *op.ask == Ask::Stats);
    let fits = match op.ask {
        Ask::Post { .. } => status != 404,
        Ask::GetKey { .. } | Ask::GetId { .. } | Ask::Stats => status != 409 && status != 202,
    };
    if !STATUSES.contains(&status) || !fits {
        findings.add(Rule::Answer, format!("{:?} was answered with {status} {:?}", op.ask, told.code));
    } else if (status < 300) != shows {
        findings.add(Rule::Answer, format!("{:?} was answered with {status} and no call", op.ask));
    }
}
