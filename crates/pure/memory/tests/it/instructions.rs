//! Instruction files of real projects, and naughty ones.

use crate::disk::Disk;
use dormouse_memory::instructions::{
    Approvals, FileOutcome, Limits, Loaded, Loader, Places, load, render, render_later,
};
use dormouse_system::{Access, System};
use dormouse_testkit::material::{material, naughty_strings};
use pretty_assertions::assert_eq;
use std::path::{Path, PathBuf};

const LIMITS: Limits = Limits {
    include_depth: 5,
    file_chars: 40_000,
};

fn places(root: &Path) -> Places {
    Places {
        home: root.join("no/home"),
        project_root: Some(root.to_owned()),
        working_dir: root.to_owned(),
        ..Places::default()
    }
}

fn names(root: &Path, paths: impl IntoIterator<Item = PathBuf>) -> Vec<String> {
    paths
        .into_iter()
        .map(|path| path.strip_prefix(root).unwrap().display().to_string())
        .collect()
}

/// Loads a project of the material; what always holds, in order.
fn project(name: &str) -> Option<(PathBuf, Disk, Loaded)> {
    let folder = material(&format!("memories/{name}"))?;
    let disk = Disk(System::real().files);
    let root = disk.0.real_path(&folder).unwrap();
    let loaded = load(&places(&root), &LIMITS, &Approvals::default(), &disk);
    assert!(loaded.waiting.is_empty());
    Some((root, disk, loaded))
}

fn always(root: &Path, loaded: &Loaded) -> Vec<String> {
    names(root, loaded.always.iter().map(|file| file.path.clone()))
}

#[test]
fn rules_that_are_included_and_found_count_once() {
    let Some((root, disk, mut loaded)) = project("2anki-mit") else {
        return;
    };
    let rules = [
        "security",
        "testing",
        "code-quality",
        "email-templates",
        "dependencies",
        "sonar",
        "parallel-pr-coordination",
    ];
    let mut expected = vec!["CLAUDE.md".to_owned()];
    expected.extend(rules.map(|rule| format!(".claude/rules/{rule}.md")));
    assert_eq!(always(&root, &loaded), expected);
    let repeats = loaded.report.iter();
    let repeats = repeats.filter(|line| line.outcome == FileOutcome::Repeat);
    assert_eq!(repeats.count(), rules.len());
    assert!(loaded.rules.is_empty());

    let (places, approvals) = (places(&root), Approvals::default());
    let loader = Loader {
        places: &places,
        limits: &LIMITS,
        approvals: &approvals,
        source: &disk,
    };
    for (file, expected) in [
        ("src/routes/new.ts", vec!["src/routes/CLAUDE.md"]),
        ("web/src/deep/App.tsx", vec!["web/CLAUDE.md"]),
        ("src/index.ts", vec![]),
        ("src/routes/other.ts", vec![]),
    ] {
        let more = loader.load_for_file(&mut loaded, Path::new(file));
        assert_eq!(render_later(&more).is_some(), !expected.is_empty());
        assert_eq!(
            names(&root, more.into_iter().map(|file| file.path)),
            expected
        );
    }
}

#[test]
fn a_link_that_became_a_file_stands_for_its_target() {
    let Some((root, _, loaded)) = project("eclosion-mit") else {
        return;
    };
    let expected = [
        "CLAUDE.md",
        ".claude/rules/available-to-stash.md",
        ".claude/rules/data-stores.md",
        ".claude/rules/demo-mode.md",
        ".claude/rules/documentation.md",
        ".claude/rules/testing.md",
        ".claude/rules/workflows.md",
    ];
    assert_eq!(always(&root, &loaded), expected);
    assert_eq!(loaded.report[0].outcome, FileOutcome::OnlyIncludes);
}

#[test]
fn agent_memories_are_no_instructions() {
    if let Some((root, _, loaded)) = project("compose-envkit-mit") {
        assert_eq!(always(&root, &loaded), ["AGENTS.md", "CLAUDE.md"]);
    }
    if let Some((root, _, loaded)) = project("recommendarr-mit") {
        let expected = ["CLAUDE.md", ".claude/rules/vite-plus.md"];
        assert_eq!(always(&root, &loaded), expected);
    }
}

#[test]
fn naughty_contents_and_includes_do_no_harm() {
    let disk = Disk(System::memory().files);
    let root = PathBuf::from("/project");
    disk.0.create_dir_all(&root, Access::Shared).unwrap();
    let put = |name: &str, text: &str| {
        let path = root.join(name);
        disk.0
            .replace(&path, text.as_bytes(), Access::Shared)
            .unwrap();
    };
    // A file with a zero byte is no text and is passed over as a whole.
    let texts = naughty_strings().into_iter();
    for text in texts.filter(|text| !text.contains('\0')) {
        put("AGENTS.md", &text);
        put("CLAUDE.md", &format!("Say hello. @{text} (@./{text})"));
        let loaded = load(&places(&root), &LIMITS, &Approvals::default(), &disk);
        let rendered = render(&loaded).unwrap();
        assert!(rendered.contains("Say hello."));
        assert!(rendered.ends_with("\n</system-reminder>"));
        for file in &loaded.always {
            assert!(file.real.starts_with(&root), "{text:?}: {:?}", file.path);
        }
        assert!(loaded.rules_for(Path::new(&text)).is_empty());
    }
}

#[cfg(unix)]
#[test]
fn links_are_seen_through() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk(System::real().files);
    let root = disk.0.real_path(folder.path()).unwrap();
    let project = root.join("project");
    disk.0.create_dir_all(&project, Access::Shared).unwrap();
    let put = |path: PathBuf| disk.0.replace(&path, b"text", Access::Shared).unwrap();
    put(root.join("outside.md"));
    put(project.join("AGENTS.md"));
    std::os::unix::fs::symlink("AGENTS.md", project.join("CLAUDE.md")).unwrap();
    std::os::unix::fs::symlink("../outside.md", project.join("CLAUDE.local.md")).unwrap();
    let loaded = load(&places(&project), &LIMITS, &Approvals::default(), &disk);
    assert_eq!(always(&project, &loaded), ["AGENTS.md"]);
    assert_eq!(loaded.waiting.len(), 1);
    assert_eq!(loaded.waiting[0].real, root.join("outside.md"));

    let approvals = Approvals([root.join("outside.md")].into());
    let loaded = load(&places(&project), &LIMITS, &approvals, &disk);
    assert_eq!(always(&project, &loaded), ["AGENTS.md", "CLAUDE.local.md"]);
}
