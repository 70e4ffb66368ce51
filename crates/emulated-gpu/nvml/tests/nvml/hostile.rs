//! Random calls: with any arguments, a function returns one of NVML's statuses, and writes no more than its arguments
//! allow.

use std::ffi::c_uint;
use std::path::Path;

use crate::support::{TWO_CARDS, device, driver, in_child, ok, symbol};

/// The kind of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Argument {
    Handle,
    /// The capacity of an array, in elements.
    Length,
    /// The capacity of an array, as a signed number.
    SignedLength,
    Number,
    Pointer,
}

/// Every function with its arguments, as the library declares them; some functions have two names.
fn functions() -> Vec<(String, Vec<Argument>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files: Vec<String> = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let declared = files.iter().flat_map(|file| file.split("\n    fn nvml").skip(1));
    let mut functions: Vec<_> = declared
        .flat_map(|declared| {
            let (names, rest) = declared.split_once('(').unwrap();
            let arguments = rest.split_once(')').unwrap().0.split(',').map(str::trim);
            let arguments = arguments.filter_map(|argument| argument.split_once(": "));
            let kind = |(name, ty): (&str, &str)| match (name, ty) {
                (_, "Handle") => Argument::Handle,
                ("len" | "_len", "c_uint") => Argument::Length,
                ("count", "c_int") => Argument::SignedLength,
                (_, "c_uint") => Argument::Number,
                (_, ty) if ty.starts_with("Text<") || ty.starts_with("Out<") => Argument::Pointer,
                other => panic!("unknown kind of argument: {other:?}"),
            };
            let arguments: Vec<Argument> = arguments.map(kind).collect();
            names.split(" / nvml").map(move |name| (name.to_owned(), arguments.clone()))
        })
        .collect();
    // The operating system lists files in an arbitrary order.
    functions.sort_by(|(one, _), (other, _)| one.cmp(other));
    functions
}

/// A pseudo-random number generator with a fixed seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn choose<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.next() as usize % list.len()]
    }
}

/// Size of a buffer in words. The longest list (200 fields of 40 bytes) fits into the first half; the second half
/// detects writes beyond a list.
const LIST_WORDS: usize = 1024;
const BUFFER_WORDS: usize = 2 * LIST_WORDS;

#[test]
fn every_call_returns_a_status() {
    in_child!(TWO_CARDS);
    driver();
    let functions = functions();
    assert!(functions.len() > 50, "{}", functions.len());
    let mut random = Random(7);
    let mut places = [vec![0u64; BUFFER_WORDS], vec![0u64; BUFFER_WORDS], vec![0u64; BUFFER_WORDS]];
    ok!(nvmlInit_v2());
    let cards = [device(0), device(1), device(0) + 2, 0, usize::MAX];
    let versions = [40 | 2 << 24, 64 | 1 << 24, 24 | 1 << 24, 52 | 1 << 24, 0, 1, u32::MAX];
    let (mut succeeded, mut failed) = (0, 0);
    for _ in 0..40_000 {
        // The words imitate structures: these start with a version, and the third word may be a pointer.
        let elsewhere = [0, places[2].as_mut_ptr() as u64];
        for place in &mut places[..2] {
            place[0] =
                u64::from(random.choose(&versions)) | random.choose(&[0, 1, 2, 3, 1 << 31]) << 32;
            place[1] = random.choose(&[0, 1, 2, u64::from(u32::MAX)]);
            place[2] = random.choose(&elsewhere);
            place[3..16].fill(random.choose(&[0, 91, u64::MAX]));
            place[16..LIST_WORDS].fill(0);
        }
        let (name, arguments) = &functions[random.next() as usize % functions.len()];
        let mut words = [0usize; 5];
        for (word, argument) in words.iter_mut().zip(arguments) {
            *word = match argument {
                Argument::Handle => random.choose(&cards),
                Argument::Length => random.choose(&[0, 1, 2, 3, 7, 40, 64, 200]),
                Argument::SignedLength => {
                    random.choose(&[0, 1, 7, 200, 1 << 31, u32::MAX as usize])
                }
                Argument::Number => random.choose(&[0, 1, 2, 3, 7, 64, 1 << 31, u32::MAX as usize]),
                Argument::Pointer => {
                    let which = random.next() as usize % 2;
                    random.choose(&[0, 1, 1, 1]) * places[which].as_mut_ptr() as usize
                }
            };
        }
        let [a, b, c, d, e] = words;
        let function: unsafe extern "C" fn(usize, usize, usize, usize, usize) -> c_uint =
            symbol(&format!("nvml{name}"));
        // SAFETY: pointers are null, or point to buffers that are larger than the lengths.
        let status = unsafe { function(a, b, c, d, e) };
        // A panic would return `NVML_ERROR_UNKNOWN`, 999, which no function returns for any other reason here.
        assert!(status <= 30, "nvml{name}{words:x?}: {status}");
        if status == 0 {
            succeeded += 1;
        } else {
            failed += 1;
        }
    }
    assert!(places.iter().all(|place| place[LIST_WORDS..].iter().all(|word| *word == 0)));
    assert!(succeeded > 5_000 && failed > 5_000, "{succeeded} succeeded, {failed} failed");
}
