//! The persona writes summaries and notes where the user asks for them, and works otherwise.

use crate::streaming::{events, join};
use crate::support::{World, assistant, body, config, parse, tool, user, with};
use dormouse_sim::{AnswerConfig, SimConfig};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const SUMMARY: &str = "Stop working and sum up. Think in <analysis> first, then answer in \
    <summary> with these sections:\n\n1. Primary request and intent: what \"the user\" wants\n\
    2. Key technical concepts\n3. Files and code: with reasons\n5. Problem solving: all of it\n\
    9. Current work: what was done last\n\nThe user's words are listed by somebody else.";
const HEADINGS: [&str; 5] = [
    "1. Primary request and intent:",
    "2. Key technical concepts:",
    "3. Files and code:",
    "5. Problem solving:",
    "9. Current work:",
];
const NOTES: &str = "Bring the notes up to date. SimAnswer with blocks such as\n\
    <section title=\"Title\">all of its text</section>\n\
    or <append title=\"Title\">one more line</append>\n\nThe notes now:\n\n\
    # Notes of this session\n\n## State\nNothing yet.\n\n## Files\n\n## Decisions\n- none\n";

/// Rounds of a user's words, an assistant's words with a call, and a result.
fn conversation(rounds: usize) -> Vec<Value> {
    let round = |at: usize| {
        let call = format!("toolu_{at}");
        [
            user(&format!(
                "User wish number {at} is \"quoted\" here.\nAnd it has a second line."
            )),
            assistant(json!([
                {"type": "text", "text": format!("Assistant plan {at} begins. Decision {at} is made, e.g. so.")},
                {"type": "tool_use", "id": call, "name": "read", "input": {"path": "secret-input"}},
            ])),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call, "content": "Secret result is here. Secret."},
                {"type": "text", "text": format!("Reminder {at} follows a result.")},
            ]}),
            assistant(json!(format!("Round {at} is finished and tested."))),
        ]
    };
    (0..rounds).flat_map(round).collect()
}

/// Asks at the end of a conversation; thinking is off unless the body says otherwise.
fn asking(rounds: usize, order: &str) -> Value {
    let mut messages = conversation(rounds);
    messages.push(user(order));
    let request = with(body(json!(messages)), "tools", json!([tool("read")]));
    let request = with(request, "thinking", json!({"type": "disabled"}));
    with(request, "max_tokens", json!(30_000))
}

fn written(world: &mut World, request: &Value) -> String {
    let answer = world.message(request);
    assert_eq!(answer["stop_reason"], "end_turn");
    let content = answer["content"].as_array().unwrap();
    assert_eq!(content.len(), 1, "{answer}");
    content[0]["text"].as_str().unwrap().to_owned()
}

fn sized(summary: usize, notes: usize) -> World {
    World::with(SimConfig {
        answers: AnswerConfig {
            summary_chars: Some(summary),
            notes_chars: Some(notes),
            ..AnswerConfig::default()
        },
        ..config()
    })
}

/// The lines of a list, which all must have been said.
fn quoted(text: &str, request: &Value) -> Vec<String> {
    let said = request["messages"].to_string();
    let lines = text.lines().filter_map(|line| line.strip_prefix("- "));
    lines
        .map(|line| {
            let escaped = json!(line).to_string();
            assert!(said.contains(&escaped[1..escaped.len() - 1]), "{line}");
            assert!(!line.contains("ecret"), "{line}");
            line.to_owned()
        })
        .collect()
}

#[test]
fn a_summary_has_the_sections_that_were_asked_for() {
    let request = asking(400, SUMMARY);
    let text = written(&mut World::new(), &request);
    let (analysis, summary) = text.split_once("\n\n").unwrap();
    assert!(analysis.starts_with("<analysis>\n") && analysis.ends_with("\n</analysis>"));
    let summary = summary.strip_prefix("<summary>\n").unwrap();
    let summary = summary.strip_suffix("</summary>").unwrap();
    let sections: Vec<&str> = summary.split("\n\n").collect();
    let headings: Vec<&str> = sections
        .iter()
        .map(|section| section.lines().next().unwrap())
        .collect();
    assert_eq!(headings, HEADINGS);
    for section in sections {
        assert!(quoted(section, &request).len() > 10, "{section}");
    }
    assert!((7_200..=8_300).contains(&text.chars().count()), "{text}");
}

