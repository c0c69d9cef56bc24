//! Files in a prompt: `@` lists those of the project, and a chosen one is attached when the prompt is
//! sent. Names that were only typed stay words, which the model may look up.

use crate::model::{Effect, Model};
use dormouse_agent::protocol::Attachment;

impl Model {
    /// Asks for files if the word before the cursor names one; `None` if it does not.
    pub(crate) fn look_up_files(&self) -> Option<Vec<Effect>> {
        let begun = self.composer.begun('@')?;
        if self.completion.is_about(begun) {
            return Some(Vec::new());
        }
        Some(vec![Effect::FindFiles(begun.to_owned())])
    }

    /// Shows files that were found, unless the name has changed meanwhile.
    pub(crate) fn files_found(&mut self, begun: &str, found: Vec<String>) {
        if self.composer.begun('@') == Some(begun) {
            self.completion.show_files(begun, found);
        }
    }

    /// Puts the chosen file into the prompt; false if no file is listed.
    pub(crate) fn mention(&mut self) -> bool {
        let Some(path) = self.completion.chosen_file().map(str::to_owned) else {
            return false;
        };
        self.composer.finish_word(&format!("@{path} "));
        self.mentioned.insert(path);
        self.completion.close();
        true
    }

    /// Chosen files whose names are still in a prompt that is sent.
    pub(crate) fn mentions_in(&mut self, text: &str) -> Vec<Attachment> {
        let mentioned = std::mem::take(&mut self.mentioned).into_iter();
        let in_text = mentioned.filter(|path| text.contains(&format!("@{path}")));
        in_text
            .map(|path| Attachment::File { path: path.into() })
            .collect()
    }

    /// Takes the draft from the person's editor.
    pub(crate) fn composed(&mut self, text: Result<String, String>) -> Vec<Effect> {
        match text {
            // Editors end the last line; a prompt does not.
            Ok(text) => self.composer.set(text.strip_suffix('\n').unwrap_or(&text)),
            Err(why) => self.warn(why),
        }
        self.look_up()
    }
}
