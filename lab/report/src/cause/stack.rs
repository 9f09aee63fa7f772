//! Names the function in which the processor was while the worst sample was taken, from the stacks
//! of the kernel's tracer timerlat: its interrupt keeps the stack that it has interrupted, and its
//! thread prints it if it was late itself.

use super::{schedule::Record, schedule::Span, split, window::RepetitionSamples};
use crate::{timeline::ftrace::line, timeline::ftrace::line::Line};
use chronoscope_run::{CaseResult, SeriesResult};
use chronoscope_units::printable;

/// The most callers that are named.
const NAMED: usize = 3;

/// The functions by which kernels enter an interrupt, on x86 and Arm.
const ENTRIES: [&str; 3] = ["asm_", "el1h_", "el0t_"];

/// The name of the function, and its callers.
pub fn sentence(
    case: &CaseResult,
    series: &SeriesResult,
    repetition: &RepetitionSamples,
) -> Option<String> {
    let record = Record::new(case, series, repetition).filter(|_| split::fits(case))?;
    let stack = interrupted(&record, record.span(&repetition.worst()))?;
    let (function, callers) = stack.split_first()?;
    let callers: Vec<String> = callers.iter().take(NAMED).map(|name| printable(name)).collect();
    let called = match callers.as_slice() {
        [] => String::new(),
        callers => format!(", called by {}", callers.join(", ")),
    };
    Some(format!(
        "In the meantime the tracer's own timer interrupted {}{called}.",
        printable(function)
    ))
}

/// The functions that timerlat's interrupt has interrupted within a span, the innermost first.
fn interrupted<'a>(record: &Record<'a>, (from, to): Span) -> Option<Vec<&'a str>> {
    let mut interrupt = None;
    let mut lines = record.text.lines().map(line::read);
    while let Some(line) = lines.next() {
        let Line::Event(event) = line else { continue };
        match event.kind {
            _ if event.cpu != record.cpu => {}
            line::EventKind::Latency { is_thread: false, .. } => interrupt = Some(event.at as f64),
            line::EventKind::Stack if interrupt.is_some_and(|at| from <= at && at <= to) => {
                let callers = lines.map_while(|line| match line {
                    Line::Caller(function) => Some(function),
                    _ => None,
                });
                // The end of a stack may be an address without a name.
                let is_named = |name: &&str| !name.starts_with(|letter: char| letter.is_numeric());
                let callers: Vec<&str> = callers.filter(is_named).collect();
                let is_entry = |name: &&str| ENTRIES.iter().any(|entry| name.starts_with(entry));
                let entry = callers.iter().position(is_entry)?;
                return Some(callers[entry + 1..].to_vec()).filter(|rest| !rest.is_empty());
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{super::schedule::tests, *};

    const STACK: &str =
        "     kworker/1:2-9  [001] d.h1. 5.000230: #1     context    irq timer_latency      1500 ns
     timerlat/1-44  [001] ..... 5.000238: #1     context thread timer_latency    84500 ns
     timerlat/1-44  [001] ..... 5.000239: <stack trace>
=> timerlat_irq
=> asm_sysvec_apic_timer_interrupt
=> burn [culprit]
=> work [culprit]
=> kthread
=> 0
";

    fn told(stack: &str) -> Option<String> {
        let before = "     chronoscope-8  [001] d.h2. 5.000310";
        let mut case = tests::case(&tests::RECORD.replace(before, &(stack.to_owned() + before)));
        case.experiment = "period".into();
        let repetition = RepetitionSamples::with_worst(&case, &case.series[0]).unwrap();
        sentence(&case, &case.series[0], &repetition)
    }

    #[test]
    fn the_interrupted_function_is_named_with_its_callers() {
        let named =
            "In the meantime the tracer's own timer interrupted burn, called by work, kthread.";
        assert_eq!(told(STACK).unwrap(), named);
    }

    #[test]
    fn a_stack_of_another_moment_or_without_an_entry_names_nothing() {
        assert_eq!(told(&STACK.replace("5.000230", "5.000190")), None);
        assert_eq!(told(&STACK.replace("asm_sysvec", "other")), None);
        assert_eq!(told(&STACK[..STACK.find("=> burn").unwrap()]), None);
        assert_eq!(told(""), None);
    }
}
