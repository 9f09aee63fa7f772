//! The JSON that the programs of rt-tests write with `--json`.
//!
//! The programs write it to a file. Where that is `/dev/stdout`, other lines may precede and follow
//! the JSON.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, de::DeserializeOwned};

#[derive(Deserialize)]
pub struct Document<T> {
    /// 1 where times are in ns, 0 where they are in µs; cyclictest alone has it.
    #[serde(default)]
    pub resolution_in_ns: u8,
    thread: BTreeMap<String, T>,
}

impl<T> Document<T> {
    /// Returns the entries of all measuring threads.
    pub fn threads(self) -> impl Iterator<Item = T> {
        self.thread.into_values()
    }

    /// Returns the entry of the only measuring thread.
    ///
    /// # Errors
    /// The document has no such thread or several.
    pub fn only_thread(mut self) -> Result<T> {
        if self.thread.len() != 1 {
            bail!("it has {} measuring threads, not one", self.thread.len());
        }
        self.thread.pop_first().map(|(_, thread)| thread).context("no thread")
    }
}

/// The JSON among the lines of `text`.
///
/// # Errors
/// There is no JSON, or it is another program's.
pub fn document<T: DeserializeOwned>(text: &str) -> Result<Document<T>> {
    let before = text.split_inclusive('\n').take_while(|line| line.trim_end() != "{");
    let start: usize = before.map(str::len).sum();
    let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter();
    Ok(documents.next().context("there is no JSON in it: give it --json=/dev/stdout")??)
}
