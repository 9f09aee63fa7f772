//! `chronoscope schema`: the JSON Schema of a run.

use anyhow::Result;

use chronoscope_base::console;
use chronoscope_run::json_schema;

/// Prints the JSON Schema of a run; returns the exit status.
///
/// # Errors
/// The schema cannot be printed.
pub fn execute() -> Result<u8> {
    console::print(&(serde_json::to_string_pretty(&json_schema())? + "\n"))?;
    Ok(0)
}
