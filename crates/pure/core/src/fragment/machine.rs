//! Lines that machines print and people do not type: listings, progress, results of tests, logs,
//! boxes.
//!
//! A line is judged by its shape where that is enough, and by the words of well-known tools where a
//! sentence could have the same shape.
//!
//! # Not here
//! Prompts of shells, traces and errors (`pasted`); heads of messages (`heads`).

/// Beginnings of lines of well-known tools that no sentence has.
const TOOLS: &str = "On branch |HEAD detached at |HEAD is now at |Your branch is |Changes not staged for commit|\
    Changes to be committed|Untracked files:|nothing to commit|Merge: |Reading package lists|Building dependency tree|\
    Reading state information|go: downloading |Cloning into '|remote: |Receiving objects:|Resolving deltas:|\
    Requirement already satisfied|Installing collected packages|Successfully installed |Successfully built |\
    Sending build context|npm WARN|npm warn|yarn install v|platform linux|platform darwin|BUILD SUCCESS|BUILD FAILED|\
    > Task :|Process finished with exit code|test result: |warning \"|time=\"|level=|Hit:|Get:|ok  \t|ok\t|---> ";
/// Verbs that cargo and its kin set apart by blanks in front.
const STATUS: &str = "Compiling|Checking|Finished|Running|Downloaded|Downloading|Updating|Locking|Installing|Installed|\
    Documenting|Doc-tests|Fresh|Blocking|Packaging|Building|RUN|PASS|FAIL";
/// Words in front of a number and behind it, with which tools count.
const COUNTS: [(&str, &str); 8] = [
    ("added ", " package"),
    ("collected ", " item"),
    ("running ", " test"),
    ("total ", ""),
    ("Step ", "/"),
    ("changed ", " package"),
    ("up to date, audited ", " package"),
    ("1..", ""),
];
/// Ends of lines that report one result.
const RESULTS: &str = "ok|OK|FAILED|failed|done|Done|ignored|PASSED|passed|skipped|SKIPPED|yes|no";

/// True for a line that a machine printed.
pub(super) fn is_printed(line: &str) -> bool {
    let bare = line.trim();
    is_listing(bare)
        || is_progress(line, bare)
        || is_counted(bare)
        || is_result(bare)
        || is_logged(bare)
        || is_table_head(bare)
        || is_box(bare)
        || TOOLS.split('|').any(|start| bare.starts_with(start))
}

/// Entry of a listing of files, of changes, or of commits.
fn is_listing(line: &str) -> bool {
    let mode: Vec<char> = line.chars().take(10).collect();
    let is_mode = mode.len() == 10
        && "-dlcbps".contains(mode[0])
        && mode[1..].iter().all(|c| "rwxsStT-".contains(*c))
        && mode[1..].contains(&'r');
    let (hash, rest) = line.split_once(' ').unwrap_or((line, ""));
    let is_hash = (7..=40).contains(&hash.len()) && hash.chars().all(|c| c.is_ascii_hexdigit());
    let is_commit = is_hash
        && ["(HEAD", "(tag:", "(origin/"]
            .iter()
            .any(|mark| rest.starts_with(mark));
    let is_change = line.strip_prefix("?? ").is_some_and(is_path);
    is_mode || is_commit || is_change
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && !text.contains(' ')
}

/// Step of a build: a verb set apart, a count in brackets, a package with its size.
fn is_progress(line: &str, bare: &str) -> bool {
    let set_apart = line.len() > bare.len() && line.starts_with([' ', '\t']);
    let first = bare.split_whitespace().next().unwrap_or_default();
    let is_status = set_apart && STATUS.split('|').any(|verb| verb == first);
    // ` M src/a.rs`, as git shows changes.
    let is_change = line.starts_with(' ')
        && ["M ", "D ", "R "]
            .iter()
            .any(|mark| bare.strip_prefix(mark).is_some_and(is_path));
    let is_step = bare
        .strip_prefix(['[', '('])
        .and_then(|rest| rest.split_once([']', ')']))
        .is_some_and(|(count, _)| is_count(count));
    // `#8 [3/5] RUN …`, `#8 0.67 …`: one line of a build of images.
    let is_layer = bare.strip_prefix('#').is_some_and(|rest| {
        let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        is_number(number)
            && (rest.starts_with('[')
                || rest.starts_with(|c: char| c.is_ascii_digit())
                || ["DONE", "CACHED", "ERROR"]
                    .iter()
                    .any(|word| rest.starts_with(word)))
    });
    let fetches = [
        "Collecting ",
        "Downloading ",
        "Fetched ",
        "Unpacking ",
        "Setting up ",
    ]
    .iter()
    .any(|verb| bare.starts_with(verb));
    let has_size = ["==", " kB", " MB", ".whl", "://", " ("]
        .iter()
        .any(|mark| bare.contains(mark));
    let is_fetch = fetches && has_size && bare.contains(|c: char| c.is_ascii_digit());
    is_status || is_change || is_step || is_layer || is_fetch
}

