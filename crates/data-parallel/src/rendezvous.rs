//! The rendezvous: how ranks that are processes find each other. Rank 0 listens at the address and port that `torchrun`
//! or Slurm passes to every rank, and the others connect to it.
//!
//! `torchrun` may listen at that port itself (then `TORCHELASTIC_USE_AGENT_STORE` is `True`). So rank 0 listens at the
//! first free port of a small range. The other ranks try the ports of that range in turn until the rank 0 of the same
//! run answers.
//!
//! ```text
//! rank → rank 0   HELLO   the magic, the run, the rank, the number of ranks, a random number
//! rank ← rank 0   REPLY   the magic, a random number, a proof
//! rank → rank 0   PROOF   a proof
//! rank ← rank 0   WELCOME if all ranks are connected, or FAILED with the reason
//! ```
//!
//! The module `peer` decides which connections are accepted, and computes the proofs. Every read has a deadline.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::environment::{Environment, PORTS};
use crate::error::{Error, Result};
use crate::link::{self, FAILED, WELCOME};
use crate::peer::{NONCE_BYTES, PROOF_BYTES, nonce};

#[cfg(test)]
mod tests;

/// The first bytes of a rank's hello.
const MAGIC: &[u8; 16] = b"four levels rank";
/// The first bytes of rank 0's reply. They differ from the hello's, because TCP can connect a rank to itself: if no
/// program listens at a port, a rank that connects to it may get that same port for its own end.
const REPLY: &[u8; 16] = b"four levels, yes";
/// The lengths of a hello and of a reply in bytes.
const HELLO_LENGTH: usize = 16 + 8 + 4 + 4 + NONCE_BYTES;
const REPLY_LENGTH: usize = 16 + NONCE_BYTES + PROOF_BYTES;
/// The names of a connection's sides, which their proofs contain.
const RANK_0: &str = "rank 0";
const OTHER_RANK: &str = "another rank";
/// The interval at which sockets are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The time that rank 0 has to reply. A rank has twice this time to introduce itself.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a rank, after its own deadline, still waits for rank 0 to report which rank did not connect.
const REASON_TIMEOUT: Duration = Duration::from_millis(1500);
/// The time that a rank has to receive a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of connections that have not introduced themselves yet; larger runs have a larger limit. If there
/// are more, the oldest is closed. That is not a rank, because a rank introduces itself immediately.
const MAX_GUESTS: usize = 256;
/// The maximum number of ranks that a message lists.
const MAX_LISTED: usize = 16;

impl Environment {
    fn hello(&self, nonce: &[u8; NONCE_BYTES]) -> [u8; HELLO_LENGTH] {
        let mut hello = [0; HELLO_LENGTH];
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
        hello[..16].copy_from_slice(MAGIC);
        hello[16..24].copy_from_slice(&self.run.to_le_bytes());
        hello[24..28].copy_from_slice(&number(self.place.rank));
        hello[28..32].copy_from_slice(&number(self.place.world_size));
        hello[32..].copy_from_slice(nonce);
        hello
    }

