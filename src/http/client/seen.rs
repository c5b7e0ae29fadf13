//! What a server shows: a call, or why there is none. Whatever is neither is not believed.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::Answer;
use crate::domain::call::Status;
use crate::domain::id::IdemKey;

/// The title of the one 404 that is about a call, and not about a path that leads nowhere.
const NO_SUCH_CALL: &str = "There is no such call";

/// A call as a server showed it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its id; opaque.
    pub call_id: String,
    /// The key that leads to it.
    pub idem_key: String,
    /// Its status.
    pub status: Status,
    /// Whether it can never change any more.
    pub is_final: bool,
    /// Whether nobody may run it, because what an attempt did is unknown.
    pub is_held: bool,
    /// Its tool.
    pub tool: String,
    /// Its arguments, as JSON.
    pub args: Box<RawValue>,
    /// All of it, as it came.
    pub body: String,
}

/// Why an answer is not taken for what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Disbelief(String);

impl Seen {
    /// Reads a call.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(body: String) -> Result<Self, Disbelief> {
        #[derive(Deserialize)]
        struct Call {
            call_id: String,
            idem_key: String,
            status: String,
            #[serde(rename = "final")]
            is_final: bool,
            held: Option<IgnoredAny>,
            tool: String,
            args: Box<RawValue>,
        }
        let call: Call = object(&body)?;
        if call.call_id.is_empty() {
            return Err(Disbelief("the answer is a call whose call_id is empty".into()));
        }
        let status = Status::parse(&call.status).ok_or_else(|| {
            Disbelief(format!("the answer is a call whose status is {:?}, which is none", call.status))
        })?;
        let Call { call_id, idem_key, is_final, held, tool, args, .. } = call;
        Ok(Self { call_id, idem_key, status, is_final, is_held: held.is_some(), tool, args, body })
    }

    /// Reads the call that `key` leads to.
    ///
    /// # Errors
    /// If it is no call, or that of another key.
    pub fn of(key: &IdemKey, body: String) -> Result<Self, Disbelief> {
        let seen = Self::read(body)?;
        match seen.idem_key == key.as_str() {
            true => Ok(seen),
            false => Err(Disbelief(format!("the answer is the call of another key, {:?}", seen.idem_key))),
        }
    }

    /// Whether waiting longer changes nothing.
    pub fn is_settled(&self) -> bool {
        self.is_held || matches!(self.status, Status::Succeeded | Status::Failed)
    }
}

/// A refusal in the words of a callonce server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The stable code.
    pub code: String,
    /// What it says to a person.
    pub message: String,
    title: Option<String>,
}

impl Problem {
    /// Reads a refusal; none if it is in other words.
    pub fn read(answer: &Answer) -> Option<Self> {
        #[derive(Deserialize)]
        struct Document {
            title: Option<String>,
            error: Detail,
        }
        #[derive(Deserialize)]
        struct Detail {
            code: String,
            message: String,
        }
        let Document { title, error } = object(&answer.body).ok()?;
        Some(Self { code: error.code, message: error.message, title })
    }

    /// Whether it says that there is no such call, and not that there is no such path.
    pub fn is_no_such_call(&self) -> bool {
        self.code == "not_found" && self.title.as_deref() == Some(NO_SUCH_CALL)
    }
}

/// Reads a JSON object.
///
/// # Errors
/// If it is something else: a list of the members' values in order, for one, is not taken for it.
pub fn object<'a, T: Deserialize<'a>>(body: &'a str) -> Result<T, Disbelief> {
    match body.trim_start().starts_with('{') {
        true => serde_json::from_str(body)
            .map_err(|error| Disbelief(format!("the answer is not what a callonce server sends: {error}"))),
        false => Err(Disbelief("the answer is not a JSON object".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"call_id":"c_1","idem_key":"K","status":"running","final":false,"held":null,"tool":"t","args":{}}"#;

    #[test]
    fn what_is_no_call_of_the_key_is_not_believed() {
        let key = IdemKey::parse("K").expect("a key");
        let seen = Seen::of(&key, CALL.into()).expect("a call");
        assert_eq!((seen.call_id.as_str(), seen.status, seen.is_settled()), ("c_1", Status::Running, false));
        let held = CALL.replace(r#""held":null"#, r#""held":{"since":"…"}"#);
        assert!(Seen::of(&key, held).expect("a held call").is_settled());
        let list = r#"["c_1","K","running",false,null,"t",{}]"#;
        for (body, says) in [
            (list.to_string(), "not a JSON object"),
            (format!("[{CALL}]"), "not a JSON object"),
            ("<html>".into(), "not a JSON object"),
            (String::new(), "not a JSON object"),
            ("{}".into(), "call_id"),
            (CALL.replace(r#""call_id":"c_1","#, ""), "call_id"),
            (CALL.replace("c_1", ""), "call_id"),
            (CALL.replace(r#""K""#, r#""k""#), "another key"),
            (CALL.replace("running", "done"), "status"),
            (CALL.replace("false", "0"), "boolean"),
            (CALL.replace(r#""args":{}"#, r#""args":{},"call_id":"c_2""#), "duplicate"),
            (CALL[..CALL.len() - 1].into(), "EOF"),
        ] {
            let problem = Seen::of(&key, body.clone()).expect_err(&body).to_string();
            assert!(problem.contains(says), "{body}: {problem}");
        }
    }

    #[test]
    fn a_missing_call_is_told_from_a_missing_path() {
        let problem =
            |body: &str| Problem::read(&Answer { status: 404, retry_after: None, body: body.into() });
        let of = |title: &str, code: &str| {
            format!(r#"{{"title":"{title}","error":{{"code":"{code}","message":"m"}}}}"#)
        };
        let is_no_such_call = |body: &str| problem(body).is_some_and(|problem| problem.is_no_such_call());
        assert!(is_no_such_call(&of(NO_SUCH_CALL, "not_found")));
        assert!(!is_no_such_call(&of("There is no such route", "not_found")));
        assert!(!is_no_such_call(&of(NO_SUCH_CALL, "bad_request")));
        for foreign in ["", "<html>", "{}", r#"{"error":"not_found"}"#, r#"["m",["not_found","m"]]"#] {
            assert_eq!(problem(foreign), None, "{foreign}");
        }
    }
}
