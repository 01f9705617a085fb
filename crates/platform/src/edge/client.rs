//! The HTTP client of a switch, with the certificates that the operations port may ask for.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Identity};

use super::sync::EdgeError;
use crate::config::{IdentityFiles, PemFile, SwitchTls};

/// A client that reads the certificates now. An error names the setting and the file.
pub fn http_client(tls: &SwitchTls, timeout: Duration) -> Result<Client, EdgeError> {
    let mut client = Client::builder().no_proxy().redirect(Policy::none()).timeout(timeout);
    if let Some(ca) = &tls.ca {
        client = client.tls_certs_only(authorities(ca).map_err(EdgeError)?);
    }
    if let Some(files) = &tls.identity {
        client = client.identity(identity(files).map_err(EdgeError)?);
    }
    client.build().map_err(|error| EdgeError(error.to_string()))
}

fn authorities(file: &PemFile) -> Result<Vec<Certificate>, String> {
    let authorities = Certificate::from_pem_bundle(&file.read()?).map_err(|error| file.error(error))?;
    if authorities.is_empty() { Err(file.error("contains no certificate")) } else { Ok(authorities) }
}

fn identity(files: &IdentityFiles) -> Result<Identity, String> {
    let (mut pem, key) = (files.certificate.read()?, files.key.read()?);
    pem.push(b'\n');
    pem.extend(key);
    Identity::from_pem(&pem).map_err(|error| {
        let IdentityFiles { certificate, key } = files;
        certificate.error(format_args!("unusable with {} {}: {error}", key.setting, key.path.display()))
    })
}
