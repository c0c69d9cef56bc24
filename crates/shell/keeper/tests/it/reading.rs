//! Questions about pages of the web: answered from the page, cut to the window, failures named.

use crate::kit::{MODEL, used};
use dormouse_core::units::Tokens;
use dormouse_engine::AskModel;
use dormouse_keeper::reading::{PageQuestion, ReadingError, read_page};
use dormouse_model::{ModelError, Refusal, StopReason};
use dormouse_testkit_model::{Answer, Expect, Script, ScriptedModel};
use pretty_assertions::assert_eq;
use std::sync::Arc;

fn question(page: &str) -> PageQuestion<'_> {
    PageQuestion {
        url: "https://example.com/a",
        page,
        question: "Which port?",
    }
}

#[tokio::test(start_paused = true)]
async fn the_small_model_gets_page_and_question_and_its_usage_is_told() {
    let asked = Expect::that("the question stands behind the page", |body| {
        let text = body["messages"][0]["content"][0]["text"].as_str().unwrap();
        let (page, question) = (text.find("8443"), text.find("Which port?"));
        page.is_some() && page < question && body["system"].to_string().contains("stranger")
    });
    let busy = Answer::fault(|| ModelError::Overloaded(Box::default()));
    let script = Script::new()
        .then(busy)
        .on(asked, Answer::text("8443.").using(used(50)));
    let model = ScriptedModel::new(script);
    let asker = AskModel(Arc::new(model.clone()));
    let read = read_page(&asker, MODEL, question("The port is 8443."), 1).await;
    let (answer, report) = read.unwrap();
    model.finish();
    assert_eq!((answer.as_str(), report.usage), ("8443.", used(50)));
}

#[tokio::test]
async fn a_page_longer_than_the_window_is_cut_and_that_is_said() {
    let page = format!("{}é", "é".repeat(100_000));
    let fits = Expect::that("the request fits", |body| body.to_string().len() < 20_000);
    let script = Script::new().on(fits, Answer::text("It does not say."));
    let model = ScriptedModel::new(script).with_window(Tokens(8_000));
    let asker = AskModel(Arc::new(model.clone()));
    let read = read_page(&asker, MODEL, question(&page), 1).await;
    let (answer, _) = read.unwrap();
    model.finish();
    assert!(
        answer.contains("[only the first 8000 of 200002 bytes"),
        "{answer}"
    );
}

#[tokio::test]
async fn refusals_and_failures_are_told_apart() {
    let refusal = Answer::text("").with(|response| {
        response.stop_reason = StopReason::Refusal(Refusal::default());
    });
    let denied = Answer::fault(|| ModelError::Permission(Box::default()));
    for (answer, refused) in [(refusal, true), (denied, false)] {
        let model = ScriptedModel::new(Script::new().then(answer));
        let asker = AskModel(Arc::new(model));
        let error = read_page(&asker, MODEL, question("x"), 1)
            .await
            .unwrap_err();
        assert_eq!(matches!(error, ReadingError::Answer(_)), refused, "{error}");
    }
}
