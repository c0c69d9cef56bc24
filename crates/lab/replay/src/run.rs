//! Sending a recording to the simulator.
//!
//! # Not here
//! Reading the recording ([`crate::Recording`]) and judging the result ([`crate::Comparison`]).

use crate::fit::Fit;
use crate::recording::{Recording, Turn};
use crate::verdict::Comparison;
use dormouse_context::assemble::RequestBody;
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::json::RawJson;
use dormouse_core::models::{ModelTable, Ratio};
use dormouse_core::record::{Marker, MarkerPlace};
use dormouse_core::units::Tokens;
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_sim::{ConfigError, SimConfig, SimRequest, Simulator, TokenizerConfig};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Clock that measures the engine; the crate itself reads none.
pub type Clock<'a> = &'a dyn Fn() -> Duration;

/// Reason that a replay could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The simulator does not start.
    #[error("the simulator cannot be set up for this session")]
    Simulator(#[source] ConfigError),
}

/// One request as the simulator billed it.
#[derive(Clone, Debug)]
pub struct ReplayTurn {
    /// Tokens the simulator counted; the answer's length is the recorded one.
    pub usage: TokenUsage,
    /// Its cost, where the price is known.
    pub cost: Option<Usd>,
    /// The provider's refusal, if it refused.
    pub rejected: Option<String>,
    /// Tokens the recording reports.
    pub recorded: TokenUsage,
    /// Milliseconds since the request before.
    pub gap: u64,
    /// True if a compaction lies between.
    pub compacted: bool,
    /// True if the model is another than before.
    pub switched: bool,
    /// Tokens of padding: content the client sent and did not log.
    pub unlogged: Tokens,
}

/// Sums over a replay, or over a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Number of requests, refused ones included.
    pub requests: u64,
    /// Tokens of all requests, by price.
    pub usage: TokenUsage,
    /// Cost of the requests with a known price.
    pub cost: Usd,
    /// Requests without a known price.
    pub unpriced: u64,
    /// Requests the provider refused.
    pub rejected: u64,
    /// Tokens of the longest prompt.
    pub peak: Tokens,
}

impl Sums {
    /// The share of prompt tokens that came from the cache.
    #[expect(clippy::cast_precision_loss, reason = "a share for people and scripts")]
    pub fn hit_rate(&self) -> f64 {
        let prompt = self.usage.prompt().get();
        // A recording of refusals alone has no prompt to share.
        if prompt == 0 {
            0.0
        } else {
            self.usage.cache_read.get() as f64 / prompt as f64
        }
    }

    /// Adds the sums of another session.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.usage += other.usage;
        self.cost += other.cost;
        self.unpriced += other.unpriced;
        self.rejected += other.rejected;
        self.peak = self.peak.max(other.peak);
    }

    pub(crate) fn add(&mut self, usage: &TokenUsage, cost: Option<Usd>) {
        self.requests += 1;
        self.usage += *usage;
        self.cost += cost.unwrap_or_default();
        self.unpriced += u64::from(cost.is_none());
        self.peak = self.peak.max(usage.prompt());
    }
}

/// A session that was replayed as it was.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Factor and prefix that were fitted.
    pub fit: Fit,
    /// Requests in the order of the recording.
    pub turns: Vec<ReplayTurn>,
    /// Sums of the simulator's bills.
    pub simulated: Sums,
    /// Sums of the provider's bills.
    pub recorded: Sums,
    /// Compactions on the way.
    pub compactions: usize,
    /// Differences between the two, with reasons.
    pub comparison: Comparison,
    /// Time spent building requests.
    pub engine: Duration,
}

