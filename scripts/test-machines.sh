#!/usr/bin/env bash
# Tests on other machines, which are imitated on this one: another processor, other numbers of cores, another user, no
# home, no network or one that doesn't answer, another language, a dumb terminal, a folder with spaces and letters beyond
# ASCII, and heavy load.
#
#     scripts/test-machines.sh              programs on each machine: some minutes
#     scripts/test-machines.sh --all        also the whole test suite on two of them: an hour
#     scripts/test-machines.sh NAME …       only the machines whose names contain one of these
#
# On each machine every level has to agree with PyTorch's dumps, train on digits, and fall back to the built-in ones; the
# emulator's reports have to be the same bytes as here. Needs Linux on x86-64. A machine that can't be imitated is skipped
# and listed at the end: processors need qemu-user, another user and no network need root, and a network that doesn't
# answer needs python3.
#
# With FOUR_LEVELS_SKIP=fail, a skipped machine is a failure, unless it needs root and this isn't root.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
all=
if [ "${1:-}" = --all ]; then
    all=1
    shift
fi
names=("$@")

target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
crates/emulated-gpu/scripts/build.sh --locked --workspace --bins --examples
work=$(mktemp -d "${TMPDIR:-/tmp}/four levels, größer 四 XXXXXX")
busy=()
finish() {
    [ ${#busy[@]} = 0 ] || kill "${busy[@]}" 2>/dev/null || true
    chmod -R u+w "$work"
    rm -rf "$work" "${preloaded:-}"
}
trap finish EXIT

# Files for another machine: programs, libraries, and the programs' inputs.
mkdir -p "$work/bin" "$work/reference"
for program in level1-cpu level2-cuda-naive level3-cublas level4-ptx conformance tensor-diff ptx-emulator; do
    cp "$target/debug/$program" "$work/bin/"
done
cp "$target"/debug/deps/libemulated_{cuda,cublas,cublaslt}.so "$work/bin/"
cp -r reference/dumps "$work/reference/"
cp -r book/kernels ptx "$work/"
printf 'processor\t: 0\nmodel name\t: Imaginary(R) Processor(TM) 77-X @ 9.99GHz\n' >"$work/cpuinfo"

# The script that runs on each machine. RUN is a prefix for every program.
cat >"$work/prove" <<'PROVE'
set -eu
cd "$(dirname "$0")"
: "${RUN:=}"
out=$(mktemp -d "$PWD/out.XXXXXX")
agrees() { # LEVEL [OPTION …]: compares its dump with PyTorch's
    level=$1
    shift
    $RUN bin/"$level" dump --preset "$FIXTURE" --out "$out/dump.json" "$@" >"$out/dump.txt"
    $RUN bin/tensor-diff "reference/dumps/$FIXTURE.json" "$out/dump.json" >"$out/diff.txt" || {
        cat "$out/diff.txt"
        exit 1
    }
}
if [ -n "${SUITE:-}" ]; then
    bin/conformance --check references --device emulated --dumps reference/dumps >"$out/suite.txt" || {
        cat "$out/suite.txt"
        exit 1
    }
fi
FIXTURE=softmax
agrees level1-cpu
agrees level1-cpu --fused
agrees level2-cuda-naive --device emulated
agrees level3-cublas --device emulated
agrees level3-cublas --device emulated --tf32
agrees level4-ptx --device emulated --fused
# Training works, and its output is the same in every locale.
$RUN bin/level1-cpu --data digits --samples 2560 --json "$out/report.json" >"$out/train.txt"
grep -q 'test accuracy' "$out/train.txt"
grep -q '"test_accuracy"' "$out/report.json"
# It uses MNIST if it finds it, otherwise built-in digits, within seconds, and prints which.
$RUN bin/level1-cpu --samples 512 >"$out/auto.txt" 2>"$out/auto.err" || {
    cat "$out/auto.err"
    exit 1
}
if [ -n "${EXPECT:-}" ]; then
    grep -q "$EXPECT" "$out/auto.txt" "$out/auto.err" || {
        echo "neither output contains: $EXPECT"
        cat "$out/auto.txt" "$out/auto.err"
        exit 1
    }
fi
# The emulator's reports, for comparison with those of this machine.
cd "$out"
for command in run profile 'trace --thread 3'; do
    # shellcheck disable=SC2086 # the command and its option are words
    $RUN ../bin/ptx-emulator $command ../kernels/saxpy.ptx --grid 2 --block 4 --arg u32:6 \
        --arg f32:2 --arg 'f32[8]:iota' --arg 'f32[8]:1'
done >reports.txt
code=0
$RUN ../bin/ptx-emulator run ../kernels/faults/race.ptx --block 64 --arg u32:0 --arg 'f32[64]:iota' \
    --arg 'f32[64]:-1' --racecheck >>reports.txt 2>&1 || code=$?
[ $code = 1 ]
cmp reports.txt "${REPORTS:-reports.txt}"
[ -n "${REPORTS:-}" ] || cp reports.txt ../reports.txt
PROVE

ran=0
failed=0
left_out=()
chosen() {
    [ ${#names[@]} = 0 ] && return
    local name
    for name in "${names[@]}"; do
        case $1 in *"$name"*) return ;; esac
    done
    return 1
}
leave_out() { left_out+=("$1: $2"); }
# machine NAME COMMAND …: the command has to run its further arguments as a command.
machine() {
    local name=$1 start=$SECONDS
    shift
    chosen "$name" || return 0
    if "$@" bash "$work/prove" >"$work/log" 2>&1; then
        ran=$((ran + 1))
        echo "ok      $name ($((SECONDS - start)) s)"
    else
        failed=$((failed + 1))
        echo "FAILED  $name"
        tail -n 40 "$work/log"
    fi
}
# Runs a machine as another user, who owns nothing here.
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
can_be_nobody() { [ "$(id -u)" = 0 ] && "${nobody[@]}" true 2>/dev/null; }
for_nobody() {
    chosen "$1" || return 0
    if can_be_nobody; then
        chmod 755 "$work"
        chown -R 65534:65534 "$work"
        machine "$@"
        chown -R 0:0 "$work"
    else
        leave_out "$1" "only root can become another user"
    fi
}

# An empty environment, and a home without MNIST.
mkdir -p "$work/home"
plain=(env -i "PATH=$PATH" "HOME=$work/home" "TMPDIR=${TMPDIR:-/tmp}")
digits="built-in digits"
# A proxy without a listener, so that machines without a network really reach none.
offline=("${plain[@]}" "https_proxy=http://127.0.0.1:9" "http_proxy=http://127.0.0.1:9" "EXPECT=$digits")

machine "this machine, in a folder with spaces and letters beyond ASCII" "${offline[@]}"
chosen "this machine" || "${offline[@]}" bash "$work/prove" >/dev/null 2>&1
[ ! -f "$work/reports.txt" ] || offline+=("REPORTS=$work/reports.txt")

machine "one core" "${offline[@]}" SUITE=1 taskset -c "$(taskset -cp $$ | sed 's/.*[: ,-]//')"
# The loader splits LD_PRELOAD at spaces, so the library is in a folder without any.
preloaded=$(mktemp "${TMPDIR:-/tmp}/another-machine.XXXXXX")
cp "$target/debug/examples/libanother_machine.so" "$preloaded"
another=("LD_PRELOAD=$preloaded" "ANOTHER_MACHINE_CPUINFO=$work/cpuinfo")
machine "64 cores of another name" "${offline[@]}" "${another[@]}" ANOTHER_MACHINE_CORES=64 SUITE=1
for_nobody "a user other than root" "${offline[@]}" "${nobody[@]}"
for_nobody "no HOME" "${offline[@]}" env -u HOME "${nobody[@]}"
mkdir -p "$work/sealed"
chmod 555 "$work/sealed"
for_nobody "a HOME that can't be written" "${offline[@]}" "HOME=$work/sealed" "${nobody[@]}"
machine "another language, TERM=dumb" "${offline[@]}" LANG=tr_TR.UTF-8 LC_ALL=de_DE.UTF-8 TERM=dumb
machine "the C locale, a strange terminal" "${offline[@]}" LC_ALL=C TERM=no-such-terminal COLUMNS=1
machine "no programs on the PATH but the shell's" "${offline[@]}" "PATH=/usr/bin:/bin"
machine "an empty MNIST_DIR" "${offline[@]}" MNIST_DIR=
if [ -n "${MNIST_DIR:-}" ]; then
    machine "MNIST_DIR" "${offline[@]}" "MNIST_DIR=$MNIST_DIR" "EXPECT=MNIST from"
else
    leave_out "MNIST_DIR" "it is not set"
fi

name="no network at all"
if unshare -n true 2>/dev/null; then
    machine "$name" "${plain[@]}" "EXPECT=$digits" unshare -n
else
    leave_out "$name" "unshare -n is not allowed"
fi
name="a network that doesn't answer"
if ! chosen "$name"; then
    :
elif command -v python3 >/dev/null; then
    python3 -c 'import socket, time
server = socket.create_server(("127.0.0.1", 0), backlog=64)
print(server.getsockname()[1], flush=True)
held = []
while True: held.append(server.accept())' >"$work/port" &
    silent=$!
    busy+=("$silent")
    while [ ! -s "$work/port" ]; do sleep 0.1; done
    port=$(cat "$work/port")
    machine "$name" "${plain[@]}" "EXPECT=$digits" "https_proxy=http://127.0.0.1:$port" \
        "http_proxy=http://127.0.0.1:$port"
    kill "$silent"
    busy=()
else
    leave_out "$name" "python3 is missing"
fi

name="four busy loops at the same time"
if chosen "$name"; then
    for _ in 1 2 3 4; do
        sh -c 'while :; do :; done' &
        busy+=($!)
    done
    # Without SUITE=1, which would take too long: the loops take two thirds of two cores.
    machine "$name" "${offline[@]}"
    kill "${busy[@]}"
    busy=()
fi

# Dumps agree with PyTorch's on other processors.
for cpu in "max,-avx512f:a processor without AVX-512" "max,-avx2:a processor with FMA and without AVX2" \
    "qemu64,-svm:a processor without AVX"; do
    if command -v qemu-x86_64 >/dev/null; then
        machine "${cpu#*:}" "${offline[@]}" "RUN=qemu-x86_64 -cpu ${cpu%%:*}"
    else
        leave_out "${cpu#*:}" "qemu-x86_64 is missing (Debian: qemu-user)"
    fi
done

# The whole suite, in a clone that another user owns, in that folder.
suite() { # NAME COMMAND …
    local name=$1 start=$SECONDS
    shift
    chosen "$name" || return 0
    if (cd "$work/clone" && "$@" cargo test --workspace --locked --offline --no-fail-fast) >"$work/log" 2>&1; then
        ran=$((ran + 1))
        echo "ok      $name ($((SECONDS - start)) s)"
        sed -n '/^not tested here/,/^$/p' "$work/log"
    else
        failed=$((failed + 1))
        echo "FAILED  $name"
        grep -E '^test .*FAILED|panicked|^error' "$work/log" | head -n 40
        tail -n 40 "$work/log"
    fi
}
if [ -n "$all" ]; then
    git clone --quiet "$root" "$work/clone"
    cargo fetch --quiet --locked
    # The tests are compiled here, outside of the imitated machines.
    (cd "$work/clone" && cargo test --quiet --workspace --locked --offline --no-run)
    rust=("CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}" "RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}")
    without_python=$work/path
    mkdir -p "$without_python"
    for folder in /usr/bin /bin; do
        for tool in "$folder"/*; do
            case ${tool##*/} in python*) ;; *) ln -sf "$tool" "$without_python/" ;; esac
        done
    done
    cargo_bin=$(dirname "$(command -v cargo)")
    # A machine without a network still has a loopback interface, which tests' servers need.
    alone=()
    if unshare -n true 2>/dev/null && command -v python3 >/dev/null; then
        alone=(unshare -n python3 -c 'import fcntl, os, socket, struct, sys
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
fcntl.ioctl(socket.socket(), SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))
os.execvp(sys.argv[1], sys.argv[1:])')
    else
        leave_out "the suite without a network" "python3 is missing, or unshare -n is not allowed"
    fi
    suite "the suite, on one core, without Python, network, HOME and MNIST, in German" "${alone[@]}" \
        env -i "${rust[@]}" "PATH=$without_python:$cargo_bin" TERM=dumb LC_ALL=de_DE.UTF-8 taskset -c 0
    for _ in 1 2 3 4; do
        sh -c 'while :; do :; done' &
        busy+=($!)
    done
    suite "the suite, with four busy loops, on 64 cores of another name" \
        env "${another[@]}" ANOTHER_MACHINE_CORES=64
    kill "${busy[@]}"
    busy=()
else
    leave_out "the whole suite on other machines" "--all runs it"
fi

echo
echo "$ran machines passed, $failed failed"
fatal=0
for line in "${left_out[@]}"; do
    echo "skipped: $line"
    case $line in
    *"--all runs it" | MNIST_DIR:*) ;;
    *"only root can become another user" | *"unshare -n is not allowed") [ "$(id -u)" != 0 ] || fatal=1 ;;
    *) fatal=1 ;;
    esac
done
[ "$failed" = 0 ] || exit 1
if [ "${FOUR_LEVELS_SKIP:-}" != "" ] && [ $fatal = 1 ]; then
    echo "FOUR_LEVELS_SKIP=$FOUR_LEVELS_SKIP: a machine was skipped" >&2
    exit 1
fi
