//! Making symbols of a shared library impossible to find.

/// Where things are in a 64-bit ELF file.
const SECTION_TABLE: usize = 0x28;
const SECTION_COUNT: usize = 0x3c;
const SECTION_SIZE: usize = 0x40;
const DYNAMIC_SYMBOLS: u32 = 11;

/// Changes the first letter of each dynamic symbol that is to be hidden. The loader
/// finds a name through its hash and then compares it, so neither the old nor the new
/// name can be found.
pub fn hide_symbols(
    library: &mut [u8],
    is_hidden: impl Fn(&str) -> bool,
) -> Result<(), &'static str> {
    let names = dynamic_names(library).ok_or("it has no dynamic symbols")?;
    let table = library.get_mut(names).ok_or("its symbol names are out of bounds")?;
    for name in table.split_mut(|byte| *byte == 0) {
        let is_hit =
            str::from_utf8(name).is_ok_and(|name| name.starts_with("nvml") && is_hidden(name));
        if let (true, Some(first)) = (is_hit, name.first_mut()) {
            *first = b'x';
        }
    }
    Ok(())
}

/// The bytes of the string table that the dynamic symbols use.
fn dynamic_names(library: &[u8]) -> Option<std::ops::Range<usize>> {
    if !library.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = usize::try_from(u64_at(library, SECTION_TABLE)?).ok()?;
    let section = |index: usize| table.checked_add(index.checked_mul(SECTION_SIZE)?);
    let symbols = (0..usize::from(u16_at(library, SECTION_COUNT)?))
        .filter_map(section)
        .find(|at| u32_at(library, at + 4) == Some(DYNAMIC_SYMBOLS))?;
    let strings = section(usize::try_from(u32_at(library, symbols + 0x28)?).ok()?)?;
    let begin = usize::try_from(u64_at(library, strings + 0x18)?).ok()?;
    let length = usize::try_from(u64_at(library, strings + 0x20)?).ok()?;
    Some(begin..begin.checked_add(length)?)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_refused() {
        for bytes in [&b""[..], b"#!/bin/sh", b"\x7fELF\x02\x01", &[0x7f; 100]] {
            assert!(hide_symbols(&mut bytes.to_vec(), |_| true).is_err());
        }
    }
}
