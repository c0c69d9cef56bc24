//! Limits on what clients may take of this process.

use std::time::Duration;

/// Limits of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one body.
    pub body: usize,
    /// Bytes of all bodies that are held at once.
    pub bodies: usize,
    /// Exchanges at once, of all clients.
    pub requests: usize,
    /// Exchanges at once, of one key.
    pub requests_per_key: usize,
    /// Connections at once; more of them wait to be accepted.
    pub connections: usize,
    /// Time for the head of a request.
    pub head: Duration,
    /// Time for the body of a request.
    pub upload: Duration,
    /// Time without a byte from the upstream.
    pub silence: Duration,
    /// Time that running exchanges have to end when the gateway stops.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // The provider's own limit for a message.
            body: 32 * 1024 * 1024,
            // Sixteen of the largest.
            bodies: 512 * 1024 * 1024,
            requests: 512,
            // The busiest client seen ran a main loop and some sub-agents at once.
            requests_per_key: 128,
            connections: 1_024,
            head: Duration::from_secs(30),
            // 32 MiB over a slow line.
            upload: Duration::from_mins(2),
            // The time-out of the provider's SDKs: clients give up earlier.
            silence: Duration::from_mins(10),
            drain: Duration::from_secs(30),
        }
    }
}
