//! `dormouse config show`: the settings in force and their origins.
//!
//! A [`Shown`] is made first, then printed as JSON, by its field names, or as text.
//!
//! # Not here
//! The text: `show_text`. Resolving layers: `dormouse_core::settings`.

use super::show_text;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError, causes, issue_hint};
use crate::output::{Out, Report, figures};
use crate::remark::words;
use dormouse_config::ConfigIssue;
use dormouse_core::settings::{
    EnvName, Given, Kind, Origin, ResolvedSetting, Setting, Settings, Switch, Trust, Value,
    all_settings, find_setting, nearest_key,
};
use dormouse_host::{Loaded, Places, Remark, SettingsFile, SourceState};
use serde::{Serialize, Serializer};
use std::fmt;

const HELP: &str = "\
Without KEY: what differs from the built-in defaults, and the switches.

Examples:
  dormouse config show compact.auto     One setting in full
  dormouse config show microcompact     All settings of a group
  dormouse config show --all --json | jq -r '.settings[].key'

JSON:
  {\"home\", \"project\": {\"root\", \"trusted\"},
   \"files\": [{\"name\", \"path\", \"state\": read|missing|unusable}],
   \"settings\": [{
     \"key\", \"value\", \"from\": {\"layer\", \"path\", \"line\", \"variable\"},
     \"combined_from\": [from], \"overrode\": [{\"value\", \"from\"}],
     \"ignored\": [{\"value\", \"from\", \"reason\"}],
     \"default\", \"takes\", \"unit\", \"set_by\", \"meaning\", \"members\",
     \"environment\": [{\"name\", \"switches_off\"}],
     \"effective\", \"off_because\"}],
   \"issues\": [{\"message\", \"causes\", \"hint\"}]}
\"effective\" and \"off_because\" are for switches: one that is on has no effect
while a switch it needs is off. Secrets are never shown.";

/// Arguments of `config show`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// A setting, or a group of settings
    key: Option<String>,
    /// Show all settings, also those with default values
    #[arg(long, conflicts_with = "key")]
    all: bool,
}

/// Shows settings: the notable, all, one, or a group.
pub(super) fn run(args: &Args, app: &mut App) -> Outcome {
    let host = app.host()?;
    // The report lists the issues itself. The text about one setting has no room for the list and
    // tells them as remarks.
    let issues = host.take_remarks();
    let loaded = host.loaded();
    let settings = &loaded.settings;
    let (selection, rows) = match &args.key {
        Some(key) => one_or_group(key, settings)?,
        None if args.all => (
            Selection::All,
            settings
                .iter()
                .map(|entry| Row::of(entry, settings))
                .collect(),
        ),
        None => (Selection::Notable, notable(settings)),
    };
    app.tell(&Shown::new(host.places(), &loaded, rows, selection, issues))
}

impl Report for Shown<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        if matches!(self.selection, Selection::One | Selection::Group) {
            for issue in &self.remarks {
                out.note(&words(issue));
            }
        }
        show_text::show(self, self.selection, out)
    }
}

/// The settings that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// Settings that differ from the defaults, and the switches.
    Notable,
    /// Every setting, with `--all`.
    All,
    /// One setting in full, by its key.
    One,
    /// The settings whose keys begin with a name and a dot.
    Group,
}

fn notable(settings: &Settings) -> Vec<Row<'_>> {
    let rows = settings.iter().map(|entry| Row::of(entry, settings));
    rows.filter(|row| row.is_notable() || row.effective.is_some())
        .collect()
}

