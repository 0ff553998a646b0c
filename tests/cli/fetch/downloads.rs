//! Connections that break, lie, lead elsewhere or are slow.

use std::fs;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{PLAIN, Server, body, fails, fetch, fetched, send, send_part, sha256, table};
use crate::sandbox::Sandbox;

#[test]
fn a_download_that_is_cut_off_goes_on_where_it_stopped() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, before, stream| {
        let sent = if before < 2 { 100_000 } else { usize::MAX };
        send_part(stream, asked, "\"v1\"", &body(), sent);
    });
    table(
        &sandbox,
        &server.address,
        "/a",
        &format!("sha256 = \"{}\"\nbytes = 300000\n{PLAIN}", sha256(&body())),
    );
    let found = fetched(&sandbox);
    assert!(fs::read(sandbox.path("root/own/data.bin")).unwrap() == body());
    assert_eq!(
        (&found["files"][0]["verified"], found["files"][0]["sha256"].as_str()),
        (&true.into(), Some(&*sha256(&body())))
    );
    assert_eq!(server.asked(), ["GET /a", "GET /a bytes=100000-", "GET /a bytes=200000-"]);
    assert!(!sandbox.path("root/.fetch").exists());
    // what is there is not fetched again
    assert_eq!(fetched(&sandbox)["files"][0]["sha256"], Value::Null);
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn a_later_call_goes_on_and_a_changed_file_begins_anew() {
    let sandbox = Sandbox::new();
    let other: Vec<u8> = body().iter().map(|byte| byte ^ 1).collect();
    let expected = other.clone();
    let server = Server::new(move |asked, before, stream| match before {
        0 => send_part(stream, asked, "\"v1\"", &body(), 100_000),
        // it goes away until the first call has given up
        1..=2 => send(stream, "503 Service Unavailable", "Content-Length: 0\r\n", b""),
        _ => send_part(stream, asked, "\"v2\"", &other, usize::MAX),
    });
    table(&sandbox, &server.address, "/a", PLAIN);
    fails(&sandbox, &["503", "2 tries brought nothing new"]);
    let found = fetched(&sandbox);
    assert_eq!(found["files"][0]["verified"], false);
    assert!(fs::read(sandbox.path("root/own/data.bin")).unwrap() == expected);
    assert_eq!(server.asked().last().unwrap(), "GET /a bytes=100000-");
}

#[test]
fn a_server_is_asked_again_when_it_wants_to_be() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, before, stream| {
        let after = match asked.path.as_str() {
            "/busy" if before == 0 => "2",
            "/soon" if before == 0 => "0",
            "/long" => "3600",
            "/date" => "Fri, 31 Dec 2100 23:59:59 GMT",
            _ => return send_part(stream, asked, "\"v1\"", &body(), usize::MAX),
        };
        let headers = format!("Retry-After: {after}\r\nContent-Length: 0\r\n");
        send(stream, "429 Too Many Requests", &headers, b"");
    });
    // earlier tries would prolong the time for which it is busy
    for path in ["/long", "/date"] {
        table(&sandbox, &server.address, path, PLAIN);
        fails(&sandbox, &[path, "429 Too Many Requests, and is to be asked again in "]);
    }
    assert_eq!(server.asked(), ["GET /long", "GET /date"]);
    table(&sandbox, &server.address, "/busy", PLAIN);
    let begun = Instant::now();
    fetched(&sandbox);
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(server.asked()[2..], ["GET /busy", "GET /busy"]);
    // the pause between tries is longer than what the server asks for
    fs::remove_dir_all(sandbox.path("root")).unwrap();
    table(&sandbox, &server.address, "/soon", PLAIN);
    let log = String::from_utf8(fetch(&sandbox, &[]).stderr).unwrap();
    let says = log.contains("it is tried again in 1 seconds");
    assert!(says && !log.contains("as the server asks"), "{log}");
}

#[test]
fn wrong_bytes_are_refused_and_removed() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, before, stream| match before {
        0 => send_part(stream, asked, "\"v1\"", b"wrong", usize::MAX),
        _ => send_part(stream, asked, "\"v1\"", &body(), usize::MAX),
    });
    let sum = sha256(&body());
    table(&sandbox, &server.address, "/a", &format!("sha256 = \"{sum}\"\n{PLAIN}"));
    fails(&sandbox, &[&sum, &sha256(b"wrong"), "/a"]);
    fetched(&sandbox);
    assert_eq!(server.asked(), ["GET /a", "GET /a"]);
    // a table without a checksum: the command says so, and the sum that it saw
    fs::remove_dir_all(sandbox.path("root")).unwrap();
    table(&sandbox, &server.address, "/a", PLAIN);
    let output = String::from_utf8(fetch(&sandbox, &[]).stdout).unwrap();
    assert!(
        output.contains("NOT verified") && output.contains(&sum) && output.contains("CC0-1.0"),
        "{output}"
    );
}

