//! Every endpoint of this crate: who may call it, what it counts against, what the audit log calls it.

use api::auth::Who::{Admin, Customer, Team};
use api::endpoint::{Endpoint, delete, get, patch, post, put};
use api::problem::Code::{AccountNotActive, NotFound, ResourceInUse, StateConflict};
use api::scopes::Scope::{AdminRead, CallsRead, RatesRead, RatesWrite, TrunksRead, TrunksWrite};
use api::tags;
use platform::limits::Limit;
use values::AccountRole::{Technical, Viewer};

use crate::upstreams::{decks, statements};
use crate::{calls, cdrs, concurrency, fraud_caps, fx, price_notices, rate_plans, rates, routing_policies, upstreams};

#[rustfmt::skip]
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/fraud-caps", fraud_caps::show, "getFraudCaps", "Get fraud caps")
            .about("Returns the maximum spend per UTC day and the maximum rate per minute of the account's calls. Open \
                    to customers.")
            .who(Customer).account_role(Viewer).scope(TrunksRead).limit(Limit::Reads).under(tags::TRUNKS),
        put("/fraud-caps", fraud_caps::update, "setFraudCaps", "Set fraud caps")
            .about("Sets the maximum spend per UTC day and the maximum rate per minute; calls beyond them are denied. \
                    A raise is confirmed to the account's contact by mail. Open to customers.")
            .who(Customer).account_role(Technical).scope(TrunksWrite).limit(Limit::Writes).audit("fraud_caps.update").recent_sign_in()
            .problems(&[NotFound, AccountNotActive])
            .under(tags::TRUNKS),

        get("/calls", calls::list_own_live, "listOwnLiveCalls", "List live calls of the account")
            .about("Lists the account's live calls, newest first. A page looks at 10,000 calls at most, so with filters it \
                    can be short and still have a `next_cursor`. Open to customers.")
            .who(Customer).account_role(Viewer).scope(CallsRead).limit(Limit::Reads).under(tags::CDRS),
        post("/calls/simulate", calls::simulate, "simulateCall", "Simulate call")
            .about("Returns what a switch would be answered for a call from one of the account's trunks now: whether it \
                    may begin, why not, its rate and its first reservation. Nothing is reserved or counted. Open to \
                    customers.")
            .who(Customer).account_role(Viewer).scope(CallsRead).limit(Limit::Writes).audit("call.simulate").under(tags::CDRS),
        get("/usage", cdrs::usage, "getUsage", "Get usage over time")
            .about("Returns attempts, answered calls, minutes, charges, ASR and ACD of the account's calls by hour or day, \
                    all together or by destination, country or trunk. A response has at most 5000 points; what does not \
                    fit is summed up in `other`. Open to customers.")
            .who(Customer).account_role(Viewer).scope(CallsRead).limit(Limit::Reads).reads_replica().under(tags::CDRS),

        get("/rates", rates::list, "listRates", "List rates")
            .about("Lists the sell rates by prefix. With `country` or `q` a page can be short or empty and still have \
                    a `next_cursor`. Open to customers.")
            .who(Customer).account_role(Viewer).scope(RatesRead).limit(Limit::Reads).under(tags::RATES),
        get("/rates/lookup", rates::lookup, "lookUpRate", "Look up the rate for a number")
            .about("Returns the sell rate of the longest prefix that matches the number; 404 if calls to it are not \
                    sold. Open to customers.")
            .who(Customer).account_role(Viewer).scope(RatesRead).limit(Limit::Reads).problems(&[NotFound]).under(tags::RATES),
        get("/rates/diff", rates::diff, "compareRates", "Compare rates between two dates")
            .about("Lists the prefixes whose sell rate differs between two moments, which may lie in the future as far \
                    as rates are known. Open to customers.")
            .who(Customer).account_role(Viewer).scope(RatesRead).limit(Limit::Reads).under(tags::RATES),
        get("/rates/export", rates::export, "exportRates", "Export rates as CSV")
            .about("Streams all sell rates in force now as a CSV file. Open to customers.")
            .who(Customer).account_role(Viewer).scope(RatesRead).limit(Limit::Reads).under(tags::RATES),
        get("/price-notices", price_notices::list, "listPriceNotices", "List price notices")
            .about("Lists what the account was notified of when its prices changed, newest first: how many prefixes cost \
                    more or less, and what that means for the calls of the 30 days before. Open to customers.")
            .who(Customer).account_role(Viewer).scope(RatesRead).limit(Limit::Reads).under(tags::RATES),
        get("/price-notices/{id}", price_notices::show, "getPriceNotice", "Get price notice")
            .about("Returns a price notice with its impact on the account's calls by destination. Open to customers.")
            .who(Customer).account_role(Viewer).scope(RatesRead).limit(Limit::Reads).problems(&[NotFound]).under(tags::RATES),
        get("/price-notices/{id}/file", price_notices::file, "downloadPriceNotice", "Download price notice")
            .about("Returns the changed prices as CSV or XLSX, each with its old and its new rate. A notice of more than \
                    100,000 changes has no file: compare the rates with `GET /rates/diff`. Open to customers.")
            .who(Customer).account_role(Viewer).scope(RatesRead).limit(Limit::Reads).problems(&[NotFound, StateConflict])
            .under(tags::RATES),

        get("/cdrs", cdrs::list, "listCdrs", "List CDRs")
            .about("Lists the CDRs of the account's finished calls since `hot_from`, newest first; `POST /cdrs/exports` has \
                    earlier ones too. A page looks at 10,000 CDRs at most, so with filters it can be short or empty and \
                    still have a `next_cursor`. Open to customers.")
            .who(Customer).account_role(Viewer).scope(CallsRead).limit(Limit::Reads).reads_replica().under(tags::CDRS),
        get("/cdrs/summary", cdrs::summary, "getCdrSummary", "Get daily CDR summary")
            .about("Returns attempts, answered calls, minutes and charges of a UTC day, by country and destination. \
                    Open to customers.")
            .who(Customer).account_role(Viewer).scope(CallsRead).limit(Limit::Reads).reads_replica().under(tags::CDRS),
        get("/cdrs/exports", cdrs::list_exports, "listCdrExports", "List CDR exports")
            .about("Lists the account's CDR exports, newest first. Open to customers.")
            .who(Customer).account_role(Viewer).scope(CallsRead).limit(Limit::Reads).under(tags::CDRS),
        post("/cdrs/exports", cdrs::create_export, "createCdrExport", "Create CDR export")
            .about("Queues an export of CDRs to a CSV or JSON Lines file, at most 366 days and ten exports an hour. \
                    Poll `GET /cdrs/exports/{id}` or wait for the `export.ready` notification. Open to customers.")
            .who(Customer).account_role(Technical).scope(CallsRead).limit(Limit::Writes).audit("cdr_export.create")
            .idempotent().under(tags::CDRS),
        get("/cdrs/exports/{id}", cdrs::show_export, "getCdrExport", "Get CDR export")
            .about("Returns the status of a CDR export and, once it is `ready`, a download link valid for 15 minutes; \
                    the file expires after 7 days. Open to customers.")
            .who(Customer).account_role(Viewer).scope(CallsRead).limit(Limit::Reads).under(tags::CDRS),
        get("/cdrs/{id}", cdrs::show, "getCdr", "Get CDR")
            .about("Returns a CDR with the rate, increments and ledger entry that explain its charge. Open to \
                    customers.")
            .who(Customer).account_role(Viewer).scope(CallsRead).limit(Limit::Reads).under(tags::CDRS),
        get("/asr-acd", cdrs::asr_acd, "getAsrAcd", "Get ASR and ACD")
            .about("Returns the answer-seizure ratio and the average call duration of the account or of a trunk, from \
                    hourly rollups. Open to customers.")
            .who(Customer).account_role(Viewer).scope(CallsRead).limit(Limit::Reads).reads_replica().under(tags::CDRS),
        get("/capacity", concurrency::capacity, "getPeakConcurrentCalls", "Get peak concurrent calls")
            .about("Returns the peak number of concurrent calls for each hour of a week or each day of a month. Open \
                    to customers.")
            .who(Customer).account_role(Viewer).scope(CallsRead).limit(Limit::Reads).reads_replica().under(tags::CDRS),
        get("/quotas", concurrency::list_quotas, "listZoneQuotas", "List zone quotas")
            .about("Lists the account's zones with their concurrent calls now, today's peak and the quota. Open to \
                    customers.")
            .who(Customer).account_role(Viewer).scope(CallsRead).limit(Limit::Reads).under(tags::CDRS),

        get("/admin/customers/{id}/quotas", concurrency::admin_quotas, "getCustomerZoneQuotas", "Get zone quotas of a customer")
            .about("Returns how many concurrent calls a customer may have in each zone. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::LIVE_CALLS),
        put("/admin/customers/{id}/quotas", concurrency::set_quotas, "setCustomerZoneQuotas", "Set zone quotas of a customer")
            .about("Sets how many concurrent calls a customer may have in each zone; zones left out return to the \
                    default quota. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("quotas.update").under(tags::LIVE_CALLS),
        get("/admin/customers/{id}/fraud-caps", fraud_caps::show_of_customer,
            "getFraudCapsOfCustomer", "Get fraud caps of a customer")
            .about("Returns the maximum spend per UTC day and the maximum rate per minute of a customer's calls. Open to \
                    the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::LIVE_CALLS),
        get("/admin/calls", calls::list_live, "listLiveCalls", "List live calls")
            .about("Lists the live calls of all customers, newest first. A page looks at 10,000 calls at most, so with \
                    filters it can be short and still have a `next_cursor`. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::LIVE_CALLS),
        post("/admin/calls/{id}/hangup", calls::hang_up, "hangUpCall", "Hang up live call")
            .about("Marks a live call to be ended; its switch learns it from the response to its next events. Poll `GET \
                    /admin/calls` until it is gone. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("call.hang_up").problems(&[StateConflict]).under(tags::LIVE_CALLS),

        get("/admin/fx-rates", fx::show, "getFxRates", "Get exchange rates")
            .about("Returns the newest exchange rates of the euro on or before a date, today by default. Open to the \
                    team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_BILLING),
        put("/admin/fx-rates", fx::update, "setFxRates", "Set exchange rates of a day")
            .about("Replaces the exchange rates of a day. The rates of the newest day convert what upstreams charge \
                    into sell rates. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("fx_rates.update").idempotent().under(tags::ADMIN_BILLING),

        get("/admin/upstreams", upstreams::list, "listUpstreams", "List upstreams")
            .about("Lists the upstreams, newest first. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::UPSTREAMS),
        post("/admin/upstreams", upstreams::create, "createUpstream", "Create upstream")
            .about("Adds an upstream with its dispatcher group, currency and markup; import its rate deck next. A \
                    gateway or signaling IP on a customer's allow-list is a 409 that names the entry. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("upstream.create").idempotent().problems(&[ResourceInUse])
            .under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}", upstreams::show, "getUpstream", "Get upstream")
            .about("Returns an upstream with its terms, health and import settings. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::UPSTREAMS),
        patch("/admin/upstreams/{id}", upstreams::update, "updateUpstream", "Update upstream")
            .about("Changes an upstream's status, markup, import settings, gateways or signaling IPs; status and \
                    markup change the sell rates at once. A gateway or signaling IP on a customer's allow-list is a \
                    409 that names the entry. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("upstream.update").idempotent().problems(&[ResourceInUse])
            .under(tags::UPSTREAMS),
        delete("/admin/upstreams/{id}", upstreams::delete, "deleteUpstream", "Delete upstream")
            .about("Deletes an upstream of which no rates or numbers were ever imported; disable any other instead. \
                    Admins only.")
            .who(Admin).limit(Limit::Writes).audit("upstream.remove").idempotent().problems(&[ResourceInUse])
            .under(tags::UPSTREAMS),
        post("/admin/upstreams/{id}/rates/import", decks::import, "importRateDeck", "Import rate deck")
            .about("Queues the import of a rate deck from the body (CSV, XLSX, or a form with `file` and `mapping`) or, \
                    without a body, from `rate_import_url`; it is read by the upstream's sheet mapping. Poll `GET \
                    /admin/upstreams/{id}/imports/{import_id}`; a deck with any error changes nothing. Admins only.")
            .who(Admin).scope(RatesWrite).limit(Limit::Writes).audit("deck.import").idempotent().problems(&[StateConflict])
            .under(tags::UPSTREAMS),
        post("/admin/upstreams/{id}/rates/preview", decks::preview, "previewRateSheet", "Preview rate sheet")
            .about("Reads a rate sheet as an import would, by the `mapping` of the form, the saved one, our own header, or \
                    else one that the header suggests. Returns the mapping, the first 20 rates and all errors; nothing is \
                    stored. Admins only.")
            .who(Admin).scope(RatesWrite).limit(Limit::Writes).audit("deck.preview").under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/sheet-mapping", decks::show_mapping, "getSheetMapping", "Get sheet mapping")
            .about("Returns how the rate sheets of an upstream are laid out; 404 if no mapping was saved. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).scope(RatesWrite).limit(Limit::Reads).under(tags::UPSTREAMS),
        put("/admin/upstreams/{id}/sheet-mapping", decks::save_mapping, "setSheetMapping", "Set sheet mapping")
            .about("Sets how the rate sheets of an upstream are laid out, for uploads, pulls and the command line. Files \
                    with our own header need none. Admins only.")
            .who(Admin).scope(RatesWrite).limit(Limit::Writes).audit("sheet_mapping.update").idempotent().under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/hold-policy", decks::show_policy, "getHoldPolicy", "Get hold policy")
            .about("Returns which rate deck imports of an upstream wait for a decision. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::UPSTREAMS),
        put("/admin/upstreams/{id}/hold-policy", decks::save_policy, "setHoldPolicy", "Set hold policy")
            .about("Sets when rate deck imports of an upstream are held: too many prefixes change, a rate rises too much, \
                    or destinations would be sold below cost. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("hold_policy.update").idempotent().under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/deck-mail", decks::mail::show_policy, "getDeckMailPolicy", "Get deck mail policy")
            .about("Returns which mail brings rate decks of an upstream; 404 if none does. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::UPSTREAMS),
        put("/admin/upstreams/{id}/deck-mail", decks::mail::save_policy, "setDeckMailPolicy", "Set deck mail policy")
            .about("Sets which mail brings rate decks of an upstream: its senders, its subject, and which attachments are \
                    imported. Mail of other senders is never imported. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("deck_mail_policy.update").idempotent().under(tags::UPSTREAMS),
        delete("/admin/upstreams/{id}/deck-mail", decks::mail::delete_policy, "deleteDeckMailPolicy", "Delete deck mail policy")
            .about("Stops the import of rate decks of an upstream by mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("deck_mail_policy.remove").idempotent().under(tags::UPSTREAMS),
        get("/admin/deck-mails", decks::mail::list, "listDeckMails", "List deck mails")
            .about("Lists the mails that were read from the deck mailbox, newest first, with their imports or why they were \
                    refused. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::UPSTREAMS),
        get("/admin/deck-mailbox", decks::mail::show_mailbox, "getDeckMailbox", "Get deck mailbox")
            .about("Returns whether rate decks can arrive by mail, when the mailbox was last read, and why it cannot be. \
                    Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/imports", decks::list, "listRateDeckImports", "List rate deck imports")
            .about("Lists the rate deck imports of an upstream without their errors, newest first. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).scope(RatesWrite).limit(Limit::Reads).under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/imports/{import_id}", decks::show, "getRateDeckImport", "Get rate deck import")
            .about("Returns the progress and result of a rate deck import with its first 1000 errors. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).scope(RatesWrite).limit(Limit::Reads).under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/imports/{import_id}/impact", decks::show_impact, "getRateDeckImpact", "Get impact of rate deck import")
            .about("Returns how many prefixes an import changes and, by the calls of the 30 days before it, the change of \
                    cost and the destinations and customers that would be sold below cost; also of a dry run. Open to \
                    the team (admin or support).")
            .who(Team).scope(AdminRead).scope(RatesWrite).limit(Limit::Reads).problems(&[StateConflict]).under(tags::UPSTREAMS),
        post("/admin/upstreams/{id}/imports/{import_id}/apply", decks::apply, "applyRateDeckImport", "Apply held rate deck import")
            .about("Queues a held import again, to be applied to the deck in force by then. Poll `GET \
                    /admin/upstreams/{id}/imports/{import_id}`. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("deck.apply").idempotent().problems(&[StateConflict]).under(tags::UPSTREAMS),
        post("/admin/upstreams/{id}/imports/{import_id}/reject", decks::reject, "rejectRateDeckImport", "Reject held rate deck import")
            .about("Rejects a held import; the deck in force stays. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("deck.reject").idempotent().problems(&[StateConflict]).under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/statement-mapping", statements::show_mapping, "getStatementMapping", "Get statement mapping")
            .about("Returns how the statements of an upstream are laid out; 404 if no mapping was saved. Open to the team \
                    (admin or support).")
            .who(Team).scope(AdminRead).scope(RatesWrite).limit(Limit::Reads).under(tags::UPSTREAMS),
        put("/admin/upstreams/{id}/statement-mapping", statements::save_mapping, "setStatementMapping", "Set statement mapping")
            .about("Sets how the statements of an upstream are laid out, and how far starts and durations may be apart. \
                    Files with our own header need none. Admins only.")
            .who(Admin).scope(RatesWrite).limit(Limit::Writes).audit("statement_mapping.update").idempotent().under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/statements", statements::list, "listStatements", "List statements of an upstream")
            .about("Lists the statements of an upstream with their totals and without their errors, newest first. Open to \
                    the team (admin or support).")
            .who(Team).scope(AdminRead).scope(RatesWrite).limit(Limit::Reads).under(tags::UPSTREAMS),
        post("/admin/upstreams/{id}/statements", statements::create, "createStatement", "Reconcile statement of an upstream")
            .about("Queues the comparison of an upstream's calls (CSV, XLSX, or a form with `file` and `mapping`) with our \
                    CDRs, by called number, start and duration. Poll `GET \
                    /admin/upstreams/{id}/statements/{statement_id}`; a file with any error is not compared. Admins only.")
            .who(Admin).scope(RatesWrite).limit(Limit::Writes).audit("statement.create").idempotent().problems(&[StateConflict])
            .under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/statements/{statement_id}", statements::show, "getStatement", "Get statement of an upstream")
            .about("Returns the progress and result of a reconciliation: counts and sums of the calls that match, that \
                    differ and that only one side has, and the first 1000 errors of the file. Open to the team (admin or \
                    support).")
            .who(Team).scope(AdminRead).scope(RatesWrite).limit(Limit::Reads).under(tags::UPSTREAMS),
        get("/admin/upstreams/{id}/statements/{statement_id}/lines", statements::list_lines, "listStatementLines", "List lines of a statement")
            .about("Lists the calls of a completed statement with their and our values, by kind and start. `format=csv` \
                    streams all of them, or all of one `kind`, as CSV for a dispute. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).scope(RatesWrite).limit(Limit::Reads).problems(&[StateConflict]).under(tags::UPSTREAMS),
        get("/admin/rates", rates::list_all, "listUpstreamRates", "List upstream rates")
            .about("Lists what upstreams charge, by prefix. With `q` a page can be short or empty and still have a \
                    `next_cursor`. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::UPSTREAMS),
        get("/admin/routes", rates::routes, "lookUpRoutes", "Look up routes to a number")
            .about("Returns the sell rate for a number and every upstream, the cheapest first: its cost, its margin, its \
                    place among the routes, how its calls went and why. With `customer_id` the price is that of the \
                    customer's rate plan. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).problems(&[NotFound]).under(tags::UPSTREAMS),
        get("/admin/routing-policies", routing_policies::show, "getRoutingPolicies", "Get routing policies")
            .about("Returns how the routes of calls are ordered, and below which quality one is demoted: the default, and \
                    the exceptions by prefix or destination. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::UPSTREAMS),
        put("/admin/routing-policies", routing_policies::update, "setRoutingPolicies", "Set routing policies")
            .about("Replaces the default and all exceptions. They are in force on every node within a second; calls that \
                    were allowed before keep their routes. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("routing_policies.update").under(tags::UPSTREAMS),

        get("/admin/price-notices", price_notices::list_all, "adminListPriceNotices", "List price notices to all customers")
            .about("Lists the notices of price changes with the cause and the addresses that each was mailed to, newest \
                    first. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::RATE_PLANS),
        get("/admin/rate-plans", rate_plans::list, "listRatePlans", "List rate plans")
            .about("Lists the rate plans with their latest version, newest first. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::RATE_PLANS),
        post("/admin/rate-plans", rate_plans::create, "createRatePlan", "Create rate plan")
            .about("Adds a rate plan: a base, a markup, and rules for prefixes, destinations and countries. Assign it to \
                    customers next, with `PUT /admin/customers/{id}/rate-plan`. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("rate_plan.create").idempotent().problems(&[ResourceInUse])
            .under(tags::RATE_PLANS),
        get("/admin/rate-plans/{id}", rate_plans::show, "getRatePlan", "Get rate plan")
            .about("Returns a rate plan with the rules of its latest version. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::RATE_PLANS),
        patch("/admin/rate-plans/{id}", rate_plans::update, "updateRatePlan", "Update rate plan")
            .about("Records a new version of a rate plan from `effective_at` on and notifies its customers; live calls keep \
                    their price. An increase for any customer needs notice: a 422 names the earliest moment, unless \
                    `waive_notice` is sent with a reason. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("rate_plan.update").idempotent().problems(&[ResourceInUse])
            .under(tags::RATE_PLANS),
        delete("/admin/rate-plans/{id}", rate_plans::delete, "deleteRatePlan", "Delete rate plan")
            .about("Deletes a rate plan that no customer ever had. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("rate_plan.remove").idempotent().problems(&[ResourceInUse])
            .under(tags::RATE_PLANS),
        get("/admin/rate-plans/{id}/preview", rate_plans::preview, "previewRatePlan", "Look up price by rate plan")
            .about("Returns what a number or prefix costs by the latest version of a rate plan, the rule that decides, the \
                    list price, cost and margin; 404 if it is not sold. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::RATE_PLANS),
        get("/admin/rate-plans/{id}/impact", rate_plans::impact, "getRatePlanImpact", "Get impact of rate plan")
            .about("Prices the answered calls of the last 30 days by the latest version of a rate plan and compares \
                    revenue and margin, by customer, with the destinations that would be sold below cost. It covers the \
                    customers of the plan, or `customer_id`. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::RATE_PLANS),
        get("/admin/customers/{id}/rate-plan", rate_plans::history, "getRatePlanOfCustomer", "Get rate plan of a customer")
            .about("Returns the rate plan of a customer and all its assignments, the latest first. Open to the team (admin \
                    or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::RATE_PLANS),
        put("/admin/customers/{id}/rate-plan", rate_plans::assign, "setRatePlanOfCustomer", "Set rate plan of a customer")
            .about("Assigns a rate plan or the list price to a customer from `effective_at` on and notifies it; live calls \
                    keep their price. An increase needs notice: a 422 names the earliest moment, unless `waive_notice` is \
                    sent with a reason. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("rate_plan.assign").idempotent().under(tags::RATE_PLANS),

        get("/admin/cdrs", cdrs::list_all, "adminListCdrs", "List CDRs of all customers")
            .about("Lists the CDRs of all customers since `hot_from` with cost and margin, newest first; exports have \
                    earlier ones too. A page looks at 10,000 CDRs at most, so with filters it can be short or empty and \
                    still have a `next_cursor`. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).reads_replica().under(tags::ADMIN_CDRS),
        get("/admin/cdrs/suspense", cdrs::list_suspended, "listSuspendedCdrs", "List suspended CDRs")
            .about("Lists imported lines that cannot be rated yet, newest first: the number was not sold, or the trunk, \
                    upstream or number is unknown. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_CDRS),
        get("/admin/cdrs/suspense/summary", cdrs::suspense_summary, "getSuspenseSummary", "Get summary of suspended CDRs")
            .about("Returns how many CDRs are suspended, by reason. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_CDRS),
        post("/admin/cdrs/suspense/rerate", cdrs::rerate_suspended, "rerateSuspendedCdrs", "Rerate suspended CDRs")
            .about("Rates suspended CDRs again, those named or all (the oldest 20,000 at once, the rest by a job), and \
                    charges what can be rated now. The import of a rate deck does the same. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("cdr.rerate").idempotent().under(tags::ADMIN_CDRS),
        delete("/admin/cdrs/suspense/{id}", cdrs::drop_suspended, "dropSuspendedCdr", "Drop suspended CDR")
            .about("Gives a suspended CDR up: the call will not be charged. The reason goes to the audit log. Admins \
                    only.")
            .who(Admin).limit(Limit::Writes).audit("cdr.drop").under(tags::ADMIN_CDRS),
        get("/admin/cdrs/archive", cdrs::list_archive, "listCdrArchive", "List files of the CDR archive")
            .about("Lists the Parquet files of archived CDRs, newest day first, each with its SHA-256, its sums and a \
                    download link valid for 15 minutes. The calls of a file leave the database once it is verified. Open \
                    to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_CDRS),
        get("/admin/cdrs/exports", cdrs::list_team_exports, "adminListCdrExports", "List CDR exports of the team")
            .about("Lists the team's CDR exports, newest first. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_CDRS),
        post("/admin/cdrs/exports", cdrs::create_team_export, "adminCreateCdrExport", "Create CDR export of all customers")
            .about("Queues an export of the CDRs of all customers, or of those that `filters` match, with customer, \
                    upstream, cost and margin, at most 366 days and ten exports an hour. Poll `GET \
                    /admin/cdrs/exports/{id}`. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("cdr_export.create").idempotent().under(tags::ADMIN_CDRS),
        get("/admin/cdrs/exports/{id}", cdrs::show_team_export, "adminGetCdrExport", "Get CDR export of the team")
            .about("Returns the status of a CDR export of the team and, once it is `ready`, a download link valid for 15 \
                    minutes; the file expires after 7 days. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_CDRS),
        get("/admin/traffic", cdrs::traffic, "getTraffic", "Get traffic over time")
            .about("Returns attempts, answered calls, minutes, charges, cost, margin, ASR and ACD of all customers' calls by \
                    hour or day, all together or by destination, country, trunk, customer or upstream, or those of one customer. A response has at \
                    most 5000 points; what does not fit is summed up in `other`. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).reads_replica().under(tags::ADMIN_CDRS),
        get("/admin/reports/margin", cdrs::margin, "getMarginReport", "Get margin report")
            .about("Returns attempts, answered calls, minutes, charge, cost and margin of all customers' calls in a period, by \
                    day, customer, destination or upstream, in the order of `key`, with the `totals` of the whole period. \
                    `format=csv` streams all rows as CSV. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).reads_replica().under(tags::ADMIN_CDRS),
        get("/admin/cdrs/{id}", cdrs::admin_show, "adminGetCdr", "Get CDR of any customer")
            .about("Returns a CDR with its cost and margin, and the rate deck, markup and exchange rate that its price \
                    follows from. Open to the team (admin or support).")
            .who(Team).scope(AdminRead).limit(Limit::Reads).under(tags::ADMIN_CDRS),
    ]
}
