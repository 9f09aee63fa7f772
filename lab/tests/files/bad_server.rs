//! Servers that take a store's connection and are no good ones, played by the test.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use crate::common::{Folder, program, run};

/// A demand for the password in clear; a login that is done, with the end of the answer; a row whose length
/// is 2^31 - 1, and nothing of it.
const CLEAR: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const ENDLESS: &[u8] = b"D\x7f\xff\xff\xff";

/// Sends one of the answers for each message of the client, the greeting first. Returns all that the client
/// has sent.
fn play(mut client: TcpStream, answers: &[&[u8]]) -> Vec<u8> {
    let mut received = Vec::new();
    let mut piece = [0; 4096];
    for answer in answers {
        let length = client.read(&mut piece).unwrap();
        received.extend_from_slice(&piece[..length]);
        client.write_all(answer).unwrap();
    }
    // Until the client leaves.
    let _ = client.read_to_end(&mut received);
    received
}

#[test]
fn a_server_s_answer_is_bounded_and_gets_no_password_in_clear() {
    let folder = Folder::new("bad-server");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let clear = "it asks for the password in clear, on a connection without TLS";
    for (answers, rest, text, is_sent) in [
        (&[CLEAR][..], "", clear, false),
        (&[CLEAR, ENDLESS], "?sslmode=disable", "its answer is longer than 272 MiB", true),
        (&[LOGGED_IN, ENDLESS], "", "its answer is longer than 272 MiB", false),
        (&[b"HTTP/1.1 400 Bad Request\r\n"], "", "its answer is longer than 272 MiB", false),
        (&[&[0; 64]], "", "its answer is not PostgreSQL's", false),
    ] {
        let url = format!("postgres://ann:pw77@127.0.0.1:{port}/lab{rest}");
        let received = thread::scope(|scope| {
            let played = scope.spawn(|| play(server.accept().unwrap().0, answers));
            let mut lab = program();
            let lab = lab.env("XDG_DATA_HOME", &folder.0).args(["history", "--store", &url]);
            run(lab).complains(text);
            played.join().unwrap()
        });
        let has_password = received.windows(4).any(|four| four == b"pw77");
        assert_eq!(has_password, is_sent, "{answers:?}");
    }
}
