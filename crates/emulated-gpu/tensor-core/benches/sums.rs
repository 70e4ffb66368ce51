//! Benchmark: products per second on one thread (`cargo bench -p tensor-core`).

use divan::Bencher;
use divan::counter::ItemsCount;
use tensor_core::{COLUMNS, Format, Line, Rules, Strip, Sum, WIDTH, dot, multiply};

fn main() {
    divan::main();
}

const LENGTH: usize = 784;
const FORMATS: (Format, Format) = (Format::Tf32, Format::Tf32);

fn value(index: usize) -> f32 {
    let value = ((index * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0;
    f32::from_bits(value.to_bits() & 0xffff_e000)
}

#[divan::bench(args = [80, 90])]
fn strips(bencher: Bencher<'_, '_>, capability: u32) {
    let rules = Rules::new(capability, Format::Tf32);
    let mut memory = vec![0.0; Line::elements(LENGTH)];
    let line = Line::new(Format::Tf32, LENGTH, &mut memory, value).expect("its length");
    let mut memory = vec![[0.0; WIDTH]; Strip::rows(LENGTH)];
    let factor = |k: usize, n: usize| value(k * WIDTH + n);
    let strip = Strip::new(Format::Tf32, (LENGTH, WIDTH), &mut memory, factor).expect("its length");
    bencher
        .counter(ItemsCount::new(LENGTH * WIDTH))
        .bench(|| strip.sum(&rules, Sum::Single, divan::black_box(&line)));
}

/// Benchmarks [`multiply`] as compiled for the target's minimum processor, without run-time
/// detection of vector instructions.
#[divan::bench(args = [80, 90])]
fn tiles(bencher: Bencher<'_, '_>, capability: u32) {
    let rules = Rules::new(capability, Format::Tf32);
    let a = [std::array::from_fn(value); 16];
    let b: [[f32; COLUMNS]; 8] = std::array::from_fn(|k| std::array::from_fn(|n| value(k * 8 + n)));
    bencher.counter(ItemsCount::new(16_usize * 8 * COLUMNS)).bench(|| {
        let mut c = [[0.5; COLUMNS]; 16];
        multiply::<8>(&rules, FORMATS, Sum::Single, divan::black_box(&a), &b, &mut c);
        c
    });
}

#[divan::bench(args = [80, 90])]
fn one_sum(bencher: Bencher<'_, '_>, capability: u32) {
    let rules = Rules::new(capability, Format::Tf32);
    let factors: Vec<(f32, f32)> = (0..LENGTH).map(|k| (value(k), value(k + 5))).collect();
    bencher
        .counter(ItemsCount::new(LENGTH))
        .bench(|| dot(&rules, FORMATS, Sum::Single, divan::black_box(&factors), 0.0));
}
