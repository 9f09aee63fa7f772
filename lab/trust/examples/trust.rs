//! Prints the table of statements and exits with 1 if one of them fails. The argument `quick`
//! takes seconds; without it, all rounds take minutes.

use std::process::ExitCode;

use chronoscope_trust::{Effort, SECTIONS};

fn main() -> ExitCode {
    let quick = std::env::args().nth(1).is_some_and(|word| word == "quick");
    let effort = if quick { Effort::Quick } else { Effort::Full };
    let mut all_hold = true;
    for section in SECTIONS {
        println!("\n{}\n", section.title);
        for row in (section.rows)(effort) {
            println!("{row}");
            all_hold &= row.holds;
        }
    }
    if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
