//! Verilates the board with the selected core, and compiles the model.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A core: the folder of its files in the wheel, the additions of the board, and the path of
/// `mcycle` in the model, if the host writes it.
struct Core {
    folder: &'static str,
    files: &'static str,
    /// The board's files before the core's files.
    before: &'static [&'static str],
    own: &'static [&'static str],
    flags: &'static [&'static str],
    changes: &'static [Change],
    mcycle: Option<&'static str>,
}

/// A copy of a core's file with some texts replaced.
struct Change {
    file: &'static str,
    /// Pairs of the text to replace, which occurs once, and its replacement.
    texts: &'static [(&'static str, &'static str)],
}

const IBEX: Core = Core {
    folder: "pythondata_cpu_ibex/system_verilog",
    files: "ibex",
    before: &[],
    own: &["core_ibex.sv", "ibex_pmp.sv", "bench.sv", "memory.sv"],
    // Without the assertions that check the core itself.
    flags: &["+define+SYNTHESIS"],
    changes: &[],
    mcycle: Some(
        "core__DOT__ibex__DOT__u_ibex_core__DOT__cs_registers_i__DOT__mcycle_counter_i__DOT__counter_q",
    ),
};
const IBEX_WB: Core = Core { flags: &["+define+SYNTHESIS", "+define+IBEX_WB"], ..IBEX };
const CV32E40P: Core = Core {
    folder: "pythondata_cpu_cv32e40p/system_verilog",
    files: "cv32e40p",
    before: &[],
    own: &["core_cv32e40p.sv", "bench.sv", "memory.sv"],
    // The core has arrays of counters with clocked and constant elements. Verilator also takes
    // signals that depend on other parts of themselves for loops.
    flags: &["-Wno-BLKANDNBLK", "-Wno-UNOPTFLAT"],
    changes: &[
        // The PMP's registers, which this core lacks, then read as zero, as on many cores, instead
        // of being illegal. So an image of Tandem with stack guards runs unchanged.
        Change {
            file: "rtl/cv32e40p_core.sv",
            texts: &[("localparam USE_PMP = 0;", "localparam USE_PMP = 1;")],
        },
        // For idle skip: if the host wrote to the array of 32 counters, the model would have to
        // evaluate all of them. The counters also count from reset on.
        Change {
            file: "rtl/cv32e40p_cs_registers.sv",
            texts: &[
                (
                    "mhpmcounter_q[incr_gidx] + 1;",
                    "mhpmcounter_q[incr_gidx] + 1 + (incr_gidx == 0 ? bench.skip_i : 64'd0);",
                ),
                ("mcountinhibit_q[inh_gidx] <= 'b1;", "mcountinhibit_q[inh_gidx] <= 'b0;"),
            ],
        },
    ],
    mcycle: None,
};

const CVA6: Core = Core {
    folder: "pythondata_cpu_cva6/system_verilog",
    files: "cva6",
    before: &["cva6_config.sv"],
    own: &["core_cva6.sv", "bench64.sv", "memory_cva6.sv"],
    // The core concatenates unsized numbers, and has arrays and signals as the CV32E40P has.
    flags: &[
        "-Wno-WIDTH",
        "-Wno-WIDTHCONCAT",
        "-Wno-SYMRSVDWORD",
        "-Wno-BLKANDNBLK",
        "-Wno-UNOPTFLAT",
    ],
    changes: &[
        // Without the log of every instruction, which it writes in the folder of the run.
        Change {
            file: "core/cva6.sv",
            texts: &[(
                "// mock tracer for Verilator, to be used with spike-dasm\n`else",
                "`elsif BENCH_LOG",
            )],
        },
        // For idle skip: the counter also counts in debug mode, as the board's clock does. A
        // breakpoint that enters debug mode is no trap, and changes none of the trap's registers.
        Change {
            file: "core/csr_regfile.sv",
            texts: &[
                (
                    "if (!debug_mode_q && ex_i.cause != riscv::DEBUG_REQUEST && ex_i.valid) begin",
                    "if (!debug_mode_q && ex_i.cause != riscv::DEBUG_REQUEST && ex_i.valid
                        && !(ex_i.cause == riscv::BREAKPOINT && priv_lvl_o != riscv::PRIV_LVL_U
                             && dcsr_q.ebreaks)) begin",
                ),
                ("        cycle_d = cycle_q;", "        cycle_d = cycle_q + 64'd1 + bench.skip_i;"),
                ("if (ENABLE_CYCLE_COUNT) cycle_d = cycle_q + 1'b1;", "if (ENABLE_CYCLE_COUNT) ;"),
            ],
        },
    ],
    mcycle: None,
};

