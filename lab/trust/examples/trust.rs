//! Prints the table of statements and exits with 1 if one of them fails. The argument `quick`
//! takes seconds; without it, all rounds take minutes. Further words select the sections whose
//! titles contain one of them.

use std::process::ExitCode;

use chronoscope_trust::{Effort, SECTIONS};

fn main() -> ExitCode {
    let (quick, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word == "quick");
    let quick = !quick.is_empty();
    let effort = if quick { Effort::Quick } else { Effort::Full };
    let mut all_hold = true;
    let is_wanted = |title: &str| words.is_empty() || words.iter().any(|one| title.contains(one));
    for section in SECTIONS.iter().filter(|section| is_wanted(section.title)) {
        println!("\n{}\n", section.title);
        for row in (section.rows)(effort) {
            println!("{row}");
            all_hold &= row.holds;
        }
    }
    if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