    /// Connects the ranks: rank 0 returns a connection to each other rank, and each other rank returns its connection
    /// to rank 0.
    ///
    /// # Errors
    /// If a rank does not connect in time, or was started with another number of ranks.
    pub(crate) fn connect_ranks(&self, wait: Duration) -> Result<HashMap<usize, TcpStream>> {
        let found = match self.place.rank {
            0 => self.listen(wait)?,
            _ => HashMap::from([(0, self.connect_to_rank_0(wait)?)]),
        };
        for stream in found.values() {
            let ready = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(None));
            ready.and_then(|()| stream.set_nodelay(true)).map_err(failed("a connection"))?;
        }
        Ok(found)
    }

    /// On rank 0: accepts the others' connections.
    fn listen(&self, wait: Duration) -> Result<HashMap<usize, TcpStream>> {
        let listener = self.bind()?;
        let begun = Instant::now();
        let others = self.place.world_size - 1;
        let max_guests = MAX_GUESTS.max(2 * others);
        let mut guests: VecDeque<Guest> = VecDeque::new();
        let mut ranks: HashMap<usize, TcpStream> = HashMap::new();
        let mut last_refusal = None;
        let verdict = loop {
            if ranks.len() == others {
                break Ok(());
            }
            if begun.elapsed() > wait {
                let missing = (1..=others).filter(|rank| !ranks.contains_key(rank));
                break Err(format!(
                    "of {} ranks, {} did not connect within {} s (--wait SECONDS waits longer){}",
                    self.place.world_size,
                    list(missing),
                    wait.as_secs(),
                    last_refusal.unwrap_or_default()
                ));
            }
            for _ in 0..max_guests {
                let Ok((stream, from)) = listener.accept() else { break };
                if let Some(why) = self.refusal(&stream) {
                    last_refusal = Some(format!("; a connection from {from} was refused: {why}"));
                } else if stream.set_nonblocking(true).is_ok()
                    && stream.set_write_timeout(Some(SEND_TIMEOUT)).is_ok()
                {
                    guests.push_back(Guest::new(stream));
                }
            }
            let mut refused = None;
            guests.retain_mut(|guest| match guest.advance(self) {
                GuestStage::Open => true,
                GuestStage::Closed => false,
                GuestStage::Proved { rank, world_size } => {
                    if let Err(reason) = self.admit(rank, world_size, guest, &mut ranks) {
                        refused.get_or_insert(reason);
                    }
                    false
                }
            });
            if let Some(reason) = refused {
                break Err(reason);
            }
            guests.drain(..guests.len().saturating_sub(max_guests));
            std::thread::sleep(POLL_INTERVAL);
        };
        for stream in ranks.values_mut() {
            let _ = stream.set_nonblocking(false);
            // A failure is ignored: if the rank has ended meanwhile, the first read from it fails.
            let _ = match &verdict {
                Ok(()) => link::write(stream, WELCOME, &[]),
                Err(reason) => link::write(stream, FAILED, reason.as_bytes()),
            };
        }
        verdict.map(|()| ranks).map_err(Error::Rendezvous)
    }

    /// Adds the connection of a peer that has proved to be a rank.
    fn admit(
        &self,
        rank: usize,
        world_size: usize,
        guest: &Guest,
        ranks: &mut HashMap<usize, TcpStream>,
    ) -> std::result::Result<(), String> {
        let Ok(stream) = guest.stream.try_clone() else { return Ok(()) };
        if ranks.get(&rank).is_some_and(|other| !is_gone(other)) {
            return Err(format!("two processes were started as rank {rank}"));
        }
        ranks.insert(rank, stream);
        if world_size != self.place.world_size || rank == 0 || rank >= world_size {
            return Err(format!(
                "rank {rank} was started as one of {world_size} ranks, and rank 0 as one of {}",
                self.place.world_size
            ));
        }
        Ok(())
    }

    /// Listens at the first free port of the range.
    fn bind(&self) -> Result<TcpListener> {
        let addresses: Vec<_> =
            self.ports().flat_map(|port| self.listening_addresses(port)).collect();
        let listener = TcpListener::bind(&addresses[..]).map_err(|error| {
            let (first, last) = (self.port, self.port + PORTS - 1);
            Error::Rendezvous(format!(
                "rank 0 can't listen at any of the ports {first} to {last} (MASTER_PORT): {error}"
            ))
        })?;
        listener.set_nonblocking(true).map_err(failed("a port"))?;
        Ok(listener)
    }

    /// The addresses at which rank 0 listens: only the loopback addresses if the other ranks connect to a loopback
    /// address, otherwise all.
    fn listening_addresses(&self, port: u16) -> Vec<SocketAddr> {
        let own: Vec<IpAddr> = match self.address.parse::<IpAddr>() {
            Ok(ip) if ip.is_loopback() => vec![ip],
            _ if self.address == "localhost" => {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
            _ => vec![Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()],
        };
        own.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()
    }

    /// On the other ranks: connects to rank 0.
    fn connect_to_rank_0(&self, wait: Duration) -> Result<TcpStream> {
        let (deadline, address) = (Instant::now() + wait, &self.address);
        let left = || deadline.saturating_duration_since(Instant::now());
        let mut last = String::from("no answer");
        let mut refused = None;
        while !left().is_zero() {
            for port in self.ports() {
                let hosts = match (address.as_str(), port).to_socket_addrs() {
                    Ok(hosts) => hosts,
                    Err(error) => {
                        last = error.to_string();
                        break;
                    }
                };
                for host in hosts {
                    match TcpStream::connect_timeout(
                        &host,
                        left().clamp(POLL_INTERVAL, REPLY_TIMEOUT),
                    ) {
                        Ok(stream) => match self.introduce(&stream, left().min(REPLY_TIMEOUT)) {
                            Ok(None) => return wait_for_welcome(stream, deadline + REASON_TIMEOUT),
                            Ok(Some(why)) => {
                                refused =
                                    Some(format!("the process at port {port} is refused: {why}"));
                            }
                            Err(_) => {
                                refused.get_or_insert_with(|| {
                                    format!(
                                        "the process at port {port} is not rank 0 of this run, or \
                                         refuses this rank"
                                    )
                                });
                            }
                        },
                        Err(error) => last = error.to_string(),
                    }
                }
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Err(Error::Rendezvous(format!(
            "rank 0 was not found within {} s at {address}, ports {} to {} (MASTER_ADDR, \
             MASTER_PORT): {}",
            wait.as_secs(),
            self.port,
            self.port + PORTS - 1,
            refused.unwrap_or(last)
        )))
    }

    /// Introduces this rank to the process at the other end. Returns `None` if that process is rank 0 of this run,
    /// otherwise the reason why its reply is not trusted.
    fn introduce(&self, mut stream: &TcpStream, most: Duration) -> io::Result<Option<String>> {
        let hello = self.hello(&nonce()?);
        let mut answer = [0; REPLY_LENGTH];
        stream.set_write_timeout(Some(SEND_TIMEOUT))?;
        stream.write_all(&hello)?;
        DeadlineStream { stream, deadline: Instant::now() + most }.read_exact(&mut answer)?;
        let (said, proof) = answer.split_at(16 + NONCE_BYTES);
        if said[..16] != *REPLY {
            return Err(ErrorKind::InvalidData.into());
        }
        // The owner is checked only now, because the other end of a connection has no owner until it is accepted.
        if let Some(why) = self.refusal(stream) {
            return Ok(Some(why));
        }
        if !self.secret.is_proof(proof, RANK_0, &[&hello, said]) {
            return Ok(Some("it has a different FOUR_LEVELS_SECRET, or none".into()));
        }
        stream.write_all(&self.secret.proof(OTHER_RANK, &[&hello, said]))?;
        Ok(None)
    }
}

/// Lists ranks for a message; ranks after the first [`MAX_LISTED`] are left out.
pub(crate) fn list(ranks: impl Iterator<Item = usize>) -> String {
    let ranks: Vec<String> = ranks.map(|rank| rank.to_string()).collect();
    match ranks.get(MAX_LISTED..) {
        Some([_, ..]) => {
            let listed = ranks[..MAX_LISTED].join(", ");
            format!("{listed} and {} more", ranks.len() - MAX_LISTED)
        }
        _ => ranks.join(", "),
    }
}

/// A connection with one deadline for all reads, which holds even if the bytes arrive one by one.
struct DeadlineStream<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Read for DeadlineStream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(into)
    }
}

