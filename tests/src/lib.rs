//! File tests, corpus, conformance, end to end.
