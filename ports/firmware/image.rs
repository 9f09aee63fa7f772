// Build script of every image: how it is linked, and which release of its kernel it holds. Included by their build.rs.

/// Passes what all images need to the linker. `scripts`: beside that of `cortex-m-rt`.
fn link(scripts: &[&str]) {
    // Pages of 64 KiB, the linker's default, would pad the image.
    println!("cargo:rustc-link-arg-bins=--nmagic");
    for script in ["link.x"].iter().chain(scripts) {
        println!("cargo:rustc-link-arg-bins=-T{script}");
    }
    println!("cargo:rerun-if-changed=../image.rs");
}

/// Sets RELEASE to the version of `package` in the lock file.
#[allow(dead_code)]
fn tell_release(package: &str) {
    let lock = std::fs::read_to_string("../Cargo.lock").expect("the lock file is beside the workspace's manifest");
    let entry = format!("name = \"{package}\"\nversion = \"");
    let (_, rest) = lock.split_once(&entry).expect("the package is a dependency");
    let (version, _) = rest.split_once('"').expect("a version is quoted");
    println!("cargo:rustc-env=RELEASE={version}");
    println!("cargo:rerun-if-changed=../Cargo.lock");
}
