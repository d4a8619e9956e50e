//! Operators and owners over a real socket.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use super::*;
use crate::coordinator::Coordinator;
use crate::testing::{World, record};

type Result<T = ()> = std::result::Result<T, Error>;

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gtc-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn serve(coordinator: &Coordinator, directory: &Directory) -> Result<Server> {
    Server::start(&directory.0, Arc::downgrade(coordinator.shared()))
}

#[tokio::test]
async fn a_living_owner_answers() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    // Too long for an address of a socket.
    let directory = Directory::new(&"long-".repeat(24));
    let _server = serve(&coordinator, &directory)?;
    let socket = directory.0.join(SOCKET);
    let mode = std::fs::metadata(&socket)
        .expect("it listens")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    let transaction = coordinator.begin()?;
    transaction.send("eu", record("a")).await?;
    let id = transaction.id().to_string();
    let Some(AdminAnswer::List { transactions, .. }) =
        ask(&directory.0, &AdminRequest::List).await?
    else {
        panic!("no list");
    };
    assert_eq!(transactions[0].id, id);
    let describe = AdminRequest::Describe {
        transaction: id.clone(),
    };
    let Some(AdminAnswer::Transaction {
        transaction: Some(info),
    }) = ask(&directory.0, &describe).await?
    else {
        panic!("no transaction");
    };
    assert_eq!(info.branches[0].participant, "eu");
    let Some(AdminAnswer::Status { status }) = ask(&directory.0, &AdminRequest::Status).await?
    else {
        panic!("no status");
    };
    assert_eq!(status.coordinator, "test");
    assert_eq!(status.participants.len(), 2);

    let forget = AdminRequest::Forget { transaction: id };
    let error = ask(&directory.0, &forget)
        .await
        .expect_err("it is no mixed one");
    assert_eq!(error.kind(), ErrorKind::InvalidState, "{error}");
    coordinator.close().await
}

#[tokio::test]
async fn without_an_owner_nobody_answers() -> Result {
    let directory = Directory::new("no-owner");
    assert_eq!(ask(&directory.0, &AdminRequest::Status).await?, None);
    let mut world = World::new();
    let coordinator = world.open().await?;
    let server = serve(&coordinator, &directory)?;
    // As after a kill: the socket stays, and nobody listens.
    drop(server);
    tokio::task::yield_now().await;
    await_answer(&directory.0, false).await?;
    // The next owner takes the place.
    let _server = serve(&coordinator, &directory)?;
    assert!(ask(&directory.0, &AdminRequest::Status).await?.is_some());
    Ok(())
}

/// Waits until the owner does, or does not, answer.
async fn await_answer(directory: &Path, is_there: bool) -> Result {
    let asked = async {
        while ask(directory, &AdminRequest::Status).await?.is_some() != is_there {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), asked).await;
    waited.expect("the socket comes or goes")
}

#[tokio::test]
async fn a_socket_that_was_removed_is_made_again_until_the_owner_leaves() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let directory = Directory::new("removed");
    let server = serve(&coordinator, &directory)?;
    let socket = directory.0.join(SOCKET);
    // Again and again.
    for _ in 0..2 {
        std::fs::remove_file(&socket).expect("it is there");
        await_answer(&directory.0, true).await?;
        let mode = std::fs::metadata(&socket)
            .expect("it listens")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
    server.stop();
    assert!(!socket.exists());
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(!socket.exists());
    Ok(())
}

#[tokio::test]
async fn what_is_no_socket_is_not_removed_to_make_room_for_one() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let directory = Directory::new("obstructed");
    let socket = directory.0.join(SOCKET);
    std::fs::create_dir(&socket).expect("a directory in its place");
    let refused = |server: Result<Server>| {
        let error = server.expect_err("there is no room");
        assert_eq!(error.kind(), ErrorKind::Log);
        assert!(error.problem().contains("not a socket"), "{error}");
        assert!(error.remedy().contains("remove it"), "{error}");
    };
    refused(serve(&coordinator, &directory));
    std::fs::remove_dir(&socket).expect("it is empty");
    std::fs::write(&socket, "precious").expect("a file in its place");
    refused(serve(&coordinator, &directory));
    assert_eq!(std::fs::read(&socket).expect("still there"), b"precious");
    std::fs::remove_file(&socket).expect("moved away");
    let _server = serve(&coordinator, &directory)?;
    assert!(ask(&directory.0, &AdminRequest::Status).await?.is_some());
    Ok(())
}

