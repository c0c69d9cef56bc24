//! Loading and watching, through the public interface.

#[cfg(test)]
mod load;
#[cfg(test)]
mod trust;
#[cfg(test)]
mod watch;
