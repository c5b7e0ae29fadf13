//! A process without a file descriptor left: the accept loop waits and goes on.
use std::fs::File;
use std::process::Command;

use axum::Router;
use axum::routing::get;
use callonce::http::limits::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};

use super::{ABSURD, Client, Server, fact};

/// Set in the process that is to run out, so that the limit starves no other test.
const STARVE: &str = "CALLONCE_TEST_STARVE";
/// Descriptors the starving process may open beyond those it has.
const SPARE: u64 = 4;
/// Clients that are there before the server has a descriptor for each.
const CLIENTS: usize = 20;

#[test]
fn serving_goes_on_once_there_are_descriptors_again() {
    if std::env::var_os(STARVE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(starve());
    }
    let name = "descriptors::serving_goes_on_once_there_are_descriptors_again";
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(STARVE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

async fn starve() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    // The kernel completes these connections; the server accepts them when it can.
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let stream = TcpStream::connect(address).await.expect("it listens");
        clients.push(Client { stream, unread: Vec::new() });
    }
    let highest = std::fs::read_dir("/proc/self/fd").expect("Linux").count() as u64;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(highest + SPARE), ..limit })
        .expect("a limit may be lowered");

    let app = Router::new().route("/", get(|| async { "hello" }));
    let server = Server::start_on(listener, app, Limits::default(), ABSURD);
    fact("the descriptors run out", async {
        while File::open("/dev/null").is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    for mut client in clients {
        assert_eq!(client.get("/").await.status, 200, "each gets its turn as those before it go");
    }
    assert_eq!(server.stop().await.cut, 0);
}
