use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use std::collections::hash_map::DefaultHasher;

use super::*;

/// A small generator, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn hash(map: &Rising<u64, u64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    map.hash(&mut hasher);
    hasher.finish()
}

fn without_holes(map: &Rising<u64, u64>) -> Rising<u64, u64> {
    let mut copy = Rising::default();
    for (key, value) in map.iter() {
        copy.insert(*key, *value);
    }
    copy
}

#[test]
fn it_answers_as_any_other_map_does() {
    for seed in 0..50 {
        let mut numbers = Numbers(seed);
        let mut map = Rising::default();
        let mut model = BTreeMap::new();
        let mut next = 0;
        for step in 0..2_000 {
            next += numbers.below(3);
            // Mostly a new highest key; now and then any other.
            let any = numbers.below(next + 1);
            match numbers.below(10) {
                0..4 => assert_eq!(map.insert(next, step), model.insert(next, step)),
                4 => assert_eq!(map.insert(any, step), model.insert(any, step)),
                5 => {
                    *map.get_or_default(any) += 1;
                    *model.entry(any).or_default() += 1;
                }
                6 => assert_eq!(map.get_mut(&any), model.get_mut(&any)),
                7 => assert_eq!(map.remove(&any), model.remove(&any)),
                _ => {
                    let oldest = model.keys().next().copied().unwrap_or(any);
                    assert_eq!(map.remove(&oldest), model.remove(&oldest));
                }
            }
            assert_eq!(map.len(), model.len());
            assert_eq!(map.contains_key(&any), model.contains_key(&any));
        }
        assert!(map.iter().eq(model.iter()));
        assert!(map.iter().rev().eq(model.iter().rev()));
        assert_eq!(format!("{map:?}"), format!("{model:?}"));
    }
}

#[test]
fn holes_do_not_count() {
    let mut map = Rising::default();
    for key in 0..20 {
        map.insert(key, key);
    }
    (1..10).for_each(|key| assert_eq!(map.remove(&key), Some(key)));
    let copy = without_holes(&map);
    assert_eq!(map, copy);
    assert_eq!(hash(&map), hash(&copy));
    map.remove(&10);
    assert_ne!(map, copy);
}

#[test]
fn one_that_stays_does_not_hold_the_room_of_all_that_leave() {
    let mut map = Rising::default();
    map.insert(0, 0);
    for key in 1..10_000 {
        map.insert(key, key);
        map.insert(key + 1, key);
        map.remove(&key);
        assert!(map.entries.len() <= 2 * map.len() + HOLES_KEPT);
    }
    assert_eq!(map.keys().copied().collect::<Vec<u64>>(), [0, 10_000]);
    map.clear();
    assert!(map.len() == 0 && map.values().next().is_none());
}
