//! Ordinary firmware of an STM32 under `observe --chip`: its clocks, timers, interrupts, pins and serial
//! port are there, each run is the same, and what it sends is kept.

use std::{env, fs, path::Path, process::Command};

use serde_json::Value;

use crate::{
    common::{Answer, Folder, builder, chronoscope, gives_the_same_bytes_twice, run},
    plugin::target as target_folder,
};

const TRIPLE: &str = "thumbv7em-none-eabihf";

/// A file of the programs' sources.
fn source(name: &str) -> String {
    format!("{}/tests/firmware/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Observes an image on a chip, with these further arguments.
fn observe(image: &str, chip: &str, more: &[&str]) -> Answer {
    let few = ["observe", image, "--chip", chip, "--no-store", "-q", "--limit", "40000000"];
    chronoscope(&[&few[..], more].concat())
}

/// The run and the text of an image's serial port. The image ends by itself.
fn observed(folder: &Folder, image: &str, chip: &str) -> (Value, String) {
    let file = folder.path("console");
    let run = observe(image, chip, &["--console", &file, "--format", "json"]).exits(0).json();
    (run["cases"][0].clone(), fs::read_to_string(file).unwrap())
}

fn count(case: &Value, series: &str) -> u64 {
    let all = case["series"].as_array().unwrap();
    let found = all.iter().find(|one| one["name"] == series);
    found.and_then(|one| one["count"].as_u64()).unwrap_or(0)
}

fn assembled(folder: &Folder) -> String {
    let (object, image) = (folder.path("app.o"), folder.path("app.elf"));
    let assemble = ["--triple", "thumbv7em-none-eabi", "--filetype=obj", "-o", &object];
    run(Command::new("llvm-mc").args(assemble).arg(source("devices.s"))).exits(0);
    let link = ["-Ttext=0x08000000", "-e", "0x08000000", "-o", &image, &object];
    run(Command::new("arm-none-eabi-ld").args(link)).exits(0);
    image
}

/// The program itself compares TIM2's period with SysTick's, and the pin that it sets with the one that
/// it reads.
#[test]
fn each_device_does_what_its_manual_says() {
    let folder = Folder::new("devices");
    let image = assembled(&folder);
    for chip in ["stm32f405", "stm32f429"] {
        let (case, text) = observed(&folder, &image, chip);
        assert_eq!(text, "ten ticks\r\nand two edges\r\n");
        // TIM2: five compares and five updates. EXTI: one edge of a pin, one by software.
        assert_eq!(count(&case, "interrupt 28"), 10, "{case:#}");
        assert_eq!(count(&case, "interrupt 23"), 2);
    }
    let file = folder.path("console");
    let answer = observe(&image, "stm32f405", &["--console", &file, "--full"]);
    answer.exits(0).shows("USART2: ten ticks").shows("USART2: and two edges");
    // With another crystal the timer has another period, and the program stops.
    let other = observe(&image, "stm32f405", &["--crystal", "12MHz", "--console", &file]);
    other.exits(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    gives_the_same_bytes_twice(
        &["observe", &image, "--chip", "stm32f405", "--no-store", "-q", "--console", &file],
        2,
    );
    // A word that is given is above the chip's register: HSE is never ready.
    let stuck = ["observe", &image, "--chip", "stm32f405", "--no-store", "--limit", "50000"];
    chronoscope(&[&stuck[..], &["--answer", "0x40023800=0x83"]].concat())
        .exits(4)
        .shows("external, waiting for 0x40023800, a register of RCC");
    for (more, complaint) in [
        (&["--crystal", "8"][..], "--crystal"),
        (&["--crystal", "1GHz"], "give 1MHz to 50MHz"),
        (&["--console", "/no/such/folder/out"], "name a file in a folder that is there"),
    ] {
        observe(&image, "stm32f405", more).complains(complaint);
    }
}

/// FreeRTOS' folder, which cargo has fetched for its port.
pub fn freertos() -> String {
    let manifest = source("../../../ports/firmware/kernels/freertos/source/Cargo.toml");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--locked", "--format-version", "1", "--manifest-path", &manifest];
    let text = run(Command::new(cargo).args(arguments)).exits(0).stdout.clone();
    let metadata: Value = serde_json::from_str(&text).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let kernel = packages.iter().find(|package| package["name"] == "freertos-next").unwrap();
    let manifest = Path::new(kernel["manifest_path"].as_str().unwrap());
    manifest.parent().unwrap().join("FreeRTOS-Kernel").to_str().unwrap().to_owned()
}

/// A program on FreeRTOS, with these definitions.
fn freertos_with(folder: &Folder, program: &str, definitions: &[&str]) -> String {
    let (image, kernel) = (folder.path("app.elf"), freertos());
    let port = format!("{kernel}/portable/GCC/ARM_CM4F");
    let mut gcc = Command::new("arm-none-eabi-gcc");
    gcc.args(["-O2", "-g1", "-std=gnu99", "-ffreestanding", "-fno-tree-loop-distribute-patterns"]);
    gcc.args(["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-nostdlib"]);
    let freestanding = source("../../../ports/c/freestanding");
    for headers in [&freestanding, &source(""), &format!("{kernel}/include"), &port] {
        gcc.arg(format!("-I{headers}"));
    }
    gcc.args(definitions.iter().map(|definition| format!("-D{definition}")));
    gcc.args(["-T", &source("freertos.ld"), "-o", &image, &source(program)]);
    let files = ["tasks.c", "queue.c", "list.c"].map(|file| format!("{kernel}/{file}"));
    run(gcc.args(files).arg(format!("{port}/port.c"))).exits(0);
    image
}

/// The logger holds the lock for 20,000 turns each fourth tick. A period that is a tick's never meets them.
#[test]
fn the_longest_wait_of_a_controller_does_not_depend_on_its_timer_s_period() {
    let answers = |period: &str| {
        let folder = Folder::new("phases");
        let period = format!("PERIOD={period}");
        let definitions = [&*period, "HELD=20000", "configUSE_MUTEXES=1"];
        let image = freertos_with(&folder, "phases.c", &definitions);
        let worst = |arguments: &[&str]| {
            let arguments = [arguments, &["--to", "actuate", "--format", "json"]].concat();
            let run = observe(&image, "stm32f405", &arguments).exits(0).json();
            run["cases"][0]["series"][0]["max"].as_f64().unwrap()
        };
        let of_a_phase = ["--to", "actuate", "--phase", "tim2:60"];
        let shown = observe(&image, "stm32f405", &of_a_phase);
        shown
            .exits(0)
            .shows("TIM2 to actuate: 4.83 µs at the median, 609 µs at worst of 60 phases");
        (worst(&["--from", "timer_handler"]), worst(&of_a_phase[2..]))
    };
    let (of_one_phase, even) = answers("16000");
    let (_, odd) = answers("15050");
    assert!(of_one_phase < 10_000.0, "{of_one_phase} ns");
    assert!(even > 600_000.0 && (even - odd).abs() < 50.0, "{even} ns, {odd} ns");
}

/// The interrupts of TIM3 at 84 MHz / 84 / 1000 come as often as ticks of SysTick at 168 MHz / 168,000.
#[test]
fn freertos_starts_as_a_maker_s_tools_have_it() {
    let folder = Folder::new("freertos");
    let image = freertos_with(&folder, "freertos.c", &[]);
    let once = || observed(&folder, &image, "stm32f405");
    let (case, text) = once();
    assert_eq!(text, "five timer interrupts in 5 ticks\r\nthe pin is 0\r\n");
    assert!(count(&case, "interrupt 29") >= 5, "{case:#}");
    assert_eq!(once(), (case, text));
    // Without the chip's clocks it waits for HSE, and the lab says so.
    let plain = ["observe", &image, "--machine", "netduinoplus2", "--no-store"];
    let plain = chronoscope(&[&plain[..], &["--limit", "4000000"]].concat());
    plain.exits(4).shows("freertos.c").shows("waiting for 0x40023800, which --chip stm32f4");
}

/// A program of the package `firmware/crates`, whose feature has the same name.
pub fn built(name: &str) -> String {
    let manifest = source("crates/Cargo.toml");
    let program = format!("test-{name}");
    let build =
        ["firmware", TRIPLE, "build", "--release", "--locked", "--manifest-path", &manifest];
    run(builder().args(build).args(["--features", name, "--bin", &program])).exits(0);
    let image = target_folder().join("firmware").join(TRIPLE).join("release").join(program);
    image.to_str().unwrap().to_owned()
}

#[test]
fn rtic_s_tasks_run_by_a_timer_s_interrupt() {
    let folder = Folder::new("rtic");
    let image = built("rtic");
    let once = || observed(&folder, &image, "stm32f405");
    let (case, text) = once();
    assert_eq!(text, "eight ticks\r\n");
    assert!(count(&case, "interrupt 28") >= 8, "{case:#}");
    assert_eq!(count(&case, "interrupt 50"), 0, "its handler does not return");
    let observe = ["observe", &image, "--chip", "stm32f405", "--view", "rtic"];
    let named = chronoscope(&[&observe[..], &["-q", "--no-store", "--format", "json"]].concat());
    let named = &named.exits(0).json()["cases"][0];
    assert_eq!(count(named, "TIM2"), count(&case, "interrupt 28"));
    assert_eq!(count(named, "interrupt 28"), 0);
    assert_eq!(once(), (case, text));
}

/// The time driver's clock is TIM4, so the program itself says how late it is: within one of its ticks
/// of 30.5 µs and the microsecond that it rounds to.
#[test]
#[ignore = "compiles embassy-stm32, which takes more than a minute: ./chronoscope test long"]
fn embassy_stm32_runs_unmodified() {
    let folder = Folder::new("embassy");
    let image = built("embassy");
    let once = || observed(&folder, &image, "stm32f405");
    let (case, text) = once();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for (round, line) in lines.iter().enumerate() {
        let late = line.strip_prefix(&format!("round {round}, "));
        let late = late.and_then(|rest| rest.strip_suffix(" us late")).unwrap();
        assert!(late.parse::<u32>().unwrap() <= 32, "{text}");
    }
    assert!(count(&case, "interrupt 30") >= 9, "{case:#}");
    assert_eq!(once(), (case, text));
}
