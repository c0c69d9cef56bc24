//! Clients that may ask, by their keys.
//!
//! # Model
//! On loopback everyone on the machine may ask, and sends the upstream's credential. Elsewhere a
//! client needs a key of the gateway: as `x-dormouse-key` beside its own credential, or in place of
//! it, in which case the gateway puts its own upstream key there. Keys are compared by their MAC
//! and kept in no other form.

use crate::headers;
use crate::refusal::Refusal;
use dormouse_core::hash::Hash;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Keys in force, by their MAC.
pub struct ClientKeys {
    keys: Vec<String>,
}

// Keys are secrets.
impl fmt::Debug for ClientKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientKeys({})", self.keys.len())
    }
}

/// Shortest key: shorter ones can be guessed.
const SHORTEST: usize = 16;

/// Reason that a file of keys cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// Not a single key.
    #[error("the file has no keys")]
    Empty,
    /// A key that is too short.
    #[error("the key in line {line} is shorter than {SHORTEST} characters")]
    Short {
        /// Line of the key, from 1.
        line: usize,
    },
    /// A key that cannot stand in a header.
    #[error("the key in line {line} has spaces or other characters that no header can hold")]
    Unsendable {
        /// Line of the key, from 1.
        line: usize,
    },
}

impl ClientKeys {
    /// Reads keys, one a line; empty lines and those that begin with `#` do not count.
    ///
    /// # Errors
    /// When there is no key, or one is too short.
    pub fn parse(text: &str) -> Result<Self, KeysError> {
        let mut keys = Vec::new();
        for (line, key) in (1..).zip(text.lines()) {
            let key = key.trim();
            if key.is_empty() || key.starts_with('#') {
                continue;
            }
            if key.len() < SHORTEST {
                return Err(KeysError::Short { line });
            }
            if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(KeysError::Unsendable { line });
            }
            keys.push(key.to_owned());
        }
        if keys.is_empty() {
            return Err(KeysError::Empty);
        }
        Ok(Self { keys })
    }
}

/// The check of clients.
pub(crate) struct Clients {
    /// MACs of the keys; `None` where everyone may ask.
    keys: Option<Vec<Hash>>,
    /// Key that the gateway sends upstream for its own clients.
    upstream_key: Option<HeaderValue>,
    per_key: usize,
    /// Exchanges under way by credential. Entries without any are removed when there are many.
    busy: Mutex<HashMap<Hash, Arc<Semaphore>>>,
}

/// Number of credentials from which on idle ones are forgotten.
const MANY: usize = 1_024;

