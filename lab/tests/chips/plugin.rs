//! QEMU's plugin (`ports/qemu-plugin`): pins and interrupts of an emulated chip, as a waveform.
//! Programs with a known number of instructions must show exactly that number.

use std::{
    collections::BTreeMap,
    env, fs,
    path::PathBuf,
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::common::{Answer, Folder, builder, chronoscope, copy_program, program_path, run};

const STM32: &[&str] = &["qemu-system-arm", "-machine", "netduinoplus2"];
const VIRT: &[&str] = &[
    "qemu-system-riscv32",
    "-machine",
    "virt",
    "-bios",
    "none",
    "-cpu",
    "rv32,a=off,f=off,d=off,h=off,s=off,u=off",
];
const PINS: &str = "pins=0x42400300";
const INSTRUCTIONS: &[&str] = &["-icount", "shift=0,sleep=off,align=off"];

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The folder of everything that is built.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The plugin, built as the lab builds it.
pub fn plugin() -> &'static str {
    static PLUGIN: OnceLock<String> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        run(builder().args(["plugin", "build", "--release", "--locked"])).exits(0);
        let plugin = target().join("qemu-plugin/release/libchronoscope_qemu_plugin.so");
        plugin.into_os_string().into_string().expect("the path is UTF-8")
    })
}

/// The machine code of this source, from the first byte of memory on.
pub fn assembled(folder: &Folder, triple: &str, source: &str) -> String {
    let llvm = |program: &str, arguments: &[&str]| {
        run(Command::new(program).args(arguments)).exits(0);
    };
    let (source, object, image) =
        (folder.file("image.s", source), folder.path("image.o"), folder.path("image"));
    llvm("llvm-mc", &["--triple", triple, "--mattr=+c", "--filetype=obj", "-o", &object, &source]);
    llvm("llvm-objcopy", &["-O", "binary", "--only-section=.text", &object, &image]);
    image
}

/// The command that runs this image in QEMU, with the plugin if it is given options.
fn qemu(machine: &[&str], clock: &[&str], image: &str, options: Option<&str>) -> Command {
    // A faulty image would run for ever.
    let mut qemu = Command::new("timeout");
    qemu.arg("60")
        .args(machine)
        .args(clock)
        .args(["-display", "none", "-monitor", "none", "-serial", "null"]);
    qemu.args(["-kernel", image, "-semihosting-config", "enable=on,target=native"])
        .stdin(Stdio::null());
    if let Some(options) = options {
        qemu.arg("-plugin").arg(format!("{},{options}", plugin()));
    }
    qemu
}

/// The times at which each wire of a waveform changes. All wires are low at first.
fn wires(vcd: &str) -> BTreeMap<String, Vec<u64>> {
    let mut names = BTreeMap::new();
    let mut wires: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut time = 0;
    let (header, changes) = vcd.split_once("$dumpvars").expect("a waveform says how it begins");
    for line in header.lines().filter(|line| line.starts_with("$var")) {
        let [_, _, "1", code, name, "$end"] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        names.insert(code, name);
        wires.insert(name.to_owned(), Vec::new());
    }
    let (levels, changes) = changes.split_once("$end").expect("so it ends");
    assert!(levels.trim().lines().all(|level| level.starts_with('0')), "{levels}");
    for line in changes.trim().lines() {
        if let Some(now) = line.strip_prefix('#') {
            let now = now.parse().expect("a time is a number");
            assert!(now > time, "time goes on: {line} after {time}");
            time = now;
            continue;
        }
        let (level, code) = line.split_at(1);
        let changes = wires.get_mut(names[code]).expect("the header has all wires");
        assert_eq!(level, (changes.len() + 1).rem_euclid(2).to_string(), "{line} at {time}");
        changes.push(time);
    }
    wires
}

/// Repeats a start until two agree: QEMU 7.2 has a race that delays about one wake-up in some
/// hundred (docs/machines/qemu.md, limits).
fn agreed<T: PartialEq>(mut start: impl FnMut() -> T) -> T {
    let mut before = Vec::new();
    for _ in 0..6 {
        let now = start();
        if before.contains(&now) {
            return now;
        }
        before.push(now);
    }
    panic!("no two of six starts agree");
}

