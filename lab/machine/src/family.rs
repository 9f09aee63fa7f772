//! Families of machines: the rows of the table in `machines`. Each family is in a module of its own; this
//! one knows none of them.

use anyhow::Result;

use super::{Description, Machine, description::Defaults, images::Images};
use chronoscope_run::Target;

/// Machines of one construction, such as all emulated chips, with the state that they share.
pub(super) trait Family {
    /// Describes the machine of a target; `None` if the target is of another family.
    ///
    /// # Errors
    /// The target is of the family, but there is no such machine, or the image does not fit it.
    fn describe(&self, images: &Images, target: &Target) -> Result<Option<Description>>;

    /// Opens the machine of a target; `None` if the target is of another family. Starts nothing.
    ///
    /// # Errors
    /// As [`describe`](Self::describe).
    fn open<'m>(
        &'m self,
        images: &'m Images,
        target: &Target,
    ) -> Result<Option<Box<dyn Machine + 'm>>>;

    /// All targets that can be listed, as `kernel@machine`.
    fn targets(&self, _images: &Images) -> Vec<String> {
        Vec::new()
    }

    /// The form of a target on the user's own hardware, and a phrase that explains it; `None` if the
    /// targets can be listed.
    fn form(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Returns whether the machines run images of the user's: [`Target::image`].
    fn takes_images(&self) -> bool {
        false
    }

    /// Tables of defaults of experiments' parameters, where they differ from the experiments' own.
    /// The first table with a row for a parameter decides.
    fn defaults(&self) -> &'static [&'static Defaults];
}