#[test]
fn summaries_are_as_long_as_configured_or_as_there_is_text() {
    let request = asking(400, SUMMARY);
    for chars in [1_000, 3_000, 20_000] {
        let length = written(&mut sized(chars, 0), &request).chars().count();
        assert!(
            (chars * 8 / 10..=chars + 310).contains(&length),
            "{length} for {chars}"
        );
    }
    let short = asking(1, SUMMARY);
    let text = written(&mut World::new(), &short);
    // The first wish has two sentences, the plan too; then reminder and end.
    assert_eq!(quoted(&text.replace("- None.\n", ""), &short).len(), 6);
    let nothing = written(&mut World::new(), &asking(0, SUMMARY));
    assert_eq!(nothing.matches("- None.").count(), HEADINGS.len());
}

#[test]
fn what_is_written_follows_from_the_prompt_and_the_seed() {
    for order in [SUMMARY, NOTES] {
        let write = |seed: u64, rounds: usize| {
            let mut world = World::with(SimConfig { seed, ..config() });
            written(&mut world, &asking(rounds, order))
        };
        assert_eq!(write(0, 400), write(0, 400));
        assert_ne!(write(0, 400), write(1, 400));
        assert_ne!(write(0, 400), write(0, 401));
    }
}

#[test]
fn an_earlier_summary_can_be_quoted_again() {
    let earlier =
        "<summary>\n1. Primary request and intent:\n- The bridge is to be blue.\n</summary>";
    let request = with(
        asking(0, SUMMARY),
        "messages",
        json!([user(earlier), assistant(json!("I go on.")), user(SUMMARY)]),
    );
    let text = written(&mut World::new(), &request);
    assert_eq!(text.matches("- The bridge is to be blue.\n").count(), 1);
    assert_eq!(text.matches("Primary request").count(), 1);
    assert_eq!(text.matches("</summary>").count(), 1);
}

#[test]
fn what_a_compaction_block_stands_for_is_not_read() {
    let block = json!({"type": "compaction", "content": "The bridge is to be blue."});
    let messages = json!([
        user("An older wish is gone."),
        assistant(json!([block, {"type": "text", "text": "I go on from here."}])),
        user(SUMMARY),
    ]);
    let request = with(asking(0, SUMMARY), "messages", messages);
    let text = written(&mut World::new(), &request).replace("- None.\n", "");
    let expected = ["The bridge is to be blue.", "I go on from here."];
    assert_eq!(quoted(&text, &request), expected);
}

#[test]
fn notes_have_titles_of_the_notes_and_the_newest_words() {
    let mut elements = Vec::new();
    for rounds in 200..230 {
        let request = asking(rounds, NOTES);
        let text = written(&mut World::new(), &request);
        assert!((1_250..=1_950).contains(&text.chars().count()), "{text}");
        let mut rest = text.as_str();
        let mut titles = Vec::new();
        while let Some(block) = rest.strip_prefix('<') {
            let (element, after) = block.split_once(" title=\"").unwrap();
            let (title, after) = after.split_once("\">\n").unwrap();
            let (lines, after) = after.split_once(&format!("</{element}>")).unwrap();
            assert!(!quoted(lines, &request).is_empty());
            assert!(!lines.contains(" 1 "), "old words in {lines}");
            titles.push(title);
            elements.push(element.to_owned());
            rest = after.trim_start();
        }
        assert_eq!(rest, "");
        let known = ["State", "Files", "Decisions"];
        assert!((1..=3).contains(&titles.len()));
        let places: Vec<_> = titles
            .iter()
            .map(|title| known.iter().position(|known| known == title).unwrap())
            .collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{titles:?}");
    }
    elements.sort();
    elements.dedup();
    assert_eq!(elements, ["append", "section"]);

    let one = asking(50, &NOTES.replace("section", "part"));
    let text = written(&mut sized(0, 400), &one);
    assert!(text.starts_with("<append title=") && !text.contains("<section"));
    assert!(text.chars().count() <= 800, "{text}");
}

