//! Build script of the images of kernels written in C: compiles the kernel, its port and the image's
//! own files with Debian's C compiler, and links the image.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use chronoscope_chips::{C, Chip, Table};

include!("../firmware/image.rs");

fn main() {
    link(&[]);
    let chip = Target::find();
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    match env!("CARGO_PKG_NAME") {
        // Two of the features are kernels of their own in targets.
        "chronoscope-freertos" => match (has("CHECKED"), has("NOTIFY")) {
            (false, false) => freertos(chip, "freertos", &[]),
            (true, false) => freertos(chip, "freertos-checked", &["CHECKED"]),
            (false, true) => freertos(chip, "freertos-notify", &["CHRONO_NOTIFICATIONS"]),
            (true, true) => stop("checked and notify are two kernels: choose one"),
        },
        "chronoscope-smallest-freertos" => freertos_smallest(chip, &[2, 3]),
        "chronoscope-tandem-c" => tandem(chip, has("DIRECT")),
        "chronoscope-threadx" => threadx(chip),
        name => stop(&format!("{name}: ports/c/compile.rs has no such image")),
    }
}

/// The chip that the image is built for, by the table of chips.
struct Target {
    compiler: &'static str,
    c: C,
}

impl Target {
    fn find() -> Self {
        let triple = env::var("TARGET").expect("cargo sets it");
        let table = Table::read();
        let chip = table.with_images(&triple);
        let compiler = chip.map(Chip::c_compiler);
        let c = chip.and_then(|chip| chip.c.clone());
        let Some((compiler, c)) = compiler.zip(c) else {
            stop(&format!("chips/machines.toml has no table `c` for the chip of {triple}"));
        };
        Self { compiler, c }
    }

    /// The folder of FreeRTOS's port in the tree of its kernel.
    fn freertos(&self) -> &str {
        let port = self.c.freertos.first();
        port.unwrap_or_else(|| stop("chips/machines.toml has no port of FreeRTOS for the chip"))
    }
}

/// The options with which users compile for speed, or other ones from the environment; recorded with
/// every figure.
fn optimise() -> String {
    println!("cargo:rerun-if-env-changed=CHRONOSCOPE_C_OPTIONS");
    env::var("CHRONOSCOPE_C_OPTIONS").unwrap_or_else(|_| "-O2".to_owned())
}

/// Compiles FreeRTOS, its port and the image's own files, and links them. `name` is the kernel's
/// name in its target's; `defines` select among the port's choices.
fn freertos(chip: Target, name: &str, defines: &[&str]) {
    let image = PathBuf::from(workspace("kernels/freertos/src"));
    let kernel = freertos_source(&chip);
    let port = kernel.join(chip.freertos());
    let mut gcc = CCompiler::new(chip, name, &image);
    gcc.add_headers_of_freertos(&kernel);
    gcc.defines.extend(defines.iter().map(|define| (*define).to_owned()));
    for file in ["main.c", "heap.c"] {
        gcc.compile(&image.join(file), true);
    }
    gcc.compile(&ports().join("kernels/freertos.c"), true);
    for file in ["tasks.c", "queue.c", "list.c"] {
        gcc.compile(&kernel.join(file), false);
    }
    sources(&port).iter().for_each(|file| gcc.compile(file, false));
    gcc.link(&image);
}

/// Compiles FreeRTOS for its smallest images, which are named by their numbers of tasks, and links
/// them.
fn freertos_smallest(chip: Target, images: &[usize]) {
    let image = PathBuf::from(workspace("kernels/freertos/smallest/src"));
    let kernel = freertos_source(&chip);
    let port = kernel.join(chip.freertos());
    let mut gcc = CCompiler::new(chip, "freertos", &image);
    gcc.add_headers_of_freertos(&kernel);
    for file in ["tasks.c", "list.c"] {
        gcc.compile(&kernel.join(file), false);
    }
    gcc.compile(&port.join("port.c"), false);
    gcc.link_objects();
    for tasks in images {
        gcc.defines.push(format!("TASKS={tasks}"));
        let object = gcc.object(&image.join("main.c"), &format!("main-{tasks}.o"), true);
        gcc.defines.pop();
        println!("cargo:rustc-link-arg-bin=freertos-{tasks}={}", object.display());
    }
    println!("cargo:rerun-if-changed={}", image.display());
}

