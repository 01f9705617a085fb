//! Certificates for TLS, made with openssl.

use std::path::{Path, PathBuf};
use std::process::Command;

use reqwest::{Certificate, ClientBuilder};

/// An authority that issues certificates into a folder.
pub struct Authority {
    folder: PathBuf,
    name: String,
}

/// The files of a certificate and its key.
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new(folder: &Path, name: &str) -> Authority {
        let authority = Authority { folder: folder.to_owned(), name: name.to_owned() };
        std::fs::write(folder.join("openssl.cnf"), "[req]\ndistinguished_name = name\n[name]\n").unwrap();
        let uses = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"];
        authority.request(name, &uses);
        authority
    }

    /// The file of its own certificate.
    pub fn certificate(&self) -> String {
        self.file(&self.name, "pem")
    }

    /// A certificate of a server at this address.
    pub fn server(&self, name: &str, address: &str) -> Identity {
        self.issue(name, "serverAuth", &["-addext", &format!("subjectAltName=IP:{address}")])
    }

    /// A certificate of a client.
    pub fn client(&self, name: &str) -> Identity {
        self.issue(name, "clientAuth", &[])
    }

    fn issue(&self, name: &str, usage: &str, more: &[&str]) -> Identity {
        let (ca, key, usage) = (self.certificate(), self.file(&self.name, "key"), format!("extendedKeyUsage={usage}"));
        let signed = ["-CA", &ca, "-CAkey", &key, "-addext", "basicConstraints=critical,CA:FALSE", "-addext", &usage];
        self.request(name, &[&signed[..], more].concat());
        Identity { certificate: self.file(name, "pem"), key: self.file(name, "key") }
    }

    fn request(&self, name: &str, more: &[&str]) {
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]);
        openssl.arg("-config").arg(self.folder.join("openssl.cnf")).args(["-subj", &format!("/CN={name}")]);
        openssl.args(["-keyout", &self.file(name, "key"), "-out", &self.file(name, "pem")]).args(more);
        let done = openssl.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn file(&self, name: &str, kind: &str) -> String {
        self.folder.join(format!("{name}.{kind}")).to_str().unwrap().to_owned()
    }

    /// A client that trusts this authority, and opens a connection for each request.
    pub fn trusted_by(&self, identity: Option<&Identity>) -> ClientBuilder {
        let authority = Certificate::from_pem(&std::fs::read(self.certificate()).unwrap()).unwrap();
        let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).tls_certs_only([authority]);
        match identity {
            Some(identity) => client.identity(reqwest::Identity::from_pem(&identity.pem()).unwrap()),
            None => client,
        }
    }
}

impl Identity {
    /// Both in one file.
    pub fn pem(&self) -> Vec<u8> {
        [std::fs::read(&self.certificate).unwrap(), std::fs::read(&self.key).unwrap()].concat()
    }

    /// Replaces the files of another one, as a renewal does.
    pub fn replace(&self, old: &Identity) {
        std::fs::copy(&self.certificate, &old.certificate).unwrap();
        std::fs::copy(&self.key, &old.key).unwrap();
    }
}
