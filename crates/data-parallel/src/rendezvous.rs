//! How ranks that are processes find each other: at an address and a port that all were told, as
//! `torchrun` and Slurm tell them, where rank 0 listens.
//!
//! `torchrun` may listen at that port itself (then `TORCHELASTIC_USE_AGENT_STORE` is `True`), so rank
//! 0 takes the first of a few ports that is free, and the others try one after the other: each asks
//! whether it has found rank 0 of its own run.
//!
//! ```text
//! rank → rank 0   HELLO   the magic, the run, the rank, how many there are, a random number
//! rank ← rank 0   REPLY   the magic, a random number, a proof
//! rank → rank 0   PROOF   a proof
//! rank ← rank 0   WELCOME all are there, or FAILED with the reason
//! ```
//!
//! `peer` says who is let in, and what the proofs are. Every read ends at a deadline.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::environment::{Environment, PORTS};
use crate::error::{Error, Result};
use crate::link::{self, FAILED, WELCOME};
use crate::peer::{NONCE, PROOF, nonce};

#[cfg(test)]
mod tests;

/// How a rank introduces itself.
const MAGIC: &[u8; 16] = b"four levels rank";
/// How rank 0 answers. Not with the same: a rank that asks at a port where nothing listens may be
/// given that very port for its own side, and TCP then connects it to itself.
const REPLY: &[u8; 16] = b"four levels, yes";
/// The bytes of a hello and of a reply.
const HELLO: usize = 16 + 8 + 4 + 4 + NONCE;
const ANSWERED: usize = 16 + NONCE + PROOF;
/// The sides of a connection, for their proofs.
const RANK_0: &str = "rank 0";
const OTHER: &str = "another rank";
/// How often is looked whether somebody has come.
const LOOK: Duration = Duration::from_millis(20);
/// How long rank 0 may take to answer, and half of what a rank may take to introduce itself.
const ANSWER: Duration = Duration::from_secs(1);
/// How much later than its own deadline a rank still hears from rank 0 which one did not come.
const REASON: Duration = Duration::from_millis(1500);
/// How long a rank may take to take in what it is sent.
const SEND: Duration = Duration::from_secs(5);
/// The most connections that haven't introduced themselves yet, for a few ranks. When there are more,
/// the oldest is closed: a rank introduces itself at once.
const MAX_GUESTS: usize = 256;
/// The most ranks that a message lists.
const MAX_LISTED: usize = 16;

impl Environment {
    fn hello(&self, nonce: &[u8; NONCE]) -> [u8; HELLO] {
        let mut hello = [0; HELLO];
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
        hello[..16].copy_from_slice(MAGIC);
        hello[16..24].copy_from_slice(&self.run.to_le_bytes());
        hello[24..28].copy_from_slice(&number(self.place.rank));
        hello[28..32].copy_from_slice(&number(self.place.world_size));
        hello[32..].copy_from_slice(nonce);
        hello
    }

