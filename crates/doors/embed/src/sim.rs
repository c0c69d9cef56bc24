//! A provider in this process: the simulator behind a pipe instead of a socket.
//!
//! The client is the real one, with its wire, its streams and its errors; only the bytes never
//! leave the process.
//!
//! # Not here
//! The simulator itself: `dormouse-sim`.

use dormouse_model::anthropic::{AnthropicClient, ApiVersion};
use dormouse_model::{
    ClientOptions, Connecting, Connection, Connector, Credential, Model, Origin, SetupError,
};
use dormouse_sim::{InProcess, ServeError};
use dormouse_system::System;
use std::sync::Arc;

pub use dormouse_sim::SimConfig;

/// Reason why no simulated model can be made.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// A configuration that contradicts itself.
    #[error("simulator cannot be configured")]
    Config(#[source] ServeError),
    /// The client refused its options.
    #[error("client cannot be set up")]
    Client(#[source] SetupError),
}

/// Connector that ignores the address: every connection is a pipe to the simulator.
#[derive(Debug)]
struct Pipe(InProcess);

impl Connector for Pipe {
    fn connect(&self, _: &Origin) -> Connecting {
        let stream = self.0.connect();
        Box::pin(async move { Ok(Box::new(stream) as Box<dyn Connection>) })
    }
}

/// A model whose provider is a simulator in this process. Its answers work with the tools they are
/// offered and are the same in every run.
///
/// # Errors
/// When the configuration contradicts itself.
pub fn model(config: SimConfig) -> Result<Arc<dyn Model>, SimError> {
    let simulator = InProcess::new(config, System::real().clock).map_err(SimError::Config)?;
    // The address only has to parse: every connection is a pipe.
    // The simulator wants a key, as the provider does, and takes any.
    let key = Credential::Key("in-process".into());
    let mut options = ClientOptions::new("http://simulator", key);
    options.connector = Some(Arc::new(Pipe(simulator)));
    let client =
        AnthropicClient::new(&options, ApiVersion::default(), &[]).map_err(SimError::Client)?;
    Ok(Arc::new(client))
}
