//! Sorts of text that automation never saves.
//!
//! # Model
//! Code, structure and history of a project and the text of instruction files are better looked up
//! where they are. The state of a task and a fix are over soon. Secrets and remarks that put people
//! down do harm. All are recognised by their words, sentence by sentence; a rule about how to work
//! may name a path or a tool, a description of a layout may not.
//!
//! # Not here
//! Orders hidden in a text (`injection`); the gate for every author
//! ([`crate::transaction::Transaction::vet`]), which knows secrets only.

use super::phrases::{Phrases, listed};
use crate::frame;
use crate::topic::Kind;
use dormouse_guard::secrets;
use dormouse_text::atoms::{Shape, atoms};
use dormouse_text::duplicates::Sketch;
use dormouse_text::words::{Stemming, StopWords, Tokeniser, detect};
use serde::Serialize;
use std::collections::BTreeSet;

/// Overlap from which a text repeats an instruction file. Below it, sentences of one project merely
/// share its nouns.
const REPEATS: f64 = 0.6;

/// Sort of text that is never saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Never {
    /// Code, or a pattern of it.
    #[error("not saved: code is read where it is; what was surprising about it?")]
    Code,
    /// Architecture or layout of the project.
    #[error("not saved: architecture, paths and structure are in the project itself")]
    Structure,
    /// Events that version control records.
    #[error("not saved: version control knows this")]
    History,
    /// Fix that is in the code already.
    #[error(
        "not saved: a fix is in the code; save what will matter next time, if there is such a thing"
    )]
    Fix,
    /// Repetition of an instruction file.
    #[error("not saved: the instruction files say this already")]
    Instructions,
    /// State of the task at hand.
    #[error("not saved: the state of a task is over with it; what about it was surprising?")]
    Task,
    /// Credential, by form or by context.
    #[error("not saved: memories never hold secrets; name where it is kept instead")]
    Secret,
    /// Remark that puts a person down.
    #[error("not saved: nothing disparaging is kept about people")]
    Disparaging,
}

/// Sort of a text; `None` if it may be saved. Harm is looked for first, so that it is named even if
/// the text is of several sorts.
pub fn found(text: &str, kind: Option<Kind>, known: &[&str]) -> Option<Never> {
    if is_secret(text) {
        return Some(Never::Secret);
    }
    let words = Phrases::of(text);
    if disparages(&words) {
        return Some(Never::Disparaging);
    }
    if is_code(text) {
        return Some(Never::Code);
    }
    let sketch = Sketch::new(text);
    // One or two words overlap with any file by chance.
    if words.count() > 2
        && known
            .iter()
            .filter(|known| has_figures_of(known, text))
            .any(|known| sketch.overlap(&Sketch::new(known)).of_this >= REPEATS)
    {
        return Some(Never::Instructions);
    }
    if known.iter().any(|known| instructed(text, known)) {
        return Some(Never::Instructions);
    }
    if is_list(text, &words) {
        return Some(Never::Task);
    }
    let checks = [
        (is_history(text, &words), Never::History),
        (is_fix(&words), Never::Fix),
        (is_task(&words), Never::Task),
        (is_structure(text, &words, kind), Never::Structure),
    ];
    let found = checks.into_iter().find(|(holds, _)| *holds);
    found.map(|(_, never)| never)
}

/// True if a file has every figure of a text. One with other figures is another fact, however alike
/// the words are.
fn has_figures_of(known: &str, text: &str) -> bool {
    let figures = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let figures = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()));
        figures.map(str::to_lowercase).collect()
    };
    figures(text).is_subset(&figures(known))
}

/// True if a line of an instruction file says it in nearly the same words, and denies it or not as
/// the text does.
fn instructed(text: &str, known: &str) -> bool {
    /// Share of the line's words that the text must have.
    const OF_LINE: f64 = 0.6;
    /// Share of the text's words that the line must have: the rest is new.
    const OF_TEXT: f64 = 0.5;
    let text = text.lines().find(|line| !line.trim().is_empty());
    let text = text.unwrap_or_default();
    let tokeniser = Tokeniser::new(
        detect(known).or_else(|| detect(text)),
        StopWords::Drop,
        Stemming::On,
    );
    let words = |text: &str| -> BTreeSet<String> { tokeniser.terms(text).into_iter().collect() };
    let own = words(text);
    let share = |part: usize, whole: usize| {
        f64::from(u32::try_from(part).unwrap_or(0))
            / f64::from(u32::try_from(whole).unwrap_or(u32::MAX))
    };
    known.lines().any(|line| {
        let its = words(line);
        let shared = own.intersection(&its).count();
        shared > 1
            && share(shared, its.len()) >= OF_LINE
            && share(shared, own.len()) >= OF_TEXT
            && frame::denies(text) == frame::denies(line)
            && has_figures_of(line, text)
    })
}

