//! Is what Prometheus gets OpenMetrics text to the last line, and does it count what happened?

use std::collections::BTreeMap;

use callonce::testing::app::App;

use super::{CHARGE, accepted, refused, settle};

/// One line of a family.
#[derive(Debug)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// The samples of each family, by its name.
type Families = BTreeMap<String, Vec<Sample>>;

/// Reads OpenMetrics text line by line; anything that is not as the format says fails the test.
fn read(text: &str) -> Families {
    let body = text.strip_suffix("# EOF\n").expect("the text ends with # EOF and a line end");
    let mut families = Families::new();
    let (mut current, mut kind) = (String::new(), String::new());
    for line in body.split_terminator('\n') {
        assert!(!line.is_empty() && !line.contains('\r'), "{line:?}");
        match line.strip_prefix("# ") {
            Some(description) => {
                let (word, rest) = description.split_once(' ').expect("a word and more");
                let (name, value) = rest.split_once(' ').expect("a name and more");
                match word {
                    "HELP" => {
                        assert_eq!(
                            families.insert(name.into(), vec![]).map(|old| old.len()),
                            None,
                            "{name} is there twice"
                        );
                        current = name.to_owned();
                        kind.clear();
                        assert!(value.ends_with('.'), "{line}");
                    }
                    "TYPE" => {
                        assert_eq!((name, kind.as_str()), (current.as_str(), ""), "{line}");
                        assert!(["counter", "gauge", "histogram"].contains(&value), "{line}");
                        kind = value.to_owned();
                    }
                    "UNIT" => assert!(name == current && current.ends_with(&format!("_{value}")), "{line}"),
                    other => panic!("{other} is no description: {line}"),
                }
            }
            None => {
                let sample = read_sample(line);
                let suffix =
                    sample.name.strip_prefix(&current).unwrap_or_else(|| panic!("{line} under {current}"));
                let suffixes: &[&str] = match kind.as_str() {
                    "counter" => &["_total"],
                    "gauge" => &[""],
                    "histogram" => &["_bucket", "_sum", "_count"],
                    other => panic!("{line} has the type {other}"),
                };
                assert!(suffixes.contains(&suffix), "{line} in a {kind}");
                assert!(sample.value.is_finite() && (kind == "gauge" || sample.value >= 0.0), "{line}");
                families.get_mut(&current).expect("its description came first").push(sample);
            }
        }
    }
    families
}

fn read_sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').expect("a series and a value");
    let (name, labels) = series.split_once('{').map_or((series, None), |(name, rest)| {
        (name, Some(rest.strip_suffix('}').expect("labels end with a brace")))
    });
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    assert!(is_name(name), "{line}");
    let mut read = BTreeMap::new();
    for label in labels.into_iter().flat_map(|labels| labels.split(',')) {
        let (label, value) = label.split_once("=\"").expect("a label and a value in quotes");
        let value = value.strip_suffix('"').expect("a value in quotes");
        assert!(is_name(label) && !value.contains(['"', '\\', '\n']), "{line}");
        assert_eq!(read.insert(label.to_owned(), value.to_owned()), None, "{line}");
    }
    Sample {
        name: name.to_owned(),
        labels: read,
        value: value.parse().unwrap_or_else(|_| panic!("no number: {line}")),
    }
}