    /// Finds the other ranks: connections to all of them on rank 0, and to rank 0 on the others.
    ///
    /// # Errors
    /// Which ranks did not come, or which one says that they are another number.
    pub(crate) fn meet(&self, wait: Duration) -> Result<HashMap<usize, TcpStream>> {
        let found = match self.place.rank {
            0 => self.listen(wait)?,
            _ => HashMap::from([(0, self.find(wait)?)]),
        };
        for stream in found.values() {
            let ready = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(None));
            ready.and_then(|()| stream.set_nodelay(true)).map_err(failed("a connection"))?;
        }
        Ok(found)
    }

    /// Rank 0: waits for the others.
    fn listen(&self, wait: Duration) -> Result<HashMap<usize, TcpStream>> {
        let listener = self.bind()?;
        let begun = Instant::now();
        let others = self.place.world_size - 1;
        let most_guests = MAX_GUESTS.max(2 * others);
        let mut guests: VecDeque<Guest> = VecDeque::new();
        let mut ranks: HashMap<usize, TcpStream> = HashMap::new();
        let mut turned_away = None;
        let verdict = loop {
            if ranks.len() == others {
                break Ok(());
            }
            if begun.elapsed() > wait {
                let missing = (1..=others).filter(|rank| !ranks.contains_key(rank));
                break Err(format!(
                    "of {} ranks, {} did not come within {} s (--wait SECONDS waits longer){}",
                    self.place.world_size,
                    list(missing),
                    wait.as_secs(),
                    turned_away.unwrap_or_default()
                ));
            }
            for _ in 0..most_guests {
                let Ok((stream, from)) = listener.accept() else { break };
                if let Some(why) = self.refusal(&stream) {
                    turned_away = Some(format!("; a connection from {from} was refused: {why}"));
                } else if stream.set_nonblocking(true).is_ok()
                    && stream.set_write_timeout(Some(SEND)).is_ok()
                {
                    guests.push_back(Guest::new(stream));
                }
            }
            let mut refused = None;
            guests.retain_mut(|guest| match guest.go_on(self) {
                Stage::Open => true,
                Stage::Closed => false,
                Stage::Proved { rank, world_size } => {
                    if let Err(reason) = self.seat(rank, world_size, guest, &mut ranks) {
                        refused.get_or_insert(reason);
                    }
                    false
                }
            });
            if let Some(reason) = refused {
                break Err(reason);
            }
            guests.drain(..guests.len().saturating_sub(most_guests));
            std::thread::sleep(LOOK);
        };
        for stream in ranks.values_mut() {
            let _ = stream.set_nonblocking(false);
            // Who has gone meanwhile is found out later.
            let _ = match &verdict {
                Ok(()) => link::write(stream, WELCOME, &[]),
                Err(reason) => link::write(stream, FAILED, reason.as_bytes()),
            };
        }
        verdict.map(|()| ranks).map_err(Error::Rendezvous)
    }

    /// Gives a rank its seat.
    fn seat(
        &self,
        rank: usize,
        world_size: usize,
        guest: &Guest,
        ranks: &mut HashMap<usize, TcpStream>,
    ) -> std::result::Result<(), String> {
        let Ok(stream) = guest.stream.try_clone() else { return Ok(()) };
        if ranks.get(&rank).is_some_and(|other| !is_gone(other)) {
            return Err(format!("two processes say that they are rank {rank}"));
        }
        ranks.insert(rank, stream);
        if world_size != self.place.world_size || rank == 0 || rank >= world_size {
            return Err(format!(
                "rank {rank} says that there are {world_size} ranks, and rank 0 that there are {}",
                self.place.world_size
            ));
        }
        Ok(())
    }

    /// Listens at the first port that is free.
    fn bind(&self) -> Result<TcpListener> {
        let mut last = None;
        for port in self.ports() {
            for address in self.own_addresses(port) {
                match TcpListener::bind(address) {
                    Ok(listener) => {
                        listener.set_nonblocking(true).map_err(failed("a port"))?;
                        return Ok(listener);
                    }
                    Err(error) => last = Some(error),
                }
            }
        }
        Err(Error::Rendezvous(format!(
            "rank 0 can listen at none of the ports {} to {} (MASTER_PORT){}",
            self.port,
            self.port + PORTS - 1,
            last.map_or_else(String::new, |error| format!(": {error}"))
        )))
    }

    /// Where rank 0 listens: on the loopback alone where the others look for it there.
    fn own_addresses(&self, port: u16) -> Vec<SocketAddr> {
        let own: Vec<IpAddr> = match self.address.parse::<IpAddr>() {
            Ok(ip) if ip.is_loopback() => vec![ip],
            _ if self.address == "localhost" => {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
            _ => vec![Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()],
        };
        own.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()
    }

    /// Another rank: looks for rank 0.
    fn find(&self, wait: Duration) -> Result<TcpStream> {
        let (deadline, address) = (Instant::now() + wait, &self.address);
        let left = || deadline.saturating_duration_since(Instant::now());
        let mut last = String::from("nobody answers");
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
                    match TcpStream::connect_timeout(&host, left().clamp(LOOK, ANSWER)) {
                        Ok(stream) => match self.ask(&stream, left().min(ANSWER)) {
                            Ok(None) => return welcomed(stream, deadline + REASON),
                            Ok(Some(why)) => {
                                refused =
                                    Some(format!("what answers at port {port} is refused: {why}"));
                            }
                            Err(_) => {
                                refused.get_or_insert_with(|| {
                                    format!("what listens at port {port} is no rank 0 of this run, or refuses this rank")
                                });
                            }
                        },
                        Err(error) => last = error.to_string(),
                    }
                }
            }
            std::thread::sleep(LOOK);
        }
        Err(Error::Rendezvous(format!(
            "rank 0 is not found within {} s at {address}, ports {} to {} (MASTER_ADDR, \
             MASTER_PORT): {}",
            wait.as_secs(),
            self.port,
            self.port + PORTS - 1,
            refused.unwrap_or(last)
        )))
    }

    /// Introduces this rank. `None` if the other side is rank 0 of this run; why it is refused, if it
    /// only says so.
    fn ask(&self, mut stream: &TcpStream, most: Duration) -> io::Result<Option<String>> {
        let hello = self.hello(&nonce()?);
        let mut answer = [0; ANSWERED];
        stream.set_write_timeout(Some(SEND))?;
        stream.write_all(&hello)?;
        Until { stream, deadline: Instant::now() + most }.read_exact(&mut answer)?;
        let (said, proof) = answer.split_at(16 + NONCE);
        if said[..16] != *REPLY {
            return Err(ErrorKind::InvalidData.into());
        }
        // It has accepted the connection, so that its end belongs to somebody.
        if let Some(why) = self.refusal(stream) {
            return Ok(Some(why));
        }
        if !self.secret.is_proof(proof, RANK_0, &[&hello, said]) {
            return Ok(Some("it has another FOUR_LEVELS_SECRET, or none".into()));
        }
        stream.write_all(&self.secret.proof(OTHER, &[&hello, said]))?;
        Ok(None)
    }
}

