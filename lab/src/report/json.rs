//! Our own JSON: the whole run, as `docs/run-file.md` describes it.

use anyhow::Result;

use crate::run::Run;

/// # Errors
/// Never in practice: a run holds nothing that JSON cannot.
pub fn render(run: &Run) -> Result<String> {
    Ok(serde_json::to_string_pretty(run)? + "\n")
}
