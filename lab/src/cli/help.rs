//! Help texts: examples, the environment, and lines that fit 80 columns.

use chronoscope_base::console;

/// The width of help in characters.
const WIDTH: usize = 80;

/// The last column at which the lines of a description hang below its start. A description that
/// would start further right has a line of its own.
const HANGING: usize = 40;

pub const PROGRAM: &str = "\
Examples:
  chronoscope run quick             how well does this machine keep time?
  chronoscope run rt-acceptance     may it carry real-time work?
  chronoscope run microcontrollers  kernels of microcontrollers, emulated
  chronoscope worst switch          how long can an interrupt wait?
  chronoscope report --demo         recorded runs: a page, a comparison, a history
  chronoscope report --full         all figures of the last run
  chronoscope compare last-1 last   is the last run slower than the one before?
  chronoscope explain p99           a word of the screen

Environment:
  COLUMNS             the width of answers and tables
  NO_COLOR            no colour; TERM=dumb: letters instead of drawings
  XDG_DATA_HOME       the folder of the store (chronoscope/runs.sqlite)
  XDG_CACHE_HOME      the folder of guests' kernels
  CHRONOSCOPE_IMAGES  the folder of installed images of microcontrollers";

pub const RUN: &str = "\
Examples:
  chronoscope run quick                          a study by its name
  chronoscope run ./mine.toml                    a study of your own
  chronoscope run period -i 500 -p 90 -D 10m     one experiment, ten minutes
  chronoscope run switch --set tasks=2,10,100    a case for each value
  chronoscope run switch --target linux-rt@vm    on another target

Exit status: 0 pass, 1 error, 2 limit missed, 4 inconclusive, 130 interrupted.";

pub const SHOW: &str = "\
Examples:
  chronoscope show inversion                        tandem, emulated
  chronoscope show inversion --target linux-rt@vm   Linux, in a guest
  chronoscope show miss                             stock Linux and PREEMPT_RT

EXPERIMENT is inversion, wakeup, preemption or miss. The kernel's own recording is
in the figures. Exit status: as of `run`.";

pub const WORST: &str = "\
Examples:
  chronoscope worst switch                          tandem and FreeRTOS
  chronoscope worst message --target rtic@cortex-m4
  chronoscope worst switch --target tandem@rv32,freertos@rv32
  chronoscope worst switch --set primitive=yield    another round
  chronoscope worst masked --set tasks=10           as ten tasks use it

EXPERIMENT is switch, wakeup, message, interrupt or masked. Exit status: 0 pass,
1 error, 2 limit missed, 4 inconclusive (an arrival could not be tried), 130
interrupted.";

pub const WHY: &str = "\
Examples:
  chronoscope why freertos@cortex-m4 tandem@cortex-m4
  chronoscope why rtic@cortex-m4 embassy@cortex-m4 message --full
  chronoscope why old=a.elf@cortex-m4 new=b.elf@cortex-m4 switch --set tasks=2

EXPERIMENT is switch, wakeup, message, interrupt or masked. The parts add up to
the difference exactly. Exit status: 0, or 1 if a round cannot be found.";

pub const BISECT: &str = "\
Examples:
  chronoscope bisect switch --target mine=build/app.elf@cortex-m4 --good v1.2 -- make
  chronoscope bisect wakeup --target k=k.elf@rv32 --good HEAD~64 -- ./build.sh

It runs in the repository's checkout, which must have no changes, and leaves it
where it was. A commit that cannot be built is skipped. Exit status: 0 if the
commit is found, else 1.";

pub const SCHEDULE: &str = "\
Examples:
  chronoscope schedule tasks.toml --target tandem@cortex-m4,freertos@cortex-m4
  chronoscope schedule tasks.toml --chip stm32f405 --clock 84MHz

A task of the file is a table [[task]] with name, priority (a greater number is
more urgent), period or distance, execution, and if need be deadline, jitter,
lock and hold. Exit status: 0 if all deadlines are met, 2 if one is missed or
a response took longer than analysed, 4 if the costs' bounds leave it open,
1 for an error.";

pub const REPORT: &str = "\
Examples:
  chronoscope report                    the answer of the last run
  chronoscope report 12 --full          all figures of run 12
  chronoscope report last-1 -o run.html the page of the run before the last
  chronoscope report --demo             recorded runs, without measuring";

/// Prints help, with lines that fit.
pub fn print(text: &str) {
    // Nothing can be done about a standard output that cannot be written.
    let _ = console::print(&fitted(text));
}

/// Breaks the lines of a help text between words. The rest of a description hangs below its start.
fn fitted(text: &str) -> String {
    let lines = text.lines().map(|line| fit(line.trim_end()));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn fit(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let indent = line.chars().take_while(|character| *character == ' ').count();
    let body: Vec<char> = line.chars().skip(indent).collect();
    let gap = body.windows(2).position(|pair| pair == [' ', ' ']);
    let description = gap.and_then(|gap| {
        let after = body[gap..].iter().position(|character| *character != ' ')?;
        Some((gap, gap + after))
    });
    let (mut text, rest, hanging) = match description {
        Some((_, start)) if indent + start <= HANGING => {
            let column = indent + start;
            (line.chars().take(column).collect::<String>(), &body[start..], column)
        }
        Some((gap, start)) => {
            let head: String = line.chars().take(indent + gap).collect();
            (format!("{head}\n{:10}", ""), &body[start..], 10)
        }
        None => (format!("{:indent$}", ""), &body[..], indent),
    };
    let mut column = hanging;
    for (index, word) in rest.iter().collect::<String>().split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > WIDTH {
            text.push_str(&format!("\n{:hanging$}", ""));
            column = hanging;
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_help_fits_80_columns() {
        let mut program = Cli::command();
        program.build();
        let mut checked = 0;
        let mut check = |command: &mut clap::Command| {
            for help in [command.render_help(), command.render_long_help()] {
                for line in fitted(&help.to_string()).lines() {
                    assert!(line.chars().count() <= WIDTH, "{}: {line}", command.get_name());
                    checked += 1;
                }
            }
        };
        check(&mut program.clone());
        for command in program.get_subcommands() {
            check(&mut command.clone());
            command.get_subcommands().for_each(|inner| check(&mut inner.clone()));
        }
        assert!(checked > 500, "{checked}");
    }

    #[test]
    fn a_description_hangs_below_its_start() {
        let words = "words ".repeat(12);
        let line = format!("  -l <LOOPS>  {words}");
        let expected = format!("  -l <LOOPS>  {}\n{:14}words", "words ".repeat(11).trim(), "");
        assert_eq!(fit(line.trim_end()), expected);
        assert_eq!(fit("short"), "short");
    }
}