/// Ranks, as a message lists them.
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

/// Reads from a connection until a deadline, however the bytes trickle in.
struct Until<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(into)
    }
}

/// Waits until rank 0 says that all are there.
fn welcomed(stream: TcpStream, deadline: Instant) -> Result<TcpStream> {
    match link::read(&mut Until { stream: &stream, deadline }) {
        Ok((WELCOME, _)) => Ok(stream),
        Ok((FAILED, reason)) => {
            Err(Error::Rendezvous(String::from_utf8_lossy(&reason).into_owned()))
        }
        Ok(_) => Err(Error::Rendezvous("rank 0 says something that is not known".into())),
        Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
            Err(Error::Rendezvous("rank 0 did not say in time that all ranks are there".into()))
        }
        Err(error) => Err(Error::Rendezvous(format!("rank 0 is gone: {error}"))),
    }
}

/// Whether the other side has hung up, as far as that can be told without waiting.
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

/// Somebody who has come.
struct Guest {
    stream: TcpStream,
    said: Vec<u8>,
    since: Instant,
    /// What it was answered.
    answer: Option<[u8; ANSWERED]>,
}

/// How far somebody is who has come.
enum Stage {
    /// It has not said everything yet.
    Open,
    /// It is none of the run's ranks, has gone, or takes too long.
    Closed,
    /// It is a rank.
    Proved { rank: usize, world_size: usize },
}

impl Guest {
    fn new(stream: TcpStream) -> Self {
        Self { stream, said: Vec::new(), since: Instant::now(), answer: None }
    }

    /// Hears what it says, and answers.
    fn go_on(&mut self, environment: &Environment) -> Stage {
        // What is nonsense, and what can't be read, ends it alike.
        self.try_to_go_on(environment).unwrap_or(Stage::Closed)
    }

    fn try_to_go_on(&mut self, environment: &Environment) -> io::Result<Stage> {
        let mut bytes = [0; HELLO + PROOF];
        let mut more = &mut bytes[self.said.len()..];
        if self.answer.is_none() {
            more = &mut more[..HELLO - self.said.len()];
        }
        match self.stream.read(more) {
            Ok(0) => return Ok(Stage::Closed),
            Ok(n) => self.said.extend_from_slice(&more[..n]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let open = if self.since.elapsed() > 2 * ANSWER { Stage::Closed } else { Stage::Open };
        let Some((hello, proof)) = self.said.split_at_checked(HELLO) else { return Ok(open) };
        if hello[..24] != environment.hello(&[0; NONCE])[..24] {
            return Ok(Stage::Closed);
        }
        let Some(answer) = &self.answer else {
            let mut answer = [0; ANSWERED];
            answer[..16].copy_from_slice(REPLY);
            answer[16..][..NONCE].copy_from_slice(&nonce()?);
            let own = environment.secret.proof(RANK_0, &[hello, &answer[..16 + NONCE]]);
            answer[16 + NONCE..].copy_from_slice(&own);
            self.stream.write_all(&answer)?;
            self.answer = Some(answer);
            return Ok(open);
        };
        if proof.len() < PROOF {
            return Ok(open);
        }
        if !environment.secret.is_proof(proof, OTHER, &[hello, &answer[..16 + NONCE]]) {
            return Ok(Stage::Closed);
        }
        let number = |at: usize| {
            let bytes = [hello[at], hello[at + 1], hello[at + 2], hello[at + 3]];
            u32::from_le_bytes(bytes) as usize
        };
        Ok(Stage::Proved { rank: number(24), world_size: number(28) })
    }
}