fn times<'a>(wires: &'a BTreeMap<String, Vec<u64>>, name: &str) -> &'a [u64] {
    wires.get(name).unwrap_or_else(|| panic!("no {name} in {wires:?}"))
}

#[test]
fn each_pin_and_each_interrupt_is_exact() {
    let folder = Folder::new("plugin-exact");
    let image = assembled(&folder, "thumbv7em-none-eabi", include_str!("../pins.s"));
    let waveform = |file: &str, options: &str| {
        let file = folder.path(file);
        let options = format!("out={file},{PINS},scope=cortex-m4,{options}");
        let output =
            qemu(STM32, INSTRUCTIONS, &image, Some(&options)).output().expect("timeout starts");
        assert!(output.status.success(), "{output:?}");
        let around_sleep =
            u32::from_le_bytes(output.stdout.try_into().expect("the image tells one word"));
        (around_sleep, fs::read_to_string(file).expect("the plugin writes it"))
    };
    let (around_sleep, first) = agreed(|| waveform("all.vcd", "exceptions=on"));
    assert!(
        first.contains("$timescale 1 ns $end")
            && first.contains("$comment chronoscope hertz 1000000000 $end")
    );
    assert!(first.contains("$scope module cortex-m4 $end"), "{first}");

    // The times follow from the source. The alarm was set at 23, for 50 ms.
    let a = 50_000_023;
    let wires = wires(&first);
    assert_eq!(times(&wires, "D0"), [17, 21]);
    assert_eq!(times(&wires, "D1"), [26, a + 7]);
    assert_eq!(times(&wires, "D2"), [a + 4, a + 5]);
    assert_eq!(times(&wires, "D3"), [a + 10, a + 42]);
    assert!((4..8).all(|pin| times(&wires, &format!("D{pin}")).is_empty()), "{wires:?}");
    assert_eq!(times(&wires, "irq28"), [a, a + 6]);
    assert_eq!(times(&wires, "irq29"), [a + 13, a + 40]);
    assert_eq!(times(&wires, "irq40"), [a + 16, a + 20]);
    assert_eq!(times(&wires, "irq41"), [a + 20, a + 27, a + 27, a + 34, a + 34, a + 37]);
    assert_eq!(wires.len(), 12, "{wires:?}");
    assert!(first.contains("$comment chronoscope irq41 entered 3 returned 3 $end"), "{first}");
    // The guest reads its timer one instruction before the pin rises and one after it falls.
    assert_eq!(u64::from(around_sleep), times(&wires, "D1")[1] + 1 - (times(&wires, "D1")[0] - 1));

    // Recording only pins gives the same waveform, at less cost.
    let (_, pins) = agreed(|| waveform("pins.vcd", "exceptions=off"));
    let pins = self::wires(&pins);
    assert_eq!(pins.len(), 8);
    assert!(pins.iter().all(|(name, changes)| *changes == wires[name]), "{pins:?}");
}

#[test]
fn a_risc_v_program_says_by_bits_which_pins() {
    let folder = Folder::new("plugin-rv32");
    let image = assembled(&folder, "riscv32", include_str!("../pins_rv32.s"));
    let file = folder.path("waveform.vcd");
    let options = format!("out={file},set=0x02003010,clear=0x02003014,scope=rv32");
    run(&mut qemu(VIRT, INSTRUCTIONS, &image, Some(&options))).exits(0);
    let wires = wires(&fs::read_to_string(file).expect("the plugin writes it"));
    // QEMU's own code runs before the program's.
    let first = times(&wires, "D0")[0];
    assert_eq!(times(&wires, "D0"), [first, first + 3]);
    assert_eq!(times(&wires, "D2"), [first, first + 6]);
    assert_eq!(times(&wires, "D7"), [first + 10, first + 11]);
    assert_eq!(wires.values().map(Vec::len).sum::<usize>(), 6, "{wires:?}");
}

