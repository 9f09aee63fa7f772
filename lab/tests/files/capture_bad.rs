//! Damaged, hostile and huge captures: one line of error, exit status 1, no output, bounded memory.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use crate::captures::{binary, csv, signal, sr, vcd};
use crate::common::{Answer, Folder, chronoscope, program_path};
use chronoscope_capture::Sampling;
use zip::{ZipWriter, write::SimpleFileOptions};

fn measure(arguments: &[&str]) -> Answer {
    chronoscope(&[&["capture"], arguments].concat())
}

const HEAD: &str = "$timescale 1 ns $end $var wire 1 ! D0 $end $var wire 1 \" D1 $end $enddefinitions $end\n#0 0! 0\"\n";

#[test]
fn damaged_dumps_are_told_with_their_line() {
    let folder = Folder::new("capture-bad-vcd");
    for (number, (body, message)) in [
        ("#9\n1!\n#8\n0!", "line 5: time goes back, from #9 to #8"),
        ("#9\nx!", "line 4: D0 is `x` at #9: only 0 and 1 can be measured"),
        ("#9\nZ\"", "line 4: D1 is `Z` at #9"),
        ("#9\n1%", "line 4: `1%` changes what is not defined"),
        ("#18446744073709551616", "is no time"),
        ("#9 \u{1b}[31m", "is neither a time nor a change"),
    ]
    .into_iter()
    .enumerate()
    {
        let file = folder.file(&format!("{number}.vcd"), format!("{HEAD}{body}"));
        let answer = measure(&[&file]);
        answer.complains(message).complains(&file);
        let output = folder.path("output.sr");
        measure(&[&file, "-o", &output]).complains(message);
        assert!(!fs::exists(&output).unwrap(), "nothing is written");
    }
    // A channel that is not requested may have any levels.
    let file = folder.file("x.vcd", format!("{HEAD}#9\nx!\n#10 1\" #12 0\" #20"));
    measure(&[&file, "--channel", "D1"]).exits(0).shows("2 ns");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 7);
}

#[test]
fn unknown_names_are_told_with_those_there_are() {
    let folder = Folder::new("capture-bad-names");
    let file = folder.file("a.vcd", format!("{HEAD}#9"));
    measure(&[&file, "--channel", "D0,D9"]).complains("there is no channel D9: there is D0, D1");
    measure(&[&file, "--start", "rise:D0", "--end", "fall:D9"])
        .complains("there is no channel D9: there is D0, D1");
    measure(&[&file, "--start", "rise:D0"]).complains("--end");
    measure(&[&file, "--start", "D0", "--end", "fall:D1"]).complains("write rise:, fall: or edge:");
    measure(&[&file, "--start", "edge:D0", "--end", "fall:D0"])
        .complains("--measure period or edges");
    measure(&[&file, "--measure", "length"])
        .complains("there is width, low, period, jitter, duty, edges");
    measure(&[&file, "--rate", "2", "--phase", "0.5"]).complains("it is shorter than one sample");
    measure(&[&file, "--rate", "0.3Hz"]).complains("whole number of hertz");
    measure(&[&file, "--rate", "2MHz", "--phase", "1"])
        .complains("write a number from 0 to below 1, or random");
    measure(&[&file, &file, "-o", &folder.path("b.vcd")]).complains("one capture becomes one file");
    measure(&[&file, "--measure", "low", "-o", &folder.path("b.vcd")])
        .complains("is a capture, and holds no measures");
    measure(&[&folder.path("none.vcd")]).complains("cannot be opened");
    measure(&[&file, "-o", &folder.path("no/b.vcd")]).complains("there is no folder");
    let sampled = folder.file("sampled.csv", csv(&signal(1_000_000, Sampling::Exact, 5, 9)));
    measure(&[&sampled, "--rate", "2MHz"]).complains("it was sampled already");
    let many: String = (0..65)
        .map(|number| format!("$var wire 1 {} p{number} $end ", '!'.to_string().repeat(number + 1)))
        .collect();
    let many =
        folder.file("many.vcd", format!("$timescale 1 ns $end {many} $enddefinitions $end #0"));
    measure(&[&many]).complains("it has 65 channels");
}

