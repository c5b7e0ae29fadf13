//! Does the tree still say what docs/ARCHITECTURE.md says?
//!
//! Each file here holds a check as functions over text, the check of the real tree, and proof on small bad inputs that the
//! check can fail.

mod contents;
mod files;
mod imports;
mod pages;
mod rules;
mod source;
mod tree;
