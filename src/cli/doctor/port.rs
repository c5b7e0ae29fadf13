//! Could a server listen there? And if somebody does, who?

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

use super::check::Check;
use super::database::Held;
use crate::cli::exit::Exit;

const NAME: &str = "port";
/// What `/proc/net/tcp` calls a socket that listens.
const LISTENS: &str = "0A";

/// Looks at the address, where the database is held by `holder`.
pub(super) fn check(address: SocketAddr, holder: Option<Held>) -> Check {
    match try_bind(address) {
        Ok(()) => free(address),
        Err(error) if error.kind() == ErrorKind::AddrInUse => in_use(address, holder, &owners(address)),
        Err(error) => {
            let to_do = if error.kind() == ErrorKind::PermissionDenied {
                "ports below 1024 need a privilege; take a higher one: --listen"
            } else {
                "name an address of this machine: --listen"
            };
            Check::problem(NAME, Exit::Config, format!("{address}: cannot listen there: {error}"), to_do)
        }
    }
}

/// Binds without listening, so that a server that starts at this moment is not in the way of anything.
fn try_bind(address: SocketAddr) -> std::io::Result<()> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)
}

fn free(address: SocketAddr) -> Check {
    match address.ip().is_loopback() {
        true => Check::ok(NAME, format!("{address} is free")),
        false => Check::warning(
            NAME,
            format!("{address} is free, and others can reach it: callonce asks nobody who they are"),
            "listen on loopback, behind a gateway that does",
        ),
    }
}

fn in_use(address: SocketAddr, holder: Option<Held>, owners: &[u32]) -> Check {
    let who: Vec<_> = owners.iter().map(|pid| named(*pid)).collect();
    let who =
        if who.is_empty() { "a process that cannot be seen from here".to_owned() } else { who.join(" and ") };
    match holder {
        Some(Held { pid: Some(pid) }) if owners.contains(&pid) => {
            Check::ok(NAME, format!("the server that has the database listens on {address}"))
        }
        // That server has started, and need not do so again.
        Some(_) => Check::warning(
            NAME,
            format!("{address} is in use by {who}, while a server has the database"),
            "if that server listens elsewhere, name its address here: --listen",
        ),
        None => Check::problem(
            NAME,
            Exit::Config,
            format!("{address} is in use by {who}"),
            "stop it, or let the server listen elsewhere: --listen",
        ),
    }
}

/// The processes that listen there, as far as this user may see them.
fn owners(address: SocketAddr) -> Vec<u32> {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| std::fs::read_to_string(table).unwrap_or_default());
    let sockets: Vec<_> = tables.iter().flat_map(|table| listening(table, address)).collect();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut owners: Vec<u32> = pids.filter(|pid| has_one_of(*pid, &sockets)).collect();
    owners.sort_unstable();
    owners
}

/// The sockets, by their inodes, in a table of the kernel that listen where `address` cannot be taken then.
fn listening(table: &str, address: SocketAddr) -> Vec<String> {
    let inode = |line: &str| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        let (local, port) = fields.get(1)?.split_once(':')?;
        let same_port = u16::from_str_radix(port, 16) == Ok(address.port());
        (same_port && meets(local, address.ip()) && *fields.get(3)? == LISTENS)
            .then(|| fields.get(9).map(|inode| format!("socket:[{inode}]")))?
    };
    table.lines().filter_map(inode).collect()
}

/// Whether a local address, as the kernel writes it, and `ip` are in each other's way.
fn meets(local: &str, ip: IpAddr) -> bool {
    let any = local.bytes().all(|digit| digit == b'0');
    let same = match (local.len(), ip) {
        (8, IpAddr::V4(ip)) => {
            u32::from_str_radix(local, 16).is_ok_and(|local| Ipv4Addr::from(local.swap_bytes()) == ip)
        }
        // Written in words of the machine's own order; the port is enough.
        (32, IpAddr::V6(_)) => true,
        _ => false,
    };
    any || same || ip.is_unspecified()
}

fn has_one_of(pid: u32, sockets: &[String]) -> bool {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links.any(|link| link.to_str().is_some_and(|link| sockets.iter().any(|socket| socket == link)))
}

fn named(pid: u32) -> String {
    match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("process {pid} ({})", name.trim()),
        Err(_) => format!("process {pid}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check::State;

    #[test]
    fn only_what_is_in_the_way_is_found() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0\n\
            1: 0200007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0\n\
            2: 00000000:1F92 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1 0 100 0\n\
            3: 0100007F:1F91 0100007F:AAAA 01 00000000:00000000 00:00000000 00000000     0        0 444 1 0 100 0\n";
        for (address, found) in [
            ("127.0.0.1:8081", &["socket:[111]"][..]),
            ("127.0.0.2:8081", &["socket:[222]"]),
            ("127.0.0.3:8081", &[]),
            ("0.0.0.0:8081", &["socket:[111]", "socket:[222]"]),
            ("127.0.0.1:8082", &["socket:[333]"]),
            ("127.0.0.1:8083", &[]),
        ] {
            assert_eq!(listening(table, address.parse().unwrap()), found, "{address}");
        }
    }

    #[test]
    fn a_port_is_in_the_way_unless_it_is_the_servers_own() {
        let address = "127.0.0.1:8081".parse().unwrap();
        let holder = Some(Held { pid: Some(7) });
        assert_eq!(in_use(address, None, &[7]).state, State::Problem(Exit::Config));
        assert_eq!(in_use(address, holder, &[6, 7]).state, State::Ok);
        assert_eq!(in_use(address, holder, &[6]).state, State::Warning);
        assert_eq!(in_use(address, holder, &[]).state, State::Warning);
        assert_eq!(in_use(address, Some(Held { pid: None }), &[7]).state, State::Warning);
    }
}
