//! Is everything that was acknowledged still there? The head file remembers, beside the database, how far the log was
//! durable: its last position and that event's hash.
//!
//! SQLite cannot tell a log that lost its tail from one that never had it: a WAL that was deleted or cut is a shorter
//! history, and an old copy put back is a fine database. The head can, up to the last second. It has two slots, written in
//! turn and each with its own checksum, so a write that was cut short leaves the other. Each slot is a block of text of its
//! own on the disk, readable by people.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::options::DataLoss;
use super::paths;
use crate::domain::id::Position;
use crate::store::chain::ChainHash;

/// Bytes of a slot: a whole block of the disk, so that tearing one never touches the other.
const SLOT_BYTES: usize = 4096;
/// The first words of a slot, with the version of its format.
const TITLE: &str = "callonce head 1";

/// How far a log is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// The last event's position; 0 if there is none.
    pub(super) position: Position,
    /// That event's hash.
    pub(super) hash: ChainHash,
}

impl Head {
    /// Of an empty log.
    pub(super) const EMPTY: Self = Self { position: Position::START, hash: ChainHash::ROOT };

    /// A slot that says this.
    fn slot(&self) -> [u8; SLOT_BYTES] {
        let says = format!("{TITLE}\nposition {}\nhash {}\n", self.position, self.hash);
        let text = format!("{says}checksum {}\n", checksum(&says));
        let mut slot = [b' '; SLOT_BYTES];
        slot[..text.len()].copy_from_slice(text.as_bytes());
        slot[SLOT_BYTES - 1] = b'\n';
        slot
    }

    /// What a slot says, if it is whole.
    fn read(slot: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(slot).ok()?.lines();
        let title = lines.next().filter(|title| *title == TITLE)?;
        let position = lines.next()?.strip_prefix("position ")?;
        let hash = lines.next()?.strip_prefix("hash ")?;
        let sum = lines.next()?.strip_prefix("checksum ")?;
        if checksum(&format!("{title}\nposition {position}\nhash {hash}\n")) != sum {
            return None;
        }
        Some(Self { position: Position(u64::from_str(position).ok()?), hash: parse_hash(hash)? })
    }
}

/// What is wrong with a database that has `last` as its last event, and `hash_at_head` at the position of its head.
///
/// `head` is what [`HeadFile::read`] found, or what is wrong with the file.
pub(super) fn missing(
    head: &Result<Head, String>,
    last: Head,
    hash_at_head: Option<ChainHash>,
) -> Option<DataLoss> {
    match head {
        Err(problem) => Some(DataLoss::NoHead { has: last.position.0, problem: problem.clone() }),
        Ok(head) if head.position == Position::START => None,
        Ok(head) if last.position < head.position => {
            Some(DataLoss::Behind { has: last.position.0, head: head.position.0 })
        }
        Ok(head) if hash_at_head != Some(head.hash) => Some(DataLoss::Differs { head: head.position.0 }),
        Ok(_) => None,
    }
}

/// The head file of a database, open for writing.
#[derive(Debug)]
pub(super) struct HeadFile {
    file: File,
    /// The slot that is written next: the one that does not hold what is known.
    next: usize,
    written: Head,
}

impl HeadFile {
    /// Reads the head of the database at `path`; the inner error says what is wrong with the file, if it is not there or
    /// damaged.
    pub(super) fn read(path: &Path) -> io::Result<Result<Head, String>> {
        let bytes = match std::fs::read(file_name(path)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Err("is missing".into())),
            Err(error) => return Err(error),
        };
        let heads = bytes.chunks(SLOT_BYTES).take(2).filter_map(Head::read);
        Ok(heads.max_by_key(|head| head.position).ok_or_else(|| "is damaged".into()))
    }

    /// Writes a new head file for the database at `path` that says `head`, in place of any there is, and makes it durable.
    pub(super) fn create(path: &Path, head: Head) -> io::Result<Self> {
        let (target, new) = (file_name(path), paths::beside(path, "-head.new"));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&new)?;
        // Both slots from the start: later writes then need no space that a full disk could refuse.
        file.write_all_at(&head.slot(), 0)?;
        file.write_all_at(&head.slot(), SLOT_BYTES as u64)?;
        file.sync_all()?;
        std::fs::rename(&new, &target)?;
        File::open(paths::folder(path))?.sync_all()?;
        Ok(Self { file, next: 0, written: head })
    }

    /// Makes `head` durable; does nothing if it is so already.
    pub(super) fn write(&mut self, head: Head) -> io::Result<()> {
        if head == self.written {
            return Ok(());
        }
        self.write_slot(head)
    }

    /// Makes `head` durable in both slots: for the last time, when nothing else will be written over damage to one.
    pub(super) fn write_both(&mut self, head: Head) -> io::Result<()> {
        self.write_slot(head)?;
        self.write_slot(head)
    }

    fn write_slot(&mut self, head: Head) -> io::Result<()> {
        self.file.write_all_at(&head.slot(), (self.next * SLOT_BYTES) as u64)?;
        self.file.sync_data()?;
        self.next = 1 - self.next;
        self.written = head;
        Ok(())
    }
}

/// The head file of the database at `path`.
pub(super) fn file_name(path: &Path) -> PathBuf {
    paths::beside(path, "-head")
}

fn checksum(text: &str) -> String {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    ChainHash::from_bytes(hash).to_string()
}

fn parse_hash(hex: &str) -> Option<ChainHash> {
    let mut bytes = [0; 32];
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&hex[at..at + 2], 16).ok()?;
    }
    Some(ChainHash::from_bytes(bytes))
}