/// Replays a session as it was.
///
/// # Errors
/// When the simulator cannot be set up.
pub fn replay(
    recording: &Recording,
    models: &ModelTable,
    clock: Clock<'_>,
) -> Result<Replay, ReplayError> {
    let fit = Fit::new(&recording.turns, models);
    let config = SimConfig {
        tokenizer: TokenizerConfig {
            factor_permille: fit.permille,
            // The fit already contains the overhead per block and the hidden prompt of tools.
            block_tokens: 0,
            hidden_tool_tokens: false,
            ..TokenizerConfig::default()
        },
        ..SimConfig::default()
    };
    let mut simulator = Simulator::new(config).map_err(ReplayError::Simulator)?;
    let mut client = Padder::new(models, &fit);
    let mut turns = Vec::with_capacity(recording.turns.len());
    let (mut simulated, mut recorded) = (Sums::default(), Sums::default());
    let mut engine = Duration::ZERO;
    let mut before: Option<&Turn> = None;
    for turn in &recording.turns {
        let info = models.lookup(&turn.model).info;
        recorded.add(&turn.usage, info.cost(&turn.usage));
        let start = clock();
        let (body, unlogged) = client.request(turn);
        engine += clock().saturating_sub(start);
        let answer = send(&mut simulator, turn, body);
        let (usage, rejected) = match answer {
            Ok(prompt) => (
                TokenUsage {
                    output: turn.usage.output,
                    ..prompt
                },
                None,
            ),
            // A refused request costs nothing, and the recording goes on with the next one.
            Err(refusal) => (TokenUsage::default(), Some(refusal)),
        };
        let cost = info.cost(&usage);
        simulated.add(&usage, cost);
        simulated.rejected += u64::from(rejected.is_some());
        turns.push(ReplayTurn {
            usage,
            cost,
            rejected,
            recorded: turn.usage,
            gap: before.map_or(0, |before| turn.at.since(before.at)),
            compacted: turn.compacted,
            switched: before.is_some_and(|before| before.model != turn.model),
            unlogged,
        });
        before = Some(turn);
    }
    Ok(Replay {
        comparison: Comparison::of(&turns, &recording.turns, fit.turns),
        fit,
        turns,
        simulated,
        recorded,
        compactions: recording.compactions,
        engine,
    })
}

/// The client whose requests are sent again.
struct Padder<'a> {
    models: &'a ModelTable,
    permille: u64,
    prefix_tokens: Tokens,
    /// Padding blocks, each behind so many segments of the conversation.
    padding: Vec<(usize, Block)>,
    /// The system prompt for a model; another model counts the same bytes differently.
    system: Option<(Arc<str>, Block)>,
}

impl<'a> Padder<'a> {
    fn new(models: &'a ModelTable, fit: &Fit) -> Self {
        Self {
            models,
            permille: u64::from(fit.permille),
            prefix_tokens: fit.prefix,
            padding: Vec::new(),
            system: None,
        }
    }

    /// The request's body, and the tokens of padding that are new in it.
    fn request(&mut self, turn: &Turn) -> (Vec<u8>, Tokens) {
        let system = self.system(turn);
        let missing = self.pad(turn, &system);
        let prefix =
            RenderedPrefix::new(Vec::new(), vec![Part::block("system", &system)], Vec::new());
        let params = RawJson::from(&json!({ "model": &*turn.model, "max_tokens": 1 }));
        (self.body(turn, &prefix, &params), missing)
    }

    fn system(&mut self, turn: &Turn) -> Block {
        match &self.system {
            Some((model, system)) if *model == turn.model => system.clone(),
            _ => {
                let system = Block::text(&self.filler(self.prefix_tokens, turn, 0));
                self.system = Some((Arc::clone(&turn.model), system.clone()));
                system
            }
        }
    }

