//! Stories beyond the written ones: random steps, faults and crashes, under several policies and
//! models.
//!
//! After every step the view is valid, a session read from the disk is the same to the byte, and
//! every word of the user is in the prompt or accounted for; whatever is sent is taken by the
//! simulator, which enforces the binding of thinking.

use crate::broken_summaries::summary;
use crate::kit::{BOUND, Kit, PLAIN, check, prompt, prompt_text, prose};
use crate::notes::section;
use crate::provider::Answer;
use dormouse_context::policy::{Classic, Economic, Policy};
use dormouse_core::block::Block;
use dormouse_core::record::Body;
use dormouse_core::units::Tokens;
use dormouse_engine::{CompactWish, EngineError, Purpose, Session};
use dormouse_sim::{AnswerConfig, SimConfig};
use dormouse_system::Survives;
use serde_json::json;
use std::time::Duration;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn world(model: &str, policy: impl Policy + 'static, seed: u64) -> Kit {
    let simulator = SimConfig {
        seed,
        answers: AnswerConfig {
            tool_rounds: Some(3),
            thinking_chars: Some(200),
            text_chars: Some(900),
            summary_chars: Some(1_500),
            ..AnswerConfig::default()
        },
        ..SimConfig::default()
    };
    let mut kit = Kit::with(model, simulator);
    let thinking = match model {
        BOUND => json!({"type": "adaptive"}),
        _ => json!({"type": "enabled", "budget_tokens": 2_000}),
    };
    let params = kit.config.params.clone();
    kit.config.params = params.set("thinking", &thinking).unwrap();
    kit.config.policy = Some(std::sync::Arc::new(policy));
    kit.config.window = Some(Tokens(30_000));
    for (seed, tool) in ["Bash", "Read", "Grep", "Edit", "mcp__db__query"]
        .into_iter()
        .enumerate()
    {
        kit.tools.returns(tool, prose(seed, 1_500 + 3_000 * seed));
    }
    kit.tools.returns("Write", "");
    kit.tools.returns("Shy", prose(9, 3_000));
    kit.provider.always(Purpose::Turn, Answer::Persona);
    kit.set(&[
        "notes.start=3000",
        "notes.growth=1500",
        "notes.keep_tokens=1500",
        "microcompact.pressure.min_held=3000",
        "microcompact.pressure.min_freed=1500",
        "microcompact.idle.keep=2",
    ]);
    kit
}

/// Something goes wrong, or not, with the next side task.
fn weather(kit: &Kit, dice: &mut Dice) {
    let answer = match dice.roll(9) {
        0 => Answer::overloaded(),
        1 => Answer::too_long(None),
        2 => Answer::rejected(),
        3 => Answer::cut_in_the_middle(),
        4 => Answer::text("no summary at all"),
        5 => Answer::text(&summary(60)),
        _ => Answer::Persona,
    };
    kit.provider.next(Purpose::Compaction, answer);
    match dice.roll(8) {
        0 => kit.provider.next(Purpose::Notes, Answer::overloaded()),
        1 => kit
            .provider
            .next(Purpose::Notes, section("Worklog", "a line")),
        _ => {}
    }
    match dice.roll(12) {
        0 => kit.provider.next(Purpose::Turn, Answer::too_long(None)),
        1 => kit.provider.next(Purpose::Turn, Answer::overloaded()),
        _ => {}
    }
}

async fn step(kit: &Kit, session: &mut Session, dice: &mut Dice, said: &mut Vec<String>) {
    match dice.roll(10) {
        0 => kit.wait(Duration::from_hours(2)),
        1 => {
            let messages = session.conversation().view().messages().len() as u64 + 1;
            let wish = match dice.roll(3) {
                0 => CompactWish::default(),
                1 => CompactWish {
                    from: Some(dice.roll(messages)),
                    ..CompactWish::default()
                },
                _ => CompactWish {
                    up_to: Some(dice.roll(messages)),
                    ..CompactWish::default()
                },
            };
            match session.compact(wish).await {
                Ok(_) | Err(EngineError::NoSuchMessage(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        2 => match session.undo(None).await {
            Ok(_) | Err(EngineError::Undo(_)) => {}
            Err(error) => panic!("{error}"),
        },
        _ => {
            let word = format!("WORD-{}-END", said.len());
            let chars = usize::try_from(dice.roll(2_500)).unwrap();
            let text = format!("{word} {}", prose(said.len(), chars));
            said.push(word);
            match session.turn(vec![Block::text(&text)]).await {
                Ok(_) | Err(EngineError::Model(_) | EngineError::Blocked { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Every word is in the prompt, or the prompt names the record that has it.
async fn nothing_is_lost(session: &Session, said: &[String]) {
    let text = prompt_text(session);
    let records = session.records().await.unwrap();
    for word in said {
        let record = records.iter().find(|record| match &record.body {
            Body::Message(message) => message
                .content
                .iter()
                .any(|block| String::from_utf8_lossy(block.bytes()).contains(word.as_str())),
            _ => false,
        });
        let id = record.unwrap().id.as_str();
        assert!(text.contains(word) || text.contains(id), "{word} is lost");
    }
}

async fn story(model: &str, policy: impl Policy + 'static, seed: u64) {
    let kit = world(model, policy, seed);
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut session = kit.open().await;
    let mut said = Vec::new();
    for _ in 0..20 {
        weather(&kit, &mut dice);
        step(&kit, &mut session, &mut dice, &mut said).await;
        check(&session);
        nothing_is_lost(&session, &said).await;
        if dice.roll(4) == 0 {
            session.settle_notes().await.unwrap();
            let live = prompt(&session);
            drop(session);
            kit.machine.files.crash_with(Survives::Written);
            session = kit.open().await;
            check(&session);
            assert!(prompt(&session) == live, "another prompt after the crash");
        }
    }
    let compactions = kit.provider.count(Purpose::Compaction);
    let turns = kit.provider.count(Purpose::Turn);
    assert!(compactions <= turns, "{compactions} of {turns}");
}

#[tokio::test]
async fn classic_on_a_model_that_binds_nothing() {
    for seed in 1..=3 {
        story(PLAIN, Classic, seed).await;
    }
}

#[tokio::test]
async fn classic_on_a_model_that_binds_thinking() {
    for seed in 11..=13 {
        story(BOUND, Classic, seed).await;
    }
}

#[tokio::test]
async fn economic_on_a_model_that_binds_nothing() {
    for seed in 21..=23 {
        story(PLAIN, Economic, seed).await;
    }
}

#[tokio::test]
async fn economic_on_a_model_that_binds_thinking() {
    for seed in 31..=33 {
        story(BOUND, Economic, seed).await;
    }
}
