//! Client of the model that the settings name.
//!
//! # Model
//! A model can be asked if the settings name it (`model`) and give a key or an address. Every job
//! that wants a model works without one; [`NoModel`] names the missing setting.
//!
//! # Not here
//! Requests; the wire (`dormouse-model`).

use crate::key_helper::KeyHelper;
use crate::providers::{Preset, Wire, preset};
use dormouse_core::models::ModelTable;
use dormouse_core::settings::{Provider, Secret, Settings, keys};
use dormouse_model::anthropic::{AnthropicClient, ApiVersion};
use dormouse_model::openai::{LengthMember, OpenAiClient};
use dormouse_model::{CapabilityOverrides, ClientOptions, Credential, Model, SetupError};
use dormouse_system::System;
use std::borrow::Cow;
use std::sync::Arc;

/// Model that can be asked.
#[derive(Clone, Debug)]
pub struct ConfiguredModel {
    /// Client to ask through.
    pub model: Arc<dyn Model>,
    /// Name of the model for conversations.
    pub name: String,
    /// Client for small questions; the same one if no other provider is set.
    pub small_model: Arc<dyn Model>,
    /// Name of the model for small questions; the same one if no other is set.
    pub small: String,
    /// Model that takes over when the other one stays overloaded.
    pub fallback: Option<(String, Arc<dyn Model>)>,
}

/// Reason why there is none.
#[derive(Debug, thiserror::Error)]
pub enum NoModel {
    /// Setting `model` is missing.
    #[error("no model is set (setting `model`)")]
    Unnamed,
    /// No provider has a key, and none is named that needs no key.
    #[error("no key is set (`ANTHROPIC_API_KEY`), and no other provider (setting `provider`)")]
    NoCredential,
    /// The provider that is named wants a key.
    #[error("no key is set for {title} (`{variable}`)")]
    NoKey {
        /// Name of the provider.
        title: &'static str,
        /// Environment variable of its key.
        variable: &'static str,
    },
    /// Settings that no client can be made from.
    #[error("the model cannot be asked as it is set up")]
    Setup(#[from] SetupError),
    /// The model of another task has one of these faults.
    #[error("`{setting}` names a model that cannot be asked")]
    Side {
        /// Setting that names it.
        setting: &'static str,
        /// Reason why it cannot be used.
        #[source]
        why: Box<Self>,
    },
}

impl NoModel {
    /// True if setting up a provider would help, so that a server that runs is worth naming.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::Unnamed | Self::NoCredential | Self::NoKey { .. }
        )
    }
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
    let provider = settings.get(keys::PROVIDER);
    let model = client(system, provider, settings, models)?;
    let other = |wanted: Provider, setting: &'static str| {
        if wanted == Provider::Auto || wanted == provider {
            // One client, so that both share its connections.
            return Ok(Arc::clone(&model));
        }
        client(system, wanted, settings, models).map_err(|why| NoModel::Side {
            setting,
            why: Box::new(why),
        })
    };
    let small_model = other(settings.get(keys::SMALL_PROVIDER), "small_model")?;
    let small = settings
        .get(keys::SMALL_MODEL)
        .unwrap_or_else(|| name.clone());
    let fallback = match settings.get(keys::FALLBACK_MODEL) {
        Some(fallback) => {
            let model = other(settings.get(keys::FALLBACK_PROVIDER), "fallback_model")?;
            Some((fallback, model))
        }
        None => None,
    };
    Ok(ConfiguredModel {
        model,
        name,
        small_model,
        small,
        fallback,
    })
}

/// A provider as the settings have it: preset, address, key.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The preset it is made from.
    pub preset: &'static Preset,
    /// Wire, where the address is another than the preset's.
    pub wire: Wire,
    /// Address with everything that precedes the paths of the interface.
    pub url: String,
    /// Account that the requests are charged to.
    pub credential: Credential,
}

