//! Services that only ask leave every file and folder as it is.

use crate::kit::Kit;
use dormouse_host::{
    ExtractAsk, Garbage, Host, HostError, ImportAsk, IndexMending, ListFilter, Overwrite, UsageAsk,
    Which,
};
use serde_json::json;

/// The transcript that the services read.
const SESSION: &str = "project/session.jsonl";

fn kit() -> Kit {
    let kit = Kit::new();
    let said = json!({
        "type": "user",
        "uuid": "u1",
        "sessionId": "s",
        "timestamp": "2026-01-01T10:00:00Z",
        "message": {"role": "user", "content": "always use tabs in this project"},
    });
    kit.put(SESSION, &format!("{said}\n"), 1);
    kit
}

#[expect(clippy::result_large_err, reason = "an error ends the test")]
fn ask_everything(host: &Host, kit: &Kit) -> Result<(), HostError> {
    let which = Which::Private;
    host.memories(&which, ListFilter::default())?;
    host.status(&which)?;
    host.inbox(&which)?;
    host.history(&which, None, 10)?;
    host.check(&which)?;
    let dry_run = true;
    let rebuild = true;
    host.mend_index(
        &which,
        IndexMending {
            rebuild,
            remove_missing: false,
            dry_run,
        },
    )?;
    host.search_memories("tabs", 5)?;
    let view = json!({"command": "view", "path": "/memories"});
    host.memory_tool(&which, &view, Overwrite::Refuse)?;
    let import = ImportAsk {
        paths: vec![kit.path("project")],
        from: None,
        dry_run,
    };
    host.import(&which, &import, |_| {})?;
    let offline = true;
    let extract = ExtractAsk { dry_run, offline };
    host.extract(&which, &kit.path(SESSION), extract, |_| ())?;
    host.sessions(None)?;
    host.usage(&UsageAsk::of(&kit.path(SESSION)))?;
    host.gc(&[], Garbage::Show)?;
    host.search_sessions("tabs", &[])?;
    Ok(())
}

#[test]
fn asking_about_a_memory_that_does_not_exist_makes_nothing() {
    let kit = kit();
    let before = kit.listing();
    ask_everything(&kit.host(), &kit).unwrap();
    assert_eq!(kit.listing(), before);
}

#[test]
fn asking_about_a_memory_leaves_it_as_it_is() {
    let kit = kit();
    kit.put("memory/tabs.md", "---\nname: Tabs\n---\n\nUse tabs.\n", 2);
    kit.put("memory/MEMORY.md", "- [Gone](gone.md)\n", 2);
    let before = kit.listing();
    ask_everything(&kit.host(), &kit).unwrap();
    assert_eq!(kit.listing(), before);
}

#[test]
fn an_import_tells_what_it_is_doing_and_when_it_is_over() {
    let kit = kit();
    for number in 0..120 {
        kit.put(
            &format!("notes/n{number:03}.md"),
            &format!("Note {number} about {number}.\n"),
            1,
        );
    }
    let ask = ImportAsk {
        paths: vec![kit.path("notes")],
        from: None,
        dry_run: true,
    };
    let mut told = Vec::new();
    let report = kit
        .host()
        .import(&Which::Private, &ask, |text| told.push(text.to_owned()));
    assert!(report.is_ok());
    assert_eq!(
        told,
        [
            "reading file 1 of 120",
            "reading file 51 of 120",
            "reading file 101 of 120",
            "comparing 120 files with the memories there are",
            "",
        ]
    );
}
