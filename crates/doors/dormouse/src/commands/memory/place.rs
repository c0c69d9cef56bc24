//! Which directory a command works on.

use crate::app::{App, Config};
use crate::error::{Exit, Failure, UserError};
use dormouse_guard::paths::check_directory;
use dormouse_memdir::{MemoryDir, NoPlace, Place, Surroundings};
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::transaction::Transaction;
use dormouse_system::Access;
use std::path::{Path, PathBuf};

/// Which directory is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The project's own.
    Private,
    /// The team's.
    Team,
    /// This one.
    Directory(PathBuf),
}

impl Which {
    /// What the flags say.
    pub(crate) fn of(dir: Option<&Path>, team: bool) -> Self {
        match dir {
            Some(dir) => Self::Directory(dir.to_owned()),
            None if team => Self::Team,
            None => Self::Private,
        }
    }
}

/// A directory that was found; it may not exist yet.
#[derive(Debug)]
pub(crate) struct Found {
    /// Where it is, or would be.
    pub(crate) root: PathBuf,
    access: Access,
    place: Option<Place>,
    /// The settings.
    pub(crate) config: Config,
}

/// Finds the directory.
pub(crate) fn find(which: &Which, app: &mut App) -> Result<Found, Failure> {
    let config = app.config()?;
    if let Which::Directory(dir) = which {
        let dir = config.loader.places().current_dir.join(dir);
        let root = app.system.files.real_path(&dir).unwrap_or(dir);
        check_directory(&root).map_err(|why| {
            UserError::of(Exit::Refused, &why).hint("name a directory made for memories")
        })?;
        let access = Access::Private;
        return Ok(Found {
            root,
            access,
            place: None,
            config,
        });
    }
    let place = project_place(&config, app)?;
    if *which == Which::Private {
        let (root, access) = (place.memory.clone(), Access::Private);
        return Ok(Found {
            root,
            access,
            place: Some(place),
            config,
        });
    }
    let Some(root) = place.team.clone() else {
        let error = UserError::new(Exit::Unsuitable, "this folder has no team memory");
        let hint = "team memory lies in a git repository, or where `team.directory` says";
        return Err(error.hint(hint).into());
    };
    // Meant to be committed: what the user's umask allows.
    let access = Access::Shared;
    Ok(Found {
        root,
        access,
        place: None,
        config,
    })
}

/// Where the memory of the working directory lies.
pub(crate) fn project_place(config: &Config, app: &App) -> Result<Place, Failure> {
    let places = config.loader.places();
    let user_home = app.system.env.home_dir();
    let around = Surroundings {
        home: &places.home,
        user_home: user_home.as_deref(),
        current: &places.current_dir,
    };
    Ok(Place::find(
        &config.loaded.settings,
        around,
        &*app.system.files,
    )?)
}

impl Found {
    /// What decided where it is; nothing if it was named.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// The directory if it exists.
    pub(crate) fn existing(&self, app: &App) -> Result<Option<MemoryDir>, Failure> {
        Ok(MemoryDir::find(&app.system, &self.root, self.access)?)
    }

    /// The directory, made if need be.
    pub(crate) fn open(&mut self, app: &App) -> Result<MemoryDir, Failure> {
        if let Some(place) = &mut self.place {
            place.claim(&*app.system.files)?;
            self.root.clone_from(&place.memory);
        }
        Ok(MemoryDir::open(&app.system, &self.root, self.access)?)
    }

    /// What is in it; nothing if it does not exist.
    pub(crate) fn snapshot(&self, app: &mut App) -> Result<Snapshot, Failure> {
        let Some(dir) = self.existing(app)? else {
            return Ok(Snapshot::new());
        };
        let look = dir.look()?;
        for skipped in &look.skipped {
            app.note(&format!(
                "{} is left out: {}",
                skipped.path.display(),
                skipped.why
            ));
        }
        Ok(look.snapshot)
    }

    /// Changes what is in it; the entry of the journal, if anything changed.
    pub(crate) fn update(
        &mut self,
        app: &App,
        change: impl FnOnce(&Snapshot) -> Result<Transaction, Failure>,
    ) -> Result<Option<dormouse_memory::journal::Entry>, Failure> {
        self.open(app)?.update(change)
    }
}

impl From<NoPlace> for Failure {
    fn from(error: NoPlace) -> Self {
        let kind = match &error {
            NoPlace::Off { .. } | NoPlace::Remote | NoPlace::Refused { .. } => Exit::Refused,
            NoPlace::NoHome { .. } => Exit::Usage,
            NoPlace::Files(_) | NoPlace::Folder(_) | NoPlace::Memdir(_) => Exit::Unreadable,
        };
        let shown = UserError::of(kind, &error);
        match error {
            NoPlace::Off { .. } => shown
                .hint("`dormouse config show memory` says who switched it off")
                .into(),
            _ => shown.into(),
        }
    }
}
