//! Answers of the model and content of the disk in a random session.

use crate::layered_log::Reply;
use dormouse_context::compaction::{
    AskFailure, REQUIRED_SECTIONS, RestoredKind, RestoredPart, SummaryAnswer,
};
use dormouse_core::block::Block;
use dormouse_core::units::Tokens;
use dormouse_testkit::conversation::prose;

pub(crate) fn answer(reply: &Reply) -> Result<SummaryAnswer, AskFailure> {
    let sections = || {
        let titles = REQUIRED_SECTIONS.iter().enumerate();
        titles.fold(String::new(), |text, (at, title)| {
            text + &format!("{}. {title}:\nport 8080\n", at + 1)
        })
    };
    let of = |text: &str| SummaryAnswer {
        blocks: vec![Block::text(text)],
        cut_off: false,
    };
    let good = of(&format!(
        "<analysis>x</analysis><summary>{}</summary>",
        sections()
    ));
    match reply {
        Reply::Good => Ok(good),
        Reply::Huge => Ok(of(&format!("{}{}", sections(), prose(1, 200_000)))),
        Reply::CutOff => Ok(SummaryAnswer {
            cut_off: true,
            ..good
        }),
        Reply::Calls => {
            let call = dormouse_testkit::blocks::call("c", "Bash", &serde_json::json!({}));
            let mut answer = good;
            answer.blocks.push(call);
            Ok(answer)
        }
        Reply::NoSections => Ok(of("<summary>nothing</summary>")),
        Reply::TooLong(gap) => Err(AskFailure::TooLong {
            gap: gap.map(Tokens),
        }),
        Reply::Broken => Err(AskFailure::Broken("broken".to_owned())),
        Reply::Rejected => Err(AskFailure::Rejected("no".to_owned())),
        Reply::Failed => Err(AskFailure::Failed("down".to_owned())),
    }
}

pub(crate) fn restored(files: &[String]) -> Vec<RestoredPart> {
    let part = |kind, name: &str| RestoredPart {
        kind,
        name: name.to_owned(),
        text: format!("the text of {name}"),
    };
    let files = files.iter().map(|file| part(RestoredKind::File, file));
    files.chain([part(RestoredKind::Plan, "plan")]).collect()
}
