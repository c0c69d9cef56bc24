//! Integration tests of the shell.
