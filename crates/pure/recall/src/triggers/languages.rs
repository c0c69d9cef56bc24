//! Languages, with the endings of their files and the words that texts use for them.
//!
//! # Not here
//! Natural languages (`dormouse_text::words`).

/// Programming language, as files and texts show it.
struct Language {
    name: &'static str,
    endings: &'static [&'static str],
    /// Names that can be meant in no other way, lower case; the language's own name is among them
    /// only if it is no everyday word.
    words: &'static [&'static str],
}

const fn language(
    name: &'static str,
    endings: &'static [&'static str],
    words: &'static [&'static str],
) -> Language {
    Language {
        name,
        endings,
        words,
    }
}

/// Known languages. `go`, `c`, `r` and `swift` have no bare name here: they are words or letters.
const LANGUAGES: [Language; 34] = [
    language("rust", &["rs"], &["rust", "cargo"]),
    language(
        "python",
        &["py", "pyi", "ipynb"],
        &["python", "python3", "pytest"],
    ),
    language(
        "typescript",
        &["ts", "tsx", "mts", "cts"],
        &["typescript", "tsx"],
    ),
    language(
        "javascript",
        &["js", "jsx", "mjs", "cjs"],
        &["javascript", "jsx"],
    ),
    language("go", &["go"], &["golang"]),
    language("java", &["java"], &["java"]),
    language("kotlin", &["kt", "kts"], &["kotlin"]),
    language("scala", &["scala", "sbt"], &["scala"]),
    language("c", &["c", "h"], &[]),
    language("cpp", &["cc", "cpp", "cxx", "hpp", "hh"], &["c++", "cpp"]),
    language("csharp", &["cs"], &["c#", "csharp"]),
    language("fsharp", &["fs", "fsx"], &["f#", "fsharp"]),
    language("swift", &["swift"], &["swiftui"]),
    language("objective-c", &["m", "mm"], &["objective-c"]),
    language("ruby", &["rb", "rake", "gemspec"], &["ruby", "rspec"]),
    language("php", &["php"], &["php"]),
    language("perl", &["pl", "pm"], &["perl"]),
    language("lua", &["lua"], &["lua"]),
    language("elixir", &["ex", "exs"], &["elixir"]),
    language("erlang", &["erl", "hrl"], &["erlang"]),
    language("haskell", &["hs"], &["haskell"]),
    language("ocaml", &["ml", "mli"], &["ocaml"]),
    language("clojure", &["clj", "cljs", "cljc", "edn"], &["clojure"]),
    language("dart", &["dart"], &["flutter"]),
    language("zig", &["zig"], &["zig"]),
    language("r", &["r", "rmd"], &[]),
    language("julia", &["jl"], &[]),
    language("shell", &["sh", "bash", "zsh", "fish"], &["bash", "zsh"]),
    language("powershell", &["ps1", "psm1"], &["powershell"]),
    language("sql", &["sql"], &["sql", "postgresql", "plpgsql"]),
    language(
        "css",
        &["css", "scss", "sass", "less"],
        &["css", "scss", "tailwind"],
    ),
    language("html", &["html", "htm"], &["html"]),
    language("vue", &["vue"], &[]),
    language("terraform", &["tf", "tfvars"], &["terraform", "hcl"]),
];

/// Short names that front matter may use.
const SHORT: [(&str, &str); 14] = [
    ("rs", "rust"),
    ("py", "python"),
    ("ts", "typescript"),
    ("js", "javascript"),
    ("golang", "go"),
    ("c++", "cpp"),
    ("c#", "csharp"),
    ("f#", "fsharp"),
    ("bash", "shell"),
    ("sh", "shell"),
    ("zsh", "shell"),
    ("rb", "ruby"),
    ("kt", "kotlin"),
    ("hcl", "terraform"),
];

/// Language of a file, by its ending.
pub fn of_path(path: &str) -> Option<&'static str> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.')?;
    // `.rs` alone is a hidden file.
    if stem.is_empty() {
        return None;
    }
    let ending = ending.to_ascii_lowercase();
    LANGUAGES
        .iter()
        .find(|language| language.endings.contains(&ending.as_str()))
        .map(|language| language.name)
}

/// Canonical name of a language that is called in several ways.
pub fn canonical(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    // An unknown name stays as it is: it may match an equally unknown one of the work.
    let full = SHORT.iter().find(|(short, _)| *short == lower);
    full.map_or(lower, |(_, full)| (*full).to_owned())
}

/// Languages that a text names beyond doubt, in the order of the table.
pub fn mentioned(text: &str) -> Vec<&'static str> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        // `c++`, `c#` and `objective-c` keep their marks; a path keeps its slashes and matches
        // nothing.
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '/' | '.')))
        .map(|word| word.trim_matches(['.', '-', '_', '/']))
        .collect();
    LANGUAGES
        .iter()
        .filter(|language| language.words.iter().any(|word| words.contains(word)))
        .map(|language| language.name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_tell_the_language() {
        for (path, language) in [
            ("src/main.rs", Some("rust")),
            ("C:\\x\\App.TSX", Some("typescript")),
            ("Makefile", None),
            (".rs", None),
            ("notes.md", None),
        ] {
            assert_eq!(of_path(path), language, "{path}");
        }
        assert_eq!(canonical(" TS "), "typescript");
    }

    #[test]
    fn only_names_beyond_doubt_are_taken() {
        assert_eq!(mentioned("In Rust, and in C++ too."), ["rust", "cpp"]);
        assert!(mentioned("go swiftly, a rusty gem, see c").is_empty());
    }
}
