//! The benchmark of `tandem/peers` on other kernels, in the emulator: FreeRTOS from its pinned
//! package, others from trees that the user names. Compares FreeRTOS's figures with the table of
//! `docs/tandem.md`, and the figures of programs in Rust with the pages of their kernels' ports.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use super::{c::COMPILER, chip::Chip, costs, emulate};
use crate::{
    command,
    firmware::freertos_source,
    packages,
    repository::{self, root},
};

/// The compiler's options, for a kernel's files too. Data in sections of their own cost FreeRTOS and
/// ThreadX up to a tenth, since each address is loaded anew.
const OPTIONS: [&str; 11] = [
    "-mcpu=cortex-m4",
    "-mthumb",
    "-mfloat-abi=hard",
    "-mfpu=fpv4-sp-d16",
    "-std=gnu11",
    "-O3",
    "-flto",
    "-ffreestanding",
    "-nostdlib",
    "-Wl,--gc-sections",
    "-Wl,-z,noexecstack",
];

/// A kernel, and how its files are compiled.
struct Peer {
    /// The column of the page's table. In lower case, the folder in `tandem/peers`.
    name: &'static str,
    /// The environment's variable with the folder of a tree.
    variable: &'static str,
    options: &'static [&'static str],
    /// Folders of headers in the tree.
    headers: &'static [&'static str],
    /// Files in the tree, and folders whose files in C and assembly are compiled.
    sources: &'static [&'static str],
}

const PEERS: [Peer; 3] = [
    Peer {
        name: "FreeRTOS",
        variable: "FREERTOS_DIR",
        options: &[],
        headers: &["include", "portable/GCC/ARM_CM4F"],
        sources: &["tasks.c", "queue.c", "list.c", "portable/GCC/ARM_CM4F"],
    },
    Peer {
        name: "ChibiOS",
        variable: "CHIBIOS_DIR",
        // Sections as in its own build. The stack of its first thread is the program's to place.
        options: &[
            "-ffunction-sections",
            "-fdata-sections",
            "-DSTM32F405xx",
            "-Wl,--defsym=__main_thread_stack_base__=0x2001e000",
            "-Wl,--defsym=__main_thread_stack_end__=0x2001f000",
        ],
        headers: &[
            "os/license",
            "os/common/portability/GCC",
            "os/common/startup/ARMCMx/compilers/GCC",
            "os/common/startup/ARMCMx/devices/STM32F4xx",
            "os/common/ext/ARM/CMSIS/Core/Include",
            "os/common/ext/ST/STM32F4xx",
            "os/common/ports/ARM-common",
            "os/common/ports/ARMv7-M",
            "os/rt/include",
            "os/oslib/include",
            "os/rt/templates",
        ],
        sources: &[
            "os/rt/src",
            "os/oslib/src",
            "os/common/ports/ARMv7-M/chcore.c",
            "os/common/ports/ARMv7-M/compilers/GCC/chcoreasm.S",
        ],
    },
    Peer {
        name: "ThreadX",
        variable: "THREADX_DIR",
        options: &["-DTX_INCLUDE_USER_DEFINE_FILE"],
        headers: &["common/inc", "ports/cortex_m4/gnu/inc"],
        sources: &["common/src", "ports/cortex_m4/gnu/src"],
    },
];

/// Measures FreeRTOS, and each other kernel whose tree the environment names.
///
/// # Errors
/// A kernel does not build or run, or a figure of the pinned FreeRTOS is not the page's.
pub fn run() -> Result<()> {
    packages::need(&[COMPILER], COMPILER)?;
    let page = repository::read(&root().join("docs/tandem.md"))?;
    for peer in &PEERS {
        let tree = env::var_os(peer.variable).map(PathBuf::from);
        let is_pinned = tree.is_none() && peer.name == "FreeRTOS";
        let tree = if is_pinned { Some(freertos_source()?) } else { tree };
        let Some(tree) = tree else {
            println!("{}: set {} to its tree (tandem/peers/README.md)", peer.name, peer.variable);
            continue;
        };
        let figures = peer.measure(&tree).with_context(|| peer.name.to_owned())?;
        compare(&figures, peer.name, &page, is_pinned)?;
    }
    Ok(())
}

