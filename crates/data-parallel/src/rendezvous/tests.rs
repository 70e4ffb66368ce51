//! Tests of the rendezvous: ranks as threads, which find each other through the loopback.

use std::thread;

use super::*;
use crate::peer::{Peer, Secret};
use crate::rank::Rank;

fn environment(rank: usize, world_size: usize, port: u16) -> Environment {
    let read = |name: &str| {
        Some(match name {
            "RANK" | "LOCAL_RANK" => rank.to_string(),
            "WORLD_SIZE" => world_size.to_string(),
            "MASTER_ADDR" => "127.0.0.1".into(),
            "MASTER_PORT" => port.to_string(),
            _ => return None,
        })
    };
    Environment::read(read).unwrap()
}

/// A free port that is followed by enough valid port numbers.
fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().min(u16::MAX - 2 * PORTS)
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn ranks_find_each_other_in_spite_of_other_programs() {
    let port = port();
    // Another program listens at the first port, and answers nonsense.
    let stranger = TcpListener::bind(("127.0.0.1", port));
    thread::spawn(move || {
        while let Ok((mut stream, _)) = stranger.as_ref().unwrap().accept() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n");
        }
    });
    // A program that is not a rank connects to rank 0.
    thread::spawn(move || {
        for port in port + 1..port + PORTS {
            if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
                let _ = stream.write_all(&[0x5a; 100]);
            }
        }
    });
    let ranks: Vec<_> = (0..3)
        .map(|rank| thread::spawn(move || environment(rank, 3, port).connect_ranks(20 * SECOND)))
        .collect();
    let mut found: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap().unwrap()).collect();
    let mut keys: Vec<usize> = found[0].keys().copied().collect();
    keys.sort_unstable();
    assert_eq!(keys, [1, 2]);
    // Each connection leads to the rank whose number is its key.
    for rank in [1, 2] {
        link::write(found[0].get_mut(&rank).unwrap(), WELCOME, &[rank as u8]).unwrap();
        let message = link::read(found[rank].get_mut(&0).unwrap()).unwrap();
        assert_eq!(message, (WELCOME, vec![rank as u8]));
    }
}

#[test]
fn a_rank_that_does_not_connect_is_named_by_all_others() {
    let port = port();
    let start = |rank| thread::spawn(move || failure(&environment(rank, 3, port), 2 * SECOND));
    for rank in [0, 2].map(start) {
        let said = rank.join().unwrap();
        assert!(said.contains("of 3 ranks, 1 did not connect within 2 s"), "{said}");
    }
    let alone = failure(&environment(1, 2, port), SECOND);
    assert!(alone.contains("rank 0 was not found within 1 s at 127.0.0.1"), "{alone}");
}

/// The error message of a rendezvous, which has to fail.
fn failure(environment: &Environment, wait: Duration) -> String {
    environment.connect_ranks(wait).map(|_| ()).unwrap_err().to_string()
}

