//! The end of the report: failures once more, times, and the sum over all test programs.

use super::schedule::{Done, Outcome};

/// Tests by outcome.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Tally {
    /// Adds the result lines that cargo's test programs print.
    fn add(&mut self, output: &str) {
        for line in output.lines().filter_map(|line| line.strip_prefix("test result: ")) {
            let count = |what: &str| {
                let mut words = line.split([' ', ';']).rev().skip_while(|word| *word != what);
                words.nth(1).and_then(|count| count.parse().ok()).unwrap_or(0)
            };
            self.passed += count("passed");
            self.failed += count("failed");
            self.skipped += count("ignored");
        }
    }
}

/// The outcome of the whole run.
pub struct Summary {
    /// Every step passed.
    pub steps: bool,
    /// At least one test passed: none does where a filter is misspelt.
    pub tests: bool,
}

/// Prints the summary.
pub fn print(done: &[Done]) -> Summary {
    let mut tally = Tally::default();
    done.iter().for_each(|step| tally.add(&step.output));
    for step in done.iter().filter(|step| step.outcome == Outcome::Failed) {
        println!("\n== {}: FAILED\n{}", step.name, step.output.trim_end());
    }
    println!("\n  wall    cpu  step");
    let mut slowest: Vec<&Done> = done.iter().collect();
    slowest.sort_by_key(|step| std::cmp::Reverse(step.spent.wall));
    for step in &slowest {
        let (wall, cpu) = (step.spent.wall.as_secs_f64(), step.spent.cpu.as_secs_f64());
        let mark = match step.outcome {
            Outcome::Passed => "",
            Outcome::Failed => "  FAILED",
            Outcome::NotRun => "  not run",
        };
        println!("{wall:4.0} s {cpu:4.0} s  {}{mark}", step.name);
    }
    let cpu: f64 = done.iter().map(|step| step.spent.cpu.as_secs_f64()).sum();
    println!("       {cpu:4.0} s  in all");
    let failed: Vec<&Done> = done.iter().filter(|step| step.outcome != Outcome::Passed).collect();
    for step in &failed {
        let word = if step.outcome == Outcome::Failed { "failed" } else { "did not run" };
        println!("chronoscope: test {word}: {}", step.name);
    }
    println!("\n{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
    Summary { steps: failed.is_empty(), tests: tally.passed > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_programs_are_summed() {
        let mut tally = Tally::default();
        tally.add(
            "running 3 tests\n\
             test result: ok. 198 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; \
             finished in 33.39s\n\
             test a_test_result: ok\n\
             test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out",
        );
        assert_eq!(tally, Tally { passed: 200, failed: 3, skipped: 1 });
    }
}
