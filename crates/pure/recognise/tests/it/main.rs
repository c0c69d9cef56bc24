//! Recognition over whole histories, as clients send them.

#[cfg(test)]
mod clients;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod properties;
