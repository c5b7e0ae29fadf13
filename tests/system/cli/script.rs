//! The words of a server, for listeners that play one.

use crate::harness::{Done, Listener, Reply, Request, callonce};

/// `callonce call` to this address.
pub fn call(base: &str, rest: &[&str]) -> Done {
    callonce(&[&["call", "--base", base, "--output", "json"], rest].concat())
}

/// A whole answer with this status line, these header lines (each ended by CR LF) and this body. It announces that the
/// connection ends, so that no client sends its next request into the end of it.
pub fn answer(status: &str, headers: &str, body: &str) -> Reply {
    abrupt(status, &format!("Connection: close\r\n{headers}"), body)
}

/// The same, but the connection ends without a word.
pub fn abrupt(status: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Answer(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"))
}

/// An answer without a body, as of something that is no server of ours.
pub fn bare(status: &str) -> Reply {
    answer(status, "", "")
}

/// A refusal in the words of a server.
pub fn problem(status: &str, title: &str, code: &str) -> Reply {
    let body = format!(r#"{{"title":"{title}","error":{{"code":"{code}","message":"for a reason"}}}}"#);
    answer(status, "Content-Type: application/problem+json\r\n", &body)
}

/// That there is no such call.
pub fn no_such_call() -> Reply {
    problem("404 Not Found", "There is no such call", "not_found")
}

/// The call of a charge of 1 with this key.
pub fn view(key: &str, status: &str) -> String {
    let (is_final, key) = (status == "succeeded", serde_json::Value::from(key));
    format!(
        r#"{{"call_id":"c_1","idem_key":{key},"status":"{status}","final":{is_final},"held":null,"tool":"charge","args":{{"amount":1}}}}"#
    )
}

/// It is accepted, and not done.
pub fn accepted(key: &str) -> Reply {
    answer("202 Accepted", "Retry-After: 1\r\n", &view(key, "pending"))
}

/// It is done.
pub fn done(key: &str) -> Reply {
    answer("200 OK", "", &view(key, "succeeded"))
}

/// A server that is done with every call at once.
pub fn done_at_once() -> Listener {
    Listener::serving(|request| done(&request.header("idempotency-key").concat()))
}

/// The keys in each request that arrived.
pub fn keys(requests: &[Request]) -> Vec<Vec<&str>> {
    requests.iter().map(|request| request.header("idempotency-key")).collect()
}

/// The method and path of each request that arrived.
pub fn lines(requests: &[Request]) -> Vec<&str> {
    requests.iter().map(|request| request.line.as_str()).collect()
}

/// What a client does that has sent a call with the key `K` so many times in vain.
pub fn posts_and_a_look_up(posts: usize) -> Vec<&'static str> {
    let posts = std::iter::repeat_n(POST, posts);
    posts.chain([LOOK_UP]).collect()
}

pub const POST: &str = "POST /v1/tool-calls";
pub const LOOK_UP: &str = "GET /v1/tool-calls/by-key/K";

/// The command that was printed to be copied.
pub fn printed(done: &Done) -> &str {
    let line = done.stderr.lines().find_map(|line| line.strip_prefix("  "));
    line.unwrap_or_else(|| panic!("no command is printed: {done:?}"))
}