    /// Adds padding for tokens the logged messages cannot explain; returns how many.
    fn pad(&mut self, turn: &Turn, system: &Block) -> Tokens {
        // A compaction rewrote the prompt: earlier unlogged content went with the messages.
        if turn.compacted {
            self.padding.clear();
        }
        let count = turn.segments.len();
        // A rewind cuts padding off with the messages it stood behind.
        self.padding.retain(|(behind, _)| *behind <= count);
        let ratio = self.models.lookup(&turn.model).info.bytes_per_token;
        // Tokens the simulator will count for a block: the engine's estimate with the fitted
        // factor.
        let tokens_of = |block: &Block| {
            let estimate = dormouse_context::tokens::estimate(block.weight(), ratio).get();
            (estimate * self.permille).div_ceil(1_000)
        };
        let logged: u64 = turn.segments.iter().map(|s| tokens_of(&s.block)).sum();
        let padded: u64 = self.padding.iter().map(|(_, b)| tokens_of(b)).sum();
        let prefix = tokens_of(system);
        // Saturating: a prompt shorter than its estimate needs no padding.
        let missing = turn.usage.prompt() - Tokens(prefix + logged + padded);
        if missing > Tokens::ZERO {
            let text = self.filler(missing, turn, self.padding.len() + 1);
            self.padding.push((count, Block::text(&text)));
        }
        missing
    }

    /// Markers where Claude Code has them: behind the system prompt and on the last block.
    fn body(&self, turn: &Turn, prefix: &RenderedPrefix, params: &RawJson) -> Vec<u8> {
        let mut blocks = Vec::with_capacity(turn.segments.len() + self.padding.len());
        let mut padding = self.padding.iter().peekable();
        for (at, segment) in turn.segments.iter().enumerate() {
            blocks.push(segment.clone());
            // Behind the segment it was found with, so that a later prompt repeats the same bytes.
            while let Some((_, pad)) = padding.next_if(|(behind, _)| *behind == at + 1) {
                let mut filler = segment.clone();
                filler.block = pad.clone();
                blocks.push(filler);
            }
        }
        // Thinking takes no marker, so the last block that does gets it.
        let last = blocks
            .iter()
            .rposition(|segment| segment.block.takes_marker());
        let markers: Vec<Marker> = [
            Some(MarkerPlace::System(0)),
            last.map(|at| MarkerPlace::Segment(at as u64)),
        ]
        .into_iter()
        .flatten()
        .map(|place| Marker {
            place,
            ttl: turn.ttl,
        })
        .collect();
        let bytes = blocks
            .iter()
            .map(|segment| segment.block.bytes().len() as u64)
            .sum();
        let body = RequestBody {
            params,
            prefix,
            markers: &markers,
        };
        body.assemble(blocks.iter(), bytes, blocks.len())
    }

    fn filler(&self, tokens: Tokens, turn: &Turn, number: usize) -> String {
        let ratio = self.models.lookup(&turn.model).info.bytes_per_token.text;
        filler(tokens, ratio, self.permille, number)
    }
}

fn send(simulator: &mut Simulator, turn: &Turn, body: Vec<u8>) -> Result<TokenUsage, String> {
    let request = SimRequest::post("/v1/messages", body);
    let response = simulator.handle(&request, turn.at);
    match &response.report {
        Some(report) if response.status == 200 => Ok(report.usage),
        _ => Err(String::from_utf8_lossy(&response.bytes()).into_owned()),
    }
}

/// Text of about so many tokens, different for every `number`.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a length in bytes, far below the limits"
)]
pub(crate) fn filler(tokens: Tokens, ratio: Ratio, permille: u64, number: usize) -> String {
    let per_token = ratio.as_f64() * 1_000.0 / permille.max(1) as f64;
    let bytes = (tokens.get() as f64 * per_token) as usize;
    // The number makes each filler a text of its own; equal ones would hit the cache by chance.
    let mut text = format!("unlogged {number} ");
    while text.len() < bytes {
        // Only the length counts; plain words are estimated like prose.
        text.push_str("xyzw ");
    }
    text.truncate(bytes.max(1));
    text
}

/// Unlogged tokens of each prompt, the static prefix aside.
pub(crate) fn unlogged(recording: &Recording, models: &ModelTable, fit: &Fit) -> Vec<Tokens> {
    let mut padder = Padder::new(models, fit);
    let pad = |turn: &Turn| {
        let system = padder.system(turn);
        padder.pad(turn, &system)
    };
    recording.turns.iter().map(pad).collect()
}
