//! Questions about pages of the web, for the tool that fetches them.

use crate::error::HostError;
use crate::host::Host;
use dormouse_core::record::UsageReport;
use dormouse_core::settings::keys;
use dormouse_engine::AskModel;
use dormouse_keeper::client::configured;
use dormouse_keeper::reading::{PageQuestion, ReadingError, read_page};

/// Answer to a question about a page, or the reason why there is none.
pub type PageAnswer = Result<(String, UsageReport), ReadingError>;

impl Host {
    /// Asks the small model about a page and waits on this thread; `None` if no small model is set.
    ///
    /// # Errors
    /// When the model that is set cannot be asked at all.
    pub fn read_page(&self, asked: PageQuestion<'_>) -> Result<Option<PageAnswer>, HostError> {
        let loaded = self.loaded();
        if loaded.settings.get(keys::SMALL_MODEL).is_none() {
            return Ok(None);
        }
        let model = configured(self.system(), &loaded.settings, &loaded.models)?;
        let asker = AskModel(model.small_model);
        // Two questions that fail together are unlikely to start in the same millisecond.
        let seed = self.now().0.unsigned_abs();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(HostError::Runtime)?;
        Ok(Some(runtime.block_on(read_page(
            &asker,
            &model.small,
            asked,
            seed,
        ))))
    }
}
