//! The authentication of peers: a peer has to be a process of the same user on the same machine, or to know the same
//! secret.
//!
//! An accepted rank can end the run, and rank 0's messages control the others. So no other process may take part:
//!
//! - Without `FOUR_LEVELS_SECRET`, all ranks have to be processes of one user on one machine. Linux knows to which user
//!   each end of a connection inside the machine belongs (`/proc/net/tcp`, proc(5)). Connections of other users and of
//!   other machines are closed.
//! - With `FOUR_LEVELS_SECRET`, a rank of any user on any machine has to prove that it knows the same secret. The
//!   secret itself is never sent: both sides send a random number, and an HMAC-SHA-256 (RFC 2104) of both numbers and
//!   of the rank's hello. Later messages are neither encrypted nor signed, as in NCCL: an attacker who controls the
//!   network between machines can change them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The environment variable with the secret.
pub(crate) const SECRET_VARIABLE: &str = "FOUR_LEVELS_SECRET";
/// The minimum length of a secret in bytes; a shorter one could be guessed.
const MIN_SECRET: usize = 16;
/// The maximum number of bytes that are read of the kernel's table of connections: about 400,000 rows.
const MAX_TABLE: u64 = 64 << 20;

/// The length of a nonce in bytes.
pub(crate) const NONCE_BYTES: usize = 16;
/// The length in bytes of a proof that a process has the secret: an HMAC with SHA-256.
pub(crate) const PROOF_BYTES: usize = 32;

/// The owner of a connection's other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A process of the same user on this machine.
    SameUser,
    /// A process of another user on this machine, with this uid.
    OtherUser(u32),
    /// A process on another machine, or a process that the kernel's tables don't list.
    Elsewhere,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameUser => f.write_str("it belongs to this user"),
            Self::OtherUser(user) => write!(f, "it belongs to another user (uid {user})"),
            Self::Elsewhere => f.write_str("it is not on this machine"),
        }
    }
}

/// Finds the owner of a connection's other end. Until the other side has accepted the connection, this returns
/// [`Peer::Elsewhere`].
pub(crate) fn peer_of(stream: &TcpStream) -> Peer {
    let find = || -> io::Result<Option<(u32, u32)>> {
        let (own, other) = (stream.local_addr()?, stream.peer_addr()?);
        let mut tables = String::new();
        for name in ["/proc/net/tcp", "/proc/net/tcp6"] {
            // A machine without IPv6 has no `/proc/net/tcp6`.
            if let Ok(file) = File::open(name) {
                file.take(MAX_TABLE).read_to_string(&mut tables)?;
            }
        }
        let user = |from, to| user_in(&tables, from, to);
        Ok(user(own, other).zip(user(other, own)))
    };
    match find() {
        Ok(Some((own, other))) if own == other => Peer::SameUser,
        Ok(Some((_, other))) => Peer::OtherUser(other),
        Ok(None) | Err(_) => Peer::Elsewhere,
    }
}

/// The uid of the owner of the socket at `own` that is connected to `other`, according to the kernel's tables.
fn user_in(tables: &str, own: SocketAddr, other: SocketAddr) -> Option<u32> {
    let plain = |address: SocketAddr| (address.ip().to_canonical(), address.port());
    let wanted = (plain(own), plain(other));
    tables.lines().find_map(|line| {
        let mut columns = line.split_ascii_whitespace();
        let ends = (parse_socket_address(columns.nth(1)?)?, parse_socket_address(columns.next()?)?);
        // Skips the columns for state, queues, timer and retransmissions; the next is the user.
        let user = columns.nth(4)?;
        if ends == wanted { user.parse().ok() } else { None }
    })
}

