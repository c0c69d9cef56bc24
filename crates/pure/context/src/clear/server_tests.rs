use super::server::{CacheEdit, ServerInputs, ServerSettings, api_edits, cache_edit};
use super::tests::Fixture;
use super::*;
use pretty_assertions::assert_eq;
use std::collections::HashSet;

fn settings() -> ServerSettings {
    ServerSettings {
        api: true,
        cache_edits: true,
        ..ServerSettings::new(&Settings::default())
    }
}

#[test]
fn both_forms_are_off_unless_wished_for() {
    let default = ServerSettings::new(&Settings::default());
    assert!(!default.api && !default.cache_edits);
}

#[test]
fn context_editing_needs_an_offer_and_a_reason() {
    let inputs = ServerInputs {
        offered: true,
        auto_compact: false,
        window: Tokens(200_000),
        cold: false,
    };
    let edits = api_edits(&settings(), inputs).unwrap();
    assert_eq!(
        (edits.trigger, edits.at_least, edits.thinking_turns),
        (Tokens(180_000), Tokens(140_000), None)
    );
    let idle = api_edits(
        &settings(),
        ServerInputs {
            cold: true,
            ..inputs
        },
    )
    .unwrap();
    assert_eq!(idle.thinking_turns, Some(1));
    let auto = ServerInputs {
        auto_compact: true,
        ..inputs
    };
    assert!(api_edits(&settings(), auto).is_err());
    let large = ServerInputs {
        window: Tokens(200_001),
        ..auto
    };
    assert!(api_edits(&settings(), large).is_ok());
    let not_offered = ServerInputs {
        offered: false,
        ..inputs
    };
    assert!(api_edits(&settings(), not_offered).is_err());
    let off = ServerSettings {
        api: false,
        ..settings()
    };
    assert!(api_edits(&off, inputs).is_err());
}

fn edit(fixture: &Fixture, gone: &HashSet<BlockKey>) -> Result<CacheEdit, String> {
    let conversation = fixture.conversation();
    let mut index = ResultIndex::default();
    let tools = ClearSettings::new(&Settings::default()).tools;
    index.update(conversation.view(), &tools, conversation.bytes_per_token());
    cache_edit(&settings(), true, conversation.view(), &index, |key| {
        gone.contains(key)
    })
}

#[test]
fn more_than_twelve_live_results_leave_five() {
    let with = |count| Fixture::of(&vec![("Read", 10); count]).answered();
    assert!(edit(&with(12), &HashSet::new()).is_err());
    let found = edit(&with(13), &HashSet::new()).unwrap();
    assert_eq!(found.calls.len(), 8);
    let block = found.block().unwrap();
    let bytes = String::from_utf8(block.bytes().to_vec()).unwrap();
    let first = r#"{"type":"cache_edits","edits":[{"type":"delete","cache_reference":"call_1_0"},"#;
    assert!(bytes.starts_with(first), "{bytes}");
    // Deleted results are not live.
    let gone: HashSet<BlockKey> = found.keys.into_iter().collect();
    assert!(edit(&with(13), &gone).is_err());
    assert!(edit(&with(20), &gone).is_err());
    assert_eq!(edit(&with(21), &gone).unwrap().calls.len(), 8);
}

#[test]
fn the_newest_round_stays_in_the_cache_whole() {
    let mut fixture = Fixture::of(&[("Read", 10); 4]);
    fixture.round(&[("Read", 10); 10]);
    let found = edit(&fixture.answered(), &HashSet::new()).unwrap();
    assert_eq!(found.calls.len(), 4);
}

#[test]
fn not_wished_for_or_not_offered_says_so() {
    let fixture = Fixture::of(&[("Read", 10); 20]).answered();
    let conversation = fixture.conversation();
    let index = ResultIndex::default();
    let ask = |settings: &ServerSettings, offered| {
        cache_edit(settings, offered, conversation.view(), &index, |_| false)
    };
    let off = ServerSettings::new(&Settings::default());
    assert!(ask(&off, true).unwrap_err().contains("switched off"));
    assert!(ask(&settings(), false).unwrap_err().contains("cannot"));
}
