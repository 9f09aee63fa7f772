# ./chronoscope test: every check of this repository. Needs setup.sh and its variables.
# A missing tool is installed or fails its step; no step is ever skipped.
# shellcheck shell=sh disable=SC2154

# step NAME COMMAND…
step() {
    name=$1
    shift
    printf '== %s\n' "$name"
    # A subshell of its own stops at the first failure; a function tried by "||" would not.
    set +e
    (set -e; "$@")
    status=$?
    set -e
    [ "$status" -eq 0 ] || die "test failed at: $name"
}

set_up_tests() { "$root/tools/packages" test vm; }

set_up_linters() {
    have_linters() { cargo fmt --version && cargo clippy --version; }
    if have_linters 2>/dev/null; then
        return
    elif rust_is_from debian; then
        "$root/tools/packages" rust-test
    elif rust_is_from rustup; then
        say "installing rustfmt and clippy through rustup"
        rustup component add rustfmt clippy
    fi
    have_linters || die "needs the rustfmt and clippy that belong to $(command -v cargo)"
}

# What SciPy says of the same samples, as JSON: our statistics must agree
figures=$target/scipy_figures.json
scipy_figures() {
    venv=$target/venv
    pinned=$root/tools/test-requirements.txt
    if ! { cmp -s "$pinned" "$venv/installed.txt" && "$venv/bin/python" -c ''; }; then
        say "installing SciPy and Perfetto's classes into $venv"
        /usr/bin/python3 -m venv --clear "$venv"
        "$venv/bin/pip" install --quiet --require-hashes --only-binary :all: --requirement "$pinned"
        cp "$pinned" "$venv/installed.txt"
    fi
    "$venv/bin/python" "$root/lab/statistics/tests/scipy_figures.py" >"$figures"
}

# Shows cargo's output as it comes, and ends with the sum over all its test programs.
run_tests() {
    failed=$target/.tests-failed
    rm -f "$failed"
    { cargo test --release --workspace --locked --target-dir "$target" "$@" 2>&1 || : >"$failed"; } | awk '
        { print; fflush() }
        /^test result: / { passed += $4; failed += $6; skipped += $8 }
        END { printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit passed == 0 }'
    [ ! -e "$failed" ]
}

rust_is_from() { # rustup, or debian
    case $(rustc --print sysroot) in
    */toolchains/*) [ "$1" = rustup ] ;;
    /usr) [ "$1" = debian ] ;;
    *) false ;;
    esac
}

cd "$root"
set_up_build # not as a step, which is a subshell: it may have to put Debian's Rust first in PATH
step "packages for testing" set_up_tests
step "rustfmt and clippy" set_up_linters
step "format" cargo fmt --check
step "clippy" cargo clippy --workspace --all-targets --locked --target-dir "$target" -- -D warnings
step "build" build
step "xtask" build_xtask
xtask=$target/debug/xtask
step "format of firmware" sh -c 'cd ports/firmware && exec cargo fmt --check'
# One package at a time, as the lab builds them: features that one port leaves out of the chip's crate
# must not come in by another.
"$target/release/xtask" images list >"$target/.firmware-packages"
while read -r chip crate; do
    step "clippy of $crate for $chip" "$xtask" firmware "$chip" clippy --release --locked --package "$crate" -- -D warnings </dev/null
    step "$crate for $chip" "$xtask" firmware "$chip" build --release --locked --package "$crate" </dev/null
done <"$target/.firmware-packages"
for chip in thumbv7em-none-eabihf riscv32imc-unknown-none-elf; do
    step "suite for $chip" "$xtask" firmware "$chip" build --release --locked --package chronoscope-suite
done
step "clippy of QEMU's plugin" "$xtask" plugin clippy --release --locked -- -D warnings
for chip in thumbv7em-none-eabihf riscv32imc-unknown-none-elf; do
    step "clippy of the serial host for $chip" "$xtask" firmware "$chip" clippy --profile uart --locked \
        --package chronoscope-bare --features board/uart -- -D warnings
    step "clippy of pins for $chip" "$xtask" firmware "$chip" clippy --profile pins --locked \
        --package chronoscope-bare --features pins -- -D warnings
done
step "format of the bench board" "$xtask" bench ibex fmt --check
step "clippy of the bench board" "$xtask" bench ibex clippy --all-targets -- -D warnings
for core in ibex ibex-wb cv32e40p; do
    step "bench board, $core" "$xtask" bench "$core" test
done
step "tandem" tandem/check
step "figures from SciPy" scipy_figures
export CHRONOSCOPE_SCIPY_FIGURES="$figures"
export CHRONOSCOPE_TEST_PYTHON="$target/venv/bin/python"
step "tests" run_tests "$@"
