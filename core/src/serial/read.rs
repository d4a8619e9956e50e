//! Reading plain objects: one tree for whatever comes in, and functions that take their members out
//! of it. A reader derived for each type, and once more for what its tag made of it, would be a
//! quarter of a WebAssembly module.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::{fmt, mem};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// What came in.
pub(super) enum Plain {
    /// Nothing has come.
    Missing,
    /// Null has.
    Nothing,
    Flag(bool),
    Number(i128),
    /// No member of ours is one.
    Fraction,
    Text(String),
    List(Vec<Plain>),
    Object(Vec<(String, Plain)>),
}

/// The first thing that does not fit. Readers note it and go on, and what they made is thrown away:
/// to stop at each member would be most of their code.
#[derive(Default)]
pub(super) struct Fault(Option<String>);

impl Fault {
    /// Notes why a value is not what it has to be.
    pub(super) fn note(&mut self, value: &Plain, why: &str) {
        let why = match value {
            Plain::Missing => "is missing",
            _ => why,
        };
        self.note_text(|| why.to_owned());
    }

    pub(super) fn note_word(&mut self, member: &str, word: &str) {
        self.note_text(|| format!("there is no {member} `{word}`"));
    }

    fn note_text(&mut self, why: impl FnOnce() -> String) {
        self.0.get_or_insert_with(why);
    }

    /// Says where it is, if it was noted since `clean`.
    fn place(&mut self, clean: bool, name: &str) {
        if let (true, Some(why)) = (clean, &mut self.0) {
            *why = format!("`{name}` {why}");
        }
    }
}

/// What can be made of a value.
pub(super) trait FromPlain: Sized {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self;
}

/// What can be made of an object, or of some members of one that has others.
pub(super) trait FromMembers: Sized {
    fn from_members(members: &mut Members) -> Self;
}

impl<T: FromMembers> FromPlain for T {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        let mut members = Members::of(value, fault);
        let made = T::from_members(&mut members);
        *fault = members.fault;
        made
    }
}

/// The whole of what came in.
pub(super) fn whole<'de, T: FromPlain, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let mut fault = Fault::default();
    let made = T::from_plain(Plain::deserialize(from)?, &mut fault);
    match fault.0 {
        None => Ok(made),
        Some(why) => Err(D::Error::custom(why)),
    }
}

/// The members of an object that were not taken yet.
pub(super) struct Members {
    list: Vec<(String, Plain)>,
    pub(super) fault: Fault,
}

impl Members {
    fn of(value: Plain, fault: &mut Fault) -> Self {
        let list = match value {
            Plain::Object(list) => list,
            other => {
                fault.note(&other, "is no object");
                Vec::new()
            }
        };
        Self {
            list,
            fault: mem::take(fault),
        }
    }

    /// A member, of a type that says what it is where it is missing.
    pub(super) fn take<T: FromPlain>(&mut self, name: &str) -> T {
        let clean = self.fault.0.is_none();
        let made = T::from_plain(self.find(name), &mut self.fault);
        self.fault.place(clean, name);
        made
    }

    /// A member that may be missing.
    pub(super) fn take_or<T: FromPlain>(&mut self, name: &str, default: T) -> T {
        match self.list.iter().any(|(found, _)| found == name) {
            true => self.take(name),
            false => default,
        }
    }

    fn find(&mut self, name: &str) -> Plain {
        let at = |list: &[(String, Plain)]| list.iter().position(|(found, _)| found == name);
        let found = at(&self.list).map(|index| self.list.swap_remove(index).1);
        if at(&self.list).is_some() {
            self.fault.note_text(|| "is there twice".to_owned());
        }
        found.unwrap_or(Plain::Missing)
    }
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Plain;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain value")
    }

    fn visit_unit<E>(self) -> Result<Plain, E> {
        Ok(Plain::Nothing)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Plain, E> {
        Ok(Plain::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Plain, E> {
        Ok(Plain::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Plain, E> {
        Ok(Plain::Number(number.into()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Plain, E> {
        Ok(Plain::Fraction)
    }

    fn visit_str<E>(self, text: &str) -> Result<Plain, E> {
        Ok(Plain::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Plain, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = from.next_element()? {
            list.push(value);
        }
        Ok(Plain::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Plain, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = from.next_entry()? {
            members.push(member);
        }
        Ok(Plain::Object(members))
    }
}