/// Credential by its form, or because the sentence says that it is one.
pub(super) fn is_secret(text: &str) -> bool {
    const NAMES: &str = "password|passwort|passphrase|api key|api-key|apikey|secret key|access key|\
        access token|auth token|token|private key|credential|credentials|pin|kennwort|\
        zugangsdaten|secret|pat";
    if !secrets::scan(text).is_empty() {
        return true;
    }
    // "The password is hunter2" has no form; "tokens are rotated monthly" has no value.
    text.lines().any(|line| {
        let words = Phrases::of(line);
        words.has(NAMES) && line.split([':', '=', ' ']).any(is_value)
    })
}

/// Word that mixes letters and digits, or is very long, as no word of a language does.
fn is_value(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    // Versions and dates have digits, too, and open nothing.
    let version = word.starts_with('v') && word[1..].starts_with(|c: char| c.is_ascii_digit());
    let dated = word.len() == 10 && word.matches('-').count() == 2;
    !version
        && !dated
        // Six characters: shorter mixtures are ids and units (`2nd`, `h264`). Five digits: four are
        // a year or a port. Thirty letters: longer than any word people use.
        && ((digits > 0 && letters > 2 && word.len() >= 6)
            || (digits >= 4 && letters == 0 && word.len() > 4)
            || word.len() > 30)
}

fn disparages(words: &Phrases) -> bool {
    const IS: &str = "is|are|was|were|i'm|he's|she's|they're|ist|sind|so|such|a|an|ein";
    // Words that are said of people only.
    const PERSONAL: &str = "idiot|idiots|incompetent|lazy|clueless|moron|morons|arrogant|ignorant|pathetic|jerk|\
        unfähig|inkompetent|faul|loser|losers|dumbass|dumm";
    const BAD: &str =
        "stupid|dumb|useless|sloppy|terrible|careless|toxic|awful|annoying|hopeless|nervig";
    const PEOPLE: &str = "he|she|they|user|colleague|colleagues|boss|manager|people|guy|guys|team|who|developer|\
        developers|intern|engineer|engineers|er|sie|chef|kollege|kollegin|kollegen|coworker|client|customer";
    const CANNOT: &str = "bad at|terrible at|struggles with|does not understand|doesn't understand|has no clue|\
        can't code|keine ahnung";
    let people = words.words().any(|word| listed(PEOPLE, word));
    // Loading and evaluation are lazy without offence.
    let technical =
        words.has("lazy loading|lazy loaded|lazy evaluation|lazy initialisation|lazy static");
    (words.near(IS, PERSONAL, 4) && !technical)
        || (people && (words.near(IS, BAD, 4) || words.has(CANNOT)))
}

fn is_code(text: &str) -> bool {
    if text.contains("```") {
        return true;
    }
    let signs = [
        "=>", "();", "){", ") {", "let ", "fn ", "def ", "import ", "const ", "return ",
        "#include", "&&", "==", "->",
    ];
    let coded = |line: &&str| {
        let ends = line.trim_end().ends_with([';', '{', '}']);
        let count = signs.iter().filter(|sign| line.contains(*sign)).count();
        // One sign occurs in prose ("return early", "a -> b"); two, or one at the end of a
        // statement, do not.
        count >= 2 || (ends && count >= 1)
    };
    text.lines().filter(coded).count() >= 1
}

fn is_history(text: &str, words: &Phrases) -> bool {
    const TOLD: &str = "was merged|were merged|got merged|merged into|last commit|latest commit|\
        was committed|git log|git history|was reverted in|in commit|was pushed|\
        commit history|has been merged|just merged|rebased onto|was renamed in|\
        cherry-picked|wurde gemergt|letzter commit";
    let hash = atoms(text).any(|atom| atom.shape == Shape::Hash);
    words.has(TOLD) || (hash && words.has("commit|sha|revision"))
}

fn is_fix(words: &Phrases) -> bool {
    const TOLD: &str = "the fix was|the fix is|fixed by|fixed the|was fixed|is fixed|the bug was|\
        bug was caused|root cause was|the solution was|solved by|resolved by|we fixed|\
        i fixed|has been fixed|the workaround was|wurde behoben|behoben durch|\
        der fehler war|crash was caused|fix for the|the error was";
    words.has(TOLD)
}

fn is_task(words: &Phrases) -> bool {
    const TOLD: &str = "currently working on|is working on the|next step is|next steps|in progress|\
        work in progress|todo|remaining tasks|remaining steps|done so far|tests pass|\
        tests are passing|tests are failing|all tests passed|build is green|build passes|\
        is halfway|we are debugging|we're debugging|i am debugging|current task|this task|\
        today we|session goal|in this session|step 1|step 2|nächster schritt|\
        wir arbeiten gerade|waiting for the|still needs to be implemented";
    words.has(TOLD)
}

