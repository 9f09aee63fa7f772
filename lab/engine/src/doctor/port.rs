//! Asks the port to try operations whose outcome only a trial shows, since the port is the program
//! that needs the permissions (`ports/linux/src/doctor.rs`).

use std::{sync::atomic::AtomicBool, time::Duration};

use chronoscope_suite::wire::Record;

use crate::stream::Decoder;
use chronoscope_machine::{Machine, Request, Start, host::Host};

/// The port's figures, or the reason why there are none.
pub struct Answer {
    figures: Result<Vec<(String, f64)>, String>,
}

impl Answer {
    /// The figure with a name, or the reason why there is none.
    pub fn figure(&self, name: &str) -> Result<f64, String> {
        let figures = self.figures.as_ref().map_err(Clone::clone)?;
        let found = figures.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        found.filter(|value| value.is_finite()).ok_or_else(|| "the port did not say".to_owned())
    }

    #[cfg(test)]
    pub fn from_figures(figures: &[(&str, f64)]) -> Self {
        Self {
            figures: Ok(figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()),
        }
    }
}

/// Runs the port's trial on that processor. Takes about a second.
pub fn ask(cpu: usize) -> Answer {
    /// The most figures that are kept; a port that sends more is not Chronoscope's.
    const MAX_FIGURES: usize = 64;
    let mut decoder = Decoder::default();
    let mut figures = Vec::new();
    let never = AtomicBool::new(false);
    let request = Request::new("doctor").with("cpu", cpu);
    let start = Start { request: &request, limit: Duration::from_secs(10).into(), stop: &never };
    let outcome = Host.run(&start, &mut |bytes| {
        decoder.feed(bytes, &mut |record| {
            if let Record::Figure { name, value, .. } = record
                && figures.len() < MAX_FIGURES
            {
                figures.push(((*name).to_owned(), *value));
            }
            Ok(())
        })
    });
    let outcome = outcome.and_then(|_| decoder.finish());
    Answer { figures: outcome.map(|()| figures).map_err(|error| format!("not tried: {error:#}")) }
}
