//! Which requests are hit: exactly those that were asked for.

use callonce::testing::raw_http::{Connection, request};

use super::upstream::{Upstream, ok};
use crate::harness::Proxy;

/// The numbers of the requests that were hit, of so many on connections of their own.
fn hit(proxy: &Proxy, requests: usize) -> Vec<u64> {
    for _ in 0..requests {
        let bytes = proxy.client().talk(&request("POST", "/pay", &["Connection: close"], b"1"));
        bytes.expect("it is closed, not reset");
    }
    numbers(proxy, requests)
}

fn numbers(proxy: &Proxy, requests: usize) -> Vec<u64> {
    let lines = proxy.evidence_of(requests);
    let hit = lines.iter().filter(|line| match line["mode"].as_str() {
        Some("drop-request") => true,
        Some("pass") => false,
        _ => panic!("neither: {line}"),
    });
    hit.map(|line| line["request"].as_u64().expect("a number")).collect()
}

#[test]
fn the_first_and_every_nth_are_exact() {
    let upstream = Upstream::answering(|_| ok("done"));
    for (options, expected) in [
        (["--first", "2"], vec![1, 2]),
        (["--first", "0"], vec![]),
        (["--every", "3"], vec![3, 6]),
        (["--every", "1"], vec![1, 2, 3, 4, 5, 6, 7]),
    ] {
        let args = [&["--mode", "drop-request"], &options[..]].concat();
        assert_eq!(hit(&Proxy::before(upstream.address, &args), 7), expected, "{options:?}");
    }
}

#[test]
fn a_share_is_drawn_again_from_its_seed() {
    let upstream = Upstream::answering(|_| ok("done"));
    let args = ["--mode", "drop-request", "--share", "0.5"];
    let proxy = Proxy::before(upstream.address, &args);
    let once = hit(&proxy, 64);
    assert!((1..64).contains(&once.len()), "{once:?}");
    // It says its seed, and that seed does it again.
    let words = proxy.words();
    let seed = words.iter().find_map(|line| Some(line.split_once("--seed ")?.1.to_owned()));
    let seed = seed.unwrap_or_else(|| panic!("no seed in {words:?}"));
    let again = |seed| Proxy::before(upstream.address, &[&args[..], &["--seed", seed]].concat());
    assert_eq!(hit(&again(&seed), 64), once);
    let other = (seed.parse::<u64>().expect("a number") + 1).to_string();
    assert_ne!(hit(&again(&other), 64), once);
}

#[test]
fn only_what_is_meant_is_counted() {
    let upstream = Upstream::answering(|_| ok("done"));
    let args =
        ["--mode", "drop-request", "--first", "1", "--only", "post", "--only", "PUT", "--path", "/pay"];
    let proxy = Proxy::before(upstream.address, &args);
    for (method, path) in [("GET", "/pay"), ("POST", "/"), ("DELETE", "/pay/1")] {
        assert_eq!(Connection::open(proxy.address).exchange(request(method, path, &[], b"")).status, 200);
    }
    for (method, is_hit) in [("PUT", true), ("POST", false)] {
        let answer = proxy.client().talk(&request(method, "/pay/1", &["Connection: close"], b""));
        assert_eq!(answer.expect("it is closed, not reset").is_empty(), is_hit, "{method}");
    }
    assert_eq!(numbers(&proxy, 5), [4]);
}

#[test]
fn the_service_as_a_whole_is_hit_unless_a_path_is_named() {
    let upstream = Upstream::answering(|_| ok("done"));
    for (options, is_hit) in [(&[][..], true), (&["--path", "/pay"], false)] {
        let proxy = Proxy::before(upstream.address, &[&["--mode", "drop-response"], options].concat());
        let answer = proxy.client().talk(&request("OPTIONS", "*", &["Connection: close"], b""));
        assert_eq!(answer.expect("it is closed, not reset").is_empty(), is_hit, "{options:?}");
        assert_eq!(upstream.sees().head[0], "options * http/1.1");
        let evidence = proxy.evidence();
        let mode = if is_hit { "drop-response" } else { "pass" };
        assert_eq!((&evidence["mode"], &evidence["path"]), (&mode.into(), &"*".into()));
    }
}
