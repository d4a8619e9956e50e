//! Runs the program as users do: as a process, with a configuration file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gtc_clusters::Cluster;
use rustix::process::{Pid, Signal, kill_process};

const PATIENCE: Duration = Duration::from_secs(90);

/// A directory with a configuration, its log, and what the program wrote.
pub struct Place {
    dir: PathBuf,
    id: String,
}

/// How a process ended, and what it wrote.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    /// A coordinator of this id, with participants by name.
    pub fn new(id: &str, participants: &[(&str, &Cluster)]) -> Self {
        Self::with(id, participants, &[])
    }

    /// As [`Place::new`], with lines for each participant.
    pub fn with(id: &str, participants: &[(&str, &Cluster)], lines: &[&str]) -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let dir = base.join(format!("{id}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let mut text = format!("[coordinator]\nid = \"{id}\"\nlog = \"log\"\n");
        for (name, cluster) in participants {
            text += &format!("\n[participants.{name}]\nkind = \"kafka\"\n");
            for (property, value) in cluster.client_properties() {
                text += &format!("{property} = {value:?}\n");
            }
            for line in lines {
                text += &format!("{line}\n");
            }
        }
        fs::write(dir.join("gtc.toml"), text).unwrap();
        Self {
            dir,
            id: id.to_owned(),
        }
    }

    /// Adds a participant by its properties.
    pub fn add_participant(&self, name: &str, properties: &[(&str, &str)]) {
        let path = self.dir.join("gtc.toml");
        let mut text = fs::read_to_string(&path).unwrap();
        text += &format!("\n[participants.{name}]\nkind = \"kafka\"\n");
        for (property, value) in properties {
            text += &format!("{property} = {value:?}\n");
        }
        fs::write(path, text).unwrap();
    }

    /// Sets limits of the coordinator.
    pub fn limit(&self, lines: &[&str]) {
        let path = self.dir.join("gtc.toml");
        let mut text = fs::read_to_string(&path).unwrap();
        text += &format!("\n[coordinator.limits]\n{}\n", lines.join("\n"));
        fs::write(path, text).unwrap();
    }

    /// Replaces a piece of the configuration.
    pub fn rewrite(&self, from: &str, to: &str) {
        let path = self.dir.join("gtc.toml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "no {from} in the configuration");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    /// Moves the log to another directory, and the configuration with it.
    pub fn move_log(&self) {
        let moved = self.dir.join("moved");
        fs::create_dir(&moved).unwrap();
        // Not renamed: that keeps the directory's identity, as a move to another disk does not.
        for entry in fs::read_dir(self.dir.join("log")).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), moved.join(entry.file_name())).unwrap();
            }
        }
        fs::remove_dir_all(self.dir.join("log")).unwrap();
        self.rewrite("log = \"log\"", "log = \"moved\"");
    }

    /// Lets everybody write the moved log's files; returns the path of one.
    pub fn open_log_to_others(&self) -> String {
        use std::os::unix::fs::PermissionsExt;
        let mut opened = String::new();
        for entry in fs::read_dir(self.dir.join("moved")).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o666)).unwrap();
                opened = entry.path().display().to_string();
            }
        }
        opened
    }

    /// Puts a file where the log belongs, or takes it away.
    pub fn log_is_a_file(&self, is_file: bool) {
        let path = self.dir.join("log");
        match is_file {
            true => fs::write(path, "no log").unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
    }

    /// Takes the log away, as a dead disk does.
    pub fn lose_log(&self) {
        fs::rename(self.dir.join("log"), self.dir.join("lost")).unwrap();
    }

    /// The directory of the log.
    pub fn log(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// Takes the socket away on which the owner hears operators.
    pub fn remove_socket(&self) {
        fs::remove_file(self.dir.join("log").join("admin.sock")).unwrap();
    }

    /// Puts a file in the place of the removed socket, or takes it away again.
    pub fn obstruct_socket(&self, obstruct: bool) {
        let socket = self.dir.join("log").join("admin.sock");
        match obstruct {
            true => fs::write(socket, "not a socket").unwrap(),
            false => fs::remove_file(socket).unwrap(),
        }
    }

    /// The consumer group that a mirror uses by default.
    pub fn group(&self) -> String {
        format!("gtc-{}", self.id)
    }

    /// The command with the configuration, to which arguments are added.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gtc"));
        command.arg("--config").arg(self.dir.join("gtc.toml"));
        command
            .args(arguments.split_whitespace())
            .stdin(Stdio::null());
        command
    }

    /// Starts the program; it ends with the returned value at the latest.
    pub fn start(&self, arguments: &str) -> Running {
        self.start_with(arguments, "gtc=debug,info")
    }

    /// As [`Place::start`], and says what is logged.
    pub fn start_with(&self, arguments: &str, log: &str) -> Running {
        let mut command = self.command(arguments);
        command.env("GTC_LOG", log);
        self.spawn(command)
    }

    /// As [`Place::start`], in a shell that does this first, such as setting a limit.
    pub fn start_after(&self, shell: &str, arguments: &str) -> Running {
        let program = self.command(arguments);
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{shell} && exec \"$0\" \"$@\"")])
            .arg(program.get_program())
            .args(program.get_args())
            .stdin(Stdio::null());
        self.spawn(command)
    }

    fn spawn(&self, mut command: Command) -> Running {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let stdout = self.dir.join(format!("{number}.stdout"));
        let stderr = self.dir.join(format!("{number}.stderr"));
        command
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap());
        Running {
            child: command.spawn().unwrap(),
            stdout,
            stderr,
        }
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &str) -> Ended {
        self.start(arguments).await_end()
    }
}

