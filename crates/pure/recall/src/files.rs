//! Distinction of files and folders from other words with slashes and dots.
//!
//! # Model
//! `console.log` ends like a file, `red/green/blue` looks like a path. A word taken for a file is
//! looked up, and a missing file makes a memory stale; so only words that can hardly be anything
//! else count: a file with a well-known ending, a hidden file, a folder that says so by a slash
//! behind it or by the folder it begins with.
//!
//! # Not here
//! Languages by their endings ([`super::triggers::languages`]).

use super::triggers::languages;

/// Endings of files that are no programs.
const ENDINGS: [&str; 40] = [
    "md",
    "mdx",
    "rst",
    "txt",
    "adoc",
    "json",
    "jsonl",
    "json5",
    "yaml",
    "yml",
    "toml",
    "lock",
    "ini",
    "cfg",
    "conf",
    "xml",
    "csv",
    "tsv",
    "svg",
    "png",
    "jpg",
    "gif",
    "pdf",
    "proto",
    "graphql",
    "gql",
    "prisma",
    "mk",
    "cmake",
    "gradle",
    "properties",
    "dockerfile",
    "bat",
    "cmd",
    "plist",
    "service",
    "sum",
    "work",
    "snap",
    "svelte",
];

/// Endings that are also members of well-known objects: a bare name with one is no file.
const MEMBERS: [&str; 2] = ["log", "env"];

/// Folders that paths of projects begin with.
const FOLDERS: [&str; 42] = [
    "src",
    "lib",
    "libs",
    "app",
    "apps",
    "bin",
    "cmd",
    "pkg",
    "internal",
    "crates",
    "packages",
    "modules",
    "services",
    "service",
    "server",
    "client",
    "web",
    "frontend",
    "backend",
    "api",
    "test",
    "tests",
    "spec",
    "e2e",
    "docs",
    "doc",
    "scripts",
    "tools",
    "config",
    "configs",
    "infra",
    "deploy",
    "migrations",
    "public",
    "assets",
    "examples",
    "benches",
    "include",
    "db",
    "routes",
    "components",
    "docker",
];

/// Names that end like a file and are products.
const PRODUCTS: [&str; 16] = [
    "node.js",
    "next.js",
    "vue.js",
    "nuxt.js",
    "react.js",
    "d3.js",
    "three.js",
    "express.js",
    "nest.js",
    "ember.js",
    "backbone.js",
    "asp.net",
    "socket.io",
    "draw.io",
    "crates.io",
    "docs.rs",
];

/// True if a word names a file.
pub(super) fn is_file(word: &str) -> bool {
    if !is_sound(word) || word.ends_with('/') || PRODUCTS.contains(&word.to_lowercase().as_str()) {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    let bare = name.len() == word.len();
    if let Some(hidden) = name.strip_prefix('.') {
        // `.5` and `..` are no hidden files.
        return hidden.len() > 2 && hidden.starts_with(|c: char| c.is_ascii_alphabetic());
    }
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return matches!(
            name,
            "Dockerfile" | "Makefile" | "Justfile" | "Gemfile" | "Procfile"
        );
    };
    let ending = ending.to_ascii_lowercase();
    let known = ENDINGS.contains(&ending.as_str()) || languages::of_path(name).is_some();
    let member = MEMBERS.contains(&ending.as_str()) && !bare;
    // `e.g`, `a.c`: one letter before and behind is an abbreviation more often than a file.
    !stem.is_empty() && (known || member) && stem.len() + ending.len() > 2
}

/// True if a word names a folder.
pub(super) fn is_folder(word: &str) -> bool {
    if !is_sound(word) {
        return false;
    }
    let bare = word.trim_end_matches('/');
    let mut parts = bare
        .trim_start_matches("./")
        .split('/')
        .filter(|part| !part.is_empty());
    let first = parts.next().unwrap_or_default();
    let deeper = parts.next().is_some();
    // `s/this/that/` replaces something.
    let says_so = word.ends_with('/') && first.len() > 1;
    // `/check` is a command of a chat more often than a folder at the root.
    let rooted = (word.starts_with('/') || word.starts_with("~/")) && deeper;
    let usual = FOLDERS.contains(&first) || (first.len() > 2 && first.starts_with('.'));
    says_so || (rooted && !is_file(word)) || (usual && deeper && !is_file(word))
}

/// True if every part of a word can be part of a path: no pattern, no quotes, no call.
fn is_sound(word: &str) -> bool {
    word.len() > 2
        && word.contains(char::is_alphabetic)
        // `https://a.md` is an address.
        && !word.contains("//")
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '~' | '+' | '@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_are_told_from_what_looks_like_them() {
        for file in [
            "main.rs",
            "Cargo.toml",
            "a/b/c.ts",
            ".env",
            ".nvmrc",
            "deploy/prod.env",
            "~/x/y.md",
            "Dockerfile",
            "docker/Dockerfile",
            "pnpm-lock.yaml",
            "Größe.md",
        ] {
            assert!(is_file(file), "{file}");
        }
        for folder in [
            "src/",
            "web/src/pages",
            ".github/workflows",
            "/etc/nginx",
            "crates/a",
            "x_y/",
        ] {
            assert!(is_folder(folder) && !is_file(folder), "{folder}");
        }
        for neither in [
            "console.log",
            "process.env",
            "opts.x",
            "services.web",
            "Node.js",
            "red/green/blue",
            "JSON/YAML/TOML",
            "a`/`b",
            "/check",
            "e.g",
            "s/this/that/",
            "src/*.rs",
            "and/or",
            "Date.now/rand",
            "..",
            "",
            "/",
            "https://a.md",
        ] {
            assert!(!is_file(neither) && !is_folder(neither), "{neither}");
        }
    }
}
