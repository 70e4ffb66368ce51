//! The operation that made the first NaN or infinity: usual formulas in single precision, on the candidate's own inputs,
//! of which one has to be NaN or infinite in just the elements that are.

use tensor::{Loss, TensorName};

use crate::chain::operation::updated_from;
use crate::describe::{joined, place};
use crate::finding::Wrong;
use crate::numeric::unique;

/// A formula of an element of each input: its words, with the reason why it isn't finite.
type Way = (&'static str, fn(f32, f32) -> f32);

const OF_Z: [Way; 9] = [
    ("exp(z) overflows, and infinity over infinity is NaN: z·exp(z) / (1 + exp(z))", |z, _| {
        z * (z.exp() / (1.0 + z.exp()))
    }),
    ("exp(z) overflows, and infinity over infinity is NaN: exp(z) / (1 + exp(z))", |z, _| {
        z.exp() / (1.0 + z.exp())
    }),
    (
        "exp(2z) overflows, and infinity over infinity is NaN: (exp(2z) - 1) / (exp(2z) + 1)",
        |z, _| ((2.0 * z).exp() - 1.0) / ((2.0 * z).exp() + 1.0),
    ),
    (
        "exp overflows, and infinity over infinity is NaN: (exp(z) - exp(-z)) / (exp(z) + exp(-z))",
        |z, _| (z.exp() - (-z).exp()) / (z.exp() + (-z).exp()),
    ),
    ("exp(z) overflows to infinity: ln(1 + exp(z))", |z, _| (1.0 + z.exp()).ln()),
    ("exp(z) overflows to infinity", |z, _| z.exp()),
    ("the root of a number below 0 is NaN", |z, _| z.sqrt()),
    ("the logarithm of 0 is -infinity, and that of a number below 0 is NaN", |z, _| z.ln()),
    ("z is 0 there, and 0 over 0 is NaN: z / |z|", |z, _| z / z.abs()),
];

const OF_P_AND_Y: [Way; 5] = [
    (
        "p·(1 - p) is 0 there, and divides p - y: the gradient with respect to p, not to z",
        |p, y| (p - y) / (p * (1.0 - p)),
    ),
    (
        "p·(1 - p) is 0 there: 0 / 0 and infinity · 0 are NaN in the gradient with respect to p times p·(1 - p)",
        |p, y| (p - y) / (p * (1.0 - p)) * (p * (1.0 - p)),
    ),
    ("p is 0 there, and divides -y: the gradient with respect to p, not to z", |p, y| -y / p),
    ("p or 1 - p is 0 there, and divides: -y / p + (1 - y) / (1 - p)", |p, y| {
        -y / p + (1.0 - y) / (1.0 - p)
    }),
    ("p is 0 there, and divides p - y", |p, y| (p - y) / p),
];

const OF_DA_AND_Z: [Way; 3] = [
    ("exp(z) overflows, and infinity over infinity is NaN: exp(z) / (1 + exp(z))²", |da, z| {
        da * (z.exp() / ((1.0 + z.exp()) * (1.0 + z.exp())))
    }),
    ("z is 0 there, and 0 over 0 is NaN: z / |z|", |da, z| da * (z / z.abs())),
    ("exp(z) overflows, and infinity over infinity is NaN: exp(z) / (1 + exp(z))", |da, z| {
        da * (z.exp() / (1.0 + z.exp()))
    }),
];

/// The cause of non-finite elements in a tensor whose inputs are finite. If no formula reproduces these elements, the
/// text names an overflow or their position.
pub(super) fn cause(wrong: &Wrong<'_>) -> Option<String> {
    if wrong.candidate.iter().all(|held| held.is_finite()) {
        return None;
    }
    let found = causes(wrong).unwrap_or_default();
    let found = found.into_iter().filter(|(_, made)| is_made(wrong, made)).map(|(text, _)| text);
    let mut texts: Vec<String> = found.collect();
    texts.dedup();
    // A shorter format than the dump's is the less simple cause.
    if texts.iter().any(|text| !text.contains("in half")) {
        texts.retain(|text| !text.contains("in half"));
    }
    texts.truncate(3);
    if texts.is_empty() {
        overflow(wrong).or_else(|| position(wrong))
    } else {
        Some(texts.join("; or "))
    }
}

/// Whether these numbers are NaN and infinite where the candidate is, and close to it elsewhere.
fn is_made(wrong: &Wrong<'_>, made: &[f32]) -> bool {
    made.iter().zip(wrong.candidate).all(|(&made, &held)| {
        let made = f64::from(made);
        let near =
            (made - held).abs() <= 1e-2 * made.abs().max(held.abs()) + f64::from(f32::MIN_POSITIVE);
        made == held || made.is_nan() && held.is_nan() || made.is_finite() && near
    })
}

/// Formulas in words, with their values.
type Causes = Vec<(String, Vec<f32>)>;

fn causes(wrong: &Wrong<'_>) -> Option<Causes> {
    use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, X, Y, Z};
    let chain = wrong.chain;
    let last = chain.layers();
    let single = |name| Some(chain.get(name)?.iter().map(|&x| x as f32).collect::<Vec<f32>>());
    let each = |ways: &[Way], one: &[f32], other: &[f32]| -> Causes {
        let made =
            |of: fn(f32, f32) -> f32| one.iter().zip(other).map(|(&a, &b)| of(a, b)).collect();
        ways.iter().map(|&(text, of)| (text.to_owned(), made(of))).collect()
    };
    Some(match wrong.name {
        A(layer) => {
            let z = single(Z(layer))?;
            let relu: Vec<f32> = z.iter().map(|z| z.max(0.0)).collect();
            let width = *wrong.shape.last()?;
            [each(&OF_Z, &z, &z), normalised(&relu, width), normalised(&z, width)].concat()
        }
        Z(_) => {
            let right: Vec<f32> = wrong.expected.iter().map(|&z| z as f32).collect();
            normalised(&right, *wrong.shape.last()?)
        }
        P if chain.losses() == [Loss::CrossEntropy] => {
            quotients(&single(Z(last))?, chain.outputs())
        }
        P => each(&OF_Z[1..2], &single(Z(last))?, &single(Z(last))?),
        TensorName::Loss => losses(wrong, &single(Z(last))?, &single(P)?, &single(Y)?),
        Dz(layer) if layer == last => {
            let (p, y) = (single(P)?, single(Y)?);
            let batch = chain.batch() as f32;
            let mut all = each(&OF_P_AND_Y, &p, &y);
            let rows = p.chunks_exact(chain.outputs()).zip(y.chunks_exact(chain.outputs()));
            let jacobian = rows.flat_map(|(p, y)| {
                let sum: f32 = p.iter().zip(y).map(|(p, y)| p * (-y / p)).sum();
                p.iter().zip(y).map(move |(p, y)| p * (-y / p - sum)).collect::<Vec<_>>()
            });
            let text = "p is 0 there, and divides -y: softmax's Jacobian times -y / p";
            all.push((text.into(), jacobian.collect()));
            if chain.losses() == [Loss::CrossEntropy] {
                let quotients = quotients(&single(Z(last))?, chain.outputs()).into_iter();
                let less = |p: Vec<f32>| p.iter().zip(&y).map(|(p, y)| p - y).collect();
                all.extend(quotients.map(|(text, p)| (format!("in its own p, {text}"), less(p))));
            }
            all.iter_mut().flat_map(|(_, made)| made).for_each(|x| *x /= batch);
            all
        }
        Dz(layer) => each(&OF_DA_AND_Z, &single(Da(layer))?, &single(Z(layer))?),
        Dw(_) | Db(_) => {
            let right: Vec<f32> = wrong.expected.iter().map(|&g| g as f32).collect();
            divided(wrong, wrong.name, &right, |quotients| quotients)
        }
        WNext(_) | BNext(_) => {
            let (parameter, gradient) = updated_from(wrong.name)?;
            let (w, dw) = (single(parameter)?, single(gradient)?);
            let rate = chain.learning_rate() as f32;
            divided(wrong, gradient, &dw, |step| {
                w.iter().zip(step).map(|(w, step)| w - rate * step).collect()
            })
        }
        X | Y | W(_) | B(_) | Da(_) => return None,
    })
}

