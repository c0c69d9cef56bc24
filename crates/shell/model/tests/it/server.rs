//! A server that plays a script, in memory or on the loopback device.
//!
//! In memory a connection is a pipe, so that tests can run on tokio's paused clock: nothing waits
//! for the operating system, and time moves when every task waits.

use dormouse_model::{Connecting, Connection, Connector, Origin};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// One thing the server does with its side of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    /// Says nothing more until the client goes away.
    Stall,
    /// Ends the connection at this point.
    Close,
    /// First of a reply: the body of the request is not waited for.
    Hasty,
}

/// The answer to one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply(pub(crate) Vec<Step>);

impl Reply {
    /// A reply in one piece.
    pub(crate) fn json(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let mut head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n");
        for (name, value) in headers {
            head.extend([*name, ": ", *value, "\r\n"]);
        }
        let reply = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        Self(vec![Step::Send(reply.into_bytes())])
    }

    /// The head of a stream; chunks follow.
    pub(crate) fn stream() -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
                    request-id: req_1\r\ntransfer-encoding: chunked\r\n\r\n";
        Self(vec![Step::Send(head.as_bytes().to_vec())])
    }

    /// The head of a stream that ends with its connection.
    pub(crate) fn open_stream() -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    connection: close\r\n\r\n";
        Self(vec![Step::Send(head.as_bytes().to_vec())])
    }

    pub(crate) fn chunk(mut self, bytes: &[u8]) -> Self {
        if !bytes.is_empty() {
            let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
            chunk.extend_from_slice(bytes);
            chunk.extend_from_slice(b"\r\n");
            self.0.push(Step::Send(chunk));
        }
        self
    }

    pub(crate) fn raw(self, bytes: &[u8]) -> Self {
        self.step(Step::Send(bytes.to_vec()))
    }

    pub(crate) fn step(mut self, step: Step) -> Self {
        self.0.push(step);
        self
    }

    pub(crate) fn end(self) -> Self {
        self.raw(b"0\r\n\r\n")
    }

    /// A whole stream in one chunk.
    pub(crate) fn whole_stream(text: &str) -> Self {
        Self::stream().chunk(text.as_bytes()).end()
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<Seen>>,
    /// Bytes that belong to no request that was read.
    stray: Mutex<usize>,
    /// Connections that were opened, and those that are gone.
    links: watch::Sender<(usize, usize)>,
}

/// The server. Replies are given in the order of the script; one without a reply is closed.
#[derive(Clone)]
pub(crate) struct Server(Arc<Shared>);

impl Server {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self(Arc::new(Shared {
            replies: Mutex::new(replies.into_iter().collect()),
            seen: Mutex::default(),
            stray: Mutex::default(),
            links: watch::channel((0, 0)).0,
        }))
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.0.seen.lock().unwrap().clone()
    }

    /// Bytes that came after a reply without being a request.
    pub(crate) fn stray(&self) -> usize {
        *self.0.stray.lock().unwrap()
    }

    pub(crate) fn connections(&self) -> usize {
        self.0.links.borrow().0
    }

    /// Waits until the client has closed every connection.
    pub(crate) async fn all_closed(&self) {
        let mut links = self.0.links.subscribe();
        links
            .wait_for(|(opened, closed)| opened == closed)
            .await
            .expect("the server lives");
    }

    /// Serves on the loopback device and says where.
    pub(crate) async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(server.clone().serve(stream));
            }
        });
        format!("http://{address}")
    }

    async fn serve<S: AsyncRead + AsyncWrite + Unpin>(self, mut stream: S) {
        self.0.links.send_modify(|links| links.0 += 1);
        loop {
            let next = self.0.replies.lock().unwrap().front().cloned();
            let hasty = next.is_some_and(|reply| matches!(reply.0.first(), Some(Step::Hasty)));
            let request = match read_request(&mut stream, hasty).await {
                Ok(request) => request,
                Err(stray) => {
                    *self.0.stray.lock().unwrap() += stray;
                    break;
                }
            };
            self.0.seen.lock().unwrap().push(request);
            let reply = self.0.replies.lock().unwrap().pop_front();
            if !play(&mut stream, reply).await {
                break;
            }
        }
        drop(stream);
        self.0.links.send_modify(|links| links.1 += 1);
    }
}

/// Plays a reply; whether the connection lives on.
async fn play<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, reply: Option<Reply>) -> bool {
    let Some(reply) = reply else { return false };
    for step in reply.0 {
        match step {
            Step::Send(bytes) => {
                if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                    return false;
                }
            }
            Step::Wait(time) => tokio::time::sleep(time).await,
            Step::Stall => {
                let mut rest = [0; 64];
                while matches!(stream.read(&mut rest).await, Ok(read) if read > 0) {}
                return false;
            }
            Step::Close => return false,
            Step::Hasty => {}
        }
    }
    true
}

/// Reads a request, or says how many bytes came that are none.
async fn read_request<S: AsyncRead + Unpin>(stream: &mut S, hasty: bool) -> Result<Seen, usize> {
    let mut bytes = Vec::new();
    let end = loop {
        // A head is short; what is longer is none.
        let start = &bytes[..bytes.len().min(4_096)];
        if let Some(at) = start.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if !matches!(stream.read_buf(&mut bytes).await, Ok(read) if read > 0) {
            return Err(bytes.len());
        }
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8(bytes).unwrap();
    let request = Seen { head, body: vec![] };
    let length = request.header("content-length").unwrap();
    let length: usize = length.parse().unwrap();
    while body.len() < length && !hasty {
        if !matches!(stream.read_buf(&mut body).await, Ok(read) if read > 0) {
            return Err(body.len());
        }
    }
    Ok(Seen { body, ..request })
}

impl fmt::Debug for Server {
    /// Without the requests: tests look for secrets in what clients print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

impl Connector for Server {
    fn connect(&self, _: &Origin) -> Connecting {
        let server = self.clone();
        Box::pin(async move {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            tokio::spawn(server.serve(theirs));
            Ok(Box::new(ours) as Box<dyn Connection>)
        })
    }
}
