use super::*;
use crate::identity::Incarnation;

fn at(micros: u64) -> Time {
    Time::from_micros(micros)
}

fn id(sequence: u64) -> TransactionId {
    TransactionId {
        incarnation: Incarnation(1),
        sequence,
    }
}

#[test]
fn timers_fire_in_order_once_and_not_before_their_time() {
    let mut timers = Timers::default();
    timers.set(Timer::Deadline(id(1)), at(30));
    timers.set(Timer::Branch(id(1), 0), at(10));
    timers.set(Timer::Participant(ParticipantId(0)), at(20));
    assert_eq!(timers.next(), Some((at(10), WaitReason::BranchRetry)));
    assert_eq!(timers.pop_due(at(9)), None);
    assert_eq!(timers.pop_due(at(25)), Some(Timer::Branch(id(1), 0)));
    let participant = Timer::Participant(ParticipantId(0));
    assert_eq!(timers.pop_due(at(25)), Some(participant));
    assert_eq!(timers.pop_due(at(25)), None);
    assert_eq!(timers.next(), Some((at(30), WaitReason::Deadline)));
}

#[test]
fn setting_a_timer_again_moves_it() {
    let mut timers = Timers::default();
    let timer = Timer::Enlist(id(1), 2);
    timers.set(timer, at(10));
    timers.set(timer, at(50));
    assert_eq!(timers.pop_due(at(40)), None);
    assert!(timers.is_set(timer));
    assert_eq!(timers.pop_due(at(50)), Some(timer));
    assert!(!timers.is_set(timer));
    assert_eq!(timers.next(), None);
}

#[test]
fn a_cancelled_timer_never_fires() {
    let mut timers = Timers::default();
    let timer = Timer::Slots(ParticipantId(1));
    timers.set(timer, at(10));
    timers.cancel(timer);
    timers.cancel(timer);
    assert_eq!(timers.pop_due(at(100)), None);
}

#[test]
fn every_timer_has_its_reason() {
    let p = ParticipantId(0);
    let all = [
        (Timer::Deadline(id(1)), WaitReason::Deadline),
        (Timer::Enlist(id(1), 0), WaitReason::EnlistTimeout),
        (Timer::Branch(id(1), 0), WaitReason::BranchRetry),
        (Timer::Records(id(1)), WaitReason::LogRetry),
        (Timer::Settling, WaitReason::LogRetry),
        (Timer::Participant(p), WaitReason::Sweep),
        (Timer::Slots(p), WaitReason::ParticipantRetry),
        (Timer::Idle(p), WaitReason::IdleSlots),
    ];
    for (timer, reason) in all {
        assert_eq!(timer.reason(), reason);
    }
}