/// True for a count of a progress line: `3/5` or `42%`.
fn is_count(text: &str) -> bool {
    let text = text.trim();
    let parts = text.split_once('/');
    parts.is_some_and(|(done, all)| is_number(done) && is_number(all))
        || text.strip_suffix('%').is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// `added 52 packages`, `total 24`, `ok 1 - loads`.
fn is_counted(line: &str) -> bool {
    let counts = COUNTS.iter().any(|(before, behind)| {
        let Some(rest) = line.strip_prefix(before) else {
            return false;
        };
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let rest = &rest[digits..];
        digits > 0
            && if behind.is_empty() {
                rest.is_empty()
            } else {
                rest.starts_with(behind)
            }
    });
    let point = line
        .strip_prefix("not ok ")
        .or_else(|| line.strip_prefix("ok "));
    let is_point = point.is_some_and(|rest| {
        let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        is_number(number) && (rest.is_empty() || rest.starts_with('-'))
    });
    counts || is_point
}

/// `test a::b ... ok`, `tests/test_app.py ..F.   [100%]`.
fn is_result(line: &str) -> bool {
    let reported = line.rsplit_once("... ").is_some_and(|(name, result)| {
        let words = name.split_whitespace().count();
        let result = result.split(' ').next().unwrap_or_default();
        (1..=8).contains(&words) && RESULTS.split('|').any(|known| known == result)
    });
    let percent = line
        .strip_suffix(']')
        .and_then(|rest| rest.rsplit_once('['))
        .is_some_and(|(_, share)| share.trim().strip_suffix('%').is_some_and(is_number));
    reported || percent
}

/// Line of a log in a form without a date in front: a level and a place, pairs of keys and values, a
/// process and its number.
fn is_logged(line: &str) -> bool {
    let pairs = line.contains("level=") && line.contains("msg=");
    let level = line.chars().next().filter(|c| "IWEFDV".contains(*c));
    let rest = line.get(1..).unwrap_or_default();
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    // `I0303 10:41:05.1 main.go:7] …`
    let numbered =
        level.is_some() && digits == 4 && rest[4..].starts_with(' ') && rest.contains("] ");
    // `E/Runtime( 123): …`
    let tagged = level.is_some()
        && rest.starts_with('/')
        && rest
            .split_once("): ")
            .and_then(|(head, _)| head.split_once('('))
            .is_some_and(|(tag, number)| !tag.contains(' ') && is_number(number.trim()));
    // `host app[12]: …`, `app[12]: …`
    let process = line.split_once("]: ").is_some_and(|(head, _)| {
        head.rsplit_once('[').is_some_and(|(name, number)| {
            is_number(number) && name.split(' ').count() <= 2 && !name.is_empty()
        })
    });
    pairs || numbered || tagged || process
}

/// Names of columns: three and more words in capitals, set apart by blanks.
fn is_table_head(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let capital = |word: &str| {
        word.len() > 1
            && word
                .chars()
                .all(|c| c.is_ascii_uppercase() || "_-/%".contains(c))
    };
    line.contains("  ") && words.clone().count() >= 3 && words.all(capital)
}

/// Edge of a box, or a rule with words in it.
fn is_box(line: &str) -> bool {
    const SIGNS: &str = "=*-_#~━─═";
    let corner = line.starts_with(['┌', '╭', '╔', '┏', '╒', '╓']);
    let grid = line.len() > 4
        && line.starts_with(['+', '-'])
        && line.contains('+')
        && line.chars().all(|c| "+-=".contains(c));
    let run =
        |sign: char, text: &mut dyn Iterator<Item = char>| text.take_while(|c| *c == sign).count();
    let ruled = line
        .chars()
        .next()
        .filter(|sign| SIGNS.contains(*sign))
        .is_some_and(|sign| {
            let (begin, all) = (run(sign, &mut line.chars()), line.chars().count());
            let end = run(sign, &mut line.chars().rev());
            // `### Heading ###` is Markdown, `***` a break.
            let words = begin < all && sign != '#' && begin >= 3 && end >= 3 && line.contains(' ');
            (begin == all && all >= 8) || words
        });
    corner || grid || ruled
}
