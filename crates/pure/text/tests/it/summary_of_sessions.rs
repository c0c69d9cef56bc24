//! Survival of planted facts in a summary of a real session.
#![expect(
    clippy::print_stderr,
    reason = "the figures are in docs/text-methods.md"
)]

use crate::material::{Role, Said, session};
use dormouse_text::segment::segment;
use dormouse_text::summary::{Budget, Passage, Voice, summarise};
use std::path::Path;

/// Facts as sessions contain them, and the part that has to survive. The weights were not tuned on
/// them.
const FACTS: [(Role, &str, &str); 24] = [
    (
        Role::User,
        "Please never touch the files under vendor/legacy, they are generated.",
        "vendor/legacy",
    ),
    (
        Role::User,
        "The staging database listens on port 6543, not on the default one.",
        "6543",
    ),
    (
        Role::User,
        "We ship on Thursday, so the export has to work by then.",
        "ship on Thursday",
    ),
    (
        Role::User,
        "My manager Ines signs off every schema change.",
        "Ines",
    ),
    (
        Role::User,
        "use tabs in the Makefile, spaces everywhere else",
        "tabs in the Makefile",
    ),
    (
        Role::User,
        "I am on a metered connection, avoid large downloads.",
        "metered",
    ),
    (
        Role::User,
        "The customer in Graz still runs version 2.3.1 of the client.",
        "Graz",
    ),
    (
        Role::User,
        "Don't squash the commits of the migration branch.",
        "squash",
    ),
    (
        Role::Assistant,
        "The root cause was a missing index on orders.created_at.",
        "orders.created_at",
    ),
    (
        Role::Assistant,
        "I decided to keep the retry limit at 7 because the upstream drops every fifth call.",
        "retry limit at 7",
    ),
    (
        Role::Assistant,
        "The benchmark fell from 840 ms to 212 ms after the change.",
        "212 ms",
    ),
    (
        Role::Assistant,
        "Build fails with E0597 in crates/index/src/merge.rs:88.",
        "E0597",
    ),
    (
        Role::Assistant,
        "We chose zstd instead of gzip for the archives.",
        "zstd",
    ),
    (
        Role::Assistant,
        "The test test_rollover_at_midnight fails only in the Berlin time zone.",
        "test_rollover_at_midnight",
    ),
    (
        Role::Assistant,
        "The token is read from ACME_DEPLOY_KEY, never from the file.",
        "ACME_DEPLOY_KEY",
    ),
    (
        Role::Assistant,
        "Still open: the second worker leaks about 3 MB an hour.",
        "3 MB an hour",
    ),
    (
        Role::Assistant,
        "The lock must be taken before the journal is opened, otherwise two writers can start.",
        "lock must be taken",
    ),
    (
        Role::Assistant,
        "All 1,482 tests pass, 3 are ignored.",
        "1,482 tests",
    ),
    (
        Role::Assistant,
        "Next step: move the parser behind the feature flag wide-rows.",
        "wide-rows",
    ),
    (
        Role::Assistant,
        "Contrary to the documentation, the endpoint returns 204 without a body.",
        "returns 204",
    ),
    (
        Role::Tool,
        "error: connection to 10.11.12.13:5432 refused",
        "10.11.12.13",
    ),
    (
        Role::Tool,
        "FAILED tests/test_billing.py::test_proration - AssertionError: 41.67 != 41.66",
        "test_proration",
    ),
    (
        Role::Tool,
        "fatal: refusing to merge unrelated histories",
        "unrelated histories",
    ),
    (
        Role::Tool,
        "panicked at src/queue.rs:219:14: capacity overflow",
        "src/queue.rs:219",
    ),
];

fn voice(role: Role) -> Voice {
    match role {
        Role::User => Voice::User,
        Role::Assistant => Voice::Assistant,
        Role::Tool => Voice::Tool,
    }
}

