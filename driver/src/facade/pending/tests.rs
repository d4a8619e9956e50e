use std::sync::mpsc::channel;

use super::*;

const ABOUT: (&str, Abandoned) = ("test", Abandoned::Stops);
const PATIENCE: Duration = Duration::from_secs(30);

fn never() -> Pending<u32> {
    Pending::start(ABOUT, std::future::pending())
}

/// A pending result, and what fulfils it.
fn open(abandoned: Abandoned) -> (Pending<u32>, tokio::sync::oneshot::Sender<u32>) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let work = async move { receiver.await.map_err(|_| taken()) };
    (Pending::start(("test", abandoned), work), sender)
}

#[test]
fn what_needs_no_wait_is_done_on_the_callers_thread() {
    let caller = std::thread::current().id();
    let mut pending = Pending::start(ABOUT, async move {
        assert_eq!(std::thread::current().id(), caller);
        Ok(7)
    });
    let result = pending.wait_for(Duration::ZERO).expect("it is there");
    assert_eq!(result.unwrap(), 7);
    let again = pending.wait_for(Duration::ZERO).expect("an answer");
    assert_eq!(again.unwrap_err().kind(), ErrorKind::InvalidState);
}

#[test]
fn a_wait_ends_with_the_result_or_the_time() {
    let (mut pending, sender) = open(Abandoned::Stops);
    assert!(pending.wait_for(Duration::from_millis(1)).is_none());
    sender.send(3).unwrap();
    assert_eq!(pending.wait().unwrap(), 3);
}

#[test]
fn a_wait_can_be_interrupted_and_gives_the_work_up() {
    let (pending, sender) = open(Abandoned::Stops);
    let mut looks = 0;
    let interrupted = pending.wait_while(Duration::from_millis(1), || {
        looks += 1;
        if looks == 3 { Err("signal") } else { Ok(()) }
    });
    assert_eq!(interrupted.unwrap_err(), "signal");
    // The work is dropped, and its end of the channel with it.
    let mut sender = sender;
    let closed = async { tokio::time::timeout(PATIENCE, sender.closed()).await };
    runtime()
        .unwrap()
        .tokio()
        .block_on(closed)
        .expect("given up");
}

#[test]
fn what_must_not_be_taken_back_goes_on_without_its_caller() {
    let (done, seen) = channel();
    let (sender, receiver) = tokio::sync::oneshot::channel::<u32>();
    let pending = Pending::start(("test", Abandoned::GoesOn), async move {
        let value = receiver.await.map_err(|_| taken())?;
        done.send(value).map_err(|_| taken())
    });
    drop(pending);
    sender.send(5).unwrap();
    assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), 5);
}

#[test]
fn callbacks_run_once_on_their_own_thread_and_survive_a_panic() {
    let (done, seen) = channel();
    never().then(|_| unreachable!("it is never done"));
    Pending::ready(Ok(1)).then(|_: Result<u32, Error>| panic!("a callback of the application"));
    let (pending, sender) = open(Abandoned::Stops);
    for pending in [pending, Pending::ready(Ok(8))] {
        let done = done.clone();
        pending.then(move |result| {
            let name = std::thread::current().name().map(str::to_owned);
            done.send((result.unwrap(), name)).unwrap();
        });
    }
    sender.send(9).unwrap();
    let mut results = [(); 2].map(|()| seen.recv_timeout(PATIENCE).unwrap());
    results.sort();
    let name = Some("gtc-callback".to_owned());
    assert_eq!(results, [(8, name.clone()), (9, name)]);
}

#[test]
fn a_result_is_handed_on_by_the_thread_that_has_it() {
    let here = std::thread::current().id();
    let (done, seen) = channel();
    let (pending, sender) = open(Abandoned::Stops);
    let (later, now) = (done.clone(), done);
    let _later = pending.hand_on(move |result| {
        let name = std::thread::current().name().map(str::to_owned);
        later.send((result.unwrap(), name)).unwrap();
    });
    sender.send(9).unwrap();
    let name = Some("gtc".to_owned());
    assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), (9, name));
    let _now = Pending::ready(Ok(8)).hand_on(move |result| {
        assert_eq!(std::thread::current().id(), here);
        now.send((result.unwrap(), None)).unwrap();
    });
    assert_eq!(seen.try_recv().unwrap(), (8, None));
}

#[test]
fn it_is_a_future_of_any_executor() {
    let (pending, sender) = open(Abandoned::Stops);
    let executor = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let result = executor.block_on(async {
        let waiting = tokio::spawn(pending);
        tokio::task::yield_now().await;
        sender.send(4).unwrap();
        waiting.await.unwrap()
    });
    assert_eq!(result.unwrap(), 4);
}

#[test]
fn a_panic_becomes_an_error_at_once_and_later() {
    let at_once: Pending<()> = Pending::start(ABOUT, async { panic!("first {}", "poll") });
    let later: Pending<()> = Pending::spawn(ABOUT, async { panic!("later") });
    for (pending, text) in [(at_once, "first poll"), (later, "later")] {
        let error = pending.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.to_string().contains(text), "{error}");
    }
}
