//! The guard against real material and against itself.

#[cfg(test)]
mod material;
#[cfg(test)]
mod random;
#[cfg(test)]
mod secret_formats;
#[cfg(test)]
mod shell_cases;
#[cfg(test)]
mod shell_corpus;
