//! The gateway between clients and an upstream, over real sockets on loopback.

#[cfg(test)]
mod booking;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod layered_faults;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod many;
#[cfg(test)]
mod own_requests;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod transparent;