/// Compiles ThreadX from the user's tree, its port and the image's own files, and links them.
fn threadx(chip: Target) {
    println!("cargo:rerun-if-env-changed=THREADX_DIR");
    let tree = env::var_os("THREADX_DIR").map(PathBuf::from);
    let Some(tree) = tree.filter(|tree| tree.join("common/src").is_dir()) else {
        stop(
            "set THREADX_DIR to ThreadX's tree: git clone --branch v6.4.2_rel \
             https://github.com/eclipse-threadx/threadx",
        );
    };
    let image = PathBuf::from(workspace("threadx/src"));
    let port = tree.join("ports/cortex_m4/gnu");
    watch(&["common/inc", "common/src"].map(|folder| tree.join(folder)));
    watch(&["inc", "src"].map(|folder| port.join(folder)));
    let mut gcc = CCompiler::new(chip, "threadx", &image);
    gcc.folders.extend([tree.join("common/inc"), port.join("inc")]);
    gcc.defines.push("TX_INCLUDE_USER_DEFINE_FILE".to_owned());
    // The vector table's name for the handler.
    gcc.defines.push("PendSV_Handler=PendSV".to_owned());
    gcc.compile(&image.join("main.c"), true);
    gcc.compile(&ports().join("kernels/threadx.c"), true);
    for folder in [tree.join("common/src"), port.join("src")] {
        // Samples of what an application writes.
        let is_sample = |file: &PathBuf| file.to_string_lossy().contains("tx_initialize_low_level");
        for file in sources(&folder).iter().filter(|file| !is_sample(file)) {
            gcc.compile(file, false);
        }
    }
    gcc.link(&image);
}

/// Compiles tandem's port in C and the image's own files, and links them. Where `is_direct`, the
/// library calls tandem's functions in place of the port's take and give.
fn tandem(chip: Target, is_direct: bool) {
    let image = PathBuf::from(workspace("tandem-c/src"));
    let mut gcc = CCompiler::new(chip, "tandem", &image);
    // A header of C11, for which files of C99 get no warnings.
    gcc.options.extend(["-isystem".to_owned(), workspace("../../tandem/c/include")]);
    gcc.compile(&image.join("main.c"), true);
    if is_direct {
        gcc.defines.extend(["take", "give"].map(|name| format!("chrono_{name}=port_{name}")));
        for name in ["take", "give"] {
            let symbol = format!("chrono_{name}=tandem_semaphore_{name}");
            println!("cargo:rustc-link-arg-bins=--defsym={symbol}");
        }
    }
    gcc.compile(&ports().join("kernels/tandem.c"), true);
    gcc.link(&image);
}

/// The files in C and assembly of a folder, sorted.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder)
        .unwrap_or_else(|error| stop(&format!("{}: {error}", folder.display())));
    let files = files.flatten().map(|file| file.path());
    let is_code = |file: &PathBuf| file.extension().is_some_and(|end| end == "c" || end == "S");
    let mut files: Vec<PathBuf> = files.filter(is_code).collect();
    files.sort();
    files
}

/// The folder `ports/c`.
fn ports() -> PathBuf {
    PathBuf::from(workspace("../c"))
}

/// Links the machine's functions under the names of `chronoscope.h`.
fn link_machine(chip: &Target, image: &Path) {
    // The library refers to these weakly, and the machine is part of the same object after LTO: it
    // cannot define them itself.
    let machine = ["attach", "raise", "arm"].map(|name| format!("chrono_{name}=machine_{name}"));
    let counter = chip.c.counter.map(|address| format!("chrono_counter={address:#X}"));
    for symbol in machine.into_iter().chain(counter) {
        println!("cargo:rustc-link-arg-bins=--defsym={symbol}");
    }
    for folder in [image, &ports()] {
        println!("cargo:rerun-if-changed={}", folder.display());
    }
}

