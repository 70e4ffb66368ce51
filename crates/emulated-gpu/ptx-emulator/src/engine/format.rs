//! The formatting of `printf` in kernels (CUDA C++ Programming Guide, "Formatted Output").

use super::core::Outcome;

/// A conversion specification such as `%-8.3lf`.
#[derive(Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
}

/// Formats `template`. `next` reads the next argument (4 or 8 bytes), `string` the string at an
/// address. An unknown conversion is copied to the output.
pub(super) fn format<N, S>(
    template: &[u8],
    out: &mut Vec<u8>,
    mut next: N,
    mut string: S,
) -> Outcome
where
    N: FnMut(u64) -> Outcome<u64>,
    S: FnMut(u64) -> Outcome<Vec<u8>>,
{
    let mut rest = template;
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            out.push(byte);
            rest = after;
            continue;
        }
        let mut at = 0;
        let mut spec = Conversion::default();
        while let Some(&flag) = after.get(at) {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            at += 1;
        }
        if after.get(at) == Some(&b'*') {
            at += 1;
            let width = next(4)? as u32 as i32;
            spec.left |= width < 0;
            spec.width = width.unsigned_abs().min(1 << 12) as usize;
        } else {
            spec.width = number(after, &mut at);
        }
        if after.get(at) == Some(&b'.') {
            at += 1;
            spec.precision = if after.get(at) == Some(&b'*') {
                at += 1;
                usize::try_from(next(4)? as u32 as i32).ok().map(|p| p.min(1 << 12))
            } else {
                Some(number(after, &mut at))
            };
        }
        let mut longs = 0;
        while let Some(&modifier) = after.get(at) {
            match modifier {
                b'l' | b'j' | b'z' | b't' => longs += 1,
                b'h' => {}
                _ => break,
            }
            at += 1;
        }
        spec.long = longs > 0;
        let Some(&kind) = after.get(at) else {
            out.extend_from_slice(rest);
            return Ok(());
        };
        let integer = if spec.long { 8 } else { 4 };
        let text = match kind {
            b'%' => {
                out.push(b'%');
                rest = &after[at + 1..];
                continue;
            }
            b'd' | b'i' => {
                let bits = next(integer)?;
                let value = if spec.long { bits as i64 } else { i64::from(bits as u32 as i32) };
                let digits = pad_digits(value.unsigned_abs().to_string(), spec.precision);
                signed(&spec, value < 0, digits, spec.precision.is_none())
            }
            b'u' => unsigned(&spec, "", next(integer)?.to_string()),
            b'x' => {
                let value = next(integer)?;
                unsigned(
                    &spec,
                    if spec.alternate && value != 0 { "0x" } else { "" },
                    format!("{value:x}"),
                )
            }
            b'X' => {
                let value = next(integer)?;
                unsigned(
                    &spec,
                    if spec.alternate && value != 0 { "0X" } else { "" },
                    format!("{value:X}"),
                )
            }
            b'o' => unsigned(
                &spec,
                if spec.alternate { "0" } else { "" },
                format!("{:o}", next(integer)?),
            ),
            b'p' => pad(&spec, format!("{:#x}", next(8)?).into_bytes()),
            b'c' => pad(&spec, vec![next(4)? as u8]),
            b's' => {
                let mut text = match next(8)? {
                    0 => b"(null)".to_vec(),
                    address => string(address)?,
                };
                text.truncate(spec.precision.unwrap_or(usize::MAX));
                pad(&spec, text)
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(next(8)?);
                float(&spec, kind, value)
            }
            _ => rest[..at + 2].to_vec(),
        };
        out.extend_from_slice(&text);
        rest = &after[at + 1..];
    }
    Ok(())
}

fn number(text: &[u8], at: &mut usize) -> usize {
    let mut value = 0usize;
    while let Some(digit) = text.get(*at).filter(|digit| digit.is_ascii_digit()) {
        value = (value * 10 + usize::from(digit - b'0')).min(1 << 12);
        *at += 1;
    }
    value
}

/// Pads digits with zeros up to the precision.
fn pad_digits(digits: String, precision: Option<usize>) -> String {
    let missing = precision.unwrap_or(0).saturating_sub(digits.len());
    "0".repeat(missing) + &digits
}

fn unsigned(spec: &Conversion, prefix: &str, digits: String) -> Vec<u8> {
    let digits = pad_digits(digits, spec.precision);
    pad_zeros(spec, prefix, digits, spec.precision.is_none())
}

fn signed(spec: &Conversion, negative: bool, digits: String, zeros: bool) -> Vec<u8> {
    let sign = match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (.., true) => " ",
        _ => "",
    };
    pad_zeros(spec, sign, digits, zeros)
}

/// Pads with zeros between the prefix and the digits if the flag is set, otherwise with blanks.
fn pad_zeros(spec: &Conversion, prefix: &str, digits: String, zeros: bool) -> Vec<u8> {
    let missing = spec.width.saturating_sub(prefix.len() + digits.len());
    if spec.zero && zeros && !spec.left {
        return format!("{prefix}{}{digits}", "0".repeat(missing)).into_bytes();
    }
    pad(spec, format!("{prefix}{digits}").into_bytes())
}

