//! #[kernel].
