//! Tests of a block's vector clocks.

use super::*;

fn write(threads: &mut ThreadClocks, thread: u32) -> Event {
    threads.current_moment(Semantics::default()).event(thread, 0xf)
}

#[test]
fn uniform_clock_equals_the_general_clocks() {
    let mut threads = ThreadClocks::new(64, 0).unwrap();
    threads.start(3);
    let mut events = vec![write(&mut threads, 3)];
    let asynchronous = Semantics { asynchronous: true, ..Semantics::default() };
    events.push(threads.current_moment(asynchronous).event(5, 0xf));
    for warp in 0..2 {
        threads.arrive(0, warp, u32::MAX, true);
    }
    threads.release(0, false);
    events.extend([write(&mut threads, 3), write(&mut threads, 35)]);
    events.push(threads.current_moment(asynchronous).event(40, 0xf));
    events.extend([Semantics::default(), asynchronous].map(|m| Event::new(9, 3, 1, m, 0xf)));
    for shared in [false, true] {
        let uniform = threads.uniform_clock(0, shared).expect("only a barrier of the whole block");
        for thread in 0..32 {
            let new = write(&mut threads, thread);
            for &old in &events {
                let known = threads.knows(thread, old, shared);
                assert_eq!(uniform.happens_before(new, old), known, "{thread} {old:?} {shared}");
            }
        }
    }
    threads.warp_sync(0, u32::MAX, u32::MAX);
    assert!(threads.uniform_clock(0, true).is_none() && threads.uniform_clock(1, true).is_some());
}

#[test]
fn block_barrier_orders_everything_before_it() {
    let mut threads = ThreadClocks::new(64, 0).unwrap();
    let before = write(&mut threads, 3);
    assert!(threads.knows(3, before, true) && !threads.knows(4, before, true));
    threads.arrive(0, 0, u32::MAX, true);
    threads.arrive(0, 1, u32::MAX, true);
    threads.release(0, false);
    let after = write(&mut threads, 3);
    assert!(threads.knows(63, before, true) && !threads.knows(63, after, true));
}

#[test]
fn barrier_of_two_warps_only_orders_these() {
    let mut threads = ThreadClocks::new(96, 0).unwrap();
    let producer = write(&mut threads, 0);
    let other = write(&mut threads, 64);
    // Warp 0 arrives and continues, warp 1 waits.
    threads.arrive(1, 0, u32::MAX, false);
    let late = write(&mut threads, 0);
    threads.arrive(1, 1, u32::MAX, true);
    threads.release(1, true);
    assert!(threads.knows(40, producer, true));
    assert!(!threads.knows(40, late, true) && !threads.knows(40, other, true));
    assert!(!threads.knows(70, producer, true));
    // A thread passes its knowledge on to threads that it synchronises with.
    threads.arrive(2, 1, u32::MAX, true);
    threads.arrive(2, 2, u32::MAX, true);
    threads.release(2, true);
    assert!(threads.knows(70, producer, true) && !threads.knows(70, late, true));
}

#[test]
fn warp_barrier_orders_its_members() {
    let mut threads = ThreadClocks::new(64, 0).unwrap();
    let event = write(&mut threads, 0);
    threads.warp_sync(0, 0xffff, u32::MAX);
    assert!(threads.knows(15, event, true) && !threads.knows(16, event, true));
    threads.warp_sync(0, u32::MAX, u32::MAX);
    assert!(threads.knows(31, event, true) && !threads.knows(32, event, true));
}

#[test]
fn fence_and_flag_order_threads_of_two_blocks() {
    let (mut one, mut other) =
        (ThreadClocks::new(32, 0).unwrap(), ThreadClocks::new(32, 0).unwrap());
    one.start(0);
    other.start(1);
    let (data, mate) = (write(&mut one, 0), write(&mut one, 1));
    assert!(one.clock_to_publish(0, true, false).is_none());
    one.fence(0, 1, true);
    let late = write(&mut one, 0);
    let flag = one.clock_to_publish(0, true, false).unwrap();
    other.learn_published_clock(5, &flag, true, false);
    assert!(!other.knows(5, data, false));
    other.fence(0, 1 << 5, true);
    assert!(other.knows(5, data, false));
    assert!(!other.knows(5, mate, false) && !other.knows(5, late, false));
    // A barrier passes the knowledge on to the whole block.
    assert!(!other.knows(6, data, false));
    other.arrive(0, 0, u32::MAX, true);
    other.release(0, false);
    assert!(other.knows(6, data, false));
}

#[test]
fn block_fence_publishes_nothing_to_other_blocks() {
    let mut threads = ThreadClocks::new(32, 0).unwrap();
    threads.fence(0, 1, false);
    assert!(threads.clock_to_publish(0, false, false).is_some());
    assert!(threads.clock_to_publish(0, true, false).is_none());
}
