//! Rows of the commands without subcommands; the module `grammar` explains the notation.
//!
//! Every `--files0-from` and flag file is left out, because the names in it are not judged.

use crate::shell::grammar::{Operands, Row, Trait, row};

/// Trait of the commands that do no harm whatever their words are.
const INERT: &[Trait] = &[Trait::Inert];

const GREP: &str = "-E -F -G -P -a -b -c -h -H -i -y -I -l -L -n -o -q -r -R -s -T -v -w -x -z -Z -U -A= -B= -C= \
    -D= -d= -e= -f@ -m= -# --extended-regexp --fixed-strings --basic-regexp --perl-regexp --text --byte-offset \
    --count --no-filename --with-filename --ignore-case --no-ignore-case --files-with-matches \
    --files-without-match --line-number --only-matching --quiet --silent --recursive --dereference-recursive \
    --no-messages --initial-tab --invert-match --word-regexp --line-regexp --null-data --null --binary \
    --after-context= --before-context= --context= --devices= --directories= --regexp= --file@ --max-count= \
    --include= --exclude= --exclude-dir= --exclude-from@ --color?= --colour?= --label= --line-buffered \
    --binary-files= --help --version";

const CHECKSUM: &str = "-b -t --tag -z --zero --binary --text --help --version";

pub(super) const ROWS: &[Row] = &[
    row(
        "ls",
        "-a -A -b -B -c -C -d -f -F -g -G -h -H -i -k -l -L -m -n -N -o -p -q -Q -r -R -s -S -t -T= -u -U -v \
        -w= -x -X -Z -1 -I= --all --almost-all --author --escape --block-size= --ignore-backups --color?= --colour?= \
        --directory --dired --classify?= --file-type --format= --full-time --group-directories-first --no-group \
        --human-readable --si --dereference-command-line --dereference --hide= --hyperlink?= --indicator-style= \
        --inode --ignore= --kibibytes --numeric-uid-gid --literal --hide-control-chars --show-control-chars \
        --quote-name --quoting-style= --reverse --recursive --size --sort= --time= --time-style= --tabsize= --width= \
        --context --zero --help --version",
        Operands::Names,
    ).with(INERT),
    row(
        "tree",
        "-a -d -l -f -x -L>= -P>= -I>= -i -q -N -Q -p -u -g -s -h -D -F -v -t -c -U -r -C -n -J --noreport \
        --charset= --filelimit= --dirsfirst --gitignore --prune --matchdirs --ignore-case --inodes --du --si \
        --sort= --timefmt= --help --version",
        Operands::Names,
    ).writes("-o>= -R"),
    row(
        "stat",
        "-L -f -t -c= --dereference --file-system --terse --format= --printf= --help --version",
        Operands::Names,
    ).with(INERT),
    row(
        "du",
        "-0 -a -b -c -d= -D -h -H -k -l -L -m -P -s -S -t= -x -X@ -B= --all --apparent-size --block-size= \
        --bytes --total --max-depth= --human-readable --summarize --separate-dirs --threshold= --one-file-system \
        --exclude= --time?= --si --inodes --null --help --version",
        Operands::Names,
    ).with(INERT),
    row(
        "df",
        "-a -B= -h -H -i -k -l -P -t= -T -x= --all --block-size= --human-readable --si --inodes --local \
        --portability --total --type= --print-type --exclude-type= --help --version",
        Operands::Names,
    ).with(INERT),
    row(
        "realpath",
        "-e -m -L -P -q -s -z --canonicalize-existing --canonicalize-missing --logical --physical --quiet \
        --strip --no-symlinks --zero --relative-to= --relative-base= --help --version",
        Operands::Names,
    ).with(INERT),
    row(
        "readlink",
        "-f -e -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing \
        --no-newline --quiet --silent --verbose --zero --help --version",
        Operands::Names,
    ).with(INERT),
    row(
        "basename",
        "-a -s= -z --multiple --suffix= --zero --help --version",
        Operands::Text,
    ).with(INERT),
    row("dirname", "-z --zero --help --version", Operands::Text).with(INERT),
    row(
        "file",
        "-b -h -i -k -L -N -n -r -0 -E -e= -F= --brief --mime --mime-type --mime-encoding --keep-going \
        --dereference --no-dereference --no-pad --print0 --raw --separator= --extension --help --version",
        Operands::Contents,
    ).writes("-C -p --compile --preserve-date").runs("-z -Z -S --uncompress --uncompress-noreport --no-sandbox").reads("-m= -f= --magic-file= --files-from="),
    row(
        "cat",
        "-A -b -e -E -n -s -t -T -u -v --show-all --number-nonblank --show-ends --number --squeeze-blank \
        --show-tabs --show-nonprinting --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "tac",
        "-b -r -s= --before --regex --separator= --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "nl",
        "-b= -d= -f= -h= -i= -l= -n= -p -s= -v= -w= --body-numbering= --number-format= --number-separator= \
        --number-width= --starting-line-number= --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "head",
        "-c= -n= -q -v -z -# --bytes= --lines= --quiet --silent --verbose --zero-terminated --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        // `-f` never ends by itself; the executor's time limit ends it.
        "tail",
        "-c= -f -F -n= -q -v -z -r -s= -# --bytes= --follow?= --lines= --pid= --quiet --silent --retry \
        --sleep-interval= --verbose --zero-terminated --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "wc",
        "-c -l -L -m -w --bytes --chars --lines --max-line-length --words --total= --help --version",
        Operands::Contents,
    ).with(INERT),
    row("grep", GREP, Operands::PatternAndContents).with(INERT),
    row("egrep", GREP, Operands::PatternAndContents).with(INERT),
    row("fgrep", GREP, Operands::PatternAndContents).with(INERT),
    row(
        "rg",
        "-A= -B= -C= -c -e= -E= -f@ -F -g= -h -H -i -I -j= -l -L -m= -M= -n -N -o -p -P -q -r= -s -S -t= -T= -u -U \
        -v -V -w -x -0 -. -a -d= --after-context= --before-context= --context= --count --count-matches --regexp= \
        --encoding= --file@ --fixed-strings --glob= --iglob= --help --with-filename --ignore-case --no-filename \
        --threads= --files-with-matches --files-without-match --files --follow --max-count= --max-columns= \
        --line-number --no-line-number --only-matching --pretty --pcre2 --quiet --replace= --case-sensitive \
        --smart-case --type= --type-not= --type-list --unrestricted --multiline --multiline-dotall --invert-match \
        --version --word-regexp --line-regexp --null --hidden --no-hidden --text --max-depth= --maxdepth= \
        --max-filesize= --no-ignore --no-ignore-vcs --no-ignore-parent --no-config --no-messages --no-heading \
        --heading --color= --colors= --column --no-column --byte-offset --crlf --json --sort= --sortr= --stats \
        --trim --vimgrep --passthru --one-file-system --glob-case-insensitive --debug --engine= --context-separator= \
        --field-match-separator= --path-separator= --no-unicode --null-data --include-zero --no-pcre2",
        Operands::PatternAndContents,
    ).runs("--pre= --pre-glob= -z --search-zip --hostname-bin=").reads("--ignore-file="),
    row(
        "fd",
        "-a -H -I -u -s -i -g -F -p -L -0 -1 -q -d= -t= -e= -E= -S= -j= -c= --hidden --no-ignore --unrestricted \
        --case-sensitive --ignore-case --glob --fixed-strings --absolute-path --full-path --follow --print0 \
        --max-depth= --min-depth= --exact-depth= --type= --extension= --exclude= --size= --changed-within= \
        --changed-before= --max-results= --color= --quiet --threads= --one-file-system --help --version",
        Operands::Names,
    ).runs("-x= -X= -l --exec= --exec-batch= --list-details"),
    row(
        "sed",
        "-n -E -r -s -u -z -e= --quiet --silent --regexp-extended --separate --unbuffered --null-data \
        --expression= --sandbox --help --version",
        Operands::SedScript,
    ).writes("-i?= -I= --in-place?=").reads("-f= --file="),
    row(
        "jq",
        "-c -r -R -s -S -n -e -M -C -a -j --compact-output --raw-output --raw-input --slurp --sort-keys \
        --null-input --exit-status --monochrome-output --color-output --ascii-output --join-output --tab --indent= \
        --arg+ --argjson+ --seq --stream --help --version",
        Operands::JqFilter,
    ).reads("-f -L= --from-file --library-path= --rawfile --slurpfile --argfile"),
    row(
        "sort",
        "-b -d -f -g -h -i -k= -M -n -r -R -s -S= -t= -u -V -z -c -C -m --ignore-leading-blanks \
        --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort --key= --month-sort \
        --numeric-sort --random-sort --reverse --stable --buffer-size= --field-separator= --unique --version-sort \
        --zero-terminated --check?= --merge --sort= --parallel= --debug --help --version",
        Operands::Contents,
    ).writes("-o= --output= -T= --temporary-directory=").runs("--compress-program=").reads("--files0-from= --random-source="),
    row(
        // A second operand would be the output file.
        "uniq",
        "-c -d -D -f= -i -s= -u -w= -z --count --repeated --all-repeated?= --skip-fields= --ignore-case \
        --skip-chars= --unique --check-chars= --group?= --zero-terminated --help --version",
        Operands::OneContent,
    ),
    row(
        "cut",
        "-b= -c= -d= -f= -n -s -z --bytes= --characters= --delimiter= --fields= --complement --only-delimited \
        --output-delimiter= --zero-terminated --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "tr",
        "-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1 --help --version",
        Operands::Text,
    ).with(INERT),
    row(
        "paste",
        "-d= -s -z --delimiters= --serial --zero-terminated --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "join",
        "-1= -2= -a= -e= -i -j= -o= -t= -v= -z --ignore-case --check-order --nocheck-order --header --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "comm",
        "-1 -2 -3 -z --check-order --nocheck-order --output-delimiter= --total --zero-terminated --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "diff",
        "-a -b -B -c -C= -d -e -E -f -F= -i -I= -N -n -p -q -r -s -S= -t -T -u -U= -w -W= -x= -X@ -y -Z -# --normal \
        --brief --report-identical-files --context?= --unified?= --ed --rcs --side-by-side --width= --left-column \
        --suppress-common-lines --show-c-function --show-function-line= --label= --expand-tabs --initial-tab \
        --recursive --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case --exclude= \
        --exclude-from@ --starting-file= --ignore-case --ignore-tab-expansion --ignore-trailing-space \
        --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --text \
        --strip-trailing-cr --minimal --speed-large-files --color?= --help --version",
        Operands::Contents,
    ).runs("-l --paginate").reads("--from-file= --to-file="),
    row(
        "cmp",
        "-b -i= -l -n= -s --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "fold",
        "-b -s -w= --bytes --spaces --width= --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "fmt",
        "-c -s -t -u -w= --crown-margin --split-only --tagged-paragraph --uniform-spacing --width= --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "expand",
        "-i -t= --initial --tabs= --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "column",
        "-t -s= -o= -x -c= -n -e -N= --table --separator= --output-separator= --help --version",
        Operands::Contents,
    ).with(INERT),
    row("rev", "--help --version", Operands::Contents).with(INERT),
    row(
        "od",
        "-A= -j= -N= -S= -t= -v -w?= -a -b -c -d -f -i -l -o -s -x --address-radix= --skip-bytes= --read-bytes= \
        --format= --output-duplicates --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "hexdump",
        "-b -c -C -d -n= -o -s= -v -x --canonical --length= --skip= --help --version",
        Operands::Contents,
    ).with(INERT),
    row(
        "strings",
        "-a -f -o -n= -t= -e= -s= -U= -w -# --encoding= --output-separator= --all --print-file-name --bytes= --radix= --help --version",
        Operands::Contents,
    ).with(&[Trait::ResponseFiles]),
    row(
        "base64",
        "-d -D -i -w= --decode --ignore-garbage --wrap= --help --version",
        Operands::Contents,
    )
    // An output file, in some versions.
    .writes("-o= --output="),
    row("cksum", CHECKSUM, Operands::Contents).with(INERT),
    row("md5sum", CHECKSUM, Operands::Contents).with(INERT),
    row("sha1sum", CHECKSUM, Operands::Contents).with(INERT),
    row("sha256sum", CHECKSUM, Operands::Contents).with(INERT),
    row("sha512sum", CHECKSUM, Operands::Contents).with(INERT),
    row(
        // Programs that only print; without options that read a program from a file.
        "awk",
        "-F= -v= --field-separator= --assign= --version",
        Operands::AwkProgram,
    )
    .writes("-o?= -p?= -d?= --pretty-print?= --profile?= --dump-variables?=")
    .runs("-i= -l= -D?= --include= --load= --debug?= -W=")
    .reads("-f= -E= --file= --exec="),
    row(
        // A second operand is the output file, and `-r` writes it too.
        "xxd",
        "-p -ps -u -b -e -i -a -C -d -E -c= -l= -len= -s= -seek= -g= -o= -n= -v -h",
        Operands::OneContent,
    )
    .writes("-r -revert")
    .with(&[Trait::Words]),
    row(
        "ps",
        "-A -a -d -e -f -F -H -j -l -L -M -N -w -x -y -ww -C= -g= -G= -o= -p= -q= -s= -t= -u= -U= --cols= --columns= \
        --deselect --forest --group= --Group= --headers --no-headers --no-heading --pid= --ppid= --quick-pid= \
        --rows= --sid= --sort= --tty= --user= --User= --width= --format= --version",
        Operands::ProcessLetters,
    )
    // The environment of other programs, where secrets are.
    .reads("-E"),
    row("command", "-v -V", Operands::With(&["-v", "-V"])),
    row("type", "-a -p -P -t -f", Operands::Text),
    row("sleep", "--help --version", Operands::Text),
    row("expr", "*", Operands::Text),
    row(
        "ss",
        "-a -e -i -l -m -n -o -p -r -s -t -u -x -4 -6 -H --all --listening --numeric --processes --tcp --udp --unix \
        --summary --no-header --version",
        Operands::Text,
    )
    .writes("-K -D= --kill --diag=")
    .runs("-E --events")
    .reads("-F= --filter="),
    row(
        "netstat",
        "-a -e -g -i -l -n -o -p -r -s -t -u -x -4 -6 --all --listening --numeric --programs --tcp --udp --route \
        --statistics --version",
        Operands::None,
    ),
    row(
        "free",
        "-b -k -m -g -h -l -t -w -v -L --bytes --kibi --mebi --gibi --tebi --human --si --lohi --total --wide \
        --committed --line --help --version",
        Operands::None,
    )
    .with(INERT),
    row(
        "pgrep",
        "-a -c -f -i -l -n -o -v -w -x -u= -U= -P= -g= -t= -d= --full --list-name --list-full --count --newest \
        --oldest --exact --parent= --euid= --uid= --ignore-case --inverse --delimiter= --help --version",
        Operands::Text,
    ),
    // Within the reach only: the commands after it read relative to it.
    row("cd", "-L -P", Operands::Directory),
    row(
        "pwd",
        "-L -P --logical --physical --help --version",
        Operands::None,
    ),
    row("echo", "*", Operands::Text).with(INERT),
    // Without `-v`, which assigns a variable.
    row("printf", "", Operands::PrintFormat),
    row("true", "", Operands::None),
    row("false", "", Operands::None),
    row(
        "seq",
        "-f= -s= -w -# --format= --separator= --equal-width --help --version",
        Operands::Text,
    ).with(INERT),
    row(
        "date",
        "-d= -R -u -I?= --date= --iso-8601?= --rfc-3339= --rfc-email --utc --universal --help --version",
        Operands::DateFormat,
    ).writes("-s= --set=").reads("-f= --file="),
    row(
        // An operand would set the host name.
        "hostname",
        "-s -f -d -i -I --short --fqdn --long --domain --help --version",
        Operands::None,
    ).writes("-F= -b --file= --boot"),
    row("whoami", "--help --version", Operands::None).with(INERT),
    row(
        "id",
        "-a -g -G -n -r -u -z --group --groups --name --real --user --zero --help --version",
        Operands::Text,
    ).with(INERT),
    row("groups", "--help --version", Operands::Text).with(INERT),
    row(
        "uname",
        "-a -s -n -r -v -m -p -i -o --all --kernel-name --nodename --kernel-release --kernel-version \
        --machine --processor --hardware-platform --operating-system --help --version",
        Operands::None,
    ).with(INERT),
    row("arch", "--help --version", Operands::None).with(INERT),
    row("nproc", "--all --ignore= --help --version", Operands::None).with(INERT),
    row(
        "uptime",
        "-p -s --pretty --since --help --version",
        Operands::None,
    ).with(INERT),
    row("which", "-a -s --all --help --version", Operands::Text).with(INERT),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_are_consistent() {
        let mut names = BTreeSet::new();
        for row in ROWS {
            assert!(names.insert(row.name), "{} has two rows", row.name);
            let harmful = format!("{} {} {}", row.writes, row.runs, row.reads);
            let harmful: Vec<&str> = harmful.split_ascii_whitespace().collect();
            if row.is(Trait::Inert) {
                assert!(harmful.is_empty(), "{} cannot be inert", row.name);
            }
            for spec in harmful {
                let flag = spec.trim_end_matches(['=', '?', '>', '@']);
                assert!(row.takes(flag).is_none(), "{} {flag}", row.name);
                assert!(row.effect(flag).is_some(), "{} {spec}", row.name);
            }
        }
    }

    #[test]
    fn every_option_is_written_in_the_notation() {
        for row in ROWS {
            for spec in row.flags.split_ascii_whitespace() {
                let flag = spec.trim_end_matches(['=', '?', '>', '@', '%', '&', '~', '^']);
                let known = matches!(spec, "-#" | "*") || row.takes(flag).is_some();
                assert!(known, "{} {spec}", row.name);
            }
        }
    }
}
