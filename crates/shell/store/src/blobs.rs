//! Blobs: content under the hash of its bytes.
//!
//! # Model
//! A blob never changes, so a second write is a no-op, and every read proves that it is whole. In
//! files it lies at `<session dir>/blobs/<hash>`.
//!
//! # Not here
//! Removing blobs without a reference: [`crate::collect`]. Deciding which content becomes a blob:
//! `dormouse-drive`.

use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_system::{Access, FileError, Files, OptionalFile as _};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest blob in bytes that is read back: 1 GiB, more than any tool result, and a bound on the
/// memory that a damaged or planted file can take.
pub const MAX_BLOB: u64 = 1024 * 1024 * 1024;

/// Reason that a blob could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// There is none with this hash.
    #[error("there is no blob {hash}")]
    Missing {
        /// The hash asked for.
        hash: Hash,
    },
    /// Its bytes are not those it was stored with.
    #[error("blob {hash} is damaged: its content has the hash {found}")]
    Corrupt {
        /// The hash asked for.
        hash: Hash,
        /// The hash of the bytes found.
        found: Hash,
    },
    /// The file system refused to read or write it.
    #[error("failed to access blob {hash}")]
    File {
        /// The hash of the blob.
        hash: Hash,
        /// The error of the operating system.
        #[source]
        source: FileError,
    },
}

/// A store of blobs, on disk or in memory.
pub trait Blobs: fmt::Debug + Send + Sync {
    /// Stores the bytes durably and returns their hash.
    fn put(&self, bytes: &[u8]) -> Result<Hash, BlobError>;

    /// The bytes with this hash.
    fn get(&self, hash: &Hash) -> Result<Bytes, BlobError>;

    /// True if a blob with this hash exists; its content is not verified.
    fn contains(&self, hash: &Hash) -> Result<bool, BlobError>;
}

/// Blobs in the directory of a session.
#[derive(Clone, Debug)]
pub struct FileBlobs {
    files: Arc<dyn Files>,
    folder: PathBuf,
}

impl FileBlobs {
    /// The blobs of the session whose directory is given.
    pub fn new(files: Arc<dyn Files>, session_dir: &Path) -> Self {
        Self {
            files,
            folder: session_dir.join("blobs"),
        }
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        self.folder.join(hash.to_string())
    }
}

impl Blobs for FileBlobs {
    fn put(&self, bytes: &[u8]) -> Result<Hash, BlobError> {
        let hash = Hash::of(bytes);
        // Read in full, not only looked for: a damaged blob must not count as stored.
        match self.get(&hash) {
            Ok(_) => return Ok(hash),
            // A damaged blob is repaired with the bytes at hand.
            Err(BlobError::Missing { .. } | BlobError::Corrupt { .. }) => {}
            Err(error) => return Err(error),
        }
        let stored = self
            .files
            .create_dir_all(&self.folder, Access::Private)
            .and_then(|()| {
                self.files
                    .replace(&self.path(&hash), bytes, Access::Private)
            });
        match stored {
            Ok(()) => Ok(hash),
            Err(source) => Err(BlobError::File { hash, source }),
        }
    }

    fn get(&self, hash: &Hash) -> Result<Bytes, BlobError> {
        let read = self.files.read(&self.path(hash), MAX_BLOB).optional();
        let content = read.map_err(|source| BlobError::File {
            hash: *hash,
            source,
        })?;
        verified(hash, content)
    }

    fn contains(&self, hash: &Hash) -> Result<bool, BlobError> {
        match self.files.metadata(&self.path(hash)).optional() {
            Ok(found) => Ok(found.is_some()),
            Err(source) => Err(BlobError::File {
                hash: *hash,
                source,
            }),
        }
    }
}

fn verified(hash: &Hash, content: Option<Bytes>) -> Result<Bytes, BlobError> {
    let bytes = content.ok_or(BlobError::Missing { hash: *hash })?;
    let found = Hash::of(&bytes);
    if found == *hash {
        Ok(bytes)
    } else {
        Err(BlobError::Corrupt { hash: *hash, found })
    }
}

/// Blobs in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryBlobs {
    blobs: Arc<Mutex<BTreeMap<Hash, Bytes>>>,
}

impl MemoryBlobs {
    fn find(&self, hash: &Hash) -> Option<Bytes> {
        let blobs = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
        blobs.get(hash).cloned()
    }
}

impl Blobs for MemoryBlobs {
    fn put(&self, bytes: &[u8]) -> Result<Hash, BlobError> {
        let hash = Hash::of(bytes);
        let mut blobs = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
        blobs
            .entry(hash)
            .or_insert_with(|| Bytes::copy_from_slice(bytes));
        Ok(hash)
    }

    fn get(&self, hash: &Hash) -> Result<Bytes, BlobError> {
        verified(hash, self.find(hash))
    }

    fn contains(&self, hash: &Hash) -> Result<bool, BlobError> {
        Ok(self.find(hash).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::MemoryFiles;

    fn contract(blobs: &dyn Blobs) {
        let hash = blobs.put(b"some bytes").unwrap();
        assert_eq!(blobs.put(b"some bytes").unwrap(), hash);
        assert_eq!(blobs.get(&hash).unwrap(), "some bytes");
        assert!(blobs.contains(&hash).unwrap());
        let other = Hash::of(b"other");
        assert!(!blobs.contains(&other).unwrap());
        assert!(matches!(blobs.get(&other), Err(BlobError::Missing { hash }) if hash == other));
        let empty = blobs.put(b"").unwrap();
        assert_eq!(blobs.get(&empty).unwrap(), "");
    }

    #[test]
    fn both_stores_keep_the_contract() {
        contract(&MemoryBlobs::default());
        let files = MemoryFiles::default();
        contract(&FileBlobs::new(Arc::new(files), "/s".as_ref()));
    }

    #[test]
    fn damage_is_noticed_and_mended_by_the_next_put() {
        let files = MemoryFiles::default();
        let blobs = FileBlobs::new(Arc::new(files.clone()), "/s".as_ref());
        let hash = blobs.put(b"right").unwrap();
        files.put(format!("/s/blobs/{hash}"), "wrong");
        let found = Hash::of(b"wrong");
        assert!(
            matches!(blobs.get(&hash), Err(BlobError::Corrupt { found: is, .. }) if is == found)
        );
        assert_eq!(blobs.put(b"right").unwrap(), hash);
        assert_eq!(blobs.get(&hash).unwrap(), "right");
    }

    #[test]
    fn a_power_cut_after_put_loses_nothing() {
        let files = MemoryFiles::default();
        let blobs = FileBlobs::new(Arc::new(files.clone()), "/s".as_ref());
        let hash = blobs.put(b"kept").unwrap();
        files.crash();
        assert_eq!(blobs.get(&hash).unwrap(), "kept");
    }
}
