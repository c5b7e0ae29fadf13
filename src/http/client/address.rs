//! A server's address, as it is typed and as it may be shown.

use reqwest::Url;

/// What stands for a password that is not shown.
const HIDDEN: &str = "***";

/// Reads an address, as in `http://127.0.0.1:8081`.
pub(super) fn parse(base: &str) -> Result<Url, String> {
    let invalid = |problem: &str| format!("{} is not a server's address: {problem}", shown(base));
    let url = Url::parse(base).map_err(|problem| invalid(&problem.to_string()))?;
    if url.scheme() == "https" {
        return Err(invalid("TLS is not spoken here; put a local proxy in between and use http"));
    }
    let is_plain = url.query().is_none() && url.fragment().is_none();
    if url.scheme() != "http" || url.host().is_none() || !is_plain {
        return Err(invalid("expected something like http://127.0.0.1:8081"));
    }
    Ok(url)
}

/// The address without its password, for people and logs.
pub fn shown(base: &str) -> String {
    match Url::parse(base) {
        Ok(mut url) if url.has_host() && !base.contains(char::is_whitespace) => match url.password() {
            None => base.to_owned(),
            Some(_) => {
                // An address with a host and a password can be given another one.
                let _ = url.set_password(Some(HIDDEN));
                url.to_string()
            }
        },
        // Nobody knows which part of a typing error is the password: only what comes after the last `@` cannot be.
        Ok(_) | Err(_) => match base.rfind('@') {
            None => base.to_owned(),
            Some(at) => format!("{HIDDEN}{}", &base[at..]),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_ever_shown() {
        for (typed, expected) in [
            ("http://127.0.0.1:8081", "http://127.0.0.1:8081"),
            ("http://127.0.0.1:8081/tools/@home", "http://127.0.0.1:8081/tools/@home"),
            ("http://me@host/", "http://me@host/"),
            ("http://me:secret@host", "http://me:***@host/"),
            ("http://me:s%2Fecret@host:8081/a", "http://me:***@host:8081/a"),
            ("http://:secret@host", "http://:***@host/"),
            ("me:secret@host", "***@host"),
            ("http://me:se/cret@host", "***@host"),
            ("http://me:secret@host:99999", "***@host:99999"),
            ("http:/me:secret@host:port", "***@host:port"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(shown(typed), expected, "{typed}");
            if let Err(problem) = parse(typed) {
                assert!(!problem.contains("secret") && !problem.contains("cret@"), "{typed}: {problem}");
            }
        }
    }

    #[test]
    fn an_address_is_plain_http_to_a_host() {
        for good in
            ["http://127.0.0.1:8081", "http://localhost/", "http://[::1]:1/a/b", "http://me:secret@host"]
        {
            assert!(parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "127.0.0.1:8081",
            "https://host",
            "ftp://host",
            "http://",
            "http://host/?a",
            "http://host/#a",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
