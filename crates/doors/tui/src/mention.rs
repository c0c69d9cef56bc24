//! Files in a prompt: `@` lists those of the project, and a chosen one is attached when the prompt is
//! sent. Names that were only typed stay words, which the model may look up. An image whose path is pasted
//! goes along as long as its mark stands in the prompt.

use crate::chip::{Chip, image_path, mark};
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

    /// Chosen files and images whose names are still in a prompt that is sent.
    pub(crate) fn mentions_in(&mut self, text: &str) -> Vec<Attachment> {
        let mentioned = std::mem::take(&mut self.mentioned).into_iter();
        let in_text = mentioned.filter(|path| text.contains(&format!("@{path}")));
        // Images are kept: a prompt that is sent again from the history has them still.
        let images = self.images.iter().enumerate();
        let images = images.filter(|(nth, _)| text.contains(&mark(nth + 1)));
        let images = images.map(|(_, path)| path.clone());
        in_text
            .chain(images)
            .map(|path| Attachment::File { path: path.into() })
            .collect()
    }

    /// Takes a paste into the draft; one that names an image stands as a chip while the door looks for it.
    pub(crate) fn paste_into_draft(&mut self, text: &str) -> Vec<Effect> {
        // Behind a command or a line for the shell a path is a word of it.
        let is_prompt = !self.composer.text().starts_with(['/', '!']);
        if let Some(path) = image_path(text).filter(|_| is_prompt)
            && self.composer.put_chip(Chip::Path(text.to_owned()))
        {
            return vec![Effect::FindImage(text.to_owned(), path)];
        }
        self.composer.paste(text);
        self.look_up()
    }

    /// Makes a pasted path an image of the prompt if there is such a file, and text otherwise.
    pub(crate) fn image_found(&mut self, pasted: &str, found: Option<String>) -> Vec<Effect> {
        if !self.composer.awaits(pasted) {
            return Vec::new();
        }
        let number = found.map(|path| {
            let known = self.images.iter().position(|image| *image == path);
            known.unwrap_or_else(|| {
                self.images.push(path);
                self.images.len() - 1
            }) + 1
        });
        self.composer.settle(pasted, number);
        self.look_up()
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
