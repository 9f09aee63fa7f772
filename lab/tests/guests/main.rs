//! Linux in virtual machines, and traces of all targets.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/timeline.rs"]
mod timeline;

mod arm64;
mod binder;
mod culprits;
mod independent;
mod isolated;
mod trace_targets;
mod vm;

use std::path::PathBuf;

use chronoscope_base::cache::{Cache, KERNELS};

/// The cached folder of a build of Debian's kernel, as `6.1-rt`, of whatever version; the latest
/// used.
fn cached_kernel(build: &str) -> Option<PathBuf> {
    let entries = Cache::for_user().unwrap().entries().unwrap();
    let name = format!("{KERNELS}/{build}_");
    let entry = entries.into_iter().rfind(|entry| entry.name.starts_with(&name));
    entry.map(|entry| entry.path)
}

/// The image of a build of Debian's kernel, which a short case of the target fetches where the cache lacks
/// it.
fn fetched_image(build: &str, target: &str) -> PathBuf {
    if cached_kernel(build).is_none() {
        let short = ["run", "-q", "--no-store", "switch", "--repeat", "1", "-l", "10"];
        common::chronoscope(&[&short[..], &["--target", target]].concat()).exits(0);
    }
    cached_kernel(build).expect("the guest has fetched its kernel").join("vmlinuz")
}
