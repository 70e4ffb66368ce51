//! Ranks as threads, which find each other through the loopback.

use std::thread;

use super::*;

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

/// A port with others behind it that nobody has just now.
fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().min(u16::MAX - 2 * PORTS)
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn what_the_environment_lacks_is_named() {
    let said = |set: &[(&str, &str)]| {
        let of = |name: &str| {
            let found = set.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Environment::read(of).map(|_| ()).unwrap_err().to_string()
    };
    assert!(said(&[]).contains("RANK or SLURM_PROCID"));
    assert!(said(&[("RANK", "0")]).contains("WORLD_SIZE or SLURM_NTASKS"));
    assert!(said(&[("RANK", "x")]).contains("RANK is \"x\""));
    let ranks = [("RANK", "4"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "0")];
    assert!(said(&ranks).contains("count from 0"));
    let slurm = [("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2"), ("SLURM_LOCALID", "1")];
    assert!(said(&slurm).contains("MASTER_ADDR"));
    let all = [&slurm[..], &[("MASTER_ADDR", "localhost"), ("MASTER_PORT", "65533")]].concat();
    assert!(said(&all).contains("MASTER_PORT is 65533"));
}

#[test]
fn torchruns_own_port_is_left_to_it() {
    let read = |taken: &'static str| {
        let of = move |name: &str| {
            Some(match name {
                "RANK" | "LOCAL_RANK" => "0".into(),
                "WORLD_SIZE" => "2".into(),
                "MASTER_ADDR" => "localhost".into(),
                "MASTER_PORT" => "29500".into(),
                "TORCHELASTIC_USE_AGENT_STORE" => taken.to_owned(),
                _ => return None,
            })
        };
        Environment::read(of).unwrap().port
    };
    assert_eq!((read("False"), read("True")), (29500, 29501));
}

#[test]
fn ranks_find_each_other_past_strangers() {
    let port = port();
    // Somebody else has the first port, and answers nonsense.
    let stranger = TcpListener::bind(("127.0.0.1", port));
    thread::spawn(move || {
        while let Ok((mut stream, _)) = stranger.as_ref().unwrap().accept() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n");
        }
    });
    // And somebody comes to rank 0 who is no rank.
    thread::spawn(move || {
        for port in port + 1..port + PORTS {
            if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
                let _ = stream.write_all(&[0x5a; 100]);
            }
        }
    });
    let ranks: Vec<_> = (0..3)
        .map(|rank| thread::spawn(move || environment(rank, 3, port).meet(20 * SECOND)))
        .collect();
    let mut found: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap().unwrap()).collect();
    let mut keys: Vec<usize> = found[0].keys().copied().collect();
    keys.sort_unstable();
    assert_eq!(keys, [1, 2]);
    // The connections are those of the ranks that they are said to be of.
    for rank in [1, 2] {
        link::write(found[0].get_mut(&rank).unwrap(), WELCOME, &[rank as u8]).unwrap();
        let heard = link::read(found[rank].get_mut(&0).unwrap()).unwrap();
        assert_eq!(heard, (WELCOME, vec![rank as u8]));
    }
}

#[test]
fn a_rank_that_never_comes_is_named_on_every_other() {
    let port = port();
    let ranks: Vec<_> = [0, 2]
        .map(|rank| thread::spawn(move || environment(rank, 3, port).meet(2 * SECOND)))
        .into_iter()
        .collect();
    for rank in ranks {
        let said = rank.join().unwrap().map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("of 3 ranks, 1 did not come within 2 s"), "{said}");
    }
    let alone = environment(1, 2, port).meet(SECOND).map(|_| ()).unwrap_err().to_string();
    assert!(alone.contains("rank 0 is not found within 1 s at 127.0.0.1"), "{alone}");
}

/// What a connection to oneself would answer: the same bytes.
#[test]
fn an_echo_is_not_rank_0() {
    let port = port();
    let echo = TcpListener::bind(("127.0.0.1", port)).unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = echo.accept() {
            let mut bytes = [0; HELLO];
            let _ = stream.read_exact(&mut bytes).and_then(|()| stream.write_all(&bytes));
        }
    });
    let said = environment(1, 2, port).meet(SECOND).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("rank 0 is not found within 1 s at 127.0.0.1"), "{said}");
}

#[test]
fn ranks_that_count_otherwise_or_are_twice_there_are_told() {
    for (others, words) in [
        (vec![(1, 4)], "rank 1 says that there are 4 ranks, and rank 0 that there are 3"),
        (vec![(1, 3), (1, 3)], "two processes say that they are rank 1"),
    ] {
        let port = port();
        let mut ranks = vec![(0, 3)];
        ranks.extend(others);
        let threads: Vec<_> = ranks
            .into_iter()
            .map(|(rank, of)| thread::spawn(move || environment(rank, of, port).meet(20 * SECOND)))
            .collect();
        let said: Vec<String> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap().map(|_| ()).unwrap_err().to_string())
            .collect();
        assert!(said[0].contains(words) && said.iter().any(|one| one.contains(words)), "{said:?}");
        // Whoever came second is sent away with the first's end.
        assert!(
            said.iter().all(|one| one.contains(words) || one.contains("rank 0 is")),
            "{said:?}"
        );
    }
}
