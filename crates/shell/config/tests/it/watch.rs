//! Watching real files: the operating system's notices are the subject.

use dormouse_config::{Loader, SettingsWatcher, SourceState, Update, set_trust};
use dormouse_core::settings::{Trust, keys};
use dormouse_system::{Access, Files as _, MapEnvironment, RealFiles, System};
use pretty_assertions::assert_eq;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use tempfile::TempDir;

/// Far more than needed, also on a busy machine; only a failing test waits so long.
const LONG: Duration = Duration::from_secs(20);
/// Time files must be left alone: short, so that the tests are; editors need 100 ms.
const SILENCE: Duration = Duration::from_millis(20);

struct Place {
    directory: TempDir,
    loader: Loader,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = TempDir::new().unwrap();
        let put = |(name, text): &(&str, &str)| write(&directory.path().join(name), text);
        files.iter().for_each(put);
        RealFiles
            .create_dir_all(&directory.path().join("project"), Access::Shared)
            .unwrap();
        let env = MapEnvironment::default();
        env.set_home(Some(directory.path().join("user")));
        env.set_current_dir(Some(directory.path().join("project")));
        let system = System {
            env: Arc::new(env),
            ..System::real()
        };
        let managed = directory.path().join("etc/dormouse/settings.toml");
        let loader = Loader::new(&system, managed, Vec::new()).unwrap();
        Self { directory, loader }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        write(&self.path(name), text);
    }

    fn watch(&self) -> (SettingsWatcher, Receiver<Update>) {
        let first = Arc::new(self.loader.load());
        SettingsWatcher::start(self.loader.clone(), first, SILENCE).unwrap()
    }
}

fn write(path: &std::path::Path, text: &str) {
    RealFiles
        .create_dir_all(path.parent().unwrap(), Access::Private)
        .unwrap();
    RealFiles
        .replace(path, text.as_bytes(), Access::Private)
        .unwrap();
}

/// Updates until one fits. A change may be seen in steps, so not every update is what we wait for.
fn until(updates: &Receiver<Update>, fits: impl Fn(&Update) -> bool) -> Update {
    loop {
        let update = updates.recv_timeout(LONG).expect("an update");
        if fits(&update) {
            return update;
        }
    }
}

#[test]
fn a_change_of_any_layer_is_published_with_its_keys() {
    let place = Place::new(&[("user/.dormouse/settings.toml", "model = \"a\"")]);
    let (watcher, updates) = place.watch();

    place.write("user/.dormouse/settings.toml", "model = \"b\"");
    let update = until(&updates, |_| true);
    assert_eq!(update.changed, ["model"]);
    assert_eq!(watcher.current(), update.loaded);

    // Neither the project's folder nor the administrator's is there yet.
    place.write("project/.dormouse/settings.local.toml", "notes = false");
    let update = until(&updates, |update| !update.changed.is_empty());
    assert_eq!(update.changed, ["notes"]);

    place.write("etc/dormouse/settings.toml", "microcompact.api = true");
    let update = until(&updates, |update| !update.changed.is_empty());
    assert_eq!(update.changed, ["microcompact.api"]);
}

#[test]
fn a_broken_edit_keeps_what_was_good_and_says_so() {
    let place = Place::new(&[("user/.dormouse/settings.toml", "compact = false")]);
    let (watcher, updates) = place.watch();
    place.write("user/.dormouse/settings.toml", "compact = ");
    let update = until(&updates, |update| !update.loaded.issues.is_empty());
    assert_eq!(update.changed, Vec::<String>::new());
    assert!(!watcher.current().settings.get(keys::COMPACT));

    place.write("user/.dormouse/settings.toml", "compact = true");
    let update = until(&updates, |update| update.loaded.issues.is_empty());
    assert_eq!(update.changed, ["compact"]);
}

#[test]
fn a_file_that_goes_away_takes_its_values_with_it() {
    let place = Place::new(&[("project/.dormouse/settings.toml", "notes = false")]);
    let (_watcher, updates) = place.watch();
    RealFiles
        .remove_file(&place.path("project/.dormouse/settings.toml"))
        .unwrap();
    assert_eq!(until(&updates, |_| true).changed, ["notes"]);
}

#[test]
fn trust_and_models_are_followed_too() {
    let place = Place::new(&[(
        "project/.dormouse/settings.toml",
        "anthropic.base_url = \"http://p\"",
    )]);
    let (_watcher, updates) = place.watch();
    let places = place.loader.places();
    set_trust(
        &RealFiles,
        places,
        places.project.root.as_ref(),
        Trust::Trusted,
    )
    .unwrap();
    let update = until(&updates, |update| !update.changed.is_empty());
    assert_eq!(update.changed, ["anthropic.base_url"]);
    assert_eq!(update.loaded.trust, Trust::Trusted);

    place.write(
        "user/.dormouse/models.toml",
        "[models.mine]\nwindow = 50_000\n",
    );
    let known = |update: &Update| update.loaded.models.lookup("mine").is_known();
    until(&updates, known);

    // Another file may come into force, in a place not watched before.
    place.write("elsewhere/m.toml", "[models.other]\nwindow = 60_000\n");
    let elsewhere = place.path("elsewhere/m.toml");
    let setting = format!("models_file = '{}'", elsewhere.display());
    place.write("user/.dormouse/settings.toml", &setting);
    until(&updates, |update| {
        update.loaded.models.lookup("other").is_known()
    });
    place.write("elsewhere/m.toml", "[models.third]\nwindow = 60_000\n");
    until(&updates, |update| {
        update.loaded.models.lookup("third").is_known()
    });
}

#[cfg(unix)]
#[test]
fn a_linked_file_is_followed_where_it_lies() {
    let place = Place::new(&[("dotfiles/d.toml", "model = \"a\"")]);
    RealFiles
        .create_dir_all(&place.path("user/.dormouse"), Access::Private)
        .unwrap();
    let link = place.path("user/.dormouse/settings.toml");
    std::os::unix::fs::symlink(place.path("dotfiles/d.toml"), link).unwrap();
    let (_watcher, updates) = place.watch();
    place.write("dotfiles/d.toml", "model = \"b\"");
    assert_eq!(until(&updates, |_| true).changed, ["model"]);
}

#[test]
fn what_changed_before_watching_began_is_the_first_update_and_reading_is_no_change() {
    let place = Place::new(&[]);
    let first = Arc::new(place.loader.load());
    place.write("user/.dormouse/settings.toml", "model = \"a\"");
    let (watcher, updates) = SettingsWatcher::start(place.loader.clone(), first, SILENCE).unwrap();
    let update = until(&updates, |_| true);
    assert_eq!(update.changed, ["model"]);
    let user = &update.loaded.sources[1];
    assert_eq!(
        (user.name.as_str(), user.state),
        ("user", SourceState::Read)
    );

    // Stopping ends the thread, and with it the channel; nothing else was published.
    drop(watcher);
    assert_eq!(
        updates.recv_timeout(LONG),
        Err(RecvTimeoutError::Disconnected)
    );
}
