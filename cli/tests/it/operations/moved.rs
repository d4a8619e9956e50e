//! A log that was moved to another directory is refused until an operator adopts it (R13).

use gtc_clusters::shared;

use crate::kafka::{await_rows, create_topic, numbered, produce};
use crate::program::Place;

#[test]
fn a_moved_log_is_taken_over_only_where_it_is_adopted() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("moved", &[("a", a), ("b", b)]);
    create_topic(a, "moved", 1, &[]);
    produce(a, "moved", &numbered(0..10, 1));
    let command = "replicate --from a --to b --topic moved --until-end";
    place.run(command).expect(0);
    place.move_log();
    for refused in ["recover", command] {
        let told = place.run(refused).expect(1).stderr;
        for part in ["another directory", "--adopt"] {
            assert!(told.contains(part), "{refused}: no {part} in {told}");
        }
    }
    // Reading needs no ownership.
    assert_eq!(place.run("list").expect(0).stdout, "nothing is open\n");
    place.run("recover --adopt").expect(0);
    // A log that others could write is told of once, and then is private again.
    let opened = place.open_log_to_others();
    for (told, command) in [(true, "recover"), (false, "recover")] {
        let stderr = place.run(command).expect(0).stderr;
        let warned = stderr.contains("could be written by other users (mode 666)");
        assert_eq!(warned && stderr.contains(&opened), told, "{stderr}");
    }
    produce(a, "moved", &numbered(10..20, 1));
    place.run(command).expect(0);
    assert_eq!(await_rows(b, "moved", 20).len(), 20);
}

/// A second mirror could start beside it, with a log of its own.
#[test]
fn a_mirror_whose_log_is_removed_under_it_stops_and_says_why() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    let place = Place::new("removed", &[("a", a), ("b", b)]);
    create_topic(a, "removed", 1, &[]);
    produce(a, "removed", &numbered(0..10, 1));
    let mut running =
        place.start("replicate --from a --to b --topic removed --metrics 127.0.0.1:0");
    await_rows(b, "removed", 10);
    running.await_answer("/health", &[r#""status":"ok""#]);
    place.lose_log();
    running.await_stderr("its directory was removed or moved while this process owned it");
    // Before there is anything to write.
    running.await_answer("/health", &[r#""coordinator":"#, "removed or moved"]);
    produce(a, "removed", &numbered(10..20, 1));
    let ended = running.await_end();
    assert!(matches!(ended.code, Some(1 | 3)), "{ended:?}");
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("removed or moved"), "{last}");
}

/// A limit for files (`ulimit -f`) ends a process without a word, unless it asks to be told.
#[test]
fn a_file_that_may_not_grow_is_an_error_and_no_sudden_end() {
    let [a, b] = shared::plain(2).unwrap()[..] else {
        unreachable!()
    };
    create_topic(a, "file-limit", 1, &[]);
    let place = Place::new("file-limit", &[("a", a), ("b", b)]);
    let limited = place.start_after(
        "ulimit -f 2000",
        "replicate --from a --to b --topic file-limit --until-end",
    );
    let told = limited.await_end().expect(1).stderr;
    assert!(told.contains("no room for the next segment"), "{told}");
}
