// Build script of every image: linking, and the release of the kernel in it. Each image's own build
// script includes this file.

/// Passes the linker the arguments that all images need: `link.x` of `cortex-m-rt` or `riscv-rt`,
/// and the linker scripts in `scripts`.
fn link(scripts: &[&str]) {
    // Pages of 64 KiB, the linker's default, would pad the image.
    println!("cargo:rustc-link-arg-bins=--nmagic");
    for script in ["link.x"].iter().chain(scripts) {
        println!("cargo:rustc-link-arg-bins=-T{script}");
    }
    println!("cargo:rerun-if-changed={}", workspace("image.rs"));
}

/// Sets the environment variable RELEASE to the version of `package` in the lock file.
#[allow(dead_code, reason = "an image without a kernel has no release")]
fn tell_release(package: &str) {
    let path = workspace("Cargo.lock");
    let lock = std::fs::read_to_string(&path).expect("the workspace has a lock file");
    let entry = format!("name = \"{package}\"\nversion = \"");
    let (_, rest) = lock.split_once(&entry).expect("the package is a dependency");
    let (version, _) = rest.split_once('"').expect("a version is quoted");
    println!("cargo:rustc-env=RELEASE={version}");
    println!("cargo:rerun-if-changed={path}");
}

/// The path of one of the workspace's files. `include!` finds this file in the workspace's folder.
fn workspace(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|folder| folder.join("image.rs").is_file())
        .expect("image.rs is in the workspace's folder");
    folder.join(name).display().to_string()
}
