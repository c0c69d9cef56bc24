//! The panic hook: a program that fails leaves a terminal that can be used.

use dormouse_core::id::RecordId;
use dormouse_testkit_terminal::{Pty, lint};
use dormouse_tui::{
    Gauge, Looks, Panel, PanelKind, Printed, Scene, ServiceFuture, Services, Start, Wish,
};
use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

    fn gauge(&self, _: String) -> ServiceFuture<Option<Gauge>> {
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

    fn kept(&self, _: String) -> ServiceFuture<Option<(u64, u64)>> {
        Box::pin(async { None })
    }

    fn scene(&self, _: Wish) -> ServiceFuture<Result<Scene, String>> {
        Box::pin(async { Err("there is none".to_owned()) })
    }

    fn later(&self, _: u64) {}
}

/// The screen itself, run by the other test in a process of its own.
#[test]
#[ignore = "a person's terminal is needed: the other test starts it on one"]
fn a_screen_with_broken_services() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let scene = Scene {
        start: Start::default(),
        opened: None,
        services: Arc::new(Broken::default()),
        tour: None,
        keeps: None,
    };
    runtime
        .block_on(dormouse_tui::run(scene, Looks::default()))
        .unwrap();
}

#[test]
fn the_terminal_is_restored_after_a_panic() {
    let program = std::env::current_exe().unwrap();
    let variables = [
        ("PATH", OsStr::new("/usr/bin:/bin")),
        ("TERM", OsStr::new("xterm")),
    ];
    let arguments = [
        "--exact",
        "panics::a_screen_with_broken_services",
        "--ignored",
        "--nocapture",
    ];
    let folder = std::env::temp_dir();
    let mut pty = Pty::start(&program, &arguments, variables, &folder, (80, 24));
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
