//! Which addresses are of the open internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the hub may call an address on somebody's word alone (DECISIONS 36). What is not known to be public is not.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && b & 0b1100_0000 == 64;
    let is_protocol = (a, b, c) == (192, 0, 0);
    let is_relay = (a, b, c) == (192, 88, 99);
    let is_benchmark = a == 198 && b & 0b1111_1110 == 18;
    let is_reserved = a >= 224;
    !(a == 0
        || is_shared
        || is_protocol
        || is_relay
        || is_benchmark
        || is_reserved
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation())
}

/// Global unicast is 2000::/3. Forms that hold an IPv4 address lead there, so they are refused: mapped and NAT64 ones are
/// outside of it, 6to4 and Teredo are not.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_global = first & 0xe000 == 0x2000;
    let is_6to4 = first == 0x2002;
    let is_special = first == 0x2001 && second < 0x0200;
    let is_documentation = (first == 0x2001 && second == 0x0db8) || first & 0xfff0 == 0x3ff0;
    is_global && !is_6to4 && !is_special && !is_documentation
}
