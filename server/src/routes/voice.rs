//! Rates, CDRs and what is counted from them.

use super::tags;
use api::auth::Who::Customer;
use api::endpoint::{Endpoint, get, post};
use api::problem::Code::NotFound;
use platform::limits::Limit;
use voice::{cdrs, concurrency, rates};

#[rustfmt::skip]
pub fn rows() -> Vec<Endpoint> {
    vec![
        get("/rates", rates::list, "listRates", "List rates")
            .about("Lists the sell rates by prefix. With `country` or `q` a page can be short or empty and still have \
                    a `next_cursor`. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::RATES),
        get("/rates/lookup", rates::lookup, "lookUpRate", "Look up the rate for a number")
            .about("Returns the sell rate of the longest prefix that matches the number; 404 if calls to it are not \
                    sold. Open to customers.")
            .who(Customer).limit(Limit::Reads).problems(&[NotFound]).under(tags::RATES),
        get("/rates/diff", rates::diff, "compareRates", "Compare rates between two dates")
            .about("Lists the prefixes whose sell rate differs between two moments, which may lie in the future as far \
                    as rates are known. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::RATES),
        get("/rates/export", rates::export, "exportRates", "Export rates as CSV")
            .about("Streams all sell rates in force now as a CSV file. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::RATES),

        get("/cdrs", cdrs::list, "listCdrs", "List CDRs")
            .about("Lists the CDRs of the account's finished calls, newest first. A page looks at 10,000 CDRs at most, \
                    so with filters it can be short or empty and still have a `next_cursor`. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::CDRS),
        get("/cdrs/summary", cdrs::summary, "getCdrSummary", "Get daily CDR summary")
            .about("Returns attempts, answered calls, minutes and charges of a UTC day, by country and destination. \
                    Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::CDRS),
        get("/cdrs/exports", cdrs::list_exports, "listCdrExports", "List CDR exports")
            .about("Lists the account's CDR exports, newest first. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::CDRS),
        post("/cdrs/exports", cdrs::create_export, "createCdrExport", "Create CDR export")
            .about("Queues an export of CDRs to a CSV or JSON Lines file, at most 366 days and ten exports an hour. \
                    Poll `GET /cdrs/exports/{id}` or wait for the `export.ready` notification. Open to customers.")
            .who(Customer).limit(Limit::Writes).audit("cdr_export.create").under(tags::CDRS),
        get("/cdrs/exports/{id}", cdrs::show_export, "getCdrExport", "Get CDR export")
            .about("Returns the status of a CDR export and, once it is `ready`, a download link valid for 15 minutes; \
                    the file expires after 7 days. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::CDRS),
        get("/cdrs/{id}", cdrs::show, "getCdr", "Get CDR")
            .about("Returns a CDR with the rate, increments and ledger entry that explain its charge. Open to \
                    customers.")
            .who(Customer).limit(Limit::Reads).under(tags::CDRS),
        get("/asr-acd", cdrs::asr_acd, "getAsrAcd", "Get ASR and ACD")
            .about("Returns the answer-seizure ratio and the average call duration of the account or of a trunk, from \
                    hourly rollups. Open to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::CDRS),
        get("/capacity", concurrency::capacity, "getPeakConcurrentCalls", "Get peak concurrent calls")
            .about("Returns the peak number of concurrent calls for each hour of a week or each day of a month. Open \
                    to customers.")
            .who(Customer).limit(Limit::Reads).under(tags::CDRS),
        get("/quotas", concurrency::list_quotas, "listZoneQuotas", "List zone quotas")
            .about("Lists the account's zones with their concurrent calls now, today's peak and the quota. Open to \
                    customers.")
            .who(Customer).limit(Limit::Reads).under(tags::CDRS),
    ]
}
