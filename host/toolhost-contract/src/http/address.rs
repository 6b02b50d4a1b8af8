//! Which addresses are anybody's, and which are this machine's own surroundings.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses: `10.0.0.0/8`, `fd00::/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressBlock {
    first: IpAddr,
    prefix: u8,
}

/// Why a text is no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressBlockError {
    /// It is neither an address nor an address with the length of a prefix.
    #[error("it is not an IP address or a block such as 10.0.0.0/8")]
    Form,
    /// Bits are set behind the prefix.
    #[error("its address is not the first of the block, which is {0}")]
    NotFirst(AddressBlock),
}

impl AddressBlock {
    /// Reads `address` or `address/length`.
    ///
    /// # Errors
    /// [`AddressBlockError`] says what it is not.
    pub fn parse(text: &str) -> Result<Self, AddressBlockError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().map_err(|_| AddressBlockError::Form)?;
        let plain = |text: &&str| text.bytes().all(|b| b.is_ascii_digit());
        let prefix = match prefix {
            None => width(first),
            Some(text) => {
                let length = Some(text).filter(plain).and_then(|text| text.parse().ok());
                let length = length.filter(|length| *length <= width(first));
                length.ok_or(AddressBlockError::Form)?
            }
        };
        let block = Self {
            first: masked(first, prefix),
            prefix,
        };
        if block.first == first {
            Ok(block)
        } else {
            Err(AddressBlockError::NotFirst(block))
        }
    }

    /// Whether an address is in it. An IPv4 address is in no block of IPv6, whatever its clothes.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4() && masked(address, self.prefix) == self.first
    }
}

impl fmt::Display for AddressBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.prefix == width(self.first) {
            self.first.fmt(f)
        } else {
            write!(f, "{}/{}", self.first, self.prefix)
        }
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            Ipv4Addr::from_bits(v4.to_bits() & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            Ipv6Addr::from_bits(v6.to_bits() & mask).into()
        }
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> AddressBlock {
    AddressBlock {
        first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        prefix,
    }
}

const fn v6(a: u16, b: u16, c: u16, prefix: u8) -> AddressBlock {
    AddressBlock {
        first: IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)),
        prefix,
    }
}

const fn v6_low(e: u16, f: u16, h: u16, prefix: u8) -> AddressBlock {
    AddressBlock {
        first: IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, e, f, 0, h)),
        prefix,
    }
}

/// What is not the public internet: the registries of special purposes (RFC 6890), and what clouds
/// add. The first that holds an address names it.
#[rustfmt::skip]
static NOT_PUBLIC: [AddressBlock; 34] = [
    v4(0, 0, 0, 0, 8),          // this host, unspecified
    v4(10, 0, 0, 0, 8),         // private
    v4(100, 64, 0, 0, 10),      // carriers' shared addresses; a cloud's metadata at 100.100.100.200
    v4(127, 0, 0, 0, 8),        // loopback
    v4(168, 63, 129, 16, 32),   // a cloud's metadata, though the block is public
    v4(169, 254, 0, 0, 16),     // link-local; clouds' metadata at 169.254.169.254
    v4(172, 16, 0, 0, 12),      // private
    v4(192, 0, 0, 0, 24),       // protocol assignments; a cloud's metadata at 192.0.0.192
    v4(192, 0, 2, 0, 24),       // documentation
    v4(192, 88, 99, 0, 24),     // relays of 6to4
    v4(192, 168, 0, 0, 16),     // private
    v4(198, 18, 0, 0, 15),      // benchmarks
    v4(198, 51, 100, 0, 24),    // documentation
    v4(203, 0, 113, 0, 24),     // documentation
    v4(224, 0, 0, 0, 4),        // multicast
    v4(240, 0, 0, 0, 4),        // reserved, broadcast
    v6_low(0, 0, 0, 128),       // unspecified
    v6_low(0, 0, 1, 128),       // loopback
    v6_low(0, 0xffff, 0, 96),   // IPv4 in other clothes: mapped,
    v6_low(0xffff, 0, 0, 96),   // translated,
    v6_low(0, 0, 0, 96),        // compatible,
    AddressBlock { first: IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0)), prefix: 96 }, // NAT64,
    v6(0x64, 0xff9b, 1, 48),    // NAT64 of a network's own,
    v6(0x2001, 0, 0, 32),       // Teredo,
    v6(0x2002, 0, 0, 16),       // 6to4
    v6(0x2001, 0, 0, 23),       // protocol assignments
    v6(0x2001, 0xdb8, 0, 32),   // documentation
    v6(0x3fff, 0, 0, 20),       // documentation
    v6(0xfc00, 0, 0, 7),        // private; a cloud's metadata at fd00:ec2::254
    v6(0xfe80, 0, 0, 10),       // link-local
    v6(0xff00, 0, 0, 8),        // multicast
    v6(0, 0, 0, 3),             // all that is not 2000::/3, which alone is assigned to the public
    v6(0x4000, 0, 0, 2),
    v6(0x8000, 0, 0, 1),
];

/// The blocks of IPv6 whose addresses stand for one of IPv4.
const HOLD_ANOTHER: std::ops::Range<usize> = 18..25;

/// The block that keeps an address from being anybody's; none of a public one.
pub fn not_public(address: IpAddr) -> Option<AddressBlock> {
    let holds = |block: &&AddressBlock| block.contains(address);
    NOT_PUBLIC.iter().find(holds).copied()
}

/// Whether an address of IPv6 stands for one of IPv4.
pub(crate) fn holds_another(address: IpAddr) -> bool {
    let found = NOT_PUBLIC.iter().position(|block| block.contains(address));
    found.is_some_and(|at| HOLD_ANOTHER.contains(&at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_public_internet_is_known_by_its_block() {
        let check = |address: &str, expected: Option<&str>| {
            let block = not_public(address.parse().unwrap()).map(|block| block.to_string());
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
    fn those_that_stand_for_another_are_told_apart() {
        let holds = |address: &str| holds_another(address.parse().unwrap());
        for address in [
            "::ffff:127.0.0.1",
            "::ffff:0:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2001::1",
            "2002:7f00:1::",
        ] {
            assert!(holds(address), "{address}");
        }
        for address in [
            "127.0.0.1",
            "::1",
            "::",
            "fd00::1",
            "2001:db8::1",
            "2001:20::1",
        ] {
            assert!(!holds(address), "{address}");
        }
    }

    #[test]
    fn a_block_is_read_as_it_is_shown() {
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
        assert!(why.ends_with("which is 10.0.0.0/8"), "{why}");
        let all = AddressBlock::parse("0.0.0.0/0").unwrap();
        assert!(all.contains("8.8.8.8".parse().unwrap()));
        assert!(!all.contains("::1".parse().unwrap()));
    }
}