const ROCKET: Core = Core {
    folder: "pythondata_cpu_rocket/verilog",
    files: "rocket",
    before: &[],
    own: &["core_rocket.sv", "bench64.sv", "memory_rocket.sv"],
    // Without the assertions that check the core itself. The configuration's memories stand here, since
    // `rocket.f` is for both configurations.
    flags: &[
        "+define+SYNTHESIS",
        "generated-src/freechips.rocketchip.system.LitexFullConfig.behav_srams.v",
    ],
    changes: &[Change {
        file: "generated-src/freechips.rocketchip.system.LitexFullConfig.v",
        texts: ROCKET_TEXTS,
    }],
    mcycle: None,
};
const ROCKET_SMALL: Core = Core {
    flags: &[
        "+define+SYNTHESIS",
        "generated-src/freechips.rocketchip.system.LitexLinuxConfig.behav_srams.v",
    ],
    changes: &[Change {
        file: "generated-src/freechips.rocketchip.system.LitexLinuxConfig.v",
        texts: ROCKET_TEXTS,
    }],
    ..ROCKET
};
/// Both configurations' changes. `mcycle` reads as the board's time, so it also counts in `wfi` and with
/// idle skip. The page of the real-time clock takes the place of a device's that the board lacks, in
/// the memory attributes of the TLBs and of the page-table walker.
const ROCKET_TEXTS: &[(&str, &str)] = &[
    ("wire [63:0] value_1 = {large_1,small_1};", "wire [63:0] value_1 = bench.now;"),
    (
        "tlb__legal_address_T = tlb_mpu_physaddr ^ 40'h3000;",
        "tlb__legal_address_T = tlb_mpu_physaddr ^ 40'h101000;",
    ),
    (
        " _legal_address_T = mpu_physaddr ^ 40'h3000;",
        " _legal_address_T = mpu_physaddr ^ 40'h101000;",
    ),
    ("_pmaPgLevelHomogeneous_T ^ 56'h3000;", "_pmaPgLevelHomogeneous_T ^ 56'h101000;"),
];

const BOARD: [&str; 4] = ["debug.sv", "rtc.sv", "bench_registers.sv", "plic.sv"];

fn main() {
    let cores = [
        ("IBEX", IBEX),
        ("IBEX_WB", IBEX_WB),
        ("CV32E40P", CV32E40P),
        ("CVA6", CVA6),
        ("ROCKET", ROCKET),
        ("ROCKET_SMALL", ROCKET_SMALL),
    ];
    let is_chosen = |name: &str| env::var_os(format!("CARGO_FEATURE_{name}")).is_some();
    let mut chosen = cores.into_iter().filter(|(name, _)| is_chosen(name));
    let (Some((_, core)), None) = (chosen.next(), chosen.next()) else {
        panic!("one core is to be chosen; `cargo xtask bench` does");
    };
    println!("cargo::rerun-if-env-changed=CHRONOSCOPE_CORES");
    println!("cargo::rerun-if-changed=rtl");
    println!("cargo::rerun-if-changed=src/model.cpp");
    // The folder of cores has the same name for every pinned version.
    println!("cargo::rerun-if-changed=cores.txt");
    let cores =
        env::var_os("CHRONOSCOPE_CORES").expect("`cargo xtask bench` says where the cores are");
    let model = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("model");
    verilate(&core, &Path::new(&cores).join(core.folder), &model);
    compile(&core, &model);
}

fn verilate(core: &Core, folder: &Path, model: &Path) {
    // Another core's model may have left files.
    let _ = fs::remove_dir_all(model);
    let rtl = env::current_dir().expect("cargo sets it").join("rtl");
    let changed: Vec<PathBuf> =
        core.changes.iter().map(|change| change.apply(folder, model)).collect();
    let status = Command::new("verilator")
        .args([
            "--cc",
            "--no-timing",
            "-O3",
            "--x-assign",
            "fast",
            "--x-initial",
            "fast",
            "--noassert",
        ])
        .args(["--top-module", "bench", "--Mdir"])
        .arg(model)
        .args(core.flags)
        .arg(rtl.join(core.files).with_extension("vlt"))
        .args(core.before.iter().map(|file| rtl.join(file)))
        .arg("-f")
        .arg(rtl.join(core.files).with_extension("f"))
        .args(changed)
        .args(core.own.iter().map(|file| rtl.join(file)))
        .args(BOARD.map(|file| rtl.join(file)))
        .current_dir(folder)
        .status();
    match status {
        Ok(status) => assert!(status.success(), "verilator failed"),
        Err(error) => panic!("verilator: {error}"),
    }
}

impl Change {
    /// Writes the copy and returns its path.
    fn apply(&self, folder: &Path, model: &Path) -> PathBuf {
        let mut text = fs::read_to_string(folder.join(self.file)).expect("the wheel has this file");
        for (from, to) in self.texts {
            assert_eq!(text.matches(from).count(), 1, "{} is not the file we know", self.file);
            text = text.replace(from, to);
        }
        let copy = model.join(Path::new(self.file).file_name().expect("a file"));
        fs::create_dir_all(model).expect("cargo's directory can be written");
        fs::write(&copy, text).expect("as above");
        copy
    }
}

fn compile(core: &Core, model: &Path) {
    let version = Command::new("verilator")
        .args(["--getenv", "VERILATOR_ROOT"])
        .output()
        .expect("it ran just now");
    let root = PathBuf::from(String::from_utf8(version.stdout).expect("a path").trim());
    let include = root.join("include");
    let mut sources: Vec<PathBuf> = fs::read_dir(model)
        .expect("verilator made it")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cpp"))
        .collect();
    sources.sort();
    let mut build = cc::Build::new();
    if let Some(mcycle) = core.mcycle {
        build.define("MCYCLE", Some(format!("bench__DOT__{mcycle}").as_str()));
    }
    build
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        .debug(false)
        .warnings(false)
        .include(model)
        .include(&include)
        .include(include.join("vltstd"))
        .define("VERILATOR", "1")
        .define("VM_COVERAGE", "0")
        .define("VM_SC", "0")
        .define("VM_TRACE", "0")
        .files(sources)
        .files(
            ["verilated.cpp", "verilated_threads.cpp", "verilated_dpi.cpp"]
                .map(|file| include.join(file)),
        )
        .file("src/model.cpp")
        .compile("model");
}