#[test]
fn what_is_no_capture_is_told() {
    let folder = Folder::new("capture-bad-content");
    for (content, message) in [
        (b"".as_slice(), "it is empty"),
        (b"\x7fELF", "its format is unknown"),
        (b"\x1f\x8b\x08", "it is compressed: unpack it first"),
        (b"PK\x03\x04rest", "the archive is damaged or cut off"),
        (b"$timescale 1 ns $end", "it ends before `$enddefinitions`"),
        (b"Time [ms],D0\n0,1", "not `Time [s]`"),
        (b"Time [s],D0\n0,2", "line 2: D0: `2` is no level"),
        (b"Time [s],D0\n0,1\n1,X", "line 3: D0: it is `X`, a gap"),
        (b"Time [s],D0\n2,1\n1,0", "line 3: time goes back, to 1"),
        (b"Time [s],D0,D1\n0,1", "line 2: it has no level for D1: it is cut off"),
        (b"Time [s],D0\n0,1,1", "line 2: it has more columns"),
        (b"Time [s],D0\n2026-01-01T00:00:00Z,1", "is no time in seconds"),
        (b"Time [s],D0\n", "there is no row in it"),
        (b"<SALEAE>\0\0\0\0\x01\0\0\0", "it holds no digital channel"),
        (b"<SALEAE>\x02\0\0\0\0\0\0\0", "it is of version 2"),
        (b"<SALEAE>\0\0", "it is cut off"),
    ] {
        measure(&[&folder.file("file", content)]).complains(message);
    }
    let capture = signal(1_000_000, Sampling::Exact, 5, 9);
    let [zero, one] = [0, 1].map(|version| binary(&capture, 0, version));
    let change = |bytes: &[u8], at: usize, with: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[at..at + with.len()].copy_from_slice(with);
        bytes
    };
    // The first chunk has five edges; the second begins 3 µs after its end.
    let begin = f64::from_le_bytes(one[112..120].try_into().unwrap());
    let gap = change(&one, 112, &(begin + 3e-6).to_le_bytes());
    for (content, message) in [
        (zero[..zero.len() - 3].to_vec(), "it is cut off"),
        ([zero.as_slice(), b"more"].concat(), "there is more in it than it says"),
        // The mutated fields: the number of transitions, the first transition, the level, the end.
        (change(&zero, 36, &u64::MAX.to_le_bytes()), "it is cut off"),
        (change(&zero, 44, &f64::NAN.to_le_bytes()), "is no time of an edge"),
        (change(&zero, 52, &0_f64.to_le_bytes()), "time goes back"),
        (change(&zero, 16, &7_u32.to_le_bytes()), "7 is no level"),
        (change(&zero, 28, &1e-9_f64.to_le_bytes()), "is after the end"),
        (change(&one, 16, &u64::MAX.to_le_bytes()), "it is cut off"),
        (change(&one, 28, &0_f64.to_le_bytes()), "0 is no rate of sampling"),
        (gap, "there is a gap from"),
    ] {
        measure(&[&folder.file("file", content)]).complains(message);
    }
    measure(&[&folder.0.join("..").join(folder.0.file_name().unwrap()).display().to_string()])
        .complains("there is no file of a channel in it");
}

/// A session archive of these entries.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer.start_file(*name, SimpleFileOptions::DEFAULT).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn sessions_that_other_tools_read_are_read() {
    let folder = Folder::new("capture-lenient");
    let part = ("logic-1-1", b"\0\0\x01\x01\0".as_slice());
    let session = |metadata: &str| {
        let file = folder.file(
            "s.sr",
            archive(&[("version", b"2".as_slice()), ("metadata", metadata.as_bytes()), part]),
        );
        move |more: &[&str]| measure(&[&[file.as_str()], more].concat())
    };
    session(&METADATA.replace("1 MHz", "2 mHz"))(&[]).exits(0).shows("2 MHz").shows("1 µs");
    let without = session(&METADATA.replace("samplerate=1 MHz\n", ""));
    without(&["--sampled", "1MHz"]).exits(0).shows("2 µs");
    let twice = session(&format!("{METADATA}probe2=D0\n"));
    twice(&["--channel", "D0"]).exits(0).shows("2 µs");
    twice(&["--channel", "D0#2"]).exits(0);
    session(&format!("{METADATA}probe9=D8\n"))(&["--channel", "D8"])
        .complains("there is no channel D8");
    session(&format!("{METADATA}probe9=D8\n"))(&[]).exits(0).shows("D0");
    let dump = HEAD.replace("$timescale 1 ns $end", "");
    let dump = folder.file("no-scale.vcd", dump + "#2 1! #4 0! #9");
    measure(&[&dump]).complains("give their rate, --sampled RATE");
    measure(&[&dump, "--channel", "D0", "--sampled", "1MHz"]).exits(0).shows("2 µs");
}

