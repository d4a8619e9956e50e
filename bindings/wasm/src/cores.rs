//! The cores of a module, by number, and the texts that cross the border.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use gtc_plain::{Misfit, Now, Output, PlainCore};

/// Everything that a module holds.
pub(crate) struct Cores {
    made: u32,
    cores: BTreeMap<u32, PlainCore>,
    /// The records of the core that is made next.
    log: Vec<Vec<u8>>,
    pub(crate) text_in: Vec<u8>,
    pub(crate) text_out: String,
}

/// What a poll found; the text is given out beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Wait = 0,
    Action = 1,
    Event = 2,
}

impl Cores {
    pub(crate) const fn new() -> Self {
        Self {
            made: 0,
            cores: BTreeMap::new(),
            log: Vec::new(),
            text_in: Vec::new(),
            text_out: String::new(),
        }
    }

    /// Gives a text out: that of a result, or of why there is none.
    pub(crate) fn tell<T>(&mut self, result: Result<T, Misfit>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(Misfit(why)) => {
                self.text_out = why;
                None
            }
        }
    }

    /// Takes a record of the log in, of the core that is made next: its hexadecimal digits.
    pub(crate) fn record(&mut self) -> Result<(), Misfit> {
        match bytes(&core::mem::take(&mut self.text_in)) {
            Some(record) => {
                self.log.push(record);
                Ok(())
            }
            None => {
                self.log.clear();
                Err(Misfit(
                    "a record of the log is no hexadecimal digits".to_owned(),
                ))
            }
        }
    }

    /// Makes a core of the configuration that came in and the records before it.
    pub(crate) fn make(&mut self, now: Now) -> Result<u32, Misfit> {
        let log = core::mem::take(&mut self.log);
        let config = self.text()?;
        let core = PlainCore::new(&config, log.iter().map(Vec::as_slice), now)?;
        self.made += 1;
        self.cores.insert(self.made, core);
        Ok(self.made)
    }

    pub(crate) fn request(&mut self, core: u32, now: Now) -> Result<(), Misfit> {
        let (core, text) = self.called(core)?;
        self.text_out = core.handle_request(&text, now)?;
        Ok(())
    }

    pub(crate) fn response(&mut self, core: u32, id: u64, now: Now) -> Result<(), Misfit> {
        let (core, text) = self.called(core)?;
        core.handle_response(id, &text, now)
    }

    pub(crate) fn timeout(&mut self, core: u32, now: Now) -> Result<(), Misfit> {
        self.core(core)?.handle_timeout(now);
        Ok(())
    }

    pub(crate) fn poll(&mut self, core: u32) -> Result<Kind, Misfit> {
        let (kind, text) = match self.core(core)?.poll_output()? {
            Output::Action { text, .. } => (Kind::Action, text),
            Output::Event { text } => (Kind::Event, text),
            Output::Wait { text, .. } => (Kind::Wait, text),
        };
        self.text_out = text;
        Ok(kind)
    }

    pub(crate) fn free(&mut self, core: u32) {
        self.cores.remove(&core);
    }

    fn core(&mut self, core: u32) -> Result<&mut PlainCore, Misfit> {
        let found = self.cores.get_mut(&core);
        found.ok_or_else(|| Misfit("the core was freed".to_owned()))
    }

    /// A core, and the text that came in for it.
    fn called(&mut self, core: u32) -> Result<(&mut PlainCore, String), Misfit> {
        let text = self.text()?;
        Ok((self.core(core)?, text))
    }

    fn text(&mut self) -> Result<String, Misfit> {
        let text = String::from_utf8(core::mem::take(&mut self.text_in));
        text.map_err(|_| Misfit("the text is not UTF-8".to_owned()))
    }
}

fn bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some(digit(high)? * 16 + digit(low)?),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

fn digit(letter: u8) -> Option<u8> {
    let value = char::from(letter).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use gtc_plain::Time;

    use super::*;

    const NOW: Now = Now {
        monotonic: Time::ZERO,
        unix_ms: 0,
    };

    fn with(cores: &mut Cores, text: &str) {
        cores.text_in = text.as_bytes().to_vec();
    }

    #[test]
    fn texts_go_in_and_come_out_by_the_number_of_a_core() {
        let mut cores = Cores::new();
        let config = r#"{"coordinator": "c", "log_id": "00000000000000ab", "participants": [
            {"name": "eu", "slots_max": 1, "timeout_ms": 60000, "margin_us": 1000000,
             "names_max": 10}]}"#;
        with(&mut cores, config);
        let core = cores.make(NOW).unwrap();
        assert_eq!(cores.poll(core), Ok(Kind::Action));
        assert!(cores.text_out.starts_with(r#"{"id":1,"action":"append""#));
        with(&mut cores, r#"{"response": "appended"}"#);
        cores.response(core, 1, NOW).unwrap();
        with(&mut cores, r#"{"request": "begin"}"#);
        cores.request(core, NOW).unwrap();
        assert_eq!(
            cores.text_out,
            r#"{"accepted":"begun","transaction":"1-1"}"#
        );
        cores.timeout(core, NOW).unwrap();
        cores.free(core);
        assert!(cores.poll(core).unwrap_err().0.contains("freed"));
    }

    #[test]
    fn what_starts_no_core_is_refused() {
        let mut cores = Cores::new();
        for digits in ["0", "+1", "\u{e9}"] {
            with(&mut cores, digits);
            let error = cores.record().unwrap_err();
            assert!(error.0.contains("hexadecimal"), "{error}");
        }
        for (record, part) in [("", "no configuration"), ("00", "no configuration")] {
            with(&mut cores, record);
            cores.record().unwrap();
            with(&mut cores, "{}");
            let error = cores.make(NOW).unwrap_err();
            assert!(error.0.contains(part), "{error}");
            assert_eq!(cores.tell(Err::<u32, _>(error.clone())), None);
            assert_eq!(cores.text_out, error.0);
        }
    }
}
