use super::*;
use dormouse_core::settings::{Trust, flags_layer, resolve};
use dormouse_system::MemoryFiles;
use pretty_assertions::assert_eq;

fn settings(pairs: &[&str]) -> Settings {
    let (layer, issues) = flags_layer(pairs.iter().copied());
    assert!(issues.is_empty(), "{issues:?}");
    resolve(&[layer], Trust::Trusted)
}

fn find_in(files: &MemoryFiles, current: &str, pairs: &[&str]) -> Result<MemoryLocation, NoPlace> {
    let around = Surroundings {
        home: "/home/u/.dormouse".as_ref(),
        user_home: Some("/home/u".as_ref()),
        current: current.as_ref(),
    };
    MemoryLocation::find(&settings(pairs), around, files)
}

fn disk() -> MemoryFiles {
    let files = MemoryFiles::default();
    files.put("/home/u/app/.git/HEAD", "");
    files.put("/home/u/app/src/a.rs", "");
    files.put("/home/u/loose/notes.txt", "");
    files
}

fn find(pairs: &[&str]) -> Result<MemoryLocation, NoPlace> {
    find_in(&disk(), "/home/u/app/src", pairs)
}

#[test]
fn the_first_that_applies_decides() {
    let memory = |pairs: &[&str]| {
        let place = find(pairs).unwrap();
        (place.memory.to_string_lossy().into_owned(), place.why)
    };
    let own = "/home/u/.dormouse/projects/-home-u-app/memory";
    assert_eq!(memory(&[]), (own.into(), Why::Project));
    let directory = "memory.directory=~/my/memory";
    let expected = ("/home/u/my/memory".into(), Why::Setting);
    assert_eq!(memory(&[directory]), expected);
    assert_eq!(memory(&["memory.layout=claude", directory]), expected);
    let claude = "/home/u/.claude/projects/-home-u-app/memory";
    assert_eq!(
        memory(&["memory.layout=claude"]),
        (claude.into(), Why::ClaudeLayout)
    );
    let moved = ["memory.layout=claude", "memory.claude_home=/srv/claude"];
    let claude = "/srv/claude/projects/-home-u-app/memory";
    assert_eq!(memory(&moved), (claude.into(), Why::ClaudeLayout));
    let remote = [
        "memory.remote=on",
        "memory.remote_directory=/mnt/memory",
        directory,
    ];
    assert_eq!(memory(&remote), ("/mnt/memory".into(), Why::Remote));
}

#[test]
fn there_are_reasons_for_no_memory() {
    assert!(matches!(find(&["memory=off"]), Err(NoPlace::Off { .. })));
    assert!(matches!(find(&["memory.remote=on"]), Err(NoPlace::Remote)));
    for bad in ["relative/path", "/", "/tmp", "//server/share/x", "memory"] {
        let found = find(&[&format!("memory.directory={bad}")]);
        assert!(
            matches!(
                found,
                Err(NoPlace::Refused {
                    setting: "memory.directory",
                    ..
                })
            ),
            "{bad}: {found:?}"
        );
    }
}

#[test]
fn without_a_home_a_tilde_leads_nowhere() {
    let around = Surroundings {
        home: "/d".as_ref(),
        user_home: None,
        current: "/home/u/app".as_ref(),
    };
    let found = MemoryLocation::find(&settings(&["memory.directory=~/m"]), around, &disk());
    assert!(matches!(found, Err(NoPlace::NoHome { .. })));
}

#[test]
fn team_memory_lies_in_the_working_tree_or_where_the_user_says() {
    let team = |current: &str, pairs: &[&str]| {
        let place = find_in(&disk(), current, pairs).unwrap();
        place.team.map(|path| path.to_string_lossy().into_owned())
    };
    let default = Some("/home/u/app/.dormouse/team-memory".to_owned());
    assert_eq!(team("/home/u/app/src", &[]), default);
    assert_eq!(team("/home/u/loose", &[]), None);
    assert_eq!(team("/home/u/app", &["team=off"]), None);
    let set = team("/home/u/loose", &["team.directory=~/team/memory"]);
    assert_eq!(set.as_deref(), Some("/home/u/team/memory"));
}

#[test]
fn roots_that_share_a_slug_do_not_share_memory() {
    let files = disk();
    files.put("/home/u/b-c/x", "");
    files.put("/home/u/b/c/x", "");
    let mut one = find_in(&files, "/home/u/b-c", &[]).unwrap();
    let before = one.memory.clone();
    one.claim(&files).unwrap();
    assert_eq!(one.memory, before);
    let mut two = find_in(&files, "/home/u/b/c", &[]).unwrap();
    assert_ne!(two.memory, one.memory, "found before it is claimed");
    let before = two.memory.clone();
    two.claim(&files).unwrap();
    assert_eq!(two.memory, before);
    assert_eq!(
        find_in(&files, "/home/u/b-c", &[]).unwrap().memory,
        one.memory
    );
    assert_eq!(
        find_in(&files, "/home/u/b/c", &[]).unwrap().memory,
        two.memory
    );
    let claude = |current| find_in(&files, current, &["memory.layout=claude"]).unwrap();
    assert_eq!(claude("/home/u/b-c").memory, claude("/home/u/b/c").memory);
}

#[test]
fn looking_makes_nothing_and_opening_does() {
    let machine = dormouse_system::MemorySystem::new();
    machine.files.put("/home/u/app/.git/HEAD", "");
    let system = machine.system();
    let mut place = find_in(&machine.files, "/home/u/app", &[]).unwrap();
    assert!(place.look(&system).unwrap().is_none());
    assert!(place.look_team(&system).unwrap().is_none());
    assert!(
        machine
            .files
            .metadata("/home/u/.dormouse".as_ref())
            .is_err()
    );
    let dir = place.open(&system).unwrap();
    assert_eq!(dir.root(), place.memory);
    assert!(place.look(&system).unwrap().is_some());
}

#[test]
fn the_other_tools_names_are_made_as_it_makes_them() {
    let name = |path: &str| claude_slug(path.as_ref());
    assert_eq!(name("/home/ä.b/😀x"), "-home---b---x");
    assert!(name(&format!("/{}", "x".repeat(300))).len() < 255);
}
