//! Encrypted connections, by rustls. A server's certificate and name are always checked.

use std::{
    env, io,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use anyhow::{Context as _, Result, bail};
use postgres::{
    Socket,
    tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::{
    TlsConnector, client,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

/// The system's file of trusted certificates: Debian's, Fedora's, Alpine's.
const SYSTEM: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Makes encrypted connections to any server.
#[derive(Clone)]
pub struct Make {
    /// `None` if no connection is to be encrypted.
    config: Option<Arc<ClientConfig>>,
}

impl Make {
    /// Encrypts nothing.
    pub fn none() -> Self {
        Self { config: None }
    }

    /// Trusts the certificates of a file in PEM; without a file, the certificates of
    /// `SSL_CERT_FILE` or of the system.
    ///
    /// # Errors
    /// If the file cannot be read or holds no certificate.
    pub fn new(trusted: Option<String>) -> Result<Self> {
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
        Ok(Self { config: Some(Arc::new(config)) })
    }
}

impl MakeTlsConnect<Socket> for Make {
    type Stream = Stream;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Connect> {
        let server = ServerName::try_from(domain.to_owned()).map_err(io::Error::other);
        Ok(Connect { config: self.config.clone(), server })
    }
}

/// Makes one encrypted connection.
pub struct Connect {
    config: Option<Arc<ClientConfig>>,
    server: io::Result<ServerName<'static>>,
}

impl TlsConnect<Socket> for Connect {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let none = || io::Error::other("this connection is not to be encrypted");
            let connector = TlsConnector::from(self.config.ok_or_else(none)?);
            connector.connect(self.server?, socket).await.map(Stream)
        })
    }
}

/// An encrypted connection.
pub struct Stream(client::TlsStream<Socket>);

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
