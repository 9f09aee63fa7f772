//! Known culprits, kernel modules that are built here against Debian's headers of the guest's exact
//! version, are named on the page of a traced run: the task or the interrupt, and the function.

use std::{fs, path::Path, process::Command};

use crate::{
    common::{Folder, chronoscope, run},
    fetched_image,
};

/// A kernel of the guests: its build in the cache, the target that fetches it, and its flavour.
struct Kernel {
    cached: &'static str,
    target: &'static str,
    flavour: &'static str,
}

const STOCK: Kernel = Kernel { cached: "6.1", target: "linux-full@vm", flavour: "common" };
const RT: Kernel = Kernel { cached: "6.1-rt", target: "linux-rt@vm", flavour: "common-rt" };
const STOCK_6_12: Kernel =
    Kernel { cached: "6.12", target: "linux-full-6.12@vm", flavour: "common" };
const RT_6_12: Kernel =
    Kernel { cached: "6.12-rt", target: "linux-rt-6.12@vm", flavour: "common-rt" };

/// A culprit: its `KIND` in the module, the words that name it, and its function where the trace has
/// it.
struct Culprit {
    kind: &'static str,
    ran: &'static str,
    function: &'static str,
}

const fn culprit(kind: &'static str, ran: &'static str, function: &'static str) -> Culprit {
    Culprit { kind, ran, function }
}

const TIMER: Culprit = culprit("TIMER", "the interrupt timer", "in the function culprit_timer");
const WORK: Culprit = culprit("WORK", "kworker/0", "in the function culprit_work");
/// Debian's stock kernel has no timerlat, whose stacks name functions of threads.
const PREEMPTION_OFF: Culprit = culprit("PREEMPTION_OFF", "culprit", "");

/// The headers of a kernel, in a folder of the test's, where no account of root is needed.
struct Headers {
    folder: Folder,
    image: String,
    release: String,
}

impl Headers {
    fn fetch(kernel: &Kernel, test: &str) -> Self {
        let folder = Folder::new(&format!("culprits-{test}-{}", kernel.flavour));
        let image = fetched_image(kernel.cached, kernel.target);
        let release = release(&image);
        let abi = release.strip_suffix("-amd64").unwrap().trim_end_matches("-rt");
        // The tools of newer kernels are of one version each.
        let tools =
            if kernel.cached.starts_with("6.1-") || kernel.cached == "6.1" { "6.1" } else { abi };
        let packages = [
            format!("linux-headers-{release}"),
            format!("linux-headers-{abi}-{}", kernel.flavour),
            format!("linux-kbuild-{tools}"),
        ];
        let inside = |command: &mut Command| {
            run(command.current_dir(folder.path(""))).exits(0);
        };
        inside(Command::new("apt-get").args(["-q", "download"]).args(&packages));
        for entry in fs::read_dir(folder.path("")).unwrap() {
            let package = entry.unwrap().path();
            if package.extension().is_none_or(|end| end != "deb") {
                continue;
            }
            inside(Command::new("dpkg-deb").arg("-x").arg(&package).arg(folder.path("root")));
        }
        let makefile = folder.path(&format!("root/usr/src/linux-headers-{release}/Makefile"));
        let text = fs::read_to_string(&makefile).unwrap();
        let here = format!("include {}/usr/src/", folder.path("root"));
        fs::write(makefile, text.replace("include /usr/src/", &here)).unwrap();
        Self { image: image.to_str().unwrap().to_owned(), folder, release }
    }

    /// The folder of a module of this kind.
    fn module(&self, kind: &str) -> String {
        let module = self.folder.path(kind);
        fs::create_dir(&module).unwrap();
        fs::write(format!("{module}/culprit.c"), include_str!("culprit.c")).unwrap();
        let makefile = format!("obj-m := culprit.o\nccflags-y := -DKIND={kind}\n");
        fs::write(format!("{module}/Makefile"), makefile).unwrap();
        self.make(&module);
        module
    }

    /// Builds the modules of a folder.
    fn make(&self, folder: &str) {
        let headers = self.folder.path(&format!("root/usr/src/linux-headers-{}", self.release));
        let (headers, own) = (format!("-C{headers}"), format!("M={folder}"));
        // Types for BPF, which a further program makes, are not needed.
        let plain = "CONFIG_DEBUG_INFO_BTF_MODULES=";
        run(Command::new("make").args(["-s", &headers, &own, plain, "modules"])).exits(0);
    }

    /// The page's sentences on the worst of a traced run beside a module.
    fn told(&self, kind: &str) -> String {
        let module = self.module(kind);
        let target = format!("linux={}@vm", self.image);
        let settings = ["--set", "trace=yes", "--set", "loops=400", "--repeat", "1"];
        let run = ["run", "-q", "--no-store", "period", "--target", &target];
        let modules = ["--kernel-modules", &module, "--format", "html"];
        let page = chronoscope(&[&run[..], &settings, &modules].concat()).exits(0).stdout.clone();
        let start = page.find("While the worst was taken").unwrap_or_else(|| panic!("{kind}"));
        page[start..].chars().take(600).collect()
    }

