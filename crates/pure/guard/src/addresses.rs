//! Addresses that a page of the web may not lie at.
//!
//! A model, or a page that it read, may name any host. One that leads into the machine itself or into
//! the network around it would let a stranger's text read services that trust their neighbours: the
//! metadata of a cloud machine, a router, a database without a password.
//!
//! # Not here
//! Resolving names: the caller judges the address that it then connects to, never the name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reason why an address is refused; `None` if it lies in the public network.
pub fn refusal(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => refusal_v4(address),
        IpAddr::V6(address) => refusal_v6(address),
    }
}

fn refusal_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    let why = match (a, b, c) {
        (0, ..) => "an address of this machine",
        (127, ..) => "a loopback address",
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => "a private address",
        (169, 254, _) => "a link-local address",
        (100, 64..=127, _) => "an address behind a carrier's gateway",
        (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) | (198, 18..=19, _) => {
            "an address for tests and protocols"
        }
        (192, 88, 99) => "an address of a relay",
        (224..=239, ..) => "a multicast address",
        (240..=255, ..) => "a reserved address",
        _ => return None,
    };
    Some(why)
}

fn refusal_v6(address: Ipv6Addr) -> Option<&'static str> {
    // An address of the old kind inside one of the new kind reaches the same machine.
    if let Some(inner) = embedded(address) {
        return refusal_v4(inner);
    }
    let first = address.segments()[0];
    let why = match first {
        _ if address.is_unspecified() => "an address of this machine",
        _ if address.is_loopback() => "a loopback address",
        0xfc00..=0xfdff | 0xfec0..=0xfeff => "a private address",
        0xfe80..=0xfebf => "a link-local address",
        0xff00..=0xffff => "a multicast address",
        0x2001 if address.segments()[1] == 0x0db8 => "an address for tests and protocols",
        // Only this part of the space is given out; everything else is reserved.
        0x2000..=0x3fff => return None,
        _ => "a reserved address",
    };
    Some(why)
}

/// Address of the old kind that one of the new kind carries: mapped, compatible, translated (NAT64),
/// 6to4 or Teredo.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = address.segments();
    let join = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        // `::1` and the like are no addresses of the old kind.
        [0, 0, 0, 0, 0, 0, 0, _] => None,
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0x0064, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(join(high, low)),
        // Teredo stores the client's address with every bit turned.
        [0x2001, 0, .., high, low] => Some(join(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_pass() {
        for inside in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.255.254",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.251",
            "255.255.255.255",
            "::",
            "::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "ff02::fb",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:0:1:2:3:4:80ff:fffe",
            "2001:db8::1",
            "4000::1",
        ] {
            let address: IpAddr = inside.parse().unwrap();
            // Teredo with a public client inside is the one public case of its kind.
            if inside.ends_with("3fff:fdd2") {
                assert_eq!(refusal(address), refusal("192.0.2.45".parse().unwrap()));
                continue;
            }
            assert!(refusal(address).is_some(), "{inside}");
        }
        for outside in [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.128.0.1",
            "93.184.216.34",
            "2606:4700:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
        ] {
            assert_eq!(refusal(outside.parse().unwrap()), None, "{outside}");
        }
    }
}
