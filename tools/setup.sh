# The part of ./chronoscope that is needed only where something is to be built. Needs $root, $target.
# shellcheck shell=sh disable=SC2154

say() { printf 'chronoscope: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

oldest_rust=$(sed -n 's/^rust-version = "1\.\([0-9]*\).*/\1/p' "$root/Cargo.toml")
rust_is_new_enough() {
    minor=$(cd "$root" && cargo --version >/dev/null 2>&1 && rustc --version 2>/dev/null | cut -d. -f2)
    [ "${minor:-0}" -ge "$oldest_rust" ]
}

# Installs a linker, and Rust where PATH has none that is new enough.
set_up_build() {
    mkdir -p "$target/lab" 2>/dev/null && [ -w "$target/lab" ] ||
        die "something changed since the last build, and this account cannot write in $target: CARGO_TARGET_DIR=FOLDER ./chronoscope builds in a folder of your own"
    needed=build
    rust_is_new_enough || {
        needed="build rust"
        PATH=/usr/bin:$PATH
    }
    # shellcheck disable=SC2086 # a list
    "$root/tools/packages" $needed
    # What stale package lists gave may be too old.
    rust_is_new_enough || renew=yes "$root/tools/packages" rust
    rust_is_new_enough || die "needs Rust 1.$oldest_rust or newer, and the rustc in PATH is: $(rustc --version 2>&1 | head -n 1)
    With rustup:  rustup toolchain install stable && rustup default stable"
}

# Flags that the user's own firmware is built with are none of this build's.
leave_out_own_flags() {
    unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_BUILD_TARGET
}

# The program and everything it runs beside itself.
build() {
    if [ -x "$program" ]; then
        say "building what has changed"
    else
        say "building, which takes some minutes the first time"
    fi
    printf '%s\n' "$built" >"$stamp.$$"
    (
        cd "$root" && set -- --locked --target-dir "$target" || exit
        leave_out_own_flags
        # The port shares no build with the lab: it is compiled where the lab leaves a core idle.
        nice cargo build --quiet --release --package chronoscope-linux "$@" &
        port=$!
        trap 'kill "$port" 2>/dev/null || :' EXIT
        trap 'exit 1' HUP INT TERM
        cargo build --package chronoscope --package xtask "$@" && wait "$port" || exit
        # Tests build a port for themselves into the folder `debug`, so the lab has its own.
        for path in debug/chronoscope debug/xtask release/chronoscope-linux; do
            # Another name first: the old program may be running.
            cp "$target/$path" "$target/lab/new.$$" && mv "$target/lab/new.$$" "$target/lab/${path#*/}" || exit
        done
    ) || {
        rm -f "$stamp.$$" "$target/lab/new.$$"
        die "the build failed"
    }
    CARGO_TARGET_DIR=$target "$target/lab/xtask" images || die "the index of images could not be written"
    mv "$stamp.$$" "$stamp"
}

# The program that builds images and checks the repository.
build_xtask() {
    (cd "$root" && leave_out_own_flags && cargo build --quiet --package xtask --locked --target-dir "$target") || die "the build failed"
}