/// The id that git gives to a file: of `hello`, `git hash-object` prints the one here.
#[test]
fn git_ids_are_checked() {
    const HELLO: &str = "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0";
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, before, stream| {
        // as long as the right bytes, then the right ones in two parts
        let (body, sent) = if before == 0 { (b"hallo", 5) } else { (b"hello", 3) };
        send_part(stream, asked, "\"v1\"", body, sent);
    });
    let pinned = format!("git = \"{}\"\n{PLAIN}", HELLO.to_uppercase());
    table(&sandbox, &server.address, "/a", &pinned);
    fails(&sandbox, &["/a", "git id is", "expected is B6FC4C62"]);
    let found = fetched(&sandbox);
    assert_eq!(found["files"][0]["verified"], true);
    assert_eq!(found["files"][0]["sha256"], sha256(b"hello"));
    assert_eq!(sandbox.read("root/own/data.bin"), "hello");
    assert_eq!(server.asked(), ["GET /a", "GET /a", "GET /a bytes=3-"]);
}

#[test]
fn redirects_are_followed_but_not_for_ever() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, _, stream| match asked.path.as_str() {
        "/moved" => send(stream, "302 Found", "Location: /a\r\nContent-Length: 0\r\n", b""),
        "/a" => send_part(stream, asked, "\"v1\"", &body(), usize::MAX),
        "/nowhere" => send(stream, "302 Found", "Content-Length: 0\r\n", b""),
        "/gone" => send(stream, "404 Not Found", "Content-Length: 4\r\n", b"gone"),
        _ => send(stream, "301 Moved Permanently", "Location: /loop\r\nContent-Length: 0\r\n", b""),
    });
    table(&sandbox, &server.address, "/loop", PLAIN);
    fails(&sandbox, &["/loop", "redirect"]);
    assert!(server.asked().len() < 20, "{:?}", server.asked());
    table(&sandbox, &server.address, "/gone", PLAIN);
    fails(&sandbox, &["/gone", "404"]);
    table(&sandbox, &server.address, "/nowhere", PLAIN);
    fails(&sandbox, &["/nowhere"]);
    table(&sandbox, &server.address, "/moved", PLAIN);
    fetched(&sandbox);
}

#[test]
fn a_server_that_is_slow_or_absent_ends_in_a_time_out() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, _, stream| {
        if asked.path == "/silent" {
            thread::sleep(Duration::from_secs(20));
        }
        send(stream, "200 OK", "Content-Length: 300000\r\n", &body()[..10]);
        thread::sleep(Duration::from_secs(20));
    });
    table(&sandbox, &server.address, "/stops", PLAIN);
    fails(&sandbox, &["/stops", "no byte in 0.5 seconds"]);
    table(&sandbox, &server.address, "/silent", PLAIN);
    fails(&sandbox, &["/silent", "timeout"]);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    table(&sandbox, &format!("http://{closed}"), "/a", PLAIN);
    fails(&sandbox, &[&closed.to_string(), "2 tries"]);
}

#[test]
fn lies_about_lengths_are_found() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, _, stream| {
        let length = match asked.path.as_str() {
            "/short" => 400_000,
            "/long" => 200_000,
            "/huge" => usize::MAX >> 1,
            _ => return send(stream, "200 OK", "", &body()),
        };
        send(stream, "200 OK", &format!("Content-Length: {length}\r\n"), &body());
    });
    let pinned = format!("sha256 = \"{}\"\nbytes = 300000\n{PLAIN}", sha256(&body()));
    table(&sandbox, &server.address, "/short", PLAIN);
    fails(&sandbox, &["/short", "cut off after 300000"]);
    table(&sandbox, &server.address, "/long", &pinned);
    fails(&sandbox, &["/long", "200000 bytes", "300000"]);
    table(&sandbox, &server.address, "/huge", PLAIN);
    fails(&sandbox, &["/huge", "the limit is 4294967296"]);
    // no length at all, and more than allowed
    table(&sandbox, &server.address, "/none", &format!("bytes = 1000\n{PLAIN}"));
    fails(&sandbox, &["/none", "more than 1000 bytes"]);
    table(&sandbox, &server.address, "/none", &pinned);
    fetched(&sandbox);
}
