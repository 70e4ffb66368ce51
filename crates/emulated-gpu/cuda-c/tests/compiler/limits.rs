//! Sources that could take very long, or use up all memory, either compile or are rejected with an error that names the
//! exceeded limit.

use std::fmt::Write as _;

use cuda_c::{CompileOptions, Resolver};

use crate::kernel::{as_words, compile, run, words};

/// The first error of a source that doesn't compile.
fn first_error(source: &str) -> String {
    first_error_with(source, &CompileOptions::default())
}

fn first_error_with(source: &str, options: &CompileOptions<'_>) -> String {
    let found = cuda_c::compile(source, options).expect_err("it compiles");
    found[0].message.clone()
}

/// Concatenates `count` texts, each made from its index.
fn repeated(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        let _ = write!(text, "{}", one(number));
        text
    })
}

/// A kernel `k(int *x, int n)`.
fn kernel(body: &str) -> String {
    format!("extern \"C\" __global__ void k(int *x, int n) {{ {body} }}")
}

/// Header files by name.
struct Files(Vec<(&'static str, String)>);

impl Resolver for Files {
    fn resolve(&self, include: &str, _: &str) -> Option<(String, String)> {
        let found = self.0.iter().find(|(name, _)| *name == include);
        found.map(|(name, text)| ((*name).to_owned(), text.clone()))
    }
}

#[test]
fn includes_are_limited() {
    let twice = "#include \"own.h\"\n#include \"own.h\"\n".to_owned();
    let long = format!("/*{}*/\n", " ".repeat(1 << 20));
    let files = Files(vec![
        ("own.h", twice),
        ("empty.h", String::new()),
        ("long.h", long),
        ("many.h", "int a;".repeat(1000)),
    ]);
    let options = CompileOptions { resolver: Some(&files), ..CompileOptions::default() };
    let included = |name: &str, count: usize| {
        first_error_with(&format!("#include \"{name}\"\n").repeat(count), &options)
    };
    assert_eq!(included("own.h", 1), "includes are nested more than 32 deep");
    assert_eq!(included("empty.h", 65_537), "more than 65536 files are included");
    assert_eq!(included("long.h", 100), "the included files have more than 67108864 bytes");
    assert_eq!(included("many.h", 1000), "the source has more than 2000000 tokens here");
    // File numbers have more than 16 bits: the 65,536th file has the wrong line.
    let source =
        format!("{}__global__ void k() {{ wrong; }}", "#include \"empty.h\"\n".repeat(65_530));
    let found = cuda_c::compile(&source, &options).unwrap_err();
    assert_eq!((found[0].file.as_str(), found[0].line), ("kernel.cu", 65_531));
}

#[test]
fn macros_are_limited() {
    let doubled = |one: &str| {
        let define = |i: usize| match i {
            0 => format!("#define L0(a) {one}\n"),
            _ => format!("#define L{i}(a) L{}({one})\n", i - 1),
        };
        format!("#define S(a) #a\n{}", repeated(60, define))
    };
    let message = "`#` and `##` make tokens of more than 16777216 bytes";
    assert_eq!(first_error(&format!("{}int L59(x);", doubled("a##a"))), message);
    assert_eq!(first_error(&format!("{}const char *s = L59(x);", doubled("S(a) S(a)"))), message);
    let deep = "macros use each other too deeply and too often";
    assert_eq!(first_error(&format!("{}int L59(x);", doubled("a a"))), deep);
    let wide = format!("#define W {}\n{}", "x ".repeat(1000), "W ".repeat(2000));
    assert_eq!(first_error(&wide), "macros expand to more than 2000000 tokens");
    let nested = |count: usize| {
        let (open, close) = ("F(".repeat(count), ")".repeat(count));
        format!("#define F(a) a\n{}", kernel(&format!("x[0] = {open}n{close};")))
    };
    compile(&nested(100));
    let expected = "macros in arguments of macros are nested more than 200 deep";
    assert_eq!(first_error(&nested(300)), expected);
    let chain =
        |i: usize| format!("#define M{}(a) M{i}(a{})\n", i + 1, if i < 8 { "+a" } else { "" });
    let chain = format!("#define M0(a) a\n{}{}", repeated(3000, chain), kernel("x[0] = M3000(n);"));
    assert_eq!(first_error(&chain), deep);
    // Real sources stay far below the limits.
    let chain = |i: usize| format!("#define M{} M{i}\n", i + 1);
    compile(&format!("#define M0 1\n{}{}", repeated(2000, chain), kernel("x[0] = M2000;")));
}

#[test]
fn sizes_do_not_overflow() {
    let structs = |count: usize| {
        let one = |i: usize| format!("struct S{} {{ S{i} a, b, c, d; }};\n", i + 1);
        format!("struct S0 {{ char a[1024]; }};\n{}", repeated(count, one))
    };
    let source = structs(40) + &kernel("x[0] = sizeof(S40);");
    assert_eq!(first_error(&source), "`S16` is larger than any memory with this member");
    let source = structs(15) + &kernel("x[0] = sizeof(S15) >> 20;");
    let (memory, _) =
        run(&compile(&source), "k", ([1; 3], [1; 3]), &[words(&[0]), crate::kernel::word(0)]);
    assert_eq!(as_words(&memory[0]), [1 << 20]);
    let copied = structs(15) + "__global__ void k(S15 *p) { p[0] = p[1]; }";
    let many = "has more than 100000 elements, too many to be read or written at once";
    assert_eq!(first_error(&copied), format!("`S15` {many}"));
    let union = "union U { char a[1 << 30]; int b; }; __global__ void k(U *p) { p[0] = p[1]; }";
    assert_eq!(first_error(union), format!("`U` {many}"));
    let expected = format!("`int [120000]` {many}");
    assert_eq!(first_error(&kernel("int a[120000] = {}; x[0] = a[n];")), expected);
    let large = "__device__ char a[1l << 36] = {1}; __global__ void k(char *x) { x[0] = a[0]; }";
    assert!(first_error(large).contains("at most 16777216 can have them"));
    let temporary = "struct S { double a[80000]; }; __device__ S make(); __device__ S make() { S *p = 0; return *p; }
        __global__ void k(char *x) { x[0] = make().a[0] > 0; }";
    assert!(first_error(temporary).contains("a thread has 512 KiB of local memory"));
    let expected = "this array is larger than any memory";
    assert_eq!(first_error(&kernel("x[0] = sizeof(int[1l << 40]);")), expected);
}

/// Every case and every `if` has its effect.
#[test]
fn thousands_of_cases_and_conditions() {
    const COUNT: usize = 5000;
    let one = |i: usize| format!("case {i}: x[t] = {} + n; break;\n", i * 7 % 1013);
    let cases = kernel(&format!(
        "int t = threadIdx.x; switch (x[t]) {{ {} default: x[t] = -1; }}",
        repeated(COUNT, one)
    ));
    let asked: Vec<u32> = (0..64).map(|t| t * 79).collect();
    let arguments = [words(&asked), crate::kernel::word(3)];
    let (memory, _) = run(&compile(&cases), "k", ([1; 3], [64, 1, 1]), &arguments);
    let expected = asked.iter().map(|&v| if v < 5000 { v * 7 % 1013 + 3 } else { u32::MAX });
    assert_eq!(as_words(&memory[0]), expected.collect::<Vec<_>>());

    let one = |i: usize| format!("if (x[t] > {i}) r += {};\n", i % 10);
    let conditions =
        kernel(&format!("int t = threadIdx.x, r = n; {} x[t] = r;", repeated(COUNT, one)));
    let (memory, _) = run(&compile(&conditions), "k", ([1; 3], [64, 1, 1]), &arguments);
    let expected = asked.iter().map(|&v| 3 + (0..5000.min(v)).map(|i| i % 10).sum::<u32>());
    assert_eq!(as_words(&memory[0]), expected.collect::<Vec<_>>());
}

/// Every construct whose compilation once took quadratic time or more, ten times as often as in
/// real code.
#[test]
fn large_sources_compile() {
    const COUNT: usize = 2000;
    let all = |one: &dyn Fn(usize) -> String| repeated(COUNT, one);
    let variables = all(&|i| format!("int v{i} = x[{i}];"));
    let written = all(&|i| format!("x[{i}] = v{i};"));
    for body in [
        // Conditions that return, and conditions that jump anywhere.
        all(&|i| format!("if (x[n] == {i}) {{ x[n] = {}; return; }}", i + 1)),
        format!(
            "{} {}",
            all(&|i| format!("L{i}: x[{i}]++;")),
            all(&|i| format!("if (x[{i}] > n) goto L{};", COUNT - 1 - i))
        ),
        // Loops that can't be unrolled, loops that can, and nested loops.
        all(&|i| format!("for (int j = 0; j < n + {i}; j++) x[j] += j * {i};")),
        all(&|i| format!("for (int j = 0; j < {}; j++) x[j + {i}] += j;", i % 30 + 2)),
        repeated(60, |i| format!("for (int i{i} = 0; i{i} < n; i{i}++)")) + "x[n]++;",
        // Many values that stay live through the whole function, and values that a loop rotates.
        format!(
            "{variables} switch (n) {{ {} }} {written}",
            all(&|i| format!("case {i}: v{i} = n + {i}; break;"))
        ),
        format!(
            "{variables} for (int j = 0; j < n; j++) {{ int t = v0; {} v{} = t; }} {written}",
            repeated(COUNT - 1, |i| format!("v{i} = v{};", i + 1)),
            COUNT - 1
        ),
        // Long chains of addresses, stores, and sums of sums.
        format!("int *p = x; {}", all(&|i| format!("p += x[{i}]; *p = {i};"))),
        repeated(10 * COUNT, |i| format!("x[{i}] = n * {i};")),
        format!(
            "for (int i = 0; i < n; i++) {{ int a0 = i; {} {} }}",
            repeated(40, |i| format!("int a{} = a{i} + a{i};", i + 1)),
            repeated(20, |i| format!("x[a40 + {i} * n] = i;"))
        ),
        all(&|i| {
            format!(
                "{{ int a, b; asm volatile(\"mov.b64 {{%0, %1}}, %2;\" : \"=r\"(a), \"=r\"(b) : \"l\"(x + {i})); x[{i}] = a + b; }}"
            )
        }),
    ] {
        compile(&kernel(&body));
    }
    let functions =
        all(&|i| format!("__device__ __noinline__ int f{i}(int a) {{ return a * {i}; }}\n"));
    compile(&(functions + &kernel(&all(&|i| format!("x[{i}] = f{i}(n);")))));
    let special = all(&|i| format!("template <> struct S<{i}> {{ static const int v = {i}; }};\n"));
    let special = format!("template <int N> struct S {{}};\n{special}");
    compile(&(special + &kernel(&all(&|i| format!("x[{i}] = S<{i}>::v;")))));
    compile(&all(&|i| format!("__global__ void k{i}(int *x) {{ x[0] = {i}; }}\n")));
}

#[test]
fn sources_and_kernels_have_size_limits() {
    let table = |count: usize| {
        format!("__device__ int a[] = {{{}}};{}", "1,".repeat(count), kernel("x[0] = a[n];"))
    };
    compile(&table(100_000));
    assert_eq!(first_error(&table(2_000_000)), "the source has more than 2000000 tokens here");
    let doubled = |count: usize| {
        let one = |i: usize| {
            format!("__device__ int f{}(int x) {{ return f{i}(x) + f{i}(x + 1); }}\n", i + 1)
        };
        format!("__device__ int f0(int x) {{ return x * x + 1; }}\n{}", repeated(count, one))
    };
    let source = doubled(20) + &kernel("x[0] = f20(n);");
    assert_eq!(first_error(&source), "the kernel becomes larger than 400000 instructions here");
    let kernels =
        repeated(100, |i| format!("__global__ void k{i}(int *x) {{ x[0] = f13(x[{i}]); }}\n"));
    let expected = "the source becomes larger than 1500000 instructions here";
    assert_eq!(first_error(&(doubled(13) + &kernels)), expected);
    // The loops in 4,096 copies of a function are unrolled until the budget is spent.
    let loops = doubled(12).replace(
        "return x * x + 1;",
        "int s = 0; for (int i = 0; i < 8; i++) s += i * x; return s;",
    );
    compile(&(loops + &kernel("x[0] = f12(n);")));
    let using = repeated(65, |i| {
        format!("namespace n{i} {{ __device__ int g{i}; }} using namespace n{i};")
    });
    assert_eq!(first_error(&using), "more than 64 namespaces are named by `using namespace`");
    let sums = "__device__ constexpr int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; }";
    let sums = format!("{sums} __device__ int a[] = {{{}}};", "f(1000),".repeat(1000));
    assert_eq!(first_error(&sums), "constant expressions take more than 2000000 steps");
}

/// A message only shows part of a very long line.
#[test]
fn messages_shorten_long_lines_and_names() {
    let source =
        kernel(&format!("/*{}*/ {} y = 1;", "é".repeat(10_000), "x[0] = n; ".repeat(5000)));
    let found = cuda_c::compile(&source, &CompileOptions::default()).unwrap_err();
    let shown = found[0].to_string();
    assert_eq!(found[0].column, source[..source.find("y = 1").unwrap()].chars().count() + 1);
    assert!(
        shown.contains(&format!("kernel.cu:1:{}", found[0].column)) && shown.len() < 500,
        "{shown}"
    );
    let names = repeated(20, |i| format!("__device__ int v{i}{};", "a".repeat(2000)));
    let source = names + &kernel(&format!("w{} = 1;", "a".repeat(2000)));
    assert!(first_error(&source).starts_with("there is no variable `waaa"));
}

/// A type's name contains the names of its arguments, so it doubles with each level.
#[test]
fn type_names_are_limited() {
    let pairs = |count: usize| {
        let one = |i: usize| format!("using T{} = P<T{i}, T{i}>;\n", i + 1);
        format!(
            "template <class A, class B> struct P {{ A *a; B *b; }}; using T0 = int;\n{}
             __global__ void k(T{count} *p) {{}}",
            repeated(count, one)
        )
    };
    compile(&pairs(8));
    assert_eq!(first_error(&pairs(40)), "this type's name has more than 65536 bytes");
}
