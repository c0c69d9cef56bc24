//! Named presets of providers: wire, address, key, quirks.
//!
//! # Not here
//! Clients made from them: [`crate::client`]. Finding servers that run: the host's doctor.

use dormouse_core::settings::{Key, Provider, Secret, keys};
use dormouse_model::openai::LengthMember;

/// Wire that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// The Messages API of Anthropic.
    Messages,
    /// Chat completions, with the name that the provider has for the longest answer.
    Chat(LengthMember),
}

/// A provider's usual setup.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name in the settings.
    pub provider: Provider,
    /// Name of the provider as people know it.
    pub title: &'static str,
    /// Wire that its servers speak.
    pub wire: Wire,
    /// Address that is asked unless the settings name another.
    pub url: &'static str,
    /// Setting of another address.
    pub url_setting: Option<Key<Option<String>>>,
    /// Setting of the key.
    pub key_setting: Key<Option<Secret>>,
    /// Environment variable that people know the key by.
    pub key_variable: &'static str,
    /// Usual port of a server on this machine; `None` for a service on the network, which asks for
    /// a key.
    pub port: Option<u16>,
    /// Pitfall that a person who sets it up should know.
    pub quirk: Option<&'static str>,
}

/// All presets, in the order in which servers are offered.
pub const PRESETS: [Preset; 7] = [
    Preset {
        provider: Provider::Anthropic,
        title: "Anthropic",
        wire: Wire::Messages,
        url: "https://api.anthropic.com",
        url_setting: Some(keys::ANTHROPIC_BASE_URL),
        key_setting: keys::ANTHROPIC_API_KEY,
        key_variable: "ANTHROPIC_API_KEY",
        port: None,
        quirk: None,
    },
    Preset {
        provider: Provider::OpenAi,
        title: "OpenAI",
        // Newer models refuse a request with the old name.
        wire: Wire::Chat(LengthMember::MaxCompletionTokens),
        url: "https://api.openai.com/v1",
        url_setting: Some(keys::OPENAI_BASE_URL),
        key_setting: keys::OPENAI_API_KEY,
        key_variable: "OPENAI_API_KEY",
        port: None,
        quirk: None,
    },
    Preset {
        provider: Provider::OpenRouter,
        title: "OpenRouter",
        wire: Wire::Chat(LengthMember::MaxTokens),
        url: "https://openrouter.ai/api/v1",
        url_setting: None,
        key_setting: keys::OPENROUTER_API_KEY,
        key_variable: "OPENROUTER_API_KEY",
        port: None,
        quirk: None,
    },
    local(
        Provider::Ollama,
        "Ollama",
        "http://127.0.0.1:11434/v1",
        "OLLAMA_API_KEY",
        11_434,
        Some(
            "drops the beginning of a longer prompt without an error: set OLLAMA_CONTEXT_LENGTH for \
             the server and `context.window` to the same number",
        ),
    ),
    local(
        Provider::Vllm,
        "vLLM",
        "http://127.0.0.1:8000/v1",
        "VLLM_API_KEY",
        8_000,
        Some("calls tools only if it was started with --enable-auto-tool-choice and a parser"),
    ),
    local(
        Provider::LlamaCpp,
        "llama.cpp",
        "http://127.0.0.1:8080/v1",
        "LLAMA_API_KEY",
        8_080,
        Some("calls tools only if it was started with --jinja"),
    ),
    local(
        Provider::LmStudio,
        "LM Studio",
        "http://127.0.0.1:1234/v1",
        "LM_API_TOKEN",
        1_234,
        None,
    ),
];

/// A server on this machine.
const fn local(
    provider: Provider,
    title: &'static str,
    url: &'static str,
    key_variable: &'static str,
    port: u16,
    quirk: Option<&'static str>,
) -> Preset {
    Preset {
        provider,
        title,
        wire: Wire::Chat(LengthMember::MaxTokens),
        url,
        url_setting: Some(keys::LOCAL_BASE_URL),
        key_setting: keys::LOCAL_API_KEY,
        key_variable,
        port: Some(port),
        quirk,
    }
}

/// The preset of a provider; `None` for `auto`, which is no provider.
pub fn preset(provider: Provider) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.provider == provider)
}