impl Clients {
    pub(crate) fn new(
        keys: Option<ClientKeys>,
        upstream_key: Option<&str>,
        per_key: usize,
        mac: impl Fn(&[u8]) -> Hash,
    ) -> Self {
        let upstream_key = upstream_key.and_then(|key| {
            let mut value = HeaderValue::from_str(key).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        Self {
            keys: keys.map(|keys| keys.keys.iter().map(|key| mac(key.as_bytes())).collect()),
            upstream_key,
            per_key,
            busy: Mutex::default(),
        }
    }

    /// Admits a request, and puts the credential for the upstream into its headers. Returns the MAC
    /// that the conversation is recognised by.
    pub(crate) fn admit(
        &self,
        sent: &HeaderMap,
        passed: &mut HeaderMap,
        mac: impl Fn(&[u8]) -> Hash,
    ) -> Result<Hash, Refusal> {
        let of = |text: Option<&str>| mac(text.unwrap_or_default().as_bytes());
        let own = of(headers::credential(sent));
        let Some(keys) = &self.keys else {
            return Ok(own);
        };
        if let Some(key) = headers::text(sent, headers::KEY) {
            let known = keys.contains(&of(Some(key)));
            // Scoped by both: two users of one gateway key may have credentials of their own.
            return known
                .then(|| of(Some(key)).link(0, own))
                .ok_or(Refusal::Unknown);
        }
        if !keys.contains(&own) {
            return Err(Refusal::Unknown);
        }
        let Some(key) = &self.upstream_key else {
            return Err(Refusal::NoUpstreamKey);
        };
        passed.remove(AUTHORIZATION);
        passed.insert("x-api-key", key.clone());
        Ok(own)
    }

    /// Counts one more exchange of a credential, until the permit is dropped.
    pub(crate) fn enter(&self, credential: Hash) -> Result<OwnedSemaphorePermit, Refusal> {
        let semaphore = {
            let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            if busy.len() >= MANY {
                busy.retain(|_, semaphore| semaphore.available_permits() < self.per_key);
            }
            let fresh = || Arc::new(Semaphore::new(self.per_key));
            Arc::clone(busy.entry(credential).or_insert_with(fresh))
        };
        semaphore.try_acquire_owned().map_err(|_| Refusal::BusyKey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const KEY: &str = "gateway-key-0123456789";

    fn mac(credential: &[u8]) -> Hash {
        Hash::of(credential)
    }

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in list {
            map.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn files_of_keys_are_read_strictly() {
        assert_eq!(
            ClientKeys::parse("# none\n\n").unwrap_err(),
            KeysError::Empty
        );
        assert_eq!(
            ClientKeys::parse("# a\nshort\n").unwrap_err(),
            KeysError::Short { line: 2 }
        );
        let spaced = ClientKeys::parse("0123456789 0123456789").unwrap_err();
        assert_eq!(spaced, KeysError::Unsendable { line: 1 });
        let keys = ClientKeys::parse(&format!("  {KEY}  \r\n")).unwrap();
        assert_eq!(keys.keys, [KEY]);
        assert!(!format!("{keys:?}").contains(KEY));
    }

    #[test]
    fn a_key_of_the_gateway_is_replaced_and_never_passed_on() {
        let keys = || Some(ClientKeys::parse(KEY).unwrap());
        let clients = Clients::new(keys(), Some("upstream"), 1, mac);
        for name in ["x-api-key", "authorization"] {
            let value = if name == "x-api-key" {
                KEY.to_owned()
            } else {
                format!("Bearer {KEY}")
            };
            let sent = headers(&[(name, &value)]);
            let mut passed = sent.clone();
            clients.admit(&sent, &mut passed, mac).unwrap();
            assert_eq!(passed["x-api-key"], "upstream");
            assert!(!passed.contains_key("authorization"));
        }
        let sent = headers(&[("x-api-key", "sk-other")]);
        assert_eq!(
            clients.admit(&sent, &mut sent.clone(), mac),
            Err(Refusal::Unknown)
        );
        assert_eq!(
            clients.admit(&HeaderMap::new(), &mut HeaderMap::new(), mac),
            Err(Refusal::Unknown)
        );
        let none = Clients::new(keys(), None, 1, mac);
        let sent = headers(&[("x-api-key", KEY)]);
        assert_eq!(
            none.admit(&sent, &mut sent.clone(), mac),
            Err(Refusal::NoUpstreamKey)
        );
    }

    #[test]
    fn a_client_may_keep_its_own_credential_and_is_scoped_by_both() {
        let clients = Clients::new(Some(ClientKeys::parse(KEY).unwrap()), None, 1, mac);
        let admit = |own: &str, key: &str| {
            let sent = headers(&[("x-api-key", own), ("x-dormouse-key", key)]);
            clients.admit(&sent, &mut sent.clone(), mac)
        };
        assert_ne!(admit("one", KEY).unwrap(), admit("two", KEY).unwrap());
        assert_eq!(admit("one", "wrong"), Err(Refusal::Unknown));
    }

    #[test]
    fn one_key_cannot_take_the_room_of_another() {
        let clients = Clients::new(None, None, 1, mac);
        let held = clients.enter(mac(b"a")).unwrap();
        assert!(matches!(clients.enter(mac(b"a")), Err(Refusal::BusyKey)));
        assert!(clients.enter(mac(b"b")).is_ok());
        drop(held);
        assert!(clients.enter(mac(b"a")).is_ok());
    }
}
