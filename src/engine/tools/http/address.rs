//! Where a request goes: an address with places for the ids of the attempt.

use reqwest::Url;

use super::Invocation;
use crate::domain::json::Value;

/// An address whose places are filled in for each attempt.
#[derive(Debug, Clone)]
pub(super) struct Address(String);

/// What can stand in braces.
const PLACES: [&str; 3] = ["{effect_id}", "{call_id}", "{attempt}"];

impl Address {
    pub(super) fn parse(template: &str) -> Result<Self, String> {
        let filled = PLACES.iter().fold(template.to_owned(), |filled, place| filled.replace(place, "1"));
        if let Some(from) = filled.find(['{', '}']) {
            let rest: String = filled[from..].chars().take(20).collect();
            return Err(format!("in braces there can be {}, found {rest:?}", PLACES.join(", ")));
        }
        let expected = "expected an address as in \"http://127.0.0.1:9000/payments\"";
        let url = Url::parse(&filled).map_err(|problem| format!("{expected}: {problem}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{expected}, found the scheme {:?}", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "a name and a password do not belong here: put them into a header Authorization".into()
            );
        }
        Ok(Self(template.into()))
    }

    pub(super) fn of(&self, invocation: &Invocation) -> Result<Url, String> {
        let Invocation { call_id, effect_id, attempt, .. } = invocation;
        let filled = self
            .0
            .replace("{effect_id}", &effect_id.to_string())
            .replace("{call_id}", &call_id.to_string())
            .replace("{attempt}", &attempt.to_string());
        Url::parse(&filled).map_err(|problem| format!("url: {problem}"))
    }
}

/// Whether both lead to the same scheme, host and port.
pub(in crate::engine::tools) fn same_origin(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

/// Puts the args into the query: texts as they are, everything else as JSON.
pub(super) fn append_args(url: &mut Url, args: &Value) {
    let members = args.as_object().unwrap_or_default();
    if members.is_empty() {
        return;
    }
    let mut query = url.query_pairs_mut();
    for (name, value) in members {
        match value.as_str() {
            Some(text) => query.append_pair(name, text),
            None => query.append_pair(name, value.canonical().as_str()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::json;

    #[test]
    fn what_is_no_address_is_refused_with_what_was_expected() {
        for (wrong, says) in [
            ("", "expected an address"),
            ("/payments", "expected an address"),
            ("ftp://host/", "scheme \"ftp\""),
            ("http://host/{id}", "found \"{id}\""),
            ("http://host/{effect_id", "found \"{effect_id\""),
            ("http://me:secret@host/", "Authorization"),
        ] {
            let refusal = Address::parse(wrong).expect_err(wrong);
            assert!(refusal.contains(says) && !refusal.contains("secret"), "{wrong}: {refusal}");
        }
        Address::parse("https://host/{call_id}/{attempt}?of={effect_id}").expect("an address");
    }

    #[test]
    fn args_in_a_query_keep_their_digits_and_their_texts() {
        let args = json::parse(br#"{"n":9007199254740993,"s":"a b&c","o":{"x":[1,null]}}"#).expect("JSON");
        let mut url = Url::parse("http://host/look?fixed=1").expect("an address");
        append_args(&mut url, &args);
        let pairs: Vec<_> = url.query_pairs().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(pairs, ["fixed=1", "n=9007199254740993", r#"o={"x":[1,null]}"#, "s=a b&c"]);
    }
}
