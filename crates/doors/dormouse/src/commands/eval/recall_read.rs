//! Reading a set: documents and queries, or a folder of notes.
//!
//! # Not here
//! Ranking, figures, and telling sessions from ids: `dormouse_recall::evaluation`.

use super::recall::Args;
use crate::app::App;
use crate::error::{Exit, Failure, UserError};
use dormouse_recall::evaluation::{
    CorpusEntry, Question, is_about_the_folder, join_conversation, note,
};
use dormouse_system::FileKind;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Longest file that is read, in bytes. 4 GiB are more than any known set; the file is held in
/// memory, so there has to be an end.
const LONGEST: u64 = 4 << 30;
/// Groups that get a row each at most: more rows than a screen shows are no overview.
const ROWS: usize = 20;
/// Fields that name the whole a document is a piece of, the most particular first.
const PARENTS: [&str; 5] = [
    "conversation_session",
    "session",
    "session_id",
    "parent",
    "doc",
];
/// Fields of a query that name its sort, in the spellings of known sets.
const CATEGORIES: [&str; 4] = ["category", "question_type", "type", "ability"];

/// Documents and questions, by group.
#[derive(Default)]
pub(super) struct Set {
    pub(super) groups: BTreeMap<String, GroupSet>,
    /// Queries without a relevant document; they cannot be ranked and are only counted.
    pub(super) without_answer: usize,
}

/// A group: documents, and the questions asked about them alone.
#[derive(Default)]
pub(super) struct GroupSet {
    pub(super) entries: Vec<CorpusEntry>,
    pub(super) questions: Vec<Asked>,
}

/// A question, and the row of the table that it counts for.
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) row: Option<String>,
}

impl Set {
    /// Number of questions in all groups.
    pub(super) fn questions(&self) -> usize {
        self.groups
            .values()
            .map(|group| group.questions.len())
            .sum()
    }
}

/// Reads the files or the folder that the arguments name.
pub(super) fn read(args: &Args, app: &mut App) -> Result<Set, Failure> {
    match (&args.dir, &args.docs, &args.queries) {
        (Some(dir), _, _) => read_notes(dir, app),
        (None, Some(docs), Some(queries)) => {
            let mut set = Set::default();
            let mut places = Places::new();
            app.out.progress("reading documents");
            read_documents(docs, &args.group_by, &mut set, &mut places, app)?;
            // A single group may as well be a heap of notes with running numbers, which is no
            // conversation.
            if set.groups.len() > 1 {
                for group in set.groups.values_mut() {
                    join_conversation(&mut group.entries);
                }
            }
            app.out.progress("reading queries");
            read_queries(queries, &args.group_by, &mut set, &places, app)?;
            app.out.progress("");
            Ok(set)
        }
        _ => Err(UserError::new(Exit::Usage, "--docs and --queries belong together").into()),
    }
}

/// Position of a document in its group, by group and id.
type Places = HashMap<(String, String), usize>;

/// A line of a file, for messages.
struct Place<'a> {
    file: &'a Path,
    line: usize,
}

impl Place<'_> {
    fn wrong(&self, what: &str) -> Failure {
        let file = self.file.display();
        UserError::new(
            Exit::Unsuitable,
            format!("`{file}`, line {}: {what}", self.line),
        )
        .into()
    }
}

fn read_documents(
    file: &Path,
    group_by: &str,
    set: &mut Set,
    places: &mut Places,
    app: &App,
) -> Result<(), Failure> {
    each_line(file, app, |place, line| {
        let id = identity(line.get("id")).ok_or_else(|| place.wrong("no `id`"))?;
        let text = line.get("text").and_then(Value::as_str);
        let text = text.ok_or_else(|| place.wrong("no `text`"))?;
        let group = group_of(line, group_by);
        let entries = &mut set.groups.entry(group.clone()).or_default().entries;
        let known = places.insert((group, id.clone()), entries.len());
        if known.is_some() {
            return Err(place.wrong(&format!("a second document `{id}` in its group")));
        }
        entries.push(entry(id, text, line));
        Ok(())
    })
}

fn entry(id: String, text: &str, line: &Map<String, Value>) -> CorpusEntry {
    let field = |names: &[&str]| {
        let mut found = names.iter().filter_map(|name| line.get(*name)?.as_str());
        found.next().unwrap_or_default().to_owned()
    };
    let time = identity(line.get("time")).unwrap_or_default();
    let speaker = field(&["speaker"]);
    let text = if text.starts_with(&speaker) {
        text.to_owned()
    } else {
        format!("{speaker}: {text}")
    };
    let mut description = field(&["description", "summary", "caption"]);
    if let Some(date) = date_in_words(&time) {
        description = format!("{description}\n{date}");
    }
    CorpusEntry {
        id,
        text,
        name: field(&["title", "name"]),
        description,
        parent: PARENTS.iter().find_map(|name| identity(line.get(*name))),
        time,
    }
}