/// Normalised rows that may not be finite: each row, or the row minus its mean, divided by its deviation, its norm, its
/// sum or its largest element.
fn normalised(values: &[f32], width: usize) -> Causes {
    type OfRow = (&'static str, fn(&[f32]) -> [f32; 2]);
    let divisors: [OfRow; 4] = [
        ("its deviation", |row| {
            let n = row.len() as f32;
            let mean = row.iter().sum::<f32>() / n;
            [mean, (row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / n).sqrt()]
        }),
        ("its norm", |row| [0.0, row.iter().map(|x| x * x).sum::<f32>().sqrt()]),
        ("its sum", |row| [0.0, row.iter().sum()]),
        ("its largest element", |row| [0.0, row.iter().copied().fold(f32::MIN, f32::max)]),
    ];
    let made = |(name, of): OfRow| {
        let rows = values.chunks_exact(width.max(1)).flat_map(|row| {
            let [less, divisor] = of(row);
            row.iter().map(move |x| (x - less) / divisor)
        });
        (
            format!("each row is divided by {name}, which is 0 there: 0 over 0 is NaN"),
            rows.collect(),
        )
    };
    divisors.map(made).into()
}

const NOT_SUBTRACTED: &str = "max z is not subtracted";

/// Softmax with anything but the row's largest logit subtracted.
fn quotients(z: &[f32], classes: usize) -> Causes {
    let most = |z: &[f32]| z.iter().copied().fold(f32::MIN, f32::max);
    let rows = || z.chunks_exact(classes);
    let same = |by: f32| vec![by; z.len() / classes];
    let mean = |row: &[f32]| row.iter().sum::<f32>() / row.len() as f32;
    let shifts: [(&str, Vec<f32>); 6] = [
        (NOT_SUBTRACTED, same(0.0)),
        ("the largest z of the whole batch is subtracted, not that of the row", same(most(z))),
        ("the largest z of the first row is subtracted from every row", same(most(&z[..classes]))),
        (
            "the first z of the row is subtracted, not the largest",
            rows().map(|row| row[0]).collect(),
        ),
        ("the smallest z of the row is subtracted, not the largest", {
            rows().map(|row| row.iter().copied().fold(f32::MAX, f32::min)).collect()
        }),
        ("the mean of the row is subtracted, not its largest z", rows().map(mean).collect()),
    ];
    // Three versions of exp: in single precision with and without subnormal numbers, and in half precision.
    let formats = [(0.0, f32::MAX), (f32::MIN_POSITIVE, f32::MAX), (0.0, 65_519.0)];
    let ways = shifts.iter().flat_map(|shift| formats.map(|format| (shift, format)));
    let cause = |((how, shifts), (least, most)): (&(&str, Vec<f32>), (f32, f32))| {
        let exp = |z: f32| match z.exp() {
            e if e < least => 0.0,
            e if e > most => f32::INFINITY,
            e => e,
        };
        let (mut over, mut under) = (false, false);
        let made = rows().zip(shifts).flat_map(|(row, shift)| {
            let e: Vec<f32> = row.iter().map(|z| exp(z - shift)).collect();
            let sum: f32 = e.iter().sum();
            over |= sum.is_infinite();
            under |= sum == 0.0;
            e.into_iter().map(move |e| e / sum)
        });
        let made = made.collect();
        let exp = if *how == NOT_SUBTRACTED { "exp(z)" } else { "exp" };
        let half = if most < f32::MAX { "in half, " } else { "" };
        let why = match (over, under) {
            (true, false) => "overflows there, and infinity over infinity is NaN",
            (false, true) => "underflows to 0 for all classes of a row, and 0 over 0 is NaN",
            _ => "overflows in some rows and underflows to 0 in others, and both quotients are NaN",
        };
        (format!("{half}{exp} {why}: {how}"), made)
    };
    ways.map(cause).collect()
}

/// Losses with a logarithm of 0, or an exponential that overflows.
fn losses(wrong: &Wrong<'_>, z: &[f32], p: &[f32], y: &[f32]) -> Causes {
    let classes = wrong.chain.outputs();
    let rows = || z.chunks_exact(classes);
    let mean = |sum: f32| vec![sum / wrong.chain.batch() as f32];
    let of_p_and_y =
        |p: &[f32], of: fn(f32, f32) -> f32| mean(p.iter().zip(y).map(|(&p, &y)| of(p, y)).sum());
    let entropy: fn(f32, f32) -> f32 = |p, y| -y * p.ln();
    let zeros = p.iter().filter(|p| **p == 0.0).count();
    match wrong.chain.losses()[..] {
        [Loss::CrossEntropy] => {
            let then = if of_p_and_y(p, entropy)[0].is_nan() {
                ", and 0 times infinity is NaN where y is 0"
            } else {
                ", and the sample's own class is among them"
            };
            let zeros =
                format!("p is 0 in {zeros} of {} elements: ln 0 = -infinity{then}", p.len());
            let picked: fn(f32, f32) -> f32 = |p, y| if y == 0.0 { 0.0 } else { -y * p.ln() };
            let sum = |row: &[f32]| row.iter().map(|z| z.exp()).sum::<f32>();
            let naive = rows().flat_map(|row| row.iter().map(move |z| z.exp() / sum(row)));
            let naive: Vec<f32> = naive.collect();
            let logs = rows().map(|row| sum(row).ln()).sum();
            let overflow = "exp(z) overflows, because max z is not subtracted";
            vec![
                (zeros, of_p_and_y(p, entropy)),
                ("p of a sample's own class is 0: ln 0 = -infinity".into(), of_p_and_y(p, picked)),
                (format!("{overflow}: infinity over infinity is NaN"), of_p_and_y(&naive, entropy)),
                (format!("{overflow}: the logarithm of its sum is infinity"), mean(logs)),
            ]
        }
        [Loss::Bce] => {
            let ones = p.iter().filter(|p| **p == 1.0).count();
            let softplus = |z: f32| (1.0 + z.exp()).ln();
            let of_z = |of: &dyn Fn(f32) -> f32| mean(z.iter().map(|&z| of(z)).sum());
            let weighted =
                z.iter().zip(y).map(|(&z, &y)| y * softplus(-z) + (1.0 - y) * softplus(z));
            let logs = format!(
                "p is 0 in {zeros} and 1 in {ones} of {} elements: ln 0 = -infinity",
                p.len()
            );
            let picked: fn(f32, f32) -> f32 = |p, y| -(if y == 0.0 { 1.0 - p } else { p }).ln();
            let both = of_p_and_y(p, |p, y| -y * p.ln() - (1.0 - y) * (1.0 - p).ln());
            let zero_times = ", and 0 times it is NaN";
            let then = if both[0].is_nan() { zero_times } else { "" };
            let weights = "y·ln(1 + exp(-z)) + (1 - y)·ln(1 + exp(z))";
            vec![
                (format!("{logs}{then}"), both),
                (logs, of_p_and_y(p, picked)),
                (format!("exp overflows to infinity{zero_times}: {weights}"), mean(weighted.sum())),
                (OF_Z[1].0.into(), of_z(&|z| OF_Z[1].1(z, z))),
                ("exp(z) overflows to infinity: ln(1 + exp(z))".into(), of_z(&softplus)),
                ("exp(-z) overflows to infinity: ln(1 + exp(-z))".into(), of_z(&|z| softplus(-z))),
            ]
        }
        _ => {
            let squares = z.iter().zip(y).map(|(z, y)| (z - y) * (z - y));
            vec![("(z - y)² overflows".into(), mean(squares.sum()))]
        }
    }
}

/// A gradient over a divisor that may be 0; `made` makes the tensor of the quotients.
fn divided(
    wrong: &Wrong<'_>,
    name: TensorName,
    gradient: &[f32],
    made: impl Fn(Vec<f32>) -> Vec<f32>,
) -> Causes {
    let norm = |values: &[f32]| values.iter().map(|x| x * x).sum::<f32>().sqrt();
    let chain = wrong.chain;
    let all = chain
        .names()
        .into_iter()
        .filter(|name| matches!(name, TensorName::Dw(_) | TensorName::Db(_)));
    let all = all.filter_map(|name| chain.get(name)).flatten();
    let width = if let [_, columns] = *wrong.shape { columns } else { gradient.len() };
    let rows = gradient.chunks(width.max(1)).flat_map(|row| vec![norm(row); row.len()]);
    let same = |divisor: f32| vec![divisor; gradient.len()];
    let largest = gradient.iter().fold(0.0_f32, |all, x| all.max(x.abs()));
    let global = norm(&all.map(|&x| x as f32).collect::<Vec<f32>>());
    let divisors = [
        ("the norm of all gradients".to_owned(), same(global)),
        (format!("the norm of {name}"), same(norm(gradient))),
        (format!("the norm of its row of {name}"), rows.collect()),
        (format!("the largest magnitude of {name}"), same(largest)),
        (
            "the root of its square, without an epsilon".into(),
            gradient.iter().map(|g| (g * g).sqrt()).collect(),
        ),
    ];
    let quotient = |(by, below): (String, Vec<f32>)| {
        (by, made(gradient.iter().zip(below).map(|(g, below)| g / below).collect()))
    };
    // Divisors that give the same quotients count as one cause.
    let mut different: Vec<(Vec<String>, Vec<f32>)> = Vec::new();
    for (by, made) in divisors.map(quotient) {
        let is_same =
            |other: &[f32]| made.iter().zip(other).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
        match different.iter_mut().find(|(_, other)| is_same(other)) {
            Some((names, _)) => names.push(by),
            None => different.push((vec![by], made)),
        }
    }
    let cause = |(names, made): (Vec<String>, Vec<f32>)| {
        let by = joined(names, "or");
        (format!("{name} is 0 there, and 0 over 0 is NaN: it is divided by {by}"), made)
    };
    let mut found: Causes = different.into_iter().map(cause).collect();
    if gradient.iter().any(|&g| g != 0.0) {
        let text = "its bias is corrected by 1 - 0.9^0, which is 0, as if no step had been taken";
        let adam = gradient.iter().map(|g| (0.1 * g / 0.0) / (0.001 * g * g / 0.0).sqrt());
        found.push((text.into(), made(adam.collect())));
    }
    found
}

/// Results, or operands, beyond the largest number of a format.
fn overflow(wrong: &Wrong<'_>) -> Option<String> {
    let formats = [("half", 65_520.0), ("float32", f64::from(f32::MAX))];
    let (name, most) = formats.into_iter().find(|(_, most)| {
        let mut elements = wrong.expected.iter().zip(wrong.candidate);
        elements.all(|(right, held)| held.is_finite() == (right.abs() < *most))
    })?;
    let right = wrong.expected.iter().fold(0.0_f64, |all, x| all.max(x.abs()));
    Some(format!(
        "it overflows {name}: up to {right:.3e} is right there, and the largest number of {name} is {most:.3e}"
    ))
}

/// The place of the elements that aren't finite.
fn position(wrong: &Wrong<'_>) -> Option<String> {
    let elements = wrong.candidate.iter().enumerate();
    let found = unique(elements.filter(|(_, held)| !held.is_finite()).map(|(i, _)| i));
    if found.len() < 2 {
        return None;
    }
    let parts = place::parts(wrong.chain, wrong.name, wrong.expected, &found, wrong.shape);
    let exact = parts.iter().find(|part| {
        (0..wrong.candidate.len()).all(|i| part.holds(i) == found.binary_search(&i).is_ok())
    })?;
    Some(format!("just {exact}"))
}
