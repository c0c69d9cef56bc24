//! A session for callers that attend to other things while a command runs: they move it step by
//! step and look for replies.

use crate::error::EngineError;
use crate::session::Session;
use dormouse_ask::Params;
use dormouse_drive::{Command, CommandId, Reply, SwitchModel};

impl Session {
    /// Gives a command without waiting; [`Session::advance`] moves it, [`Session::ended`] has its
    /// reply. For callers that attend to other things meanwhile.
    pub fn begin(&mut self, command: Command) -> CommandId {
        self.engine.set_settings((self.settings)());
        self.engine.command(command)
    }

    /// Waits for the next thing that happens and handles it; `false` if nothing is under way.
    /// Cancel-safe.
    pub async fn advance(&mut self) -> bool {
        self.engine.advance().await
    }

    /// Reply to a command that was begun, once it is there.
    pub fn ended(&mut self, id: CommandId) -> Option<Result<Reply, EngineError>> {
        let reply = self.engine.take_reply(id)?;
        Some(self.judged(reply))
    }

    /// Command that changes the model.
    pub fn switch(&self, model: &str, params: Params) -> Command {
        let capabilities = self.executor().ports.asker.capabilities(model);
        Command::SetModel(Box::new(SwitchModel {
            model: model.to_owned(),
            params,
            capabilities,
        }))
    }

    /// Parameters of the requests at present.
    pub fn params(&self) -> &Params {
        &self.driver().config().params
    }

    /// Hands the settings in force to the conversation; a turn that runs follows them from its next
    /// request on.
    pub fn refresh_settings(&mut self) {
        self.engine.set_settings((self.settings)());
    }
}
