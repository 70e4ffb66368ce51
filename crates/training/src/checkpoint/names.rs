//! Hints for files whose tensors have other names, such as PyTorch's `fc1.weight`.

/// The hint for a file of `torch.save`.
pub(super) const TORCH_SAVE: &str = "if torch.save wrote it, load it with torch.load and write \
                                     it with safetensors.torch.save_file, as w1, b1, w2, …";

/// The maximum number of names and layers that a message lists before "…".
const MAX_LISTED: usize = 8;

/// Completes the sentence "it has no tensor w1". If the tensors are the layers of a network with PyTorch's names, the
/// sentence explains how to rename them, otherwise it lists the tensors' names.
pub(super) fn present_tensors(tensors: &[(String, Vec<usize>)]) -> String {
    let layers = layers(tensors);
    if layers.is_empty() {
        let mut names: Vec<&str> = tensors.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        return match names.len() {
            0 => ": it has no tensors at all".into(),
            _ => format!(", only {}", list_first(names.iter().map(ToString::to_string))),
        };
    }
    let renamed = (1..).zip(&layers).flat_map(|(l, layer)| {
        [("w", "weight"), ("b", "bias")]
            .map(|(own, theirs)| format!("\"{own}{l}\": t[\"{layer}{theirs}\"]"))
    });
    format!(
        ": its tensors have PyTorch's names. Rename them: t = safetensors.torch.load_file(file); \
         safetensors.torch.save_file({{{}}}, file)",
        list_first(renamed)
    )
}

/// Lists the first items, separated by commas.
fn list_first(items: impl Iterator<Item = String>) -> String {
    let mut items = items.peekable();
    let mut text: Vec<String> = items.by_ref().take(MAX_LISTED).collect();
    text.extend(items.peek().map(|_| "…".into()));
    text.join(", ")
}

/// The prefixes of `weight` and `bias` in the names of the layers, first to last: `["fc1.", "fc2."]`. Empty if there
/// are other tensors, or a layer's number of inputs isn't the previous layer's number of outputs.
fn layers(tensors: &[(String, Vec<usize>)]) -> Vec<&str> {
    let shape = |name: &str| tensors.iter().find(|(other, _)| other == name).map(|(_, s)| &**s);
    let mut layers: Vec<(&str, [usize; 2])> = Vec::new();
    for (name, of) in tensors {
        let layer = name.strip_suffix("weight").filter(|p| p.is_empty() || p.ends_with('.'));
        let (Some(layer), &[outputs, inputs]) = (layer, &of[..]) else { continue };
        if shape(&format!("{layer}bias")) == Some(&[outputs]) {
            layers.push((layer, [inputs, outputs]));
        }
    }
    layers.sort_by_cached_key(|(layer, _)| in_order(layer));
    let follows = layers.windows(2).all(|pair| pair[0].1[1] == pair[1].1[0]);
    if !follows || 2 * layers.len() != tensors.len() {
        return Vec::new();
    }
    layers.into_iter().map(|(layer, _)| layer).collect()
}

/// A sort key that orders numbers in names by their value, so that `fc10.` comes after `fc9.`.
fn in_order(name: &str) -> Vec<(u64, String)> {
    let mut parts = vec![(0_u64, String::new())];
    for c in name.chars() {
        let (number, text) = parts.last_mut().expect("there is one from the beginning");
        match c.to_digit(10) {
            Some(digit) if text.is_empty() => {
                *number = number.saturating_mul(10).saturating_add(u64::from(digit));
            }
            Some(digit) => parts.push((u64::from(digit), String::new())),
            None => text.push(c),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(names: &[&str], sizes: &[usize]) -> Vec<(String, Vec<usize>)> {
        let layer = |(name, n): (&&str, &[usize])| {
            [(format!("{name}bias"), vec![n[1]]), (format!("{name}weight"), vec![n[1], n[0]])]
        };
        names.iter().zip(sizes.windows(2)).flat_map(layer).collect()
    }

    #[test]
    fn layers_of_pytorch_are_sorted() {
        for names in [
            ["fc1.", "fc2."],
            ["0.", "2."],
            ["layers.0.", "layers.2."],
            ["module.net.9.", "module.net.10."],
            ["hidden.", "output."],
        ] {
            let mut tensors = network(&names, &[784, 30, 10]);
            assert_eq!(layers(&tensors), names);
            tensors.reverse();
            assert_eq!(layers(&tensors), names);
        }
        assert_eq!(layers(&network(&[""], &[784, 10])), [""]);
        let said = present_tensors(&network(&["fc1.", "fc2."], &[784, 30, 10]));
        for words in [
            "PyTorch's names",
            "{\"w1\": t[\"fc1.weight\"], \"b1\": t[\"fc1.bias\"], \"w2\": t[\"fc2.weight\"], \"b2\": t[\"fc2.bias\"]}",
        ] {
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn other_tensors_are_listed_by_name() {
        // With these names, the second layer would come first, so the sizes don't fit.
        let tensors = network(&["a.", "b."], &[784, 30, 10]);
        let backwards: Vec<_> = network(&["b.", "a."], &[784, 30, 10]);
        assert_eq!(layers(&tensors), ["a.", "b."]);
        assert!(layers(&backwards).is_empty());
        assert_eq!(present_tensors(&backwards), ", only a.bias, a.weight, b.bias, b.weight");
        assert_eq!(present_tensors(&[]), ": it has no tensors at all");
        let many: Vec<_> = (0..1000).map(|i| (format!("t{i:03}"), vec![1])).collect();
        assert_eq!(
            present_tensors(&many),
            ", only t000, t001, t002, t003, t004, t005, t006, t007, …"
        );
    }
}