/// A million signals within an address space of 256 MiB, of which the program itself takes a part.
#[test]
fn a_dump_of_a_whole_chip_takes_little_memory() {
    let folder = Folder::new("capture-chip");
    let code = |mut number: u32| {
        let mut code = String::new();
        while code.is_empty() || number > 0 {
            code.push(char::from(b'!' + (number % 94) as u8));
            number /= 94;
        }
        code
    };
    let file = folder.path("chip.vcd");
    let mut dump = std::io::BufWriter::new(fs::File::create(&file).unwrap());
    writeln!(dump, "$timescale 1 ns $end").unwrap();
    for number in 0..1_000_000 {
        if number % 1000 == 0 {
            let up = if number > 0 { "$upscope $end " } else { "" };
            writeln!(dump, "{up}$scope module unit_{} $end", number / 1000).unwrap();
        }
        let name = if number % 4 == 0 { "clk".to_owned() } else { format!("signal_{number}") };
        writeln!(dump, "$var wire 1 {} {name} $end", code(number)).unwrap();
    }
    writeln!(dump, "$enddefinitions $end").unwrap();
    writeln!(dump, "#0 0{0} #5 1{0} #12 0{0} #20", code(999_999)).unwrap();
    drop(dump);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v 262144; exec \"$@\"", "sh"]).arg(program_path());
    shell.args(["capture", &file, "--channel", "signal_999999"]);
    crate::common::run(&mut shell).exits(0).shows("7 ns");
}

const METADATA: &str = "[device 1]\ncapturefile=logic-1\nsamplerate=1 MHz\nprobe1=D0\nunitsize=1\n";

#[test]
fn damaged_sessions_are_told() {
    let folder = Folder::new("capture-bad-sr");
    let session = |metadata: &str, parts: &[(&str, &[u8])]| {
        archive(
            &[&[("version", b"2".as_slice()), ("metadata", metadata.as_bytes())], parts].concat(),
        )
    };
    let part = ("logic-1-1", b"\0\0\x01\x01\0".as_slice());
    measure(&[&folder.file("good.sr", session(METADATA, &[part]))]).exits(0).shows("2 µs");
    let whole = sr(&signal(1_000_000, Sampling::Exact, 50, 90));
    let wide = METADATA.replace("unitsize=1", "unitsize=2");
    for (content, message) in [
        (whole[..whole.len() - 9].to_vec(), "the archive is damaged or cut off"),
        (
            archive(&[("meta.json", b"{}")]),
            "it is a zip archive without `version`: none of sigrok's",
        ),
        (archive(&[("version", b"3"), ("metadata", b"")]), "it is a session of version 3"),
        (session("", &[part]), "metadata: it has no digital channels"),
        (
            session(&METADATA.replace("1 MHz", "fast"), &[part]),
            "metadata: line 3: `fast` is not a rate",
        ),
        (
            session(&METADATA.replace("unitsize=1", "unitsize=0"), &[part]),
            "its `unitsize` is missing",
        ),
        (
            session(&METADATA.replace("probe1", "probe9"), &[part]),
            "all of its channels are beyond the 8 bits of a sample",
        ),
        (session(&METADATA.replace("probe1", "probe0"), &[part]), "is no channel's number"),
        (session(&format!("{METADATA}probe1=D1\n"), &[part]), "probe 1 is there twice"),
        (
            session(&METADATA.replace("samplerate=1 MHz\n", ""), &[part]),
            "it has no `samplerate`, so the time between its samples is not known: give it, --sampled",
        ),
        (session(METADATA, &[]), "it has no samples: there is no logic-1-1"),
        (session(METADATA, &[part, ("logic-1-3", b"\0")]), "its part logic-1-2 is missing"),
        (session(METADATA, &[("logic-1-1", b"")]), "there is no sample in it"),
        (session(&wide, &[part]), "it ends within a sample of 2 bytes"),
        (
            session(METADATA, &[("logic-1-1", &[0; 64])]).into_iter().rev().collect(),
            "its format is unknown",
        ),
    ] {
        measure(&[&folder.file("bad.sr", content)]).complains(message);
    }
    // The bytes of an entry do not match its checksum.
    let mut stored = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in
        [("version", b"2".as_slice()), ("metadata", METADATA.as_bytes()), ("logic-1-1", &[7; 99])]
    {
        stored
            .start_file(
                name,
                SimpleFileOptions::DEFAULT.compression_method(zip::CompressionMethod::Stored),
            )
            .unwrap();
        stored.write_all(content).unwrap();
    }
    let mut content = stored.finish().unwrap().into_inner();
    let at = content.windows(9).position(|window| window == [7; 9]).unwrap();
    content[at] = 8;
    measure(&[&folder.file("bad.sr", content)]).complains("logic-1-1 is damaged or cut off");
}

/// The offset of the last entry's unpacked size in the central directory.
fn claimed_size(archive: &[u8]) -> usize {
    archive.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap() + 24
}

/// Runs the program with an address space of 256 MiB, more than it may use.
fn bounded(folder: &Folder, arguments: &[&str], input: Stdio) -> Answer {
    let script = "ulimit -v 262144; exec \"$0\" capture \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(program_path()).args(arguments).current_dir(&folder.0);
    let shown = format!("{command:?}");
    Answer::new(command.stdin(input).output().unwrap(), shown)
}

