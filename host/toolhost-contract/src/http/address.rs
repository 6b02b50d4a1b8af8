//! Blocks of IP addresses, and the blocks that are not public.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// A block of addresses: `10.0.0.0/8`, `fd00::/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressBlock(IpNet);

/// A text that is not a block of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressBlockError {
    /// The text is neither an address nor an address with a prefix length.
    #[error("it is neither an IP address nor a block such as 10.0.0.0/8")]
    Form,
    /// Bits after the prefix are set.
    #[error("its address is not the first of the block; write {0}")]
    NotFirst(AddressBlock),
}

impl AddressBlock {
    /// Parses `address` or `address/length`.
    ///
    /// # Errors
    /// [`AddressBlockError`] if the text is not a block.
    pub fn parse(text: &str) -> Result<Self, AddressBlockError> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| AddressBlockError::Form)?;
        let net = match length {
            None => Some(IpNet::from(address)),
            Some(length) => Some(length)
                .filter(|length| length.bytes().all(|b| b.is_ascii_digit()))
                .and_then(|length| length.parse().ok())
                .and_then(|length| IpNet::new(address, length).ok()),
        };
        let net = net.ok_or(AddressBlockError::Form)?;
        if net.network() == address {
            Ok(Self(net))
        } else {
            Err(AddressBlockError::NotFirst(Self(net.trunc())))
        }
    }

    /// Returns whether the block contains an address. IPv6 blocks contain no IPv4 addresses.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

/// Omits the prefix length if the block is one address.
impl fmt::Display for AddressBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() {
            self.0.addr().fmt(f)
        } else {
            self.0.fmt(f)
        }
    }
}

/// Why a block is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Special,
    /// IPv6 addresses that embed IPv4 addresses.
    EmbedsIpv4,
}

use Reason::{EmbedsIpv4, Special};

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> AddressBlock {
    let net = Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length);
    AddressBlock(IpNet::V4(net))
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], length: u8) -> AddressBlock {
    let net = Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), length);
    AddressBlock(IpNet::V6(net))
}

/// Blocks outside the public internet: special-purpose addresses (RFC 6890) and metadata services of
/// cloud providers. Blocks lie within each other; the smallest one that contains an address decides, so
/// the order of the rows has no meaning.
#[rustfmt::skip]
static NON_PUBLIC: [(AddressBlock, Reason); 34] = [
    (v4(0, 0, 0, 0, 8), Special),          // this host, unspecified
    (v4(10, 0, 0, 0, 8), Special),         // private
    (v4(100, 64, 0, 0, 10), Special),      // carrier-grade NAT; cloud metadata at 100.100.100.200
    (v4(127, 0, 0, 0, 8), Special),        // loopback
    (v4(168, 63, 129, 16, 32), Special),   // cloud metadata in a public block
    (v4(169, 254, 0, 0, 16), Special),     // link-local; cloud metadata at 169.254.169.254
    (v4(172, 16, 0, 0, 12), Special),      // private
    (v4(192, 0, 0, 0, 24), Special),       // protocol assignments; cloud metadata at 192.0.0.192
    (v4(192, 0, 2, 0, 24), Special),       // documentation
    (v4(192, 88, 99, 0, 24), Special),     // 6to4 relays
    (v4(192, 168, 0, 0, 16), Special),     // private
    (v4(198, 18, 0, 0, 15), Special),      // benchmarks
    (v4(198, 51, 100, 0, 24), Special),    // documentation
    (v4(203, 0, 113, 0, 24), Special),     // documentation
    (v4(224, 0, 0, 0, 4), Special),        // multicast
    (v4(240, 0, 0, 0, 4), Special),        // reserved, broadcast
    (v6([0; 8], 128), Special),                                   // unspecified
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), Special),                 // loopback
    (v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), EmbedsIpv4),          // IPv4-mapped
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), EmbedsIpv4),          // IPv4-translated
    (v6([0; 8], 96), EmbedsIpv4),                                 // IPv4-compatible
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), EmbedsIpv4),       // NAT64
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), EmbedsIpv4),       // NAT64 of a local network
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), EmbedsIpv4),          // Teredo
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), EmbedsIpv4),          // 6to4
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), Special),             // protocol assignments
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), Special),         // documentation
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), Special),             // documentation
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), Special),              // private; metadata at fd00:ec2::254
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), Special),             // link-local
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), Special),              // multicast
    (v6([0; 8], 3), Special),              // all but 2000::/3, the only block assigned to the public
    (v6([0x4000, 0, 0, 0, 0, 0, 0, 0], 2), Special),
    (v6([0x8000, 0, 0, 0, 0, 0, 0, 0], 1), Special),
];

/// Returns the smallest of some blocks that contains an address.
fn smallest_block(
    blocks: &[(AddressBlock, Reason)],
    address: IpAddr,
) -> Option<(AddressBlock, Reason)> {
    let around = blocks.iter().filter(|(block, _)| block.contains(address));
    around
        .max_by_key(|(block, _)| block.0.prefix_len())
        .copied()
}

/// Returns the smallest non-public block that contains an address, or `None` for a public address.
pub fn non_public_block(address: IpAddr) -> Option<AddressBlock> {
    smallest_block(&NON_PUBLIC, address).map(|(block, _)| block)
}

