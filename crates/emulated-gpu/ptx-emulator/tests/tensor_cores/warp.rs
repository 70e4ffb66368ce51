//! Runs one instruction in several warps, with registers that are loaded from memory and stored to it.

use emulated_gpu_test_support::ptx::{HEADER, launch};
use ptx_emulator::{Emulator, RunOptions};

/// The value of a register in each lane.
pub(crate) type Row = [u64; 32];

/// An instruction whose vectors each have registers of one width; the written vector comes first.
pub(crate) struct Warps {
    /// The instruction, such as `mma.sync… {%d}, {%a}, {%b}, {%c}`, where `%d` is replaced by the registers of that
    /// vector.
    pub(crate) text: String,
    /// The width in bits and the number of registers of the written vector and of each vector that is read.
    pub(crate) written: (usize, usize),
    pub(crate) read: Vec<(usize, usize)>,
    pub(crate) options: RunOptions,
}

impl Warps {
    /// Runs the instruction. For each warp, `warps` has the rows of all registers that are read, one vector
    /// after the other; the rows of the written registers are returned.
    pub(crate) fn run(&self, warps: &[Vec<Row>]) -> Vec<Vec<Row>> {
        let inputs: usize = self.read.iter().map(|(_, count)| count).sum();
        let mut text = format!(
            "{HEADER}.visible .entry k(.param .u64 from, .param .u64 to)\n{{\n\
             .reg .b32 %n<64>; .reg .b64 %w<64>; .reg .b32 %t<3>; .reg .b64 %p<5>;\n\
             mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x;\n\
             ld.param.u64 %p0, [from]; ld.param.u64 %p1, [to]; mul.wide.u32 %p2, %t0, 8;\n\
             add.u64 %p0, %p0, %p2; add.u64 %p1, %p1, %p2;\n",
        );
        text += &format!("mul.wide.u32 %p3, %t1, {}; add.u64 %p0, %p0, %p3;\n", inputs * 256);
        text +=
            &format!("mul.wide.u32 %p3, %t1, {}; add.u64 %p1, %p1, %p3;\n", self.written.1 * 256);
        let name =
            |bits: usize, index: usize| format!("%{}{index}", if bits == 64 { 'w' } else { 'n' });
        let mut vectors = vec![list(self.written, 0)];
        let mut next = self.written.1;
        let mut at = 0;
        for &(bits, count) in &self.read {
            for index in next..next + count {
                text += &format!("ld.global.b{bits} {}, [%p0+{at}];\n", name(bits, index));
                at += 256;
            }
            vectors.push(list((bits, count), next));
            next += count;
        }
        let mut statement = self.text.clone();
        for (vector, letter) in vectors.iter().zip(["%d", "%a", "%b", "%c", "%e"]) {
            statement = statement.replace(letter, vector);
        }
        text += &format!("{statement};\n");
        for index in 0..self.written.1 {
            let bits = self.written.0;
            text += &format!("st.global.b{bits} [%p1+{}], {};\n", index * 256, name(bits, index));
        }
        text += "ret;\n}\n";
        let emulator = Emulator::new(RunOptions { threads: 1, ..self.options.clone() });
        let bytes: Vec<u8> =
            warps.iter().flatten().flatten().flat_map(|word| word.to_le_bytes()).collect();
        let memory = emulator.memory();
        let from = memory.allocate(bytes.len() as u64, 16).unwrap();
        let size = warps.len() * self.written.1 * 256;
        let to = memory.allocate(size as u64, 16).unwrap();
        memory.write(from, &bytes).unwrap();
        memory.write(to, &vec![0; size]).unwrap();
        let shape = ([warps.len() as u32, 1, 1], [32, 1, 1]);
        launch(&emulator, &text, shape, &[from, to]).unwrap_or_else(|fault| panic!("{fault}"));
        let mut results = vec![0; size];
        memory.read(to, &mut results).unwrap();
        let words: Vec<u64> =
            results.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        let rows: Vec<Row> = words.chunks(32).map(|row| row.try_into().unwrap()).collect();
        rows.chunks(self.written.1).map(<[Row]>::to_vec).collect()
    }
}

fn list((bits, count): (usize, usize), first: usize) -> String {
    let letter = if bits == 64 { 'w' } else { 'n' };
    let names: Vec<String> =
        (first..first + count).map(|index| format!("%{letter}{index}")).collect();
    names.join(", ")
}
