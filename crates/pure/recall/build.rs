//! Makes the tables of words that the search reads where they lie.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script talks to cargo and writes where cargo says"
)]

#[path = "src/glossary/layout.rs"]
mod layout;
#[path = "src/glossary/make.rs"]
mod make;

use dormouse_text::words::Language;
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    // The tables are part of `dormouse-text`: a change of them builds this script anew.
    println!("cargo::rerun-if-changed=src/glossary");
    let folder = std::env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    let languages = [
        ("english", Language::English),
        ("german", Language::German),
        ("french", Language::French),
        ("spanish", Language::Spanish),
    ];
    for (name, language) in languages {
        std::fs::write(
            folder.join(name).with_extension("words"),
            make::table(language),
        )?;
    }
    Ok(())
}
