//! Permission for the calls of a conversation.

use crate::event::Denied;
use dormouse_drive::{Judge, Judgement, ToolCall};
use dormouse_host::{CallText, Permissions};
use dormouse_permit::{Mode, Ruling, Verdict};
use dormouse_tools::Confine;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Rules in force whenever a call is judged; settings may change while a session runs.
pub(crate) type PermissionSource = Arc<dyn Fn() -> Permissions + Send + Sync>;

/// Judge of a session that nobody watches: questions are refusals.
pub(crate) struct Unattended {
    pub(crate) permissions: PermissionSource,
    pub(crate) mode: Mode,
    /// Folders below which a confined command may write.
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) denied: Mutex<Vec<Denied>>,
}

impl fmt::Debug for Unattended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unattended")
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl Unattended {
    fn verdict(&self, call: &ToolCall) -> (CallText, Verdict) {
        let block: serde_json::Value =
            serde_json::from_slice(call.block.bytes()).unwrap_or_default();
        let text = CallText {
            tool: call.tool.clone(),
            input: block.get("input").cloned().unwrap_or_default(),
        };
        let judged = (self.permissions)().judge(&text, self.mode);
        (text, judged.verdict)
    }

    /// Calls that did not run, in order.
    pub(crate) fn denied(&self) -> Vec<Denied> {
        let denied = self.denied.lock();
        denied.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn deny(&self, call: &ToolCall, text: CallText) {
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        denied.push(Denied {
            tool_name: text.tool,
            tool_use_id: call.id.as_str().to_owned(),
            tool_input: text.input,
        });
    }
}

impl Judge for Unattended {
    fn judge(&self, call: &ToolCall) -> Judgement {
        let (text, verdict) = self.verdict(call);
        let because = &verdict.because;
        let why = match &verdict.ruling {
            Ruling::Run | Ruling::RunConfined => return Judgement::Run,
            Ruling::Refuse => format!("Not allowed: {because}."),
            Ruling::Ask { lasting } if lasting.is_empty() => {
                format!("Not allowed: nobody can be asked here, and {because}.")
            }
            Ruling::Ask { lasting } => format!(
                "Not allowed: nobody can be asked here, and {because}. The user can allow it with \
                 the rule {} in permissions.allow.",
                lasting.join(", ")
            ),
        };
        self.deny(call, text);
        Judgement::Refuse(why)
    }
}

impl Confine for Unattended {
    fn writable(&self, call: &ToolCall) -> Option<Vec<PathBuf>> {
        let (_, verdict) = self.verdict(call);
        (verdict.ruling == Ruling::RunConfined).then(|| self.writable.clone())
    }
}
