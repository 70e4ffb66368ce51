//! The computations of the programs in `cuda`, repeated in plain Rust.

/// The results of `tiles.cu`.
pub(crate) fn tiles(x: &[u32]) -> Vec<u32> {
    let mut out = Vec::new();
    for t in 0..x.len() {
        for size in [2, 4, 8, 16, 32] {
            let first = t / size * size;
            let (tile, rank) = (&x[first..first + size], t - first);
            let bits = |holds: &dyn Fn(u32) -> bool| {
                tile.iter()
                    .enumerate()
                    .fold(0u32, |set, (lane, &x)| set | u32::from(holds(x)) << lane)
            };
            let sum = |part: &[u32]| part.iter().fold(0u32, |sum, x| sum.wrapping_add(*x));
            let any = tile.iter().any(|x| x % 16 == 3);
            let all = tile.iter().all(|x| x % 16 < 15);
            out.extend([
                sum(tile),
                // Beyond the end, a lane reads its own value.
                tile[(rank + 1).min(size - 1).max(rank)],
                tile[1],
                bits(&|x| x & 1 == 1),
                u32::from(any) + 2 * u32::from(all),
                bits(&|other| other & 3 == x[t] & 3),
                *tile.iter().max().unwrap(),
                sum(&tile[..=rank]),
            ]);
        }
    }
    out
}

/// The results of `groups.cu`: the values that were kept, sorted, and the words of the threads.
pub(crate) fn groups(x: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut kept: Vec<u32> = x.iter().copied().filter(|x| x % 3 == 0).collect();
    kept.sort_unstable();
    let mut out = Vec::new();
    for (t, &own) in x.iter().enumerate() {
        let first = t / 32 * 32;
        let warp = || x[first..first + 32].iter().copied().enumerate();
        let group = |same: &dyn Fn(u32) -> bool| -> (Vec<u32>, u32) {
            let members: Vec<u32> = warp().map(|(_, x)| x).filter(|x| same(*x)).collect();
            let rank = warp().take(t - first).filter(|(_, x)| same(*x)).count();
            (members, rank as u32)
        };
        let (label, rank) = group(&|other| other % 5 == own % 5);
        out.push(label.iter().fold(0u32, |sum, x| sum.wrapping_add(*x)));
        out.push(label.len() as u32 * 100 + rank);
        let (half, _) = group(&|other| (other > 1 << 31) == (own > 1 << 31));
        out.push(*half.iter().min().unwrap());
        let (here, rank) = group(&|other| other & 4 != 0);
        let (deeper, _) = group(&|other| other & 12 == 12);
        out.push(match own & 12 {
            0 | 8 => 0,
            bits => {
                let size = here.len() as u32;
                let last = here[here.len() - 1] & 0x00ff_0000;
                let deep = if bits == 12 { (deeper.len() as u32) << 24 } else { 0 };
                (size * 100 + rank).wrapping_add(last).wrapping_add(deep)
            }
        });
        let ballot = half.iter().enumerate();
        out.push(ballot.fold(0, |set, (lane, x)| set | (x & 1) << lane));
    }
    (kept, out)
}

/// The results of `matches.cu`.
pub(crate) fn matches(x: &[u32]) -> Vec<u32> {
    let mut out = Vec::new();
    for (t, &own) in x.iter().enumerate() {
        let first = t / 32 * 32;
        let warp = || x[first..first + 32].iter().copied().enumerate();
        let set = |holds: &dyn Fn(u32) -> bool| {
            warp().fold(0u32, |set, (lane, x)| set | u32::from(holds(x)) << lane)
        };
        let fellow = |x: u32| x % 7 == own % 7;
        let same = set(&fellow);
        let members: Vec<u32> = warp().map(|(_, x)| x).filter(|x| fellow(*x)).collect();
        let alike = members.iter().all(|x| x % 14 == members[0] % 14);
        let before = (same & ((1 << (t % 32)) - 1)).count_ones();
        let ballot = set(&|x| fellow(x) && x & 8 != 0);
        out.extend([
            same,
            members.iter().fold(0u32, |sum, x| sum.wrapping_add(*x)),
            1000 * same.count_ones() + before,
            ballot | u32::from(members.iter().any(|x| x & 16 != 0)) << 31,
            if alike { same ^ 1 << 30 } else { 0 },
            *members.iter().min().unwrap(),
        ]);
    }
    out
}

