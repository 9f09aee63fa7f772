//! Writes the captures of a run as VCD files next to its page, for waveform viewers and
//! `chronoscope capture`.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::file;
use crate::error::Result;
use chronoscope_run::{CaseResult, Run, names::CAPTURE};

/// Longest file name in characters, without its extension; far below the limits of file systems.
const MAX_LENGTH: usize = 120;

/// Writes each case's capture to a file in the folder of `page`, and returns the paths of the
/// files.
///
/// # Errors
/// When a file cannot be written. Files written before the error remain.
pub fn write(run: &Run, page: &Path) -> Result<Vec<PathBuf>> {
    let stem = page.file_stem().unwrap_or_default().to_string_lossy();
    let mut known = BTreeSet::new();
    let mut files = Vec::new();
    for case in &run.cases {
        let Some(dump) = case.attachments.get(CAPTURE) else { continue };
        let name = file_stem(&stem, case);
        // Names that collide after shortening and replacing characters get a number.
        let numbered =
            |number: usize| if number == 1 { name.clone() } else { format!("{name}-{number}") };
        let name =
            (1..).map(numbered).find(|name| known.insert(name.clone())).unwrap_or(name.clone());
        let path = page.with_file_name(format!("{name}.vcd"));
        file::write(&path, dump)?;
        files.push(path);
    }
    Ok(files)
}

/// The file name without extension, as `7-switch-tandem-ibex-tasks-2-pins-yes`.
fn file_stem(stem: &str, case: &CaseResult) -> String {
    let words = format!("{stem} {} {} {}", case.experiment, case.target, case.label);
    let parts =
        words.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_.".contains(letter));
    let name = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    name.chars().take(MAX_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::*;
    use chronoscope_run::sample;

    #[test]
    fn files_are_named_by_run_and_case() {
        let folder = env::temp_dir().join(format!("chronoscope-captures-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut run = sample::run();
        run.cases.truncate(2);
        for case in &mut run.cases {
            case.label = "pair=thread-thread pins=yes".into();
            case.attachments.insert(CAPTURE.into(), "$enddefinitions $end\n".to_owned());
        }
        let files = write(&run, &folder.join("7.html")).unwrap();
        let names: Vec<_> =
            files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
        let name = "7-switch-linux-host-pair-thread-thread-pins-yes";
        assert_eq!(names, [format!("{name}.vcd"), format!("{name}-2.vcd")]);
        assert!(files.iter().all(|file| fs::read_to_string(file).unwrap().starts_with("$enddef")));
        fs::remove_dir_all(folder).unwrap();
    }
}