/// A real image: the plugin records every interrupt of which the image has a sample, and does not
/// change the image's figures.
#[test]
fn it_watches_without_being_felt() {
    chronoscope(&["run", "interrupt", "-q", "--repeat", "1", "--target", "bare@cortex-m4"])
        .exits(0);
    let image = target().join("firmware/thumbv7em-none-eabihf/release/chronoscope-bare");
    let image = image.to_str().expect("the path is UTF-8");
    let folder = Folder::new("plugin-felt");
    let file = folder.path("waveform.vcd");
    let stream = |exceptions: Option<&str>| {
        let options =
            exceptions.map(|exceptions| format!("out={file},{PINS},exceptions={exceptions}"));
        let mut qemu = qemu(STM32, INSTRUCTIONS, image, options.as_deref());
        let request = "enable=on,target=native,arg=interrupt,arg=loops=50";
        let output = qemu.args(["-semihosting-config", request]).output().expect("timeout starts");
        assert!(output.status.success() && output.stdout.len() > 200, "{output:?}");
        output.stdout
    };
    let alone = agreed(|| stream(None));
    assert!(agreed(|| stream(Some("off"))) == alone && agreed(|| stream(Some("on"))) == alone);
    let vcd = fs::read_to_string(&file).expect("the plugin writes it");
    // Ten rounds follow the loops, in which the handler proves that it may call the kernel.
    assert_eq!(times(&wires(&vcd), "irq40").len(), 2 * (50 + 10), "{vcd}");
}

/// An installed program finds the plugin by the index, needs no sources, and refuses another file.
#[test]
fn it_is_installed_with_the_images() {
    let folder = Folder::new("plugin-installed");
    let installed = folder.path("firmware");
    run(builder().args(["images", "install", &installed, "bare@cortex-m4"])).exits(0);
    copy_program(program_path(), folder.path("chronoscope"));
    let case = || {
        let mut program = Command::new(folder.path("chronoscope"));
        program.args(["run", "interrupt", "--repeat", "1", "-q", "--no-store", "--full"]);
        program.env("COLUMNS", "1000");
        program.args(["--target", "bare@cortex-m4", "--set", "pins=yes"]);
        run(program.env("CHRONOSCOPE_IMAGES", &installed))
    };
    case().exits(0).shows("by pin");
    let plugin = folder.path("firmware/qemu-plugin/release/libchronoscope_qemu_plugin.so");
    fs::write(plugin, "another").expect("the folder can be written to");
    case().exits(1).shows("is not the file that the index names: install the images again");
}

#[test]
fn what_it_cannot_do_it_says_in_one_line() {
    let folder = Folder::new("plugin-errors");
    let image = assembled(&folder, "thumbv7em-none-eabi", include_str!("../pins.s"));
    let file = folder.path("waveform.vcd");
    let complains = |clock: &[&str], options: &str, text: &str| {
        let Answer { status, stderr, .. } = run(&mut qemu(STM32, clock, &image, Some(options)));
        assert_eq!(status, Some(1), "{options}: {stderr}");
        let ours: Vec<&str> =
            stderr.lines().filter(|line| !line.starts_with("qemu-system-arm: ")).collect();
        assert!(
            ours.len() == 1 && ours[0].starts_with("chronoscope") && ours[0].contains(text),
            "{stderr}"
        );
    };
    let good = format!("out={file},{PINS}");
    complains(&[], &good, "-icount shift=0,sleep=off");
    complains(&["-icount", "shift=1"], &good, "-icount shift=0,sleep=off");
    complains(INSTRUCTIONS, PINS, "out=FILE");
    complains(INSTRUCTIONS, &format!("out={file}"), "pins=ADDRESS");
    complains(INSTRUCTIONS, &format!("out={file},pins=42400300"), "0x42400300");
    complains(INSTRUCTIONS, &format!("out={file},set=0x2003010,clear=0x2003014"), "riscv32");
    complains(INSTRUCTIONS, &format!("{good},exceptions=maybe"), "on or off");
    complains(INSTRUCTIONS, &format!("{good},colour=red"), "colour=red");
    complains(
        INSTRUCTIONS,
        &format!("out={},{PINS}", folder.path("none/waveform.vcd")),
        "cannot be written",
    );
    complains(INSTRUCTIONS, &format!("out={file},pins=0x20000000"), "memory");
}