/// Runs the rendezvous of all ranks; `change` is applied to each rank's environment.
fn connect_ranks(
    ranks: usize,
    port: u16,
    change: impl Fn(&mut Environment) + Send + Clone + 'static,
) -> Vec<Result<HashMap<usize, TcpStream>>> {
    let start = |rank| {
        let change = change.clone();
        thread::spawn(move || {
            let mut environment = environment(rank, ranks, port);
            change(&mut environment);
            environment.connect_ranks(20 * SECOND)
        })
    };
    let threads: Vec<_> = (0..ranks).map(start).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn secret(text: &str) -> Secret {
    Secret::new(Some(text)).unwrap()
}

/// Connects to rank 0 at each port as an intruder, and sends a hello, which needs no secret. Accepting it would end the
/// run, because its number of ranks is wrong. Then sends the bytes that `proof` computes from the hello and the reply.
/// Returns the number of hellos that got a reply.
fn intrude(
    port: u16,
    proof: impl Fn(&[u8], &[u8]) -> Vec<u8> + Send + 'static,
) -> thread::JoinHandle<usize> {
    thread::spawn(move || {
        let mut intruder = environment(0, 1, port);
        intruder.place = Rank { rank: 1, world_size: 1000 };
        let mut answered = 0;
        let until = Instant::now() + 2 * SECOND;
        while Instant::now() < until {
            for port in port..port + PORTS {
                let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                stream.set_read_timeout(Some(SECOND / 4)).unwrap();
                let (hello, mut answer) = (intruder.hello(&[7; NONCE_BYTES]), [0; REPLY_LENGTH]);
                let said = stream.write_all(&hello).and_then(|()| stream.read_exact(&mut answer));
                if said.is_ok() {
                    answered += 1;
                    let _ = stream.write_all(&proof(&hello, &answer[..16 + NONCE_BYTES]));
                    // The connection is closed without an answer.
                    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
                }
            }
            thread::sleep(POLL_INTERVAL);
        }
        answered
    })
}

#[test]
fn only_ranks_with_the_same_secret_are_accepted() {
    let port = port();
    let elsewhere = |environment: &mut Environment| environment.peer_of = |_| Peer::Elsewhere;
    type Guess = fn(&[u8], &[u8]) -> Vec<u8>;
    let guesses: [Guess; 3] = [
        |_, answer| answer.to_vec(),
        |hello, answer| {
            secret("another one, and as long").proof(OTHER_RANK, &[hello, answer]).to_vec()
        },
        |hello, answer| secret(SHARED_SECRET).proof(RANK_0, &[hello, answer]).to_vec(),
    ];
    const SHARED_SECRET: &str = "what all ranks of the run know";
    let intruders = guesses.map(|guess| intrude(port, guess));
    // The last rank connects after the intruders have ended.
    let found = connect_ranks(3, port, move |environment| {
        elsewhere(environment);
        environment.secret = secret(SHARED_SECRET);
        if environment.place.rank == 2 {
            thread::sleep(3 * SECOND);
        }
    });
    for found in found {
        found.unwrap();
    }
    for intruder in intruders {
        assert!(intruder.join().unwrap() > 0, "no hello got a reply");
    }
}

#[test]
fn processes_of_other_users_are_refused() {
    let port = port();
    // Rank 0's check considers every peer to be another user's process.
    let others = [0, 1].map(|rank| {
        thread::spawn(move || {
            let mut environment = environment(rank, 2, port);
            if rank == 0 {
                environment.peer_of = |_| Peer::OtherUser(4321);
            }
            failure(&environment, 2 * SECOND)
        })
    });
    let [first, second] = others.map(|rank| rank.join().unwrap());
    assert!(first.contains("of 2 ranks, 1 did not connect within 2 s"), "{first}");
    let words =
        "was refused: it belongs to another user (uid 4321), and FOUR_LEVELS_SECRET is not set";
    assert!(first.contains(words), "{first}");
    assert!(second.contains("rank 0 was not found within 2 s at 127.0.0.1"), "{second}");
    assert!(second.contains("refuses this rank"), "{second}");
}

/// Another user's process runs the same program, and listens at rank 0's port.
#[test]
fn a_rank_0_of_another_user_or_without_the_secret_is_refused() {
    let is_refused = |change: fn(&mut Environment), words: &str| {
        let port = port();
        let false_one = thread::spawn(move || failure(&environment(0, 2, port), 2 * SECOND));
        let mut rank = environment(1, 2, port);
        change(&mut rank);
        let said = failure(&rank, SECOND);
        assert!(said.contains("rank 0 was not found within 1 s"), "{said}");
        assert!(said.contains(words), "{said}");
        let said = false_one.join().unwrap();
        assert!(said.contains("of 2 ranks, 1 did not connect"), "{said}");
    };
    is_refused(
        |rank| rank.peer_of = |_| Peer::OtherUser(99),
        "it belongs to another user (uid 99)",
    );
    is_refused(|rank| rank.peer_of = |_| Peer::Elsewhere, "it is not on this machine");
    is_refused(
        |rank| rank.secret = secret("what all ranks of the run know"),
        "it has a different FOUR_LEVELS_SECRET, or none",
    );
}

/// Before the ranks connect, the test opens more silent connections than rank 0 keeps open.
#[test]
fn silent_connections_do_not_keep_ranks_out() {
    let port = port();
    let silent = thread::spawn(move || {
        let mut held = Vec::new();
        while held.len() < MAX_GUESTS + 40 {
            for port in port..port + PORTS {
                held.extend(TcpStream::connect_timeout(
                    &SocketAddr::from(([127, 0, 0, 1], port)),
                    SECOND,
                ));
            }
        }
        held
    });
    let first = thread::spawn(move || environment(0, 2, port).connect_ranks(60 * SECOND));
    let held = silent.join().unwrap();
    environment(1, 2, port).connect_ranks(60 * SECOND).unwrap();
    first.join().unwrap().unwrap();
    drop(held);
}

/// A rank gives up after `--wait` even if the program at the port sends a byte now and then, or never welcomes the
/// rank.
#[test]
fn a_program_that_listens_at_the_port_can_not_delay_a_rank() {
    let port = port();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            // The thread sends bytes until the rank has disconnected.
            thread::spawn(move || {
                while stream.write_all(b"f").is_ok() {
                    thread::sleep(POLL_INTERVAL)
                }
            });
        }
    });
    let said = failure(&environment(1, 2, port), SECOND);
    assert!(said.contains("rank 0 was not found within 1 s at 127.0.0.1"), "{said}");
    // The program passes as rank 0, because it belongs to the same user, and then sends too little.
    for welcome in [&b""[..], &[WELCOME], &[WELCOME, 4, 0, 0, 0]] {
        let port = self::port();
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        thread::spawn(move || {
            let mut guest = Guest::new(listener.accept().unwrap().0);
            let rank_0 = environment(0, 2, port);
            while matches!(guest.advance(&rank_0), GuestStage::Open) {}
            guest.stream.write_all(welcome).unwrap();
            while guest.stream.write_all(b"").is_ok() && !is_gone(&guest.stream) {
                thread::sleep(POLL_INTERVAL);
            }
        });
        let said = failure(&environment(1, 2, port), SECOND);
        assert!(said.contains("did not report in time that all ranks are connected"), "{said}");
    }
}

