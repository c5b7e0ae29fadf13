//! Who writes the head file? A thread of its own, so that no commit waits for a second fsync.

use std::io::ErrorKind;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::error::Fatal;
use super::head::{Head, HeadFile};

/// How often the head is written while the log grows. The promise is once a second; half of it leaves time for the fsync.
const EVERY: Duration = Duration::from_millis(500);

/// The thread that keeps the head file.
pub(super) struct HeadKeeper {
    latest: Arc<Mutex<Head>>,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl HeadKeeper {
    /// Starts the thread; `file` says `head`.
    pub(super) fn start(mut file: HeadFile, head: Head, fatal: Fatal) -> std::io::Result<Self> {
        let latest = Arc::new(Mutex::new(head));
        let shared = latest.clone();
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("store-head".into()).spawn(move || {
            let _guard = fatal.on_panic("the thread that keeps the head file");
            loop {
                let last = match stopped.recv_timeout(EVERY) {
                    Err(RecvTimeoutError::Timeout) => false,
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
                };
                let head = *shared.lock().unwrap_or_else(PoisonError::into_inner);
                match if last { file.write_both(head) } else { file.write(head) } {
                    Ok(()) => {}
                    // Both slots were written when the file was made, so only a file system that copies on write comes here.
                    Err(error) if error.kind() == ErrorKind::StorageFull => {
                        tracing::warn!("the head file could not be written: the disk is full");
                    }
                    Err(error) => return fatal.stop("writing the head file", &error),
                }
                if last {
                    return;
                }
            }
        })?;
        Ok(Self { latest, stop, thread })
    }

    /// Tells how far the log is durable.
    pub(super) fn publish(&self, head: Head) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = head;
    }

    /// Writes what was published last, stops the thread and waits for it.
    pub(super) fn stop(self) {
        drop(self.stop);
        // If it panicked, it has stopped the process.
        let _ = self.thread.join();
    }
}
