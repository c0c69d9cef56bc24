//! The model that the settings name, if they name one.
//!
//! # Model
//! A model is there when the settings say which (`model`) and as whom or where to ask. Everything
//! that wants a model works without one; [`NoModel`] says what is missing.
//!
//! # Not here
//! What is asked; the wire (`dormouse-model`).

use dormouse_core::models::ModelTable;
use dormouse_core::settings::{Settings, keys};
use dormouse_model::anthropic::{AnthropicClient, ApiVersion};
use dormouse_model::openai::{LengthMember, OpenAiClient};
use dormouse_model::{ClientOptions, Credential, Model, SetupError};
use std::borrow::Cow;
use std::sync::Arc;

/// Where Anthropic's interface is, unless the settings say otherwise.
const ANTHROPIC: &str = "https://api.anthropic.com";

/// A model that can be asked.
#[derive(Clone, Debug)]
pub struct ConfiguredModel {
    /// Whom to ask.
    pub model: Arc<dyn Model>,
    /// The model of conversations.
    pub name: String,
    /// The model for small questions; the same one if no other is set.
    pub small: String,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum NoModel {
    /// None is named.
    #[error("no model is set (setting `model`)")]
    Unnamed,
    /// Nobody to ask as.
    #[error("no key is set (`ANTHROPIC_API_KEY`, or `openai.base_url` for another provider)")]
    NoCredential,
    /// The settings cannot work.
    #[error("the model cannot be asked as it is set up")]
    Setup(#[from] SetupError),
}

/// The model that the settings name.
///
/// # Errors
/// When none is named, or it cannot be asked.
pub fn configured(
    settings: &Settings,
    models: &Arc<ModelTable>,
) -> Result<ConfiguredModel, NoModel> {
    let name = settings.get(keys::MODEL).ok_or(NoModel::Unnamed)?;
    let small = settings
        .get(keys::SMALL_MODEL)
        .unwrap_or_else(|| name.clone());
    let model = client(settings, models)?;
    Ok(ConfiguredModel { model, name, small })
}

fn client(settings: &Settings, models: &Arc<ModelTable>) -> Result<Arc<dyn Model>, NoModel> {
    let with_models = |url: String, credential| ClientOptions {
        models: Arc::clone(models),
        ..ClientOptions::new(url, credential)
    };
    let anthropic = settings
        .get(keys::ANTHROPIC_AUTH_TOKEN)
        .map(Credential::Bearer);
    let anthropic =
        anthropic.or_else(|| settings.get(keys::ANTHROPIC_API_KEY).map(Credential::Key));
    if let Some(credential) = anthropic {
        let url = settings.get(keys::ANTHROPIC_BASE_URL);
        let url = url.unwrap_or_else(|| ANTHROPIC.to_owned());
        let betas: Vec<Cow<'static, str>> = settings
            .get(keys::ANTHROPIC_BETAS)
            .into_iter()
            .map(Cow::Owned)
            .collect();
        let options = with_models(url, credential);
        let model = AnthropicClient::new(&options, ApiVersion::default(), &betas)?;
        return Ok(Arc::new(model));
    }
    let Some(url) = settings.get(keys::OPENAI_BASE_URL) else {
        return Err(NoModel::NoCredential);
    };
    let credential = settings
        .get(keys::OPENAI_API_KEY)
        .map_or(Credential::None, Credential::Key);
    let model = OpenAiClient::new(&with_models(url, credential), LengthMember::default())?;
    Ok(Arc::new(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_settings_there_is_no_model_and_the_reason_says_which_one_is_missing() {
        let models = Arc::new(ModelTable::builtin().clone());
        let error = configured(&Settings::default(), &models).unwrap_err();
        assert!(matches!(error, NoModel::Unnamed), "{error}");
    }
}
