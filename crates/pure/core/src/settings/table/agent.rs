//! Settings of the session as a whole: home, models and keys, permissions, agents, budgets.

use super::settings;
use crate::settings::choice::Provider;
use crate::settings::setting::{
    Def, Key, Need, Scope, Setting, Unit, choice, count, flag, list, money, optional_count,
    optional_percent, optional_tokens, seconds, secret, structure, text, var,
};
use crate::settings::value::{Percent, Secret};
use crate::units::Tokens;
use crate::usage::Usd;
use std::time::Duration;

settings! {
    /// Directory of everything Dormouse keeps; `~/.dormouse` if unset.
    HOME: Option<String> = "home", text().scope(Scope::Machine).env(&[var("DORMOUSE_HOME")]);

    /// Plain mode: memory, instruction files, notes and background extras are off.
    SIMPLE: bool = "simple", flag(false).scope(Scope::User).env(&[var("DORMOUSE_SIMPLE")]);

    /// Model of the conversation.
    MODEL: Option<String> = "model", text().env(&[var("DORMOUSE_MODEL"), var("ANTHROPIC_MODEL")]);

    /// Provider of the model: its wire, its address, its key. `auto` takes Anthropic if it has a key,
    /// else the server of `openai.base_url`, else OpenAI or OpenRouter by their keys. Those on this
    /// machine (`ollama`, `vllm`, `llama.cpp`, `lmstudio`) need no key; set `context.window` to the
    /// window that the server was started with.
    PROVIDER: Provider = "provider",
        choice().scope(Scope::TrustedProject).env(&[var("DORMOUSE_PROVIDER")]);

    /// Small model for choosing memories and for answering from pages.
    SMALL_MODEL: Option<String> = "small_model", text().env(&[var("DORMOUSE_SMALL_MODEL")]);

    /// Provider of the small model; `auto` is that of the conversation.
    SMALL_PROVIDER: Provider = "small_provider",
        choice().scope(Scope::TrustedProject).env(&[var("DORMOUSE_SMALL_PROVIDER")]);

    /// Model that takes a conversation over when its own stays overloaded.
    FALLBACK_MODEL: Option<String> = "fallback_model", text().env(&[var("DORMOUSE_FALLBACK_MODEL")]);

    /// Provider of the fallback model; `auto` is that of the conversation.
    FALLBACK_PROVIDER: Provider = "fallback_provider",
        choice().scope(Scope::TrustedProject).env(&[var("DORMOUSE_FALLBACK_PROVIDER")]);

    /// File with models and prices of your own, on top of the built-in table.
    MODELS_FILE: Option<String> = "models_file",
        text().scope(Scope::User).env(&[var("DORMOUSE_MODELS_FILE")]);

    /// Key for the Anthropic API.
    ANTHROPIC_API_KEY: Option<Secret> = "anthropic.api_key", secret().env(&[var("ANTHROPIC_API_KEY")]);

    /// Bearer token for the Anthropic API, instead of a key.
    ANTHROPIC_AUTH_TOKEN: Option<Secret> = "anthropic.auth_token",
        secret().env(&[var("ANTHROPIC_AUTH_TOKEN")]);

    /// Address of the Anthropic API or of a gateway in front of it.
    ANTHROPIC_BASE_URL: Option<String> = "anthropic.base_url",
        text().scope(Scope::TrustedProject).env(&[var("ANTHROPIC_BASE_URL")]);

    /// Beta names sent with every request.
    ANTHROPIC_BETAS: Vec<String> = "anthropic.betas",
        list(&[]).scope(Scope::TrustedProject).env(&[var("ANTHROPIC_BETAS")]);

    /// Key for an API of the OpenAI kind.
    OPENAI_API_KEY: Option<Secret> = "openai.api_key", secret().env(&[var("OPENAI_API_KEY")]);

    /// Address of an API of the OpenAI kind.
    OPENAI_BASE_URL: Option<String> = "openai.base_url",
        text().scope(Scope::TrustedProject).env(&[var("OPENAI_BASE_URL")]);

    /// Key for OpenRouter.
    OPENROUTER_API_KEY: Option<Secret> = "openrouter.api_key",
        secret().env(&[var("OPENROUTER_API_KEY")]);

    /// Key of a server on this machine, where it was started with one.
    LOCAL_API_KEY: Option<Secret> = "local.api_key",
        secret().env(&[
            var("VLLM_API_KEY"),
            var("LLAMA_API_KEY"),
            var("OLLAMA_API_KEY"),
            var("LM_API_TOKEN"),
        ]);

    /// Address of the server on this machine, `/v1` included; the provider's usual port if unset.
    LOCAL_BASE_URL: Option<String> = "local.base_url",
        text().scope(Scope::TrustedProject).env(&[var("DORMOUSE_LOCAL_BASE_URL")]);

    /// Proxy for requests to a model.
    PROXY: Option<String> = "proxy",
        text().scope(Scope::TrustedProject).env(&[var("DORMOUSE_PROXY"), var("HTTPS_PROXY"), var("https_proxy")]);

    /// Hosts that are asked without the proxy: names with all below them, addresses, `*` for all; each
    /// may have a port.
    NO_PROXY: Vec<String> = "no_proxy",
        list(&[]).scope(Scope::TrustedProject).env(&[var("NO_PROXY"), var("no_proxy")]);

    /// Command that prints a key for the API.
    KEY_HELPER: Option<String> = "key_helper", text().scope(Scope::TrustedProject);

    /// Money that background work (notes, extraction, dreams, summaries) may spend in a day; the
    /// offline engines take over when it is spent.
    BUDGET_BACKGROUND_DAY: Usd = "budget.background_day",
        money(100).scope(Scope::TrustedProject);

    /// Tokens that background work may use in a day; no limit of its own if unset.
    BUDGET_BACKGROUND_DAY_TOKENS: Option<Tokens> = "budget.background_day_tokens",
        optional_tokens().scope(Scope::TrustedProject);

    /// Rules for tool calls that need no question, such as `Bash(cargo test *)`.
    PERMISSIONS_ALLOW: Vec<String> = "permissions.allow",
        list(&[]).scope(Scope::TrustedProject).combined();

    /// Rules for tool calls that are always asked about.
    PERMISSIONS_ASK: Vec<String> = "permissions.ask", list(&[]).combined();

    /// Rules for tool calls that are refused, whatever else allows them.
    PERMISSIONS_DENY: Vec<String> = "permissions.deny", list(&[]).combined();

    /// Further folders in which the agent may read and, where edits need no question, write.
    PERMISSIONS_FOLDERS: Vec<String> = "permissions.folders",
        list(&[]).scope(Scope::TrustedProject).combined();

    /// Command line that searches the web; the words are appended as one argument, and its output is
    /// the result.
    WEB_SEARCH_COMMAND: Option<String> = "web.search_command", text().scope(Scope::User);

    /// Let Anthropic's own servers search the web where the model is asked there. Each search is billed.
    WEB_PROVIDER_SEARCH: bool = "web.provider_search", flag(true).scope(Scope::TrustedProject);

    /// Commands run at certain events.
    HOOKS: Option<toml::Value> = "hooks", structure().scope(Scope::TrustedProject).combined();

    /// Servers of tools (MCP) to connect to, by name: a `command` with `args` and `env`, or a `url` with
    /// `headers`. Those of `.mcp.json` in a trusted project are read too.
    MCP_SERVERS: Option<toml::Value> = "mcp_servers",
        structure().scope(Scope::TrustedProject).combined();

    /// Longest time of one call of a server's tool; it is cancelled then.
    MCP_CALL_TIMEOUT: Duration = "mcp.call_timeout", seconds(600).scope(Scope::TrustedProject);

    /// Agents defined here instead of in files, by name.
    AGENTS_DEFINITIONS: Option<toml::Value> = "agents.definitions",
        structure().scope(Scope::TrustedProject).combined().hidden();

    /// Depth to which agents may start agents.
    AGENTS_DEPTH: u64 = "agents.depth", count(3).range(0, 16).scope(Scope::TrustedProject).hidden();

    /// Number of agents that may run at once.
    AGENTS_CONCURRENT: u64 = "agents.concurrent", count(20).range(0, 1_000).scope(Scope::TrustedProject).hidden();

    /// A few words on what each agent is doing, told with its task.
    AGENTS_SUMMARY: bool = "agents.summary", flag(true).needs(&[Need::Off("simple")]);

    /// The session's own agent only gives work to others, writes to them and brings results together.
    AGENTS_COORDINATOR: bool = "agents.coordinator", flag(false).scope(Scope::User);

    /// Least share of the prompt tokens that should come from the cache; `dormouse stats` fails below
    /// it.
    STATS_MIN_HIT_RATE: Option<Percent> = "stats.min_hit_rate", optional_percent();

    /// Least share of the user's names and figures that should survive compactions; `dormouse stats`
    /// fails below it.
    STATS_MIN_FACTS: Option<Percent> = "stats.min_facts", optional_percent();

    /// Most memories undone, rejected, stale or contradicted for each hundred written; `dormouse
    /// stats` fails above it.
    STATS_MAX_POLLUTION: Option<Percent> = "stats.max_pollution", optional_percent();

    /// Most compactions for each hundred turns; `dormouse stats` fails above it.
    STATS_MAX_COMPACTIONS: Option<Percent> = "stats.max_compactions", optional_percent();

    /// Logs and offloaded results older than this are removed; kept for ever if unset.
    RETENTION_DAYS: Option<u64> = "retention_days", optional_count(Unit::Days).scope(Scope::User);
}
