//! Headers that pass through the gateway, and those that do not.
//!
//! Everything passes, betas and unknown names included, in order and as often as it was sent. Left
//! out are the headers that belong to one connection, the host, and those that speak to the gateway.

use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};

/// Header that makes the gateway pass a request without reading or booking it.
pub(crate) const OFF: &str = "dormouse-off";
/// Header with a key of the gateway, for clients that send their own key upstream.
pub(crate) const KEY: &str = "x-dormouse-key";
/// Beginning of the names of all headers that speak to the gateway or come from it.
const OURS: &str = "x-dormouse-";
/// Project whose memory a request wants.
pub(crate) const PROJECT: &str = "x-dormouse-project";
/// Id of the request, in replies and in the book.
pub(crate) const REQUEST: HeaderName = HeaderName::from_static("x-dormouse-request");
/// Layers that changed the request.
pub(crate) const LAYERS: HeaderName = HeaderName::from_static("x-dormouse-layers");

/// Headers of a connection by name; `connection` may list more.
fn is_of_connection(name: &HeaderName) -> bool {
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE].contains(name)
        || matches!(
            name.as_str(),
            "keep-alive" | "proxy-authenticate" | "proxy-authorization" | "proxy-connection"
        )
}

/// Names that the sender declared to be of this connection alone.
fn declared(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(CONNECTION).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts
        .flat_map(|text| text.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        // A client must not make us drop the headers that carry its identity or the framing.
        .filter(|name| {
            !matches!(
                name.as_str(),
                "x-api-key" | "authorization" | "content-length"
            )
        })
        .collect()
}

fn passing(headers: &HeaderMap, keep: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let declared = declared(headers);
    let mut passing = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let of_connection =
            is_of_connection(name) || declared.iter().any(|other| other == name.as_str());
        if !of_connection && keep(name) {
            passing.append(name.clone(), value.clone());
        }
    }
    passing
}

/// Headers of a request for the upstream. The length is that of the body that is sent.
pub(crate) fn upstream(headers: &HeaderMap) -> HeaderMap {
    passing(headers, |name| {
        let ours = name.as_str().starts_with(OURS) || name == OFF;
        !ours && ![HOST, CONTENT_LENGTH, EXPECT].contains(name)
    })
}

/// Headers of a reply for the client.
pub(crate) fn client(headers: &HeaderMap) -> HeaderMap {
    // A gateway behind this one may have left its own.
    passing(headers, |name| !name.as_str().starts_with(OURS))
}

/// Value of a header as text.
pub(crate) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let value = headers.get(name).map(HeaderValue::to_str)?;
    value.ok().map(str::trim).filter(|text| !text.is_empty())
}

/// The credential of a request: the key wins over the bearer token, as it does at the provider.
pub(crate) fn credential(headers: &HeaderMap) -> Option<&str> {
    let bearer = || {
        let (scheme, token) = text(headers, "authorization")?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    };
    text(headers, "x-api-key").or_else(bearer)
}

/// Session and sub-agent, by the headers of known clients.
pub(crate) fn identity(headers: &HeaderMap) -> (Option<String>, Option<String>) {
    let session = [
        "x-claude-code-session-id",
        "x-session-id",
        "x-session-affinity",
    ];
    let session = session.iter().find_map(|name| text(headers, name));
    let agent = text(headers, "x-claude-code-agent-id");
    (session.map(str::to_owned), agent.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn map(headers: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    fn list(headers: &HeaderMap) -> Vec<(&str, &str)> {
        let list = headers.iter();
        list.map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect()
    }

    #[test]
    fn everything_passes_but_the_connection_and_the_gateway() {
        let sent = map(&[
            ("host", "127.0.0.1:4141"),
            ("connection", "keep-alive, X-Hop, x-api-key"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("expect", "100-continue"),
            ("proxy-authorization", "Basic x"),
            ("x-hop", "1"),
            ("dormouse-off", "1"),
            ("x-dormouse-key", "k"),
            ("x-api-key", "sk-1"),
            ("anthropic-beta", "a-1,b-2"),
            ("anthropic-beta", "c-3"),
            ("x-unknown", "kept"),
            ("accept-encoding", "gzip"),
        ]);
        assert_eq!(
            list(&upstream(&sent)),
            [
                ("x-api-key", "sk-1"),
                ("anthropic-beta", "a-1,b-2"),
                ("anthropic-beta", "c-3"),
                ("x-unknown", "kept"),
                ("accept-encoding", "gzip"),
            ]
        );
        let reply = map(&[
            ("connection", "close"),
            ("content-length", "7"),
            ("request-id", "req_1"),
            ("x-dormouse-request", "theirs"),
        ]);
        assert_eq!(
            list(&client(&reply)),
            [("content-length", "7"), ("request-id", "req_1")]
        );
    }

    #[test]
    fn the_key_wins_over_the_token() {
        for (headers, expected) in [
            (
                vec![("x-api-key", "k"), ("authorization", "Bearer t")],
                Some("k"),
            ),
            (vec![("authorization", "bearer t")], Some("t")),
            (vec![("authorization", "Basic t")], None),
            (vec![("x-api-key", " ")], None),
        ] {
            assert_eq!(credential(&map(&headers)), expected, "{headers:?}");
        }
    }
}
