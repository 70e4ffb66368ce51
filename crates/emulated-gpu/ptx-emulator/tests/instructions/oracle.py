"""Writes rows/*.txt: PTX instructions with operands, and the results that the PTX ISA defines.

The arithmetic is written from the text of the PTX ISA, with Python's unlimited integers and fractions. It
shares no code with the emulator, which is tested by these rows.

    python3 oracle.py [folder to write to]

A row is an instruction (or several, if one prepares or checks the effect of another), and below it,
indented, operands = results. Registers %h (16 bits), %r (32), %d (64), %q (128), %p (a predicate) and %b (8
bits, only for conversions of bf16) with the numbers 1 to 4 are operands, those with 5 to 8 results, both in
the order of their first use. `nan` is any NaN, `X~N` any number within N units in the last place of X, and
`X±E` any number within E of X.
"""

import itertools
import math
import pathlib
import random
import sys
from fractions import Fraction

ROWS = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent / "rows"
lines = []


def emit(text, vectors):
    """One instruction and its vectors: ([operands], [results]), as text."""
    lines.append(text)
    for operands, results in vectors:
        lines.append("  " + " ".join(map(str, operands)) + " = " + " ".join(map(str, results)))


def flush_to(name, about):
    (ROWS / f"{name}.txt").write_text(f"# {about}\n# Written by ../oracle.py.\n\n" + "\n".join(lines) + "\n")
    lines.clear()


def draw(seed):
    """A separate generator for each instruction, so that a new row does not change any other."""
    return random.Random(seed)


# Integers ---------------------------------------------------------------------------------------

WIDTH = {
    "b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16, "b32": 32,
    "u32": 32, "s32": 32, "f32": 32, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "b64": 64,
    "u64": 64, "s64": 64, "f64": 64, "b128": 128,
}
LETTER = {8: "b", 16: "h", 32: "r", 64: "d", 128: "q"}
INTEGERS = ["u16", "u32", "u64", "s16", "s32", "s64"]


def letter(ty):
    return "p" if ty == "pred" else LETTER[max(16, WIDTH[ty])]


def reg(ty, number):
    return f"%{letter(ty)}{number}"


def mask(bits):
    return (1 << bits) - 1


def show(bits, width):
    return f"0x{bits & mask(width):0{width // 4}x}" if width > 1 else str(bits & 1)


def value(ty, bits):
    """The number that bits represent."""
    width = WIDTH[ty]
    bits &= mask(width)
    return bits - (1 << width) if ty[0] == "s" and bits >> (width - 1) else bits


def least(ty):
    return -(1 << (WIDTH[ty] - 1)) if ty[0] == "s" else 0


def greatest(ty):
    return mask(WIDTH[ty] - 1) if ty[0] == "s" else mask(WIDTH[ty])


def clamp(ty, number):
    return min(max(number, least(ty)), greatest(ty))


def edges(width):
    top = 1 << (width - 1)
    return [0, 1, top - 1, top, mask(width), 0x5A5A_A5A5_1234_8765_5A5A_A5A5_1234_8765 & mask(width)]


