//! Connections through a proxy: a tunnel by `CONNECT`, and TLS inside it where the server has it.

use super::connect::{Connecting, Connector, Origin, TcpConnector};
use crate::error::SetupError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use std::io;
use std::net::IpAddr;
use tokio::net::TcpStream;

/// Bytes of a proxy's reply to `CONNECT`: a status and some headers.
const LONGEST_REPLY: usize = 8 * 1024;

/// Opens connections through a proxy.
#[derive(Clone)]
pub(crate) struct ProxyConnector {
    tcp: TcpConnector,
    host: String,
    port: u16,
    /// Value of `Proxy-Authorization`, from the name and password in the address.
    account: Option<String>,
}

// The account is a secret.
impl std::fmt::Debug for ProxyConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxyConnector")
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl ProxyConnector {
    /// A connector to an origin through the proxy at an address such as `http://proxy:3128`.
    ///
    /// # Errors
    /// When the address is none, or the origin needs TLS that this build or system has not.
    pub(crate) fn new(address: &str, origin: &Origin) -> Result<Self, SetupError> {
        // Without the account: the address ends up in error messages.
        let bad = || {
            let shown = address.rsplit('@').next().unwrap_or_default();
            SetupError::BadProxy {
                address: shown.to_owned(),
            }
        };
        let text = address.trim();
        // Variables of the environment often lack the scheme.
        let text = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let uri: Uri = text.parse().map_err(|_| bad())?;
        if uri.scheme_str() != Some("http") {
            return Err(bad());
        }
        let authority = uri.authority().ok_or_else(bad)?;
        let account = authority.as_str().rsplit_once('@');
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        if host.is_empty() {
            return Err(bad());
        }
        Ok(Self {
            tcp: TcpConnector::for_origin(origin)?,
            host,
            port: authority.port_u16().unwrap_or(80),
            account: account.map(|(account, _)| format!("Basic {}", STANDARD.encode(account))),
        })
    }
}

impl Connector for ProxyConnector {
    fn connect(&self, origin: &Origin) -> Connecting {
        let proxy = self.clone();
        let host = if origin.host.contains(':') {
            format!("[{}]", origin.host)
        } else {
            origin.host.clone()
        };
        let target = format!("{host}:{}", origin.port);
        self.tcp
            .dial(origin, move || async move { proxy.tunnel(&target).await })
    }
}

impl ProxyConnector {
    async fn tunnel(&self, target: &str) -> io::Result<TcpStream> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        if let Some(account) = &self.account {
            request.push_str("Proxy-Authorization: ");
            request.push_str(account);
            request.push_str("\r\n");
        }
        request.push_str("\r\n");
        write_all(&stream, request.as_bytes()).await?;
        let mut reply = Vec::new();
        // Byte by byte: what follows the reply belongs to the server behind the proxy.
        while !reply.ends_with(b"\r\n\r\n") {
            if reply.len() >= LONGEST_REPLY {
                return Err(io::Error::other("the proxy's reply does not end"));
            }
            reply.push(read_byte(&stream).await?);
        }
        let status = String::from_utf8_lossy(&reply);
        let status = status.lines().next().unwrap_or_default();
        match status.split_whitespace().nth(1) {
            Some("200") => Ok(stream),
            _ => Err(io::Error::other(format!("the proxy refuses: {status}"))),
        }
    }
}

async fn write_all(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            // The readiness was a false alarm.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn read_byte(stream: &TcpStream) -> io::Result<u8> {
    let mut byte = [0];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut byte) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => return Ok(byte[0]),
            // The readiness was a false alarm.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// True for servers on this machine, which no proxy can reach.
