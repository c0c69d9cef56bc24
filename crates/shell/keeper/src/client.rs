//! Client of the model that the settings name.
//!
//! # Model
//! A model can be asked if the settings name it (`model`) and give a key or an address. Every job
//! that wants a model works without one; [`NoModel`] names the missing setting.
//!
//! # Not here
//! Requests; the wire (`dormouse-model`).

use crate::key_helper::KeyHelper;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::{Settings, keys};
use dormouse_model::anthropic::{AnthropicClient, ApiVersion};
use dormouse_model::openai::{LengthMember, OpenAiClient};
use dormouse_model::{ClientOptions, Credential, Model, SetupError};
use dormouse_system::System;
use std::borrow::Cow;
use std::sync::Arc;

/// Address of Anthropic's interface, unless `anthropic.base_url` names another.
const ANTHROPIC: &str = "https://api.anthropic.com";

/// Model that can be asked.
#[derive(Clone, Debug)]
pub struct ConfiguredModel {
    /// Client to ask through.
    pub model: Arc<dyn Model>,
    /// Name of the model for conversations.
    pub name: String,
    /// Name of the model for small questions; the same one if no other is set.
    pub small: String,
}

/// Reason why there is none.
#[derive(Debug, thiserror::Error)]
pub enum NoModel {
    /// Setting `model` is missing.
    #[error("no model is set (setting `model`)")]
    Unnamed,
    /// Neither a key nor another provider's address is set.
    #[error("no key is set (`ANTHROPIC_API_KEY`, or `openai.base_url` for another provider)")]
    NoCredential,
    /// Settings that no client can be made from.
    #[error("the model cannot be asked as it is set up")]
    Setup(#[from] SetupError),
}

/// Client of the model that the settings name.
///
/// # Errors
/// When none is named, or it cannot be asked.
pub fn configured(
    system: &System,
    settings: &Settings,
    models: &Arc<ModelTable>,
) -> Result<ConfiguredModel, NoModel> {
    let name = settings.get(keys::MODEL).ok_or(NoModel::Unnamed)?;
    let small = settings
        .get(keys::SMALL_MODEL)
        .unwrap_or_else(|| name.clone());
    let model = client(system, settings, models)?;
    Ok(ConfiguredModel { model, name, small })
}

fn client(
    system: &System,
    settings: &Settings,
    models: &Arc<ModelTable>,
) -> Result<Arc<dyn Model>, NoModel> {
    let with_models = |url: String, credential| ClientOptions {
        models: Arc::clone(models),
        proxy: settings.get(keys::PROXY),
        ..ClientOptions::new(url, credential)
    };
    // The token first: it is set instead of a key, which other tools may share.
    let anthropic = settings
        .get(keys::ANTHROPIC_AUTH_TOKEN)
        .map(Credential::Bearer);
    let anthropic =
        anthropic.or_else(|| settings.get(keys::ANTHROPIC_API_KEY).map(Credential::Key));
    let openai = settings.get(keys::OPENAI_BASE_URL);
    let helper = settings.get(keys::KEY_HELPER).map(|line| {
        let helper = KeyHelper::new(system, line);
        Credential::Source(Arc::new(helper))
    });
    // A helper stands in for the key that is missing, of the provider that is asked.
    let anthropic = anthropic.or_else(|| helper.clone().filter(|_| openai.is_none()));
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
    let Some(url) = openai else {
        return Err(NoModel::NoCredential);
    };
    // Local servers take no key.
    let credential = settings
        .get(keys::OPENAI_API_KEY)
        .map(Credential::Key)
        .or(helper)
        .unwrap_or(Credential::None);
    let model = OpenAiClient::new(&with_models(url, credential), LengthMember::default())?;
    Ok(Arc::new(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_settings_there_is_no_model_and_the_reason_says_which_one_is_missing() {
        let models = Arc::new(ModelTable::builtin().clone());
        let error = configured(&System::real(), &Settings::default(), &models).unwrap_err();
        assert!(matches!(error, NoModel::Unnamed), "{error}");
    }
}
