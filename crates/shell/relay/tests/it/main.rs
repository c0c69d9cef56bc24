//! The relay on machines of their own.

#[cfg(test)]
mod book;
#[cfg(test)]
mod sweep;
