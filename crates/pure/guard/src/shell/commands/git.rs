//! `git`: rows for the subcommands that only read.
//!
//! Left out on purpose: `-c`, `--config-env`, `--exec-path`, `--git-dir` and `--paginate` before
//! the subcommand; and every subcommand that changes something, contacts a remote, verifies
//! signatures, enters submodules or prints the whole configuration.

use super::subcommand;
use crate::shell::grammar::{Operands, Row, Trait, row};
use crate::shell::policy::Policy;
use crate::shell::reason::Reason;
use crate::shell::word::Word;

macro_rules! diff_flags {
    () => {
        " -p -u -s -U?= -w -b -R -a -z -M?= -C?= -B?= -D -S= -G= -I= -l= -X?= --patch --no-patch --unified?= --raw --patch-with-stat \
         --stat?= --numstat --shortstat --dirstat?= --summary --name-only --name-status --color?= --no-color \
         --color-words?= --word-diff?= --word-diff-regex= --color-moved?= --check --full-index --binary --abbrev?= \
         --find-renames?= --find-copies?= --find-copies-harder --no-renames --diff-filter= --pickaxe-all \
         --pickaxe-regex --minimal --patience --histogram --diff-algorithm= --anchored= --ignore-space-at-eol \
         --ignore-cr-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= \
         --inter-hunk-context= --break-rewrites?= --line-prefix= --ws-error-highlight= --color-moved-ws= --diff-merges= \
         --stat-width= --stat-name-width= --stat-count= --stat-graph-width= --find-object= --function-context -W --exit-code --quiet --no-ext-diff --no-textconv \
         --ignore-submodules?= --submodule?= --src-prefix= --dst-prefix= --no-prefix --relative?= --text --compact-summary"
    };
}

macro_rules! log_flags {
    () => {
        " -# -n= -i -E -F -P -L= -g -m -c -q --cc --max-count= --skip= --since= --after= --until= --before= --author= \
         --committer= --grep= --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings \
         --perl-regexp --merges --no-merges --min-parents= --max-parents= --first-parent --not --all --branches?= \
         --tags?= --remotes?= --glob= --exclude= --reflog --walk-reflogs --merge --boundary --cherry-pick \
         --left-only --right-only --left-right --cherry --cherry-mark --simplify-by-decoration --full-history --dense \
         --sparse --simplify-merges --ancestry-path?= --date-order --author-date-order --topo-order --reverse \
         --pretty?% --format% --abbrev-commit --no-abbrev-commit --oneline --encoding= --notes?= --no-notes \
         --relative-date --date= --parents --children --graph --no-graph --decorate?= --no-decorate \
         --decorate-refs= --decorate-refs-exclude= --source --follow --log-size --show-linear-break?= --no-walk?= \
         --no-expand-tabs --use-mailmap --mailmap --root -t -r"
    };
}

const LOG: &str = concat!(log_flags!(), diff_flags!());
const DIFF: &str = concat!(
    diff_flags!(),
    " -1 -2 -3 -0 --cached --staged --merge-base --base --ours --theirs -q -r -t --root -m -c --cc --no-commit-id --stdin"
);

/// Trait of subcommands for which drivers in the configuration of the repository, or of a
/// submodule, may start programs.
const SETTINGS: &[Trait] = &[Trait::Settings];

/// Row of a subcommand that shows differences.
const fn compares(name: &'static str, flags: &'static str, operands: Operands) -> Row {
    row(name, flags, operands)
        .writes("--output=")
        .runs("--ext-diff --textconv --show-signature --help")
        .reads("-O= --no-index")
        .with(SETTINGS)
}

