//! Keys and certificates of a secure cluster, made by openssl when the cluster is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::config::USER;
use crate::error::{Context, Error, Result};
use crate::files::{make_dir, write_file};

const REMEDY: &str = "install openssl (`apt-get install openssl`)";

/// The directory of one cluster's keys.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    dir: PathBuf,
}

impl Keys {
    /// Makes an authority, a broker's certificate for 127.0.0.1 and localhost, and a client's.
    pub(crate) fn make(dir: PathBuf) -> Result<Self> {
        make_dir(&dir)?;
        let keys = Self { dir };
        keys.make_authority()?;
        keys.make_leaf(
            "broker",
            "broker",
            "subjectAltName=IP:127.0.0.1,DNS:localhost",
        )?;
        keys.make_leaf("client", USER, "extendedKeyUsage=clientAuth")?;
        keys.join_broker_pem()?;
        Ok(keys)
    }

    /// The authority's certificate.
    pub(crate) fn ca(&self) -> PathBuf {
        self.dir.join("ca.crt")
    }

    /// Key and certificate of the broker in one file, as its PEM key store wants them.
    pub(crate) fn broker_pem(&self) -> PathBuf {
        self.dir.join("broker.pem")
    }

    /// The certificate of the ordinary principal.
    pub(crate) fn client_certificate(&self) -> PathBuf {
        self.dir.join("client.crt")
    }

    /// The private key of the ordinary principal.
    pub(crate) fn client_key(&self) -> PathBuf {
        self.dir.join("client.key")
    }

    fn make_authority(&self) -> Result<()> {
        self.make_key("ca")?;
        self.openssl(&[
            "req",
            "-x509",
            "-new",
            "-key",
            "ca.key",
            "-out",
            "ca.crt",
            "-days",
            "3650",
            "-subj",
            "/CN=gtc test authority",
        ])
    }

    /// Version 3 certificates with an explicit `CA:FALSE`, as rustls takes no others.
    fn make_leaf(&self, file: &str, common_name: &str, extension: &str) -> Result<()> {
        self.make_key(file)?;
        let (key, request) = (format!("{file}.key"), format!("{file}.csr"));
        let (extensions, certificate) = (format!("{file}.ext"), format!("{file}.crt"));
        let subject = format!("/CN={common_name}");
        let text = format!("basicConstraints=CA:FALSE\n{extension}\n");
        write_file(&self.dir.join(&extensions), &text)?;
        self.openssl(&[
            "req", "-new", "-key", &key, "-out", &request, "-subj", &subject,
        ])?;
        self.openssl(&[
            "x509",
            "-req",
            "-in",
            &request,
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-out",
            &certificate,
            "-days",
            "3650",
            "-extfile",
            &extensions,
        ])
    }

    fn make_key(&self, file: &str) -> Result<()> {
        let key = format!("{file}.key");
        self.openssl(&[
            "genpkey",
            "-algorithm",
            "EC",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-out",
            &key,
        ])
    }

    fn join_broker_pem(&self) -> Result<()> {
        let read = |name: &str| {
            let path = self.dir.join(name);
            fs::read_to_string(&path).context(format_args!("reading {}", path.display()), REMEDY)
        };
        let pem = read("broker.key")? + &read("broker.crt")?;
        write_file(&self.broker_pem(), &pem)
    }

    fn openssl(&self, arguments: &[&str]) -> Result<()> {
        run_openssl(&self.dir, arguments)
    }
}

fn run_openssl(dir: &Path, arguments: &[&str]) -> Result<()> {
    let operation = format!("openssl {} in {}", arguments.join(" "), dir.display());
    let output = Command::new("openssl")
        .args(arguments)
        .current_dir(dir)
        .output()
        .context(&operation, REMEDY)?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::new(
        operation,
        String::from_utf8_lossy(&output.stderr),
        REMEDY,
    ))
}