#[test]
fn orders_are_understood_in_every_form_of_the_last_message() {
    let plain = written(&mut World::new(), &asking(20, SUMMARY));
    let with_last = |last: Vec<Value>| {
        let mut request = asking(20, SUMMARY);
        let messages = request["messages"].as_array_mut().unwrap();
        messages.pop();
        messages.extend(last);
        request
    };
    let order = json!({"type": "text", "text": SUMMARY, "cache_control": {"type": "ephemeral"}});
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let block = with_last(vec![json!({"role": "user", "content": [order]})]);
    assert_eq!(written(&mut World::new(), &block), plain);
    let mixed = json!({"role": "user", "content": [{"type": "text", "text": "My very last wish."}, order, image]});
    let text = written(&mut World::new(), &with_last(vec![mixed]));
    assert!(text.contains("- My very last wish.\n</summary>"), "{text}");
    let after_call = with_last(vec![
        user("Do it."),
        assistant(json!([{"type": "tool_use", "id": "toolu_x", "name": "read", "input": {}}])),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_x", "content": "Secret result is here."},
            order,
        ]}),
    ]);
    let text = written(&mut World::new(), &after_call);
    assert!(text.starts_with("<analysis>") && !text.contains("ecret"));

    // An encoder that is afraid of HTML writes the tags with escapes.
    let escaped = asking(20, SUMMARY).to_string().replace('<', "\\u003c");
    let request = World::new().request("/v1/messages", &json!(null));
    let request = dormouse_sim::SimRequest {
        body: escaped.into(),
        ..request
    };
    let answer = parse(&World::new().send(&request));
    assert_eq!(answer["content"][0]["text"], plain);
}

#[test]
fn thinking_streams_and_forced_calls_stay_what_they_are() {
    let request = asking(20, SUMMARY);
    let thinking = with(request.clone(), "thinking", json!({"type": "adaptive"}));
    let answer = World::new().message(&thinking);
    assert_eq!(answer["content"][0]["type"], "thinking");
    assert!(
        answer["content"][1]["text"]
            .as_str()
            .unwrap()
            .starts_with("<analysis>")
    );
    assert_eq!(answer["content"].as_array().unwrap().len(), 2);

    let whole = World::new().message(&request);
    let streamed = with(request.clone(), "stream", json!(true));
    let streamed = World::new().post("/v1/messages", &streamed);
    assert_eq!(join(&events(&streamed)), whole);

    let forced = with(request, "tool_choice", json!({"type": "any"}));
    let answer = World::new().message(&forced);
    assert_eq!(answer["stop_reason"], "tool_use");
}

#[test]
fn only_the_users_last_words_are_an_order() {
    let request = asking(3, SUMMARY);
    let summary = assistant(json!(written(&mut World::new(), &request)));
    for last in [
        user("Thank you, go on with <summary> in mind."),
        user("Is `<section title=` a good name?"),
        user("The summary and the analysis are good."),
    ] {
        let mut request = request.clone();
        let messages = request["messages"].as_array_mut().unwrap();
        messages.extend([summary.clone(), last]);
        assert_eq!(World::new().message(&request)["stop_reason"], "tool_use");
    }
}

#[test]
fn the_other_answers_are_what_they_always_were() {
    let request = with(
        body(json!([user("hello")])),
        "thinking",
        json!({"type": "disabled"}),
    );
    let answer = World::new().message(&request);
    assert_eq!(
        answer["content"][0]["text"],
        "table more entry keeps result reads of every result reads line test of parser stable one test order every this which of more change order of change table result."
    );
}

#[test]
fn the_other_face_has_the_same_persona() {
    let chat = |order: Value| {
        let call = json!({"id": "call_1", "type": "function",
            "function": {"name": "read", "arguments": "{\"path\": \"secret-input\"}"}});
        json!({"model": "gpt-test", "messages": [
            {"role": "system", "content": "Secret rules are here."},
            {"role": "user", "content": [{"type": "text", "text": "The bridge is to be blue."}]},
            {"role": "assistant", "content": "I look at the bridge.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "Secret result is here."},
            {"role": "assistant", "content": "The bridge is red now."},
            {"role": "user", "content": order},
        ]})
    };
    let answer = |request: &Value| {
        let answer = parse(&World::new().post("/v1/chat/completions", request));
        let text = answer["choices"][0]["message"]["content"].as_str();
        text.unwrap().to_owned()
    };
    let text = answer(&chat(json!(SUMMARY)));
    let headings: Vec<&str> = text.lines().filter(|line| line.ends_with(':')).collect();
    assert_eq!(headings, HEADINGS);
    assert_eq!(
        quoted(&text.replace("- None.\n", ""), &chat(json!(SUMMARY))),
        [
            "The bridge is to be blue.",
            "I look at the bridge.",
            "The bridge is red now."
        ]
    );
    let text = answer(&chat(json!([{"type": "text", "text": NOTES}])));
    assert!(
        text.contains(" title=\"") && !text.contains("ecret"),
        "{text}"
    );
    assert!(!answer(&chat(json!("Go on."))).contains('<'));
}