fn one_or_group<'a>(
    key: &'a str,
    settings: &'a Settings,
) -> Result<(Selection, Vec<Row<'a>>), Failure> {
    if let Some(entry) = settings.entry(key) {
        return Ok((Selection::One, vec![Row::of(entry, settings)]));
    }
    // A key under a pattern that no layer sets, or the pattern itself.
    let pattern = || all_settings().find(|setting| setting.key == key);
    if let Some(setting) = find_setting(key).or_else(pattern) {
        return Ok((Selection::One, vec![Row::unset(key, setting)]));
    }
    // With the dot: `compact` must not take `compaction.x` along.
    let prefix = format!("{}.", key.trim_end_matches('.'));
    let members = settings
        .iter()
        .filter(|entry| entry.key.starts_with(&prefix));
    let rows: Vec<Row<'_>> = members.map(|entry| Row::of(entry, settings)).collect();
    if rows.is_empty() {
        let hint = match nearest_key(key) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            // Nothing is close enough to be a misspelling.
            None => "`dormouse config show --all` lists all settings".to_owned(),
        };
        let error = UserError::new(Exit::Usage, format!("there is no setting `{key}`"));
        return Err(error.hint(hint).into());
    }
    Ok((Selection::Group, rows))
}

/// The report, in the shape of the JSON.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    pub(super) home: String,
    pub(super) project: ProjectReport,
    pub(super) files: Vec<FileReport<'a>>,
    pub(super) settings: Vec<Row<'a>>,
    pub(super) issues: Vec<IssueReport>,
    #[serde(skip)]
    selection: Selection,
    #[serde(skip)]
    remarks: Vec<Remark>,
}

#[derive(Serialize)]
pub(super) struct ProjectReport {
    pub(super) root: String,
    pub(super) trusted: bool,
}

#[derive(Serialize)]
pub(super) struct FileReport<'a> {
    pub(super) name: &'a str,
    pub(super) path: String,
    pub(super) state: &'static str,
}

#[derive(Serialize)]
pub(super) struct IssueReport {
    pub(super) message: String,
    pub(super) causes: Vec<String>,
    pub(super) hint: Option<String>,
}

impl<'a> Shown<'a> {
    fn new(
        places: &Places,
        loaded: &'a Loaded,
        settings: Vec<Row<'a>>,
        selection: Selection,
        remarks: Vec<Remark>,
    ) -> Self {
        Self {
            selection,
            remarks,
            home: places.home.to_string_lossy().into_owned(),
            project: ProjectReport {
                root: places.project.root.to_string_lossy().into_owned(),
                trusted: loaded.trust == Trust::Trusted,
            },
            files: loaded.sources.iter().map(FileReport::of).collect(),
            settings,
            issues: loaded.issues.iter().map(IssueReport::of).collect(),
        }
    }
}

impl<'a> FileReport<'a> {
    fn of(source: &'a SettingsFile) -> Self {
        Self {
            name: &source.name,
            path: source.path.to_string_lossy().into_owned(),
            state: match source.state {
                SourceState::Read => "read",
                SourceState::Missing => "missing",
                SourceState::Unusable => "unusable",
            },
        }
    }
}

impl IssueReport {
    fn of(issue: &ConfigIssue) -> Self {
        Self {
            message: issue.to_string(),
            causes: causes(issue),
            hint: issue_hint(issue),
        }
    }
}

/// One setting: value, origin, and the values it won against.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    pub(super) key: &'a str,
    pub(super) value: Option<&'a Value>,
    pub(super) from: From<'a>,
    pub(super) combined_from: Vec<From<'a>>,
    pub(super) overrode: Vec<Other<'a>>,
    pub(super) ignored: Vec<Other<'a>>,
    pub(super) default: Option<Value>,
    pub(super) takes: String,
    pub(super) unit: String,
    pub(super) set_by: String,
    pub(super) environment: Vec<Variable>,
    pub(super) effective: Option<bool>,
    pub(super) off_because: Option<&'static str>,
    pub(super) members: Vec<&'static str>,
    pub(super) meaning: &'static str,
}

/// An environment variable that sets a setting.
#[derive(Serialize)]
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) switches_off: bool,
}

impl Variable {
    fn of(variable: &EnvName) -> Self {
        Self {
            name: variable.name,
            switches_off: variable.negates,
        }
    }
}

/// The settings whose keys begin with this one's and a dot.
fn members(key: &str) -> Vec<&'static str> {
    let below = |member: &&str| {
        member
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    all_settings()
        .map(|setting| setting.key)
        .filter(below)
        .collect()
}