/// List of things to do, or of where somebody stands: over by tomorrow, even when asked for.
fn is_list(text: &str, words: &Phrases) -> bool {
    const STANDS: &str = "still open are|still open|offene punkte|offenen punkte|where we are|up for review|todo list|to-do|\
        den stand|der stand|fehlen noch|is left|are left|remaining are|left to do|next up is|next is the|step 3 of";
    // Lists of work and of what was done: their source has them, and tomorrow they are others.
    const WORK: &str = "pr list|prs list|list of prs|list of pull requests|list of open|list of tickets|list of tasks|\
        open prs|open pull requests|merged prs|prs this week|prs of this week|this week's prs|tickets this week|\
        this sprint's tickets|tickets of this sprint|sprint backlog|activity summary|summary of today|today's summary|\
        summary of this week|weekly summary|what we did today|what i did today|what we did this week|standup notes|\
        stand-up notes|for the standup|for the stand-up|for standup|fürs standup|für das standup|for the daily|fürs daily|\
        tickets closed|tests pass and|not run yet|progress so far|so far we have|where we stopped|we stopped at|left off|half done|half finished|\
        pr-liste|liste der prs|liste der tickets|liste der aufgaben|offene prs|offene tickets|offenen tickets|\
        offene aufgaben|tickets dieser woche|prs dieser woche|aufgaben dieser woche|zusammenfassung von heute|\
        was wir heute|was ich heute|zwischenstand|noch zu tun|wir waren bei|erledigt sind";
    const HAN: [&str; 21] = [
        "PR 列表",
        "pr 列表",
        "任务列表",
        "本周的 PR",
        "这周的 PR",
        "今天做了",
        "本周做了",
        "这周做了",
        "工作总结",
        "周报",
        "日报",
        "做到哪",
        "进度",
        "第一步",
        "第二步",
        "第三步",
        "还剩",
        "待办",
        "还没做",
        "做到一半",
        "还差",
    ];
    let tickets = text
        .split_whitespace()
        .flat_map(|word| word.split(['、', ',', '，']))
        .filter(|word| {
            let bare = word.trim_start_matches(|c: char| !c.is_ascii_digit() && c != '#');
            bare.starts_with('#') && bare[1..].starts_with(|c: char| c.is_ascii_digit())
        });
    let numbered = ["1. ", "2. "].iter().all(|mark| text.contains(mark))
        || ["1) ", "2) "].iter().all(|mark| text.contains(mark));
    let step = words.near("step|schritt", "of|von", 2) && words.has("done|next|fertig");
    tickets.count() >= 2
        || words.has(WORK)
        || numbered
        || step
        || words.has(STANDS)
        || HAN.iter().any(|word| text.contains(word))
}

/// Description of code by its names.
fn describes_code(text: &str, words: &Phrases) -> bool {
    const DOES: &str = "returns|calls|inherits|extends|implements|takes|wraps|uses|erbt|ruft|liefert|gibt|steckt|in line|in zeile|\
        is in|are in|function|funktion|klasse|class|method|methode";
    const PARTS: &str = "function|method|class|struct|component|constructor|handler|controller|middleware|enum|\
        module|loop|variable|constant|funktion|methode|klasse|konstruktor|modul|schleife|variable|konstante";
    const ACTS: &str = "reads|writes|throws|accepts|expects|contains|defines|creates|sleeps|retries|loops|parses|\
        handles|stores|holds|sets|iterates|validates|checks|liest|schreibt|wirft|erwartet|enthält|definiert|erzeugt|\
        setzt|prüft|nimmt|speichert|durchläuft";
    let name = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let path = word.contains("::") && !word.starts_with(':');
        let mut letters = word.chars();
        let camel = letters.next().is_some_and(char::is_alphabetic)
            && word.chars().any(char::is_lowercase)
            && letters.any(char::is_uppercase)
            && word.chars().all(char::is_alphanumeric);
        let snake =
            word.contains('_') && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let file = [
            ".rs", ".py", ".ts", ".go", ".js", ".java", ".rb", ".c", ".tsx", ".vue",
        ]
        .iter()
        .any(|ending| word.to_lowercase().ends_with(ending));
        camel || snake || file || path
    };
    // A place in a file moves with the next edit.
    let lined = words.near(
        "line|lines|zeile|zeilen",
        "1|2|3|4|5|6|7|8|9|0|around|about|etwa",
        2,
    );
    let in_line = text.split_whitespace().any(name)
        && (lined || words.has("around line|at line|in line|in zeile"));
    let names = text.split_whitespace().any(name);
    let called = text.split_whitespace().any(|word| word.contains("()"));
    let rule = words.has("must|should|never|always|don't|please|use|nie|immer|bitte|nicht");
    let acts = words.has(ACTS) && (called || names && words.has(PARTS)) && !rule;
    let han = [
        "函数",
        "返回",
        "逻辑在",
        "这个类",
        "方法",
        "调用",
        "参数",
        "继承",
        "实现了",
    ];
    in_line
        || (names && words.has(DOES) && !words.has("must|should|never|always|don't|nie|immer"))
        || acts
        || words.has("klasse") && words.has("erbt")
        || (names && han.iter().any(|word| text.contains(word)))
}

