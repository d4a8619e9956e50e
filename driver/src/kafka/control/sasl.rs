//! SASL by rsasl: PLAIN and SCRAM.

use std::io::Cursor;

use rsasl::prelude::{Mechname, SASLClient, SASLConfig, Session};

use super::error::Failure;
use crate::kafka::properties::{SaslMechanism, SaslSettings};

/// The most hash iterations that a broker may ask for. Kafka's own limit is 16384; a peer that
/// asks for thousands of millions would keep a core busy for hours.
const MAX_ITERATIONS: u32 = 100_000;
/// The least that RFC 7677 and Kafka allow: fewer would help who listens to guess the password.
const MIN_ITERATIONS: u32 = 4096;

/// One authentication.
pub(super) struct Exchange {
    session: Session,
    mechanism: SaslMechanism,
    finished: bool,
    rounds: u32,
}

impl Exchange {
    pub(super) fn start(settings: &SaslSettings) -> Result<Self, Failure> {
        let config = SASLConfig::with_credentials(
            None,
            settings.username.clone(),
            settings.password.reveal().to_owned(),
        )
        .map_err(|_| unusable(settings.mechanism))?;
        let name = Mechname::parse(settings.mechanism.name().as_bytes())
            .map_err(|_| unusable(settings.mechanism))?;
        let session = SASLClient::new(config)
            .start_suggested(&[name])
            .map_err(|_| unusable(settings.mechanism))?;
        Ok(Self {
            session,
            mechanism: settings.mechanism,
            finished: false,
            rounds: 0,
        })
    }

    /// The first token; both mechanisms begin with the client.
    pub(super) fn first(&mut self) -> Result<Vec<u8>, Failure> {
        self.step(None)
    }

    /// The token that follows the broker's; `None` when both sides are content.
    pub(super) fn next(&mut self, token: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        if self.finished {
            return match self.mechanism {
                SaslMechanism::Plain if token.is_empty() => Ok(None),
                _ => Err(Failure::authentication(
                    "the broker goes on after the end of SASL",
                )),
            };
        }
        self.rounds += 1;
        match self.rounds {
            1 => check_first(token)?,
            _ => check_final(token)?,
        }
        let answer = self.step(Some(token))?;
        match (self.finished, answer.is_empty()) {
            (true, true) => Ok(None),
            _ => Ok(Some(answer)),
        }
    }

    fn step(&mut self, token: Option<&[u8]>) -> Result<Vec<u8>, Failure> {
        let mut answer = Cursor::new(Vec::new());
        // The reason is the library's and speaks of the protocol, not of the credentials.
        let state = self.session.step(token, &mut answer).map_err(|error| {
            Failure::authentication(format!("SASL {}: {error}", self.mechanism.name()))
        })?;
        self.finished = state.is_finished();
        Ok(answer.into_inner())
    }
}

fn unusable(mechanism: SaslMechanism) -> Failure {
    Failure::config(format!(
        "SASL {} cannot be used with these credentials",
        mechanism.name()
    ))
}

/// Checks SCRAM's first answer, `r=nonce,s=salt,i=iterations`, before the library sees it: the
/// library's parser panics on a short attribute, and it computes whatever `i` says.
fn check_first(token: &[u8]) -> Result<(), Failure> {
    let malformed = || Failure::authentication("the broker's first SCRAM answer is malformed");
    let text = std::str::from_utf8(token).map_err(|_| malformed())?;
    let mut attributes = text.split(',');
    for prefix in ["r=", "s="] {
        attributes
            .next()
            .and_then(|part| part.strip_prefix(prefix))
            .ok_or_else(malformed)?;
    }
    let iterations: u32 = attributes
        .next()
        .and_then(|part| part.strip_prefix("i="))
        .and_then(|count| count.parse().ok())
        .ok_or_else(malformed)?;
    if (MIN_ITERATIONS..=MAX_ITERATIONS).contains(&iterations) {
        return Ok(());
    }
    Err(Failure::authentication(format!(
        "the broker asks for {iterations} iterations of SCRAM; {MIN_ITERATIONS} to \
         {MAX_ITERATIONS} are accepted"
    )))
}

