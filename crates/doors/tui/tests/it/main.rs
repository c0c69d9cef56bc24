//! The screen on an emulated terminal.

#[cfg(test)]
mod random;
#[cfg(test)]
mod scrollback;
#[cfg(test)]
mod views;
