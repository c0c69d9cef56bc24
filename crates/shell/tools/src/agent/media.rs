//! Images and PDF files as blocks for the model.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dormouse_core::block::Block;
use serde_json::json;
use std::path::Path;

/// Most bytes of an image: the provider's limit of 5 MB holds for its base64 form.
pub(super) const LARGEST_IMAGE: u64 = 3_750_000;
/// Most bytes of a PDF file: a request has at most 32 MB, and other things are in it.
pub(super) const LARGEST_PDF: u64 = 15_000_000;

/// Kind of a file that is shown as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// An image of this type.
    Image(&'static str),
    Pdf,
}

impl Media {
    /// Kind by the end of the name.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let end = path.extension()?.to_str()?.to_lowercase();
        Some(match end.as_str() {
            "png" => Self::Image("image/png"),
            "jpg" | "jpeg" => Self::Image("image/jpeg"),
            "gif" => Self::Image("image/gif"),
            "webp" => Self::Image("image/webp"),
            "pdf" => Self::Pdf,
            _ => return None,
        })
    }

    /// Most bytes of such a file.
    pub(super) const fn limit(self) -> u64 {
        match self {
            Self::Image(_) => LARGEST_IMAGE,
            Self::Pdf => LARGEST_PDF,
        }
    }

    /// The content as a block; `None` only if no block can be made of it.
    pub(super) fn block(self, content: &[u8]) -> Option<Block> {
        let (kind, media_type) = match self {
            Self::Image(media_type) => ("image", media_type),
            Self::Pdf => ("document", "application/pdf"),
        };
        let data = STANDARD.encode(content);
        let source = json!({ "type": "base64", "media_type": media_type, "data": data });
        Block::from_value(&json!({ "type": kind, "source": source })).ok()
    }
}
