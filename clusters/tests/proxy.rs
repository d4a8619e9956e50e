//! The proxy before a real broker, seen by a client that speaks one request.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use gtc_clusters::{Cluster, ClusterOptions, Direction, HeldFrame, Proxy, Verdict, shared};

const API_VERSIONS: i16 = 18;
const METADATA: i16 = 3;
const PATIENCE: Duration = Duration::from_secs(20);

struct Client(TcpStream);

impl Client {
    fn connect(proxy: &Proxy) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(stream)
    }

    fn send(&mut self, (api_key, version): (i16, i16), correlation_id: i32, body: &[u8]) {
        let mut frame = vec![0, 0, 0, u8::try_from(14 + body.len()).unwrap()];
        frame.extend_from_slice(&api_key.to_be_bytes());
        frame.extend_from_slice(&version.to_be_bytes());
        frame.extend_from_slice(&correlation_id.to_be_bytes());
        frame.extend_from_slice(&4_i16.to_be_bytes());
        frame.extend_from_slice(b"test");
        frame.extend_from_slice(body);
        self.0.write_all(&frame).unwrap();
    }

    fn ask(&mut self, correlation_id: i32) {
        self.send((API_VERSIONS, 0), correlation_id, &[]);
    }

    /// The answer from its correlation id on.
    fn answer(&mut self) -> io::Result<Vec<u8>> {
        let mut size = [0; 4];
        self.0.read_exact(&mut size)?;
        let mut bytes = vec![0; u32::from_be_bytes(size) as usize];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn answer_id(&mut self) -> io::Result<i32> {
        Ok(i32::from_be_bytes(self.answer()?[..4].try_into().unwrap()))
    }

    fn has_silence_for(&mut self, time: Duration) -> bool {
        self.0.set_read_timeout(Some(time)).unwrap();
        let error = self.0.read_exact(&mut [0; 1]).unwrap_err();
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
        )
    }
}

fn before_shared_broker(proxy: Proxy) -> Proxy {
    proxy.forward_to(shared::plain(1).unwrap()[0].listen_port());
    proxy
}

#[test]
fn clients_are_sent_to_the_advertised_port() {
    let proxy = Proxy::start().unwrap();
    let options = ClusterOptions::new("proxied").advertised_port(proxy.port());
    let cluster = Cluster::start(options).unwrap();
    proxy.forward_to(cluster.listen_port());
    assert_eq!(cluster.bootstrap(), format!("127.0.0.1:{}", proxy.port()));
    let mut client = Client::connect(&proxy);
    let no_topics = [0; 4];
    client.send((METADATA, 1), 5, &no_topics);
    let answer = client.answer().unwrap();
    let address = [
        &b"\x00\x09127.0.0.1\x00\x00"[..],
        &proxy.port().to_be_bytes(),
    ]
    .concat();
    assert!(
        answer.windows(address.len()).any(|part| part == address),
        "{answer:?}"
    );
}

#[test]
fn cut_connections_end_and_new_ones_are_taken_unless_refused() {
    let proxy = before_shared_broker(Proxy::start().unwrap());
    let mut client = Client::connect(&proxy);
    client.ask(1);
    assert_eq!(client.answer_id().unwrap(), 1);
    assert_eq!(proxy.connections(), 1);
    proxy.cut_all();
    client.answer_id().unwrap_err();

    let mut next = Client::connect(&proxy);
    next.ask(2);
    assert_eq!(next.answer_id().unwrap(), 2);
    proxy.refuse_new(true);
    Client::connect(&proxy).answer_id().unwrap_err();
    next.ask(3);
    assert_eq!(next.answer_id().unwrap(), 3);
    proxy.heal();
    let mut last = Client::connect(&proxy);
    last.ask(4);
    assert_eq!(last.answer_id().unwrap(), 4);
}

#[test]
fn a_black_hole_keeps_what_it_swallows_until_it_heals() {
    let proxy = before_shared_broker(Proxy::start().unwrap());
    let mut client = Client::connect(&proxy);
    for direction in [Direction::ToBroker, Direction::ToClient, Direction::Both] {
        proxy.black_hole(direction);
        client.ask(1);
        assert!(
            client.has_silence_for(Duration::from_millis(300)),
            "{direction:?}"
        );
        proxy.heal();
        assert_eq!(client.answer_id().unwrap(), 1, "{direction:?}");
    }
}

#[test]
fn a_delay_holds_for_both_directions() {
    let proxy = before_shared_broker(Proxy::start().unwrap());
    let mut client = Client::connect(&proxy);
    let delay = Duration::from_millis(150);
    proxy.delay(delay);
    let start = Instant::now();
    client.ask(1);
    client.answer_id().unwrap();
    assert!(start.elapsed() >= 2 * delay, "{:?}", start.elapsed());
}

/// A proxy that holds requests with correlation id 1 and cuts at 2, and lets all others pass.
fn holding_proxy() -> Proxy {
    let proxy = Proxy::start_with_rule(|frame| match (frame.api_key, frame.correlation_id) {
        (API_VERSIONS, 1) => Verdict::Hold,
        (API_VERSIONS, 2) => Verdict::Cut,
        _ => Verdict::Forward,
    });
    before_shared_broker(proxy.unwrap())
}

fn assert_answers(held: HeldFrame) {
    let answer = held.release(PATIENCE).unwrap();
    let no_error = [0, 0];
    assert_eq!(
        (&answer[..4], &answer[4..6]),
        (&[0, 0, 0, 1][..], &no_error[..])
    );
}

#[test]
fn a_held_request_waits_for_its_release_while_others_pass() {
    let proxy = holding_proxy();
    let mut client = Client::connect(&proxy);
    client.ask(9);
    assert_eq!(client.answer_id().unwrap(), 9);
    client.ask(1);
    let held = proxy.await_held(PATIENCE).unwrap();
    assert_eq!(
        (
            held.header().correlation_id,
            held.header().client_id.as_str()
        ),
        (1, "test")
    );
    client.ask(10);
    assert!(client.has_silence_for(Duration::from_millis(200)));
    let mut other = Client::connect(&proxy);
    other.ask(11);
    assert_eq!(other.answer_id().unwrap(), 11);

    assert_answers(held);
    assert_eq!(client.answer_id().unwrap(), 1);
    assert_eq!(client.answer_id().unwrap(), 10);
    assert!(proxy.await_held(Duration::from_millis(50)).is_none());
}

#[test]
fn a_held_request_reaches_the_broker_after_its_client_has_gone() {
    let proxy = holding_proxy();
    let mut client = Client::connect(&proxy);
    client.ask(1);
    let held = proxy.await_held(PATIENCE).unwrap();
    drop(client);
    let mut repeat = Client::connect(&proxy);
    repeat.ask(3);
    assert_eq!(repeat.answer_id().unwrap(), 3);
    assert_answers(held);
}

#[test]
fn a_rule_can_cut_and_a_cut_loses_what_is_held() {
    let proxy = holding_proxy();
    let mut client = Client::connect(&proxy);
    client.ask(2);
    client.answer_id().unwrap_err();

    let mut client = Client::connect(&proxy);
    client.ask(1);
    let held = proxy.await_held(PATIENCE).unwrap();
    proxy.cut_all();
    let error = held.release(PATIENCE).unwrap_err().to_string();
    assert!(error.contains("connection was cut"), "{error}");
    client.answer_id().unwrap_err();
}
