//! Tests that pin the random numbers of a seed, which initial parameters, shuffles and digits depend on.

use data::{Generator, Purpose};

/// The raw bits are ChaCha8's, by Bernstein's definition: the key is the seed and the index, 64
/// bits each, little-endian, then zeros; the stream number is the nonce.
#[test]
fn the_bits_are_those_of_chacha8() {
    let mut generator = Generator::new(1, Purpose::Digits, 2);
    assert_eq!(
        [(); 4].map(|()| generator.next_u32()),
        [0xab6c_2c8a, 0x3c9a_da4c, 0x9c11_32f6, 0xc174_34ec]
    );
}

#[test]
fn the_converted_numbers_are_the_same_everywhere() {
    let mut generator = Generator::new(1, Purpose::Parameters, 0);
    let units = [(); 2].map(|()| generator.unit().to_bits());
    let uniforms = [(); 2].map(|()| generator.uniform(-0.5, 0.5).to_bits());
    let normals = [(); 4].map(|()| generator.normal().to_bits());
    let integers = [(); 4].map(|()| generator.below(1000));
    let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
    generator.shuffle(&mut order);
    assert_eq!(units, [0x3f20_e95e, 0x3ec3_5294]);
    assert_eq!(uniforms, [0x3edb_aa0a, 0xbe51_fe94]);
    assert_eq!(normals, [0x3fc5_f8fa, 0x3fa1_9370, 0x3eb4_5730, 0xbf7c_284d]);
    assert_eq!(integers, [817, 843, 127, 219]);
    assert_eq!(order, [6, 4, 0, 1, 3, 5, 2, 7]);
}
