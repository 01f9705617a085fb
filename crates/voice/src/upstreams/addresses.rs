//! The addresses of an upstream must not be a customer's: it would lose the calls that it makes from there.

use super::store::UpstreamRow;
use api::context::RequestCtx;
use api::problem::Problem;
use db::Conn;
use platform::app::App;
use platform::routing::allow_lists::{self, AllowListEntry};
use platform::routing::reserved::{self, Reserved, Resolved};
use platform::routing::upstreams::Upstream;
use values::{List, SipUri};

/// The addresses that the host names of gateways have now.
pub async fn resolve(ctx: &RequestCtx, gateways: &[SipUri]) -> Resolved {
    reserved::resolve_hosts(&ctx.app.hosts, gateways, ctx.now).await
}

/// Refuses an upstream whose addresses overlap an allow-list. No allow-list changes until the commit.
pub async fn refuse_overlap(
    conn: &mut Conn,
    app: &App,
    upstream: &UpstreamRow,
    resolved: &Resolved,
) -> Result<(), Problem> {
    allow_lists::lock_version(conn).await?;
    let reserved = Reserved::new(&app.settings, &[routed(upstream)], resolved);
    for cidr in reserved.networks_of(upstream.id) {
        // One that does not count takes nothing from the upstream.
        let overlapping = allow_lists::overlaps(conn, cidr, 1).await?.into_iter().next();
        let counts = |entry: &AllowListEntry| entry.verified_at.is_some() || !app.settings.allow_list_proof;
        if let Some(taken) = overlapping.filter(counts) {
            return Err(Problem::resource_in_use(format!(
                "{cidr} overlaps {}, entry {} of trunk {} of customer {}. Have it removed first.",
                taken.cidr,
                taken.id,
                taken.trunk_id,
                taken.account_id.uuid()
            )));
        }
    }
    Ok(())
}

/// The upstream as routing sees it.
fn routed(upstream: &UpstreamRow) -> Upstream {
    Upstream {
        id: upstream.id,
        status: upstream.status,
        health: upstream.health,
        dispatcher_group_id: upstream.dispatcher_group_id,
        gateways: List(upstream.gateways.0.clone()),
        signaling_ips: List(upstream.signaling_ips.0.clone()),
    }
}