#[test]
fn a_bomb_is_not_unpacked() {
    let folder = Folder::new("capture-bomb");
    let parts: Vec<String> = (1..=3).map(|number| format!("logic-1-{number}")).collect();
    let zeros = vec![0; 32 << 20];
    let mut entries = vec![("version", b"2".as_slice()), ("metadata", METADATA.as_bytes())];
    entries.extend(parts.iter().map(|part| (part.as_str(), zeros.as_slice())));
    let good = archive(&entries);
    assert!(good.len() < 1 << 20);
    // A constant level packs as well as a zip bomb.
    let file = folder.file("still.sr", &good);
    bounded(&folder, &[&file, "--measure", "width"], Stdio::null()).exits(0).shows("101 s");
    // An entry's claimed size is too large, and too small.
    let mut claims = archive(&[entries[0], entries[1], ("logic-1-1", b"\0")]);
    let at = claimed_size(&claims);
    claims[at..at + 4].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    measure(&[&folder.file("bad.sr", &claims)]).complains("logic-1-1 is damaged or cut off");
    let mut claims = good;
    let at = claimed_size(&claims);
    claims[at..at + 4].copy_from_slice(&9_u32.to_le_bytes());
    bounded(&folder, &[&folder.file("bad.sr", &claims)], Stdio::null())
        .complains("logic-1-3 is damaged or cut off");
    let big: Vec<String> = (1..=5).map(|number| format!("logic-1-{number}")).collect();
    let mut entries = vec![("version", b"2".as_slice()), ("metadata", METADATA.as_bytes())];
    entries.extend(big.iter().map(|part| (part.as_str(), b"\0".as_slice())));
    let mut claims = archive(&entries);
    let directory: Vec<usize> = claims
        .windows(4)
        .enumerate()
        .filter(|(_, window)| window == b"PK\x01\x02")
        .map(|(at, _)| at)
        .collect();
    for at in &directory[2..] {
        claims[at + 24..at + 28].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    }
    measure(&[&folder.file("bad.sr", &claims)])
        .complains("its samples take 10737418235 bytes unpacked");
}

#[test]
fn huge_captures_take_little_memory() {
    let folder = Folder::new("capture-huge");
    // An endless word and an endless row, from a pipe that never stops.
    for (start, filler, message) in [
        (
            "$timescale 1 ns $end $var wire 1 ! D0 $end $enddefinitions $end #0 b",
            "0",
            "a word of more than",
        ),
        ("Time [s],D0\n0,1", "1", "it is longer than"),
    ] {
        let script = format!("printf '%s' '{start}'; yes '{filler}' | tr -d '\\n'");
        let mut endless =
            Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        let answer = bounded(&folder, &["/dev/stdin"], endless.stdout.take().unwrap().into());
        answer.complains(message);
        let _ = endless.wait();
    }
    // Every width is different.
    let mut text = String::from(HEAD);
    let mut at = 0_u64;
    for width in 1..400_000_u64 {
        at += 1_000 + width * 7_919 % 1_000_003;
        text.push_str(&format!("#{at}\n{}!\n", width % 2));
    }
    let file = folder.file("many.vcd", text);
    let all = ["--channel", "D0", "--measure", "width,low,period,jitter,duty,edges"];
    bounded(&folder, &[&[file.as_str()], all.as_slice()].concat(), Stdio::null())
        .exits(0)
        .shows("percentiles are rounded up");
    // A capture of this length has too many samples to write.
    let long = folder.file("long.vcd", format!("{HEAD}#99999999999 1! #99999999999999"));
    let output = folder.path("long.sr");
    bounded(&folder, &[&long, "-o", &output], Stdio::null())
        .complains("resample it with a lower --rate");
    assert!(!fs::exists(&output).unwrap());
}

#[test]
fn clocks_that_do_not_divide_are_told() {
    let folder = Folder::new("capture-clocks");
    let exact = folder.file("exact.vcd", vcd(&signal(84_000_000, Sampling::Exact, 9, 50)));
    // Cycles have a whole rate in hertz; three cycles of another clock have none.
    chronoscope(&["capture", &exact, "-o", &folder.path("a.sr")]).exits(0);
    let head = "$comment chronoscope sampled 3000000 $end $timescale 1 us $end $var wire 1 ! D0 $end $enddefinitions $end";
    let file = folder.file("odd.vcd", format!("{head} #0 0! #1 1! #2"));
    measure(&[&file, "-o", &folder.path("b.sr")]).complains("do not divide a sample of 3000000 Hz");
    let file =
        folder.file("between.vcd", format!("{head} #0 0! #1 1! #3").replace("3000000", "500000"));
    measure(&[&file, "-o", &folder.path("b.sr")])
        .complains("an edge at tick 1 lies between two samples");
    let file =
        folder.file("zero.vcd", format!("{head} #0 0!").replace("sampled 3000000", "hertz 0"));
    measure(&[&file]).complains("line 1: `0` is no clock's rate");
}
