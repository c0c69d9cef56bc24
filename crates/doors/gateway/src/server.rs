//! Connections: accepting, time limits, draining.

use crate::answer::{Shared, UNIT};
use crate::clients::{ClientKeys, Clients};
use crate::limits::Limits;
use crate::turns::Turns;
use crate::upstream::Upstream;
use dormouse_relay::{Layers, Relay};
use dormouse_system::System;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;

/// Exchanges at once on one connection of HTTP/2: a client with many sub-agents.
const STREAMS: u32 = 128;
/// Bytes of all headers of a request: betas and cookies, with much to spare.
const HEADERS: u32 = 64 * 1024;
/// Interval of the signs of life on a connection of HTTP/2; a client that is gone is noticed.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// Everything that a gateway is made of.
#[derive(Debug)]
pub struct Gateway {
    /// Recognition and the book.
    pub relay: Arc<Relay>,
    /// The layers; `None` passes every body as it came.
    pub layers: Option<Arc<Layers>>,
    /// Way in which models open texts that left their prompt; `None` decides by the address.
    pub reads: Option<Reads>,
    /// Provider that requests are passed on to.
    pub upstream: Upstream,
    /// Keys of clients; `None` admits everyone, which is for loopback only.
    pub keys: Option<ClientKeys>,
    /// Key for the upstream, sent for clients that have a key of the gateway alone.
    pub upstream_key: Option<String>,
    /// Limits on what clients may take.
    pub limits: Limits,
}

/// Way in which a model opens a text that left its prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// By its path, with the client's own tools: the client runs on this machine.
    Path,
    /// By a tool of the gateway's, which the gateway answers.
    Tool,
}

/// A gateway that runs until it is stopped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// The address it listens on, with the real port.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting, lets running exchanges end for a while, and returns when all is booked.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        drop(self.task.await);
    }

    /// Runs until the task is cancelled.
    pub async fn wait(self) {
        drop(self.task.await);
    }
}

/// Serves on a listener, in tasks of the current tokio runtime.
///
/// # Errors
/// When the listener has no address.
pub fn serve(gateway: Gateway, system: &System, listener: TcpListener) -> io::Result<Server> {
    let address = listener.local_addr()?;
    let limits = gateway.limits;
    let relay = gateway.relay;
    let mac = |credential: &[u8]| relay.mac(credential);
    let clients = Clients::new(
        gateway.keys,
        gateway.upstream_key.as_deref(),
        limits.requests_per_key,
        mac,
    );
    let (done, all_done) = mpsc::channel(1);
    let shared = Shared {
        clients,
        clock: Arc::clone(&system.clock),
        ids: Arc::clone(&system.ids),
        turns: Turns::start(Arc::clone(&relay), done.clone()),
        upstream: gateway.upstream,
        layers: gateway.layers,
        reads: gateway.reads.unwrap_or(if address.ip().is_loopback() {
            Reads::Path
        } else {
            Reads::Tool
        }),
        limits,
        requests: Arc::new(Semaphore::new(limits.requests)),
        bodies: Arc::new(Semaphore::new(limits.bodies / UNIT)),
        stopping: AtomicBool::new(false),
        refused: Mutex::new(BTreeMap::new()),
        relay,
        _done: done,
    };
    let (stop, stopped) = watch::channel(false);
    let task = tokio::spawn(accept(Arc::new(shared), listener, stopped, all_done));
    Ok(Server {
        address,
        stop,
        task,
    })
}

async fn accept(
    shared: Arc<Shared>,
    listener: TcpListener,
    mut stopped: watch::Receiver<bool>,
    mut all_done: mpsc::Receiver<()>,
) {
    let limits = shared.limits;
    let connections = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    loop {
        let next = async {
            // Back-pressure: a connection beyond the limit waits in the listener's queue.
            let room = Arc::clone(&connections).acquire_owned().await;
            (listener.accept().await, room)
        };
        tokio::select! {
            () = is_set(&mut stopped) => break,
            (accepted, room) = next => match (accepted, room) {
                (Ok((stream, _)), Ok(room)) => {
                    // Events are small and should leave at once; an error costs only speed.
                    drop(stream.set_nodelay(true));
                    let shared = Arc::clone(&shared);
                    tokio::spawn(connection(shared, stream, graceful.watcher(), room));
                }
                // Out of descriptors, or the peer is gone already. A short pause keeps the loop
                // from spinning.
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            },
        }
    }
    drop(listener);
    shared.stopping.store(true, Ordering::Relaxed);
    drop(tokio::time::timeout(limits.drain, graceful.shutdown()).await);
    // Exchanges that ended are booked by tasks of their own; each holds a part of `shared`.
    drop(shared);
    drop(tokio::time::timeout(limits.drain, all_done.recv()).await);
}

async fn is_set(stopped: &mut watch::Receiver<bool>) {
    // An error means that the server's handle is gone: then it runs as long as the runtime.
    if stopped.wait_for(|stopped| *stopped).await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn connection(
    shared: Arc<Shared>,
    stream: TcpStream,
    watcher: Watcher,
    _room: OwnedSemaphorePermit,
) {
    let head = shared.limits.head;
    let asked = Arc::new(AtomicBool::new(false));
    let has_asked = Arc::clone(&asked);
    let service = service_fn(move |request| {
        has_asked.store(true, Ordering::Relaxed);
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(shared.answer(request).await) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(HEADERS as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADERS)
        .adaptive_window(true)
        .keep_alive_interval(SIGN_OF_LIFE);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(watcher.watch(connection.into_owned()));
    tokio::select! {
        // A broken connection is the client's business.
        _ = connection.as_mut() => return,
        () = tokio::time::sleep(head) => {}
    }
    // The version of HTTP is found out before the limit on heads applies: a client that has not
    // said so much by now is not going to.
    if asked.load(Ordering::Relaxed) {
        drop(connection.await);
    }
}
