//! Where the owner listens: the socket in the directory of its log, made again where a hand removed it.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tokio::net::UnixListener;

use super::{Address, SOCKET};

/// What is said of anything else in the socket's place.
const NO_SOCKET: &str = "what is there is not a socket";

/// Device and inode.
type Identity = (u64, u64);

/// The place of the socket.
#[derive(Debug)]
pub(super) struct Seat {
    path: PathBuf,
    /// The directory that the log was opened in, wherever it goes.
    directory: File,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The socket that is listened on, until the place is left: another owner may have its own there then.
    socket: Option<Identity>,
    /// That it cannot be made again is said once.
    told: bool,
}

impl Seat {
    /// Listens in place of whoever did before.
    pub(super) fn take(directory: &Path) -> io::Result<(Self, UnixListener)> {
        // The process may change its working directory.
        let path = std::path::absolute(directory)?;
        make_room(&path.join(SOCKET))?;
        let (listener, socket) = listen(&Address::of(&path)?)?;
        let state = State {
            socket: Some(socket),
            told: false,
        };
        let seat = Self {
            directory: File::open(&path)?,
            path,
            state: Mutex::new(state),
        };
        Ok((seat, listener))
    }

    /// A new listener where the socket is gone. Not where the whole directory is: what is at its path then
    /// may be another owner's.
    pub(super) fn renew(&self) -> Option<UnixListener> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.socket.is_none() || !self.is_lost() {
            return None;
        }
        // Through the open directory: at the path there may be another in this moment.
        let listened = Address::within(&self.directory).and_then(|address| listen(&address));
        let path = self.path.display();
        match listened {
            Ok((listener, socket)) => {
                state.socket = Some(socket);
                tracing::warn!(target: "gtc", %path, "the admin socket was removed, and is made again");
                Some(listener)
            }
            Err(error) => {
                if !std::mem::replace(&mut state.told, true) {
                    tracing::warn!(target: "gtc", %path, %error, "the admin socket was removed, and cannot be made again");
                }
                None
            }
        }
    }

    fn is_lost(&self) -> bool {
        let socket = std::fs::symlink_metadata(self.path.join(SOCKET));
        let is_gone = socket.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let here = std::fs::metadata(&self.path).map(identity);
        let own = self.directory.metadata().map(identity);
        is_gone && matches!((here, own), (Ok(here), Ok(own)) if here == own)
    }

    /// Nobody listens here any more.
    pub(super) fn leave(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = self.path.join(SOCKET);
        let found = std::fs::symlink_metadata(&socket).map(identity).ok();
        let own = state.socket.take();
        if own.is_some() && own == found {
            // Where it is gone already there is nothing left to do.
            let _ = std::fs::remove_file(&socket);
        }
    }
}

/// Removes the socket of an owner that died, and nothing else.
fn make_room(socket: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(socket) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, NO_SOCKET));
    }
    std::fs::remove_file(socket)
}

fn listen(address: &Address) -> io::Result<(UnixListener, Identity)> {
    let listener = UnixListener::bind(&address.path)?;
    std::fs::set_permissions(&address.path, Permissions::from_mode(0o600))?;
    let made = std::fs::symlink_metadata(&address.path)?;
    Ok((listener, identity(made)))
}

fn identity(found: Metadata) -> Identity {
    (found.dev(), found.ino())
}
