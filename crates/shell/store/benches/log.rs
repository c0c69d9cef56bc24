//! Speed of the log against `wc -l` on the same file, in the same run.
//!
//! A transcript of `DORMOUSE_BENCH_MIB` (1024 unless set) is written to a temporary folder: long
//! tool results, progress lines, responses with usage. The last 3 MiB are live; in a second file
//! the live part also keeps a range that lies a fifth of the file back.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark fails by panicking and prints what it found"
)]

use dormouse_core::block::Block;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{
    Body, Boundary, BoundaryKind, FORMAT, KeptRange, LineContext, Manifest, Message, Record,
    SessionStart, Trigger, encode,
};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;
use dormouse_core::usage_book::UsageBook;
use dormouse_store::{LogFile, scan_usage, summarise};
use dormouse_system::{Access, AppendFile, System};
use dormouse_testkit::blocks::{call, result};
use dormouse_testkit::conversation::prose;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// Bytes of a mebibyte.
const MIB: u64 = 1024 * 1024;
/// Bytes of the live part: below the distance of two checkpoints, as in a real log.
const LIVE: u64 = 3 * MIB;

struct Setup {
    system: System,
    plain: PathBuf,
    kept: PathBuf,
    bytes: u64,
    _folder: tempfile::TempDir,
}

static SETUP: OnceLock<Setup> = OnceLock::new();

fn setup() -> &'static Setup {
    SETUP.get_or_init(|| {
        let system = System::real();
        let mib = system.env.text("DORMOUSE_BENCH_MIB");
        let mib: u64 = mib.map_or(1024, |text| text.parse().expect("a number of MiB"));
        let bytes = mib.max(16) * MIB;
        let folder = tempfile::tempdir().unwrap();
        let (plain, kept) = (
            folder.path().join("plain.jsonl"),
            folder.path().join("kept.jsonl"),
        );
        Generator::new(&system, &plain).write(bytes, false);
        Generator::new(&system, &kept).write(bytes, true);
        Setup {
            system,
            plain,
            kept,
            bytes,
            _folder: folder,
        }
    })
}

/// Writes a log the way the store does, but in large pieces.
struct Generator {
    file: Box<dyn AppendFile>,
    buffer: Vec<u8>,
    len: u64,
    seq: u64,
    texts: Vec<String>,
    context: LineContext,
}

impl Generator {
    fn new(system: &System, path: &Path) -> Self {
        Self {
            file: system.files.create_new(path, Access::Private).unwrap(),
            buffer: Vec::new(),
            len: 0,
            seq: 0,
            texts: (0..64)
                .map(|seed| prose(seed, 400 + 150 * (seed % 40)))
                .collect(),
            context: LineContext {
                cwd: "/home/someone/project".into(),
                version: "0.1.0".into(),
                git_branch: "main".into(),
            },
        }
    }

    fn write(mut self, bytes: u64, keeps: bool) {
        let start = SessionStart {
            format: FORMAT,
            project: "/home/someone/project".into(),
            lineage: None,
        };
        self.push(Body::Session(Box::new(start)));
        let mut ranges = Vec::new();
        while self.len < bytes - LIVE {
            // 200 MB back in a file of 1 GiB.
            if keeps && ranges.is_empty() && self.len >= bytes - LIVE - bytes / 5 {
                let first = self.turn();
                let mut last = self.turn();
                while last.offset - first.offset < MIB {
                    last = self.turn();
                }
                ranges.push(KeptRange {
                    session: None,
                    first: first.seq,
                    last: last.seq,
                    offset: first.offset,
                    last_offset: last.offset,
                    first_id: first.id,
                });
            }
            self.turn();
        }
        self.push(Body::Boundary(Box::new(Boundary {
            trigger: Trigger::Auto,
            kind: BoundaryKind::Full,
            pre_tokens: Some(Tokens(160_000)),
            post_tokens: Some(Tokens(8_000)),
            fixed_tokens: None,
            summary_tokens: None,
            summary: vec![Block::text(&prose(7, 8_000))],
            restored: Vec::new(),
            text: Vec::new(),
            spliced: Vec::new(),
            previous: None,
            manifest: Some(Manifest {
                ranges,
                ..Manifest::default()
            }),
            preserved: None,
        })));
        while self.len < bytes {
            self.turn();
        }
        self.flush();
        // Or the system would write it out during the measurement.
        self.file.sync_data().unwrap();
    }

