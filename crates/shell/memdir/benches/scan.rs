//! Cost of having all memories ready. `cargo bench -p dormouse-memdir`
//! 10,000 memories of about 150 words in a real folder, warm page cache. The floor is the same
//! walk, asking about each file; the closing lines are ratios of medians taken in turns in one
//! process.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints what it found"
)]

use divan::{Bencher, black_box};
use dormouse_guard::paths::SafePath;
use dormouse_memdir::{MemoryDir, Scan};
use dormouse_memory::transaction::{Author, Transaction};
use dormouse_recall::{Query, Scratch};
use dormouse_system::{Access, Files as _, RealFiles, System, Ticks};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

const MEMORIES: usize = 10_000;
const ROUNDS: usize = 15;

fn main() {
    divan::main();
    summary();
    if let Some(folder) = FOLDER.get() {
        drop(std::fs::remove_dir_all(folder));
    }
}

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// The folder with all memories and a cache that is up to date.
fn folder() -> &'static Path {
    FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder").keep();
        let mut dice = Dice(7);
        for number in 0..MEMORIES {
            let (name, about, body) = (dice.text(3), dice.text(12), dice.text(150));
            let text =
                format!("---\nname: {name}\ndescription: {about}\ntype: project\n---\n{body}\n");
            let path = folder.join(format!("memory_{number:05}.md"));
            let file = RealFiles.create_new(&path, Access::Private);
            file.and_then(|mut file| file.append(text.as_bytes()))
                .expect("a file");
        }
        // Stamps of files that have just been written are not believed.
        std::thread::sleep(Duration::from_millis(100));
        dir(&folder).scan().expect("a scan");
        folder
    })
}

fn dir(folder: &Path) -> MemoryDir {
    MemoryDir::open(&System::real(), folder, Access::Private).expect("a directory")
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Words with a long tail, as words are.
    fn text(&mut self, words: usize) -> String {
        let mut word = |_| format!("w{:x}", self.roll(70) * self.roll(70) * self.roll(8));
        let words: Vec<String> = (0..words).map(&mut word).collect();
        words.join(" ")
    }
}

/// A walk that asks about each file.
fn floor() -> usize {
    let files = RealFiles.beneath(folder()).expect("a handle");
    let hidden = |path: &Path| path.to_string_lossy().starts_with('.');
    files.walk(Path::new(""), &hidden).expect("a walk").len()
}

fn scan() -> Scan {
    dir(folder()).scan().expect("a scan")
}

/// Scan before each question of a running process.
fn again(scan: &mut Option<Scan>) {
    if let Some(before) = scan.take() {
        *scan = dir(folder()).rescan(before).ok();
    }
}

/// Work of a process that has just started: open, scan, search once.
fn cold() -> usize {
    let scan = scan();
    let query = Query {
        text: "what do we know about w1f and w2a3 in the w77",
        top: 50,
        now: 0,
    };
    scan.searcher()
        .search(&query, &mut Scratch::default())
        .len()
}

#[divan::bench(sample_count = 20)]
fn walk_that_asks_about_each_file(bencher: Bencher<'_, '_>) {
    folder();
    bencher.bench(|| black_box(floor()));
}

#[divan::bench(sample_count = 20)]
fn rescan_of_unchanged_files(bencher: Bencher<'_, '_>) {
    let mut known = Some(scan());
    bencher.bench_local(|| again(&mut known));
}

#[divan::bench(sample_count = 20)]
fn scan_of_unchanged_files(bencher: Bencher<'_, '_>) {
    folder();
    bencher.bench(|| black_box(scan()));
}

#[divan::bench(sample_count = 20)]
fn open_scan_and_search(bencher: Bencher<'_, '_>) {
    folder();
    bencher.bench(|| black_box(cold()));
}

#[divan::bench(sample_count = 2)]
fn scan_without_a_cache(bencher: Bencher<'_, '_>) {
    let cache = folder().join(".cache/recall.index");
    bencher
        .with_inputs(|| RealFiles.remove_file(&cache))
        .bench_values(|_| black_box(scan()));
}

/// One change of two files, in a folder of its own with a hundred memories.
#[divan::bench(sample_count = 50)]
fn transaction_of_two_files(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = dir(folder.path());
    let path = |name: &str| SafePath::parse(name).expect("a path");
    let change = |numbers: [usize; 2], text: &str| {
        let snapshot = dir.snapshot().expect("a snapshot");
        let mut change = Transaction::by(Author::User, "bench");
        for number in numbers {
            let name = format!("m{number}.md");
            change.put(&snapshot, path(&name), text.to_owned());
        }
        change
    };
    for number in 0..50 {
        dir.apply(change([number, number + 50], "first"))
            .expect("a change");
    }
    let mut number = 0;
    bencher
        .with_inputs(|| {
            number += 1;
            change([1, 2], &format!("text {number}"))
        })
        .bench_local_values(|change| dir.apply(change).expect("a change"));
}

fn summary() {
    let clock = System::real().clock;
    let timed = |work: &mut dyn FnMut()| {
        let start: Ticks = clock.ticks();
        work();
        clock.ticks().since(start)
    };
    let mut known = Some(scan());
    let mut works: [Box<dyn FnMut()>; 4] = [
        Box::new(|| _ = black_box(floor())),
        Box::new(|| again(&mut known)),
        Box::new(|| drop(black_box(scan()))),
        Box::new(|| _ = black_box(cold())),
    ];
    let mut times = [(); 4].map(|()| Vec::new());
    for _ in 0..ROUNDS {
        for (times, work) in times.iter_mut().zip(&mut works) {
            times.push(timed(work));
        }
    }
    let [floor, again, scan, cold] = times.map(|mut times| {
        times.sort_unstable();
        times[ROUNDS / 2]
    });
    let ratio = again.as_secs_f64() / floor.as_secs_f64();
    println!("{MEMORIES} memories: walk {floor:.1?}, rescan {again:.1?} ({ratio:.2}×, at most 2×)");
    println!(
        "scan from the cache {scan:.1?}, with opening and a search {cold:.1?} (at most 60 ms)"
    );
}
