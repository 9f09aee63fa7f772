//! Kernels whose sources the user has: builds the image from the user's tree, and runs experiments on
//! it.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    c_kit,
    command::{self, become_command},
    firmware, packages,
    repository::{root, target},
};

pub const USAGE: &str = "kernel NAME EXPERIMENT…  \
    builds the image of threadx or zephyr from your tree, and runs experiments on it; further \
    words are options of run";

/// A kernel whose source is not in this repository.
struct Kernel {
    name: &'static str,
    /// The environment variable with the folder of its tree, and a file that the tree has.
    variable: &'static str,
    file: &'static str,
    clone: &'static str,
    /// The machine that the image runs on.
    machine: &'static str,
    /// Builds the image from the tree, and returns its path.
    build: fn(&Path) -> Result<PathBuf>,
}

const KERNELS: [Kernel; 2] = [
    Kernel {
        name: "threadx",
        variable: "THREADX_DIR",
        file: "common/inc/tx_api.h",
        clone: "git clone --branch v6.4.2_rel https://github.com/eclipse-threadx/threadx",
        machine: "cortex-m4",
        build: threadx,
    },
    Kernel {
        name: "zephyr",
        variable: "ZEPHYR_BASE",
        file: "share/zephyr-package/cmake/ZephyrConfig.cmake",
        clone: "git clone --branch v3.2.0 https://github.com/zephyrproject-rtos/zephyr, and beside it \
                https://github.com/zephyrproject-rtos/cmsis as modules/hal/cmsis",
        machine: "cortex-m4",
        build: zephyr,
    },
];

pub fn run(arguments: &[&str]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        bail!("usage: ./chronoscope {USAGE}");
    };
    let kernel = KERNELS.iter().find(|kernel| kernel.name == *name);
    let kernel = kernel.with_context(|| {
        format!("there is no kernel {name}: {}", KERNELS.each_ref().map(|one| one.name).join(", "))
    })?;
    let tree = kernel.tree(env::var_os(kernel.variable).map(PathBuf::from))?;
    let image = (kernel.build)(&tree)?;
    let mut lab = Command::new(root().join("chronoscope"));
    lab.arg("run").args(rest).arg("--target");
    lab.arg(format!("{name}={}@{}", image.display(), kernel.machine));
    become_command(lab)
}

impl Kernel {
    /// The folder of the user's tree, as an absolute path.
    ///
    /// # Errors
    /// The variable is not set, or the folder is no such tree; the message has the command that
    /// clones it.
    fn tree(&self, folder: Option<PathBuf>) -> Result<PathBuf> {
        let Self { name, variable, clone, file, .. } = self;
        let Some(folder) = folder else {
            bail!("set {variable} to the folder of {name}'s tree: {clone}");
        };
        ensure!(
            folder.join(file).is_file(),
            "{variable}={} is no tree of {name}: {file} is missing: {clone}",
            folder.display()
        );
        // The compiler starts in another folder.
        folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))
    }
}

fn threadx(tree: &Path) -> Result<PathBuf> {
    const TRIPLE: &str = "thumbv7em-none-eabihf";
    const PACKAGE: &str = "chronoscope-threadx";
    let compiler = firmware::c_compiler(TRIPLE)?;
    packages::need(&[compiler], compiler)?;
    let mut cargo = firmware::cargo(TRIPLE, "build", &target()?)?;
    cargo.env("THREADX_DIR", tree);
    command::run(cargo.args(["--quiet", "--release", "--locked", "--package", PACKAGE]))?;
    firmware::image(TRIPLE, PACKAGE)
}