/// A running program.
pub struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    /// Ends it like a power failure.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Asks it to end, and waits for that.
    pub fn terminate(self) -> Ended {
        self.signal(Signal::TERM);
        self.await_end()
    }

    /// Waits until it ends by itself.
    pub fn await_end(mut self) -> Ended {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Ended {
                    code: status.code(),
                    stdout: self.stdout(),
                    stderr: self.stderr(),
                };
            }
            assert!(
                Instant::now() < deadline,
                "still running:\n{}",
                self.stderr()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until it wrote this to stderr.
    pub fn await_stderr(&mut self, text: &str) {
        self.await_one_of(&[text]);
    }

    /// Waits until it wrote one of these to stderr.
    pub fn await_one_of(&mut self, texts: &[&str]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Asked before: what an ended program wrote is all there.
            let ended = self.child.try_wait().unwrap();
            let stderr = self.stderr();
            if texts.iter().any(|text| stderr.contains(text)) {
                return;
            }
            assert!(ended.is_none(), "ended before {texts:?}:\n{stderr}");
            assert!(Instant::now() < deadline, "none of {texts:?} in:\n{stderr}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What its `--metrics` endpoint answers. By hand: the answer is text that is only searched.
    pub fn get(&mut self, path: &str) -> String {
        use std::io::{Read, Write};
        self.await_stderr("serving /metrics and /health");
        let stderr = self.stderr();
        let line = stderr
            .lines()
            .find(|line| line.contains("serving /metrics"));
        let (_, address) = line.unwrap().split_once("address=").unwrap();
        let address = address.split_whitespace().next().unwrap();
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: gtc\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Asks the endpoint until the answer holds all of this.
    pub fn await_answer(&mut self, path: &str, parts: &[&str]) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.get(path);
            if parts.iter().all(|part| answer.contains(part)) {
                return answer;
            }
            assert!(
                Instant::now() < deadline,
                "{path} never told {parts:?}:\n{answer}\n{}",
                self.stderr()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// What it wrote to stdout so far.
    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap()
    }

    /// What it wrote to stderr so far.
    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended; a failed test must not leave a process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Asserts the exit code; the output says why not.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n{}\n{}", self.stdout, self.stderr);
        self
    }

    /// The JSON values on stdout, one a line.
    #[track_caller]
    pub fn json(&self) -> Vec<serde_json::Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        self.stdout.lines().map(parse).collect()
    }
}