fn is_structure(text: &str, words: &Phrases, kind: Option<Kind>) -> bool {
    // A rule says what to do; only descriptions are looked at.
    let rule = words.starts("always|never|don't|do not|avoid|use|prefer|when|put|keep|stop")
        || words.has("must|should|don't|never|always|because|since|weil|nie|immer");
    let architecture = words.has(
        "architecture|codebase is|code base is|monorepo with|is structured|is organised|\
            is organized|layered|hexagonal|consists of|is implemented in|is implemented as|\
            is built with|is built on|is written in|depends on the|module structure|\
            directory structure|folder structure|project structure|the entry point|\
            is defined in|are defined in|architektur|besteht aus|singleton|repository pattern|\
            factory pattern|dependency injection",
    );
    let path = atoms(text).any(|atom| is_path(&text[atom.range.clone()], atom.shape));
    let located = words.has(
        "is in|are in|lives in|live in|located in|located at|is at|defined in|\
            can be found in|under|liegt in|liegen in|contains|handles|implements|file is|\
            resides in|stored in|is found",
    );
    if describes_code(text, words) && kind != Some(Kind::Feedback) {
        return true;
    }
    if rule && kind != Some(Kind::Project) {
        return false;
    }
    // A reason makes it a decision, which the code does not tell.
    (architecture && !words.has("because|weil|since"))
        || (path && located && kind != Some(Kind::Feedback))
}

/// File or folder; an address is neither.
fn is_path(word: &str, shape: Shape) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || "/_-.".contains(c);
    // `and/or` has a slash, too.
    let folders = word.contains('/') && word.len() > 5 && word.chars().all(plain);
    !word.contains("://") && (shape == Shape::Path || folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sort_is_recognised() {
        for (text, kind, expected) in [
            // In two parts, because the repository itself is scanned.
            (
                concat!("The password is ", "hunter2024"),
                None,
                Some(Never::Secret),
            ),
            ("API tokens are rotated every month", None, None),
            ("My boss is an idiot", None, Some(Never::Disparaging)),
            ("let x = foo(); return x;", None, Some(Never::Code)),
            (
                "The project is structured as a monorepo",
                None,
                Some(Never::Structure),
            ),
            (
                "Auth is in src/auth/mod.rs",
                Some(Kind::Project),
                Some(Never::Structure),
            ),
            (
                "Never edit files in vendor/ by hand",
                Some(Kind::Feedback),
                None,
            ),
            ("PR 12 was merged yesterday", None, Some(Never::History)),
            ("The fix was to pin the version", None, Some(Never::Fix)),
            ("All tests passed", None, Some(Never::Task)),
            (
                "This week's PR list: login rework, new invoices, the cache",
                None,
                Some(Never::Task),
            ),
            (
                "Offene Tickets: Anmeldung und Rechnung",
                None,
                Some(Never::Task),
            ),
            ("本周的 PR：登录改造、发票、缓存", None, Some(Never::Task)),
            (
                "PR titles are written in English",
                Some(Kind::Feedback),
                None,
            ),
            (
                "The function parseOrder reads the file twice",
                Some(Kind::Project),
                Some(Never::Structure),
            ),
            (
                "loadUsers() throws if the list is empty",
                Some(Kind::Project),
                Some(Never::Structure),
            ),
            (
                "Run cargo fmt before committing",
                None,
                Some(Never::Instructions),
            ),
            ("Service 26 listens on port 8026", Some(Kind::Project), None),
            (
                "Service 6 listens on port 8006",
                Some(Kind::Project),
                Some(Never::Instructions),
            ),
            (
                "We use Postgres because the team knows it",
                Some(Kind::Project),
                None,
            ),
        ] {
            let known = ["Style: run cargo fmt before committing. Use clippy.\n\
                          Service 6 listens on port 8006."];
            assert_eq!(found(text, kind, &known), expected, "{text}");
        }
    }
}
