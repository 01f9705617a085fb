//! Signed download links, and the webhooks of payment providers.

use super::tags;
use api::auth::Who::Anyone;
use api::endpoint::{Endpoint, get, post};
use billing::webhooks;
use identity::downloads;
use platform::limits::Limit;

#[rustfmt::skip]
pub fn rows() -> Vec<Endpoint> {
    vec![
        get("/files/{token}", downloads::download, "downloadFile", "Download file by signed link")
            .about("Streams the file of a signed link, such as an invoice or an export. A link that expired or was \
                    altered is a 404. No token needed.")
            .who(Anyone).limit(Limit::None).under(tags::FILES),

        post("/webhooks/payments/{provider}", webhooks::receive,
             "receivePaymentWebhook", "Receive payment provider webhook")
            .about("Accepts a signed webhook of the payment provider; the order's state is then fetched from the \
                    provider. Repeated webhooks are accepted once, and a bad signature is a 401 with `ok: false`. No \
                    token needed.")
            .who(Anyone).limit(Limit::Webhooks).audit("payment.callback").under(tags::WEBHOOKS),
    ]
}