/// The folder of FreeRTOS's source: `FREERTOS_DIR`, or the crate that `source/Cargo.lock` pins,
/// which cargo fetches.
fn freertos_source(chip: &Target) -> PathBuf {
    println!("cargo:rerun-if-env-changed=FREERTOS_DIR");
    if let Some(folder) = env::var_os("FREERTOS_DIR").map(PathBuf::from) {
        let files = ["tasks.c", "queue.c", "list.c", "include", chip.freertos()];
        watch(&files.map(|name| folder.join(name)));
        return folder;
    }
    let manifest = workspace("kernels/freertos/source/Cargo.toml");
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets it"));
    cargo.args(["metadata", "--locked", "--format-version", "1", "--manifest-path", &manifest]);
    let output = cargo.output().expect("cargo starts");
    let text = String::from_utf8_lossy(&output.stdout);
    // The end of the path in `"manifest_path":"…/freertos-next-0.12.0/Cargo.toml"`.
    let end = text.find("/freertos-next-0.12.0/Cargo.toml\"");
    let Some(end) = end.filter(|_| output.status.success()) else {
        stop(&format!(
            "the source of FreeRTOS could not be fetched (or set FREERTOS_DIR to a kernel's \
             folder): {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    };
    let start = text[..end].rfind('"').map_or(0, |quote| quote + 1);
    Path::new(&text[start..end]).join("freertos-next-0.12.0/FreeRTOS-Kernel")
}

struct CCompiler {
    chip: Target,
    /// The options of optimisation.
    optimise: String,
    /// The objects of the image's files.
    objects: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    defines: Vec<String>,
    options: Vec<String>,
}

impl CCompiler {
    /// The compiler for an image with its own headers in the folder `image`.
    fn new(chip: Target, kernel: &str, image: &Path) -> Self {
        let ports = ports();
        let mut folders = ["include", "kernels", "freestanding", "machine/include"]
            .map(|folder| ports.join(folder))
            .to_vec();
        folders.push(image.to_owned());
        let optimise = optimise();
        let defines = vec![format!("KERNEL=\"{kernel}\""), format!("OPTIONS=\"{optimise}\"")];
        Self { chip, optimise, objects: Vec::new(), folders, defines, options: Vec::new() }
    }

    /// Adds FreeRTOS's headers, and the headers of its port for the chip.
    fn add_headers_of_freertos(&mut self, kernel: &Path) {
        let port = self.chip.c.freertos.iter().map(|folder| kernel.join(folder));
        self.folders.extend([kernel.join("include")].into_iter().chain(port));
    }

    /// Compiles a file of the image. `is_own`: a file of this repository, which is compiled with all
    /// warnings as errors.
    fn compile(&mut self, file: &Path, is_own: bool) {
        let name = file.file_name().expect("a file has a name").to_string_lossy().into_owned();
        // A kernel's file and one of the port's may have the same name.
        let name = format!("{name}.{}.o", if is_own { "own" } else { "kernel" });
        let object = self.object(file, &name, is_own);
        self.objects.push(object);
    }

    /// Links the compiled files and the machine.
    fn link(&self, image: &Path) {
        self.link_objects();
        link_machine(&self.chip, image);
    }

    /// Links the compiled files. With LTO they become one object first, since Rust's linker does not
    /// read this compiler's own.
    fn link_objects(&self) {
        let objects = match self.optimise.contains("-flto") {
            true => vec![self.as_one()],
            false => self.objects.clone(),
        };
        for object in &objects {
            println!("cargo:rustc-link-arg-bins={}", object.display());
        }
    }

    /// Optimises all objects together, into one.
    fn as_one(&self) -> PathBuf {
        let object = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("all.o");
        let mut gcc = Command::new(self.chip.compiler);
        gcc.args(self.optimise.split(' ')).args(&self.chip.c.options);
        gcc.args(["-r", "-nostdlib", "-flinker-output=nolto-rel"]);
        gcc.args(&self.objects).arg("-o").arg(&object);
        self.run(&mut gcc);
        object
    }

    /// Compiles a file into an object of that name, and returns the object's path.
    fn object(&self, file: &Path, name: &str, is_own: bool) -> PathBuf {
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
        let object = out.join(name);
        let mut gcc = Command::new(self.chip.compiler);
        gcc.args(self.optimise.split(' '));
        gcc.args(["-std=gnu99", "-g1", "-ffreestanding", "-fno-common"]);
        gcc.args(["-ffunction-sections", "-fdata-sections"]);
        gcc.args(&self.chip.c.options).args(&self.options);
        if is_own {
            gcc.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
        }
        gcc.args(self.folders.iter().map(|folder| format!("-I{}", folder.display())));
        gcc.args(self.defines.iter().map(|define| format!("-D{define}")));
        gcc.arg("-c").arg(file).arg("-o").arg(&object);
        self.run(&mut gcc);
        object
    }

    /// Runs the compiler, or ends the build with its first error.
    fn run(&self, gcc: &mut Command) {
        let output = gcc.output().unwrap_or_else(|error| {
            stop(&format!("{} cannot be started: {error}", self.chip.compiler))
        });
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            let first = words.lines().find(|line| line.contains("error")).unwrap_or(&words);
            eprint!("{words}");
            stop(&format!("{} failed: {first}", self.chip.compiler));
        }
    }
}

/// Has cargo build the image again when one of these files of the user's changes, or a file in one
/// of these folders.
fn watch(paths: &[PathBuf]) {
    for path in paths {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}

/// Ends the build with one line, which the lab shows.
fn stop(line: &str) -> ! {
    eprintln!("error: {line}");
    std::process::exit(1);
}
