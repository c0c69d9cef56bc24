//! Encryption, with the certificates of the system.
//!
//! # Not here
//! Certificates of its own: a company's proxy works only with the system's roots.

use super::Connection;
use crate::error::SetupError;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

#[derive(Clone)]
pub(super) struct Tls(TlsConnector);

/// The connector of the process. Reading a system's certificates takes some ten milliseconds, and
/// a session has several clients.
static SHARED: OnceLock<Tls> = OnceLock::new();

impl Tls {
    pub(super) fn new() -> Result<Self, SetupError> {
        if let Some(tls) = SHARED.get() {
            return Ok(tls.clone());
        }
        // Two threads at once both read them; the first to finish is kept.
        let tls = Self::read()?;
        Ok(SHARED.get_or_init(|| tls).clone())
    }

    fn read() -> Result<Self, SetupError> {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        // Some roots that do not parse are normal; without a single one every handshake would fail
        // later, with an error that does not name the reason.
        if added == 0 {
            return Err(SetupError::NoRoots);
        }
        // Named here, because a process-wide default can be set only once, and that is the host's
        // to do.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| SetupError::NoTls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    pub(super) async fn wrap(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> io::Result<Box<dyn Connection>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Box::new(self.0.connect(name, stream).await?))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