/// Pairs with all bit lengths, and edge cases.
pub(crate) fn pairs_of_128_bits(numbers: &[u32]) -> Vec<(u128, u128)> {
    let mut pairs = vec![
        (10u128.pow(30), 7),
        (u128::MAX, 1),
        (u128::MAX, u128::MAX),
        (u128::MAX, u128::MAX - 1),
        (1, u128::MAX),
        (0, 5),
        (1 << 127, 3),
        ((1 << 127) - 1, (1 << 64) - 1),
        (u128::MAX - 5, 1 << 64),
        (u128::MAX << 64, (1 << 96) - 1),
    ];
    let whole =
        |part: &[u32]| part.iter().fold(0u128, |value, &word| value << 32 | u128::from(word));
    for (index, part) in numbers.chunks_exact(8).enumerate().take(118) {
        let (a, b) = (whole(&part[..4]), whole(&part[4..]));
        let b = b >> (index % 128);
        pairs.push((a >> (index * 7 % 31), b.max(1)));
    }
    pairs
}

/// The results of `int128.cu`.
pub(crate) fn int128(a: u128, b: u128) -> [u128; 8] {
    let (c, d) = (a as i128, b as i128);
    let shifted = (a >> (b as u32 & 127)) ^ (a << (b as u32 & 63));
    let less = u128::from(a < b) << 64 | u128::from(c < d);
    // To a double and back, which saturates.
    let double = u128::from(a as u64 as f64 as u64);
    [
        a / b,
        a % b,
        c.wrapping_div(d) as u128,
        c.wrapping_rem(d) as u128,
        a.wrapping_mul(b),
        a.wrapping_sub(b),
        a.wrapping_add(b) ^ shifted,
        less.wrapping_add(double),
    ]
}

/// The results of `cub.cu`.
pub(crate) fn cub(x: &[u32]) -> Vec<u32> {
    let sum = |part: &[u32]| part.iter().fold(0u32, |sum, x| sum.wrapping_add(*x));
    let mut sorted = x.to_vec();
    sorted.sort_unstable();
    let mut out = Vec::new();
    for t in 0..x.len() {
        out.extend([
            if t % 8 == 0 { sum(&x[t..t + 8]) } else { 0 },
            sum(&x[t / 16 * 16..=t]),
            if t % 4 == 0 { x[t..t + 4].iter().map(|x| x % 1000).max().unwrap() } else { 0 },
            if t == 0 { sum(x) } else { 0 },
            sum(&x[..t]),
            sorted[t],
        ]);
    }
    out
}

/// Floats that test the narrow formats: normal, subnormal, too large, infinite, halfway between two values.
pub(crate) fn floats(numbers: &[u32]) -> Vec<f32> {
    let mut floats = vec![
        0.0,
        -0.0,
        1.0,
        -1.5,
        448.0,
        464.0,
        480.0,
        57344.0,
        61440.0,
        65504.0,
        65519.0,
        65520.0,
        1e-7,
        f32::INFINITY,
        f32::NEG_INFINITY,
        0.001_953_125,
        0.000_976_562_5,
        0.000_976_6,
        1.0625,
        1.1875,
        3.389e38,
        6e-8,
        1.525_878_9e-5,
        7.63e-6,
    ];
    let rest = numbers.len() - floats.len();
    floats.extend(numbers.iter().take(rest).map(|n| {
        let exponent = (n >> 9) % 44;
        let sign = n & 0x8000_0000;
        f32::from_bits(sign | (127 - 25 + exponent) << 23 | n & 0x007f_f000)
    }));
    floats
}

/// The bits of a value in a format with `exponents` and `mantissa` bits, from the definition of the format: the
/// nearest multiple of the spacing, with ties to even; or, without `nearest`, rounded towards zero.
fn rounded(x: f32, (exponents, mantissa): (i32, i32), nearest: bool) -> (u32, f64) {
    let bias = (1 << (exponents - 1)) - 1;
    let value = f64::from(x).abs();
    let exponent =
        if value == 0.0 { 1 - bias } else { (value.log2().floor() as i32).max(1 - bias) };
    let spacing = 2f64.powi(exponent - mantissa);
    let steps = value / spacing;
    let steps = if nearest { steps.round_ties_even() } else { steps.floor() };
    // In units of the smallest number, the encodings of one sign are ordered.
    let code = steps as i64 + i64::from(exponent + bias - 1) * (1 << mantissa);
    (code as u32, steps * spacing)
}

fn binary16(x: f32, nearest: bool) -> u32 {
    let sign = x.to_bits() >> 31 << 15;
    let most = if nearest || x.is_infinite() { 0x7c00 } else { 0x7bff };
    let code = if x.is_infinite() { most } else { rounded(x, (5, 10), nearest).0.min(most) };
    sign | code
}

/// The value of a binary16.
fn half(bits: u32) -> f64 {
    let (exponent, mantissa) = (bits >> 10 & 31, f64::from(bits & 0x3ff));
    let value = match exponent {
        31 if bits & 0x3ff == 0 => f64::INFINITY,
        31 => f64::NAN,
        0 => mantissa * 2f64.powi(-24),
        _ => (1024.0 + mantissa) * 2f64.powi(exponent as i32 - 25),
    };
    if bits >> 15 == 1 { -value } else { value }
}

