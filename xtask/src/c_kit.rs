//! The kit for kernels written in C: header, static libraries, packages for CMake and pkg-config,
//! and the ports' files. A folder that needs no checkout.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use chronoscope_chips::{Clock, Table};
use chronoscope_suite::experiments;
use object::{Object, ObjectSection, SectionKind, read::archive::ArchiveFile};

use crate::{
    command, firmware,
    repository::{copy, copy_folder, root, target},
    rust::Toolchain,
};

pub const USAGE: &str = "c-kit -o DIR [--chip CHIP,…] [--experiments NAME,…|each]  \
    writes header, libraries and ports for kernels written in C";

const PACKAGE: &str = "chronoscope-c-library";

/// A chip or a system with libraries of its own.
struct Chip {
    name: String,
    triple: String,
    /// A library for each way in which marks read the clock. The usual one is the first.
    clocks: &'static [ClockFeature],
}

/// The feature with which a library reads the clock, and the end of the library's name.
type ClockFeature = (&'static str, &'static str);

/// Marks call a function that returns 64 bits.
const SYSTEM: &[ClockFeature] = &[("clock-call64", "")];

/// Marks load a register, or call a function that returns 32 or 64 bits.
const REGISTER: &[ClockFeature] = &[("", ""), CALL32, CALL64];

/// Marks read the core's counter of cycles, or call a function.
const COUNTER: &[ClockFeature] = &[("clock-mcycle", ""), CALL32, CALL64];

const CALL32: ClockFeature = ("clock-call32", "-call32");
const CALL64: ClockFeature = ("clock-call64", "-call64");

/// Systems that the table of chips does not have.
const SYSTEMS: [(&str, &str); 2] =
    [("linux-arm64", "aarch64-unknown-linux-gnu"), ("linux", "x86_64-unknown-linux-gnu")];

/// All chips and systems with libraries.
fn chips() -> Vec<Chip> {
    let table = Table::read();
    let chips = table.chips.iter().filter_map(|chip| {
        let clocks = match chip.kit? {
            Clock::Register => REGISTER,
            Clock::Counter => COUNTER,
        };
        Some(Chip { name: chip.name.clone(), triple: chip.triple.clone(), clocks })
    });
    let system = |(name, triple): (&str, &str)| Chip {
        name: name.to_owned(),
        triple: triple.to_owned(),
        clocks: SYSTEM,
    };
    let mut chips: Vec<Chip> = chips.collect();
    chips.sort_by(|a, b| a.name.cmp(&b.name));
    chips.extend(SYSTEMS.map(system));
    chips
}