def tuples(name, widths, count=10):
    """Operands: first extreme values, then random ones."""
    generator = draw(name)
    found = [tuple(generator.choice(edges(width)) for width in widths) for _ in range(count // 2)]
    found += [tuple(generator.choice([generator.getrandbits(width), generator.getrandbits(width // 2)])
                    for width in widths) for _ in range(count - len(found))]
    fixed = [tuple(mask(width) for width in widths), tuple(0 for _ in widths),
             tuple(1 << (width - 1) for width in widths)]
    return list(dict.fromkeys(fixed + found))


def integer(name, types, function, result=None, count=10):
    """`name.ty d, a, b, …`: operand types, and a function of their values."""
    own = types[0]
    result = result or own
    operands = ", ".join([reg(result, 5)] + [reg(ty, i + 1) for i, ty in enumerate(types)])
    vectors = []
    for bits in tuples(name, [WIDTH[ty] for ty in types], count):
        out = function(*[value(ty, b) for ty, b in zip(types, bits)])
        vectors.append(([show(b, WIDTH[ty]) for ty, b in zip(types, bits)], [show(out, WIDTH[result])]))
    emit(f"{name} {operands}", vectors)


def quotient(a, b):
    """Division, rounded towards zero."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def halves(ty, function):
    """A packed type: the same operation on both halves."""
    single = ty[:3]

    def both(a, b):
        low = function(value(single, a), value(single, b)) & 0xFFFF
        high = function(value(single, a >> 16), value(single, b >> 16)) & 0xFFFF
        return high << 16 | low

    return both


def wide(ty):
    return ty[0] + str(2 * WIDTH[ty])


def low24(ty, number):
    number &= mask(24)
    return number - (1 << 24) if ty[0] == "s" and number >> 23 else number


def all_integers():
    for ty in INTEGERS:
        width = WIDTH[ty]
        integer(f"add.{ty}", [ty, ty], lambda a, b: a + b)
        integer(f"sub.{ty}", [ty, ty], lambda a, b: a - b)
        integer(f"mul.lo.{ty}", [ty, ty], lambda a, b: a * b)
        integer(f"mul.hi.{ty}", [ty, ty], lambda a, b: (a * b) >> width)
        integer(f"mad.lo.{ty}", [ty, ty, ty], lambda a, b, c: a * b + c)
        integer(f"mad.hi.{ty}", [ty, ty, ty], lambda a, b, c: ((a * b) >> width) + c)
        if width < 64:
            integer(f"mul.wide.{ty}", [ty, ty], lambda a, b: a * b, wide(ty))
            integer(f"mad.wide.{ty}", [ty, ty, wide(ty)], lambda a, b, c: a * b + c, wide(ty))
        integer(f"min.{ty}", [ty, ty], min)
        integer(f"max.{ty}", [ty, ty], max)
        integer(f"sad.{ty}", [ty, ty, ty], lambda a, b, c: c + abs(a - b))
        # Division by zero is unspecified, so only the handwritten rows test it.
        for name, function in [("div", quotient), ("rem", lambda a, b: a - b * quotient(a, b))]:
            rows = []
            for a, b in tuples(f"{name}.{ty}", [width, width], 14):
                if value(ty, b) != 0:
                    out = function(value(ty, a), value(ty, b))
                    rows.append(([show(a, width), show(b, width)], [show(out, width)]))
            emit(f"{name}.{ty} {reg(ty, 5)}, {reg(ty, 1)}, {reg(ty, 2)}", rows)
        if ty[0] == "s":
            integer(f"neg.{ty}", [ty], lambda a: -a, count=6)
            integer(f"abs.{ty}", [ty], abs, count=6)
    for ty in ["s32"]:
        integer(f"add.sat.{ty}", [ty, ty], lambda a, b: clamp("s32", a + b))
        integer(f"sub.sat.{ty}", [ty, ty], lambda a, b: clamp("s32", a - b))
        integer(f"mad.hi.sat.{ty}", [ty, ty, ty], lambda a, b, c: clamp("s32", ((a * b) >> 32) + c))
    for ty in ["u32", "s32"]:
        product = lambda a, b, ty=ty: low24(ty, a) * low24(ty, b)
        integer(f"mul24.lo.{ty}", [ty, ty], product)
        integer(f"mul24.hi.{ty}", [ty, ty], lambda a, b: product(a, b) >> 16)
        integer(f"mad24.lo.{ty}", [ty, ty, ty], lambda a, b, c: product(a, b) + c)
        integer(f"mad24.hi.{ty}", [ty, ty, ty], lambda a, b, c: (product(a, b) >> 16) + c)
    integer("mad24.hi.sat.s32", ["s32", "s32", "s32"],
            lambda a, b, c: clamp("s32", ((low24("s32", a) * low24("s32", b)) >> 16) + c))
    for ty in ["u16x2", "s16x2"]:
        integer(f"add.{ty}", [ty, ty], halves(ty, lambda a, b: a + b))
        integer(f"min.{ty}", [ty, ty], halves(ty, min))
        integer(f"max.{ty}", [ty, ty], halves(ty, max))
    for name, function in [("min", min), ("max", max)]:
        clamped = lambda a, b, function=function: max(0, function(a, b))
        integer(f"{name}.relu.s32", ["s32", "s32"], clamped)
        integer(f"{name}.relu.s16x2", ["s16x2", "s16x2"], halves("s16x2", clamped))
    carries()
    flush_to("integer", "Integer arithmetic, extended-precision arithmetic.")


def carries():
    """Two-word operations: the carry of the first word goes into the second, and that of the second into a third."""
    for ty in ["u32", "s32", "u64", "s64"]:
        width = WIDTH[ty]
        r = lambda number: reg(ty, number)
        for sign, name in [(1, "add"), (-1, "sub")]:
            rows = []
            for low_a, high_a, low_b, high_b in tuples(f"{name}.cc.{ty}", [width] * 4, 12):
                a, b = high_a << width | low_a, high_b << width | low_b
                total = a + sign * b
                carry = total >> (2 * width) & 1
                # A borrow is subtracted from 0.
                third = carry if sign > 0 else -carry
                rows.append(([show(low_a, width), show(low_b, width), show(high_a, width), show(high_b, width)],
                             [show(total, width), show(total >> width, width), show(third, width)]))
            emit(f"{name}.cc.{ty} {r(5)}, {r(1)}, {r(2)}; {name}c.cc.{ty} {r(6)}, {r(3)}, {r(4)}; "
                 f"{name}c.{ty} {r(7)}, 0, 0", rows)
        for part in ["lo", "hi"]:
            rows = []
            for a, b, c in tuples(f"mad.{part}.cc.{ty}", [width] * 3, 12):
                product = value(ty, a) * value(ty, b)
                product = (product >> width if part == "hi" else product) & mask(width)
                total = product + c
                # The second instruction computes the same sum again, plus the carry.
                again = product + c + (total >> width)
                rows.append(([show(a, width), show(b, width), show(c, width)],
                             [show(total, width), show(again, width), show(again >> width, width)]))
            emit(f"mad.{part}.cc.{ty} {r(5)}, {r(1)}, {r(2)}, {r(3)}; "
                 f"madc.{part}.cc.{ty} {r(6)}, {r(1)}, {r(2)}, {r(3)}; addc.{ty} {r(7)}, 0, 0", rows)
            # Without .cc, the carry is not changed.
            rows = []
            for a, b, c in tuples(f"madc.{part}.{ty}", [width] * 3, 6):
                product = value(ty, a) * value(ty, b)
                product = (product >> width if part == "hi" else product) & mask(width)
                total = product + c
                again = product + c + (total >> width)
                rows.append(([show(a, width), show(b, width), show(c, width)],
                             [show(total, width), show(again, width), show(total >> width, width)]))
            emit(f"mad.{part}.cc.{ty} {r(5)}, {r(1)}, {r(2)}, {r(3)}; "
                 f"madc.{part}.{ty} {r(6)}, {r(1)}, {r(2)}, {r(3)}; addc.{ty} {r(7)}, 0, 0", rows)
        mixed_carries(ty)


def mixed_carries(ty):
    """A carry flag that an addition writes and a subtraction reads, and the other way round. The ISA's text
    leaves the result open; the machine code of ptxas has one flag for both: x - y is x + not y + 1, and an
    instruction that reads the flag adds it instead of the 1."""
    width = WIDTH[ty]
    r = lambda number: reg(ty, number)
    total = {
        "add": lambda a, b, c: a + b,
        "sub": lambda a, b, c: a + (~b & mask(width)) + 1,
        "mad.lo": lambda a, b, c: (value(ty, a) * value(ty, b) & mask(width)) + c,
        "mad.hi": lambda a, b, c: (value(ty, a) * value(ty, b) >> width & mask(width)) + c,
    }
    carried = {
        "addc": lambda a, b, c, flag: a + b + flag,
        "subc": lambda a, b, c, flag: a + (~b & mask(width)) + flag,
        "madc.lo": lambda a, b, c, flag: total["mad.lo"](a, b, c) + flag,
        "madc.hi": lambda a, b, c, flag: total["mad.hi"](a, b, c) + flag,
    }
    operands = lambda op, d: ", ".join(r(n) for n in ([d, 1, 2, 3] if op.startswith("mad") else [d, 1, 2]))
    for first in ["add", "sub", "mad.lo", "mad.hi"]:
        for second in ["addc", "subc", "madc.lo", "madc.hi"]:
            if (first == "sub") == (second == "subc"):
                continue
            rows = []
            used = 3 if "mad" in first + second else 2
            for a, b, c in tuples(f"{first} {second} {ty}", [width] * 3, 8):
                one = total[first](a, b, c)
                two = carried[second](a, b, c, one >> width & 1)
                rows.append(([show(a, width), show(b, width), show(c, width)][:used],
                             [show(one, width), show(two, width), show(two >> width, width),
                              show(10 + mask(width) + (two >> width), width)]))
            emit(f"{first}.cc.{ty} {operands(first, 5)}; {second}.cc.{ty} {operands(second, 6)}; "
                 f"addc.{ty} {r(7)}, 0, 0; subc.{ty} {r(8)}, 10, 0", rows)


# Bits -------------------------------------------------------------------------------------------

def bit_length(number):
    return number.bit_length()


def amounts(name, width):
    generator = draw(name)
    return [0, 1, 7, width - 1, width, width + 1, 255, 0xFFFF_FFFF, generator.getrandbits(5)]


def bfe(ty, a, b, c):
    """PTX ISA, "bfe", its pseudocode; for 64 bits, an H100 uses all bits of position and length, not eight."""
    width = WIDTH[ty]
    msb = width - 1
    position, length = (b, c) if width == 64 else (b & 0xFF, c & 0xFF)
    bits = a & mask(width)
    unsigned = ty[0] == "u" or length == 0
    sign = 0 if unsigned else bits >> min(position + length - 1, msb) & 1
    out = 0
    for i in range(msb + 1):
        inside = i < length and position + i <= msb
        out |= (bits >> (position + i) & 1 if inside else sign) << i
    return out


def bfi(width, a, b, c, d):
    """PTX ISA, "bfi", its pseudocode; for 64 bits as bfe."""
    position, length = (c, d) if width == 64 else (c & 0xFF, d & 0xFF)
    out = b
    i = 0
    while i < length and position + i <= width - 1:
        out = out & ~(1 << (position + i)) | (a >> i & 1) << (position + i)
        i += 1
    return out


def bmsk(a, b, wrap):
    """PTX ISA, "bmsk", its pseudocode."""
    ones = mask(32)
    a1, b1 = a & 0x1F, b & 0x1F
    total = a1 + b1
    mask0 = ones << a1 & ones
    mask1 = ones << total & ones
    over = total >= 32
    if not wrap and a >= 32:
        mask0, over = 0, True
    if not wrap and b >= 32:
        over = True
    return mask0 & ~(0 if over else mask1) & ones


def szext(ty, a, b, wrap):
    """PTX ISA, "szext": the sign or zeros from bit N = b on; 0 for N = 0, `a` for 32 and more."""
    n = b & 31 if wrap else b
    if n >= 32:
        return a
    field = a & mask(n)
    if ty == "s32" and n and field >> (n - 1):
        field |= mask(32) & ~mask(n)
    return field


def fns(bits, base, offset):
    """PTX ISA, "fns", its pseudocode."""
    if offset == 0:
        if bits >> base & 1:
            return base
        return 0xFFFF_FFFF
    pos, count = base, abs(offset) - 1
    inc = 1 if offset > 0 else -1
    while 0 <= pos < 32:
        if bits >> pos & 1:
            if count == 0:
                return pos
            count -= 1
        pos += inc
    return 0xFFFF_FFFF


def prmt(mode, a, b, c):
    """PTX ISA, "prmt", its tables."""
    source = [(b << 32 | a) >> (8 * i) & 0xFF for i in range(8)]
    if mode == "":
        out = 0
        for i in range(4):
            selector = c >> (4 * i) & 0xF
            byte = source[selector & 7]
            if selector & 8:
                byte = 0xFF if byte & 0x80 else 0
            out |= byte << (8 * i)
        return out
    # Bytes d.b3 d.b2 d.b1 d.b0 for c = 0, 1, 2, 3.
    table = {
        ".f4e": [(3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)],
        ".b4e": [(5, 6, 7, 0), (6, 7, 0, 1), (7, 0, 1, 2), (0, 1, 2, 3)],
        ".rc8": [(0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)],
        ".ecl": [(3, 2, 1, 0), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)],
        ".ecr": [(0, 0, 0, 0), (1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 0)],
        ".rc16": [(1, 0, 1, 0), (3, 2, 3, 2), (1, 0, 1, 0), (3, 2, 3, 2)],
    }
    b3, b2, b1, b0 = table[mode][c & 3]
    return source[b3] << 24 | source[b2] << 16 | source[b1] << 8 | source[b0]


def lop3(table, a, b, c):
    out = 0
    for i in range(32):
        index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1
        out |= (table >> index & 1) << i
    return out


def all_bits():
    for name, function in [("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)]:
        for ty in ["b16", "b32", "b64"]:
            integer(f"{name}.{ty}", [ty, ty], function, count=6)
        emit(f"{name}.pred %p5, %p1, %p2",
             [([a, b], [function(a, b)]) for a in (0, 1) for b in (0, 1)])
    emit("not.pred %p5, %p1", [([0], [1]), ([1], [0])])
    for ty in ["b16", "b32", "b64"]:
        width = WIDTH[ty]
        integer(f"not.{ty}", [ty], lambda a: ~a, count=4)
        integer(f"cnot.{ty}", [ty], lambda a: int(a == 0), count=4)
        emit(f"shl.{ty} {reg(ty, 5)}, {reg(ty, 1)}, %r4",
             [([show(a, width), show(n, 32)], [show(a << min(n, width), width)])
              for n in amounts(f"shl.{ty}", width) for a in edges(width)[-2:]])
    for ty in ["b16", "b32", "b64"] + INTEGERS:
        width = WIDTH[ty]
        emit(f"shr.{ty} {reg(ty, 5)}, {reg(ty, 1)}, %r4",
             [([show(a, width), show(n, 32)], [show(value(ty, a) >> min(n, width), width)])
              for n in amounts(f"shr.{ty}", width) for a in edges(width)[-3:-1]])
    for ty in ["b32", "b64"]:
        width = WIDTH[ty]
        values = edges(width) + [1 << 5, 3 << 20]
        r = reg(ty, 1)
        emit(f"popc.{ty} %r5, {r}", [([show(a, width)], [bin(a).count("1")]) for a in values])
        emit(f"clz.{ty} %r5, {r}", [([show(a, width)], [width - bit_length(a)]) for a in values])
        emit(f"brev.{ty} {reg(ty, 5)}, {r}",
             [([show(a, width)], [show(int(f"{a:0{width}b}"[::-1], 2), width)]) for a in values])
        rows = []
        for a, b in tuples(f"bfi.{ty}", [width, width], 4):
            for c, d in [(0, width), (4, 8), (width - 3, 8), (0, 0), (width, 4), (255, 255), (0x103, 0x102)]:
                rows.append(([show(a, width), show(b, width), show(c, 32), show(d, 32)],
                             [show(bfi(width, a, b, c, d), width)]))
        emit(f"bfi.{ty} {reg(ty, 5)}, {reg(ty, 1)}, {reg(ty, 2)}, %r3, %r4", rows)
    for ty in ["u32", "u64", "s32", "s64"]:
        width = WIDTH[ty]
        for suffix in ["", ".shiftamt"]:
            rows = []
            for a in edges(width) + [1 << 5, 3 << 20, mask(width) ^ 0x10, mask(width) ^ 1]:
                # For a negative number, the highest bit that differs from the sign.
                bits = a ^ mask(width) if value(ty, a) < 0 else a
                found = bit_length(bits) - 1
                out = 0xFFFF_FFFF if found < 0 else width - 1 - found if suffix else found
                rows.append(([show(a, width)], [show(out, 32)]))
            emit(f"bfind{suffix}.{ty} %r5, {reg(ty, 1)}", rows)
        rows = []
        for a in edges(width)[2:]:
            for b, c in [(0, width), (4, 8), (width - 3, 8), (0, 0), (width, 4), (255, 255), (0x103, 0x102), (width - 1, 1)]:
                rows.append(([show(a, width), show(b, 32), show(c, 32)], [show(bfe(ty, a, b, c), width)]))
        emit(f"bfe.{ty} {reg(ty, 5)}, {reg(ty, 1)}, %r2, %r3", rows)
    amounts32 = [0, 1, 5, 31, 32, 33, 63, 255, 256, 257, 0xFFFF_FFFF]
    for mode in ["clamp", "wrap"]:
        wrap = mode == "wrap"
        emit(f"bmsk.{mode}.b32 %r5, %r1, %r2",
             [([show(a, 32), show(b, 32)], [show(bmsk(a, b, wrap), 32)]) for a in amounts32 for b in amounts32])
        for ty in ["u32", "s32"]:
            emit(f"szext.{mode}.{ty} %r5, %r1, %r2",
                 [([show(a, 32), show(b, 32)], [show(szext(ty, a, b, wrap), 32)])
                  for a in [0x8000_0011, 0xFFFF_FFFF, 0x5A5A_A5A5] for b in amounts32])
    rows = []
    for bits in [0, 1, 0x8000_0000, 0xF0F0_00F1, 0xFFFF_FFFF]:
        for base, offset in [(0, 0), (0, 1), (4, 2), (31, -1), (20, -3), (5, 40), (31, 0)]:
            rows.append(([show(bits, 32), base, show(offset, 32)], [show(fns(bits, base, offset), 32)]))
    emit("fns.b32 %r5, %r1, %r2, %r3", rows)
    for table in [0x00, 0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x1A, 0xFF]:
        rows = [([show(x, 32) for x in bits], [show(lop3(table, *bits), 32)])
                for bits in tuples(f"lop3 {table}", [32] * 3, 4) + [(0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA)]]
        emit(f"lop3.b32 %r5, %r1, %r2, %r3, {table:#x}", rows)
    for name, combine in [("and", lambda a, b: a & b), ("or", lambda a, b: a | b)]:
        rows = []
        for bits in [(0, 0, 0), (5, 3, 9), (0xFFFFFFFF, 0, 1)]:
            for q in (0, 1):
                out = lop3(0x80, *bits)
                rows.append(([show(x, 32) for x in bits] + [q], [show(out, 32), combine(int(out != 0), q)]))
        emit(f"lop3.{name}.b32 %r5|%p5, %r1, %r2, %r3, 0x80, %p1", rows)
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"]:
        selectors = [0x3210, 0x7654, 0xFEDC, 0x0000, 0x8421, 0xFFFF_BA98] if mode == "" else [0, 1, 2, 3, 7]
        emit(f"prmt.b32{mode} %r5, %r1, %r2, %r3",
             [([show(a, 32), show(b, 32), show(c, 32)], [show(prmt(mode, a, b, c), 32)])
              for c in selectors for a, b in [(0x33_22_11_80, 0x77_F6_55_44)]])
    for direction in ["l", "r"]:
        for mode in ["clamp", "wrap"]:
            rows = []
            for a, b in [(0x1234_5678, 0x9ABC_DEF0), (0xFFFF_FFFF, 1)]:
                for c in [0, 1, 12, 31, 32, 33, 63, 0xFFFF_FFFF]:
                    n = min(c, 32) if mode == "clamp" else c & 31
                    out = (b << n | a >> (32 - n)) if direction == "l" else (b << (32 - n) | a >> n)
                    rows.append(([show(a, 32), show(b, 32), show(c, 32)], [show(out, 32)]))
            emit(f"shf.{direction}.{mode}.b32 %r5, %r1, %r2, %r3", rows)
    signed = lambda bits, width, is_signed: bits - (1 << width) if is_signed and bits >> (width - 1) else bits
    for x in ["u32", "s32"]:
        for y in ["u32", "s32"]:
            rows4, low, high = [], [], []
            for a, b, c in tuples(f"dp {x} {y}", [32] * 3, 8):
                byte = lambda bits, i, ty: signed(bits >> (8 * i) & 0xFF, 8, ty[0] == "s")
                half = lambda bits, i, ty: signed(bits >> (16 * i) & 0xFFFF, 16, ty[0] == "s")
                operands = [show(a, 32), show(b, 32), show(c, 32)]
                rows4.append((operands, [show(c + sum(byte(a, i, x) * byte(b, i, y) for i in range(4)), 32)]))
                low.append((operands, [show(c + sum(half(a, i, x) * byte(b, i, y) for i in range(2)), 32)]))
                high.append((operands, [show(c + sum(half(a, i, x) * byte(b, 2 + i, y) for i in range(2)), 32)]))
            emit(f"dp4a.{x}.{y} %r5, %r1, %r2, %r3", rows4)
            emit(f"dp2a.lo.{x}.{y} %r5, %r1, %r2, %r3", low)
            emit(f"dp2a.hi.{x}.{y} %r5, %r1, %r2, %r3", high)
    flush_to("bits", "Logic, shifts, bit fields, bytes.")


# Floating point ---------------------------------------------------------------------------------

class Format:
    """A binary format; `value` of its bits is a Fraction, or 'nan', 'inf', '-inf'. Zeros keep their sign separately."""

    def __init__(self, exponent, fraction):
        self.exponent, self.fraction = exponent, fraction
        self.width = 1 + exponent + fraction
        self.bias = (1 << (exponent - 1)) - 1
        self.sign = 1 << (exponent + fraction)
        self.infinity = mask(exponent) << fraction
        self.normal = 1 << fraction
        self.one = self.bias << fraction

    def negative(self, bits):
        return bits & self.sign != 0

    def is_nan(self, bits):
        return bits & (self.sign - 1) > self.infinity

    def is_infinite(self, bits):
        return bits & (self.sign - 1) == self.infinity

    def is_zero(self, bits):
        return bits & (self.sign - 1) == 0

    def is_subnormal(self, bits):
        return 0 < bits & (self.sign - 1) < self.normal

    def flush(self, bits):
        return bits & self.sign if self.is_subnormal(bits) else bits

    def fraction_of(self, bits):
        magnitude = bits & (self.sign - 1)
        field, digits = magnitude >> self.fraction, magnitude & (self.normal - 1)
        if field:
            digits |= self.normal
        exponent = max(field, 1) - self.bias - self.fraction
        number = Fraction(digits) * Fraction(2) ** exponent
        return -number if self.negative(bits) else number

    def round(self, number, how, zero_sign=0):
        """The bits of a Fraction, rounded; a zero gets the given sign."""
        if number == 0:
            return self.sign if zero_sign else 0
        negative, magnitude = number < 0, abs(number)
        # The greatest power of two that is at most the number.
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        while Fraction(2) ** exponent > magnitude:
            exponent -= 1
        while Fraction(2) ** (exponent + 1) <= magnitude:
            exponent += 1
        unit = Fraction(2) ** (max(exponent, 1 - self.bias) - self.fraction)
        down = magnitude // unit
        rest = magnitude / unit - down
        up = {
            "rn": rest > Fraction(1, 2) or rest == Fraction(1, 2) and down % 2 == 1,
            "rna": rest >= Fraction(1, 2),
            "rz": False,
            "rm": negative and rest > 0,
            "rp": not negative and rest > 0,
        }[how]
        rounded = (down + up) * unit
        limit = Fraction(2) ** (self.bias + 1)
        sign = self.sign if negative else 0
        if rounded >= limit:
            finite = how == "rz" or how == "rm" and not negative or how == "rp" and negative
            return sign | (self.infinity - 1 if finite else self.infinity)
        return sign | self.encode(rounded)

    def encode(self, magnitude):
        """The bits of a number that the format represents exactly."""
        if magnitude == 0:
            return 0
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        while Fraction(2) ** exponent > magnitude:
            exponent -= 1
        while Fraction(2) ** (exponent + 1) <= magnitude:
            exponent += 1
        if exponent < 1 - self.bias:
            return int(magnitude / Fraction(2) ** (1 - self.bias - self.fraction))
        digits = int(magnitude / Fraction(2) ** (exponent - self.fraction))
        return (exponent + self.bias << self.fraction) + digits - self.normal

    def show(self, bits):
        return "nan" if self.is_nan(bits) else show(bits, self.width)


F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)
FORMAT = {"f16": F16, "f16x2": F16, "bf16": BF16, "bf16x2": BF16, "f32": F32, "f64": F64}
NAN = "nan"


def specials(f):
    return [0, f.sign, 1, f.sign | 1, f.normal - 1, f.normal, f.sign | f.normal, f.one, f.sign | f.one, f.one + 1,
            f.one - 1, f.infinity - 1, f.sign | f.infinity - 1, f.infinity, f.sign | f.infinity,
            f.infinity | f.normal >> 1, f.infinity | 1]


def some(name, f, count, arity):
    """Operands of a format: special values, values close to each other, and random ones."""
    generator = draw(name)

    def near_one():
        bits = f.one + generator.randrange(-2 * f.normal, 2 * f.normal)
        return bits | (f.sign if generator.random() < 0.5 else 0)

    def one():
        kind = generator.random()
        if kind < 0.45:
            return generator.choice(specials(f))
        if kind < 0.8:
            return near_one()
        return generator.getrandbits(f.width)

    found = [tuple(one() for _ in range(arity)) for _ in range(count)]
    found += [tuple(near_one() for _ in range(arity)) for _ in range(4)]
    return list(dict.fromkeys(found))


def sum_zero(how, a, b):
    """The sign of an exact zero sum: that of the addends if they agree, otherwise + (− for .rm)."""
    return a if a == b else how == "rm"


def operation(name, f, how, *bits):
    """add, sub, mul, div, fma, sqrt, rcp, without modifiers."""
    if any(f.is_nan(x) for x in bits):
        return NAN
    neg = [f.negative(x) for x in bits]
    inf = [f.is_infinite(x) for x in bits]
    zero = [f.is_zero(x) for x in bits]
    infinity = lambda negative: f.infinity | (f.sign if negative else 0)
    if name == "sub":
        return operation("add", f, how, bits[0], bits[1] ^ f.sign)
    if name == "add":
        if inf[0] and inf[1] and neg[0] != neg[1]:
            return NAN
        if inf[0] or inf[1]:
            return infinity(neg[0] if inf[0] else neg[1])
        return f.round(f.fraction_of(bits[0]) + f.fraction_of(bits[1]), how, sum_zero(how, *neg))
    if name == "mul":
        if inf[0] and zero[1] or zero[0] and inf[1]:
            return NAN
        sign = neg[0] != neg[1]
        if inf[0] or inf[1]:
            return infinity(sign)
        return f.round(f.fraction_of(bits[0]) * f.fraction_of(bits[1]), how, sign)
    if name == "fma":
        if inf[0] and zero[1] or zero[0] and inf[1]:
            return NAN
        sign = neg[0] != neg[1]
        if inf[0] or inf[1]:
            return NAN if inf[2] and neg[2] != sign else infinity(sign)
        if inf[2]:
            return infinity(neg[2])
        product = f.fraction_of(bits[0]) * f.fraction_of(bits[1])
        zero_sign = sum_zero(how, sign, neg[2])
        return f.round(product + f.fraction_of(bits[2]), how, zero_sign)
    if name == "div":
        sign = neg[0] != neg[1]
        if inf[0] and inf[1] or zero[0] and zero[1]:
            return NAN
        if inf[0] or zero[1]:
            return infinity(sign)
        if inf[1]:
            return f.sign if sign else 0
        return f.round(f.fraction_of(bits[0]) / f.fraction_of(bits[1]), how, sign)
    if name == "rcp":
        return operation("div", f, how, f.one, bits[0])
    if name == "sqrt":
        if zero[0]:
            return bits[0]
        if neg[0]:
            return NAN
        if inf[0]:
            return bits[0]
        return square_root(f, f.fraction_of(bits[0]), how)
    raise ValueError(name)


def square_root(f, number, how):
    """The square root, digit by digit: the greatest encoding whose square is at most the number, or its neighbour."""
    low, high = 0, f.infinity
    while high - low > 1:
        middle = (low + high) // 2
        if f.fraction_of(middle) ** 2 <= number:
            low = middle
        else:
            high = middle
    below = f.fraction_of(low)
    if below**2 == number or how in ("rz", "rm"):
        return low
    if how == "rp":
        return low + 1
    half = (below + f.fraction_of(low + 1)) / 2
    return low + 1 if half**2 < number else low


def modified(f, result, ftz=False, sat=False, relu=False):
    """Applies .ftz, .sat and .relu to a result (PTX ISA, "Floating-Point Instructions")."""
    if result == NAN:
        return 0 if sat else NAN
    if ftz:
        result = f.flush(result)
    if sat or relu:
        if f.negative(result) or f.is_zero(result):
            return 0
        if sat and f.fraction_of(result) > 1 if not f.is_infinite(result) else sat:
            return f.one
    return result


def near_flush(f, result):
    """Whether a result is so near the least normal number that .ftz is open to interpretation."""
    return result != NAN and result & (f.sign - 1) == f.normal


def text_of(f, result):
    return NAN if result == NAN else f.show(result)


def float_rows(text, ty, arity, function, count=12):
    """Rows of an instruction for a type. Packed types are computed by halves."""
    f = FORMAT[ty]
    packed = ty.endswith("x2")
    rows = []
    sets = some(text, f, count, arity)
    if not packed:
        for bits in sets:
            out = function(*bits)
            if out is not None:
                rows.append(([show(x, f.width) for x in bits], [text_of(f, out)]))
    else:
        sets = [bits for bits in sets if function(*bits) is not None]
        for low, high in zip(sets, sets[1:] + sets[:1]):
            outs = [function(*low), function(*high)]
            operands = [show(b << 16 | a, 32) for a, b in zip(low, high)]
            parts = "/".join(text_of(f, out) for out in reversed(outs))
            rows.append((operands, [parts]))
    registers = ", ".join([reg(ty, 5)] + [reg(ty, i + 1) for i in range(arity)])
    emit(f"{text} {registers}", rows)


def arithmetic(name, ty, how, suffix="", ftz=False, sat=False, relu=False):
    f = FORMAT[ty]

    def run(*bits):
        flushed = [f.flush(x) if ftz else x for x in bits]
        out = operation(name, f, how, *flushed)
        if ftz and near_flush(f, out):
            return None
        if relu and out == NAN:
            return NAN
        return modified(f, out, ftz, sat, relu)

    float_rows(f"{name}{suffix}.{ty}", ty, {"fma": 3, "sqrt": 1, "rcp": 1}.get(name, 2), run)


def extreme(name, ty, ftz=False, nan=False, xorsign=False):
    f = FORMAT[ty]

    def key(bits):
        if f.is_infinite(bits):
            number = Fraction(2) ** 2000
            number = -number if f.negative(bits) else number
        else:
            number = f.fraction_of(bits)
        return (number, not f.negative(bits))  # −0 < +0

    def run(a, b):
        if ftz:
            a, b = f.flush(a), f.flush(b)
        sign = (a ^ b) & f.sign
        x, y = (a & ~f.sign, b & ~f.sign) if xorsign else (a, b)
        if f.is_nan(x) and f.is_nan(y):
            return NAN
        if f.is_nan(x) or f.is_nan(y):
            if nan:
                return NAN
            out = y if f.is_nan(x) else x
        else:
            out = (min if name == "min" else max)(x, y, key=key)
        return out & ~f.sign | sign if xorsign else out

    suffix = (".ftz" if ftz else "") + (".NaN" if nan else "") + (".xorsign.abs" if xorsign else "")
    float_rows(f"{name}{suffix}.{ty}", ty, 2, run, 18)


def all_floats():
    roundings = ["rn", "rz", "rm", "rp"]
    for ty in ["f32", "f64"]:
        for name in ["add", "sub", "mul"]:
            arithmetic(name, ty, "rn")
            if ty == "f32":
                arithmetic(name, ty, "rn", ".ftz", ftz=True)
                arithmetic(name, ty, "rn", ".sat", sat=True)
                arithmetic(name, ty, "rn", ".ftz.sat", ftz=True, sat=True)
        for how in roundings:
            for name in ["add", "sub", "mul", "fma", "div", "sqrt", "rcp"]:
                arithmetic(name, ty, how, f".{how}")
                if ty == "f32":
                    arithmetic(name, ty, how, f".{how}.ftz", ftz=True)
                    if name in ("add", "sub", "mul", "fma"):
                        arithmetic(name, ty, how, f".{how}.sat", sat=True)
                        arithmetic(name, ty, how, f".{how}.ftz.sat", ftz=True, sat=True)
            # mad is fma under an older name.
            for suffix, ftz, sat in [("", False, False), (".ftz", True, False), (".sat", False, True)]:
                if ty == "f64" and suffix:
                    continue
                mad(ty, how, suffix, ftz, sat)
    for ty in ["f16", "f16x2"]:
        for suffix, ftz, sat in [("", False, False), (".ftz", True, False), (".sat", False, True), (".ftz.sat", True, True)]:
            for name in ["add", "sub", "mul"]:
                arithmetic(name, ty, "rn", suffix, ftz=ftz, sat=sat)
                arithmetic(name, ty, "rn", f".rn{suffix}", ftz=ftz, sat=sat)
            arithmetic("fma", ty, "rn", f".rn{suffix}", ftz=ftz, sat=sat)
        arithmetic("fma", ty, "rn", ".rn.relu", relu=True)
        arithmetic("fma", ty, "rn", ".rn.ftz.relu", ftz=True, relu=True)
    for ty in ["bf16", "bf16x2"]:
        for name in ["add", "sub", "mul"]:
            arithmetic(name, ty, "rn")
            arithmetic(name, ty, "rn", ".rn")
        arithmetic("fma", ty, "rn", ".rn")
        arithmetic("fma", ty, "rn", ".rn.relu", relu=True)
    for name in ["min", "max"]:
        for ty in ["f32", "f64", "f16", "f16x2", "bf16", "bf16x2"]:
            extreme(name, ty)
            if ty == "f64":
                continue
            flushes = [False] if ty.startswith("b") else [False, True]
            for ftz, nan, xorsign in itertools.product(flushes, [False, True], [False, True]):
                if ftz or nan or xorsign:
                    extreme(name, ty, ftz, nan, xorsign)
    for ty in ["f32", "f64", "f16", "f16x2", "bf16", "bf16x2"]:
        f = FORMAT[ty]
        for name, change in [("neg", lambda f, x: x ^ f.sign), ("abs", lambda f, x: x & ~f.sign)]:
            run = lambda x, f=f, change=change: NAN if f.is_nan(x) else change(f, x)
            float_rows(f"{name}.{ty}", ty, 1, run, 20)
            if ty in ("f32", "f16", "f16x2"):
                flushed = lambda x, f=f, run=run: run(f.flush(x))
                float_rows(f"{name}.ftz.{ty}", ty, 1, flushed, 20)
    for ty in ["f32", "f64"]:
        f = FORMAT[ty]
        # The sign of a with the magnitude of b, bit for bit, also for a NaN.
        rows = [([show(a, f.width), show(b, f.width)], [show(a & f.sign | b & ~f.sign, f.width)])
                for a, b in some(f"copysign.{ty}", f, 14, 2)]
        emit(f"copysign.{ty} {reg(ty, 5)}, {reg(ty, 1)}, {reg(ty, 2)}", rows)
        properties = {
            "finite": lambda x: not (f.is_nan(x) or f.is_infinite(x)),
            "infinite": f.is_infinite,
            "number": lambda x: not f.is_nan(x),
            "notanumber": f.is_nan,
            # "positive and negative zero are considered normal numbers"
            "normal": lambda x: not (f.is_nan(x) or f.is_infinite(x) or f.is_subnormal(x)),
            "subnormal": f.is_subnormal,
        }
        for name, holds in properties.items():
            emit(f"testp.{name}.{ty} %p5, {reg(ty, 1)}",
                 [([show(x, f.width)], [int(holds(x))]) for x in specials(f)])
    flush_to("float", "Floating-point arithmetic of every type and rounding.")


def mad(ty, how, suffix, ftz, sat):
    f = FORMAT[ty]

    def run(*bits):
        out = operation("fma", f, how, *[f.flush(x) if ftz else x for x in bits])
        return None if ftz and near_flush(f, out) else modified(f, out, ftz, sat)

    float_rows(f"mad.{how}{suffix}.{ty}", ty, 3, run, 8)


# Approximations ---------------------------------------------------------------------------------

def single(number):
    """The f32 nearest to a double, as a double; infinities and NaN are not changed."""
    if math.isnan(number) or math.isinf(number) or number == 0:
        return number
    return as_double(F32, F32.round(Fraction(number), "rn"))


def as_double(f, bits):
    if f.is_nan(bits):
        return math.nan
    if f.is_infinite(bits):
        return -math.inf if f.negative(bits) else math.inf
    number = float(f.fraction_of(bits))
    return -0.0 if number == 0 and f.negative(bits) else number


def to_bits(f, number):
    if math.isnan(number):
        return NAN
    if math.isinf(number):
        return f.infinity | (f.sign if number < 0 else 0)
    return f.round(Fraction(number), "rn", math.copysign(1, number) < 0)


def approximations():
    """Results in Python's double precision, with the error that the ISA allows."""
    def log2(x):
        if x == 0:
            return -math.inf
        return math.nan if x < 0 or math.isnan(x) else math.inf if math.isinf(x) else math.log2(x)

    def exp2(x):
        return math.inf if x >= 1024 else 0.0 if x < -1100 else math.nan if math.isnan(x) else 2.0**x

    def rsqrt(x):
        if x == 0:
            return math.copysign(math.inf, x)
        return math.nan if x < 0 or math.isnan(x) else 0.0 if math.isinf(x) else 1 / math.sqrt(x)

    def rcp(x):
        return math.copysign(math.inf, x) if x == 0 else 1 / x

    def sqrt(x):
        return x if x == 0 else math.nan if x < 0 else math.sqrt(x)

    def circle(function):
        return lambda x: math.nan if math.isinf(x) or math.isnan(x) else function(x)

    common = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 0.75, 3.0, 1e-3, 100.0, 1e10, 1e-10, -2.5, math.inf, -math.inf, math.nan]
    small = [0.0, -0.0, 0.5, -0.5, 1.0, math.pi / 4, -1.5, 3.0, 6.0, math.inf, -math.inf, math.nan]
    # Name, function, operands, error: units in the last place, or absolute.
    table = [
        ("rcp.approx", rcp, common, "~1"),
        ("sqrt.approx", sqrt, common, "~1"),
        ("rsqrt.approx", rsqrt, common, "~2"),
        ("sin.approx", circle(math.sin), small, "±6.7e-7"),
        ("cos.approx", circle(math.cos), small, "±6.7e-7"),
        ("lg2.approx", log2, common, "±2.4e-7"),
        ("ex2.approx", exp2, common + [-126.0, 127.5, 128.0, -150.5], "~2"),
    ]
    for name, function, operands, error in table:
        for ftz in [False, True]:
            rows = []
            extra = [1e-40, -1e-40] if name != "sin.approx" else []
            for x in operands + extra:
                x = single(x)
                given = to_bits(F32, x)
                given = 0x7FC0_0000 if given == NAN else given
                if ftz and F32.is_subnormal(given):
                    x = math.copysign(0.0, x)
                out = to_bits(F32, function(x))
                if out != NAN and ftz:
                    out = F32.flush(out)
                exact = out == NAN or F32.is_infinite(out) or F32.is_zero(out)
                if name == "lg2.approx" and not exact:
                    # Relative outside (0.5, 2).
                    error = "±2.4e-7" if 0.5 < x < 2 else "~3"
                rows.append(([show(given, 32)], [text_of(F32, out) + ("" if exact else error)]))
            emit(f"{name}{'.ftz' if ftz else ''}.f32 %r5, %r1", rows)
    rows = []
    for x in small + [1e-4, -20.0, 20.0]:
        given = to_bits(F32, single(x))
        out = to_bits(F32, math.tanh(single(x)))
        exact = out == NAN or F32.is_zero(out)
        # Relative 2^−11: 2^13 units in the last place where it is closest.
        rows.append(([show(0x7FC0_0000 if given == NAN else given, 32)], [text_of(F32, out) + ("" if exact else "~4096")]))
    emit("tanh.approx.f32 %r5, %r1", rows)
    # PTX ISA, "div": 2 ulp for |b| in [2^−126, 2^126]; beyond, div.approx gives 0, or NaN for an infinite a.
    quotients = [(1.0, 3.0), (-7.5, 2.5), (1e30, 1e-5), (0.0, 5.0), (5.0, 0.0), (0.0, 0.0), (math.inf, 2.0),
                 (math.inf, math.inf), (1.0, math.inf), (math.nan, 1.0), (1e38, 1e-3)]
    for name in ["approx", "full"]:
        for ftz in [False, True]:
            rows = []
            for a, b in quotients:
                a, b = single(a), single(b)
                bits = [to_bits(F32, a), to_bits(F32, b)]
                bits = [0x7FC0_0000 if x == NAN else x for x in bits]
                out = operation("div", F32, "rn", *bits)
                exact = out == NAN or F32.is_infinite(out) or F32.is_zero(out)
                rows.append(([show(x, 32) for x in bits], [text_of(F32, out) + ("" if exact else "~2")]))
            if name == "approx":
                rows.append((["0x7e000000", "0x7f000000"], ["0x00000000"]))
                rows.append((["0x7f800000", "0x7f000000"], ["nan"]))
            emit(f"div.{name}{'.ftz' if ftz else ''}.f32 %r5, %r1, %r2", rows)
    # f64: 20 bits of fraction (the upper 32 bits are computed, the lower ones are 0).
    for name, function in [("rcp.approx.ftz", rcp), ("rsqrt.approx.ftz", rsqrt), ("rsqrt.approx", rsqrt)]:
        rows = []
        for x in common + ([] if name == "rsqrt.approx" else [1e-310]):
            given = to_bits(F64, x)
            given = 0x7FF8_0000_0000_0000 if given == NAN else given
            if name.endswith("ftz") and F64.is_subnormal(given):
                x = math.copysign(0.0, x)
            out = to_bits(F64, function(x))
            exact = out == NAN or F64.is_infinite(out) or F64.is_zero(out)
            error = "" if exact else f"~{1 << 33}" if name.endswith("ftz") else "~2"
            rows.append(([show(given, 64)], [text_of(F64, out) + error]))
        emit(f"{name}.f64 %d5, %d1", rows)
    for ty in ["f16", "f16x2", "bf16", "bf16x2"]:
        f = FORMAT[ty]
        for name, function, allowed in [("ex2.approx", exp2, 2), ("tanh.approx", math.tanh, 2)]:
            # ex2.approx.ftz.bf16 has .ftz, ex2.approx.f16 may; tanh has none.
            for suffix in {"ex2": {"f": [""], "b": [".ftz"]}, "tanh": {"f": [""], "b": [""]}}[name.split(".")[0]][ty[0]]:
                rows = []
                values = [0.0, -0.0, 0.5, 1.0, -1.0, 3.0, -2.5, 10.0, math.inf, -math.inf, math.nan]
                given = [to_bits(f, x) for x in values]
                given = [f.infinity | f.normal >> 1 if x == NAN else x for x in given]
                outs = []
                for bits in given:
                    out = to_bits(f, function(as_double(f, bits)))
                    exact = out == NAN or f.is_infinite(out) or f.is_zero(out)
                    outs.append(text_of(f, out) + ("" if exact else f"~{allowed}"))
                if ty.endswith("x2"):
                    for i in range(len(given)):
                        j = (i + 1) % len(given)
                        rows.append(([show(given[j] << 16 | given[i], 32)], [f"{outs[j]}/{outs[i]}"]))
                else:
                    rows = [([show(x, 16)], [out]) for x, out in zip(given, outs)]
                emit(f"{name}{suffix}.{ty} {reg(ty, 5)}, {reg(ty, 1)}", rows)
    flush_to("approximate", "Approximations, within the error that the ISA allows.")


# Comparison and selection -----------------------------------------------------------------------

ORDERED = {"eq": lambda c: c == 0, "ne": lambda c: c != 0, "lt": lambda c: c < 0, "le": lambda c: c <= 0,
           "gt": lambda c: c > 0, "ge": lambda c: c >= 0}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def compare(f, op, a, b, ftz=False):
    """A comparison of floats, with its result for NaN."""
    if ftz:
        a, b = f.flush(a), f.flush(b)
    unordered = f.is_nan(a) or f.is_nan(b)
    if op == "num":
        return not unordered
    if op == "nan":
        return unordered
    if op.endswith("u"):
        return unordered or compare(f, op[:-1], a, b)
    if unordered:
        return False
    big = Fraction(2) ** 2000
    number = lambda x: (-big if f.negative(x) else big) if f.is_infinite(x) else f.fraction_of(x)
    x, y = number(a), number(b)
    return ORDERED[op]((x > y) - (x < y))


def float_ops():
    return list(ORDERED) + ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]


def pairs_of(f):
    """Equal, less, greater, zeros, infinities, subnormals, NaN on either side."""
    nan = f.infinity | f.normal >> 1
    return [(f.one, f.one), (f.one, f.one + 1), (f.one | f.sign, f.one), (0, f.sign), (f.infinity, f.infinity),
            (f.sign | f.infinity, f.infinity), (1, 0), (1, 2), (nan, f.one), (f.one, nan), (nan, nan), (nan, 0)]


def comparisons():
    integers = {"b16": ["eq", "ne"], "b32": ["eq", "ne"], "b64": ["eq", "ne"]}
    for ty in INTEGERS:
        integers[ty] = list(ORDERED) + (list(UNSIGNED) if ty[0] == "u" else [])
    combine = {"and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: a != b}
    for ty, ops in integers.items():
        width = WIDTH[ty]
        top = 1 << (width - 1)
        values = [(0, 0), (1, 2), (2, 1), (top, 0), (0, top), (mask(width), 0), (mask(width), mask(width)), (top - 1, top)]
        for op in ops:
            test = ORDERED[UNSIGNED.get(op, op)]
            answers = []
            for a, b in values:
                x, y = value(ty, a), value(ty, b)
                answers.append(([show(a, width), show(b, width)], bool(test((x > y) - (x < y)))))
            emit(f"setp.{op}.{ty} %p5, {reg(ty, 1)}, {reg(ty, 2)}", [(o, [int(r)]) for o, r in answers])
            for name, apply in combine.items():
                if op == "ne" or op == "lt" and ty in ("s32", "u64"):
                    emit(f"setp.{op}.{name}.{ty} %p5|%p6, {reg(ty, 1)}, {reg(ty, 2)}, %p3",
                         [(o + [c], [int(apply(r, bool(c))), int(apply(not r, bool(c)))]) for o, r in answers for c in (0, 1)])
                    emit(f"set.{op}.{name}.s32.{ty} %r5, {reg(ty, 1)}, {reg(ty, 2)}, !%p3",
                         [(o + [c], [show(-int(apply(r, not c)), 32)]) for o, r in answers for c in (0, 1)])
            emit(f"set.{op}.u32.{ty} %r5, {reg(ty, 1)}, {reg(ty, 2)}", [(o, [show(-int(r), 32)]) for o, r in answers])
            emit(f"set.{op}.s32.{ty} %r5, {reg(ty, 1)}, {reg(ty, 2)}", [(o, [show(-int(r), 32)]) for o, r in answers])
            emit(f"set.{op}.f32.{ty} %r5, {reg(ty, 1)}, {reg(ty, 2)}", [(o, [show(F32.one * r, 32)]) for o, r in answers])
            if op in ("eq", "ge"):
                for to in ["f16", "bf16"]:
                    emit(f"set.{op}.{to}.{ty} %h5, {reg(ty, 1)}, {reg(ty, 2)}",
                         [(o, [show(FORMAT[to].one * r, 16)]) for o, r in answers])
    for ty in ["f32", "f64", "f16", "bf16"]:
        f = FORMAT[ty]
        for op in float_ops():
            for ftz in [False, True] if ty in ("f32", "f16") else [False]:
                dot = ".ftz" if ftz else ""
                answers = [([show(a, f.width), show(b, f.width)], compare(f, op, a, b, ftz)) for a, b in pairs_of(f)]
                emit(f"setp.{op}{dot}.{ty} %p5, {reg(ty, 1)}, {reg(ty, 2)}", [(o, [int(r)]) for o, r in answers])
                if ty in ("f32", "f64") and op in ("lt", "geu", "nan"):
                    emit(f"setp.{op}.xor{dot}.{ty} %p5|%p6, {reg(ty, 1)}, {reg(ty, 2)}, !%p3",
                         [(o + [c], [int(r != (not c)), int((not r) != (not c))]) for o, r in answers for c in (0, 1)])
                results = ["u32", "s32"] + (["f32"] if ty in ("f32", "f64") else ["u16", "s16"])
                results += {"f16": ["f16"], "bf16": ["bf16"]}.get(ty, [])
                if ty in ("f32", "f64"):
                    results += ["f16", "bf16"]
                for to in results:
                    if op not in ("eq", "lt", "neu", "num", "nan") and to != "u32" or ftz and to == "bf16":
                        continue
                    width = WIDTH[to]
                    truth = FORMAT[to].one if to in FORMAT else mask(width)
                    emit(f"set.{op}{dot}.{to}.{ty} {reg(to, 5)}, {reg(ty, 1)}, {reg(ty, 2)}",
                         [(o, [show(truth * r, width)]) for o, r in answers])
    # A comparison of f16 may have a bf16 result, but not the other way round.
    for op in float_ops():
        emit(f"set.{op}.bf16.f16 %h5, %h1, %h2",
             [([show(a, 16), show(b, 16)], [show(BF16.one * compare(F16, op, a, b), 16)]) for a, b in pairs_of(F16)])
    for ty in ["f16x2", "bf16x2"]:
        f = FORMAT[ty]
        values = pairs_of(f)
        for op in float_ops():
            for ftz in [False, True] if ty == "f16x2" else [False]:
                dot = ".ftz" if ftz else ""
                rows, sets, same = [], [], []
                for (al, bl), (ah, bh) in zip(values, values[1:] + values[:1]):
                    low, high = compare(f, op, al, bl, ftz), compare(f, op, ah, bh, ftz)
                    operands = [show(ah << 16 | al, 32), show(bh << 16 | bl, 32)]
                    rows.append((operands, [int(low), int(high)]))
                    sets.append((operands, [show(0xFFFF_0000 * high | 0xFFFF * low, 32)]))
                    same.append((operands, [show(f.one * high << 16 | f.one * low, 32)]))
                emit(f"setp.{op}{dot}.{ty} %p5|%p6, %r1, %r2", rows)
                if op in ("eq", "ltu", "nan"):
                    emit(f"set.{op}{dot}.u32.{ty} %r5, %r1, %r2", sets)
                    emit(f"set.{op}{dot}.s32.{ty} %r5, %r1, %r2", sets)
                    emit(f"set.{op}{dot}.{ty}.{ty} %r5, %r1, %r2", same)
    for ty in ["b16", "b32", "b64"] + INTEGERS + ["f32", "f64"]:
        width = WIDTH[ty]
        a, b = edges(width)[-1], edges(width)[2]
        d, x, y = reg(ty, 5), reg(ty, 1), reg(ty, 2)
        emit(f"selp.{ty} {d}, {x}, {y}, %p3", [([show(a, width), show(b, width), c], [show(a if c else b, width)]) for c in (0, 1)])
        emit(f"slct.{ty}.s32 {d}, {x}, {y}, %r3",
             [([show(a, width), show(b, width), show(c, 32)], [show(a if value("s32", c) >= 0 else b, width)])
              for c in (0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)])
        for dot in ["", ".ftz"]:
            rows = []
            # +0, −0, 1, −1, ±subnormal, ±∞, NaN: −0 ≥ 0, a NaN is not.
            for c in (0, F32.sign, F32.one, F32.sign | F32.one, 1, F32.sign | 1, F32.infinity, F32.sign | F32.infinity, 0x7FC0_0000):
                first = compare(F32, "ge", c, 0, dot == ".ftz")
                rows.append(([show(a, width), show(b, width), show(c, 32)], [show(a if first else b, width)]))
            emit(f"slct{dot}.{ty}.f32 {d}, {x}, {y}, %r3", rows)
    flush_to("compare", "Comparison and selection.")


# Conversion -------------------------------------------------------------------------------------

def container(ty):
    """The register of a value: at least 16 bits wide."""
    return max(16, WIDTH[ty])


def extended(ty, bits):
    """The value in a register of at least 16 bits: sign-extended if the type is signed."""
    return value(ty, bits) & mask(container(ty)) if ty[0] == "s" else bits & mask(WIDTH[ty])


def conversions():
    numbers = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"]
    for to, source in itertools.product(numbers, numbers):
        width = WIDTH[source]
        values = edges(width) + [0x7F & mask(width), 0x80, 0xFF]
        for sat in [False, True]:
            narrower = least(to) > least(source) or greatest(to) < greatest(source)
            if sat and not narrower:
                continue
            rows = []
            for bits in dict.fromkeys(values):
                number = value(source, bits)
                out = clamp(to, number) if sat else number
                rows.append(([show(extended(source, bits), container(source))],
                             [show(extended(to, out), container(to))]))
            emit(f"cvt{'.sat' if sat else ''}.{to}.{source} {reg(to, 5)}, {reg(source, 1)}", rows)
    roundings = ["rn", "rz", "rm", "rp"]
    for to, source in itertools.product(["f16", "bf16", "f32", "f64"], numbers):
        f, width = FORMAT[to], WIDTH[source]
        values = edges(width) + [(1 << (f.fraction + 1)) + 1 & mask(width), 65519 & mask(width)]
        for how in roundings:
            for sat in [False, True]:
                if sat and to == "bf16":
                    continue
                rows = []
                for bits in dict.fromkeys(values):
                    out = f.round(Fraction(value(source, bits)), how)
                    rows.append(([show(extended(source, bits), container(source))],
                                 [text_of(f, modified(f, out, sat=sat))]))
                given = "%b1" if to == "bf16" and width == 8 else reg(source, 1)
                emit(f"cvt.{how}{'.sat' if sat else ''}.{to}.{source} {reg(to, 5)}, {given}", rows)
    for to, source in itertools.product(numbers, ["f16", "bf16", "f32", "f64"]):
        f = FORMAT[source]
        halfway = [f.round(Fraction(n, 2), "rn") for n in (1, 3, 5, -1, -3, -5)]
        limits = [f.round(Fraction(n), "rz") for n in (least(to), greatest(to), greatest(to) + 2, least(to) - 2)]
        values = halfway + limits + [0, f.sign, 1, f.infinity, f.sign | f.infinity, f.infinity | f.normal >> 1,
                                     f.infinity - 1, f.one + f.normal + 3]
        for integer_rounding, how in [("rni", "rn"), ("rzi", "rz"), ("rmi", "rm"), ("rpi", "rp")]:
            for ftz in [False, True] if source == "f32" else [False]:
                for sat in [False, True]:
                    if sat and source == "bf16":
                        continue
                    rows = []
                    for bits in dict.fromkeys(values):
                        x = f.flush(bits) if ftz else bits
                        if f.is_nan(x):
                            # PTX ISA, "cvt": 0, or 1 << (width − 1) from f64 and to 64 bits.
                            out = 1 << (WIDTH[to] - 1) if source == "f64" or WIDTH[to] == 64 else 0
                        elif f.is_infinite(x):
                            out = least(to) if f.negative(x) else greatest(to)
                        else:
                            out = clamp(to, whole(f.fraction_of(x), how))
                        rows.append(([show(bits, f.width)], [show(extended(to, out), container(to))]))
                    emit(f"cvt.{integer_rounding}{'.ftz' if ftz else ''}{'.sat' if sat else ''}.{to}.{source} "
                         f"{'%b5' if source == 'bf16' and WIDTH[to] == 8 else reg(to, 5)}, {reg(source, 1)}", rows)
    between_floats()
    packed_conversions()
    flush_to("convert", "Conversions between every pair of types.")


def whole(number, how):
    floor = number.numerator // number.denominator
    rest = number - floor
    if how == "rm" or rest == 0:
        return floor
    if how == "rp":
        return floor + 1
    if how == "rz":
        return floor + (1 if number < 0 else 0)
    return floor + (1 if rest > Fraction(1, 2) or rest == Fraction(1, 2) and floor % 2 else 0)


def float_values(source, to):
    """Special values of the source type, and values that need rounding in the destination type."""
    f, g = FORMAT[source], FORMAT[to]
    found = list(specials(f))
    for number in [Fraction(1, 3), Fraction(-2, 3), Fraction(5, 2), Fraction(-7, 2), Fraction(100001, 7), Fraction(1, 2)]:
        found.append(f.round(number, "rn"))
    for bits in [g.infinity - 1, g.normal, 1, g.one + 1]:
        exact = g.fraction_of(bits)
        for nudge in [1, Fraction(1000001, 1000000), Fraction(999999, 1000000)]:
            found.append(f.round(exact * nudge, "rn"))
    return list(dict.fromkeys(found))


def converted(source, to, how, bits, ftz=False, sat=False, relu=False, integral=False):
    f, g = FORMAT[source], FORMAT[to]
    # On an H100, .ftz doesn't flush what is converted to f16.
    x = f.flush(bits) if ftz and source == "f32" and to != "f16" else bits
    if f.is_nan(x):
        return modified(g, NAN, sat=sat)
    if f.is_infinite(x):
        return modified(g, g.infinity | (g.sign if f.negative(x) else 0), False, sat, relu)
    number = f.fraction_of(x)
    if integral:
        number = Fraction(whole(number, how))
    out = g.round(number, how or "rn", f.negative(x))
    return modified(g, out, ftz and to == "f32", sat, relu)


def between_floats():
    order = {"f16": 0, "bf16": 0, "f32": 1, "f64": 2}
    for to, source in itertools.product(["f16", "bf16", "f32", "f64"], repeat=2):
        g = FORMAT[to]
        flushes = [False, True] if "f32" in (to, source) and "bf16" not in (to, source) else [False]
        if to == source:
            if to == "bf16":
                emit_conversions(to, source, "", lambda bits: converted(source, to, None, bits))
                for name, how in [("rni", "rn"), ("rzi", "rz"), ("rmi", "rm"), ("rpi", "rp")]:
                    emit_conversions(to, source, f".{name}",
                                     lambda bits, how=how: converted(source, to, how, bits, integral=True))
                continue
            for ftz in flushes:
                for sat in [False, True]:
                    dots = (".ftz" if ftz else "") + (".sat" if sat else "")
                    emit_conversions(to, source, dots,
                                     lambda bits, ftz=ftz, sat=sat: converted(source, to, None, bits, ftz, sat))
                    for name, how in [("rni", "rn"), ("rzi", "rz"), ("rmi", "rm"), ("rpi", "rp")]:
                        emit_conversions(to, source, f".{name}{dots}",
                                         lambda bits, how=how, ftz=ftz, sat=sat:
                                         converted(source, to, how, bits, ftz, sat, integral=True))
            continue
        exact = order[to] > order[source]
        hows = [None] if exact else ["rn", "rz", "rm", "rp"]
        for how in hows:
            for ftz in flushes:
                for sat in [False, True]:
                    if sat and "bf16" in (to, source):
                        continue
                    dots = (f".{how}" if how else "") + (".ftz" if ftz else "") + (".sat" if sat else "")

                    def run(bits, how=how, ftz=ftz, sat=sat):
                        out = converted(source, to, how, bits, ftz, sat)
                        return None if ftz and to == "f32" and near_flush(g, out) else out

                    emit_conversions(to, source, dots, run)
            if how in ("rn", "rz") and source == "f32" and to in ("f16", "bf16"):
                for relu, finite in [(True, False), (False, True), (True, True)]:
                    def bounded(bits, how=how, relu=relu, finite=finite):
                        out = converted(source, to, how, bits, relu=relu)
                        return out - 1 if finite and out != NAN and g.is_infinite(out) else out

                    emit_conversions(to, source, f".{how}{'.relu' if relu else ''}{'.satfinite' if finite else ''}", bounded)


def emit_conversions(to, source, dots, run):
    f, g = FORMAT[source], FORMAT[to]
    rows = []
    for bits in float_values(source, to):
        out = run(bits)
        if out is not None:
            rows.append(([show(bits, f.width)], [text_of(g, out)]))
    emit(f"cvt{dots}.{to}.{source} {reg(to, 5)}, {reg(source, 1)}", rows)


# PTX ISA, "Alternate Floating-Point Data Formats": value tables of the eight-bit formats.
def e4m3(bits):
    """4 bits of exponent, 3 of fraction, bias 7; no infinities, 0x7f is NaN."""
    field, digits = bits >> 3 & 15, bits & 7
    if field == 15 and digits == 7:
        return NAN
    number = Fraction(digits, 8) * Fraction(1, 64) if field == 0 else (1 + Fraction(digits, 8)) * Fraction(2) ** (field - 7)
    return -number if bits & 0x80 else number


def e5m2(bits):
    """5 bits of exponent, 2 of fraction, bias 15; infinities and NaN as in IEEE 754."""
    field, digits = bits >> 2 & 31, bits & 3
    if field == 31:
        return NAN if digits else "inf"
    number = Fraction(digits, 4) * Fraction(1, 2**14) if field == 0 else (1 + Fraction(digits, 4)) * Fraction(2) ** (field - 15)
    return -number if bits & 0x80 else number


def to_eight(decode, number, negative, relu):
    """The nearest encoding, ties to even; larger values saturate to the greatest finite one."""
    if number == NAN:
        return 0x7F
    if relu and (negative or number == 0):
        return 0
    finite = [bits for bits in range(0x80) if isinstance(decode(bits), Fraction)]
    if number == "inf":
        best = finite[-1]
    else:
        magnitude = abs(number)
        best = min(finite, key=lambda bits: (abs(decode(bits) - magnitude), bits & 1))
    return best | (0x80 if negative else 0)


def special_value(f, bits):
    if f.is_nan(bits):
        return NAN
    return "inf" if f.is_infinite(bits) else f.fraction_of(bits)


def packed_conversions():
    # Two f32 into one register: a is the upper half.
    for to in ["f16x2", "bf16x2"]:
        g = FORMAT[to]
        values = float_values("f32", "f16" if to == "f16x2" else "bf16")
        for how in ["rn", "rz"]:
            for relu in [False, True]:
                for finite in [False, True]:
                    def one(bits):
                        out = converted("f32", to, how, bits, relu=relu)
                        if finite and out != NAN and g.is_infinite(out):
                            out -= 1
                        return text_of(g, out)

                    dots = f".{how}" + (".relu" if relu else "") + (".satfinite" if finite else "")
                    emit(f"cvt{dots}.{to}.f32 %r5, %r1, %r2",
                         [([show(a, 32), show(b, 32)], [f"{one(a)}/{one(b)}"]) for a, b in zip(values, values[1:])])
    # .satfinite of a single value.
    for decode, to in [(e4m3, "e4m3x2"), (e5m2, "e5m2x2")]:
        for relu in [False, True]:
            dots = ".rn.satfinite" + (".relu" if relu else "")
            singles = float_values("f32", "f16") + [F32.round(Fraction(n), "rn") for n in (448, 464, 465, 57344, 61440, 61441)]
            eight = lambda f, bits: to_eight(decode, special_value(f, bits), f.negative(bits), relu)
            # A NaN of either sign is 0x7f.
            emit(f"cvt{dots}.{to}.f32 %h5, %r1, %r2",
                 [([show(a, 32), show(b, 32)], [show(eight(F32, a) << 8 | eight(F32, b), 16)])
                  for a, b in zip(singles, singles[1:])])
            halves16 = specials(F16) + [F16.round(Fraction(n, 16), "rn") for n in (1, 25, 448 * 16, -3, 1000000)]
            emit(f"cvt{dots}.{to}.f16x2 %h5, %r1",
                 [([show(a << 16 | b, 32)], [show(eight(F16, a) << 8 | eight(F16, b), 16)])
                  for a, b in zip(halves16, halves16[1:])])
            values = [0, 0x80, 1, 0x81, 7, 8, 0x38, 0xB8, 0x3C, 0x7B, 0x7C, 0x7E, 0x7F, 0xFB, 0xFC, 0xFF, 0x55]

            def half(bits):
                number = decode(bits)
                if number == NAN:
                    return NAN
                out = F16.infinity if number == "inf" else F16.round(abs(number), "rn")
                negative = bits & 0x80
                if relu:
                    return show(0 if negative or number == 0 else out, 16)
                return show(out | (F16.sign if negative else 0), 16)

            emit(f"cvt.rn{'.relu' if relu else ''}.f16x2.{to} %r5, %h1",
                 [([show(a << 8 | b, 16)], [f"{half(a)}/{half(b)}"]) for a, b in zip(values, values[1:])])
    # tf32: 8 bits of exponent, 10 of fraction, in the upper of 32 bits; the lower bits are unspecified.
    tf32 = Format(8, 10)
    for how in ["rna", "rn", "rz"]:
        for relu in [False, True]:
            if relu and how == "rna":
                continue
            rows = []
            for bits in specials(F32) + [0x3F80_0FFF, 0x3F80_1000, 0x3F80_1001, 0x3F80_3000, 0xBF80_1000, 0x3EAA_AAAB]:
                if F32.is_nan(bits):
                    # An H100 rounds a NaN's fraction by .rna like any other, so that a small one becomes infinity.
                    kept = bits + 0x1000 >> 13
                    out = kept if how == "rna" and not tf32.is_nan(kept) else NAN
                elif F32.is_infinite(bits):
                    out = tf32.infinity | (tf32.sign if F32.negative(bits) else 0)
                else:
                    out = tf32.round(F32.fraction_of(bits), how, F32.negative(bits))
                out = out if out == NAN or not relu else modified(tf32, out, relu=True)
                rows.append(([show(bits, 32)], [NAN if out == NAN else show(out << 13, 32)]))
            emit(f"cvt.{how}{'.relu' if relu else ''}.tf32.f32 %r5, %r1", rows)


# Memory -----------------------------------------------------------------------------------------

MOVED = ["b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"]
ADDRESS = {"global": "%g", "shared": "%s", "local": "%l", "": "%g", "shared::cta": "%s"}


def pattern(name, width, count=3):
    generator = draw(name)
    return [mask(width), 1 << (width - 1)] + [generator.getrandbits(width) for _ in range(count - 2)]


def loads_and_stores():
    def dotted(*words):
        return "".join("." + word for word in words if word)

    for space, address in ADDRESS.items():
        for ty in MOVED:
            width = WIDTH[ty]
            # A store writes as many bits as the type has. A load extends them to the register.
            wide_input = mask(container(ty))
            rows = []
            for bits in pattern(f"{space} {ty}", container(ty)):
                kept = bits & mask(width)
                rows.append(([show(bits & wide_input, container(ty))], [show(extended(ty, kept), container(ty))]))
            emit(f"st{dotted(space, ty)} [{address}+16], {reg(ty, 1)}; ld{dotted(space, ty)} {reg(ty, 5)}, [{address}+16]", rows)
            for lanes in [2, 4]:
                if width * lanes > 128 or ty == "b128":
                    continue
                sources = [reg(ty, i + 1) for i in range(lanes)]
                targets = [reg(ty, i + 5) for i in range(lanes)]
                rows = []
                for seed in range(2):
                    values = [draw(f"{space}{ty}{lanes}{seed}{i}").getrandbits(container(ty)) for i in range(lanes)]
                    rows.append(([show(v, container(ty)) for v in values],
                                 [show(extended(ty, v & mask(width)), container(ty)) for v in values]))
                emit(f"st{dotted(space)}.v{lanes}.{ty} [{address}+16], {{{', '.join(sources)}}}; "
                     f"ld{dotted(space)}.v{lanes}.{ty} {{{', '.join(targets)}}}, [{address}+16]", rows)
    # Loads into wider registers are sign- or zero-extended.
    for ty in ["u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32"]:
        for to in [16, 32, 64]:
            if to <= WIDTH[ty]:
                continue
            letters = LETTER[to]
            rows = [([show(bits, 64)], [show(value(ty, bits), to)]) for bits in [0x80, 0x7F, 0x8000, 0xFFFF_FFFF, 0x1234_5678_9ABC_DEF0]]
            emit(f"st.global.b64 [%g], %d1; ld.global.{ty} %{letters}5, [%g]", rows)
    # table is 0, 1, 2, …; the parameter is 100, 101, …; counted is 15, 14, ….
    for where, byte in [("const", lambda i: i), ("param", lambda i: 100 + i), ("global", lambda i: 15 - i)]:
        name = {"const": "table", "param": "bytes", "global": "counted"}[where]
        for ty in MOVED:
            size = WIDTH[ty] // 8
            at = 0 if size == 16 else 8
            number = sum(byte(at + i) << (8 * i) for i in range(size))
            emit(f"ld.{where}.{ty} {reg(ty, 5)}, [{name}+{at}]", [([], [show(extended(ty, number), container(ty))])])
        # Adjacent bytes: the first is the low end.
        numbers = [show(sum(byte(4 * lane + i) << (8 * i) for i in range(4)), 32) for lane in range(4)]
        emit(f"ld.{where}.v4.u32 {{%r5, %r6, %r7, %r8}}, [{name}]", [([], numbers)])
        emit(f"ld.{where}.v2.b64 {{%d5, %d6}}, [{name}]",
             [([], [show(sum(byte(8 * lane + i) << (8 * i) for i in range(8)), 64) for lane in range(2)])])
    # Orders and hints do not change the value.
    scopes = ["cta", "cluster", "gpu", "sys"]
    for space in ["global", "shared", ""]:
        address = ADDRESS[space]
        for ty in ["u32", "f64"]:
            rows = [([show(x, WIDTH[ty])], [show(x, WIDTH[ty])]) for x in pattern(f"order {space} {ty}", WIDTH[ty], 2)]
            pairs = [("weak", "weak"), ("volatile", "volatile")]
            pairs += [(f"relaxed.{scope}", f"relaxed.{scope}") for scope in scopes]
            pairs += [(f"release.{scope}", f"acquire.{scope}") for scope in scopes]
            if space != "shared":
                pairs.append(("mmio.relaxed.sys", "mmio.relaxed.sys"))
            for store, load in pairs:
                emit(f"st{dotted(store, space, ty)} [{address}], {reg(ty, 1)}; ld{dotted(load, space, ty)} {reg(ty, 5)}, [{address}]", rows)
    hints = [("st", ["wb", "cg", "cs", "wt", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"]),
             ("ld", ["ca", "cg", "cs", "lu", "cv", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last",
                     "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B"]),
             ("ld", ["nc", "ca.nc", "cg.nc", "cs.nc", "nc.L1::evict_last", "nc.L2::256B"])]
    for name, list_of_hints in hints:
        for hint in list_of_hints:
            rows = [([show(x, 32)], [show(x, 32)]) for x in pattern(f"hint {hint}", 32, 2)]
            store = f"st.global.{hint}.b32" if name == "st" else "st.global.b32"
            load = f"ld.global.{hint}.b32" if name == "ld" else "ld.global.b32"
            emit(f"{store} [%g+4], %r1; {load} %r5, [%g+4]", rows)
    for ty in MOVED:
        rows = [([show(x, container(ty))], [show(extended(ty, x & mask(WIDTH[ty])), container(ty))])
                for x in pattern(f"ldu {ty}", container(ty), 2)]
        for space in [".global", ""]:
            emit(f"st.global.{ty} [%g], {reg(ty, 1)}; ldu{space}.{ty} {reg(ty, 5)}, [%g]", rows)
        emit(f"st.global.{ty} [%g+16], {reg(ty, 1)}; ld.global.nc.{ty} {reg(ty, 5)}, [%g+16]", rows)
    for ty, lanes in [("u8", 2), ("u8", 4), ("u32", 2), ("f32", 4), ("b64", 2)]:
        values = [draw(f"ldu{ty}{i}").getrandbits(WIDTH[ty]) for i in range(lanes)]
        operands = [show(v, container(ty)) for v in values]
        sources, targets = [", ".join(reg(ty, i + first) for i in range(lanes)) for first in (1, 5)]
        for name in ["ldu.global", "ld.global.nc"]:
            emit(f"st.global.v{lanes}.{ty} [%g], {{{sources}}}; {name}.v{lanes}.{ty} {{{targets}}}, [%g]", [(operands, operands)])


def atomic(op, ty, old, b, c, flush):
    """PTX ISA, "atom"."""
    width = WIDTH[ty]
    if ty in ("f32", "f64", "f16", "bf16"):
        f = FORMAT[ty]
        if flush:
            old, b = f.flush(old), f.flush(b)
        out = operation("add", f, "rn", old, b)
        return f.flush(out) if flush and out != NAN else out
    x, y = value(ty, old), value(ty, b)
    return {
        "add": x + y, "min": min(x, y), "max": max(x, y), "and": old & b, "or": old | b, "xor": old ^ b,
        "inc": 0 if old >= b else old + 1, "dec": b if old == 0 or old > b else old - 1,
        "exch": b, "cas": c if old == b else old,
    }[op] & mask(width)


def atomics():
    table = {
        "add": ["u32", "s32", "u64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"],
        "min": ["u32", "s32", "u64", "s64"], "max": ["u32", "s32", "u64", "s64"],
        "and": ["b32", "b64"], "or": ["b32", "b64"], "xor": ["b32", "b64"],
        "inc": ["u32"], "dec": ["u32"], "exch": ["b32", "b64"], "cas": ["b16", "b32", "b64"],
    }
    for op, types in table.items():
        for ty in types:
            width, r = WIDTH[ty], lambda number, ty=ty: reg(ty, number)
            bits = f"b{width}"
            for space in ["global", "shared", ""]:
                address = {"global": "%g", "shared": "%s", "": "%g"}[space]
                dot = f".{space}" if space else ""
                # The ISA: atom.add.f32 on global memory flushes subnormal numbers, on shared memory it does not.
                flush = ty == "f32" and space != "shared"
                noftz = ".noftz" if "16" in ty and op == "add" else ""
                if ty in FORMAT and not ty.endswith("x2"):
                    f = FORMAT[ty]
                    triples = [(a, b, 0) for a, b in some(f"atom {ty}", f, 10, 2)] + [(1, 1, 0), (f.normal, f.sign | 1, 0)]
                    triples = [(a, b, c) for a, b, c in triples if not f.is_nan(a) and not f.is_nan(b)]
                elif ty.endswith("x2"):
                    f = FORMAT[ty]
                    plain = [x for x, in some(f"atom {ty}", f, 12, 1) if not f.is_nan(x)]
                    triples = [(a << 16 | b, c << 16 | d, 0) for a, b, c, d in zip(plain, plain[1:], plain[2:], plain[3:])]
                else:
                    triples = list(tuples(f"atom {op} {ty}", [width] * 3, 6))
                    triples += [(a, a, c) for a, _, c in triples[:3]] + [(5, 7, 9), (7, 5, 9)]
                rows, reduced = [], []
                for old, b, c in triples:
                    if ty.endswith("x2"):
                        single = ty[:-2]
                        parts = [atomic(op, single, old >> shift & 0xFFFF, b >> shift & 0xFFFF, 0, False) for shift in (16, 0)]
                        out = "/".join(text_of(FORMAT[single], part) for part in parts)
                    else:
                        out = atomic(op, ty, old, b, c, flush)
                        out = text_of(FORMAT[ty], out) if ty in FORMAT else show(out, width)
                    operands = [show(old, width), show(b, width)] + ([show(c, width)] if op == "cas" else [])
                    rows.append((operands, [show(old, width), out]))
                    reduced.append((operands, [out]))
                third = f", {r(3)}" if op == "cas" else ""
                emit(f"st{dot}.{bits} [{address}], {r(1)}; atom{dot}.{op}{noftz}.{ty} {r(5)}, [{address}], {r(2)}{third}; "
                     f"ld{dot}.{bits} {r(6)}, [{address}]", rows)
                if op not in ("exch", "cas"):
                    emit(f"st{dot}.{bits} [{address}], {r(1)}; red{dot}.{op}{noftz}.{ty} [{address}], {r(2)}; "
                         f"ld{dot}.{bits} {r(5)}, [{address}]", reduced)
    for name, d, last in [("atom", "%r5, ", "%r6"), ("red", "", "%r5")]:
        rows = [(["0x00000005", "0x00000007"], (["0x00000005"] if d else []) + ["0x0000000c"])]
        for space in ["shared::cta", "shared::cluster"]:
            emit(f"st.{space}.u32 [%s], %r1; {name}.{space}.add.u32 {d}[%s], %r2; ld.{space}.u32 {last}, [%s]", rows)
    for name, orders in [("atom", ["relaxed", "acquire", "release", "acq_rel"]), ("red", ["relaxed", "release"])]:
        for order in orders + [""]:
            for scope in ["cta", "cluster", "gpu", "sys"]:
                dots = (f".{order}" if order else "") + f".{scope}"
                d = "%r5, " if name == "atom" else ""
                rows = [(["0x00000005", "0x00000007"], (["0x00000005"] if d else []) + ["0x0000000c"])]
                last = "%r6" if d else "%r5"
                emit(f"st.global.u32 [%g], %r1; {name}{dots}.global.add.u32 {d}[%g], %r2; ld.global.u32 {last}, [%g]", rows)


# Warp-wide collectives --------------------------------------------------------------------------

def shuffle(mode, lane, b, c):
    """PTX ISA, "shfl.sync", its pseudocode: the source lane, and whether it is in range."""
    bval, cval, segmask = b & 31, c & 31, c >> 8 & 31
    max_lane = (lane & segmask) | (cval & ~segmask)
    min_lane = lane & segmask
    if mode == "up":
        j = lane - bval
        inside = j >= max_lane
    elif mode == "down":
        j = lane + bval
        inside = j <= max_lane
    elif mode == "bfly":
        j = lane ^ bval
        inside = j <= max_lane
    else:
        j = min_lane | (bval & ~segmask)
        inside = j <= max_lane
    return (j if inside else lane), inside


def lanes_together():
    generator = draw("lanes")
    values = [generator.getrandbits(32) for _ in range(32)]
    for mode, clamps in [("up", [0, 0x1800, 5]), ("down", [31, 0x181F, 7]), ("bfly", [31, 0x101F]), ("idx", [31, 0x181F, 3])]:
        for clamp in clamps:
            for distances in [[1] * 32, [31] * 32, [generator.randrange(40) for _ in range(32)]]:
                rows = []
                for lane in range(32):
                    source, inside = shuffle(mode, lane, distances[lane], clamp)
                    rows.append(([show(values[lane], 32), distances[lane]], [show(values[source], 32), int(inside)]))
                emit(f"shfl.sync.{mode}.b32 %r5|%p5, %r1, %r2, {clamp:#x}, -1", rows)
        rows = [([show(values[lane], 32), 4], [show(values[shuffle(mode, lane, 4, clamps[0])[0]], 32)]) for lane in range(32)]
        emit(f"shfl.sync.{mode}.b32 %r5, %r1, %r2, {clamps[0]:#x}, 0xffffffff", rows)
    patterns = [[0] * 32, [1] * 32, [int(lane == 17) for lane in range(32)], [lane % 2 for lane in range(32)]]
    for votes in patterns:
        ballot = sum(vote << lane for lane, vote in enumerate(votes))
        negated = ballot ^ mask(32)
        for mode, out, inverse in [("all", ballot == mask(32), negated == mask(32)), ("any", ballot != 0, negated != 0),
                                   ("uni", ballot in (0, mask(32)), negated in (0, mask(32)))]:
            emit(f"vote.sync.{mode}.pred %p5, %p1, -1; vote.sync.{mode}.pred %p6, !%p1, -1",
                 [([vote], [int(out), int(inverse)]) for vote in votes])
        emit("vote.sync.ballot.b32 %r5, %p1, -1; vote.sync.ballot.b32 %r6, !%p1, -1",
             [([vote], [show(ballot, 32), show(negated, 32)]) for vote in votes])
    for ty in ["b32", "b64"]:
        width, r = WIDTH[ty], reg(ty, 1)
        for kinds in [1, 3, 32]:
            words = [draw(f"match {ty} {kind}").getrandbits(width) for kind in range(kinds)]
            given = [words[lane * 7 % kinds] for lane in range(32)]
            same = [sum(1 << other for other in range(32) if given[other] == given[lane]) for lane in range(32)]
            emit(f"match.any.sync.{ty} %r5, {r}, -1", [([show(x, width)], [show(m, 32)]) for x, m in zip(given, same)])
            emit(f"match.all.sync.{ty} %r5|%p5, {r}, -1",
                 [([show(x, width)], [show(mask(32) if kinds == 1 else 0, 32), int(kinds == 1)]) for x in given])
            emit(f"match.all.sync.{ty} %r5, {r}, -1",
                 [([show(x, width)], [show(mask(32) if kinds == 1 else 0, 32)]) for x in given])
    for ty in ["u32", "s32"]:
        numbers = [value(ty, x) for x in values]
        for op, out in [("add", sum(numbers)), ("min", min(numbers)), ("max", max(numbers))]:
            emit(f"redux.sync.{op}.{ty} %r5, %r1, -1", [([show(x, 32)], [show(out, 32)]) for x in values])
    for op, function in [("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)]:
        dense = [x | 0x8000_0001 for x in values] if op == "and" else [x & 0x0F0F_0000 for x in values]
        out = dense[0]
        for x in dense[1:]:
            out = function(out, x)
        emit(f"redux.sync.{op}.b32 %r5, %r1, -1", [([show(x, 32)], [show(out, 32)]) for x in dense])


def memory_and_lanes():
    loads_and_stores()
    atomics()
    flush_to("memory", "Loads, stores and atomic operations.")
    lanes_together()
    flush_to("warp", "Warp-wide collectives: the 32 rows of a case are the 32 lanes.")


# Video instructions -----------------------------------------------------------------------------

VIDEO = ["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg"]
COMPARED = ["eq", "ne", "lt", "le", "gt", "ge"]
WORDS = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80FF7F01, 0x7F8000FE, 0x0020001F]


def signed_name(ty):
    return ty.startswith("s")


def extended_to(bits, sign, word):
    word &= (1 << bits) - 1
    return word - (1 << bits) if sign and word >> (bits - 1) else word


def selected(selector, sign, word):
    """The number that `.b2`, `.h1` or no selector takes from a word."""
    if not selector:
        return extended_to(32, sign, word)
    bits = 8 if selector[0] == "b" else 16
    return extended_to(bits, sign, word >> (bits * int(selector[1])))


def clamped(value, bits, sign):
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if sign else (0, (1 << bits) - 1)
    return max(low, min(high, value))


def primary(op, a, b, how=""):
    if op in ("vshl", "vshr"):
        amount = b % 32 if how == "wrap" else min(b, 32)
        return a * 2**amount if op == "vshl" else math.floor(Fraction(a, 2**amount))
    if op == "vset":
        return int({"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[how])
    if op == "vavrg":
        total = a + b
        return math.floor(Fraction(total + 1 if total >= 0 else total, 2))
    return {"vadd": a + b, "vsub": a - b, "vabsdiff": abs(a - b), "vmin": min(a, b), "vmax": max(a, b)}[op]


def words_for(text, arity, count=6):
    generator = draw(text)
    word = lambda: generator.choice(WORDS) if generator.random() < 0.5 else generator.getrandbits(32)
    return [[word() for _ in range(arity)] for _ in range(count)]


def dotted(selector):
    return f".{selector}" if selector else ""


def in_words(numbers):
    return [f"0x{number % 2**32:08x}" for number in numbers]


def scalar_video(op, types, how="", sat=False, second="", parts=("", "", "")):
    d_part, a_part, b_part = parts
    name = f"{op}.{'.'.join(types)}{'.sat' if sat else ''}{dotted(how)}{dotted(second)}"
    third = bool(second or d_part)
    text = f"{name} %r5{dotted(d_part)}, %r1{dotted(a_part)}, %r2{dotted(b_part)}{', %r3' if third else ''}"
    sign = op != "vset" and signed_name(types[0])
    a_sign, b_sign = (signed_name(ty) for ty in types[-2:])
    vectors = []
    for words in words_for(text, 3 if third else 2):
        a, b, c = (words + [0])[:3]
        value = primary(op, selected(a_part, a_sign, a), selected(b_part, b_sign, b), how)
        bits = {"b": 8, "h": 16}.get(d_part[:1], 32)
        if sat:
            value = clamped(value, bits, sign)
        number = extended_to(32, sign, c)
        value = {"": value, "add": value + number, "min": min(value, number), "max": max(value, number)}[second]
        if d_part:
            at = bits * int(d_part[1])
            ones = ((1 << bits) - 1) << at
            value = (c & ~ones) | (value << at & ones)
        vectors.append((in_words(words), in_words([value])))
    emit(text, vectors)


def video_mad(types, negated=("", "", ""), po=False, shift=0, sat=False, parts=("", "")):
    name = f"vmad.{'.'.join(types)}{'.po' if po else ''}{'.sat' if sat else ''}{f'.shr{shift}' if shift else ''}"
    n, p = negated, parts
    text = f"{name} %r5, {n[0]}%r1{dotted(p[0])}, {n[1]}%r2{dotted(p[1])}, {n[2]}%r3"
    product_negated, third_negated = n[0] != n[1], n[2] == "-"
    signs = [signed_name(ty) for ty in types[1:]]
    final = any(signs) or product_negated or third_negated
    vectors = []
    for words in words_for(text, 3):
        a, b, c = words
        value = selected(p[0], signs[0], a) * selected(p[1], signs[1], b)
        if product_negated:
            value = -value
        # c is complemented as a word, and one is added.
        value += extended_to(32, final, ~c if third_negated else c) + (1 if third_negated or po else 0)
        value = math.floor(Fraction(value, 2**shift))
        if sat:
            value = clamped(value, 32, final)
        vectors.append((in_words(words), in_words([value])))
    emit(text, vectors)


def simd_video(op, count, types, how="", sat=False, add=False, mask="", selectors=("", "")):
    bits = 32 // count
    letter_of = "h" if count == 2 else "b"
    name = f"{op}{count}.{'.'.join(types)}{'.sat' if sat else ''}{dotted(how)}{'.add' if add else ''}"
    full = [letter_of + selector if selector else "" for selector in (mask, *selectors)]
    text = f"{name} %r5{dotted(full[0])}, %r1{dotted(full[1])}, %r2{dotted(full[2])}, %r3"
    sign = op != "vset" and signed_name(types[0])
    signs = [signed_name(ty) for ty in types[-2:]]
    numbers = "".join(str(at) for at in range(2 * count))
    # The highest element is named first.
    chosen = [selectors[0] or numbers[:count][::-1], selectors[1] or numbers[count:][::-1]]
    computed = mask or numbers[:count]
    vectors = []
    for words in words_for(text, 3):
        a, b, d = words
        both = b << 32 | a
        for at in range(count):
            if str(at) not in computed:
                continue
            x, y = (extended_to(bits, signs[side], both >> (bits * int(chosen[side][::-1][at]))) for side in (0, 1))
            value = primary(op, x, y, how)
            if sat:
                value = clamped(value, bits, sign)
            if add:
                d += value
            else:
                ones = ((1 << bits) - 1) << (bits * at)
                d = (d & ~ones) | (value << (bits * at) & ones)
        vectors.append((in_words(words), in_words([d])))
    emit(text, vectors)


def packing(to, third):
    bits, sign = int(to[1:]), signed_name(to)
    text = f"cvt.pack.sat.{to}.s32{'.b32' if third else ''} %r5, %r1, %r2{', %r3' if third else ''}"
    vectors = []
    for words in words_for(text, 3 if third else 2):
        a, b = (clamped(extended_to(32, True, word), bits, sign) % 2**bits for word in words[:2])
        c = words[2] if third else 0
        vectors.append((in_words(words), in_words([c << (2 * bits) | a << bits | b])))
    emit(text, vectors)


def scalar_videos(pairs, triples):
    parts = [("", "b0", "h1"), ("b3", "h0", "b2"), ("h1", "b1", "b3"), ("b0", "", ""), ("h0", "", "h1"), ("b1", "b3", ""), ("b2", "h1", "b0")]
    for op in VIDEO[:5]:
        for types in triples:
            for sat in (False, True):
                scalar_video(op, types, sat=sat)
        for at, part in enumerate(parts):
            scalar_video(op, triples[at], sat=at % 2 == 0, parts=part)
        for at, second in enumerate(["add", "min", "max", "add", "min", "max"]):
            scalar_video(op, triples[at + 1], sat=at < 3, second=second, parts=("", "b2", ""))
    for op in ("vshl", "vshr"):
        for at, types in enumerate(pairs):
            for how in ("clamp", "wrap"):
                scalar_video(op, (*types, "u32"), how, sat=how == "wrap")
                scalar_video(op, (*types, "u32"), how, second=["add", "min", "max", "add"][at])
                scalar_video(op, (*types, "u32"), how, sat=at % 2 == 0, parts=parts[at + 1])
    for at, how in enumerate(COMPARED):
        for types in pairs:
            scalar_video("vset", types, how)
        scalar_video("vset", pairs[at % 4], how, second=["add", "min", "max"][at % 3])
        scalar_video("vset", pairs[at % 4], how, parts=parts[at + 1])
    signs = [("-", "", ""), ("", "-", ""), ("", "", "-"), ("-", "-", "")]
    for at, types in enumerate(triples):
        video_mad(types)
        video_mad(types, po=True, shift=[0, 7, 15][at % 3], sat=at % 2 == 0)
        video_mad(types, negated=signs[at % 4], sat=at % 2 == 1, shift=[15, 0, 7][at % 3])
        video_mad(types, parts=[("b0", "h1"), ("h0", "b3"), ("b2", ""), ("", "b1")][at % 4], shift=7)


def simd_videos(pairs, triples):
    for count in (2, 4):
        masks = ["0", "1", "10"] if count == 2 else ["0", "1", "10", "20", "310", "3210", "32", "3"]
        two, four = [("32", "10"), ("01", "33"), ("", "20")], [("7654", "3210"), ("0000", "7176"), ("", "0246")]
        selects = two if count == 2 else four
        for op in VIDEO:
            for at, types in enumerate(triples):
                mask = masks[at % len(masks)]
                simd_video(op, count, types)
                simd_video(op, count, types, sat=True, mask=mask)
                simd_video(op, count, types, add=True, mask=mask, selectors=selects[at % 3])
                simd_video(op, count, types, selectors=selects[(at + 1) % 3])
        for at, how in enumerate(COMPARED):
            for types in pairs:
                simd_video("vset", count, types, how)
            simd_video("vset", count, pairs[at % 4], how, add=True, mask=masks[at % len(masks)])
            simd_video("vset", count, pairs[at % 4], how, mask=masks[at % len(masks)], selectors=selects[at % 3])


def video():
    pairs = list(itertools.product(["u32", "s32"], repeat=2))
    triples = list(itertools.product(["u32", "s32"], repeat=3))
    scalar_videos(pairs, triples)
    simd_videos(pairs, triples)
    for to in ("u16", "s16"):
        packing(to, False)
    for to in ("u8", "s8", "u4", "s4", "u2", "s2"):
        packing(to, True)
    flush_to("video", "Video instructions and cvt.pack, by the pseudocode of the ISA.")


if __name__ == "__main__":
    ROWS.mkdir(exist_ok=True)
    all_integers()
    all_bits()
    all_floats()
    approximations()
    comparisons()
    conversions()
    memory_and_lanes()
    video()
