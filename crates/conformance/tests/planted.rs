//! Faults, planted one at a time: both instruments name the tensor and the step of every one, and most
//! are explained. Some readings were written with these faults in sight.

#[path = "../examples/planted/faults.rs"]
mod faults;
#[path = "../examples/planted/network.rs"]
mod network;
#[path = "../examples/planted/plant.rs"]
mod plant;

#[test]
fn every_planted_fault_is_found_and_most_are_explained() {
    let gpu = plant::device().unwrap();
    let faults = faults::faults();
    assert!(faults.len() >= 40, "{}", faults.len());
    let mut missed = Vec::new();
    let mut read = 0;
    for fault in &faults {
        let said =
            plant::plant(fault, &gpu).unwrap_or_else(|error| panic!("{}: {error}", fault.what));
        if !said.is_found(fault) {
            missed.push(format!(
                "{}: in {} of step {}, and alone it is {:?}, compared {:?}",
                fault.what, fault.tensor, fault.step, said.alone, said.compared
            ));
        }
        read += usize::from(said.reading.is_some());
        println!(
            "{}: {}: {}",
            said.level,
            fault.what,
            said.reading.as_deref().unwrap_or("unexplained")
        );
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!(3 * read >= 2 * faults.len(), "{read} of {} are explained", faults.len());
}

/// The same with nothing planted: no fault is found.
#[test]
fn without_a_fault_nothing_is_found() {
    let fault = faults::Fault {
        what: "nothing",
        planted: faults::Planted::Between(|_| {}),
        on: "softmax-steps",
        step: 0,
        tensor: tensor::TensorName::W(1),
    };
    let said = plant::plant(&fault, &plant::device().unwrap()).unwrap();
    assert_eq!((said.alone, said.compared), (None, None));
}
