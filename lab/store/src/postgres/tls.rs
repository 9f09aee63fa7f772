//! Encrypted connections, by rustls, and connections without TLS, in the same form: the client library
//! lets only these follow the bytes. A server's certificate and name are always checked.

use std::{env, io, path::PathBuf, pin::Pin, sync::Arc};

use anyhow::{Context as _, Result, bail};
use postgres::{
    Socket,
    tls::{MakeTlsConnect, TlsConnect},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

use super::stream::{Frames, Stream};

/// The system's file of trusted certificates: Debian's, Fedora's, Alpine's.
const SYSTEM: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Makes connections to any server.
#[derive(Clone)]
pub enum Make {
    Encrypted(Arc<ClientConfig>),
    Plain {
        /// `true` if the server may have the password in clear.
        may_be_clear: bool,
    },
}

impl Make {
    /// Encrypts, and trusts the certificates of a file in PEM; without a file, the certificates of
    /// `SSL_CERT_FILE` or of the system.
    ///
    /// # Errors
    /// If the file cannot be read or holds no certificate.
    pub fn encrypted(trusted: Option<String>) -> Result<Self> {
        let file =
            trusted.map(PathBuf::from).or_else(|| env::var_os("SSL_CERT_FILE").map(PathBuf::from));
        let system = || SYSTEM.iter().map(PathBuf::from).find(|path| path.is_file());
        let Some(file) = file.or_else(system) else {
            bail!("no certificate is trusted: name a file of them, as ?sslrootcert=FILE")
        };
        let unreadable = || {
            format!(
                "{} has no certificates: name another file, as ?sslrootcert=FILE",
                file.display()
            )
        };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(&file).with_context(unreadable)? {
            roots.add_parsable_certificates([certificate.with_context(unreadable)?]);
        }
        if roots.is_empty() {
            bail!(unreadable());
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self::Encrypted(Arc::new(config)))
    }
}

impl MakeTlsConnect<Socket> for Make {
    type Stream = Stream;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Connect> {
        Ok(Connect { make: self.clone(), domain: domain.to_owned() })
    }
}

/// Makes one connection.
pub struct Connect {
    make: Make,
    domain: String,
}

impl TlsConnect<Socket> for Connect {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            match self.make {
                Make::Plain { may_be_clear } => Ok(Stream::new(socket, Frames::new(may_be_clear))),
                Make::Encrypted(config) => {
                    let server = ServerName::try_from(self.domain).map_err(io::Error::other)?;
                    let stream = TlsConnector::from(config).connect(server, socket).await?;
                    Ok(Stream::new(stream, Frames::new(true)))
                }
            }
        })
    }
}