/// Address and key of a provider by the settings; of `auto`, those that the settings point to.
///
/// # Errors
/// When a key is missing.
pub fn setup(system: &System, provider: Provider, settings: &Settings) -> Result<Setup, NoModel> {
    let preset = match preset(provider) {
        Some(preset) => preset,
        None => pointed_to(settings).ok_or(NoModel::NoCredential)?,
    };
    let url = preset.url_setting.and_then(|key| settings.get(key));
    let wire = match (preset.wire, &url) {
        // A server that only speaks like OpenAI knows the old name of the member.
        (Wire::Chat(_), Some(_)) => Wire::Chat(LengthMember::MaxTokens),
        (wire, _) => wire,
    };
    let has_address = url.is_some();
    let key: Option<Secret> = settings.get(preset.key_setting);
    let credential = match (preset.wire, key) {
        // The token first: it is set instead of a key, which other tools may share.
        (Wire::Messages, key) => settings
            .get(keys::ANTHROPIC_AUTH_TOKEN)
            .map(Credential::Bearer)
            .or(key.map(Credential::Key)),
        (Wire::Chat(_), key) => key.map(Credential::Key),
    };
    let helper = settings.get(keys::KEY_HELPER).map(|line| {
        let helper = KeyHelper::new(system, line);
        Credential::Source(Arc::new(helper))
    });
    // A helper stands in for the key that is missing, but not at a server on this machine.
    let credential = match credential.or(helper.filter(|_| preset.port.is_none())) {
        Some(credential) => credential,
        // Local servers take no key, and neither may one at an address of the user's own.
        None if preset.port.is_some() || (has_address && preset.wire != Wire::Messages) => {
            Credential::None
        }
        None => {
            return Err(NoModel::NoKey {
                title: preset.title,
                variable: preset.key_variable,
            });
        }
    };
    Ok(Setup {
        preset,
        wire,
        url: url.unwrap_or_else(|| preset.url.to_owned()),
        credential,
    })
}

/// The provider that keys and addresses point to.
fn pointed_to(settings: &Settings) -> Option<&'static Preset> {
    let anthropic = settings.get(keys::ANTHROPIC_AUTH_TOKEN).is_some()
        || settings.get(keys::ANTHROPIC_API_KEY).is_some();
    let helper = settings.get(keys::KEY_HELPER).is_some();
    let openai = settings.get(keys::OPENAI_BASE_URL).is_some()
        || settings.get(keys::OPENAI_API_KEY).is_some();
    let openrouter = settings.get(keys::OPENROUTER_API_KEY).is_some();
    let provider = if anthropic {
        Provider::Anthropic
    } else if openai {
        Provider::OpenAi
    } else if openrouter {
        Provider::OpenRouter
    } else if helper {
        Provider::Anthropic
    } else {
        return None;
    };
    preset(provider)
}

fn client(
    system: &System,
    provider: Provider,
    settings: &Settings,
    models: &Arc<ModelTable>,
) -> Result<Arc<dyn Model>, NoModel> {
    let setup = setup(system, provider, settings)?;
    let mut options = ClientOptions {
        models: Arc::clone(models),
        proxy: settings.get(keys::PROXY),
        no_proxy: settings.get(keys::NO_PROXY),
        ..ClientOptions::new(setup.url, setup.credential)
    };
    Ok(match setup.wire {
        Wire::Messages => {
            let betas: Vec<Cow<'static, str>> = settings
                .get(keys::ANTHROPIC_BETAS)
                .into_iter()
                .map(Cow::Owned)
                .collect();
            Arc::new(AnthropicClient::new(
                &options,
                ApiVersion::default(),
                &betas,
            )?)
        }
        Wire::Chat(length) => {
            // The window that the server was started with, whatever the model could hold: vLLM
            // refuses a request whose answer might not fit.
            options.overrides = CapabilityOverrides {
                window: settings.get(keys::CONTEXT_WINDOW),
                ..CapabilityOverrides::default()
            };
            Arc::new(OpenAiClient::new(&options, length)?)
        }
    })
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
