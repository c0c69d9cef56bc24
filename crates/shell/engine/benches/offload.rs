//! Cost of putting a long tool result into a file, next to writing the same bytes.
//!
//! `cargo bench -p dormouse-engine --bench offload` prints divan's table and then the ratio the
//! project promises: a result of 10 MB through [`Session::results`] (decision, name, file, preview,
//! two records) against one synced write of its text.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking, reads the clock and prints"
)]

use divan::{Bencher, black_box};
use dormouse_context::offload::ToolOutput;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_core::id::{CallId, SessionId};
use dormouse_core::models::ModelTable;
use dormouse_core::record::LineContext;
use dormouse_core::settings::Settings;
use dormouse_core::units::Tokens;
use dormouse_engine::{
    AskModel, BlockingLog, DiskRestorer, NoCompanion, NoHooks, NoTools, Ports, Session,
    SessionConfig, SessionPlace,
};
use dormouse_model::Params;
use dormouse_store::{FileBlobs, FileLog};
use dormouse_system::{Access, System};
use dormouse_testkit::conversation::prose;
use dormouse_testkit_model::{Script, ScriptedModel};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MODEL: &str = "claude-sonnet-4-5";
/// Characters of the result: 10 MB, so that the copies outweigh everything else.
const CHARS: usize = 10_000_000;

struct Setup {
    runtime: tokio::runtime::Runtime,
    system: System,
    session: Session,
    plain: PathBuf,
    text: String,
    calls: usize,
    _folder: tempfile::TempDir,
}

impl Setup {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let system = System::real();
        let folder = home.path().join("s");
        let log = home.path().join("s.jsonl");
        let id = SessionId::new("s");
        let ports = Ports {
            log: Arc::new(BlockingLog::new(
                FileLog::open(&system, &log, LineContext::default(), id.clone()).unwrap(),
            )),
            blobs: Arc::new(FileBlobs::new(Arc::clone(&system.files), &folder)),
            asker: Arc::new(AskModel(Arc::new(ScriptedModel::new(Script::no_request())))),
            tools: Arc::new(NoTools),
            hooks: Arc::new(NoHooks),
            restorer: Arc::new(DiskRestorer::new(Arc::clone(&system.files), Vec::new())),
            companion: Arc::new(NoCompanion),
            settings: Arc::new(|| Arc::new(Settings::default())),
            notices: Arc::new(|_| {}),
            system: system.clone(),
        };
        let place = SessionPlace {
            session: id,
            log,
            folder,
            home: home.path().to_owned(),
            project: String::new(),
        };
        let config = SessionConfig::new(
            MODEL,
            Arc::new(ModelTable::builtin().clone()),
            Params::new(MODEL, Tokens(8_000)).unwrap(),
            Arc::new(RenderedPrefix::new(Vec::new(), Vec::new(), Vec::new())),
        );
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .unwrap();
        let opened = runtime.block_on(Session::open(ports, place, config));
        let (session, _) = opened.unwrap();
        Self {
            runtime,
            system,
            session,
            plain: home.path().to_owned(),
            text: prose(1, CHARS),
            calls: 0,
            _folder: home,
        }
    }

    /// A result of its own: what the tool returned is not the engine's cost.
    fn output(&mut self) -> Vec<(String, ToolOutput)> {
        self.calls += 1;
        let call = CallId::new(format!("call_{}", self.calls));
        let output = ToolOutput::text(call, self.text.clone());
        vec![("Bash".to_owned(), output)]
    }

    fn offload(&mut self, output: Vec<(String, ToolOutput)>) {
        let results = self.session.results(output);
        self.runtime.block_on(results).unwrap();
    }

    /// Into a file of its own, as offloading does.
    fn write(&mut self) {
        self.calls += 1;
        let path = self.plain.join(format!("{}.txt", self.calls));
        let (files, bytes) = (&self.system.files, self.text.as_bytes());
        files.replace(&path, bytes, Access::Private).unwrap();
    }
}

#[divan::bench(sample_count = 20)]
fn offload_ten_megabytes(bencher: Bencher<'_, '_>) {
    let mut setup = Setup::new();
    bencher.bench_local(|| {
        let output = setup.output();
        setup.offload(black_box(output));
    });
}

#[divan::bench(sample_count = 20)]
fn write_the_same_bytes(bencher: Bencher<'_, '_>) {
    let mut setup = Setup::new();
    bencher.bench_local(|| setup.write());
}

fn timed(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    divan::main();
    let mut setup = Setup::new();
    // Taken in turns, so that both meet the same disk.
    let (mut offloads, mut writes) = (Vec::new(), Vec::new());
    for _ in 0..21 {
        let output = setup.output();
        offloads.push(timed(|| setup.offload(output)));
        writes.push(timed(|| setup.write()));
    }
    let (offload, write) = (median(offloads), median(writes));
    println!(
        "\noffloading a result of 10 MB / writing the same bytes: {:.2}×   (promised ≤ 2; {offload:?} \
         to {write:?})",
        offload.as_secs_f64() / write.as_secs_f64()
    );
}