fn scrape(app: &App<callonce::store::sqlite::SqliteStore>) -> Families {
    let answer = app.get("/metrics", &[]);
    assert_eq!(answer.status, 200);
    let content_type = answer.header("content-type");
    assert_eq!(content_type, Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    read(answer.text())
}

/// The value of the one sample of `family` that has these labels.
fn value(families: &Families, family: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let samples = families.get(family).unwrap_or_else(|| panic!("there is no {family}"));
    let fits = |sample: &&Sample| {
        labels.iter().all(|(name, value)| sample.labels.get(*name).map(String::as_str) == Some(*value))
    };
    let mut fitting = samples.iter().filter(fits).map(|sample| sample.value);
    let value = fitting.next();
    assert_eq!(fitting.next(), None, "{family} has several samples with {labels:?}");
    value
}

#[test]
fn a_server_that_did_nothing_yet_has_valid_metrics() {
    let app = App::start();
    let families = scrape(&app);
    for status in ["pending", "running", "succeeded", "failed"] {
        assert_eq!(value(&families, "callonce_calls", &[("status", status)]), Some(0.0));
    }
}

#[test]
fn what_happened_is_counted() {
    let app = App::start();
    settle(&app, "k", CHARGE);
    settle(&app, "k", CHARGE);
    settle(&app, "retried", r#"{"tool":"fail","args":{"retryable":true,"times":1}}"#);
    accepted(&app.post("retried", &[], r#"{"tool":"fail","args":{"retryable":true,"times":1}}"#));
    settle(&app, "retried", r#"{"tool":"fail","args":{"retryable":true,"times":1}}"#);
    settle(&app, "failed", r#"{"tool":"fail","args":{}}"#);
    refused(&app.post("k", &[], r#"{"tool":"charge","args":{"amount":1}}"#), 409, "idempotency_conflict");
    for method in ["BREW", "PROPFIND", "PUT"] {
        let bytes = callonce::testing::raw_http::request(method, "/livez", &[], b"");
        refused(&app.send(bytes), 405, "bad_request");
    }
    let families = scrape(&app);
    let is = |family: &str, labels: &[(&str, &str)], expected: f64| {
        assert_eq!(
            value(&families, &format!("callonce_{family}"), labels),
            Some(expected),
            "{family} {labels:?}"
        );
    };
    is("http_requests", &[("method", "POST"), ("status", "200")], 5.0);
    is("http_requests", &[("method", "POST"), ("status", "202")], 1.0);
    is("http_requests", &[("method", "POST"), ("status", "409")], 1.0);
    // Methods that somebody made up are one label, so nobody can fill the memory with them.
    is("http_requests", &[("method", "other"), ("status", "405")], 3.0);
    for (event, count) in
        [("created", 3.0), ("claimed", 4.0), ("succeeded", 2.0), ("failed", 2.0), ("retry_reset", 1.0)]
    {
        is("events", &[("event", event)], count);
    }
    is("tool_runs", &[("tool", "charge"), ("outcome", "succeeded")], 1.0);
    is("tool_runs", &[("tool", "fail"), ("outcome", "failed")], 2.0);
    is("conflicts", &[], 1.0);
    is("effects", &[], 1.0);
    is("held_calls", &[], 0.0);
    is("store_faults", &[], 0.0);
    is("calls", &[("status", "succeeded")], 2.0);
    is("calls", &[("status", "failed")], 1.0);
    assert!(value(&families, "callonce_replays", &[]) >= Some(1.0));
}

#[test]
fn histograms_rise_to_their_count() {
    let app = App::start();
    for n in 0..5 {
        settle(&app, &format!("k{n}"), CHARGE);
    }
    let families = scrape(&app);
    for (family, label, count) in
        [("callonce_append_seconds", None, 10.0), ("callonce_tool_seconds", Some("charge"), 5.0)]
    {
        let samples = &families[family];
        assert!(
            samples.iter().all(|sample| sample.labels.get("tool").map(String::as_str) == label),
            "{samples:?}"
        );
        let of = |suffix: &'static str| {
            samples.iter().filter(move |sample| sample.name == format!("{family}_{suffix}"))
        };
        assert_eq!(of("count").map(|sample| sample.value).collect::<Vec<_>>(), [count]);
        assert_eq!(of("sum").count(), 1);
        let buckets: Vec<_> =
            of("bucket").map(|sample| (sample.labels["le"].as_str(), sample.value)).collect();
        assert!(buckets.len() > 5 && buckets.is_sorted_by_key(|(_, value)| *value), "{buckets:?}");
        assert_eq!(buckets.last(), Some(&("+Inf", count)));
    }
}
