//! `pi_stress -q`: makes priority inversions, and fails when inheritance does not resolve one.

use anyhow::{Context, Result};

use super::{Reader, Reading, text::number_after};

pub const READER: Reader = Reader { name: "pi_stress", statistics: &["inversions"], read };

fn read(text: &str) -> Result<Vec<Reading>> {
    let inversions = text.lines().find_map(|line| number_after(line, "Total inversion performed:"));
    Ok(vec![Reading::count(
        "inversions",
        inversions.context("there is no `Total inversion performed:` in it")?,
    )])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `pi_stress -q -m -g 1 -i 2000`
    const OUTPUT: &str = "Total inversion performed: 2001
Test Duration: 0 days, 0 hours, 0 minutes, 1 seconds
";

    #[test]
    fn inversions_are_counted() {
        assert_eq!(read(OUTPUT).unwrap(), [Reading::count("inversions", 2001.0)]);
        assert!(read("Test Duration: 0 days\n").is_err());
    }
}