/// Parses an address and a port in the format of `/proc/net/tcp`: the address consists of hexadecimal words of four
/// bytes, in the processor's byte order.
fn parse_socket_address(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| {
        let digits = address.get(8 * at..8 * at + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let ip: IpAddr = match address.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

/// The secret that the ranks of a run share, hashed to a key. Ranks without a secret have an empty key. Debug output
/// doesn't reveal the key: it only names the algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Secret {
    hmac: Hmac<Sha256>,
    is_set: bool,
}

impl Secret {
    /// The secret from the value of the environment variable; no secret if the variable is not set or empty.
    ///
    /// # Errors
    /// If the secret is shorter than [`MIN_SECRET`].
    pub(crate) fn new(text: Option<&str>) -> Result<Self, String> {
        match text.filter(|text| !text.is_empty()) {
            Some(text) if text.len() < MIN_SECRET => Err(format!(
                "{SECRET_VARIABLE} has {} characters, but needs {MIN_SECRET}: set it to the same random text on \
                 all ranks, such as that of `openssl rand -hex 16`",
                text.len()
            )),
            text => {
                let key = text.map_or_else(Vec::new, |text| Sha256::digest(text).to_vec());
                let hmac = Hmac::new_from_slice(&key).expect("a key of any length is valid");
                Ok(Self { hmac, is_set: text.is_some() })
            }
        }
    }

    /// Whether there is a secret.
    pub(crate) const fn is_set(&self) -> bool {
        self.is_set
    }

    /// The proof that one side of a connection knows the secret. It covers the side's name, so that a side can't send
    /// the other side's proof back.
    pub(crate) fn proof(&self, side: &str, messages: &[&[u8]]) -> [u8; PROOF_BYTES] {
        self.hmac(side, messages).finalize().into_bytes().into()
    }

    /// Whether this is the right proof, in constant time.
    pub(crate) fn is_proof(&self, proof: &[u8], side: &str, messages: &[&[u8]]) -> bool {
        self.hmac(side, messages).verify_slice(proof).is_ok()
    }

    fn hmac(&self, side: &str, messages: &[&[u8]]) -> Hmac<Sha256> {
        let start = self.hmac.clone().chain_update(side);
        messages.iter().fold(start, |hmac, message| hmac.chain_update(message))
    }
}

/// A random number that can't be guessed.
///
/// # Errors
/// If the operating system has no random numbers.
pub(crate) fn nonce() -> io::Result<[u8; NONCE_BYTES]> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce).map_err(|_| io::Error::other("no random numbers"))?;
    Ok(nonce)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn both_ends_in_this_process_belong_to_the_same_user() {
        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            // Skips IPv6 on a machine without it.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let mut to = listener.local_addr().unwrap();
            if to.ip().is_unspecified() {
                // Makes an IPv4 connection to an IPv6 listener.
                to.set_ip(Ipv4Addr::LOCALHOST.into());
            }
            let Ok(client) = TcpStream::connect(to) else { continue };
            let (server, _) = listener.accept().unwrap();
            assert_eq!(peer_of(&client), Peer::SameUser, "{address}");
            assert_eq!(peer_of(&server), Peer::SameUser, "{address}");
        }
    }

    /// The table in this test has the format of proc(5), as a little-endian machine writes it.
    #[cfg(target_endian = "little")]
    #[test]
    fn users_are_found_by_both_ends() {
        let tables = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:6F3C 0100007F:A0B1 01 00000000:00000000 00:00000000 00000000  1000        0 7 1 0 20
   1: 0100007F:A0B1 0100007F:6F3C 01 00000000:00000000 00:00000000 00000000  1001        0 8 1 0 20
   2: 0100007F:6F3C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     5        0 9 1 0 20
   0: B80D0120000000000000000001000000:0050 B80D0120000000000000000002000000:1F90 01 0:0 0:0 0 33 0
   1: 0000000000000000FFFF00000100007F:0050 0000000000000000FFFF00000200007F:1F90 01 0:0 0:0 0 44 0
broken";
        let user =
            |own: &str, other: &str| user_in(tables, own.parse().unwrap(), other.parse().unwrap());
        assert_eq!(user("127.0.0.1:28476", "127.0.0.1:41137"), Some(1000));
        assert_eq!(user("127.0.0.1:41137", "127.0.0.1:28476"), Some(1001));
        assert_eq!(user("127.0.0.1:28476", "127.0.0.1:41138"), None);
        assert_eq!(user("[2001:db8::1]:80", "[2001:db8::2]:8080"), Some(33));
        assert_eq!(user("127.0.0.1:80", "127.0.0.2:8080"), Some(44));
        assert_eq!(user("[::ffff:127.0.0.1]:80", "127.0.0.2:8080"), Some(44));
    }

    #[test]
    fn only_the_same_secret_proves_anything() {
        let secret = |text: &str| Secret::new(Some(text)).unwrap();
        let (one, other) = (secret("0123456789abcdef"), secret("0123456789abcdeF"));
        let proof = one.proof("rank 0", &[b"hello", b"nonce"]);
        assert!(one.is_proof(&proof, "rank 0", &[b"hello", b"nonce"]));
        assert!(!other.is_proof(&proof, "rank 0", &[b"hello", b"nonce"]));
        assert!(!one.is_proof(&proof, "another", &[b"hello", b"nonce"]));
        assert!(!one.is_proof(&proof[..31], "rank 0", &[b"hello", b"nonce"]));
        assert!(!one.is_proof(&[], "rank 0", &[b"hello", b"nonce"]));
        assert!(!Secret::new(Some("")).unwrap().is_set() && !Secret::new(None).unwrap().is_set());
        assert!(Secret::new(Some("short")).unwrap_err().contains("5 characters"));
        assert!(!format!("{one:?}").contains("01"));
    }
}