    fn named(&self, culprit: &Culprit) {
        let told = self.told(culprit.kind);
        let sentence = told.split(": longer than").next().unwrap();
        assert!(sentence.contains(culprit.ran), "{}: {told}", culprit.kind);
        assert!(told.contains(culprit.function), "{}: {told}", culprit.kind);
    }
}

/// The release in a kernel's image: the boot protocol's header has its place, less 512.
fn release(image: &Path) -> String {
    let bytes = fs::read(image).unwrap();
    let place = usize::from(u16::from_le_bytes([bytes[0x20e], bytes[0x20f]])) + 0x200;
    let text = bytes[place..].split(|byte| *byte == b' ').next().unwrap();
    String::from_utf8(text.to_owned()).unwrap()
}

#[test]
fn culprits_of_a_stock_kernel_are_named() {
    let headers = Headers::fetch(&STOCK, "some");
    [TIMER, WORK].iter().for_each(|culprit| headers.named(culprit));
}

#[test]
fn culprits_of_preempt_rt_are_named() {
    let headers = Headers::fetch(&RT, "some");
    let stack = culprit("PREEMPTION_OFF", "culprit", "culprit_thread");
    [TIMER, stack].iter().for_each(|culprit| headers.named(culprit));
}

/// A module that a tool has packed, in a subfolder, beside one that needs it: both load.
#[test]
fn packed_modules_load_after_those_that_they_need() {
    let headers = Headers::fetch(&STOCK, "packed");
    let folder = headers.folder.path("pair");
    fs::create_dir_all(format!("{folder}/sub")).unwrap();
    let module = |path: &str, name: &str, body: &str| {
        let text = format!("#include <linux/module.h>\n{body}\nMODULE_LICENSE(\"GPL\");\n");
        fs::write(format!("{path}/{name}.c"), text).unwrap();
    };
    module(&folder, "base", "int base_value(void) { return 7; }\nEXPORT_SYMBOL(base_value);");
    let user = "int base_value(void); static int __init go(void) { return base_value() == 7 ? 0 : -5; }\n\
                module_init(go);";
    module(&folder, "a_user", user);
    fs::write(
        format!("{folder}/Makefile"),
        "obj-m := a_user.o base.o\nccflags-y := -Wno-missing-prototypes\n",
    )
    .unwrap();
    headers.make(&folder);
    fs::rename(format!("{folder}/base.ko"), format!("{folder}/sub/base.ko")).unwrap();
    run(Command::new("xz").args(["--check=crc32", &format!("{folder}/sub/base.ko")])).exits(0);
    run(Command::new("gzip").arg(format!("{folder}/a_user.ko"))).exits(0);
    let target = format!("linux={}@vm", headers.image);
    let switch = ["run", "-q", "--no-store", "switch", "--repeat", "1", "-l", "10"];
    let both = ["--target", &target, "--kernel-modules", &folder];
    chronoscope(&[&switch[..], &both].concat()).exits(0);
    fs::remove_dir_all(format!("{folder}/sub")).unwrap();
    chronoscope(&[&switch[..], &both].concat()).complains("a_user.ko needs the module base");
}

const OF_BOTH: [Culprit; 3] = [
    culprit("IRQS_OFF", "culprit", ""),
    culprit("FIFO", "culprit", ""),
    culprit("STOPPED", "migration/0", ""),
];

#[test]
#[ignore = "boots a guest for each of ten: ./chronoscope test long"]
fn all_culprits_of_6_12_are_named() {
    let headers = Headers::fetch(&STOCK_6_12, "all-6.12");
    let stock = [TIMER, WORK, PREEMPTION_OFF];
    stock.iter().chain(&OF_BOTH).for_each(|culprit| headers.named(culprit));
    let headers = Headers::fetch(&RT_6_12, "all-6.12");
    [TIMER, WORK].iter().chain(&OF_BOTH).for_each(|culprit| headers.named(culprit));
}

#[test]
#[ignore = "boots a guest for each of nine: ./chronoscope test long"]
fn all_culprits_are_named() {
    let headers = Headers::fetch(&STOCK, "all");
    let stock = [PREEMPTION_OFF, culprit("TASKLET", "the soft interrupt TASKLET", "")];
    stock.iter().chain(&OF_BOTH).for_each(|culprit| headers.named(culprit));
    // There a tasklet runs in a thread that does not delay the case.
    let headers = Headers::fetch(&RT, "all");
    [WORK].iter().chain(&OF_BOTH).for_each(|culprit| headers.named(culprit));
}
