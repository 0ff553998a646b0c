//! Servers that lie about parts of files for which a table has no checksum.

use std::fs;
use std::time::{Duration, Instant};

use super::{PLAIN, Server, body, fails, fetched, send, send_part, sha256, table};
use crate::sandbox::Sandbox;

/// Bytes that are not those of [`body`], as many.
fn other() -> Vec<u8> {
    body().iter().map(|byte| byte ^ 1).collect()
}

#[test]
fn what_a_different_file_left_is_not_continued() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, before, stream| match (asked.path.as_str(), before) {
        ("/a", 0) => send_part(stream, asked, "\"same\"", &body(), 100_000),
        ("/b", _) => send_part(stream, asked, "\"same\"", &other(), usize::MAX),
        _ => send(stream, "503 Service Unavailable", "Content-Length: 0\r\n", b""),
    });
    table(&sandbox, &server.address, "/a", PLAIN);
    fails(&sandbox, &["503"]);
    table(&sandbox, &server.address, "/b", PLAIN);
    fetched(&sandbox);
    assert!(fs::read(sandbox.path("root/own/data.bin")).unwrap() == other());
    assert_eq!(server.asked().last().unwrap(), "GET /b");
    // a whole download that was not unpacked may be that of any file too
    fs::remove_dir_all(sandbox.path("root")).unwrap();
    fs::create_dir_all(sandbox.path("root/.fetch")).unwrap();
    fs::write(sandbox.path("root/.fetch/download"), body()).unwrap();
    fetched(&sandbox);
    assert!(fs::read(sandbox.path("root/own/data.bin")).unwrap() == other());
}

#[test]
fn parts_of_a_different_version_are_not_appended() {
    for lie in [
        // the version, its date, the size of the whole, the place and the end of the part, no version
        "ETag: \"v2\"\r\nContent-Range: bytes 100000-299999/300000",
        "ETag: \"v1\"\r\nLast-Modified: Tue, 02 Jan 2024 00:00:00 GMT\r\nContent-Range: bytes 100000-299999/300000",
        "ETag: \"v1\"\r\nContent-Range: bytes 100000-299999/400000",
        "ETag: \"v1\"\r\nContent-Range: bytes 99999-299998/300000",
        "ETag: \"v1\"\r\nContent-Range: bytes 100000-399999/300000",
        "Content-Range: bytes 100000-299999/300000",
        "ETag: \"v1\"",
    ] {
        let sandbox = Sandbox::new();
        let server = Server::new(move |asked, before, stream| {
            let dated = "ETag: \"v1\"\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Length: 300000\r\n";
            match before {
                0 => send(stream, "200 OK", dated, &body()[..100_000]),
                1 => {
                    let headers = format!("{lie}\r\nContent-Length: 200000\r\n");
                    send(stream, "206 Partial Content", &headers, &other()[100_000..]);
                }
                _ => send_part(stream, asked, "\"v2\"", &other(), usize::MAX),
            }
        });
        table(&sandbox, &server.address, "/a", PLAIN);
        fetched(&sandbox);
        assert!(fs::read(sandbox.path("root/own/data.bin")).unwrap() == other(), "{lie}");
        assert_eq!(server.asked(), ["GET /a", "GET /a bytes=100000-", "GET /a"], "{lie}");
    }
}

#[test]
fn a_coding_that_was_not_asked_for_is_refused() {
    let sandbox = Sandbox::new();
    let server = Server::new(|_, _, stream| {
        let headers = "Content-Encoding: gzip\r\nContent-Length: 300000\r\n";
        send(stream, "200 OK", headers, &body());
    });
    table(&sandbox, &server.address, "/a", PLAIN);
    fails(&sandbox, &["/a", "Content-Encoding: gzip", "only identity is taken"]);
    // a checksum says what is right: servers name the coding of files that end in .gz
    table(&sandbox, &server.address, "/a", &format!("sha256 = \"{}\"\n{PLAIN}", sha256(&body())));
    fetched(&sandbox);
}

#[test]
fn a_server_that_sends_a_byte_at_a_time_is_left() {
    let sandbox = Sandbox::new();
    let server = Server::new(|asked, _, stream| send_part(stream, asked, "\"v1\"", &body(), 1));
    let begun = Instant::now();
    table(&sandbox, &server.address, "/a", PLAIN);
    fails(&sandbox, &["2 tries brought nothing new, or too little"]);
    assert_eq!(server.asked(), ["GET /a", "GET /a bytes=1-"]);
    assert!(begun.elapsed() > Duration::from_millis(400), "no pause between them");
    // lies and cuts in turns are left too
    let server = Server::new(|asked, before, stream| match before % 2 {
        0 => send_part(stream, asked, "\"v1\"", &body(), 100_000),
        _ => send(stream, "206 Partial Content", "Content-Length: 1\r\n", b"x"),
    });
    table(&sandbox, &server.address, "/a", PLAIN);
    fails(&sandbox, &["tries brought nothing new"]);
    assert!(server.asked().len() < 6, "{:?}", server.asked());
}

#[test]
fn a_file_may_have_the_name_of_the_lock() {
    let sandbox = Sandbox::new();
    let server =
        Server::new(|asked, _, stream| send_part(stream, asked, "\"v1\"", &body(), usize::MAX));
    table(&sandbox, &server.address, "/a", PLAIN);
    let text = sandbox.read("sets.toml").replace("name = \"download\"", "name = \"lock\"");
    sandbox.write("sets.toml", &text);
    fetched(&sandbox);
    assert!(fs::read(sandbox.path("root/own/data.bin")).unwrap() == body());
    assert!(!sandbox.path("root/.fetch").exists());
}
