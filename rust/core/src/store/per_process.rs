//! Store handle that survives a fork: a child process opens the store again.

use std::sync::Arc;

use crate::error::Result;
use crate::store::Store;
use crate::sync::Mutex;

/// A store that is opened again by the first call in a forked child.
#[derive(Debug)]
pub struct PerProcess {
    /// None once closed. The lock is held for moments and in no other; who forks while it is held
    /// leaves it taken in the child, so Python takes it under its own lock only, as its forks do.
    store: Mutex<Option<Arc<Store>>>,
}

impl PerProcess {
    /// Takes over a store that this process has opened.
    pub fn new(store: Store) -> Self {
        Self { store: Mutex::new(Some(Arc::new(store))) }
    }

    /// Returns the store of this process; none once it is closed, here or before the fork. One that
    /// was inherited is opened again by `in_child`, which is [`Store::in_child`] and what the
    /// caller does about its own locks meanwhile.
    ///
    /// # Errors
    /// Those of [`Store::in_child`].
    pub fn get(
        &self,
        in_child: impl FnOnce(&Store) -> Result<Store>,
    ) -> Result<Option<Arc<Store>>> {
        let found = self.store.lock().clone();
        let Some(inherited) = found.as_ref().filter(|store| !store.is_of_this_process()) else {
            return Ok(found);
        };
        let own = Arc::new(in_child(inherited)?);
        let mut store = self.store.lock();
        // another thread may have opened it first, or closed it
        if store.as_ref().is_some_and(|store| !store.is_of_this_process()) {
            std::mem::forget(store.replace(own));
        }
        Ok(store.clone())
    }

    /// Closes it and hands out the store of this process: the last who holds it saves its snapshot.
    pub fn close(&self) -> Option<Arc<Store>> {
        own(self.store.lock().take())
    }
}

impl Drop for PerProcess {
    fn drop(&mut self) {
        own(self.store.get_mut().take());
    }
}

/// Forgets a store of the parent, which may be half-way through a change.
fn own(store: Option<Arc<Store>>) -> Option<Arc<Store>> {
    let (own, inherited) = match store {
        Some(store) if !store.is_of_this_process() => (None, Some(store)),
        store => (store, None),
    };
    std::mem::forget(inherited);
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreOptions;

    #[test]
    fn a_child_opens_its_store_without_the_lock_and_with_all_of_the_memory() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions { memory_limit: Some(256 << 20), ..StoreOptions::default() };
        let mut inherited = Store::open(dir.path().to_str().unwrap(), options).unwrap();
        inherited.limit.set_held(0, 200 << 20);
        inherited.process = 0;
        let inherited = PerProcess::new(inherited);
        let in_child = |store: &Store| {
            assert!(inherited.store.try_lock().is_some(), "nobody waits for who opens it");
            store.in_child()
        };
        let own = inherited.get(in_child).unwrap().unwrap();
        own.limit.check("a call", 100 << 20).unwrap();
        let again = inherited.get(|_| unreachable!("it is open")).unwrap().unwrap();
        assert!(Arc::ptr_eq(&own, &again));
    }
}
