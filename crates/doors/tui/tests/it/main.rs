//! The screen on an emulated terminal.

#[cfg(test)]
mod images;
mod panels;
#[cfg(test)]
mod random;
#[cfg(test)]
mod scrollback;
#[cfg(test)]
mod serving;
#[cfg(test)]
mod tours;
#[cfg(test)]
mod views;