/// Returns whether an IPv6 address embeds an IPv4 address.
pub(crate) fn embeds_ipv4(address: IpAddr) -> bool {
    smallest_block(&NON_PUBLIC, address).is_some_and(|(_, reason)| reason == EmbedsIpv4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_the_block_of_an_address_that_is_not_public() {
        let check = |address: &str, expected: Option<&str>| {
            let block = non_public_block(address.parse().unwrap()).map(|block| block.to_string());
            assert_eq!(block.as_deref(), expected, "{address}");
        };
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "223.255.255.255",
            "2001:4860:4860::8888",
            "2606:4700:4700::1111",
            "2001:200::1",
            "2003::1",
            "3ffe:ffff::1",
        ] {
            check(public, None);
        }
        for (address, block) in [
            ("0.0.0.0", "0.0.0.0/8"),
            ("0.1.2.3", "0.0.0.0/8"),
            ("10.0.0.1", "10.0.0.0/8"),
            ("10.255.255.255", "10.0.0.0/8"),
            ("100.64.0.1", "100.64.0.0/10"),
            ("100.100.100.200", "100.64.0.0/10"),
            ("100.127.255.255", "100.64.0.0/10"),
            ("127.0.0.1", "127.0.0.0/8"),
            ("127.255.255.254", "127.0.0.0/8"),
            ("168.63.129.16", "168.63.129.16"),
            ("169.254.169.254", "169.254.0.0/16"),
            ("172.16.0.1", "172.16.0.0/12"),
            ("172.31.255.255", "172.16.0.0/12"),
            ("192.0.0.192", "192.0.0.0/24"),
            ("192.0.2.1", "192.0.2.0/24"),
            ("192.88.99.1", "192.88.99.0/24"),
            ("192.168.1.1", "192.168.0.0/16"),
            ("198.19.255.255", "198.18.0.0/15"),
            ("198.51.100.7", "198.51.100.0/24"),
            ("203.0.113.7", "203.0.113.0/24"),
            ("224.0.0.1", "224.0.0.0/4"),
            ("239.255.255.255", "224.0.0.0/4"),
            ("240.0.0.1", "240.0.0.0/4"),
            ("255.255.255.255", "240.0.0.0/4"),
            ("::", "::"),
            ("::1", "::1"),
            ("::ffff:8.8.8.8", "::ffff:0.0.0.0/96"),
            ("::ffff:127.0.0.1", "::ffff:0.0.0.0/96"),
            ("::ffff:0:127.0.0.1", "::ffff:0:0:0/96"),
            ("::127.0.0.1", "::/96"),
            ("64:ff9b::7f00:1", "64:ff9b::/96"),
            ("64:ff9b:1::a00:1", "64:ff9b:1::/48"),
            ("2001::1", "2001::/32"),
            ("2002:7f00:1::", "2002::/16"),
            ("2001:20::1", "2001::/23"),
            ("2001:db8::1", "2001:db8::/32"),
            ("3fff:1::1", "3fff::/20"),
            ("fc00::1", "fc00::/7"),
            ("fd00:ec2::254", "fc00::/7"),
            ("fe80::1", "fe80::/10"),
            ("ff02::1", "ff00::/8"),
            ("100::1", "::/3"),
            ("4000::1", "4000::/2"),
            ("5f00::1", "4000::/2"),
            ("fec0::1", "8000::/1"),
        ] {
            check(address, Some(block));
        }
    }

    #[test]
    fn a_row_that_is_moved_changes_no_decision() {
        for (block, reason) in NON_PUBLIC {
            let (first, last) = (block.0.network(), block.0.broadcast());
            // Each row decides for one of its addresses at least, and none is there twice.
            let same = NON_PUBLIC.iter().filter(|(other, _)| *other == block);
            assert_eq!(same.count(), 1, "{block}");
            let of_row = [first, last].map(|address| smallest_block(&NON_PUBLIC, address));
            assert!(of_row.contains(&Some((block, reason))), "{block}");
            for rows in 0..NON_PUBLIC.len() {
                let mut moved = NON_PUBLIC;
                moved.rotate_left(rows);
                for address in [first, last] {
                    let expected = smallest_block(&NON_PUBLIC, address);
                    assert_eq!(smallest_block(&moved, address), expected, "{address}");
                    moved.reverse();
                    assert_eq!(smallest_block(&moved, address), expected, "{address}");
                }
            }
        }
    }

    #[test]
    fn recognizes_addresses_that_embed_ipv4() {
        let embeds = |address: &str| embeds_ipv4(address.parse().unwrap());
        for address in [
            "::ffff:127.0.0.1",
            "::ffff:0:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2001::1",
            "2002:7f00:1::",
        ] {
            assert!(embeds(address), "{address}");
        }
        for address in [
            "127.0.0.1",
            "::1",
            "::",
            "fd00::1",
            "2001:db8::1",
            "2001:20::1",
        ] {
            assert!(!embeds(address), "{address}");
        }
    }

    #[test]
    fn a_block_parses_from_its_displayed_form() {
        for text in [
            "10.0.0.0/8",
            "127.0.0.1",
            "::1",
            "fd00::/8",
            "0.0.0.0/0",
            "::/0",
            "192.168.1.4/30",
        ] {
            assert_eq!(AddressBlock::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            AddressBlock::parse("10.1.2.3/32").unwrap().to_string(),
            "10.1.2.3"
        );
        for bad in [
            "",
            "10",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "::/129",
            "[::1]",
            "localhost",
            "010.0.0.1",
        ] {
            assert_eq!(
                AddressBlock::parse(bad),
                Err(AddressBlockError::Form),
                "{bad}"
            );
        }
        let why = AddressBlock::parse("10.1.2.3/8").unwrap_err().to_string();
        assert!(why.ends_with("write 10.0.0.0/8"), "{why}");
        let all = AddressBlock::parse("0.0.0.0/0").unwrap();
        assert!(all.contains("8.8.8.8".parse().unwrap()));
        assert!(!all.contains("::1".parse().unwrap()));
    }
}