/// The kernels with a program of their own in Rust, and the number of its rows.
const NATIVE: [(&str, usize); 2] = [("embassy", 11), ("lilos", 6)];

/// Runs a kernel's own program, which is built, and compares its figures with the table *Beside a
/// program without the suite* of the page of that kernel's port.
///
/// # Errors
/// There is no such program, it fails, or a figure is more than [`costs::SLACK`] off.
pub fn native(kernel: &str) -> Result<()> {
    let row = NATIVE.iter().find(|(name, _)| *name == kernel);
    let (_, rows) = row.with_context(|| format!("{kernel} has no program of its own"))?;
    let image = format!("release/tandem-peer-{kernel}");
    let (status, output) = emulate::emulate(&Chip::find("cortex-m4")?, &image)?;
    print!("{output}");
    ensure!(status.success(), "{image} ended with {status}");
    let page = format!("ports/firmware/kernels/{kernel}/README.md");
    let text = repository::read(&root().join(&page))?;
    let figures: BTreeMap<&str, u32> = output.lines().filter_map(parse).collect();
    compare_native(&figures, *rows, &text).with_context(|| page)
}

/// Compares figures, `rows` of them, with the page's rows `| NAME | FIGURE | …`.
fn compare_native(figures: &BTreeMap<&str, u32>, rows: usize, page: &str) -> Result<()> {
    for (name, median) in figures {
        let row = page.lines().find_map(|line| line.strip_prefix(&format!("| {name} | ")));
        let figure = row.and_then(|row| row.split(' ').next()?.parse::<u32>().ok());
        let figure = figure.with_context(|| format!("no row {name}"))?;
        ensure!(
            median.abs_diff(figure) <= costs::SLACK,
            "{name}: {median} instructions, {figure} by the page"
        );
    }
    ensure!(figures.len() == rows, "{} rows", figures.len());
    Ok(())
}

/// The figures of a row: with guards, and without.
type Figures = BTreeMap<String, [Option<u32>; 2]>;

impl Peer {
    /// Builds and runs the benchmark with and without guards, each with and without time slices. Of
    /// a build with time slices, the rows of that name count.
    fn measure(&self, tree: &Path) -> Result<Figures> {
        let chip = Chip::find("cortex-m4")?;
        let mut figures = Figures::new();
        let mut release = String::new();
        for (column, guards) in ["-DGUARDS", "-UGUARDS"].into_iter().enumerate() {
            for slices in ["-DSLICES", "-USLICES"] {
                let image = self.build(&chip, tree, [guards, slices])?;
                let (status, output) = emulate::emulate(&chip, &image)?;
                ensure!(status.success(), "{image} ended with {status} and printed:\n{output}");
                release = output.lines().next().unwrap_or_default().to_owned();
                let rows = output.lines().filter_map(parse);
                for (name, median) in rows
                    .filter(|(name, _)| name.starts_with(costs::SLICES) == (slices == "-DSLICES"))
                {
                    figures.entry(name.to_owned()).or_default()[column] = Some(median);
                }
            }
        }
        println!("{release}:");
        Ok(figures)
    }

    /// Compiles the benchmark and the kernel with these macros. Returns the name of the image in the
    /// chip's folder. In files of this repository, a warning is an error.
    fn build(&self, chip: &Chip, tree: &Path, macros: [&str; 2]) -> Result<String> {
        let name = self.name.to_lowercase();
        let folder = chip.image("peers")?.join(&name);
        fs::create_dir_all(&folder)?;
        let own = root().join("tandem/peers");
        let compiler = || {
            let mut compiler = Command::new(COMPILER);
            compiler.args(OPTIONS).args(macros).args(self.options);
            compiler.arg("-I").arg(&own).arg("-I").arg(own.join(&name));
            for headers in self.headers {
                compiler.arg("-isystem").arg(tree.join(headers));
            }
            compiler.arg("-isystem").arg(root().join("ports/c/freestanding"));
            compiler
        };
        let objects = ["benchmark", "board"].map(|file| folder.join(format!("{file}.o")));
        for object in &objects {
            let file = own.join(object.with_extension("c").file_name().context("it has a name")?);
            let mut compile = compiler();
            compile.args(["-Wall", "-Wextra", "-Werror", "-c", "-o"]).arg(object).arg(&file);
            command::run(&mut compile).with_context(|| format!("{} fails", file.display()))?;
        }
        let mut link = compiler();
        link.args(objects).arg("-w");
        for source in self.sources {
            link.args(files(&tree.join(source))?);
        }
        link.arg("-T").arg(root().join("tandem/c/examples/stm32f405.ld"));
        link.arg("-lgcc").arg("-o").arg(folder.join("benchmark"));
        command::run(&mut link).with_context(|| format!("{} does not build", self.name))?;
        Ok(format!("peers/{name}/benchmark"))
    }
}

