//! `chronoscope explain`: the words of the screen and the page.

use anyhow::{Result, bail};

use crate::cli;
use chronoscope_base::console;
use chronoscope_report::{
    Screen, answer::explain::glossary, answer::explain::term, text_table::fold,
};
use chronoscope_units::{printable, words};

/// Prints the explanation of a word, or all words; returns the exit status.
///
/// # Errors
/// The word is unknown; the message names the nearest ones.
pub fn execute(arguments: &cli::Explain) -> Result<u8> {
    let Some(word) = arguments.word.as_deref() else {
        let names: Vec<&str> = glossary().map(|(name, _)| name).collect();
        console::print(&format!("chronoscope explain WORD, of these:\n\n{}\n", names.join("\n")))?;
        return Ok(0);
    };
    let Some(text) = term(word) else {
        let near = words::nearest_three(word, glossary().map(|(name, _)| name));
        bail!(
            "there is no word `{}`: did you mean {near}? `chronoscope explain` lists all",
            printable(word)
        );
    };
    console::print(&fold(&text, Screen::for_output(None, None).columns))?;
    Ok(0)
}
