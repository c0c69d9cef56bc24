//! The keeper of this project's memory, for commands that need more than the directory.

use crate::app::App;
use crate::commands::memory::place::{self, Which};
use crate::error::Failure;
use dormouse_core::settings::{Trust, keys};
use dormouse_core::show::expand_home;
use dormouse_keeper::budget::Budget;
use dormouse_keeper::client::{NoModel, configured};
use dormouse_keeper::{Keeper, KeeperPlaces, TeamMemory};
use dormouse_memdir::MemoryDir;
use dormouse_store::ProjectFolder;
use dormouse_system::Access;
use std::path::PathBuf;
use std::sync::Arc;

/// A keeper, and why it has no model if it has none.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) no_model: Option<NoModel>,
}

/// Opens the memory of this project with everything around it.
pub(crate) fn open(which: &Which, app: &mut App) -> Result<Opened, Failure> {
    let mut found = place::find(which, app)?;
    let memory = found.open(app)?;
    let config = found.config;
    let settings = Arc::clone(&config.loaded.settings);
    let models = Arc::clone(&config.loaded.models);
    let (model, no_model) = match configured(&settings, &models) {
        Ok(model) => (Some(model), None),
        Err(why) => (None, Some(why)),
    };
    let places = config.loader.places();
    let project_root = places.project.root.clone();
    let mut transcripts = Vec::new();
    let files = &*app.system.files;
    if let Some(folder) = ProjectFolder::find(files, &places.home, &places.project.real_root)? {
        transcripts.push(folder.path().to_owned());
    }
    let user_home = app.system.env.home_dir();
    transcripts.extend(claude_transcripts(
        &settings,
        user_home.as_ref(),
        &places.project.real_root,
    ));
    transcripts.retain(|folder| files.metadata(folder).is_ok());
    let team = match place::project_place(&config, app) {
        Ok(place) => team(&place, &config, app)?,
        // A directory that was named has no team beside it.
        Err(_) => None,
    };
    let keeper = Keeper {
        budget: Budget::new(&app.system, &places.home),
        system: app.system.clone(),
        settings: Arc::new(move || Arc::clone(&settings)),
        models,
        memory,
        team,
        places: KeeperPlaces {
            home: places.home.clone(),
            user_home,
            project_root,
            working_dir: places.current_dir.clone(),
            transcripts,
        },
        model,
    };
    Ok(Opened {
        keeper: Arc::new(keeper),
        no_model,
    })
}

/// The team's memory, where somebody has begun one.
fn team(
    place: &dormouse_memdir::Place,
    config: &crate::app::Config,
    app: &App,
) -> Result<Option<TeamMemory>, Failure> {
    let Some(root) = &place.team else {
        return Ok(None);
    };
    let Some(dir) = MemoryDir::find(&app.system, root, Access::Shared)? else {
        return Ok(None);
    };
    let env = &app.system.env;
    let author = env.text("GIT_AUTHOR_NAME").or_else(|| env.text("USER"));
    Ok(Some(TeamMemory {
        dir,
        trusted: config.loaded.trust == Trust::Trusted,
        author: author.unwrap_or_else(|| "unknown".to_owned()),
    }))
}

/// Where Claude Code keeps the transcripts of a project.
fn claude_transcripts(
    settings: &dormouse_core::settings::Settings,
    user_home: Option<&PathBuf>,
    root: &std::path::Path,
) -> Option<PathBuf> {
    let home = match settings.get(keys::MEMORY_CLAUDE_HOME) {
        Some(text) => expand_home(&text, user_home.map(PathBuf::as_path)),
        None => user_home?.join(".claude"),
    };
    Some(home.join("projects").join(dormouse_store::slug(root)))
}

/// A runtime for commands that may ask a model.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    built
        .map_err(|error| crate::error::UserError::of(crate::error::Exit::Unexpected, &error).into())
}
