//! Limits of recall, and faults that must not disturb it.

use crate::kit::{Kit, fragments, surfaced, topic};
use crate::recall::{QUESTION, deploys, others};
use dormouse_core::block::Block;
use dormouse_engine::{Companion, HookFuture, Injection, Seen, ToolCall};
use dormouse_model::ModelError;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn kit() -> Kit {
    let kit = Kit::with(|keeper| keeper.model = None);
    others(&kit);
    kit
}

/// Several memories that all fit the question.
fn many(kit: &Kit, count: usize) {
    for at in 0..count {
        kit.remember(&format!("deploys_{at}.md"), &deploys());
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_memory_is_cut_and_says_where_the_rest_is() {
    let kit = kit();
    let long = "We deploy the billing service to production on Tuesdays.\n".repeat(300);
    kit.remember(
        "deploys.md",
        &topic(
            "project",
            "billing deploys",
            "When the billing service is deployed to production",
            "",
            &long,
        ),
    );
    let mut session = kit.open().await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    let shown = fragments(&session).await.remove(0);
    assert!(shown.contains("[… cut here, "), "{shown}");
    let bytes = session
        .conversation()
        .state()
        .surfaced
        .values()
        .sum::<u64>();
    assert!((2_000..=4_096).contains(&bytes), "{bytes}");
    kit.set(&["recall.file_lines=3"]);
    let kit2 = self::kit();
    kit2.remember("deploys.md", &kit.text("memory/deploys.md"));
    kit2.set(&["recall.file_lines=3"]);
    let mut session = kit2.open().await;
    kit2.say(&mut session, QUESTION, "On Tuesdays.").await;
    let shown = fragments(&session).await.remove(0);
    assert_eq!(shown.matches("on Tuesdays").count(), 1, "{shown}");
}

#[tokio::test(start_paused = true)]
async fn at_most_so_many_at_once_and_so_many_bytes_a_session() {
    let kit = kit();
    many(&kit, 8);
    let mut session = kit.open().await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    assert_eq!(surfaced(&session).len(), 5);
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    assert_eq!(surfaced(&session).len(), 8, "the rest comes later");

    let kit = self::kit();
    many(&kit, 8);
    let each = deploys().len();
    kit.set(&[&format!("recall.session_bytes={}", 2 * each + each / 2)]);
    let mut session = kit.open().await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    assert_eq!(surfaced(&session).len(), 2);
    let spent = || -> u64 { session.conversation().state().surfaced.values().sum() };
    assert!(spent() <= 2 * each as u64);
}

#[tokio::test(start_paused = true)]
async fn both_directories_share_the_limits() {
    let kit = Kit::with_team(true);
    kit.set(&["budget.background_day=0"]);
    others(&kit);
    many(&kit, 4);
    for at in 0..4 {
        kit.put(&format!("team/shared_{at}.md"), &deploys());
    }
    let mut session = kit.open().await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    assert_eq!(surfaced(&session).len(), 5, "{:?}", surfaced(&session));
    kit.set(&["budget.background_day=0", "recall.files=50"]);
    let all = self::kit();
    all.set(&["recall.files=50"]);
    many(&all, 1);
    let mut session = all.open().await;
    all.say(&mut session, QUESTION, "On Tuesdays.").await;
    assert_eq!(surfaced(&session).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_cannot_be_read_never_fails_a_turn() {
    // Gone altogether.
    let kit = kit();
    kit.remember("deploys.md", &deploys());
    let mut session = kit.open().await;
    std::fs::remove_dir_all(kit.path("memory")).unwrap();
    kit.say(&mut session, QUESTION, "I do not know.").await;
    assert_eq!(fragments(&session).await, Vec::<String>::new());

    // Files that are no text, too long, or links out of the directory.
    let kit = self::kit();
    kit.remember("deploys.md", &deploys());
    let odd = kit.path("memory");
    let files = &kit.system.files;
    let put = |name: &str, bytes: &[u8]| {
        files
            .replace(&odd.join(name), bytes, dormouse_system::Access::Private)
            .unwrap();
    };
    files
        .create_dir_all(&odd.join(".cache"), dormouse_system::Access::Private)
        .unwrap();
    put("bytes.md", &[0xff, 0xfe, 0, 1, 2]);
    put("huge.md", &vec![b'x'; 6 * 1024 * 1024]);
    put(".cache/recall.index", b"no index");
    put(".cache/usage.jsonl", &[0xff; 100]);
    std::os::unix::fs::symlink("/etc/passwd", odd.join("link.md")).unwrap();
    std::fs::set_permissions(odd.join("wiki.md"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let mut session = kit.open().await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    assert_eq!(surfaced(&session), ["deploys.md"]);
}

#[tokio::test(start_paused = true)]
async fn usage_that_cannot_be_written_is_lost_and_nothing_else() {
    let kit = kit();
    kit.remember("deploys.md", &deploys());
    kit.put("memory/.cache", "a file where a folder should be");
    let recaller = kit.recaller();
    let shown = recaller.on_prompt(QUESTION, Seen::default()).await;
    assert_eq!(shown.len(), 1);
    recaller.answered("On Tuesdays at nine, see deploys.md.");
    assert_eq!(kit.text("memory/.cache"), "a file where a folder should be");
}

#[tokio::test(start_paused = true)]
async fn what_was_decided_is_told_with_reasons() {
    let kit = kit();
    many(&kit, 6);
    kit.remember(
        "secret.md",
        &deploys().replace("type: project\n", "type: project\ntrust: external\n"),
    );
    let recaller = kit.recaller();
    recaller.on_prompt(QUESTION, Seen::default()).await;
    let last = recaller.last().unwrap();
    assert_eq!(last.now.len(), 5);
    let reasons: Vec<String> = last
        .left_out
        .iter()
        .map(|left| format!("{}: {}", left.path, left.reason))
        .collect();
    assert!(
        reasons.contains(&"secret.md: not approved (trust: external)".to_owned()),
        "{reasons:?}"
    );
    recaller.on_prompt("hm", Seen::default()).await;
    assert_eq!(recaller.last().unwrap().now, []);
}

/// A companion that only counts.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl Companion for Counting {
    fn on_prompt(&self, _: &str, _: Seen) -> HookFuture<Vec<Injection>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn on_results(&self, _: &[ToolCall], _: Seen) -> HookFuture<Vec<Injection>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn on_end(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn the_companion_learns_of_every_end_of_a_turn() {
    let kit = kit();
    let counting = Arc::new(Counting::default());
    let ended = || counting.0.load(Ordering::SeqCst);
    let mut session = kit.open_with(Arc::clone(&counting) as _).await;
    kit.say(&mut session, QUESTION, "Well.").await;
    assert_eq!(ended(), 1);
    // A turn that fails.
    let cut = || Answer::fault(|| ModelError::Cut);
    kit.talk
        .plays(Script::new().then(cut()).then(cut()).then(cut()));
    let content = || vec![Block::text(QUESTION)];
    session.turn(content()).await.unwrap_err();
    kit.talk.finish();
    assert_eq!(ended(), 2);
    // A turn that the user ends.
    kit.talk.plays(Script::new().then(Answer::Silence));
    let limit = std::time::Duration::from_secs(1);
    tokio::time::timeout(limit, session.turn(content()))
        .await
        .unwrap_err();
    // The cancel is on its way; it has ended when the engine has heard of the request's end.
    session.engine().settle().await;
    assert_eq!(ended(), 3);
}

/// Threads that look at the disk stand still until the test lets them go on.
#[tokio::test(start_paused = true)]
async fn a_disk_that_stands_still_does_not_hold_the_turn_up() {
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let (gate, own) = (Mutex::new(gate), std::thread::current().id());
    let kit = Kit::with(|keeper| {
        keeper.model = None;
        let inner = Arc::clone(&keeper.settings);
        keeper.settings = Arc::new(move || {
            if std::thread::current().id() != own {
                // Nothing is ever sent: they go on when the other end is dropped.
                assert!(gate.lock().unwrap().recv().is_err());
            }
            inner()
        });
    });
    others(&kit);
    kit.remember("deploys.md", &deploys());
    let recaller = kit.recaller();
    let mut session = kit.open_with(Arc::new(recaller.clone())).await;
    let says = kit.say(&mut session, QUESTION, "I do not know.");
    let passes = async {
        crate::kit::settle().await;
        tokio::time::advance(std::time::Duration::from_secs(2)).await;
    };
    tokio::join!(says, passes);
    assert_eq!(surfaced(&session), Vec::<String>::new());
    drop(open);
    // A result that came too late does not count as shown, and the next turn has it.
    recaller.answered("See deploys.md.");
    assert_eq!(kit.text("memory/.cache/usage.jsonl"), "");
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    assert_eq!(surfaced(&session), ["deploys.md"]);
}