/// Files of the repository, and their places in the kit.
const FILES: [(&str, &str); 30] = [
    ("ports/c/include/chronoscope.h", "include/chronoscope.h"),
    ("ports/c/kit/README.md", "README.md"),
    ("ports/c/kit/chronoscopeConfig.cmake", "lib/cmake/chronoscope/chronoscopeConfig.cmake"),
    ("ports/c/kit/posix/CMakeLists.txt", "posix/CMakeLists.txt"),
    ("ports/c/kernels/posix.c", "ports/posix.c"),
    ("ports/c/kernels/freertos.c", "ports/freertos.c"),
    ("ports/c/kernels/chronoscope_freertos.h", "ports/chronoscope_freertos.h"),
    ("ports/c/kernels/chronoscope_freertos_count.h", "ports/chronoscope_freertos_count.h"),
    ("ports/c/kernels/threadx.c", "ports/threadx.c"),
    ("ports/c/kernels/embos.c", "ports/embos.c"),
    ("ports/c/kernels/cmsis_rtos2.c", "ports/cmsis_rtos2.c"),
    ("ports/c/kernels/tandem.c", "ports/tandem.c"),
    ("ports/c/kernels/zephyr.c", "ports/zephyr.c"),
    ("ports/c/kernels/chronoscope_ticks.h", "ports/chronoscope_ticks.h"),
    ("ports/c/machines/semihosting.c", "ports/semihosting.c"),
    ("ports/c/machines/chronoscope_semihosting.h", "ports/chronoscope_semihosting.h"),
    ("ports/c/machines/uart.c", "ports/uart.c"),
    ("ports/c/machines/chronoscope_uart.h", "ports/chronoscope_uart.h"),
    ("ports/c/machines/clock16.c", "ports/clock16.c"),
    ("ports/c/machines/chronoscope_clock16.h", "ports/chronoscope_clock16.h"),
    ("ports/c/kit/cortex-m4/CMakeLists.txt", "cortex-m4/CMakeLists.txt"),
    ("ports/c/kit/cortex-m4/link.ld", "cortex-m4/link.ld"),
    ("ports/c/kit/cortex-m4/main.c", "cortex-m4/main.c"),
    ("ports/c/kit/cortex-m4/startup.c", "cortex-m4/startup.c"),
    ("ports/c/freestanding/stdlib.h", "cortex-m4/freestanding/stdlib.h"),
    ("ports/c/freestanding/string.h", "cortex-m4/freestanding/string.h"),
    ("ports/firmware/kernels/freertos/src/FreeRTOSConfig.h", "cortex-m4/FreeRTOSConfig.h"),
    ("ports/firmware/kernels/freertos/src/heap.c", "cortex-m4/heap.c"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
];

/// The module and the application of Zephyr: a folder of the repository, and its place in the kit.
const ZEPHYR: (&str, &str) = ("ports/c/kit/zephyr", "zephyr");

struct Options {
    folder: PathBuf,
    chips: Vec<Chip>,
    /// The experiments to compile in, separated by commas; all, if absent.
    experiments: Option<String>,
    /// Also print the size of a library with each experiment alone.
    prints_each: bool,
}

/// The value of `--experiments` for which [`Options::prints_each`] is set.
const EACH: &str = "each";

pub fn run(arguments: &[&str]) -> Result<()> {
    let options = Options::parse(arguments)?;
    for (from, to) in FILES {
        copy(&root().join(from), &options.folder.join(to))?;
    }
    copy_folder(&root().join(ZEPHYR.0), &options.folder.join(ZEPHYR.1))?;
    for chip in &options.chips {
        for (feature, end) in chip.clocks {
            let library = build(chip, feature, options.experiments.as_deref())?;
            let name = format!("lib/{}/libchronoscope{end}.a", chip.triple);
            let place = options.folder.join(&name);
            copy(&library, &place)?;
            println!("{:7} bytes of code  {name}", code(&place)?);
        }
        if options.prints_each {
            print_each(chip)?;
        }
    }
    // One package a chip; the one without a chip's name is the last one's.
    let packages = options.folder.join("lib/pkgconfig");
    fs::create_dir_all(&packages)?;
    for chip in &options.chips {
        for name in [format!("chronoscope-{}.pc", chip.name), "chronoscope.pc".to_owned()] {
            fs::write(packages.join(name), pkg_config(chip)).context("cannot write the kit")?;
        }
    }
    Ok(())
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Self> {
        let (mut folder, mut chips, mut experiments) = (None, Vec::new(), None);
        let mut prints_each = false;
        let mut words = arguments.iter().copied();
        while let Some(word) = words.next() {
            let Some(value) = words.next().filter(|value| !value.starts_with('-')) else {
                bail!("`{word}` has no value; usage: ./chronoscope {USAGE}");
            };
            match word {
                "-o" => folder = Some(PathBuf::from(value)),
                "--chip" => chips = value.split(',').map(chip).collect::<Result<_>>()?,
                "--experiments" if value == EACH => prints_each = true,
                "--experiments" => {
                    value.split(',').try_for_each(is_experiment)?;
                    experiments = Some(value.to_owned());
                }
                _ => bail!("there is no `{word}`; usage: ./chronoscope {USAGE}"),
            }
        }
        if chips.is_empty() {
            chips = self::chips();
        }
        let folder = folder.with_context(|| format!("usage: ./chronoscope {USAGE}"))?;
        Ok(Self { folder, chips, experiments, prints_each })
    }
}

fn chip(name: &str) -> Result<Chip> {
    let names = chips().iter().map(|chip| chip.name.clone()).collect::<Vec<_>>().join(", ");
    let chip = chips().into_iter().find(|chip| chip.name == name || chip.triple == name);
    chip.with_context(|| format!("there is no library for the chip {name}, but for: {names}"))
}

fn is_experiment(name: &str) -> Result<()> {
    let known = experiments::find(name).map(drop);
    known.with_context(|| format!("there is no experiment {name}: ./chronoscope list shows all"))
}

/// Builds a library, and returns its path.
fn build(chip: &Chip, feature: &str, experiments: Option<&str>) -> Result<PathBuf> {
    let folder = target()?.join("c-kit");
    let mut cargo = if chip.name.starts_with("linux") {
        let toolchain = Toolchain::find()?;
        let mut cargo = if toolchain.has_library(&chip.triple)? {
            toolchain.cargo("build")
        } else {
            Toolchain::with_debians_source("build", "core,alloc")?
        };
        cargo.current_dir(root().join("ports/firmware"));
        cargo.env("CARGO_TARGET_DIR", folder.join("firmware"));
        cargo.env(firmware::BUILD_DIR, firmware::build_folder()?).args(["--target", &chip.triple]);
        cargo
    } else {
        firmware::cargo(&chip.triple, "build", &folder)?
    };
    match experiments {
        Some(names) => cargo.env("CHRONOSCOPE_EXPERIMENTS", names),
        None => cargo.env_remove("CHRONOSCOPE_EXPERIMENTS"),
    };
    cargo.args(["--quiet", "--locked", "--release", "--package", PACKAGE]);
    cargo.args(["--features", feature]);
    command::run(&mut cargo).with_context(|| format!("the library for {}", chip.name))?;
    Ok(folder.join("firmware").join(&chip.triple).join("release/libchronoscope.a"))
}

/// Sections with code or constants.
const CODE: [SectionKind; 4] = [
    SectionKind::Text,
    SectionKind::ReadOnlyData,
    SectionKind::ReadOnlyString,
    SectionKind::ReadOnlyDataWithRel,
];

/// The bytes of code and constants in the suite's object of a library. The other objects are the
/// compiler's own functions, of which a program takes few.
fn code(library: &Path) -> Result<u64> {
    let bytes = fs::read(library)?;
    let archive = ArchiveFile::parse(&*bytes)?;
    let mut sum = 0;
    for member in archive.members() {
        let member = member?;
        if !member.name().starts_with(b"chronoscope") {
            continue;
        }
        let object = object::File::parse(member.data(&*bytes)?)?;
        let sections = object.sections().filter(|section| CODE.contains(&section.kind()));
        sum += sections.map(|section| section.size()).sum::<u64>();
    }
    Ok(sum)
}

/// Prints the code of a library with each experiment alone.
fn print_each(chip: &Chip) -> Result<()> {
    for spec in experiments::EXPERIMENTS {
        let library = build(chip, chip.clocks[0].0, Some(spec.name))?;
        println!("{:7} bytes of code  {} with {} alone", code(&library)?, chip.name, spec.name);
    }
    Ok(())
}

fn pkg_config(chip: &Chip) -> String {
    let chip = &chip.triple;
    format!(
        "prefix=${{pcfiledir}}/../..\nName: chronoscope\n\
         Description: experiments for kernels written in C, for {chip}\nVersion: {}\n\
         Cflags: -I${{prefix}}/include\nLibs: -L${{prefix}}/lib/{chip} -lchronoscope\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked() {
        let parse = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            Options::parse(&words).map_err(|error| format!("{error:#}"))
        };
        let options = parse("-o kit --chip cortex-m4,linux --experiments switch,wakeup").unwrap();
        assert_eq!((options.chips.len(), options.folder), (2, PathBuf::from("kit")));
        assert_eq!(parse("-o kit").unwrap().chips.len(), chips().len());
        let each = parse("-o kit --experiments each").unwrap();
        assert!(each.prints_each && each.experiments.is_none());
        for (text, why) in [
            ("", "usage"),
            ("-o", "no value"),
            ("-o kit --chip z80", "there is no library for the chip z80, but for: cortex-m0"),
            ("-o kit --experiments swich", "there is no experiment swich"),
            ("-o kit --frob x", "there is no `--frob`"),
        ] {
            let error = parse(text).err().unwrap();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    /// Zephyr's build refuses a `module.yml` with other keys (the schema in its
    /// `scripts/zephyr_module.py`), and one whose folder or file is not there.
    #[test]
    fn the_module_of_zephyr_has_known_keys_and_names_files_of_the_kit() {
        let module = root().join(ZEPHYR.0);
        let text = fs::read_to_string(module.join("module.yml")).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let pairs: Vec<_> = lines.filter_map(|line| line.split_once(':')).collect();
        let value = |key: &str| pairs.iter().find(|pair| pair.0 == key).unwrap().1.trim();
        for (key, _) in &pairs {
            assert!(["name", "build", "  cmake", "  kconfig"].contains(key), "{key}");
        }
        let kit = module.parent().unwrap();
        assert!(kit.join(value("  cmake")).join("CMakeLists.txt").is_file());
        assert!(kit.join(value("  kconfig")).is_file());
    }
}
