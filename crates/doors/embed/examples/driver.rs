//! The state machine by hand: inputs in, effects out, no runtime.
//!
//! ```sh
//! cargo run -p dormouse-embed --example driver
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use dormouse_embed::drive::{
    self, Command, CommandId, Config, Driver, Effect, EffectOutcome, Input, Millis, Work,
};
use dormouse_embed::{Block, Response};
use std::{error::Error, sync::Arc};

fn main() -> Result<(), Box<dyn Error>> {
    let model = "claude-sonnet-4-5";
    let config = Config::new(
        "s".into(),
        drive::Params::new(model, drive::Tokens(1_000))?,
        model,
    );
    let settings = Arc::new(drive::resolve(&[], drive::Trust::Trusted));
    let mut now = Millis(1_800_000_000_000);
    let (mut driver, _) = Driver::open(config, settings, drive::LogStart::default(), now)?;
    let content = vec![Block::text("What is a dormouse?")];
    let prompt = Command::Prompt {
        content,
        when: drive::When::Queue,
    };
    driver.handle(now, Input::Command(CommandId(1), Box::new(prompt)));
    while let Some(effect) = driver.poll() {
        now.0 += 1;
        let outcome = match effect {
            Effect::Do(id, Work::Append(batch)) => (
                id,
                EffectOutcome::Appended(Ok(println!("append {} records", batch.records.len()))),
            ),
            Effect::Do(id, Work::Ask(ask)) => {
                println!("ask with {} bytes", ask.request.body.len());
                let answer = vec![Block::text(
                    "A small animal that sleeps through the winter.",
                )];
                let response =
                    Response::new("msg_1".into(), model, answer, drive::TokenUsage::default());
                (id, EffectOutcome::Answered(Ok(Box::new(response))))
            }
            Effect::Reply(_, reply) => {
                println!("{:?}", reply.is_ok());
                continue;
            }
            _ => continue,
        };
        driver.handle(now, Input::Ended(outcome.0, Box::new(outcome.1)));
    }
    Ok(())
}
