//! The program on a real terminal: a pseudo-terminal, an emulator with scrollback, the simulator as
//! the provider.

#[cfg(test)]
mod demo;
#[cfg(test)]
mod idle;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod panels;
#[cfg(test)]
mod pictures;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod screens;
