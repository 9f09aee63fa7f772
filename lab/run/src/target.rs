//! Targets: a kernel on a machine. The module knows the form of a target's name, and no machine.

use std::{fmt, path::PathBuf, str::FromStr};

/// The reason why a text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The text has no kernel or no machine.
    #[error("`{0}` is not a target: write kernel@machine, as linux@host")]
    NotATarget(String),
    /// The text has no image or no machine.
    #[error("`{0}` is not a target: write name=image@machine, as mine=app.elf@cortex-m4")]
    NotAnImage(String),
    /// The name of an image is empty, or has other characters.
    #[error("`{name}` in `{text}` is no name: write letters, digits, -, _ and dots")]
    NotAName {
        /// The name.
        name: String,
        /// The whole text.
        text: String,
    },
}

/// A target, written `kernel@machine`, or `name=image@machine` with an image of the user's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The name of the kernel, or of the given image.
    pub kernel: String,
    /// The name of the machine.
    pub machine: String,
    /// The image to run instead of the kernel's own. The image is no part of the target's name, so
    /// that two builds of a kernel can be compared.
    pub image: Option<PathBuf>,
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        if let Some((name, rest)) = text.split_once('=').filter(|(name, _)| !name.contains('@')) {
            return with_image(text, name, rest);
        }
        match text.split_once('@') {
            Some((kernel, machine)) if !kernel.is_empty() && !machine.is_empty() => {
                Ok(Self { kernel: kernel.to_owned(), machine: machine.to_owned(), image: None })
            }
            _ => Err(TargetError::NotATarget(text.to_owned())),
        }
    }
}

/// Parses `name=image@machine`. The machine follows the last `@`, as a path may contain others.
fn with_image(text: &str, name: &str, rest: &str) -> Result<Target, TargetError> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    match rest.rsplit_once('@') {
        Some((image, machine)) if !image.is_empty() && !machine.is_empty() => {
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(TargetError::NotAName { name: name.to_owned(), text: text.to_owned() });
            }
            Ok(Target {
                kernel: name.to_owned(),
                machine: machine.to_owned(),
                image: Some(image.into()),
            })
        }
        _ => Err(TargetError::NotAnImage(text.to_owned())),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.kernel, self.machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_no_part_of_the_name() {
        let target: Target = "mine=build/a@b/app.elf@cortex-m4".parse().unwrap();
        assert_eq!(target.to_string(), "mine@cortex-m4");
        assert_eq!(target.image, Some("build/a@b/app.elf".into()));
        let serial: Target = "board@serial:/dev/by-id/a=b".parse().unwrap();
        assert_eq!(serial.image, None);
        for wrong in ["=app@host", "mine=@host", "mine=app", "mine=app@", "a b=app@host", "=@"] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }
}
