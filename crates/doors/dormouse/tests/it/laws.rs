//! The laws of the workspace that no compiler checks.
//!
//! # Model
//! Each test asks cargo or the source tree for facts and lists every breach it finds, each with
//! the way out.
//!
//! # Not here
//! Laws that a lint can state: `clippy.toml` and `[workspace.lints]`; licences and advisories:
//! `deny.toml`.
#![expect(
    clippy::disallowed_methods,
    reason = "the subject is the source tree itself, not anything the program works on"
)]

mod texts;

use regex::Regex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rings, from the inside out. A crate's ring is the folder it lies in.
const RINGS: [&str; 4] = ["pure", "shell", "doors", "lab"];

/// Rings that a ring may depend on. The lab compares and measures whatever the others do; doors
/// offer what the lab has (`replay`, `sim`, `eval`).
const MAY_NEED: [(&str, &[&str]); 4] = [
    ("pure", &["pure"]),
    ("shell", &["pure", "shell"]),
    ("doors", &["pure", "shell", "doors", "lab"]),
    ("lab", &["pure", "shell", "lab"]),
];

/// Crates behind the host. A door asks the host and formats its answers; a door that opened these
/// itself would answer differently from the others sooner or later.
const BEHIND_THE_HOST: [&str; 4] = [
    "dormouse-keeper",
    "dormouse-memdir",
    "dormouse-memory",
    "dormouse-store",
];

/// Doors that need no host: a library's face hands out the parts themselves.
const FACES: [&str; 1] = ["dormouse-embed"];

/// Modules of the context engine that decide. The engine carries effects out and names none.
const DECIDERS: [&str; 12] = [
    "bound", "breaker", "clear", "economy", "fork", "layers", "ledger", "notes", "plan", "policy",
    "tokens", "window",
];

/// Crates that would let IO or a runtime into a pure crate.
const IMPURE: [&str; 7] = [
    "tokio",
    "hyper",
    "reqwest",
    "axum",
    "async-std",
    "notify",
    "memmap2",
];

/// Lines of a file at most: a reader can still hold its structure in the head.
const LONGEST_FILE: usize = 500;

#[test]
fn pure_crates_depend_on_nothing_impure() {
    let graph = Graph::load();
    let pure: Vec<&String> = graph.in_ring("pure").collect();
    assert!(pure.len() >= 8, "only {pure:?} lie in crates/pure");
    let mut breaches = Vec::new();
    for name in pure {
        for (id, way) in graph.reachable(&graph.members[name]) {
            if IMPURE.contains(&graph.names[id].as_str()) {
                breaches.push(way.join(" -> "));
            }
        }
    }
    assert!(
        breaches.is_empty(),
        "pure crates take what they need as arguments and return what is to be done; move the \
         code that needs this into a shell crate, or the dependency into dev-dependencies:\n  {}",
        breaches.join("\n  ")
    );
}

#[test]
fn dependencies_point_inwards() {
    let graph = Graph::load();
    let mut breaches = Vec::new();
    for (ring, allowed) in MAY_NEED {
        for name in graph.in_ring(ring) {
            for needed in &graph.needs[&graph.members[name]] {
                let needed = &graph.names[needed];
                let Some(other) = graph.manifests.get(needed).map(|path| ring_of(path)) else {
                    continue;
                };
                if !allowed.contains(&other.as_str()) {
                    breaches.push(format!("{name} ({ring}) -> {needed} ({other})"));
                }
            }
        }
    }
    // Tools are given to a conversation; they do not know how one is run.
    let tools = graph.reachable(&graph.members["dormouse-tools"]);
    if tools.contains_key(graph.members["dormouse-engine"].as_str()) {
        breaches.push("dormouse-tools -> dormouse-engine".to_owned());
    }
    assert!(
        breaches.is_empty(),
        "an arrow points inwards only (ARCHITECTURE.md, \"Crates\"):\n  {}",
        breaches.join("\n  ")
    );
}

#[test]
fn doors_ask_the_host() {
    let graph = Graph::load();
    let mut breaches = Vec::new();
    let doors: Vec<&String> = graph.in_ring("doors").collect();
    assert!(doors.iter().any(|name| *name == "dormouse"), "{doors:?}");
    for name in doors
        .into_iter()
        .filter(|name| !FACES.contains(&name.as_str()))
    {
        for needed in &graph.needs[&graph.members[name]] {
            let needed = &graph.names[needed];
            if BEHIND_THE_HOST.contains(&needed.as_str()) {
                breaches.push(format!("{name} -> {needed}"));
            }
        }
    }
    assert!(
        breaches.is_empty(),
        "a door formats what the host answers: make this a service of dormouse-host, or move the \
         dependency into dev-dependencies:\n  {}",
        breaches.join("\n  ")
    );
}

