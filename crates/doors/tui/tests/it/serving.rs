//! The loop of the screen on a terminal of its own: the order of the first frame and the opening, and the
//! panic hook.

use dormouse_core::id::RecordId;
use dormouse_testkit_terminal::{Pty, lint};
use dormouse_tui::{
    Gauge, Looks, Opening, Panel, PanelKind, Printed, Scene, ServiceFuture, Services, Start, Wish,
};
use std::ffi::OsStr;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// Mark that the services write into the terminal when they are asked to open a session.
const OPENS: &str = "\u{1b}]2;the session is opened\u{7}";

/// Services that panic when a second panel is asked for, on the thread that draws.
#[derive(Debug, Default)]
struct Broken(AtomicUsize);

impl Services for Broken {
    fn run(&self, _: Vec<String>, _: usize) -> ServiceFuture<Printed> {
        Box::pin(async { Printed::default() })
    }

    fn shell(&self, _: String) -> ServiceFuture<Printed> {
        Box::pin(async { Printed::default() })
    }

    fn point(&self, _: String, _: usize) -> ServiceFuture<Option<RecordId>> {
        Box::pin(async { None })
    }

    fn gauge(&self, _: String, _: String) -> ServiceFuture<Option<Gauge>> {
        Box::pin(async { None })
    }

    fn panel(
        &self,
        _: PanelKind,
        _: Option<String>,
        _: String,
    ) -> ServiceFuture<Result<Panel, String>> {
        let asked = self.0.fetch_add(1, Ordering::SeqCst);
        assert!(asked == 0, "the services are broken");
        Box::pin(std::future::pending())
    }

    fn files(&self, _: String) -> ServiceFuture<Vec<String>> {
        Box::pin(async { Vec::new() })
    }

    fn image(&self, _: String) -> ServiceFuture<Option<String>> {
        Box::pin(async { None })
    }

    fn compose(&self, _: String) -> Result<String, String> {
        Err("there is no editor".to_owned())
    }

    fn kept(&self, _: String) -> ServiceFuture<Option<(u64, u64)>> {
        Box::pin(async { None })
    }

    fn scene(&self, _: Wish) -> ServiceFuture<Result<Scene, String>> {
        Box::pin(async { Err("there is none".to_owned()) })
    }

    fn open(&self, news: mpsc::UnboundedSender<Opening>) {
        let mut out = std::io::stdout();
        out.write_all(OPENS.as_bytes()).unwrap();
        out.flush().unwrap();
        let why = "there is no model here".to_owned();
        news.send(Opening::Without(why)).unwrap();
    }

    fn later(&self, _: u64) {}
}

fn show(opens: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let scene = Scene {
        start: Start::default(),
        opened: None,
        opens,
        services: Arc::new(Broken::default()),
        tour: None,
        keeps: None,
    };
    runtime
        .block_on(dormouse_tui::run(scene, Looks::default()))
        .unwrap();
}

/// The screen itself, run by another test in a process of its own.
#[test]
#[ignore = "a person's terminal is needed: another test starts it on one"]
fn a_screen_with_broken_services() {
    show(false);
}

/// The same with a session that is opened behind the first frame.
#[test]
#[ignore = "a person's terminal is needed: another test starts it on one"]
fn a_screen_that_opens_a_session() {
    show(true);
}

/// Starts one of the screens above.
fn start(name: &str) -> Pty {
    let program = std::env::current_exe().unwrap();
    let variables = [
        ("PATH", OsStr::new("/usr/bin:/bin")),
        ("TERM", OsStr::new("xterm")),
    ];
    let name = format!("serving::{name}");
    let arguments = ["--exact", &name, "--ignored", "--nocapture"];
    let folder = std::env::temp_dir();
    Pty::start(&program, &arguments, variables, &folder, (80, 24))
}

#[test]
fn the_first_frame_is_written_before_the_session_is_opened() {
    let mut pty = start("a_screen_that_opens_a_session");
    pty.shows("there is no model here");
    pty.send("\u{4}\u{4}");
    let (status, recording, lines) = pty.ended();
    assert!(status.success(), "{lines:#?}");
    let bytes = String::from_utf8_lossy(&recording.bytes()).into_owned();
    let (before, behind) = bytes.split_once(OPENS).unwrap();
    // One whole frame, with composer and status line, and nothing of the session.
    assert_eq!(before.matches("\u{1b}[?2026l").count(), 1, "{before:?}");
    assert!(before.contains("› ") && before.contains("opening ·"));
    assert!(!before.contains("no model"), "{before:?}");
    assert!(behind.contains("no model ·"), "{behind:?}");
}

#[test]
fn the_terminal_is_restored_after_a_panic() {
    let mut pty = start("a_screen_with_broken_services");
    pty.shows("no model");
    // The panic comes while a panel is on the alternate screen.
    pty.send("\u{f}");
    pty.shows("reading…");
    pty.send("\t");
    pty.shows("the services are broken");
    let (status, recording, lines) = pty.ended();
    assert!(!status.success());
    assert_eq!(lint(&recording.bytes(), true), [""; 0]);
    // The message stands below the last row, at the beginning of a line: raw mode is off.
    let told = lines.iter().find(|line| line.contains("panicked at"));
    assert!(
        told.is_some_and(|line| line.trim_start().starts_with("thread")),
        "{lines:#?}"
    );
}
