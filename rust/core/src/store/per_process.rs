//! One store for each process that a fork makes of the one that opened it.

use std::sync::Arc;

use crate::error::Result;
use crate::store::Store;
use crate::sync::Mutex;

/// A store that is opened anew by the first call in a forked child.
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

    /// Returns the store of this process; none once it is closed, here or before the fork.
    ///
    /// # Errors
    /// Those of [`Store::in_child`].
    pub fn get(&self) -> Result<Option<Arc<Store>>> {
        let mut store = self.store.lock();
        if let Some(inherited) = store.as_ref().filter(|store| !store.is_of_this_process()) {
            let own = Arc::new(inherited.in_child()?);
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