fn pad(spec: &Conversion, text: Vec<u8>) -> Vec<u8> {
    let blanks = vec![b' '; spec.width.saturating_sub(text.len())];
    if spec.left { [text, blanks].concat() } else { [blanks, text].concat() }
}

fn float(spec: &Conversion, kind: u8, value: f64) -> Vec<u8> {
    let upper = kind.is_ascii_uppercase();
    let magnitude = value.abs();
    let digits = if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() {
        "inf".to_owned()
    } else {
        let precision = spec.precision.unwrap_or(6);
        match kind.to_ascii_lowercase() {
            b'f' => with_point(format!("{magnitude:.precision$}"), spec.alternate),
            b'e' => exponential(magnitude, precision, spec.alternate),
            b'g' => general(magnitude, precision.max(1), spec.alternate),
            _ => hexadecimal(magnitude, spec.precision),
        }
    };
    let digits = if upper { digits.to_uppercase() } else { digits };
    signed(spec, value.is_sign_negative() && !value.is_nan(), digits, value.is_finite())
}

fn with_point(digits: String, alternate: bool) -> String {
    if alternate && !digits.contains('.') { digits + "." } else { digits }
}

/// C's `%e`: at least two digits of exponent, with its sign.
fn exponential(value: f64, precision: usize, alternate: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    let mantissa = with_point(mantissa.to_owned(), alternate);
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// C's `%g`: the shorter of `%e` and `%f`, without trailing zeros.
fn general(value: f64, precision: usize, alternate: bool) -> String {
    let scientific = format!("{value:.*e}", precision - 1);
    let exponent: i32 = scientific.split_once('e').map_or(0, |(_, e)| e.parse().unwrap_or(0));
    let trim = |text: String| {
        if alternate || !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if exponent < -4 || exponent >= precision as i32 {
        let text = exponential(value, precision - 1, alternate);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", trim(mantissa.to_owned()));
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    trim(format!("{value:.decimals$}"))
}

/// C's `%a`.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (mut lead, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, exponent - 1023),
    };
    let mut digits = format!("{fraction:013x}");
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(count) if count < 13 => {
            let cut = 4 * (13 - count as u32);
            let whole = lead << 52 | fraction;
            let (kept, lost) = (whole >> cut, whole & ((1 << cut) - 1));
            let half = 1 << (cut - 1);
            let rounded = kept + u64::from(lost > half || lost == half && kept & 1 == 1);
            lead = rounded >> (4 * count);
            let fraction = rounded & ((1u64 << (4 * count)) - 1);
            digits = if count == 0 { String::new() } else { format!("{fraction:0count$x}") };
        }
        Some(count) => digits.push_str(&"0".repeat(count - 13)),
    }
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(template: &str, arguments: &[u64]) -> String {
        let mut left = arguments.iter();
        let mut out = Vec::new();
        let next = |_| Ok(*left.next().unwrap());
        let string = |address: u64| Ok(format!("text{address}").into_bytes());
        format(template.as_bytes(), &mut out, next, string).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers_are_formatted_like_c() {
        let actual = printed("%d|%5d|%-5d|%05d|%+d", &[u64::from(-3i32 as u32), 7, 7, 7, 7]);
        assert_eq!(actual, "-3|    7|7    |00007|+7");
        let expected = "3000000000 -1 18446744073709551615";
        assert_eq!(printed("%u %ld %llu", &[3_000_000_000, -1i64 as u64, u64::MAX]), expected);
        let expected = "ff 0xff 0000BEEF 10 A%";
        assert_eq!(printed("%x %#x %08X %o %c%%", &[255, 255, 0xbeef, 8, 65]), expected);
        assert_eq!(printed("%.3d %*d", &[5, 4, 9]), "005    9");
    }

    #[test]
    fn floats_are_formatted_like_c() {
        let bits = |x: f64| x.to_bits();
        let expected = "1.500000 2.67   -3.000";
        assert_eq!(printed("%f %.2f %8.3f", &[bits(1.5), bits(2.675), bits(-3.0)]), expected);
        assert_eq!(printed("%e %E", &[bits(12345.678), bits(0.0)]), "1.234568e+04 0.000000E+00");
        let actual = printed("%g %g %g %g", &[bits(0.0001), bits(1e-5), bits(1e6), bits(100000.0)]);
        assert_eq!(actual, "0.0001 1e-05 1e+06 100000");
        let actual = printed("%f %f %06.1f", &[bits(f64::NAN), bits(f64::NEG_INFINITY), bits(2.5)]);
        assert_eq!(actual, "nan -inf 0002.5");
        assert_eq!(printed("%a %a", &[bits(1.0), bits(0.1)]), "0x1p+0 0x1.999999999999ap-4");
    }

    #[test]
    fn strings_and_unknown_conversions() {
        assert_eq!(printed("%s|%7s|%.2s|%p", &[1, 2, 3, 16]), "text1|  text2|te|0x10");
        assert_eq!(printed("%y 100%", &[]), "%y 100%");
    }
}
