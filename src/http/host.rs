//! Refuses a request that does not say which host it is for, as HTTP/1.1 demands (RFC 9112, section 3.2).

use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Version};

/// Why a request's `Host` is refused. Answered with 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// An HTTP/1.1 request without one.
    #[error("the request has no Host header, which HTTP/1.1 requires")]
    Missing,
    /// Two lines could send a proxy and this server to two different hosts.
    #[error("the request has more than one Host header")]
    Several,
    /// Not `host` or `host:port`.
    #[error("the Host header is not a host name or address with an optional port")]
    Malformed,
}

/// Checks the `Host` header of a request. Which host it names does not matter: this server is alone on its port.
///
/// # Errors
/// [`HostError`] where a server must answer 400. HTTP/1.0 may leave the header out.
pub fn check_host(version: Version, headers: &HeaderMap) -> Result<(), HostError> {
    let mut lines = headers.get_all(HOST).iter();
    let Some(host) = lines.next() else {
        return if version >= Version::HTTP_11 { Err(HostError::Missing) } else { Ok(()) };
    };
    if lines.next().is_some() {
        return Err(HostError::Several);
    }
    let host = host.as_bytes();
    // Empty is legal: what a client sends when its target has no authority.
    if host.is_empty() || (!host.contains(&b'@') && Authority::try_from(host).is_ok()) {
        Ok(())
    } else {
        Err(HostError::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_well_formed_host_is_required_from_http_1_1_on() {
        let cases: &[(Version, &[&'static str], Result<(), HostError>)] = &[
            (Version::HTTP_11, &["localhost:8081"], Ok(())),
            (Version::HTTP_11, &["[::1]:8081"], Ok(())),
            (Version::HTTP_11, &["example.org"], Ok(())),
            (Version::HTTP_11, &[""], Ok(())),
            (Version::HTTP_11, &[], Err(HostError::Missing)),
            (Version::HTTP_10, &[], Ok(())),
            (Version::HTTP_10, &["a", "b"], Err(HostError::Several)),
            (Version::HTTP_11, &["a", "a"], Err(HostError::Several)),
            (Version::HTTP_11, &["a b"], Err(HostError::Malformed)),
            (Version::HTTP_11, &["user@host"], Err(HostError::Malformed)),
            (Version::HTTP_11, &["host/path"], Err(HostError::Malformed)),
        ];
        for (version, lines, expected) in cases {
            let mut headers = HeaderMap::new();
            for line in *lines {
                headers.append(HOST, axum::http::HeaderValue::from_static(line));
            }
            assert_eq!(check_host(*version, &headers), *expected, "{version:?} {lines:?}");
        }
    }
}
