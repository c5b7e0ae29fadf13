//! Lets system calls of a running server fail, by strace.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use super::patience::PATIENCE;

/// A strace that is attached to a server; detached when this is dropped.
pub struct Injection {
    strace: Child,
    lines: Receiver<String>,
}

impl Injection {
    /// Attaches to all threads of this process. `fault` is in strace's words, which counts for each thread by itself.
    /// Nothing, and a word about it, where processes cannot be traced.
    pub fn into(pid: u32, fault: &str) -> Option<Self> {
        let calls = fault.split(':').next().unwrap_or_default();
        let mut command = Command::new("strace");
        command.args(["-f", "-p", &pid.to_string(), "-e", &format!("trace={calls}")]);
        command.args(["-e", &format!("inject={fault}")]).stderr(Stdio::piped());
        let spawned = command.spawn();
        let Ok(mut strace) = spawned else {
            eprintln!("skipped: there is no strace program on this machine");
            return None;
        };
        let stderr = BufReader::new(strace.stderr.take().expect("it is piped"));
        let (tell, lines) = channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        let injection = Self { strace, lines };
        match injection.lines.recv_timeout(PATIENCE) {
            Ok(line) if line.contains("attached") => Some(injection),
            other => {
                eprintln!("skipped: a process cannot be traced here: {other:?}");
                None
            }
        }
    }

    /// Waits until a system call was made to fail: without that, a test has shown nothing.
    pub fn has_struck(&self) {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("a system call was made to fail");
            if line.contains("(INJECTED)") {
                return;
            }
        }
    }
}

impl Drop for Injection {
    fn drop(&mut self) {
        // Killed, it would leave the server stopped for a moment at worst: the kernel detaches it.
        let _ = self.strace.kill();
        let _ = self.strace.wait();
    }
}