/// A value that was given and does not count.
#[derive(Serialize)]
pub(super) struct Other<'a> {
    pub(super) value: &'a Value,
    pub(super) from: From<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

impl<'a> Other<'a> {
    fn of(given: &'a Given, reason: Option<String>) -> Self {
        Self {
            value: &given.value,
            from: From(&given.origin),
            reason,
        }
    }
}

/// The origin of a value, flattened for JSON.
pub(super) struct From<'a>(&'a Origin);

impl fmt::Display for From<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for From<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Place<'a> {
            layer: String,
            path: Option<&'a str>,
            line: Option<usize>,
            variable: Option<&'a str>,
        }
        let mut place = Place {
            layer: self.0.kind().to_string(),
            path: None,
            line: None,
            variable: None,
        };
        match self.0 {
            Origin::File { path, line, .. } => {
                place.path = Some(path);
                place.line = *line;
            }
            Origin::Variable { name } => place.variable = Some(name),
            Origin::BuiltIn | Origin::Flag => {}
        }
        place.serialize(serializer)
    }
}

/// A value as a settings file takes it, with `_` between the thousands of long numbers.
pub(super) fn readable(value: &Value) -> String {
    match value {
        // A settings file takes `_` between digits, not a comma: the value can be copied.
        Value::Count(count) => figures::thousands(*count).replace(',', "_"),
        other => other.to_string(),
    }
}

impl<'a> Row<'a> {
    fn of(entry: &'a ResolvedSetting, settings: &Settings) -> Self {
        let switch =
            // Only switches have conditions; for other kinds "effective" would mean nothing.
            (entry.setting.kind == Kind::Flag).then(|| settings.switch_named(entry.setting.key));
        let ignored = entry.ignored.iter();
        Self {
            value: entry.value.as_ref(),
            from: From(&entry.origin),
            combined_from: entry.parts.iter().map(|part| From(&part.origin)).collect(),
            overrode: entry
                .shadowed
                .iter()
                .map(|given| Other::of(given, None))
                .collect(),
            ignored: ignored
                .map(|ignored| Other::of(&ignored.given, Some(ignored.reason.to_string())))
                .collect(),
            effective: switch.map(Switch::is_on),
            off_because: match switch {
                // A switch that is off by its own value needs no further reason.
                Some(Switch::Off { because }) if because != entry.key => Some(because),
                _ => None,
            },
            // Everything that does not depend on layers is the same for a setting that is not set.
            ..Self::unset(&entry.key, entry.setting)
        }
    }

    /// A setting that no layer sets: everything about it except a value.
    fn unset(key: &'a str, setting: &'static Setting) -> Self {
        Self {
            key,
            value: None,
            from: From(&Origin::BuiltIn),
            combined_from: Vec::new(),
            overrode: Vec::new(),
            ignored: Vec::new(),
            default: setting.default_value(),
            takes: setting.kind.to_string(),
            unit: setting.unit.to_string(),
            set_by: setting.scope.to_string(),
            environment: setting.env.iter().map(Variable::of).collect(),
            effective: None,
            off_because: None,
            members: members(key),
            meaning: setting.doc(),
        }
    }

    /// Values of other layers that this one overrode, strongest first. The built-in default is left
    /// out: every value overrides it.
    pub(super) fn overridden(&self) -> impl Iterator<Item = &Other<'a>> {
        let said = |other: &&Other<'a>| *other.from.0 != Origin::BuiltIn;
        self.overrode.iter().rev().filter(said)
    }

    /// True if a layer other than the built-in one says something about the setting.
    pub(super) fn is_notable(&self) -> bool {
        *self.from.0 != Origin::BuiltIn || !self.ignored.is_empty()
    }

    /// The value as text, with its unit.
    pub(super) fn shown(&self) -> String {
        let Some(value) = self.value else {
            return "not set".to_owned();
        };
        format!("{} {}", readable(value), self.unit)
            .trim_end()
            .to_owned()
    }
}
