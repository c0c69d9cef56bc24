//! Resuming a conversation from the live part of its log.

use crate::conversation::Conversation;
use crate::path::{Leaf, path};
use crate::target::Target;
use dormouse_core::id::SessionId;
use dormouse_core::record::Record;

impl Conversation {
    /// Resumes from the live part of a log. Records of the tail that lie off the path of its newest
    /// record (another branch, a side chain) are left out.
    pub fn resumed<'a>(
        carrier: Option<&'a Record>,
        kept: impl IntoIterator<Item = (Option<&'a SessionId>, &'a Record)>,
        tail: &'a [Record],
        target: Target,
    ) -> Self {
        let Some(carrier) = carrier else {
            return Self::fold(&path(tail, Leaf::Newest), target);
        };
        let mut conversation = Self::resume(carrier, kept, target);
        for record in path(tail, Leaf::Newest) {
            conversation.apply(record);
        }
        conversation
    }
}