/// Builds the kit's application for its board, by Debian's compiler. Each tree has a build folder of
/// its own, because CMake's cache keeps the paths of a tree.
///
/// # Errors
/// The tree has another version's model of boards, or lacks CMSIS beside it; CMake has failed.
fn zephyr(tree: &Path) -> Result<PathBuf> {
    const BOARD: &str = "chronoscope_stm32f405";
    let version = fs::read_to_string(tree.join("VERSION")).unwrap_or_default();
    let version = release(&version).context("the tree's file VERSION says no version")?;
    ensure!(
        ((3, 2)..(3, 7)).contains(&version),
        "Zephyr {}.{} describes boards in another way than the kit's application, which is for 3.2 (to \
         3.6): git checkout v3.2.0",
        version.0,
        version.1
    );
    let cmsis = tree.with_file_name("modules/hal/cmsis");
    ensure!(
        cmsis.join("zephyr/module.yml").is_file(),
        "Zephyr needs CMSIS in {}, of the revision that its west.yml names: west update cmsis",
        cmsis.display()
    );
    let compiler = firmware::c_compiler("thumbv7em-none-eabihf")?;
    packages::need(&[compiler], compiler)?;
    packages::need(&["cmake", "dtc"], "zephyr")?;
    let kit = target()?.join("c-kit/kit");
    let build = target()?.join(format!("zephyr/{:016x}", hash(tree)));
    c_kit::run(&["-o", &kit.display().to_string(), "--chip", "cortex-m4"])?;
    let mut cmake = Command::new("cmake");
    cmake.env("ZEPHYR_BASE", tree).arg("--fresh");
    cmake.arg("-S").arg(kit.join("zephyr/app")).arg("-B").arg(&build);
    cmake.arg(format!("-DBOARD={BOARD}")).arg("-DZEPHYR_TOOLCHAIN_VARIANT=cross-compile");
    cmake.arg(format!("-DCROSS_COMPILE={}", prefix(compiler)?));
    // Both by name: without a workspace of west's, Zephyr looks for no others.
    cmake.arg(format!("-DZEPHYR_MODULES={};{}", kit.display(), cmsis.display()));
    command::run(&mut cmake)?;
    command::run(Command::new("cmake").env("ZEPHYR_BASE", tree).arg("--build").arg(&build))?;
    Ok(build.join("zephyr/zephyr.elf"))
}

/// The major and the minor number in the text of Zephyr's file VERSION.
fn release(version: &str) -> Option<(u32, u32)> {
    let number = |name: &str| {
        let mut lines = version.lines().filter_map(|line| line.split_once('='));
        lines.find(|(key, _)| key.trim() == name)?.1.trim().parse().ok()
    };
    Some((number("VERSION_MAJOR")?, number("VERSION_MINOR")?))
}

/// The path of the compiler without its last word, as `/usr/bin/riscv64-unknown-elf-`. Zephyr takes a
/// prefix without a folder for one in its own tree.
///
/// # Errors
/// No folder of PATH has the compiler.
fn prefix(compiler: &str) -> Result<String> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).map(|folder| folder.join(compiler));
    let found = found.filter(|path| path.is_file() && path.is_absolute()).find_map(|path| {
        let (prefix, _) = path.to_str()?.rsplit_once('-')?;
        Some(format!("{prefix}-"))
    });
    found.with_context(|| format!("no folder of PATH has {compiler}"))
}

fn hash(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::TemporaryFolder;

    #[test]
    fn a_missing_tree_is_one_line_with_the_command_that_clones_it() {
        for kernel in &KERNELS {
            let error = kernel.tree(None).unwrap_err().to_string();
            assert!(error.contains(kernel.variable) && error.contains("git clone"), "{error}");
            let error = kernel.tree(Some("/nowhere".into())).unwrap_err().to_string();
            assert!(error.contains("/nowhere is no tree of"), "{error}");
            assert!(!error.contains('\n'));
        }
    }

    #[test]
    fn a_tree_that_the_application_is_not_for_is_a_line() {
        let folder = TemporaryFolder::new(target().unwrap().join("trees/zephyr")).unwrap();
        let refused = |version: &str| {
            fs::write(folder.0.join("VERSION"), version).unwrap();
            zephyr(&folder.0).unwrap_err().to_string()
        };
        assert_eq!(refused("VERSION_MAJOR = x"), "the tree's file VERSION says no version");
        let newer = refused("VERSION_MAJOR = 4\nVERSION_MINOR = 2\n");
        assert!(newer.starts_with("Zephyr 4.2 describes boards in another way"), "{newer}");
        let alone = refused("VERSION_MAJOR = 3\nVERSION_MINOR = 2\n");
        assert!(alone.contains("trees/modules/hal/cmsis, of the revision"), "{alone}");
        assert!(![newer, alone].concat().contains('\n'));
    }

    #[test]
    fn a_compiler_s_prefix_has_its_folder() {
        let prefix = prefix("rustc-none").unwrap_err().to_string();
        assert_eq!(prefix, "no folder of PATH has rustc-none");
        // `x86_64-linux-gnu-gcc`, or as much of another host's: a C compiler is what Rust links with.
        let host = format!("{}-linux-gnu-gcc", env::consts::ARCH);
        let found = super::prefix(&host).unwrap();
        assert!(found.starts_with('/') && found.ends_with("-linux-gnu-"), "{found}");
    }

    #[test]
    fn a_tree_given_by_a_relative_path_is_absolute() {
        let folder = PathBuf::from(".");
        let own = Kernel { file: "Cargo.toml", ..KERNELS[0] };
        let tree = own.tree(Some(folder.clone())).unwrap();
        assert_eq!(tree, env::current_dir().unwrap().canonicalize().unwrap());
        assert!(tree.is_absolute() && hash(&tree) != hash(&folder));
    }
}
