//! Integration tests of the guard, against real material and against itself.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod against_bash;
mod naughty;
mod random;
#[cfg(test)]
mod secret_cases;
#[cfg(test)]
mod secret_formats;
mod shell_cases;
mod shell_corpus;
mod shell_lines;
mod shell_properties;
#[cfg(test)]
mod slots;

#[expect(clippy::disallowed_methods, reason = "material is read by path")]
fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