pub(crate) fn is_local(host: &str) -> bool {
    let address: Result<IpAddr, _> = host.parse();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// True if a list of exceptions names the origin's host, a domain above it, or its address.
pub(crate) fn is_excepted(origin: &Origin, exceptions: &[String]) -> bool {
    let host = origin.host.trim_matches(['[', ']']);
    let named = |name: &str| {
        let name = name.trim_start_matches("*.").trim_start_matches('.');
        let above = host.len().checked_sub(name.len() + 1);
        !name.is_empty()
            && (host.eq_ignore_ascii_case(name)
                || above.is_some_and(|at| {
                    host.as_bytes().get(at) == Some(&b'.')
                        && host
                            .get(at + 1..)
                            .is_some_and(|end| end.eq_ignore_ascii_case(name))
                }))
    };
    exceptions.iter().map(|one| one.trim()).any(|one| {
        if one == "*" {
            return true;
        }
        // An address of version 6 has colons of its own.
        if one.parse::<IpAddr>().is_ok() {
            return one.parse::<IpAddr>().ok() == host.parse().ok();
        }
        match one.rsplit_once(':') {
            Some((name, port)) => {
                port.parse() == Ok(origin.port) && named(name.trim_matches(['[', ']']))
            }
            None => named(one),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    /// A proxy that answers one request so and gives its head back.
    fn proxy(reply: &'static str) -> (u16, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            stream.write_all(reply.as_bytes()).unwrap();
            String::from_utf8(head).unwrap()
        });
        (port, served)
    }

    fn origin() -> Origin {
        Origin {
            https: false,
            host: "api.example".to_owned(),
            port: 80,
        }
    }

    #[tokio::test]
    async fn a_tunnel_is_asked_for_with_the_account_of_the_address() {
        let (port, served) = proxy("HTTP/1.1 200 Connection established\r\n\r\n");
        let address = format!("http://me:pass@127.0.0.1:{port}");
        let connector = ProxyConnector::new(&address, &origin()).unwrap();
        assert!(connector.connect(&origin()).await.is_ok());
        let head = served.join().unwrap();
        assert!(
            head.starts_with("CONNECT api.example:80 HTTP/1.1\r\n"),
            "{head}"
        );
        assert!(
            head.contains("Proxy-Authorization: Basic bWU6cGFzcw=="),
            "{head}"
        );
        assert!(!format!("{connector:?}").contains("pass"));
    }

    #[test]
    fn exceptions_name_hosts_domains_addresses_and_ports() {
        let origin = |host: &str| Origin {
            https: true,
            host: host.to_owned(),
            port: 443,
        };
        for (host, list, expected) in [
            ("api.example.com", "example.com", true),
            ("api.example.com", ".example.com", true),
            ("api.example.com", "*.Example.com", true),
            ("api.example.com", "other.org, api.example.com:443", true),
            ("api.example.com", "api.example.com:8443", false),
            ("api.example.com", "ample.com", false),
            ("example.com", "api.example.com", false),
            ("api.example.com", "*", true),
            ("api.example.com", "", false),
            ("10.0.0.7", "10.0.0.7", true),
            ("10.0.0.7", "10.0.0.70", false),
            ("fd00::1", "fd00:0::1", true),
            ("[fd00::1]", "[fd00::1]:443", true),
            ("bücher.example", "cher.example", false),
        ] {
            let list: Vec<String> = list.split(',').map(str::to_owned).collect();
            assert_eq!(
                is_excepted(&origin(host), &list),
                expected,
                "{host} {list:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_refusal_names_the_status_and_a_wrong_address_no_account() {
        let (port, served) = proxy("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
        let connector = ProxyConnector::new(&format!("127.0.0.1:{port}"), &origin()).unwrap();
        let Err(error) = connector.connect(&origin()).await else {
            panic!("the proxy refused");
        };
        assert!(error.to_string().contains("407"), "{error}");
        served.join().unwrap();
        let wrong = ProxyConnector::new("socks5://me:secret@proxy", &origin()).unwrap_err();
        assert!(!wrong.to_string().contains("secret"), "{wrong}");
        assert!(is_local("localhost") && is_local("::1") && !is_local("api.example"));
    }
}
