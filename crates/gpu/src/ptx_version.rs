//! The `.version` of PTX, and how it is lowered for older drivers.
//!
//! A compiler always writes its newest version, and a driver rejects PTX with a newer version than its own,
//! even if the PTX has no new features: NVRTC 12.9 writes `.version 8.8`, which a driver of CUDA 12.0 does
//! not load. PTX whose words all exist in an older version means the same in that version, so its
//! `.version` can be lowered.

use crate::probe::dotted;

/// The newest version that drivers of CUDA 12.0 load (PTX ISA, "Release Notes").
const OLDEST_VERSION: (i32, i32) = (8, 0);

/// Known directives, all of PTX 7.2 or earlier (PTX ISA, "Release Notes"). The last one is for inlined code.
const DIRECTIVES: &str = "target address_size visible entry func param reg shared local global \
    const align extern weak loc file pragma maxntid minnctapersm section b8 b16 b32 b64 u8 u16 u32 \
    u64 s8 s16 s32 s64 f32 f64 pred debug_str";

/// Known instructions, all of PTX 6.0 or earlier.
const INSTRUCTIONS: &str = "abs add and atom bar bra call copysign cos cvt cvta div ex2 exit fma \
    ld lg2 mad max membar min mov mul neg not or prmt rcp rem ret rsqrt selp setp shfl shl shr sin \
    sqrt st sub testp vote xor";

/// Known modifiers, which follow an instruction after a dot, all of PTX 6.0 or earlier.
const MODIFIERS: &str = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64 f16 pred rn rz rm \
    rp rni rzi rmi rpi ftz sat approx full lo hi wide to global shared local param const volatile \
    nc v2 v4 eq ne lt le gt ge equ neu ltu leu gtu geu num nan lo ls hi hs and or xor sync idx up \
    down bfly ballot any all uni add exch cas min max inc dec gl cta sys cc";

/// Known instructions and modifiers of `wmma` and TF32, all of PTX 7.0 or earlier.
const TENSOR_CORES: &str = "wmma load store mma a b c d aligned row col m16n16k8 tf32 rna";

/// Known special registers, all of PTX 6.0 or earlier, without the part after the dot.
const SPECIAL_REGISTERS: &str = "tid ntid ctaid nctaid laneid warpid clock clock64";

/// Lowers the PTX's `.version` to the oldest version that this project supports. Returns the PTX, and its version
/// before and after.
///
/// # Errors
/// If a word of the PTX is not known in that version. The error is the word.
pub fn lower_version(ptx: &str) -> Result<(String, [String; 2]), String> {
    let mut versions = ["?", "?"].map(String::from);
    let mut stamped = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        let code = line.split("//").next().unwrap_or_default();
        if let Some(version) = code.trim().strip_prefix(".version") {
            let numbers = version.trim().split_once('.');
            let before =
                numbers.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
            let before = before.ok_or("a .version that is no version")?;
            versions = [before, before.min(OLDEST_VERSION)].map(|version| dotted(&version));
            stamped.push_str(&format!(".version {}\n", versions[1]));
            continue;
        }
        check(code)?;
        stamped.push_str(line);
        stamped.push('\n');
    }
    Ok((stamped, versions))
}

/// Fails if a word of a line is newer than [`OLDEST_VERSION`]. Compilers write one statement per line.
fn check(line: &str) -> Result<(), String> {
    let known = |list: &str, word: &str| list.split_whitespace().any(|other| other == word);
    // Quoted text is the name of a file or a pragma, and can be ignored.
    let code: String = line.split('"').step_by(2).collect();
    // An instruction may be preceded by a guard, such as `@!%p1`.
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
            // The compiler's own registers consist of a letter and a number, and are declared as `%f<30>`.
            known(SPECIAL_REGISTERS, register)
                || !word.contains(['.', '_'])
                    && register.ends_with(|c: char| c == '>' || c.is_numeric())
        } else if word.contains('.') || position == 0 && code.trim_end().ends_with(';') {
            let known = |list, word| known(list, word) || known(TENSOR_CORES, word);
            known(INSTRUCTIONS, name) && parts.all(|modifier| known(MODIFIERS, modifier))
        } else {
            // The word is a name, a label or a number, which exist in every version.
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
    fn old_features_allow_an_older_version() {
        let ptx = "//\n// Compiler 12.9\n.version 8.8\n.target sm_50\n\t@!%p1 bra $L__BB0_2;\n\
                   $L__BB0_2:\n\t.loc 1 4 5\n\tld.global.nc.f32 %f1, [%rd1+-4];\n\tret;\n\
                   \t.file 1 \"kernels/new.thing.cu\"\n";
        let versions = ["8.8", "8.0"].map(String::from);
        assert_eq!(lower_version(ptx).unwrap(), (ptx.replace("8.8", "8.0"), versions));
        assert!(lower_version(".version 6.5\n").unwrap().0.starts_with(".version 6.5"));
    }

    #[test]
    fn new_and_unknown_features_are_errors() {
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
            let said = lower_version(&format!(".version 8.8\n\t{line}\n")).unwrap_err();
            assert!(said.contains("not known to be as old"), "{line}: {said}");
        }
    }
}
