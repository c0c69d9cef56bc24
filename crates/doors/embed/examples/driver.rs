//! The state machine by hand: inputs in, effects out, no runtime.
//!
//! ```sh
//! cargo run -p dormouse-embed --example driver
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use dormouse_embed::drive::EffectOutcome::{Answered, Appended};
use dormouse_embed::drive::{self, Command, CommandId, Driver, Effect, Input, Millis, TokenUsage};
use dormouse_embed::{Block, Response};
use std::{error::Error, sync::Arc};

fn main() -> Result<(), Box<dyn Error>> {
    let model = "claude-sonnet-4-5";
    let params = drive::Params::new(model, drive::Tokens(1_000))?;
    let config = drive::Config::new("s".into(), params, model);
    let settings = Arc::new(drive::resolve(&[], drive::Trust::Trusted));
    let mut now = Millis(1_800_000_000_000);
    let (mut driver, _) = Driver::open(config, settings, drive::LogStart::default(), now)?;
    let (content, when) = (vec![Block::text("What is a dormouse?")], drive::When::Queue);
    let prompt = Command::Prompt { content, when };
    driver.handle(now, Input::Command(CommandId(1), Box::new(prompt)));
    while let Some(effect) = driver.poll() {
        now.0 += 1;
        let (id, outcome) = match effect {
            Effect::Do(id, drive::Work::Append(batch)) => {
                println!("append {} records", batch.records.len());
                (id, Appended(Ok(())))
            }
            Effect::Do(id, drive::Work::Ask(ask)) => {
                println!("ask with {} bytes", ask.request.body.len());
                let answer = vec![Block::text("It sleeps all winter.")];
                let response = Response::new("msg_1".into(), model, answer, TokenUsage::default());
                (id, Answered(Ok(Box::new(response))))
            }
            Effect::Reply(_, reply) => {
                println!("{:?}", reply.is_ok());
                continue;
            }
            _ => continue,
        };
        driver.handle(now, Input::Ended(id, Box::new(outcome)));
    }
    Ok(())
}