const ROWS: &[Row] = &[
    compares("git log", LOG, Operands::Contents),
    compares("git show", LOG, Operands::Contents),
    compares("git diff", DIFF, Operands::Contents),
    compares("git diff-tree", DIFF, Operands::Contents),
    row(
        "git status",
        "-s -b -v -u -uno -uall -unormal -z --short --branch --show-stash --porcelain?= --long --verbose --untracked-files?= \
        --ignore-submodules?= --ignored?= --column?= --no-column --ahead-behind --no-ahead-behind --renames \
        --no-renames --find-renames?=",
        Operands::Contents,
    )
    .with(SETTINGS),
    row(
        "git branch",
        "-a -r -v -vv -i -q --all --remotes --verbose --list --show-current --contains?= --no-contains?= --merged?= \
        --no-merged?= --points-at= --sort& --format& --color?= --no-color --column?= --no-column --abbrev?= \
        --no-abbrev --ignore-case --omit-empty",
        Operands::With(&[
            "--list",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
        ]),
    ),
    row(
        "git tag",
        "-l -n?= -i --list --contains?= --no-contains?= --merged?= --no-merged?= --points-at= --sort& --format& --color?= \
        --column?= --no-column --ignore-case --omit-empty",
        Operands::With(&[
            "-l",
            "--list",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
        ]),
    ),
    row(
        "git rev-parse",
        "-q --verify --quiet --short?= --abbrev-ref?= --symbolic --symbolic-full-name --all --branches?= --tags?= \
        --remotes?= --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir \
        --is-inside-git-dir --is-inside-work-tree --is-bare-repository --is-shallow-repository --show-object-format?= \
        --show-superproject-working-tree --revs-only --no-revs --flags --no-flags --default= --since= --until=",
        Operands::Text,
    ),
    row(
        "git rev-list",
        concat!(
            log_flags!(),
            " --count --objects --disk-usage?= --timestamp --header --quiet --no-commit-header"
        ),
        Operands::Contents,
    ),
    row(
        "git ls-files",
        "-c -d -o -i -s -u -k -m -v -t -z -x= -X@ --cached --deleted --others --ignored --stage --unmerged --killed \
        --modified --exclude= --exclude-from@ --exclude-standard --directory --no-empty-directory --eol --full-name \
        --abbrev?= --error-unmatch --recurse-submodules --deduplicate --format= --debug",
        Operands::Contents,
    ),
    row(
        "git ls-tree",
        "-d -r -t -l -z --long --name-only --name-status --object-only --full-name --full-tree --abbrev?= --format=",
        Operands::Contents,
    ),
    row("git cat-file", "-p -t -s -e", Operands::Text),
    row(
        "git describe",
        "--all --tags --contains --abbrev?= --candidates= --exact-match --debug --long --match= --exclude= --always \
        --first-parent",
        Operands::Text,
    )
    // They write the index anew, whatever the environment says.
    .writes("--dirty?= --broken?="),
    row(
        "git blame",
        "-b -c -e -f -l -L= -M?= -C?= -n -p -s -S@ -t -w --root --show-stats --show-name --show-number --show-email \
        --porcelain --line-porcelain --incremental --reverse --first-parent --date= --encoding= --since= \
        --ignore-rev= --color-lines --color-by-age --abbrev?= --minimal",
        Operands::Contents,
    )
    .runs("--textconv --help")
    .reads("--contents= --ignore-revs-file=")
    .with(SETTINGS),
    row("git annotate", "-b -l -L= -t -w --root", Operands::Contents).with(SETTINGS),
    row(
        "git shortlog",
        " -s -e -w?= -# -n -c --summary --numbered --email --committer --group= --all --since= --until= --after= \
        --before= --no-merges --merges --author= --format% --first-parent",
        Operands::Contents,
    ),
    row(
        "git name-rev",
        "--tags --refs= --exclude= --all --name-only --no-undefined --always",
        Operands::Text,
    ),
    row(
        "git for-each-ref",
        "--count= --sort& --format& --color?= --points-at= --merged?= --no-merged?= --contains?= --no-contains?= --ignore-case \
        --omit-empty --exclude=",
        Operands::Text,
    ),
    row(
        "git show-ref",
        "-d -s -q --head --branches --heads --tags --dereference --hash?= --abbrev?= --verify --exists --quiet",
        Operands::Text,
    ),
    row(
        "git merge-base",
        "-a --all --octopus --independent --is-ancestor --fork-point",
        Operands::Text,
    ),
    row(
        "git count-objects",
        "-v -H --verbose --human-readable",
        Operands::None,
    ),
    row(
        "git check-ignore",
        "-q -v -n -z --quiet --verbose --non-matching --no-index",
        Operands::Names,
    ),
    row("git check-attr", "-a -z --all --cached", Operands::Names),
    row(
        "git grep",
        "-a -i -I -w -v -h -H -E -G -P -F -n -l -L -c -o -z -p -W -q -e= -A= -B= -C= -m= -# --cached --untracked \
        --no-exclude-standard --exclude-standard --recurse-submodules --text --ignore-case --max-depth= --recursive \
        --no-recursive --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp \
        --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null \
        --only-matching --count --color?= --no-color --break --heading --show-function --function-context \
        --after-context= --before-context= --context= --max-count= --and --or --not --all-match --quiet --threads=",
        Operands::PatternAndContents,
    )
    .runs("-O?= --open-files-in-pager?= --textconv --ext-grep --help")
    .reads("-f= --no-index"),
    // Without `show`, which contacts the remote.
    row("git remote", "-v --verbose", Operands::None),
    row(
        "git config",
        "--get --get-all --local --global --system --worktree -z --null --show-origin --show-scope --bool --int --path \
        --type= --default=",
        Operands::SettingName,
    )
    .writes("--add --unset --unset-all --replace-all --rename-section --remove-section -e --edit")
    .reads("-f= --file= --blob= -l --list --get-regexp --get-urlmatch"),
    row("git remote get-url", "--push --all", Operands::Text),
    row(
        "git reflog",
        "-# -n= --max-count= --date= --oneline --format% --pretty?% --all",
        Operands::None,
    ),
    compares("git reflog show", LOG, Operands::Contents),
    compares("git stash list", LOG, Operands::None),
    compares("git stash show", DIFF, Operands::Text),
    row(
        "git worktree list",
        "-v -z --verbose --porcelain",
        Operands::None,
    ),
    row("git notes list", "", Operands::Text),
    row("git notes show", "", Operands::Text),
    row("git version", "--build-options", Operands::None),
];

