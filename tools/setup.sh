# What ./chronoscope and the scripts beside this file share: installing what is missing, and building. Needs $root, $target.
# shellcheck shell=sh disable=SC2154

say() { printf 'chronoscope: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

# listed WHEN: the names that packages.txt lists for it
listed() { awk -v when="$1" '$2 == "#" && $3 == when { print $1 }' "$root/tools/packages.txt"; }

# lacking PACKAGE…: those not installed
lacking() {
    for package; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -q '^installed' || printf ' %s' "$package"
    done
}

apt_get() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=120 "$@" >>"$log" 2>&1; }

# install PACKAGE…: those not yet there; with renew=yes all of them, as new as Debian has them today.
# Never removes another package to make room.
install() {
    command -v dpkg-query >/dev/null || {
        say "this is no Debian, so please see to these yourself (Debian's names):" "$@"
        return 0
    }
    missing=$(lacking "$@")
    [ -z "${renew-}" ] || missing=" $*"
    [ -n "$missing" ] || return 0
    by_hand="apt-get update && apt-get install --no-install-recommends$missing"
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        as_root=sudo
        sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; } ||
            die "needs Debian packages and may not install them:$missing
    As root:  $by_hand"
    fi
    say "installing Debian packages:$missing"
    mkdir -p "$target"
    log=$target/apt.log
    : >"$log"
    set -- install --no-install-recommends --no-remove
    [ -z "${renew-}" ] || apt_get update || :
    # The first try fails where apt has no package lists, or stale ones.
    # shellcheck disable=SC2086 # $missing is a list
    apt_get "$@" $missing || { apt_get update || :; apt_get "$@" $missing; } || {
        tail -n 20 "$log" >&2
        die "could not install$missing (the whole story: $log)
    As root:  $by_hand"
    }
}

oldest_rust=$(sed -n 's/^rust-version = "1\.\([0-9]*\).*/\1/p' "$root/Cargo.toml")
rust_is_new_enough() {
    minor=$(cd "$root" && cargo --version >/dev/null 2>&1 && rustc --version 2>/dev/null | cut -d. -f2)
    [ "${minor:-0}" -ge "$oldest_rust" ]
}
rust_is_from() { # rustup, or debian
    case $(rustc --print sysroot) in
    */toolchains/*) [ "$1" = rustup ] ;;
    /usr) [ "$1" = debian ] ;;
    *) false ;;
    esac
}

set_up_build() {
    packages=$(listed build)
    rust_is_new_enough || {
        packages="$packages $(listed rust)"
        PATH=/usr/bin:$PATH
    }
    # shellcheck disable=SC2086 # a list
    install $packages
    # What stale package lists gave may be too old.
    # shellcheck disable=SC2046 # a list
    rust_is_new_enough || renew=yes install $(listed rust)
    rust_is_new_enough || die "needs Rust 1.$oldest_rust or newer, and the rustc in PATH is: $(rustc --version 2>&1 | head -n 1)
    With rustup:  rustup toolchain install stable && rustup default stable"
}

build() {
    say "building"
    mkdir -p "$target/release"
    printf '%s\n' "$built" >"$stamp.$$"
    (cd "$root" && cargo build --release --workspace --locked --target-dir "$target") || {
        rm -f "$stamp.$$"
        die "the build failed"
    }
    CARGO_TARGET_DIR=$target "$target/release/xtask" images || die "the index of images could not be written"
    mv "$stamp.$$" "$stamp"
}
