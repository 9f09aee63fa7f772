//! The names of a capture's channels, in one piece of memory: a dump of a whole chip has a million.

use std::{fmt, iter, ops::Index, sync::Arc};

use chronoscope_units::printable;

use crate::error::{Result, bail};

/// Names in order. Each is printable, whatever the file holds. A clone shares the memory.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Names(Arc<Kept>);

#[derive(Default, PartialEq, Eq)]
struct Kept {
    text: String,
    /// The end of each name in the text.
    ends: Vec<u32>,
}

impl Names {
    /// The number of names.
    pub fn len(&self) -> usize {
        self.0.ends.len()
    }

    /// Returns whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.0.ends.is_empty()
    }

    /// All names, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let starts = iter::once(&0).chain(&self.0.ends);
        starts.zip(&self.0.ends).map(|(start, end)| &self.0.text[*start as usize..*end as usize])
    }
}

/// # Panics
/// If there is no name of that index.
impl Index<usize> for Names {
    type Output = str;

    fn index(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.0.ends[before]);
        &self.0.text[start as usize..self.0.ends[index] as usize]
    }
}

/// # Panics
/// If all names together are longer than 4 GiB, which the readers of files do not allow.
impl<T: AsRef<str>> FromIterator<T> for Names {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        let mut kept = Kept::default();
        for name in names {
            let name = name.as_ref();
            if name.contains(chronoscope_units::is_unprintable) {
                kept.text.push_str(&printable(name));
            } else {
                kept.text.push_str(name);
            }
            kept.ends.push(u32::try_from(kept.text.len()).expect("the names are bounded"));
        }
        kept.text.shrink_to_fit();
        kept.ends.shrink_to_fit();
        Self(Arc::new(kept))
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Finds the index of a name among others.
///
/// # Errors
/// If no name equals it; the message lists the first sixteen.
pub fn find<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Result<usize> {
    let wanted = printable(name);
    let Some(place) = names.clone().position(|known| known == wanted) else {
        let shown: Vec<String> = names.clone().take(16).map(printable).collect();
        let more = names.count().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        match shown.len() {
            0 => bail!("there is no channel {}: it has none", printable(name)),
            _ => bail!(
                "there is no channel {}: there is {}{more}",
                printable(name),
                shown.join(", ")
            ),
        }
    };
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_apart_and_are_printable() {
        let names: Names = ["D0", "", "a\u{1b}[2Jb", "µ"].into_iter().collect();
        assert_eq!(names.iter().collect::<Vec<_>>(), ["D0", "", "a\u{fffd}[2Jb", "µ"]);
        assert_eq!((names.len(), &names[0], &names[1], &names[3]), (4, "D0", "", "µ"));
        assert!(Names::default().is_empty());
        assert_eq!(names, names.clone());
    }
}
