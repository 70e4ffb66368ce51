//! Calls that nobody would write: whatever the functions are given, they return a status that there is.

use std::ffi::c_uint;

use crate::support::{TWO, device, driver, ok, plays, symbol};

/// The files that declare functions.
const FILES: [&str; 9] = [
    include_str!("../../src/api/affinity.rs"),
    include_str!("../../src/api/field.rs"),
    include_str!("../../src/api/find.rs"),
    include_str!("../../src/api/identity.rs"),
    include_str!("../../src/api/memory.rs"),
    include_str!("../../src/api/mode.rs"),
    include_str!("../../src/api/peer.rs"),
    include_str!("../../src/api/process.rs"),
    include_str!("../../src/api/system.rs"),
];

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Argument {
    Handle,
    Number,
    Pointer,
}

/// Every function with its arguments, as the library declares them; some have two names.
fn functions() -> Vec<(&'static str, Vec<Argument>)> {
    let declared = FILES.iter().flat_map(|file| file.split("\n    fn nvml").skip(1));
    declared
        .flat_map(|declared| {
            let (names, rest) = declared.split_once('(').unwrap();
            let arguments = rest.split_once(')').unwrap().0.split(',').map(str::trim);
            let types = arguments.filter_map(|argument| Some(argument.split_once(": ")?.1));
            let of = |name: &str| match name {
                "Handle" => Argument::Handle,
                "c_uint" | "c_int" => Argument::Number,
                name if name.starts_with("Text<") || name.starts_with("Out<") => Argument::Pointer,
                other => panic!("what is {other}?"),
            };
            let types: Vec<Argument> = types.map(of).collect();
            names.split(" / nvml").map(move |name| (name, types.clone()))
        })
        .collect()
}

/// Pseudo-random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn one<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.next() as usize % list.len()]
    }
}

/// Words of a place: more than what any of the numbers asks for.
const PLACE: usize = 8192;

#[test]
fn every_call_ends_with_a_status() {
    if !plays("hostile::every_call_ends_with_a_status", TWO) {
        return;
    }
    driver();
    let functions = functions();
    assert!(functions.len() > 50, "{}", functions.len());
    let mut random = Random(7);
    let mut places = [vec![0u64; PLACE], vec![0u64; PLACE], vec![0u64; PLACE]];
    ok!(nvmlInit_v2());
    let cards = [device(0), device(1), device(0) + 2, 0, usize::MAX];
    let versions = [40 | 2 << 24, 64 | 1 << 24, 24 | 1 << 24, 52 | 1 << 24, 0, 1, u32::MAX];
    let (mut done, mut failed) = (0, 0);
    for _ in 0..40_000 {
        // A structure begins with its version, and its third word may lead elsewhere.
        let elsewhere = [0, places[2].as_mut_ptr() as u64];
        for place in &mut places[..2] {
            place[0] = u64::from(random.one(&versions)) | random.one(&[0, 1, 2, 3, 1 << 31]) << 32;
            place[1] = random.one(&[0, 1, 2, u64::from(u32::MAX)]);
            place[2] = random.one(&elsewhere);
            place[3..16].fill(random.one(&[0, 91, u64::MAX]));
            place[16..].fill(0);
        }
        let (name, arguments) = &functions[random.next() as usize % functions.len()];
        let mut words = [0usize; 5];
        for (word, argument) in words.iter_mut().zip(arguments) {
            *word = match argument {
                Argument::Handle => random.one(&cards),
                Argument::Number => random.one(&[0, 1, 2, 3, 7, 40, 64, 200]),
                Argument::Pointer => {
                    let which = random.next() as usize % 2;
                    random.one(&[0, 1, 1, 1]) * places[which].as_mut_ptr() as usize
                }
            };
        }
        let [a, b, c, d, e] = words;
        let function: unsafe extern "C" fn(usize, usize, usize, usize, usize) -> c_uint =
            symbol(&format!("nvml{name}"));
        // SAFETY: pointers are null, or lead to places that are larger than what the numbers say.
        let status = unsafe { function(a, b, c, d, e) };
        assert!(status <= 30 || status == 999, "nvml{name}{words:x?}: {status}");
        if status == 0 {
            done += 1;
        } else {
            failed += 1;
        }
    }
    assert!(done > 5_000 && failed > 5_000, "{done} were done, {failed} refused");
}
