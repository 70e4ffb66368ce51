//! Tests of faults that the sanitizer finds.

use ptx_emulator::{Checks, Fault, RunOptions};

use crate::run::{in_order, launch, new_bench};
use crate::support::{Arg, Bench, checked};
use crate::{expect, without_addresses};

/// Checks that the sanitizer with all checks finds a fault, and finds nothing in its corrected twin.
fn sanitized(name: &str, launch: impl Fn(&Bench) -> Result<(), Fault>) {
    sanitized_by(checked(), name, launch);
}

/// Like [`sanitized`], with only some of the checks, for a fault that several of them would find.
fn sanitized_by(options: RunOptions, name: &str, launch: impl Fn(&Bench) -> Result<(), Fault>) {
    let Err(fault) = launch(&new_bench(name, in_order(options))) else {
        panic!("nothing is said of {name}")
    };
    expect(name, &without_addresses(&fault));
    if let Err(fault) = launch(&new_bench(&format!("{name}_fixed"), checked())) {
        panic!("{fault}");
    }
}

#[test]
fn a_generic_address_is_not_a_local_address() {
    sanitized("generic_address_as_local", |bench| {
        let out = bench.allocate(1);
        launch(bench, "remember", 1, 1, &[Arg::U64(out)])?;
        assert_eq!(bench.read(out, 1), [1.0]);
        Ok(())
    });
}

#[test]
fn a_missing_barrier_is_a_race() {
    // Enables only racecheck, because the first thread that is early also reads memory that has not been written, which
    // initcheck would report first.
    let checks = Checks { races: true, ..Checks::default() };
    sanitized_by(RunOptions { checks, ..RunOptions::default() }, "missing_barrier", |bench| {
        let numbers: Vec<f32> = (0..64_u8).map(f32::from).collect();
        let z = bench.floats(&numbers);
        launch(bench, "reverse", 1, 64, &[Arg::U64(z)])?;
        assert!(bench.read(z, 64).iter().rev().eq(&numbers));
        Ok(())
    });
}

#[test]
fn a_barrier_after_divergence_is_found() {
    sanitized("divergent_barrier", |bench| {
        let z = bench.floats(&[-1.0; 32]);
        launch(bench, "relu", 1, 32, &[Arg::U64(z)])?;
        assert_eq!(bench.read(z, 32)[15..17], [0.0, -1.0]);
        Ok(())
    });
}

#[test]
fn an_index_out_of_range_is_found() {
    sanitized("index_out_of_range", |bench| {
        let z = bench.floats(&[-1.0; 40]);
        launch(bench, "relu", 2, 32, &[Arg::U64(z), Arg::U32(40)])?;
        assert_eq!(bench.read(z, 40), [0.0; 40]);
        Ok(())
    });
}

#[test]
fn a_wider_layer_overruns_a_local_array() {
    let run = |bench: &Bench, n: usize| {
        let (p, y) = (bench.floats(&vec![0.75; 2 * n]), bench.floats(&vec![0.5; 2 * n]));
        let dz = bench.allocate(2 * n);
        let args = [Arg::U64(p), Arg::U64(y), Arg::U64(dz), Arg::U32(n as u32)];
        launch(bench, "output_gradient", 1, 2, &args)?;
        assert_eq!(bench.read(dz, 2 * n), vec![0.25; 2 * n]);
        Ok(())
    };
    run(&new_bench("fixed_local_array", checked()), 16).expect("16 fit");
    sanitized("fixed_local_array", |bench| run(bench, 17));
}

#[test]
fn unwritten_gradients_are_found() {
    let (count, samples) = (30, 4);
    let run = |written: bool| {
        let bench = new_bench("unwritten_gradients", in_order(checked()));
        let w = bench.floats(&vec![1.0; count]);
        let gradients = vec![0.25; samples * count];
        let buffer =
            if written { bench.floats(&gradients) } else { bench.allocate(samples * count) };
        let args = [Arg::U64(w), Arg::U64(buffer), Arg::U32(30), Arg::U32(4), Arg::F32(0.5)];
        launch(&bench, "update", 1, 32, &args)?;
        assert_eq!(bench.read(w, count), vec![0.5; count]);
        Ok::<_, Fault>(())
    };
    expect("unwritten_gradients", &without_addresses(&run(false).unwrap_err()));
    if let Err(fault) = run(true) {
        panic!("{fault}");
    }
}
