//! Tests with dumps that don't fit the network: tensors with wrong shapes, in the wrong order, too many or too
//! few; headers that differ.

use tensor::{Dump, DumpedTensor, Loss, TensorName};
use tensor_diff::{PatternKind, Verdict};

use crate::support::faults::{each_tensor, first, given, kind, starts};
use crate::support::{data, diff, explain, tensor_mut};

#[test]
fn a_wrong_shape() {
    let injected = each_tensor(
        |tensor| {
            tensor.shape.reverse();
            tensor.shape.len() == 2 && tensor.shape[0] != tensor.shape[1]
        },
        |_, name, found| {
            found.rows.get(name).unwrap().verdict == Verdict::Shape
                && kind(found) == Some(PatternKind::AxesExchanged)
        },
    );
    assert!(injected > 100);
    each_tensor(
        |tensor| {
            tensor.shape.push(1);
            true
        },
        |_, name, found| {
            // An additional axis of length 1 makes a shape wrong: `[n, 1]` is not `[n]`.
            found.rows.get(name).unwrap().verdict == Verdict::Shape
        },
    );
}

/// A reference whose tensors contradict its own parameters proves nothing.
#[test]
fn a_wrong_shape_in_both_dumps() {
    let start = &starts()[0];
    let (mut reference, mut candidate) = (start.reference(), start.candidate());
    for dump in [&mut reference, &mut candidate] {
        tensor_mut(dump, TensorName::Dw(2)).shape.reverse();
    }
    let found = diff(&reference, &candidate);
    assert_eq!((first(&found), found.rows.mismatches()), (TensorName::Dw(2), 1));
}

#[test]
fn a_missing_tensor() {
    for start in starts() {
        let (reference, clean) = (start.reference(), start.candidate());
        for name in clean.tensors.iter().map(|tensor| tensor.name) {
            let without = |dump: &Dump| {
                let mut dump = dump.clone();
                dump.tensors.retain(|tensor| tensor.name != name);
                dump
            };
            let (lacking, lame) = (without(&clean), without(&reference));
            let found = diff(&reference, &lacking);
            assert_eq!(first(&found), name);
            assert_eq!(found.rows.get(name).unwrap().verdict, Verdict::Missing);
            assert_eq!(found.rows.mismatches(), 1, "{}", explain(&found));
            let reading = &found.first_divergence.as_ref().unwrap().reading;
            assert!(reading.contains("missing from the candidate"), "{reading}");

            // A tensor that the reference lacks is recomputed for the bounds of others, but is still reported as
            // missing.
            let found = diff(&lame, &clean);
            assert_eq!(found.rows.get(name).unwrap().verdict, Verdict::Missing);
            if !given(name) {
                assert_eq!(
                    (first(&found), found.rows.mismatches()),
                    (name, 1),
                    "{}",
                    explain(&found)
                );
            }
            assert!(!diff(&lame, &lacking).agrees());
        }
    }
}

#[test]
fn a_tensor_that_is_declared_not_materialised_neither_fails_nor_passes() {
    for start in starts() {
        let (reference, mut candidate) = (start.reference(), start.candidate());
        let absent = [TensorName::Z(1), TensorName::Da(1), TensorName::Dz(1), TensorName::P];
        candidate.tensors.retain(|tensor| !absent.contains(&tensor.name));
        candidate.header.not_materialised = absent.to_vec();
        for found in [diff(&reference, &candidate), diff(&candidate, &start.candidate())] {
            assert!(found.agrees(), "{}", explain(&found));
            assert_eq!(found.rows.count(Verdict::NotMaterialised), absent.len());
            assert_eq!(found.rows.count(Verdict::Ok), found.rows.len() - absent.len());
        }
        // A fault after them is still found, and the reading names the tensors that are unknown.
        data(&mut candidate, TensorName::A(1))[0] += 1.0;
        let found = diff(&reference, &candidate);
        assert_eq!(first(&found), TensorName::A(1));
        let reading = &found.first_divergence.unwrap().reading;
        assert!(reading.contains("z1 is not materialised, so the fault is in"), "{reading}");
    }
}

