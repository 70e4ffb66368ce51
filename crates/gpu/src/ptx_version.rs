//! The version that PTX is stamped with, and whether an older driver may be given it.
//!
//! A compiler stamps its own newest version on everything, and a driver refuses what is newer than
//! itself, whether or not anything new is in it: NVRTC 12.9 writes `.version 8.8`, which a driver
//! of CUDA 12.0 does not load. What every word is known in the older version is the same program
//! there, so it can be stamped with that version instead.

/// What drivers of CUDA 12.0 load (PTX ISA, "Release Notes").
const OLDEST: (u32, u32) = (8, 0);

/// Directives, all of PTX 7.2 or earlier (PTX ISA, "Release Notes"); the last for code that was
/// inlined.
const DIRECTIVES: &str = "target address_size visible entry func param reg shared local global \
    const align extern weak loc file pragma maxntid minnctapersm section b8 b16 b32 b64 u8 u16 u32 \
    u64 s8 s16 s32 s64 f32 f64 pred debug_str";

/// Instructions, all of PTX 6.0 or earlier.
const INSTRUCTIONS: &str = "abs add and atom bar bra call copysign cos cvt cvta div ex2 exit fma \
    ld lg2 mad max membar min mov mul neg not or prmt rcp rem ret rsqrt selp setp shfl shl shr sin \
    sqrt st sub testp vote xor";

/// What stands behind an instruction's dots, all of PTX 6.0 or earlier.
const MODIFIERS: &str = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64 f16 pred rn rz rm \
    rp rni rzi rmi rpi ftz sat approx full lo hi wide to global shared local param const volatile \
    nc v2 v4 eq ne lt le gt ge equ neu ltu leu gtu geu num nan lo ls hi hs and or xor sync idx up \
    down bfly ballot any all uni add exch cas min max inc dec gl cta sys cc";

/// Of `wmma` and TF32, all of PTX 7.0 or earlier: instructions and what stands behind their dots.
const TENSOR_CORES: &str = "wmma load store mma a b c d aligned row col m16n16k8 tf32 rna";

/// Special registers, all of PTX 6.0 or earlier, without what stands behind the dot.
const SPECIAL: &str = "tid ntid ctaid nctaid laneid warpid clock clock64";

/// The PTX, stamped with the oldest version that this project supports where nothing in it is
/// newer than that.
///
/// # Errors
/// The first word that is not known to be that old.
pub fn stamp_down(ptx: &str) -> Result<String, String> {
    let mut stamped = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        let code = line.split("//").next().unwrap_or_default();
        if let Some(version) = code.trim().strip_prefix(".version") {
            let version = parse(version.trim()).ok_or("a .version that is no version")?;
            let (major, minor) = version.min(OLDEST);
            stamped.push_str(&format!(".version {major}.{minor}\n"));
            continue;
        }
        check(code)?;
        stamped.push_str(line);
        stamped.push('\n');
    }
    Ok(stamped)
}

/// `8.8` as numbers.
fn parse(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether all words of a line are old. A compiler writes one statement a line.
fn check(line: &str) -> Result<(), String> {
    let known = |list: &str, word: &str| list.split_whitespace().any(|other| other == word);
    // What is quoted is the name of a file, or a pragma, which may be ignored.
    let code: String = line.split('"').step_by(2).collect();
    // A guard, `@!%p1`, stands before the instruction.
    let code = code
        .trim()
        .strip_prefix('@')
        .and_then(|code| code.split_once(' '))
        .map_or(&*code, |(_, code)| code);
    let separator = |c: char| c.is_whitespace() || ",;:()[]{}+|".contains(c);
    for (position, word) in code.split(separator).filter(|word| !word.is_empty()).enumerate() {
        let mut parts = word.split('.');
        let name = parts.next().unwrap_or_default();
        let old = if name.is_empty() {
            known(DIRECTIVES, &word[1..])
        } else if let Some(register) = name.strip_prefix('%') {
            // A compiler's own registers are letters and a number, declared as `%f<30>`.
            known(SPECIAL, register)
                || !word.contains(['.', '_'])
                    && register.ends_with(|c: char| c == '>' || c.is_numeric())
        } else if word.contains('.') || position == 0 && code.trim_end().ends_with(';') {
            let known = |list, word| known(list, word) || known(TENSOR_CORES, word);
            known(INSTRUCTIONS, name) && parts.all(|modifier| known(MODIFIERS, modifier))
        } else {
            // A name, a label or a number.
            true
        };
        if !old {
            return Err(format!("`{word}` is not known to be as old as PTX 8.0"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_old_is_stamped_down() {
        let ptx = "//\n// Compiler 12.9\n.version 8.8\n.target sm_50\n\t@!%p1 bra $L__BB0_2;\n\
                   $L__BB0_2:\n\t.loc 1 4 5\n\tld.global.nc.f32 %f1, [%rd1+-4];\n\tret;\n\
                   \t.file 1 \"kernels/new.thing.cu\"\n";
        assert_eq!(stamp_down(ptx).unwrap(), ptx.replace("8.8", "8.0"));
        assert!(stamp_down(".version 6.5\n").unwrap().starts_with(".version 6.5"));
    }

    #[test]
    fn what_is_new_or_unknown_is_not() {
        for line in [
            "wgmma.fence.sync.aligned;",
            "griddepcontrol.wait;",
            "ld.global.L2::256B.f32 %f1, [%rd1];",
            "mov.b128 %rq1, {%rd1, %rd2};",
            ".explicitcluster",
            "mov.u32 %r1, %clusterid.x;",
            "mov.u64 %rd1, %current_graph_exec;",
            "newinstruction;",
            "@%p1 newinstruction;",
        ] {
            let said = stamp_down(&format!(".version 8.8\n\t{line}\n")).unwrap_err();
            assert!(said.contains("not known to be as old"), "{line}: {said}");
        }
    }
}
