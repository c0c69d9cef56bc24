//! Histories of clients under the layers.

#[cfg(test)]
mod asides;
#[cfg(test)]
mod boundaries;
#[cfg(test)]
mod clearing;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod results;
#[cfg(test)]
mod untouched;