/// Otherwise, an empty dump that declares every tensor as not materialised would pass.
#[test]
fn inputs_and_parameters_cannot_be_declared_away() {
    let start = &starts()[0];
    let (reference, clean) = (start.reference(), start.candidate());
    let names: Vec<TensorName> = clean.tensors.iter().map(|tensor| tensor.name).collect();
    let mut empty = clean.clone();
    empty.tensors.clear();
    empty.header.not_materialised = names.clone();
    let found = diff(&reference, &empty);
    assert_eq!((first(&found), found.rows.mismatches()), (TensorName::X, 10));
    assert!(!diff(&empty, &empty).agrees());
}

#[test]
fn a_wrong_order() {
    for start in starts() {
        let (reference, clean) = (start.reference(), start.candidate());
        for i in 1..clean.tensors.len() {
            let mut candidate = clean.clone();
            candidate.tensors.swap(i - 1, i);
            for found in [diff(&reference, &candidate), diff(&candidate, &clean)] {
                assert_eq!(first(&found), clean.tensors[i - 1].name, "{}", explain(&found));
                assert_eq!(found.rows.count(Verdict::Order), 1);
            }
        }
        let mut candidate = clean.clone();
        candidate.tensors.rotate_left(1);
        let found = diff(&reference, &candidate);
        assert_eq!((first(&found), found.rows.mismatches()), (TensorName::X, 1));
        let last = clean.tensors.last().unwrap().name;
        let reading = found.first_divergence.unwrap().reading;
        assert!(reading.contains(&format!("right after {last} in the candidate")), "{reading}");
        candidate.tensors.rotate_right(2);
        let found = diff(&reference, &candidate);
        assert_eq!((first(&found), found.rows.mismatches()), (last, 1));
    }
}

#[test]
fn a_tensor_that_the_network_does_not_have() {
    let start = &starts()[0];
    let (reference, mut candidate) = (start.reference(), start.candidate());
    candidate.tensors.push(DumpedTensor {
        name: TensorName::A(1_000_000_000_000),
        shape: vec![1],
        data: vec![0.0],
    });
    let found = diff(&reference, &candidate);
    assert_eq!((found.rows.mismatches(), found.rows.count(Verdict::Unexpected)), (1, 1));
}

#[test]
fn different_headers_get_a_warning() {
    let start = &starts()[0];
    let mut candidate = start.candidate();
    candidate.header.preset = "other".into();
    candidate.header.seed = 2;
    candidate.header.step = 7;
    candidate.header.learning_rate = 0.5;
    candidate.header.loss = Some(Loss::Bce);
    let found = diff(&start.reference(), &candidate);
    assert_eq!(found.warnings.len(), 5);
    assert_eq!(
        found.warnings[0],
        "the reference was made with preset small and the candidate with preset other"
    );
    // The loss in the header is not the one that was computed.
    assert_eq!(first(&found), TensorName::P);
    candidate.header.loss = Some(start.loss);
    assert_eq!(first(&diff(&start.reference(), &candidate)), TensorName::WNext(1));
    candidate.header.learning_rate = start.learning_rate;
    let found = diff(&start.reference(), &candidate);
    assert_eq!(found.warnings.len(), 3);
    assert!(found.agrees(), "a warning is no verdict");
}

/// Sizes that a file may contain, but that no network should have.
#[test]
fn odd_dumps_are_judged_without_a_panic() {
    let start = &starts()[0];
    let clean = start.candidate();
    let mut none = clean.clone();
    none.tensors.clear();
    let mut empty = clean.clone();
    for tensor in &mut empty.tensors {
        tensor.data.clear();
        tensor.shape = if tensor.shape.is_empty() { vec![0] } else { vec![0; tensor.shape.len()] };
    }
    let mut scalars = clean.clone();
    for tensor in &mut scalars.tensors {
        tensor.data.truncate(1);
        tensor.shape.clear();
    }
    let dumps = [none, empty, scalars, clean];
    for (i, reference) in dumps.iter().enumerate() {
        for (j, candidate) in dumps.iter().enumerate() {
            let agrees = diff(reference, candidate).agrees();
            assert_eq!(agrees, i == 3 && j == 3, "reference {i}, candidate {j}");
        }
    }
}