/// Checks the form of SCRAM's last answer, a verifier or an error, for the same parser.
fn check_final(token: &[u8]) -> Result<(), Failure> {
    if token.starts_with(b"v=") || token.starts_with(b"e=") {
        return Ok(());
    }
    Err(Failure::authentication(
        "the broker's last SCRAM answer is malformed",
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kafka::properties::connection::Secret;

    fn exchange(mechanism: SaslMechanism) -> Exchange {
        Exchange::start(&SaslSettings {
            mechanism,
            username: "ann".to_owned(),
            password: Secret::new("planted-7f3a"),
        })
        .expect("starts")
    }

    #[test]
    fn plain_is_one_token() {
        let mut exchange = exchange(SaslMechanism::Plain);
        assert_eq!(exchange.first().expect("token"), b"\0ann\0planted-7f3a");
        assert_eq!(exchange.next(b"").expect("content"), None);
    }

    #[test]
    fn scram_begins_with_the_user() {
        for mechanism in [SaslMechanism::ScramSha256, SaslMechanism::ScramSha512] {
            let token = exchange(mechanism).first().expect("token");
            assert!(
                token.starts_with(b"n,,n=ann,r="),
                "{}",
                String::from_utf8_lossy(&token)
            );
        }
    }

    #[test]
    fn broker_cannot_keep_the_client_hashing() {
        for iterations in ["1", "4095", "100001", "4294967295"] {
            let mut exchange = exchange(SaslMechanism::ScramSha512);
            let first = exchange.first().expect("token");
            let nonce = String::from_utf8_lossy(&first)
                .split_once("r=")
                .expect("r")
                .1
                .to_owned();
            let answer = format!("r={nonce}x,s=c2FsdA==,i={iterations}");
            let error = exchange.next(answer.as_bytes()).expect_err("refused");
            assert!(error.to_string().contains("iterations"), "{error}");
        }
    }

    #[test]
    fn garbage_and_a_wrong_signature_are_refused_without_the_password() {
        for garbage in [
            &b""[..],
            b"\xff\xff",
            b"r=1,s=,i=4096",
            b"e=other-error",
            b"r=,,,",
        ] {
            let mut exchange = exchange(SaslMechanism::ScramSha256);
            exchange.first().expect("token");
            let error = exchange.next(garbage).expect_err("refused");
            assert!(!error.to_string().contains("planted"), "{error}");
        }
        let mut exchange = exchange(SaslMechanism::ScramSha256);
        let first = exchange.first().expect("token");
        let nonce = String::from_utf8_lossy(&first)
            .split_once("r=")
            .expect("r")
            .1
            .to_owned();
        let answer = format!("r={nonce}x,s=c2FsdA==,i=4096");
        assert!(exchange.next(answer.as_bytes()).expect("proof").is_some());
        exchange
            .next(b"v=AAAA")
            .expect_err("a server that does not know the password");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_token_of_a_broker_panics(
            garbage in proptest::collection::vec(any::<u8>(), 0..60),
            salt in "[a-zA-Z0-9+/=]{0,12}",
            rest in "[a-z0-9=,]{0,12}",
            last in "[ve]=[a-zA-Z0-9+/=,-]{0,20}",
        ) {
            let mut broken = exchange(SaslMechanism::ScramSha256);
            broken.first().expect("token");
            prop_assert!(broken.next(&garbage).is_err());

            let mut exchange = exchange(SaslMechanism::ScramSha256);
            let first = exchange.first().expect("token");
            let nonce = String::from_utf8_lossy(&first).split_once("r=").expect("r").1.to_owned();
            let answer = format!("r={nonce}x,s={salt},i=4096,{rest}");
            if exchange.next(answer.as_bytes()).is_ok() {
                prop_assert!(exchange.next(last.as_bytes()).is_err());
            }
        }
    }
}
