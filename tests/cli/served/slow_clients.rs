//! Clients that send or read slowly.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use dsokr::serve::Limits;
use serde_json::json;

use super::clients::local;
use super::{TEXT, answer, send, trained};

#[test]
fn slow_clients_are_given_up() {
    let short = Duration::from_millis(300);
    let limits = Limits { head: short, request: short, connections: 4, ..Limits::default() };
    let address = local(&trained(), limits);
    // more slow clients than connections: each is closed in turn, and the next one is served
    let mut slow: Vec<TcpStream> = Vec::new();
    for _ in 0..6 {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost:").unwrap();
        slow.push(stream);
    }
    assert_eq!(send(&address, "GET", "/", "", b"").status, 200);
    let mut stream = TcpStream::connect(&address).unwrap();
    let head = "POST /api/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).unwrap();
    let late = answer(stream);
    assert_eq!(late.status, 408, "{}", late.body);
    assert!(late.body.contains("longer than 300ms"), "{}", late.body);
}

/// Many requests for large answers over one connection; the last one closes it.
fn asked_for_much(address: &str, requests: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let body = json!({"texts": vec![TEXT; 64], "top": 80}).to_string();
    for left in (0..requests).rev() {
        let connection = if left == 0 { "close" } else { "keep-alive" };
        let head = format!(
            "POST /api/search HTTP/1.1\r\nhost: localhost\r\nconnection: {connection}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
    }
    stream
}

#[test]
fn clients_that_do_not_read_their_answers_are_given_up() {
    let short = Duration::from_millis(300);
    let long = Duration::from_secs(600);
    let limits = Limits { answer: short, head: long, connections: 1, ..Limits::default() };
    let address = local(&trained(), limits);
    for bytes_a_second in [0, 20] {
        let mut slow = asked_for_much(&address, 30);
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let reader = std::thread::spawn(move || {
            let pause = Duration::from_millis(50);
            while receiver.recv_timeout(pause).is_err_and(|e| e == RecvTimeoutError::Timeout) {
                if bytes_a_second > 0 && slow.read(&mut [0]).unwrap_or(0) == 0 {
                    break;
                }
            }
        });
        // the only connection is free again
        assert_eq!(send(&address, "GET", "/", "", b"").status, 200, "{bytes_a_second}");
        drop(sender);
        reader.join().unwrap();
    }
}

#[test]
fn a_client_that_reads_in_time_gets_all_answers() {
    let short = Duration::from_millis(300);
    let address = local(&trained(), Limits { head: short, ..Limits::default() });
    let mut stream = asked_for_much(&address, 30);
    std::thread::sleep(5 * short);
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let answers = String::from_utf8(bytes).unwrap().matches("HTTP/1.1 200 OK").count();
    assert_eq!(answers, 30);
}
