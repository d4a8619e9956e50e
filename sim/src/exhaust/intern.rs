//! Parts of states, each kept once and named by a number (SPIN's collapse compression): a state is a handful of
//! numbers then, it is compared without hash collisions, and what a part does is computed once.

use std::hash::{BuildHasher, Hash};
use std::rc::Rc;

use hashbrown::{DefaultHashBuilder, HashTable};

/// All values of one kind that were seen, numbered in the order of their discovery.
pub struct Interner<T> {
    numbers: HashTable<u32>,
    values: Vec<Rc<T>>,
    hasher: DefaultHashBuilder,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self {
            numbers: HashTable::new(),
            values: Vec::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl<T: Hash + Eq> Interner<T> {
    /// The number of this value.
    pub fn number(&mut self, value: Rc<T>) -> u32 {
        let hash = self.hasher.hash_one(&*value);
        let (values, hasher) = (&self.values, &self.hasher);
        let entry = self.numbers.entry(
            hash,
            |number| values[*number as usize] == value,
            |number| hasher.hash_one(&*values[*number as usize]),
        );
        let next = u32::try_from(values.len()).expect("fewer than four thousand million parts");
        let number = *entry.or_insert(next).get();
        if number == next {
            self.values.push(value);
        }
        number
    }

    /// The value of this number.
    pub fn value(&self, number: u32) -> &Rc<T> {
        &self.values[number as usize]
    }

    /// How many values were seen.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// A part of a state that is being worked on.
    pub fn hold(&self, number: u32) -> Held<T> {
        Held {
            number: Some(number),
            value: self.value(number).clone(),
        }
    }

    /// The number of a part after the work.
    pub fn release(&mut self, held: Held<T>) -> u32 {
        match held.number {
            Some(number) => number,
            None => self.number(held.value),
        }
    }
}

/// A part of a state, copied when it is first changed.
#[derive(Clone)]
pub struct Held<T> {
    number: Option<u32>,
    value: Rc<T>,
}

impl<T: Clone> Held<T> {
    /// A part that no state has yet.
    pub fn new(value: T) -> Self {
        Self {
            number: None,
            value: Rc::new(value),
        }
    }

    /// To change it.
    pub fn change(&mut self) -> &mut T {
        self.number = None;
        Rc::make_mut(&mut self.value)
    }
}

impl<T> std::ops::Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
