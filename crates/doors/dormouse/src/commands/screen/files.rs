//! Files of the project that a begun name may mean.

use dormouse_agent::files_below;
use dormouse_host::Host;
use dormouse_system::FileKind;

/// Files that are listed: more than anyone steps through.
const MOST: usize = 40;

/// Paths of the project's files, from its folder.
pub(super) fn all(host: &Host) -> Vec<String> {
    let folder = &host.places().current_dir;
    let found = files_below(&*host.system().files, folder).unwrap_or_default();
    let shown = found.iter().map(|path| path.display().to_string());
    shown.collect()
}

/// A file by a path that a person pasted, from the root; none if it is not there.
pub(super) fn named(host: &Host, path: &str) -> Option<String> {
    let system = host.system();
    let home = path.strip_prefix("~/").zip(system.env.home_dir());
    let path = match home {
        Some((below, home)) => home.join(below),
        None => host.places().current_dir.join(path),
    };
    let facts = system.files.metadata(&path).ok()?;
    (facts.kind == FileKind::File).then(|| path.display().to_string())
}

/// Files whose names fit, the likeliest first.
pub(super) fn like(paths: &[String], begun: &str) -> Vec<String> {
    let begun = begun.to_lowercase();
    let ranked = paths
        .iter()
        .filter_map(|path| Some((rank(path, &begun)?, path.len(), path)));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_unstable();
    ranked.truncate(MOST);
    ranked
        .into_iter()
        .map(|(_, _, path)| path.clone())
        .collect()
}

/// Place of a path among those that fit a begun name in small letters; `None` if it does not.
fn rank(path: &str, begun: &str) -> Option<u8> {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    if name.starts_with(begun) {
        return Some(0);
    }
    if path.starts_with(begun) {
        return Some(1);
    }
    if name.contains(begun) {
        return Some(2);
    }
    if path.contains(begun) {
        return Some(3);
    }
    // Letters in order, as people shorten names: `srvmn` for `server/main.rs`.
    let mut letters = path.chars();
    let in_order = begun
        .chars()
        .all(|wanted| letters.any(|letter| letter == wanted));
    in_order.then_some(4)
}

#[cfg(test)]
mod tests {
    use super::like;

    #[test]
    fn names_come_before_folders_and_letters_in_order_last() {
        let paths = [
            "docs/main.md",
            "main/other.rs",
            "src/domain.rs",
            "src/main.rs",
            "m/a/i/n.rs",
            "README.md",
        ];
        let paths = paths.map(str::to_owned);
        let expected = [
            "src/main.rs",
            "docs/main.md",
            "main/other.rs",
            "src/domain.rs",
            "m/a/i/n.rs",
        ];
        assert_eq!(like(&paths, "MAIN"), expected);
        assert_eq!(like(&paths, "src/m"), ["src/main.rs", "src/domain.rs"]);
        assert_eq!(like(&paths, "").len(), 6);
        assert_eq!(like(&paths, "zz"), [""; 0]);
    }
}