/// A date in words: of `2023-05-08…` "8 May 2023". A time with the name of a month in it is
/// returned as it is. Queries name dates in words, and the ranker matches words.
fn date_in_words(time: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let lower = time.to_lowercase();
    if MONTHS
        .iter()
        .any(|month| lower.contains(&month[..3].to_lowercase()))
    {
        return Some(time.to_owned());
    }
    let mut parts = time.get(..10)?.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let _: u16 = year.parse().ok()?;
    let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    let day: u8 = day.parse().ok()?;
    Some(format!("{day} {month} {year}"))
}

fn read_queries(
    file: &Path,
    group_by: &str,
    set: &mut Set,
    places: &Places,
    app: &App,
) -> Result<(), Failure> {
    // The field `group` is there for ranking; another one was named by the user to see its rows.
    let by_group = group_by != "group" && set.groups.len() <= ROWS;
    let without_answer = &mut set.without_answer;
    let groups = &mut set.groups;
    each_line(file, app, |place, line| {
        let text = line.get("query").and_then(Value::as_str);
        let text = text.ok_or_else(|| place.wrong("no `query`"))?;
        let ids = line.get("relevant").and_then(Value::as_array);
        let ids = ids.ok_or_else(|| place.wrong("no list `relevant`"))?;
        let group = group_of(line, group_by);
        let mut relevant = Vec::new();
        for id in ids {
            let id = identity(Some(id)).ok_or_else(|| place.wrong("an id that is none"))?;
            let key = (group.clone(), id);
            match places.get(&key) {
                Some(found) if relevant.contains(found) => {}
                Some(found) => relevant.push(*found),
                None => return Err(place.wrong(&unknown(&key))),
            }
        }
        if relevant.is_empty() {
            *without_answer += 1;
            return Ok(());
        }
        let category = CATEGORIES.iter().find_map(|name| identity(line.get(*name)));
        let row = category.or_else(|| by_group.then(|| group.clone()));
        if let Some(group) = groups.get_mut(&group) {
            let text = text.to_owned();
            group.questions.push(Asked {
                question: Question { text, relevant },
                row,
            });
        }
        Ok(())
    })
}

fn unknown((group, id): &(String, String)) -> String {
    if group.is_empty() {
        format!("no document without a group has the id `{id}`")
    } else {
        format!("no document of the group `{group}` has the id `{id}`")
    }
}

fn group_of(line: &Map<String, Value>, group_by: &str) -> String {
    identity(line.get(group_by)).unwrap_or_default()
}

/// A string or a number as a name; sets write ids in both forms.
fn identity(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Calls `found` with each line of a file that is not empty, as a JSON object.
fn each_line(
    file: &Path,
    app: &App,
    mut found: impl FnMut(&Place<'_>, &Map<String, Value>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let bytes = app.system.files.read(file, LONGEST)?;
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let place = Place {
            file,
            line: index + 1,
        };
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| place.wrong(&format!("no JSON ({error})")))?;
        let Value::Object(object) = value else {
            return Err(place.wrong("no JSON object"));
        };
        found(&place, &object)?;
    }
    Ok(())
}

/// A folder of notes as a set of one group.
fn read_notes(dir: &Path, app: &mut App) -> Result<Set, Failure> {
    let mut files = Vec::new();
    walk(dir, Path::new(""), app, &mut files)?;
    let mut group = GroupSet::default();
    let mut without_title = 0;
    for path in files {
        let bytes = app.system.files.read(&dir.join(&path), LONGEST)?;
        let Some(note) = note(&String::from_utf8_lossy(&bytes)) else {
            without_title += 1;
            continue;
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        group.questions.push(Asked {
            question: Question {
                text: note.title,
                relevant: vec![group.entries.len()],
            },
            row: None,
        });
        group.entries.push(CorpusEntry {
            id: path.display().to_string(),
            text: note.body,
            name: folder.display().to_string(),
            ..CorpusEntry::default()
        });
    }
    if without_title > 0 {
        app.note(&format!(
            "files left out because they have no title, or nothing else: {without_title}"
        ));
    }
    let mut set = Set::default();
    set.groups.insert(String::new(), group);
    Ok(set)
}

/// The Markdown files below a folder, ordered by path. Hidden ones are left out: they belong to
/// tools.
fn walk(root: &Path, below: &Path, app: &App, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for entry in app.system.files.list(&root.join(below))? {
        let path = below.join(&entry.name);
        let name = entry.name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        match entry.metadata.kind {
            FileKind::Directory => walk(root, &path, app, files)?,
            FileKind::File => {
                let markdown = path
                    .extension()
                    .is_some_and(|end| end.eq_ignore_ascii_case("md"));
                if markdown && !is_about_the_folder(&name) {
                    files.push(path);
                }
            }
            // Links are not followed: a cycle would never end.
            FileKind::Symlink | FileKind::Other => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn dates_are_written_as_people_ask_for_them() {
        let check = |time: &str, words: Option<&str>| {
            assert_eq!(date_in_words(time).as_deref(), words, "{time}");
        };
        check("2023-05-08T13:56:00Z", Some("8 May 2023"));
        check("1:56 pm on 8 May, 2023", Some("1:56 pm on 8 May, 2023"));
        check("1683554160", None);
        check("2023-15-08", None);
        check("", None);
    }
}
