//! Proof of a network: a SIP request from it, signed with the password of its entry.
//!
//! Anyone can list any network, and a packet can claim any source. So the first request is challenged with a nonce that
//! goes to its source address, and only who knows the password *and* receives packets there can answer. That says
//! nothing about its neighbours: one request proves an IPv4 address or an IPv6 /64. The team vouches for wider networks.
//!
//! If two customers list a network, the first to prove it has it. The other's entry stays pending.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::{self, EntryRow};
use api::problem::Problem;
use db::{Conn, DbError};
use platform::app::App;
use platform::audit::{self, Entry};
use platform::crypto::sip_digest::{self, Credentials};
use platform::routing::reserved::{self, Reserved, Resolved};
use platform::routing::{allow_lists, upstreams};
use values::{Cidr, IpAllowEntryId, Text};

/// Longest networks that one request proves.
const PROVABLE_V4: u8 = 32;
const PROVABLE_V6: u8 = 64;

/// A SIP request to the user `verify`, as a switch received it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProofRequest {
    /// Switch that asks.
    pub edge_id: Text<1, 64>,
    /// IP address that the request comes from.
    pub source_ip: Text<1, 64>,
    /// Method of the request.
    pub method: Text<1, 32>,
    /// Its Authorization header; left out if it has none.
    #[serde(default)]
    pub authorization: Option<Text<0, 1024>>,
}

/// What the switch replies.
#[derive(Debug, Serialize)]
pub struct ProofAnswer {
    pub outcome: ProofOutcome,
    pub sip_code: u16,
    pub sip_reason: &'static str,
    /// The WWW-Authenticate header of a challenge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub www_authenticate: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofOutcome {
    Challenge,
    Verified,
    Refused,
}

/// Checks a request to the user `verify`, and verifies the network that it proves.
pub async fn prove(app: &App, request: &ProofRequest) -> Result<ProofAnswer, Problem> {
    let Ok(address) = request.source_ip.parse::<IpAddr>() else { return Ok(refused()) };
    let now = app.clock.now();
    let credentials = request.authorization.as_deref().and_then(Credentials::parse);
    let Some(credentials) = credentials.filter(|given| given.is_fresh(&app.keys, address, now)) else {
        let www_authenticate = Some(sip_digest::challenge(&app.keys, address, now));
        let (outcome, sip_code, sip_reason) = (ProofOutcome::Challenge, 401, "Unauthorized");
        return Ok(ProofAnswer { outcome, sip_code, sip_reason, www_authenticate });
    };
    let entry = match credentials.username().parse::<IpAllowEntryId>() {
        Ok(id) => store::find(&mut *app.db.read().await?, id).await?,
        Err(_) => None,
    };
    let Some(entry) = entry.filter(|entry| {
        entry.cidr.contains(address) && is_provable(entry.cidr) && credentials.proves(&request.method, &entry.code)
    }) else {
        return Ok(refused());
    };
    let gateways = app.gateways.current(&app.db).await?;
    let resolved = reserved::resolve(&app.settings, &app.hosts, gateways.all(), now).await;
    let proof = Proof { app: app.clone(), id: entry.id, address, resolved };
    let is_verified = app.db.tx(proof, |conn, proof| Box::pin(verify_by_proof(conn, proof))).await?;
    Ok(if is_verified { verified(&request.method) } else { refused() })
}

struct Proof {
    app: App,
    id: IpAllowEntryId,
    address: IpAddr,
    resolved: Resolved,
}

/// False if another customer has the network, or it became an upstream's.
async fn verify_by_proof(conn: &mut Conn, proof: &Proof) -> Result<bool, DbError> {
    let Some(entry) = store::find(conn, proof.id).await? else { return Ok(false) };
    if entry.verified_at.is_some() {
        return Ok(true);
    }
    if !matches!(verify(conn, &proof.app, &entry, &proof.resolved).await?, Verdict::Verified(_)) {
        return Ok(false);
    }
    let meta = [("entry_id", entry.id.to_string()), ("cidr", entry.cidr.to_string())];
    let log =
        Entry { ip: Some(proof.address), ..Entry::by_system("ip_allow_list.verify", Some(entry.account_id), meta) };
    audit::append(conn, &proof.app.keys, &log).await?;
    Ok(true)
}

/// What became of an entry that is to be verified.
pub enum Verdict {
    Verified(EntryRow),
    /// This entry of another customer was verified first.
    Taken(allow_lists::AllowListEntry),
    /// It overlaps an edge or an upstream.
    Reserved,
}

/// Verifies an entry, unless another one or an upstream has its network. No allow-list changes until the commit.
pub async fn verify(conn: &mut Conn, app: &App, entry: &EntryRow, resolved: &Resolved) -> Result<Verdict, DbError> {
    allow_lists::bump_version(conn).await?;
    // Another request may have verified it while this one waited.
    if let Some(known) = store::find(conn, entry.id).await?.filter(|known| known.verified_at.is_some()) {
        return Ok(Verdict::Verified(known));
    }
    upstreams::lock_version(conn).await?;
    if Reserved::new(&app.settings, &upstreams::load(conn).await?, resolved).overlap(entry.cidr).is_some() {
        return Ok(Verdict::Reserved);
    }
    if let Some(taken) = allow_lists::verified_overlap(conn, entry.cidr).await? {
        return Ok(Verdict::Taken(taken));
    }
    store::set_verified(conn, entry.id).await?;
    Ok(Verdict::Verified(EntryRow { verified_at: Some(conn.now()), ..entry.clone() }))
}

/// Whether one request from a network proves all of it.
fn is_provable(cidr: Cidr) -> bool {
    let network = cidr.network();
    network.prefix_len() >= if network.addr().is_ipv4() { PROVABLE_V4 } else { PROVABLE_V6 }
}

/// The same for every reason, so that nobody learns who has listed what.
fn refused() -> ProofAnswer {
    let (outcome, sip_code, sip_reason) = (ProofOutcome::Refused, 403, "Network Not Verified");
    ProofAnswer { outcome, sip_code, sip_reason, www_authenticate: None }
}

/// A call is over with it: there is nobody to talk to.
fn verified(method: &str) -> ProofAnswer {
    let (sip_code, sip_reason) = if method == "INVITE" { (480, "Network Verified") } else { (200, "Network Verified") };
    ProofAnswer { outcome: ProofOutcome::Verified, sip_code, sip_reason, www_authenticate: None }
}
