//! The caller's memory: where answers go and where questions come from.
//!
//! A C caller promises that a pointer it passes is `NULL` or leads to what the header
//! says. That promise is all that can be had across this border; the types here are
//! made by nobody but such a caller, check for `NULL`, and keep to the promised size.

use std::ffi::{CStr, c_char};

use crate::abi::{Answer, Code};

/// A pointer to one or several `T` that the caller wants filled in.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T: Copy> Out<T> {
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Refuses `NULL`, for calls that must not do half their work.
    pub fn check(self) -> Answer {
        if self.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        Ok(())
    }

    pub fn put(self, value: T) -> Answer {
        self.check()?;
        // SAFETY: not NULL, so by the caller's promise there is room for one `T`.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// What the caller left there, such as a version or the size of a buffer.
    pub fn get(self) -> Answer<T> {
        self.check()?;
        // SAFETY: not NULL, so by the caller's promise there is a `T`, and NVML's
        // structures consist of numbers and pointers, for which all bits are valid.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Fills a buffer which the caller said has room for at least `items.len()`.
    pub fn fill(self, items: &[T]) -> Answer {
        self.check()?;
        for (i, item) in items.iter().enumerate() {
            // SAFETY: within the size that the caller gave for its buffer.
            unsafe { self.0.add(i).write_unaligned(*item) };
        }
        Ok(())
    }

    /// Fills a buffer as a driver does whose entries are longer than the header declares: each
    /// item is followed by `extra` zero bytes. The caller's buffer has to have room for them.
    pub fn fill_longer(self, items: &[T], extra: u32) -> Answer {
        if extra == 0 {
            return self.fill(items);
        }
        self.check()?;
        let mut to = self.0.cast::<u8>();
        for item in items {
            // SAFETY: this may write past the room that the caller declared, on purpose, as real
            // drivers did. It happens only in scenarios with this fault, whose callers have the
            // memory.
            unsafe {
                to.cast::<T>().write_unaligned(*item);
                to = to.add(size_of::<T>());
                to.write_bytes(0, extra as usize);
                to = to.add(extra as usize);
            }
        }
        Ok(())
    }

    /// Goes over the `count` entries of a table that the caller filled in part.
    pub fn update(self, count: usize, mut change: impl FnMut(T) -> T) -> Answer {
        self.check()?;
        for i in 0..count {
            // SAFETY: within the size that the caller gave for its table.
            unsafe {
                let entry = self.0.add(i);
                entry.write_unaligned(change(entry.read_unaligned()));
            }
        }
        Ok(())
    }

    /// Where the `U` begin that follow directly on the `T`.
    pub fn followed_by<U>(self) -> Out<U> {
        // SAFETY: one past the `T` that the caller promised.
        Out(unsafe { self.0.add(1) }.cast())
    }
}

impl Out<c_char> {
    /// A string with its terminator, or `INSUFFICIENT_SIZE` where it does not fit.
    pub fn put_text(self, room: u32, text: &str) -> Answer {
        self.check()?;
        let needed = text.len() + 1;
        if needed > room as usize {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        for (i, byte) in text.bytes().chain([0]).enumerate() {
            // SAFETY: `i < needed`, which is within the room that the caller gave.
            unsafe { self.0.add(i).write(byte.cast_signed()) };
        }
        Ok(())
    }
}

/// A C string from the caller.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    /// Its text; refuses `NULL` and what is no text.
    pub fn read(&self) -> Answer<&str> {
        if self.0.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: not NULL, so by the caller's promise a terminated string that lives
        // as long as the call, which `self` does not outlive.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| Code::INVALID_ARGUMENT)
    }
}

/// Characters for a field of fixed size: cut where too long, always terminated.
pub fn chars<const N: usize>(text: &str) -> [c_char; N] {
    let mut field = [0; N];
    for (to, from) in field.iter_mut().zip(text.bytes().take(N.saturating_sub(1))) {
        *to = from.cast_signed();
    }
    field
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;

    #[test]
    fn null_is_refused_everywhere() {
        let nowhere = Out::<u32>(null_mut());
        assert_eq!(nowhere.put(1), Err(Code::INVALID_ARGUMENT));
        assert_eq!(nowhere.get(), Err(Code::INVALID_ARGUMENT));
        assert_eq!(nowhere.fill(&[1]), Err(Code::INVALID_ARGUMENT));
        assert_eq!(Out(null_mut()).put_text(10, "x"), Err(Code::INVALID_ARGUMENT));
        assert_eq!(Text(null_mut()).read(), Err(Code::INVALID_ARGUMENT));
    }

    #[test]
    fn longer_entries_are_followed_by_zeros() {
        let mut room = [9_u32; 5];
        assert_eq!(Out(room.as_mut_ptr()).fill_longer(&[1, 2], 4), Ok(()));
        assert_eq!(room, [1, 0, 2, 0, 9]);
    }

    #[test]
    fn a_string_needs_room_for_its_terminator() {
        let mut room = [9; 4];
        let out = Out(room.as_mut_ptr());
        assert_eq!(out.put_text(3, "abc"), Err(Code::INSUFFICIENT_SIZE));
        assert_eq!(out.put_text(4, "abc"), Ok(()));
        assert_eq!(room, [97, 98, 99, 0]);
        assert_eq!(chars::<4>("abcdef"), [97, 98, 99, 0]);
    }
}