/// Flags that may precede the subcommand.
const GLOBAL: Row = row(
    "git",
    "-C@ -P --no-pager --no-optional-locks --no-replace-objects --literal-pathspecs --icase-pathspecs --version",
    Operands::None,
);

/// Judges the words after `git`.
pub(super) fn check(words: &[Word], policy: &Policy) -> Result<(), Reason> {
    let (parsed, rest) = GLOBAL.parse_leading(words, policy)?;
    // Only without a subcommand: `--help` would open a manual page, in a program that the
    // repository's configuration names.
    if rest.is_empty() && parsed.has(&["--version"]) {
        return Ok(());
    }
    let (row, rest) = subcommand("git", ROWS, rest)?;
    super::check_row(row, rest, policy)
}

/// Options that keep a list a list of names, by subcommand. Others print more, or change the names.
const LISTS: [(&str, &[&str]); 3] = [
    (
        "ls-files",
        &[
            "-c",
            "-d",
            "-m",
            "-o",
            "-z",
            "--cached",
            "--deleted",
            "--modified",
            "--others",
            "--exclude-standard",
            "--deduplicate",
        ],
    ),
    (
        "diff",
        &["--name-only", "--cached", "--staged", "--merge-base", "-z"],
    ),
    (
        "grep",
        &[
            "-l",
            "-i",
            "-w",
            "-E",
            "-F",
            "-P",
            "-z",
            "-e",
            "--files-with-matches",
            "--name-only",
            "--cached",
        ],
    ),
];

/// True if the words after `git` list names of files in the working tree and nothing else.
pub(super) fn lists_names(words: &[Word]) -> bool {
    let Some((subcommand, words)) = words.split_first() else {
        return false;
    };
    let has = |flags: &[&str]| words.iter().any(|word| flags.contains(&word.text.as_str()));
    let Some((name, known)) = LISTS.iter().find(|(name, _)| *name == subcommand.text) else {
        return false;
    };
    let only_known = words.iter().all(|word| {
        let text = word.text.as_str();
        !text.starts_with('-')
            || text == "--"
            || known.contains(&text)
            || text.starts_with("--diff-filter=")
    });
    let asked = match *name {
        "diff" => has(&["--name-only"]),
        "grep" => has(&["-l", "--files-with-matches", "--name-only"]),
        _ => true,
    };
    only_known && asked
}
