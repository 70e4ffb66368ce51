use super::*;

/// The length of the test's memory: more than two blocks. Each byte has a different value.
const LEN: usize = 96;

fn bytes() -> Vec<u8> {
    (0..LEN as u8).map(|at| at.wrapping_mul(37) ^ 0x5a).collect()
}

/// Copies of various lengths, with all alignments of source and destination.
fn ranges() -> impl Iterator<Item = (usize, usize, usize)> {
    let offsets = (0..9).flat_map(|to| (0..9).map(move |from| (to, from)));
    offsets.flat_map(|(to, from)| {
        [0, 1, 3, 7, 8, 9, 31, 32, 33, 47, 64, 75].map(|len| (to, from, len))
    })
}

#[test]
fn bytes_only_change_in_the_range() {
    let source = bytes();
    for (to, from, len) in ranges() {
        let mut expected = vec![0xee; LEN];
        expected[to..to + len].copy_from_slice(&source[from..from + len]);
        let mut target = vec![0xee; LEN];
        // SAFETY: at most 75 bytes, starting at an offset of at most 8, are inside the 96 bytes.
        unsafe { write(target.as_mut_ptr().add(to), &source[from..from + len]) };
        assert_eq!(target, expected, "write {to} {from} {len}");
        let mut target = vec![0xee; LEN];
        // SAFETY: as above.
        unsafe { read(source.as_ptr().add(from), &mut target[to..to + len]) };
        assert_eq!(target, expected, "read {to} {from} {len}");
        let mut target = vec![0xee; LEN];
        // SAFETY: as above.
        unsafe { copy(target.as_mut_ptr().add(to), source.as_ptr().add(from), len) };
        assert_eq!(target, expected, "copy {to} {from} {len}");
    }
}

#[test]
fn overlapping_copies_are_correct() {
    for (to, from, len) in ranges().chain([(0, 20, 75), (20, 0, 75), (16, 0, 75), (0, 16, 75)]) {
        let mut expected = bytes();
        expected.copy_within(from..from + len, to);
        let mut target = bytes();
        let start = target.as_mut_ptr();
        // SAFETY: both ranges are inside one vector (`Vec`).
        unsafe { copy(start.add(to), start.add(from), len) };
        assert_eq!(target, expected, "{to} {from} {len}");
    }
}

#[test]
fn patterns_repeat_from_the_start() {
    for (pattern, to, count) in (1..=8)
        .flat_map(|len| (0..9).map(move |to| (len, to)))
        .flat_map(|(len, to)| [0, 1, 2, 5, 10].map(|count| (&b"abcdefgh"[..len], to, count)))
    {
        let mut expected = vec![0; LEN];
        expected[to..to + pattern.len() * count].copy_from_slice(&pattern.repeat(count));
        let mut target = vec![0; LEN];
        // SAFETY: at most 80 bytes, starting at an offset of at most 8, are inside the 96 bytes.
        unsafe { fill(target.as_mut_ptr().add(to), pattern, count) };
        assert_eq!(target, expected, "{pattern:?} at {to}, {count} times");
    }
}

#[test]
fn rows_equal_in_both_versions() {
    fn both<const AVX: bool>(source: &[u32; 24]) -> (Vec<u32>, Vec<u64>, Vec<u32>) {
        let (mut narrow, mut wide) = ([0u32; 16], [0u64; 8]);
        let mut target = [7u32; 24];
        // SAFETY: the rows are inside the arrays; `u64` are aligned because the array starts at a
        // multiple of 8, and the tests only use AVX if the host has it.
        unsafe {
            load_row::<u32, AVX>(source.as_ptr().add(3).cast(), &mut narrow);
            load_row::<u64, AVX>(source.as_ptr().add(2).cast(), &mut wide);
            store_row::<u32, AVX>(target.as_mut_ptr().add(5).cast(), &narrow);
        }
        (narrow.into(), wide.into(), target.into())
    }
    #[repr(align(8))]
    struct Aligned([u32; 24]);
    let source = Aligned(std::array::from_fn(|at| at as u32 * 0x0101_0101));
    let portable = both::<false>(&source.0);
    assert_eq!(portable.0, source.0[3..19]);
    assert_eq!((portable.2[4], portable.2[5], portable.2[21]), (7, source.0[3], 7));
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        assert_eq!(both::<true>(&source.0), portable);
    }
}

/// Reads and writes three words of each type, and more words than fit into a block, at all aligned
/// offsets.
#[test]
fn words_only_change_in_the_range() {
    fn check<T: Word + PartialEq + std::fmt::Debug>(word: impl Fn(u8) -> T) {
        for (first, count) in (0..9).flat_map(|first| [0, 1, 3, 8, 40].map(|count| (first, count)))
        {
            let source: Vec<T> = (0..64).map(&word).collect();
            let mut read = vec![T::default(); count];
            // SAFETY: 40 words, starting at most at the eighth, are inside 64.
            unsafe { read_words(source.as_ptr().add(first).cast(), &mut read) };
            assert_eq!(read, source[first..first + count], "{first} {count}");
            let mut target = vec![word(99); 64];
            let mut expected: Vec<T> = (0..64).map(|_| word(99)).collect();
            expected[first..first + count].copy_from_slice(&read);
            // SAFETY: as above.
            unsafe { write_words(target.as_mut_ptr().add(first).cast(), &read) };
            assert_eq!(target, expected, "{first} {count}");
        }
    }
    check(|at| at);
    check(|at| u16::from(at) * 257);
    check(|at| u32::from(at) * 0x0101_0101);
    check(|at| u64::from(at) << 33 | 7);
    check(|at| f32::from(at) / 3.0);
    check(|at| f64::from(at) / 3.0);
}