#[test]
fn long_lists_of_ranks_are_cut() {
    assert_eq!(list([3, 5].into_iter()), "3, 5");
    assert_eq!(list(1..17), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16");
    assert!(list(1..1024).ends_with(", 16 and 1007 more"));
}

/// A rank that is connected to itself receives the bytes that it sends.
#[test]
fn an_echo_is_not_rank_0() {
    let port = port();
    let echo = TcpListener::bind(("127.0.0.1", port)).unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = echo.accept() {
            let mut bytes = [0; HELLO_LENGTH];
            let _ = stream.read_exact(&mut bytes).and_then(|()| stream.write_all(&bytes));
        }
    });
    let said = failure(&environment(1, 2, port), SECOND);
    assert!(said.contains("rank 0 was not found within 1 s at 127.0.0.1"), "{said}");
}

#[test]
fn a_wrong_number_of_ranks_and_a_duplicate_rank_are_reported() {
    for (others, words) in [
        (vec![(1, 4)], "rank 1 was started as one of 4 ranks, and rank 0 as one of 3"),
        (vec![(1, 3), (1, 3)], "two processes were started as rank 1"),
    ] {
        let port = port();
        let start =
            |(rank, of)| thread::spawn(move || failure(&environment(rank, of, port), 20 * SECOND));
        let threads: Vec<_> = [(0, 3)].into_iter().chain(others).map(start).collect();
        let said: Vec<String> = threads.into_iter().map(|rank| rank.join().unwrap()).collect();
        assert!(said[0].contains(words) && said.iter().any(|one| one.contains(words)), "{said:?}");
        // A rank that connects later may only learn that rank 0 has ended.
        assert!(
            said.iter().all(|one| one.contains(words)
                || one.contains("rank 0 is")
                || one.contains("rank 0 was")),
            "{said:?}"
        );
    }
}