/// A brain float is the upper half of an f32, rounded by the lower half.
fn bf16_bits(x: f32, nearest: bool) -> u32 {
    let bits = x.to_bits();
    if nearest { (bits + 0x7fff + (bits >> 16 & 1)) >> 16 } else { bits >> 16 }
}

/// The results of `narrow.cu`.
pub(crate) fn narrow(x: f32) -> [u32; 6] {
    let h = binary16(x, true);
    let sign = x.to_bits() >> 31 << 7;
    let eight = |format: (i32, i32), most: f64, greatest: u32| {
        if x.is_infinite() {
            return sign | greatest;
        }
        let (code, value) = rounded(x, format, true);
        let code = if value > most { greatest } else { code };
        sign | code
    };
    // Values beyond the greatest finite numbers of E4M3 and E5M2 saturate (OCP 8-bit floating point).
    let e4 = eight((4, 3), 448.0, 0x7e);
    let e5 = eight((5, 2), 57344.0, 0x7b);
    let e4_as_half = {
        let (exponent, mantissa) = (e4 >> 3 & 15, e4 & 7);
        let value = match exponent {
            0 => f64::from(mantissa) * 2f64.powi(-9),
            _ => f64::from(8 + mantissa) * 2f64.powi(exponent as i32 - 10),
        };
        binary16(value as f32, true) | sign << 8
    };
    let doubled = binary16((2.0 * half(h)) as f32, true);
    [
        h | binary16(x, false) << 16,
        (half(doubled) as f32).to_bits(),
        bf16_bits(x, true) | bf16_bits(x, false) << 16,
        bf16_bits(x, true) << 16,
        e4 | e5 << 16,
        e4_as_half | e5 << 8 << 16,
    ]
}

/// The results of `calls.cu`.
pub(crate) fn calls(x: u32) -> [u32; 4] {
    let table = [2 * x, x * x, x + 1][x as usize % 3];
    let (area, sides) = if x & 1 == 0 { (x * x, 4) } else { (x * (x % 10) / 2, 0) };
    let fibonacci = |n: u32| (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
    [table, area + 1_000_000 * sides, fibonacci(x % 12), u32::from(x.is_multiple_of(2))]
}

/// The results of `barriers.cu`: phases of a block of 64, threads that drop out, copies, a pipeline. 5 words
/// for each thread.
pub(crate) fn barriers(operands: &[u32]) -> Vec<u32> {
    let n = 64;
    let mut x = operands[..n].to_vec();
    for phase in 0..3 {
        let before = x.clone();
        for (t, own) in x.iter_mut().enumerate() {
            *own = own.wrapping_mul(5).wrapping_add(before[(t + 1) % n]) ^ phase;
        }
    }
    let words = |t: usize| {
        let dropped = if t.is_multiple_of(2) { x[t].wrapping_add(x[t + 1]) } else { x[t] };
        let piped = (0..4).fold(0_u32, |sum, batch| {
            sum.wrapping_mul(3).wrapping_add(operands[batch * n + (t + 1) % n])
        });
        [x[t], dropped, operands[2 * n - 1 - t], operands[3 * n - 1 - t], piped]
    };
    (0..n).flat_map(words).collect()
}

/// The results of `grid.cu`: four rounds in which each thread adds the value of the same thread in the next
/// block.
pub(crate) fn grid(blocks: usize, threads: usize) -> Vec<u32> {
    let n = blocks * threads;
    let mut x: Vec<u32> = (1..=n as u32).collect();
    for _ in 0..4 {
        let before = x.clone();
        for (me, own) in x.iter_mut().enumerate() {
            *own = own.wrapping_mul(3).wrapping_add(before[(me + threads) % n]);
        }
    }
    x.iter().map(|x| x.wrapping_add(7 + blocks as u32)).collect()
}

/// The results of `wide.cu`: sums, shuffles and votes of tiles of 64. 3 words for each thread.
pub(crate) fn wide_tiles(operands: &[u32]) -> Vec<u32> {
    let tiles = operands.chunks(64).enumerate();
    tiles
        .flat_map(|(rank, tile)| {
            let sum = tile.iter().fold(0_u32, |sum, x| sum.wrapping_add(*x));
            let any = tile.iter().any(|x| x % 64 == 5);
            let all = tile.iter().all(|x| x % 2 == 0);
            let words = [sum, tile[rank * 7 + 3], u32::from(any) * 2 + u32::from(all)];
            std::iter::repeat_n(words, 64).flatten()
        })
        .collect()
}