#[test]
fn one_place_asks_who_reads_the_output() {
    let commands = root().join("crates/doors/dormouse/src/commands");
    let files = rust_files().into_iter();
    let files: Vec<PathBuf> = files.filter(|path| path.starts_with(&commands)).collect();
    assert!(
        files.len() > 30,
        "the commands have moved away from {commands:?}"
    );
    let asks = |path: &&PathBuf| fs::read_to_string(path).unwrap().contains("out.format()");
    let asking: Vec<&PathBuf> = files.iter().filter(asks).collect();
    assert!(
        asking.is_empty(),
        "a result implements `Report` and goes through `App::tell`: {asking:?}"
    );
}

#[test]
fn the_engine_names_no_decider() {
    let source = root().join("crates/shell/engine/src");
    let files = rust_files().into_iter();
    let files: Vec<PathBuf> = files.filter(|path| path.starts_with(&source)).collect();
    assert!(files.len() > 5, "the engine has moved away from {source:?}");
    let mut breaches = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        for decider in DECIDERS {
            if text.contains(&format!("dormouse_context::{decider}")) {
                breaches.push(format!("{}: {decider}", path.display()));
            }
        }
    }
    assert!(
        breaches.is_empty(),
        "an executor has no decisions: move this into dormouse-drive:\n  {}",
        breaches.join("\n  ")
    );
}

#[test]
fn files_stay_short_or_say_why() {
    let mut breaches = Vec::new();
    for path in rust_files() {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        if lines > LONGEST_FILE && !says_why_long(&text) {
            let name = path.strip_prefix(root()).unwrap_or(&path);
            breaches.push(format!("{}: {lines} lines", name.display()));
        }
    }
    assert!(
        breaches.is_empty(),
        "a file has at most {LONGEST_FILE} lines; split it (tests can go to a sibling file), or \
         give the reason in its module doc in a sentence that starts with \"Long because\":\n  {}",
        breaches.join("\n  ")
    );
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let mut breaches = Vec::new();
    for (name, manifest) in Graph::load().manifests {
        let text = fs::read_to_string(&manifest).unwrap();
        let table: toml::Table = text.parse().unwrap();
        let inherits = table
            .get("lints")
            .and_then(|lints| lints.get("workspace"))
            .and_then(toml::Value::as_bool);
        if inherits != Some(true) {
            breaches.push(name);
        }
    }
    assert!(
        breaches.is_empty(),
        "add `[lints]` with `workspace = true` to the manifest of: {}",
        breaches.join(", ")
    );
}

#[test]
fn every_dependency_is_used() {
    let metadata = metadata(&["--no-deps"]);
    let mut breaches = Vec::new();
    for package in array(&metadata["packages"]) {
        let name = text(&package["name"]);
        let folder = Path::new(text(&package["manifest_path"])).parent().unwrap();
        let source = sources_below(folder, &["src", "build.rs"]);
        let tests = sources_below(folder, &["tests", "benches", "examples"]);
        for dependency in array(&package["dependencies"]) {
            let named = dependency["rename"].as_str();
            let needed = named.unwrap_or_else(|| text(&dependency["name"]));
            let word = Regex::new(&format!(r"\b{}\b", needed.replace('-', "_"))).unwrap();
            let for_tests = dependency["kind"] == "dev";
            if !(word.is_match(&source) || for_tests && word.is_match(&tests)) {
                let kind = dependency["kind"].as_str().unwrap_or("normal");
                breaches.push(format!("{name}: {needed} ({kind})"));
            }
        }
    }
    assert!(
        breaches.is_empty(),
        "take these dependencies out, or move those that only tests name to dev-dependencies:\n  {}",
        breaches.join("\n  ")
    );
}

#[test]
fn every_shared_dependency_is_some_crates() {
    let text = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let shared = table["workspace"]["dependencies"].as_table().unwrap();
    let metadata = metadata(&["--no-deps"]);
    let packages = array(&metadata["packages"]);
    let used: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| array(&package["dependencies"]))
        .map(|dependency| self::text(&dependency["name"]))
        .collect();
    let unused: Vec<&String> = shared
        .keys()
        .filter(|name| !used.contains(name.as_str()))
        .collect();
    assert!(
        unused.is_empty(),
        "no crate needs these; take them out of [workspace.dependencies]: {unused:?}"
    );
}

#[test]
fn a_reason_for_length_is_a_sentence_of_the_module_doc() {
    let cases = [
        ("//! A table.\n//! Long because it is one.\n", true),
        ("//! Long because it is a table.\n", true),
        ("//! A table. Long because\n//! it is one.\n", true),
        (
            "//! A table.\n//!\n//! Long because it is one.\nfn f() {}\n",
            true,
        ),
        (
            "//! A table.\nfn f() {}\n// Long because it is one.\n",
            false,
        ),
        ("//! This is not Long because of laziness.\n", false),
        ("//! A table.\n", false),
        ("", false),
    ];
    for (text, expected) in cases {
        assert_eq!(says_why_long(text), expected, "{text:?}");
    }
}

