//! The commands that the documents show, and a folder with the files that they name.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Answer, Folder, copy_program, program_path, run};

/// The remark above a block whose commands no test runs to their end.
const NOT_RUN: &str = "<!-- not run";

/// Subcommands of `./chronoscope` in a checkout, which other steps of the check run.
const OF_CHECKOUT: [&str; 3] = ["test", "example", "c-kit"];

/// Pins over 80 µs: `irq` rises three times, and D0, D1, D3 answer it.
const CAPTURE: &str = "$timescale 1 us $end\n$scope module board $end\n$var wire 1 ! irq $end\n\
    $var wire 1 a D0 $end\n$var wire 1 b D1 $end\n$var wire 1 c D3 $end\n$upscope $end\n\
    $enddefinitions $end\n#0\n0!\n0a\n0b\n0c\n#10\n1!\n#12\n1a\n1b\n1c\n#15\n0!\n0a\n0b\n0c\n#30\n1!\n\
    #33\n1a\n1b\n1c\n#36\n0!\n0a\n0b\n0c\n#50\n1!\n#52\n1a\n1b\n1c\n#57\n0!\n0a\n0b\n0c\n#80\n0!\n";

const BOARDS: &str = "[nucleo-1]\nline = \"/dev/ttyUSB0\"\nchip = \"STM32F446RETx\"\n";

/// The last run of the store: short, with five repetitions and no permission.
const MEASURED: &str = "chronoscope run switch --set policy=other --set mlock=no -l 100 -q";

/// The header of an executable for 32-bit Arm, all that a plan reads of an image.
fn header() -> Vec<u8> {
    let mut bytes = b"\x7fELF\x01\x01\x01".to_vec();
    bytes.resize(16, 0);
    // An executable for Arm, in version 1 of the format.
    bytes.extend([2, 0, 40, 0, 1, 0, 0, 0]);
    // The entry is in the flash memory of the emulated chip.
    bytes.extend(0x0800_0101_u32.to_le_bytes());
    bytes.resize(40, 0);
    // The sizes of this header, of program headers and of section headers.
    bytes.extend([52, 0, 32, 0, 0, 0, 40, 0, 0, 0, 0, 0]);
    bytes
}

/// A command in a document.
#[derive(Debug)]
pub struct DocumentedCommand {
    pub document: String,
    /// The command without a prompt and a remark, on one line.
    pub text: String,
    /// The document says that it is not run.
    pub is_skipped: bool,
}

/// The folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the lab is in a folder").to_owned()
}

/// The documents of the site, and those beside them.
pub fn documents() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder of documents") {
            let path = entry.expect("an entry").path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "md" => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The commands of the program in the blocks of a document, in order.
pub fn commands(document: &Path) -> Vec<DocumentedCommand> {
    let text = fs::read_to_string(document).expect("a document is text");
    let name =
        document.strip_prefix(root()).expect("it is in the repository").display().to_string();
    let mut found = Vec::new();
    let (mut fenced, mut skipped, mut open) = (false, false, String::new());
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let in_block = fenced || line.starts_with("    ");
        if !in_block && !line.trim().is_empty() {
            skipped = line.starts_with(NOT_RUN);
        }
        if !in_block {
            continue;
        }
        open.push_str(line.trim());
        if let Some(part) = open.strip_suffix('\\') {
            open = part.to_owned();
            continue;
        }
        let whole = std::mem::take(&mut open);
        let command = whole.strip_prefix("$ ").unwrap_or(&whole);
        let command = command.strip_prefix("./").unwrap_or(command);
        let Some(arguments) = command.strip_prefix("chronoscope ") else { continue };
        let arguments = arguments.split(" #").next().unwrap_or_default();
        let words: Vec<&str> = arguments.split_whitespace().collect();
        if OF_CHECKOUT.contains(words.first().unwrap_or(&"")) {
            continue;
        }
        let text = format!("chronoscope {}", words.join(" "));
        found.push(DocumentedCommand { document: name.clone(), text, is_skipped: skipped });
    }
    found
}

/// A folder with the program, a store of recorded runs, and the files that documents name.
pub struct Desk(pub Folder);

impl Desk {
    pub fn new(name: &str) -> Self {
        let desk = Self(Folder::new(name));
        let folder = &desk.0;
        symlink(program_path(), folder.path("chronoscope")).expect("a link to the program");
        for sub in [".config/chronoscope", "data/chronoscope", "build"] {
            fs::create_dir_all(folder.path(sub)).expect("a folder");
        }
        symlink(root().join("studies"), folder.path("studies")).expect("a link to the studies");
        folder.file(".config/chronoscope/boards.toml", BOARDS);
        for capture in ["board.vcd", "pins.vcd"] {
            folder.file(capture, CAPTURE);
        }
        for image in ["build/app.elf", "app.elf", "old.elf", "new.elf", "tandem.elf"] {
            folder.file(image, header());
        }
        let page = root().join("docs/tutorials/guard-a-kernel.md");
        let page = fs::read_to_string(page).expect("the tutorial is there");
        let study = page.split("```toml\n").nth(1).and_then(|part| part.split("```").next());
        folder.file("kernel.toml", study.expect("the tutorial has a study"));
        let tasks = root().join("docs/examples/tasks.toml");
        symlink(tasks, folder.path("tasks.toml")).expect("a link to the tasks");
        for program in ["app", "build/app"] {
            copy_program("/bin/true", folder.path(program));
        }
        desk.shell("chronoscope capture board.vcd -o analyser.sr").exits(0);
        desk.shell("chronoscope report --demo").exits(0);
        fs::rename(
            folder.path("chronoscope-demo/runs.sqlite"),
            folder.path("data/chronoscope/runs.sqlite"),
        )
        .expect("the recorded store");
        desk.shell(&format!("{MEASURED} --samples")).exits(0);
        desk.shell("chronoscope report last --format json -o run.json").exits(0);
        desk
    }

    /// Runs a line of a shell in the folder, where `chronoscope` is the program.
    pub fn shell(&self, line: &str) -> Answer {
        run(&mut self.command(line))
    }

    /// The line of a shell that [`Self::shell`] runs, not started.
    pub fn command(&self, line: &str) -> Command {
        let path = env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(&self.0.0);
        shell.env("PATH", format!("{}:{path}", self.0.0.display())).env("HOME", &self.0.0);
        shell.env("XDG_DATA_HOME", self.0.path("data")).env("COLUMNS", "80");
        shell.env_remove("XDG_CONFIG_HOME");
        shell
    }
}

/// The statuses of a command that did its work: verdicts are not tested.
pub fn is_done(answer: &Answer) -> bool {
    matches!(answer.status, Some(0 | 2 | 3 | 4))
}