    /// A response of two lines, progress, a result.
    fn turn(&mut self) -> Record {
        let n = usize::try_from(self.seq).unwrap();
        let id = format!("toolu_{n:08}");
        let message = |blocks| {
            let mut message = Message::assistant(
                format!("msg_{n:08}").as_str().into(),
                "claude-sonnet-4-5",
                blocks,
            );
            message.usage = Some(TokenUsage {
                input: Tokens(4),
                cache_read: Tokens(50_000 + n as u64 % 1_000),
                output: Tokens(n as u64 % 700),
                ..TokenUsage::default()
            });
            Body::Message(message)
        };
        let text = |of: usize| self.texts[of % 64].clone();
        let said = Block::text(&text(n)[..300]);
        let input = json!({ "file_path": "/src/lib.rs", "old_string": &text(n + 1)[..200] });
        let edit = call(&id, "Edit", &input);
        let output = text(n * 7) + &text(n * 3);
        let progress = json!({
            "type": "progress", "uuid": format!("p{n}"), "parentUuid": null, "toolUseID": id,
            "data": { "type": "bash_progress", "output": &text(n + 5)[..350], "elapsedTimeSeconds": 3 },
        });
        let first = self.push(message(vec![said]));
        self.push(message(vec![edit]));
        self.line(progress.to_string().as_bytes());
        self.push(Body::Message(Message::user(vec![result(&id, &output)])));
        first
    }

    fn push(&mut self, body: Body) -> Record {
        self.seq += 1;
        let record = Record {
            seq: dormouse_core::id::Seq::new(self.seq),
            offset: self.len,
            id: id(self.seq),
            parent: (self.seq > 1).then(|| id(self.seq - 1)),
            session: Some("0197b0d0-0000-7000-8000-000000000001".into()),
            at: Some(Millis(1_770_000_000_000 + i64::try_from(self.seq).unwrap())),
            caused_by: None,
            side_chain: false,
            agent: None,
            own: true,
            body,
        };
        let line = encode(&record, &self.context).unwrap();
        self.line(line.trim_ascii_end());
        record
    }

    fn line(&mut self, line: &[u8]) {
        self.buffer.extend_from_slice(line);
        self.buffer.push(b'\n');
        self.len += line.len() as u64 + 1;
        if self.buffer.len() as u64 > MIB {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.file.append(&self.buffer).unwrap();
        self.buffer.clear();
    }
}

fn id(seq: u64) -> dormouse_core::id::RecordId {
    dormouse_core::id::RecordId::new(format!("0197b0d0-0000-7000-8000-{seq:012x}"))
}

fn open(path: &Path) -> LogFile {
    LogFile::open(&*setup().system.files, path).unwrap()
}

fn resume(path: &Path) -> u64 {
    let resumed = open(path).resume(&|_| None).unwrap();
    assert!(resumed.carrier.is_some() && resumed.issues.is_empty());
    resumed.bytes_read
}

fn usage(path: &Path) -> usize {
    let mut book = UsageBook::new();
    let scan = scan_usage(&open(path), &mut book).unwrap();
    assert!(scan.issues.is_empty());
    book.len()
}

fn wc(path: &Path) {
    let done = Command::new("wc").arg("-l").arg(path).output().unwrap();
    assert!(done.status.success());
}

#[divan::bench]
fn wc_lines() {
    wc(&setup().plain);
}

#[divan::bench]
fn resume_live_tail() -> u64 {
    resume(&setup().plain)
}

#[divan::bench]
fn resume_with_a_range_far_back() -> u64 {
    resume(&setup().kept)
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn usage_of_everything() -> usize {
    usage(&setup().plain)
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn summary_of_everything() -> u64 {
    summarise(&open(&setup().plain)).unwrap().lines
}

/// Median of several runs, in which one slow outlier does not count.
fn median<T>(runs: usize, mut work: impl FnMut() -> T) -> Duration {
    let clock = &setup().system.clock;
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let before = clock.ticks();
            divan::black_box(work());
            clock.ticks().since(before)
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}

fn main() {
    let setup = setup();
    divan::main();
    let wc = median(7, || wc(&setup.plain));
    let tail = median(15, || resume(&setup.plain));
    let far = median(15, || resume(&setup.kept));
    let usage_time = median(5, || usage(&setup.plain));
    let rate = |time: Duration| setup.bytes as f64 / time.as_secs_f64() / 1e9;
    let ratio = |time: Duration| time.as_secs_f64() / wc.as_secs_f64();
    println!(
        "wc -l {:.1} ms ({:.2} GB/s); resume {:.2} ms = {:.3} x wc ({:.1} MiB read); with a far \
         range {:.2} ms = {:.3} x wc ({:.1} MiB read); usage {:.0} ms ({:.2} GB/s) = {:.2} x wc",
        wc.as_secs_f64() * 1e3,
        rate(wc),
        tail.as_secs_f64() * 1e3,
        ratio(tail),
        resume(&setup.plain) as f64 / MIB as f64,
        far.as_secs_f64() * 1e3,
        ratio(far),
        resume(&setup.kept) as f64 / MIB as f64,
        usage_time.as_secs_f64() * 1e3,
        rate(usage_time),
        ratio(usage_time),
    );
    let mut book = UsageBook::new();
    scan_usage(&open(&setup.plain), &mut book).unwrap();
    let totals = book.totals(ModelTable::builtin());
    println!("{} responses, {}", totals.all.responses, totals.all.cost);
}
