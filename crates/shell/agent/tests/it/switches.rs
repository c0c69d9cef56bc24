//! Every switch of the settings through the agent: with it on something happens that does not
//! happen with it off. A switch without a case fails the test.

mod cases;

use crate::kit::{Kit, MODEL, bashes};
use cases::CASES;
use dormouse_agent::protocol::{Event, LayerName, Told};
use dormouse_agent::{AgentAsk, Mode};
use dormouse_core::id::MessageId;
use dormouse_core::settings::{Kind, all_settings};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;
use dormouse_engine::{Asker, Purpose};
use dormouse_model::{Capabilities, Feature, Features, Model as _, Request, ResponseStream};
use dormouse_system::ManualClock;
use dormouse_testkit_model::{Answer, Script, ScriptedModel};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

/// 2026-11-16, eight in the morning.
const MORNING: Millis = Millis(1_794_816_000_000);

type Fired<'a> = Pin<Box<dyn Future<Output = bool> + 'a>>;

/// A switch and a scene that shows what it does.
struct Case {
    /// Key of the switch.
    key: &'static str,
    /// Other settings of the scene.
    flags: &'static [&'static str],
    /// Plays the scene and says whether the thing happened.
    play: for<'a> fn(&'a Scene) -> Fired<'a>,
}

/// A provider that answers by purpose: turns from a list, side requests by a rule.
#[derive(Debug)]
struct Provider {
    turns: Mutex<VecDeque<Answer>>,
    sent: Mutex<Vec<(Purpose, Value)>>,
}

impl Provider {
    /// Bodies of the requests for a purpose.
    fn sent(&self, purpose: Purpose) -> Vec<Value> {
        let sent = self.sent.lock().unwrap();
        let bodies = sent.iter().filter(|(for_what, _)| *for_what == purpose);
        bodies.map(|(_, body)| body.clone()).collect()
    }
}

impl Asker for Provider {
    fn capabilities(&self, _: &str) -> Capabilities {
        let scripted = ScriptedModel::new(Script::new());
        let mut can = scripted.capabilities(MODEL);
        can.features = Features::of(&[
            Feature::ToolUse,
            Feature::ContextEditing,
            Feature::CacheEdits,
        ]);
        can
    }

    fn ask(&self, purpose: Purpose, request: Request) -> ResponseStream {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let number = {
            let mut sent = self.sent.lock().unwrap();
            sent.push((purpose, body));
            sent.len()
        };
        let answer = match purpose {
            Purpose::Turn => self.turns.lock().unwrap().pop_front(),
            Purpose::Notes => Some(Answer::text(
                "<section title=\"Worklog\">\nas it was\n</section>",
            )),
            // No summary: the compaction goes on without a model.
            _ => None,
        };
        let prompt = Tokens(request.body.len() as u64 / 4);
        let answer = answer.unwrap_or_else(|| Answer::text("Done."));
        let answer = answer.with(|response| {
            response.id = MessageId::new(format!("msg_{number}"));
            response.model = MODEL.into();
            if response.usage == TokenUsage::default() {
                response.usage.input = prompt;
                response.usage.output = Tokens(10);
                response.billed = response.usage;
            }
        });
        ScriptedModel::new(Script::new().then(answer)).stream(request)
    }
}

/// A kit with its provider.
struct Scene {
    kit: Kit,
    provider: Arc<Provider>,
    /// State of the switch.
    on: bool,
}

impl Scene {
    fn new(case: &Case, on: bool) -> Self {
        let mut kit = Kit::new(Script::new());
        kit.clock = Some(ManualClock::new(MORNING));
        kit.with_memory("");
        kit.flags = case.flags.iter().map(|&flag| flag.to_owned()).collect();
        kit.flags.push(format!("{}={on}", case.key));
        let provider = Provider {
            turns: Mutex::default(),
            sent: Mutex::default(),
        };
        Self {
            kit,
            provider: Arc::new(provider),
            on,
        }
    }

    fn ask(&self) -> AgentAsk {
        let asker: Arc<dyn Asker> = Arc::clone(&self.provider) as _;
        AgentAsk {
            model: Some((MODEL.to_owned(), asker)),
            mode: Mode::All,
            ..self.kit.ask()
        }
    }

    /// Answers of the next requests of turns.
    fn answers(&self, answers: impl IntoIterator<Item = Answer>) {
        self.provider.turns.lock().unwrap().extend(answers);
    }

    /// One turn for each list of commands, each command in a round of its own, and all events.
    async fn work(&self, turns: &[&[&str]]) -> Vec<Told> {
        let mut client = self.kit.open(self.ask()).await;
        for (turn, commands) in turns.iter().enumerate() {
            let calls = commands.iter().enumerate().map(|(at, command)| {
                let id = format!("c{turn}_{at}");
                bashes(&[(id.as_str(), *command)])
            });
            self.answers(calls.chain([Answer::text("Done.")]));
            client.turn("Go on.").await;
        }
        client.leave(false).await
    }

    /// One turn for each answer of about so many tokens, and all events.
    async fn talk(&self, tokens: &[usize]) -> Vec<Told> {
        let mut client = self.kit.open(self.ask()).await;
        for (turn, tokens) in tokens.iter().enumerate() {
            self.answers([Answer::text(&prose(turn, *tokens))]);
            client.turn(&format!("Go on with part {turn}.")).await;
        }
        client.leave(false).await
    }
}

/// Text of about so many tokens in which no line repeats.
fn prose(seed: usize, tokens: usize) -> String {
    let lines = (0..).map(|line| format!("Part {seed} has line {line} of the report.\n"));
    let mut text = String::new();
    for line in lines {
        if text.len() >= tokens * 4 {
            return text;
        }
        text.push_str(&line);
    }
    text
}

fn acted(told: &[Told], wanted: LayerName) -> bool {
    lines(told, wanted).next().is_some()
}

/// What a layer says it did.
fn lines(told: &[Told], wanted: LayerName) -> impl Iterator<Item = &str> {
    told.iter().filter_map(move |told| match &told.event {
        Event::LayerActed { layer, what, .. } if *layer == wanted => Some(what.as_str()),
        _ => None,
    })
}

fn saved(told: &[Told], beginning: &str) -> bool {
    told.iter()
        .any(|told| matches!(&told.event, Event::Saved { what } if what.starts_with(beginning)))
}

fn noticed(told: &[Told], words: &str) -> bool {
    told.iter()
        .any(|told| matches!(&told.event, Event::Notice { text } if text.contains(words)))
}

#[test]
fn every_switch_has_a_case() {
    let switches = all_settings().filter(|setting| setting.kind == Kind::Flag);
    let mut switches: Vec<&str> = switches.map(|setting| setting.key).collect();
    let mut cases: Vec<&str> = CASES.iter().map(|case| case.key).collect();
    switches.sort_unstable();
    cases.sort_unstable();
    assert_eq!(cases, switches);
}

#[tokio::test]
async fn each_switch_makes_its_difference() {
    let mut wrong = Vec::new();
    for case in CASES {
        for on in [true, false] {
            let scene = Scene::new(case, on);
            if (case.play)(&scene).await != on {
                wrong.push((case.key, on));
            }
        }
    }
    assert_eq!(wrong, []);
}
