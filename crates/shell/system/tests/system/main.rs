//! The promises of the ports: one contract for both kinds of files, then what only the kind in
//! memory can be made to do.

#[cfg(test)]
#[cfg(unix)]
mod attacks;
#[cfg(test)]
#[cfg(unix)]
mod commands;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod crashes;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod real;
#[cfg(test)]
#[cfg(unix)]
mod sandbox;
#[cfg(test)]
mod turns;
