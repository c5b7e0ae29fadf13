//! The suite that every store passes.

use callonce::store::memory::MemoryStore;

use crate::support::Place;

callonce::store_contract!(memory, (MemoryStore::new(), ()));
callonce::store_contract!(sqlite, {
    let place = Place::new();
    (place.open(), place)
});
