//! Integration tests of the memory directory's meaning.

mod dreams_of_real_folders;
mod material;