/// An owner whose directory was replaced is none any more, and must not answer in the place of the next one.
#[tokio::test]
async fn no_socket_is_made_in_a_directory_that_took_the_place_of_the_log() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let directory = Directory::new("replaced");
    let _server = serve(&coordinator, &directory)?;
    let moved = Directory(directory.0.with_extension("moved"));
    std::fs::rename(&directory.0, &moved.0).expect("moved");
    std::fs::remove_file(moved.0.join(SOCKET)).expect("it is there");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    std::fs::create_dir(&directory.0).expect("another directory");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(!directory.0.join(SOCKET).exists());
    assert!(!moved.0.join(SOCKET).exists());
    // The same one, back in its place.
    std::fs::remove_dir(&directory.0).expect("it is empty");
    std::fs::rename(&moved.0, &directory.0).expect("moved back");
    await_answer(&directory.0, true).await
}

#[tokio::test]
async fn nonsense_is_refused_and_does_no_harm() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let directory = Directory::new("nonsense");
    let _server = serve(&coordinator, &directory)?;
    let cases = ["", "{}", "[1]", "{\"ask\":\"nothing\"}", "\u{fffd}"];
    for text in cases {
        let stream = connect(&directory.0).await.expect("it listens");
        let (reader, mut writer) = stream.into_split();
        writer
            .write_all(format!("{text}\n").as_bytes())
            .await
            .expect("sent");
        let mut line = String::new();
        BufReader::new(reader)
            .read_line(&mut line)
            .await
            .expect("answered");
        assert!(line.contains("\"refused\""), "{text}: {line}");
    }
    let describe = AdminRequest::Describe {
        transaction: "x".to_owned(),
    };
    let error = ask(&directory.0, &describe).await.expect_err("no id");
    assert_eq!(error.kind(), ErrorKind::Config);
    Ok(())
}

/// What follows a line that is too long must not be carried out as requests of its own.
#[tokio::test]
async fn a_line_that_is_too_long_is_refused_once_and_ends_the_connection() -> Result {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut world = World::new();
    let coordinator = world.open().await?;
    let directory = Directory::new("too-long");
    let _server = serve(&coordinator, &directory)?;
    let socket = UnixStream::connect(directory.0.join(SOCKET)).await;
    let (mut reader, mut writer) = socket.expect("it listens").into_split();
    let mut line = vec![b'a'; 65_536];
    line.extend_from_slice(b"{\"ask\":\"list\"}\n");
    // The owner may close before it has read everything.
    let _ = writer.write_all(&line).await;
    let mut answers = Vec::new();
    // A connection that ends with bytes unread may end with a reset, after the answer.
    let _ = reader.read_to_end(&mut answers).await;
    let answers = String::from_utf8(answers).expect("text");
    assert_eq!(answers.matches('\n').count(), 1, "{answers}");
    assert!(answers.contains("65536 bytes"), "{answers}");
    Ok(())
}

/// Ends, with nothing read, where the owner leaves.
async fn await_end(stream: &mut UnixStream) {
    use tokio::io::AsyncReadExt;
    let mut rest = Vec::new();
    let read = stream.read_to_end(&mut rest);
    let ended = tokio::time::timeout(Duration::from_secs(60), read).await;
    // A connection that ends with bytes unread may end with a reset.
    let _ = ended.expect("the owner waits for ever");
    assert_eq!(rest, b"");
}

#[tokio::test]
async fn half_a_request_is_not_waited_for_for_ever() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let directory = Directory::new("half");
    let _server = serve(&coordinator, &directory)?;
    for part in ["", "{\"ask\":"] {
        let mut stream = connect(&directory.0).await.expect("it listens");
        stream.write_all(part.as_bytes()).await.expect("sent");
        await_end(&mut stream).await;
    }
    Ok(())
}

#[tokio::test]
async fn one_connection_too_many_is_turned_away_until_others_end() -> Result {
    let mut world = World::new();
    let coordinator = world.open().await?;
    let directory = Directory::new("crowd");
    let _server = serve(&coordinator, &directory)?;
    let mut crowd = Vec::new();
    for _ in 0..server::CONNECTIONS_MAX {
        crowd.push(connect(&directory.0).await.expect("it listens"));
    }
    let error = ask(&directory.0, &AdminRequest::Status)
        .await
        .expect_err("no room");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("64 operators"), "{error}");
    // They asked nothing, so that they are left.
    for stream in &mut crowd {
        await_end(stream).await;
    }
    assert!(ask(&directory.0, &AdminRequest::Status).await?.is_some());
    Ok(())
}
