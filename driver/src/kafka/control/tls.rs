//! TLS by rustls, from properties named as librdkafka names them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;

use super::error::Failure;
use crate::kafka::properties::{PemSource, TlsSettings};

/// What a PEM key begins with that only its password opens.
const ENCRYPTED_MARKS: [&str; 2] = ["BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED"];

/// Reads the files that the settings name and makes a connector of them.
pub(super) fn connector(settings: &TlsSettings) -> Result<TlsConnector, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::config(format!("TLS: {error}")))?;
    let builder = if settings.verify_certificate && settings.verify_name {
        builder.with_root_certificates(authorities(settings)?)
    } else {
        let roots = settings
            .verify_certificate
            .then(|| authorities(settings))
            .transpose()?;
        let verifier = Lenient {
            roots,
            algorithms: provider.signature_verification_algorithms,
        };
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
    };
    let config = match &settings.identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => builder
            .with_client_auth_cert(chain(certificate)?, private_key(key)?)
            .map_err(|error| Failure::config(format!("client certificate: {error}")))?,
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

fn authorities(settings: &TlsSettings) -> Result<RootCertStore, Failure> {
    let certificates = match &settings.authorities {
        None => rustls_native_certs::load_native_certs().certs,
        Some(PemSource::Path { path, .. }) if Path::new(path).is_dir() => {
            rustls_native_certs::load_certs_from_paths(None, Some(Path::new(path))).certs
        }
        Some(source) => certificates("ssl.ca", source)?,
    };
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        let form = settings
            .authorities
            .as_ref()
            .map_or("location", PemSource::form);
        return Err(Failure::config(format!(
            "ssl.ca.{form}: no authority's certificate was found"
        )));
    }
    Ok(roots)
}

fn chain(source: &PemSource) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let chain = certificates("ssl.certificate", source)?;
    if chain.is_empty() {
        return Err(Failure::config(format!(
            "ssl.certificate.{}: holds no certificate",
            source.form()
        )));
    }
    Ok(chain)
}

/// The certificates of `prefix.pem` or `prefix.location`.
fn certificates(prefix: &str, source: &PemSource) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let property = format!("{prefix}.{}", source.form());
    let text = text(&property, source)?;
    CertificateDer::pem_slice_iter(text.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| Failure::config(format!("{property}: not in PEM form")))
}

fn private_key(source: &PemSource) -> Result<PrivateKeyDer<'static>, Failure> {
    let property = format!("ssl.key.{}", source.form());
    let text = text(&property, source)?;
    if ENCRYPTED_MARKS.iter().any(|mark| text.contains(mark)) {
        return Err(Failure::config(format!(
            "{property}: the key is encrypted, which the control plane does not support; \
             decrypt it with `openssl pkey` into a file that only its user may read, and \
             remove ssl.key.password"
        )));
    }
    // The reason is left out: it could repeat a part of the key.
    PrivateKeyDer::from_pem_slice(text.as_bytes())
        .map_err(|_| Failure::config(format!("{property}: holds no private key in PEM form")))
}

fn text(property: &str, source: &PemSource) -> Result<String, Failure> {
    match source {
        PemSource::Text(text) => Ok(text.reveal().to_owned()),
        PemSource::Path { path, shown } => std::fs::read_to_string(path)
            .map_err(|error| Failure::config(format!("{property}: {shown}: {error}"))),
    }
}

/// Checks less than rustls would by itself, because the user's properties say so.
struct Lenient {
    /// `None` accepts every certificate.
    roots: Option<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl fmt::Debug for Lenient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Lenient")
            .field("verifies", &self.roots.is_some())
            .finish()
    }
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                roots,
                intermediates,
                now,
                self.algorithms.all,
            )?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::kafka::properties::Properties;

    /// What is said of these properties once they are read for a connection.
    fn said_of(pairs: &[(&str, &str)], written: &[(&str, &str)]) -> String {
        let owned = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let owned = pairs.iter().map(|(name, value)| (*name, *value));
            owned
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect()
        };
        let mut values = owned(pairs);
        for (name, value) in [("bootstrap.servers", "a:1"), ("security.protocol", "ssl")] {
            values.insert(name.to_owned(), value.to_owned());
        }
        let properties = Properties::parse_written("eu", values, owned(written)).expect("valid");
        let tls = properties.connection().tls.as_ref().expect("it is ssl");
        match connector(tls) {
            Ok(_) => panic!("it cannot be used"),
            Err(failure) => format!("{failure:?} {properties:?}"),
        }
    }

    #[test]
    fn what_cannot_be_used_is_named_by_the_property_that_holds_it() {
        let certificate = ("ssl.certificate.pem", "no certificate");
        let key = ("ssl.key.pem", "no key");
        let said = said_of(&[certificate, key], &[]);
        assert!(said.contains("ssl.certificate.pem: holds no"), "{said}");
        let said = said_of(&[("ssl.ca.pem", "nobody")], &[]);
        assert!(said.contains("ssl.ca.pem: no authority's"), "{said}");
        let said = said_of(&[("ssl.ca.location", "/nowhere/ca.pem")], &[]);
        assert!(
            said.contains("ssl.ca.location: /nowhere/ca.pem: "),
            "{said}"
        );
    }

    #[test]
    fn a_path_from_the_environment_is_shown_as_it_is_written() {
        let location = ("ssl.ca.location", "/planted-secret/ca.pem");
        let said = said_of(&[location], &[("ssl.ca.location", "/${PLACE}/ca.pem")]);
        assert!(
            said.contains("ssl.ca.location: /${PLACE}/ca.pem: "),
            "{said}"
        );
        assert!(!said.contains("planted"), "{said}");
    }
}
