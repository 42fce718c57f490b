//! A number of slots per key: the connections of an address, the event streams of an account, the delayed guesses of a
//! host.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// The slots of all keys. A key without taken slots has no entry.
#[derive(Debug)]
pub struct KeyedSlots<K> {
    max: usize,
    taken: Mutex<HashMap<K, usize>>,
}

impl<K: Hash + Eq + Clone> KeyedSlots<K> {
    pub fn new(max: usize) -> Arc<KeyedSlots<K>> {
        Arc::new(KeyedSlots { max, taken: Mutex::default() })
    }

    /// A slot of this key, if one is free.
    pub fn take(self: &Arc<Self>, key: K) -> Option<KeyedSlot<K>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&key) {
            Some(count) if *count >= self.max => return None,
            Some(count) => *count += 1,
            None if self.max == 0 => return None,
            None => _ = taken.insert(key.clone(), 1),
        }
        Some(KeyedSlot { slots: self.clone(), key })
    }
}

/// A taken slot. Dropping it frees the slot.
#[derive(Debug)]
pub struct KeyedSlot<K: Hash + Eq + Clone> {
    slots: Arc<KeyedSlots<K>>,
    key: K,
}

impl<K: Hash + Eq + Clone> Drop for KeyedSlot<K> {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_slots_of_its_own_and_gets_them_back() {
        let slots = KeyedSlots::new(2);
        let (first, second) = (slots.take("mei").unwrap(), slots.take("mei").unwrap());
        assert!(slots.take("mei").is_none());
        assert!(slots.take("lei").is_some());
        drop(first);
        let third = slots.take("mei");
        assert!(third.is_some() && slots.take("mei").is_none());
        drop((second, third));
        assert!(slots.taken.lock().unwrap().is_empty());
    }
}
