//! Tests of captures in memory, and of value change dumps written from them.

use crate::{Capture, Channel, Sampling, Tick};

fn capture(tick: Tick, sampling: Sampling) -> Capture {
    let channel = |name: &str, initial, edges: &[u64]| Channel {
        name: name.to_owned(),
        initial,
        edges: edges.to_vec(),
    };
    Capture {
        source: "made up".to_owned(),
        tick,
        sampling,
        start: 5,
        end: 100,
        channels: vec![
            channel("D0", false, &[10, 20, 30, 45]),
            channel("D1", true, &[20, 21, 90]),
            channel("irq", true, &[]),
        ],
    }
}

fn again(capture: &Capture) -> (String, Capture) {
    let mut bytes = Vec::new();
    capture.to_vcd(&mut bytes).unwrap();
    let read = Capture::from_vcd("made up", bytes.as_slice()).unwrap();
    (String::from_utf8(bytes).unwrap(), read)
}

#[test]
fn pulses_are_whole() {
    let capture = capture(Tick::NANOSECOND, Sampling::Exact);
    let widths = |name, level| {
        capture.pulses(name, level).unwrap().map(|pulse| pulse.width).collect::<Vec<_>>()
    };
    assert_eq!((widths("D0", true), widths("D0", false)), (vec![10, 15], vec![10]));
    assert_eq!((widths("D1", true), widths("D1", false)), (vec![69], vec![1]));
    assert_eq!((widths("irq", true), widths("irq", false)), (vec![], vec![]));
    let edges: Vec<_> = capture.edges("D1").unwrap().collect();
    assert_eq!(edges, [(20, false), (21, true), (90, false)]);
    let error = capture.edges("D2").err().unwrap().to_string();
    assert_eq!(error, "there is no channel D2: there is D0, D1, irq");
}

#[test]
fn a_dump_is_read_as_it_was_written() {
    let rate = |hertz| Tick::from_hertz(hertz).unwrap();
    // A tick that is a unit of time, one that is a multiple of a unit, and one that is neither.
    for (tick, sampling, head) in [
        (Tick::NANOSECOND, Sampling::Exact, "$timescale 1 ns"),
        (Tick::new(1, 10_000_000).unwrap(), Sampling::At(10_000_000), "$timescale 100 ns"),
        (rate(84_000_000), Sampling::Exact, "chronoscope hertz 84000000\n$end"),
    ] {
        let capture = capture(tick, sampling);
        let (text, read) = again(&capture);
        assert!(text.contains(head), "{text}");
        assert_eq!(read, capture);
    }
    let (text, read) = again(&capture(rate(2_000_000), Sampling::At(2_000_000)));
    assert!(
        text.contains("$timescale 100 ns") && text.contains("#50\n"),
        "five times 100 ns: {text}"
    );
    assert_eq!(
        (read.tick, read.sampling, read.end),
        (rate(10_000_000), Sampling::At(2_000_000), 500)
    );
}

const HEAD: &str = "$timescale 1 ns $end $scope module top $end $var wire 1 ! a $end $var wire 1 # b $end \
    $scope module sub $end $var wire 1 ! a $end $var reg 4 $ v [3:0] $end $upscope $end $upscope $end\n$enddefinitions $end\n";

#[test]
fn dumps_of_other_programs_are_read() {
    // Two names for one code, a vector, a glitch within one instant, and changes to the same level.
    let text = format!(
        "{HEAD}#7 $dumpvars 0! 1# b0 $ $end\n#8 1! 1! 0!\n#9\n1!\nb1010 $\n$comment so $end\n#12 0! b110 $ #20"
    );
    let read = Capture::from_vcd("dump", text.as_bytes()).unwrap();
    let edges = |name: &str| read.channel(name).unwrap().edges.clone();
    assert_eq!((read.start, read.end), (7, 20));
    assert_eq!(
        (edges("top.a"), edges("top.sub.a"), edges("b")),
        (vec![9, 12], vec![9, 12], vec![])
    );
    let bits = ["v[0]", "v[1]", "v[2]", "v[3]"].map(edges);
    assert_eq!(bits, [vec![], vec![9], vec![12], vec![9, 12]]);
}

#[test]
fn an_error_names_its_line() {
    let why = |text: &str| format!("{:#}", Capture::from_vcd("dump", text.as_bytes()).unwrap_err());
    let whole = "#0 0! 0# b0 $\n";
    for (body, message) in [
        (format!("{whole}#5 1!\n#4 0!"), "dump: line 5: time goes back, from #5 to #4"),
        (format!("{whole}#5 x!"), "line 4: top.a is `x` at #5: only 0 and 1 can be measured"),
        (format!("{whole}#5 bz $"), "line 4: v[0] is `z` at #5"),
        ("#0 0!\n#1 1!\n".to_owned(), "line 4: b has no level at the start"),
        (format!("{whole}#99999999999999999999"), "`#99999999999999999999` is no time"),
        (format!("{whole}#5 1?"), "`1?` changes what is not defined"),
        (format!("{whole}#5 b1"), "it ends within a change"),
        (format!("{whole}hello"), "`hello` is neither a time nor a change"),
        (String::new(), "there is no change in it"),
    ] {
        let found = why(&format!("{HEAD}{body}"));
        assert!(found.contains(message), "{found}");
    }
    assert!(why("$scope module a").contains("`$scope` has no `$end`"));
    assert!(why("$enddefinitions $end #0").contains("it has no `$timescale`"));
    assert!(why("$timescale 3 ns $end").contains("line 1: `3ns` is no timescale"));
    assert!(why("").contains("it ends before `$enddefinitions`"));
}