/// Inserts each fact after a sentence or line of its speaker, with equal chance over the session.
fn plant(said: &mut [Said], salt: usize) {
    for (number, (role, fact, _)) in FACTS.iter().enumerate() {
        let spoken = said
            .iter()
            .enumerate()
            .filter(|(_, said)| said.role == *role);
        let places: Vec<_> = spoken
            .flat_map(|(at, said)| {
                segment(&said.text)
                    .into_iter()
                    .map(move |segment| (at, segment.range.end))
            })
            .collect();
        // A prime far from any period of the text spreads the facts.
        let (at, cut) = places[(number * 15_485_863 + salt * 32_452_843) % places.len()];
        said[at].text.insert_str(cut, &format!("\n{fact}\n"));
    }
}

/// First segments of every text, as many of each as fit into the length.
fn lead(said: &[Said], length: usize) -> String {
    let parts: Vec<Vec<&str>> = said
        .iter()
        .map(|said| {
            segment(&said.text)
                .iter()
                .map(|segment| said.text[segment.trimmed(&said.text)].trim())
                .collect()
        })
        .collect();
    let kept = |count: usize| {
        let heads = parts.iter().flat_map(|parts| parts.iter().take(count));
        heads.copied().collect::<Vec<_>>().join("\n")
    };
    let fits = |count: &usize| kept(*count).chars().count() <= length;
    kept((1..1_000).take_while(fits).last().unwrap_or_default())
}

/// Newest texts whole: the baseline of dropping the oldest.
fn tail(said: &[Said], length: usize) -> String {
    let text = said
        .iter()
        .map(|said| said.text.as_str())
        .collect::<Vec<_>>()
        .join("\n");
    let from = text
        .char_indices()
        .rev()
        .nth(length.saturating_sub(1))
        .map_or(0, |(at, _)| at);
    text[from..].to_owned()
}

fn survivors(text: &str) -> usize {
    FACTS
        .iter()
        .filter(|(_, _, mark)| text.contains(mark))
        .count()
}

/// Mean number of facts that survive at a share of the session's length: in a summary, in the heads
/// of the texts, in the newest texts.
pub(crate) fn measure(path: &Path, share: usize, salts: usize) -> [f64; 3] {
    let mut sums = [0; 3];
    for salt in 0..salts {
        let mut said = session(path);
        plant(&mut said, salt);
        let passages: Vec<_> = said
            .iter()
            .map(|said| Passage {
                text: &said.text,
                voice: voice(said.role),
            })
            .collect();
        let length = passages
            .iter()
            .map(|passage| passage.text.chars().count())
            .sum::<usize>()
            / share;
        let summary = summarise(&passages, Budget::Chars(length));
        sums[0] += survivors(&summary.text(&passages));
        sums[1] += survivors(&lead(&said, length));
        sums[2] += survivors(&tail(&said, length));
    }
    let mean = sums.map(|sum| {
        f64::from(u32::try_from(sum).unwrap()) / f64::from(u32::try_from(salts).unwrap())
    });
    eprintln!(
        "{} at 1/{share}: of {} facts the summary keeps {:.1}, the heads {:.1}, the newest texts {:.1}",
        path.file_name().unwrap_or_default().display(),
        FACTS.len(),
        mean[0],
        mean[1],
        mean[2]
    );
    mean
}

pub(crate) const SESSIONS: [&str; 3] = [
    "transcripts/kiliman-claude-transcript-mit/test/test2.jsonl",
    "transcripts/spotter-mit/258c7280-ae70-4798-800f-63464d01a85d.jsonl",
    "transcripts/spotter-mit/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl",
];

#[test]
fn planted_facts_survive_better_than_in_the_heads_or_the_tail() {
    for name in SESSIONS {
        let Some(path) = dormouse_testkit::material::material(name) else {
            return;
        };
        let [ours, heads, newest] = measure(&path, 5, 1);
        assert!(
            ours > heads && ours > newest,
            "{ours} against {heads} and {newest}"
        );
        assert!(ours >= 18.0, "only {ours} facts are left");
    }
}

/// The session is short and much alike, so that a fifth of it holds fewer of the facts.
#[test]
fn planted_facts_survive_in_a_small_session() {
    let session = "transcripts/nest-box/0b7d1c52-4f0e-4c7e-9a39-6d2f0c5e8a11.jsonl";
    let [ours, heads, newest] = measure(&dormouse_testkit::material::sample(session), 5, 4);
    assert!(
        ours > heads && ours > newest,
        "{ours} against {heads} and {newest}"
    );
}