/// The resolved dependencies of the workspace on this platform.
struct Graph {
    /// Package id to name.
    names: BTreeMap<String, String>,
    /// Name of a crate of ours to its package id.
    members: BTreeMap<String, String>,
    /// Name of a crate of ours to its manifest.
    manifests: BTreeMap<String, PathBuf>,
    /// Package id to the ids it needs in order to run (not to be built or tested).
    needs: BTreeMap<String, Vec<String>>,
}

impl Graph {
    fn load() -> Self {
        // For this platform only: cargo has fetched nothing else when only this was built.
        let metadata = metadata(&["--filter-platform", &host()]);
        let ours: BTreeSet<&str> = array(&metadata["workspace_members"])
            .iter()
            .map(text)
            .collect();
        let mut graph = Self {
            names: BTreeMap::new(),
            members: BTreeMap::new(),
            manifests: BTreeMap::new(),
            needs: BTreeMap::new(),
        };
        for package in array(&metadata["packages"]) {
            let (id, name) = (text(&package["id"]), text(&package["name"]));
            graph.names.insert(id.to_owned(), name.to_owned());
            if ours.contains(id) {
                graph.members.insert(name.to_owned(), id.to_owned());
                let manifest = text(&package["manifest_path"]);
                graph.manifests.insert(name.to_owned(), manifest.into());
            }
        }
        for node in array(&metadata["resolve"]["nodes"]) {
            let is_normal = |dependency: &&Value| {
                array(&dependency["dep_kinds"])
                    .iter()
                    .any(|kind| kind["kind"].is_null())
            };
            let needs = array(&node["deps"]).iter().filter(is_normal);
            let needs = needs.map(|dependency| text(&dependency["pkg"]).to_owned());
            graph
                .needs
                .insert(text(&node["id"]).to_owned(), needs.collect());
        }
        graph
    }

    /// The crates of ours in a ring.
    fn in_ring<'a>(&'a self, ring: &'a str) -> impl Iterator<Item = &'a String> {
        let crates = self.manifests.iter();
        crates
            .filter(move |(_, manifest)| ring_of(manifest) == ring)
            .map(|(name, _)| name)
    }

    /// Every package that `start` needs, with the shortest way there by name.
    fn reachable<'a>(&'a self, start: &'a str) -> BTreeMap<&'a str, Vec<&'a str>> {
        let mut ways = BTreeMap::from([(start, vec![self.names[start].as_str()])]);
        let mut queue = VecDeque::from([start]);
        while let Some(id) = queue.pop_front() {
            for next in &self.needs[id] {
                if !ways.contains_key(next.as_str()) {
                    let mut way = ways[id].clone();
                    way.push(&self.names[next]);
                    ways.insert(next, way);
                    queue.push_back(next);
                }
            }
        }
        ways
    }
}

/// The folder below `crates` that a manifest lies in.
fn ring_of(manifest: &Path) -> String {
    let ring = manifest
        .strip_prefix(root().join("crates"))
        .ok()
        .and_then(|path| path.iter().next())
        .map(|ring| ring.to_string_lossy().into_owned())
        .unwrap_or_default();
    assert!(
        RINGS.contains(&ring.as_str()),
        "{} lies in no ring",
        manifest.display()
    );
    ring
}

fn metadata(more: &[&str]) -> Value {
    let arguments = [&["metadata", "--format-version=1", "--locked"], more].concat();
    serde_json::from_str(&cargo(&arguments)).unwrap()
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "`cargo {}` failed:\n{}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn host() -> String {
    let version = cargo(&["--version", "--verbose"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("cargo says which platform it was built for")
        .to_owned()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(3)
        .expect("this crate lies three levels below the root")
}

/// The text of all Rust files at or below these names in a folder.
fn sources_below(folder: &Path, names: &[&str]) -> String {
    let below = |path: &PathBuf| names.iter().any(|name| path.starts_with(folder.join(name)));
    let files = rust_files().into_iter().filter(below);
    files
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

/// The Rust files of the workspace, without what was built.
fn rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![root().to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            // Cargo marks its output with this file, wherever it was told to put it.
            if kind.is_dir() && !hidden && !path.join("CACHEDIR.TAG").exists() {
                directories.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|end| end == "rs") {
                files.push(path);
            }
        }
    }
    assert!(
        files.len() > 10,
        "found only {} Rust files under {:?}",
        files.len(),
        root()
    );
    files.sort();
    files
}

fn says_why_long(text: &str) -> bool {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let doc = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    doc.match_indices("Long because").any(|(at, _)| {
        let before = doc[..at].trim_end();
        before.is_empty() || before.ends_with(['.', '!', '?', ':'])
    })
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("cargo metadata has a list here")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("cargo metadata has a string here")
}
