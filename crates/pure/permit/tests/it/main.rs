//! Permissions from outside: a table of cases, and what holds for every line.

#[cfg(test)]
mod table;
