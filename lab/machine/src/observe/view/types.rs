//! The offsets of members of structures, by the image's types of DWARF.

use addr2line::gimli::{
    self, AttributeValue, Dwarf, EndianSlice, RunTimeEndian, SectionId, Unit, UnitOffset,
    constants as dw,
};
use anyhow::{Context as _, Result};
use object::{File, Object, ObjectSection};

type Reader<'image> = EndianSlice<'image, RunTimeEndian>;

/// The types of an image.
pub struct Types<'image> {
    dwarf: Dwarf<Reader<'image>>,
    units: Vec<Unit<Reader<'image>>>,
}

/// The most typedefs and qualifiers between a member and its structure.
const MOST_STEPS: usize = 16;

/// The answer to a question about a member.
#[derive(Debug, PartialEq)]
pub enum Member {
    /// The image has no such structure.
    UnknownType,
    /// The structure has no such member.
    Missing,
    /// Bytes from the structure's start.
    At(u64),
}

impl<'image> Types<'image> {
    /// Reads the units of an image's types.
    ///
    /// # Errors
    /// The tables are damaged.
    pub fn read(bytes: &'image [u8]) -> Result<Self> {
        const DAMAGED: &str = "the image's types cannot be read";
        let file = File::parse(bytes).context("the image is no ELF file")?;
        let endian =
            if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let section = |id: SectionId| {
            let data =
                file.section_by_name(id.name()).map_or(Ok(&[][..]), |section| section.data())?;
            object::Result::Ok(EndianSlice::new(data, endian))
        };
        let dwarf = Dwarf::load(section).context(DAMAGED)?;
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().context(DAMAGED)? {
            units.push(dwarf.unit(header).context(DAMAGED)?);
        }
        Ok(Self { dwarf, units })
    }

    /// The offset of a member of a structure, as `outer.inner`.
    ///
    /// # Errors
    /// The tables are damaged.
    pub fn member(&self, structure: &str, path: &str) -> Result<Member> {
        for unit in &self.units {
            if let Some(start) = self.structure(unit, structure)? {
                return Ok(self.offset(unit, start, path)?.map_or(Member::Missing, Member::At));
            }
        }
        Ok(Member::UnknownType)
    }

    /// The definition of a structure in a unit, by its tag.
    fn structure(&self, unit: &Unit<Reader<'_>>, name: &str) -> gimli::Result<Option<UnitOffset>> {
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let is_definition = entry.tag() == dw::DW_TAG_structure_type
                && entry.attr(dw::DW_AT_declaration).is_none();
            if is_definition && self.is_named(unit, entry, name)? {
                return Ok(Some(entry.offset()));
            }
        }
        Ok(None)
    }

    fn is_named(
        &self,
        unit: &Unit<Reader<'_>>,
        entry: &gimli::DebuggingInformationEntry<Reader<'_>>,
        name: &str,
    ) -> gimli::Result<bool> {
        let Some(own) = entry.attr_value(dw::DW_AT_name) else { return Ok(false) };
        Ok(self.dwarf.attr_string(unit, own)?.slice() == name.as_bytes())
    }

    /// The offset of the member at the end of a path.
    fn offset(
        &self,
        unit: &Unit<Reader<'_>>,
        structure: UnitOffset,
        path: &str,
    ) -> gimli::Result<Option<u64>> {
        let (mut structure, mut offset) = (structure, 0_u64);
        for name in path.split('.') {
            let Some((at, of)) = self.direct(unit, structure, name)? else { return Ok(None) };
            offset = offset.wrapping_add(at);
            structure = Self::without_names(unit, of)?;
        }
        Ok(Some(offset))
    }

    /// The offset and the type of a structure's own member.
    fn direct(
        &self,
        unit: &Unit<Reader<'_>>,
        structure: UnitOffset,
        name: &str,
    ) -> gimli::Result<Option<(u64, UnitOffset)>> {
        let mut tree = unit.entries_tree(Some(structure))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            if entry.tag() != dw::DW_TAG_member || !self.is_named(unit, entry, name)? {
                continue;
            }
            // Members of a union have no place.
            let at = entry.attr(dw::DW_AT_data_member_location);
            let at = at.and_then(gimli::Attribute::udata_value).unwrap_or(0);
            if let Some(AttributeValue::UnitRef(of)) = entry.attr_value(dw::DW_AT_type) {
                return Ok(Some((at, of)));
            }
        }
        Ok(None)
    }

    /// The type without names and qualifiers of its own.
    fn without_names(unit: &Unit<Reader<'_>>, of: UnitOffset) -> gimli::Result<UnitOffset> {
        let mut of = of;
        for _ in 0..MOST_STEPS {
            let entry = unit.entry(of)?;
            let is_name = matches!(
                entry.tag(),
                dw::DW_TAG_typedef | dw::DW_TAG_volatile_type | dw::DW_TAG_const_type
            );
            match entry.attr_value(dw::DW_AT_type) {
                Some(AttributeValue::UnitRef(next)) if is_name => of = next,
                _ => break,
            }
        }
        Ok(of)
    }
}
