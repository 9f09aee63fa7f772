//! The JSON Schema of a run, generated from its types.

use schemars::{Schema, generate::SchemaSettings};

use crate::Run;

/// Returns the JSON Schema (draft 2020-12) of a run as this version writes it. The descriptions are
/// the comments of the types.
pub fn json_schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<Run>()
}
