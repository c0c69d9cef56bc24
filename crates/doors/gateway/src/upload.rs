//! The body of a request on its way to the upstream.
//!
//! # Model
//! A body of known length that no layer reads is passed on piece by piece as it arrives. Pieces are
//! pointers: the copy that recognition reads later costs no copying. A body that is still coming when
//! the upstream has answered is read to its end and dropped, so that its client gets to the answer.

use crate::turns::Copied;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// Reason that a body did not reach its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UploadError {
    #[error("the client broke off")]
    Broken,
    #[error("the client sent too slowly")]
    Slow,
}

/// Fate of an upload, told to the exchange that waits for a reply to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate(Arc<AtomicU8>);

impl Fate {
    /// The reason that the client is to blame for, if the upload failed.
    pub(crate) fn error(&self) -> Option<UploadError> {
        match self.0.load(Ordering::Relaxed) {
            1 => Some(UploadError::Broken),
            2 => Some(UploadError::Slow),
            _ => None,
        }
    }

    fn set(&self, error: UploadError) {
        let code = match error {
            UploadError::Broken => 1,
            UploadError::Slow => 2,
        };
        self.0.store(code, Ordering::Relaxed);
    }
}

/// Body of a request upstream.
#[derive(Debug)]
pub(crate) enum Upload {
    Whole(Full<Bytes>),
    Streamed(Streamed),
}

impl Upload {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self::Whole(Full::new(bytes))
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body)
                .poll_frame(context)
                .map_err(|never| match never {}),
            Self::Streamed(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Streamed(body) => body.left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Streamed(body) => SizeHint::with_exact(body.left),
        }
    }
}

/// A body that is passed on as it arrives.
pub(crate) struct Streamed {
    /// Absent once it is read, broken or handed on.
    inner: Option<Incoming>,
    /// Bytes to come.
    left: u64,
    deadline: Pin<Box<Sleep>>,
    copy: Option<Copied>,
    fate: Fate,
}

impl fmt::Debug for Streamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streamed")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl Streamed {
    /// A body of this length, which has to arrive in time. The copy is handed on at its end.
    pub(crate) fn new(
        inner: Incoming,
        length: u64,
        time: Duration,
        copy: Option<Copied>,
    ) -> (Self, Fate) {
        let fate = Fate::default();
        let body = Self {
            inner: Some(inner),
            left: length,
            deadline: Box::pin(tokio::time::sleep(time)),
            copy,
            fate: fate.clone(),
        };
        (body, fate)
    }

    fn fail(&mut self, error: UploadError) -> UploadError {
        self.fate.set(error);
        (self.inner, self.copy) = (None, None);
        error
    }
}

impl Body for Streamed {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        let Some(inner) = &mut self.inner else {
            return Poll::Ready(None);
        };
        match Pin::new(inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    self.left = self.left.saturating_sub(data.len() as u64);
                    if let Some(copy) = &mut self.copy {
                        copy.pieces.push(data.clone());
                    }
                }
                if self.left == 0 {
                    // A body of known length is not asked for its end.
                    self.inner = None;
                    if let Some(copy) = self.copy.take() {
                        copy.whole();
                    }
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(_)) | None) => {
                Poll::Ready(Some(Err(self.fail(UploadError::Broken))))
            }
            Poll::Pending => {
                std::task::ready!(self.deadline.as_mut().poll(context));
                Poll::Ready(Some(Err(self.fail(UploadError::Slow))))
            }
        }
    }
}

impl Drop for Streamed {
    // A client that is still sending does not look for an answer: closing now would reset its
    // connection, and the answer would be lost with it.
    fn drop(&mut self) {
        let (Some(mut rest), Ok(runtime)) =
            (self.inner.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let deadline = self.deadline.deadline();
        runtime.spawn(tokio::time::timeout_at(deadline, async move {
            while let Some(Ok(_)) = rest.frame().await {}
        }));
    }
}
