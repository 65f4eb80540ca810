//! What a kernel author imports.