/// Waits until rank 0 reports that all ranks are connected.
fn wait_for_welcome(stream: TcpStream, deadline: Instant) -> Result<TcpStream> {
    match link::read(&mut DeadlineStream { stream: &stream, deadline }) {
        Ok((WELCOME, _)) => Ok(stream),
        Ok((FAILED, reason)) => {
            Err(Error::Rendezvous(String::from_utf8_lossy(&reason).into_owned()))
        }
        Ok(_) => Err(Error::Rendezvous("rank 0 sent an unknown message".into())),
        Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => Err(
            Error::Rendezvous("rank 0 did not report in time that all ranks are connected".into()),
        ),
        Err(error) => Err(Error::Rendezvous(format!("rank 0 is gone: {error}"))),
    }
}

/// Whether the other side has disconnected. Doesn't wait.
fn is_gone(stream: &TcpStream) -> bool {
    let mut byte = [0];
    match stream.peek(&mut byte) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

fn failed(what: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::Rendezvous(format!("{what} can't be used: {error}"))
}

/// A connection whose peer has not yet proved to be a rank.
struct Guest {
    stream: TcpStream,
    /// The bytes received so far: a hello, then a proof.
    received: Vec<u8>,
    since: Instant,
    /// The reply to the peer's hello.
    reply: Option<[u8; REPLY_LENGTH]>,
}

/// The progress of a connection's handshake.
enum GuestStage {
    /// The peer has not sent its whole handshake yet.
    Open,
    /// The peer is not a rank of this run, has disconnected, or takes too long.
    Closed,
    /// The peer is a rank of this run.
    Proved { rank: usize, world_size: usize },
}

impl Guest {
    fn new(stream: TcpStream) -> Self {
        Self { stream, received: Vec::new(), since: Instant::now(), reply: None }
    }

    /// Reads the bytes that have arrived, and replies to a hello. A failed read or write closes the connection.
    fn advance(&mut self, environment: &Environment) -> GuestStage {
        self.try_advance(environment).unwrap_or(GuestStage::Closed)
    }

    fn try_advance(&mut self, environment: &Environment) -> io::Result<GuestStage> {
        let mut bytes = [0; HELLO_LENGTH + PROOF_BYTES];
        let mut more = &mut bytes[self.received.len()..];
        if self.reply.is_none() {
            more = &mut more[..HELLO_LENGTH - self.received.len()];
        }
        match self.stream.read(more) {
            Ok(0) => return Ok(GuestStage::Closed),
            Ok(n) => self.received.extend_from_slice(&more[..n]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let open = if self.since.elapsed() > 2 * REPLY_TIMEOUT {
            GuestStage::Closed
        } else {
            GuestStage::Open
        };
        let Some((hello, proof)) = self.received.split_at_checked(HELLO_LENGTH) else {
            return Ok(open);
        };
        if hello[..24] != environment.hello(&[0; NONCE_BYTES])[..24] {
            return Ok(GuestStage::Closed);
        }
        let Some(answer) = &self.reply else {
            let mut answer = [0; REPLY_LENGTH];
            answer[..16].copy_from_slice(REPLY);
            answer[16..][..NONCE_BYTES].copy_from_slice(&nonce()?);
            let own = environment.secret.proof(RANK_0, &[hello, &answer[..16 + NONCE_BYTES]]);
            answer[16 + NONCE_BYTES..].copy_from_slice(&own);
            self.stream.write_all(&answer)?;
            self.reply = Some(answer);
            return Ok(open);
        };
        if proof.len() < PROOF_BYTES {
            return Ok(open);
        }
        if !environment.secret.is_proof(proof, OTHER_RANK, &[hello, &answer[..16 + NONCE_BYTES]]) {
            return Ok(GuestStage::Closed);
        }
        let number = |at: usize| {
            let bytes = [hello[at], hello[at + 1], hello[at + 2], hello[at + 3]];
            u32::from_le_bytes(bytes) as usize
        };
        Ok(GuestStage::Proved { rank: number(24), world_size: number(28) })
    }
}
