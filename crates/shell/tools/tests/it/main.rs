//! The tools on a real file system: their work, their refusals, and that nothing else changes.

#[cfg(test)]
#[cfg(unix)]
mod agent;
#[cfg(test)]
mod attacks;
#[cfg(test)]
mod definitions;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod naughty;
#[cfg(test)]
mod page_questions;
mod reading;
#[cfg(test)]
mod searching;
#[cfg(test)]
#[cfg(unix)]
mod services;
#[cfg(test)]
mod shell;
#[cfg(test)]
mod writing;
