//! The control client against a broker that answers as it likes: no panic, no hang, no memory for
//! a length that was only announced, and nothing sent twice or reported otherwise than it was.

use arbitrary::{Result, Unstructured};
use gtc::fuzzing::{Answer, Call, Meeting, client_properties};
use gtc::kafka::properties::Properties;

const CALLS_MAX: usize = 3;
const ANSWERS_MAX: usize = 12;
const MECHANISMS: [Option<&str>; 4] = [
    None,
    Some("PLAIN"),
    Some("SCRAM-SHA-256"),
    Some("SCRAM-SHA-512"),
];

thread_local! {
    static PROPERTIES: [Properties; 4] = MECHANISMS.map(client_properties);
}

fn bytes(input: &mut Unstructured, most: usize) -> Result<Vec<u8>> {
    let length = input.int_in_range(0..=most)?.min(input.len());
    Ok(input.bytes(length)?.to_vec())
}

fn answer(input: &mut Unstructured) -> Result<Answer> {
    Ok(match input.int_in_range(0..=15_u8)? {
        0..=3 => Answer::Honest,
        4..=7 => edited(input)?,
        8 | 9 => Answer::Body(bytes(input, 300)?),
        10 => Answer::Raw(bytes(input, 100)?),
        11 => Answer::Token(bytes(input, 100)?),
        12 => Answer::WrongCorrelation,
        13 => Answer::Cut,
        14 => Answer::Close,
        _ => Answer::Silence,
    })
}

fn edited(input: &mut Unstructured) -> Result<Answer> {
    let mut edits = Vec::new();
    for _ in 0..input.int_in_range(0..=6)? {
        edits.push((input.int_in_range(0..=255)?, input.arbitrary()?));
    }
    Ok(Answer::Edited {
        edits,
        cut: input.int_in_range(0..=16_u16)?.saturating_sub(8),
        tail: bytes(input, 8)?,
    })
}

fn meeting(input: &mut Unstructured) -> Result<Meeting> {
    let mechanism = input.choose_index(MECHANISMS.len())?;
    // librdkafka checks each property, which takes longer than a whole meeting.
    let properties = PROPERTIES.with(|all| all[mechanism].clone());
    let mut calls = Vec::new();
    for _ in 0..input.int_in_range(1..=CALLS_MAX)? {
        calls.push(*input.choose(&Call::ALL)?);
    }
    let mut answers = Vec::new();
    while !input.is_empty() && answers.len() < ANSWERS_MAX {
        answers.push(answer(input)?);
    }
    Ok(Meeting {
        properties,
        calls,
        answers,
    })
}

/// Takes one input.
///
/// # Panics
/// If it breaks what must hold.
pub fn take(data: &[u8]) {
    if let Ok(meeting) = meeting(&mut Unstructured::new(data)) {
        meeting.play();
    }
}