/// The file of that path, or the files of C and assembly in the folder.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).with_context(|| format!("no folder {}", path.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "c" || end == "S"));
    files.sort();
    Ok(files)
}

/// Reads a row's name and median from `NAME median MEDIAN …`.
fn parse(line: &str) -> Option<(&str, u32)> {
    let (name, rest) = line.split_once(" median ")?;
    Some((name, rest.split(' ').next()?.parse().ok()?))
}

/// Prints the figures beside the cells of the page's column for this kernel. If they `must_agree`,
/// fails where one differs by more than [`costs::SLACK`], or a row is on one side alone.
fn compare(figures: &Figures, column: &str, page: &str, must_agree: bool) -> Result<()> {
    let mut cells = costs::peers(page, column)?;
    let mut wrong = Vec::new();
    for (name, measured) in figures {
        let [Some(guards), Some(without)] = *measured else { bail!("{name}: not of each build") };
        let cell = cells.remove(name);
        let words = cell
            .map_or("no figure".to_owned(), |[guards, without]| format!("{guards} / {without}"));
        println!("{column}  {name:<44} {guards:>4} / {without:<4} docs/tandem.md: {words}");
        let is_near = |cell: [u32; 2]| {
            let difference = |(one, other): (u32, u32)| one.abs_diff(other);
            cell.into_iter().zip([guards, without]).map(difference).all(|by| by <= costs::SLACK)
        };
        if !cell.is_some_and(is_near) {
            wrong.push(name.as_str());
        }
    }
    wrong.extend(cells.keys().map(String::as_str));
    ensure!(!must_agree || wrong.is_empty(), "{column}: not as in docs/tandem.md: {wrong:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Figures, compare, compare_native, costs, parse};

    #[test]
    fn a_figure_of_a_peer_is_held_by_the_page() {
        assert_eq!(
            parse("yield, 2 threads median 60 least 60 most 8551"),
            Some(("yield, 2 threads", 60))
        );
        assert_eq!(parse("FreeRTOS V11.2.0"), None);
        let figures: Figures = [("give".to_owned(), [Some(41), Some(32)])].into();
        let page = |rows: &str| format!("{}\n|---|\n{rows}\n", costs::GOALS);
        let row =
            |name: &str, cell: &str| format!("| {name} | 10 | – | – | 9 / 9 | 11 / 11 | {cell} |");
        let check = |rows: &str| compare(&figures, "FreeRTOS", &page(rows), true);
        check(&row("give", "44 / 32")).unwrap();
        for rows in [
            row("give", "45 / 32"),
            row("give", "41 / 28"),
            row("give", "–"),
            format!("{}\n{}", row("give", "41 / 32"), row("take", "1 / 1")),
        ] {
            assert!(check(&rows).is_err(), "{rows}");
        }
        compare(&figures, "FreeRTOS", &page(&row("give", "45 / 32")), false).unwrap();
        assert!(compare(&figures, "Zephyr", &page(""), false).is_err(), "no such column");
    }
    #[test]
    fn a_native_figure_is_held_by_its_page() {
        let names: Vec<String> = (0..11).map(|n| format!("row {n}")).collect();
        let figures = names.iter().map(|name| (&**name, 50)).collect();
        let page = |figure: u32| -> String {
            names.iter().map(|name| format!("| {name} | {figure} | 60 |\n")).collect()
        };
        compare_native(&figures, 11, &page(53)).unwrap();
        assert!(compare_native(&figures, 11, &page(54)).is_err());
        assert!(compare_native(&figures, 11, &page(50).replace("row 7", "other")).is_err());
        let fewer = figures.iter().skip(1).map(|(name, figure)| (*name, *figure)).collect();
        assert!(compare_native(&fewer, 11, &page(50)).is_err());
    }
}
