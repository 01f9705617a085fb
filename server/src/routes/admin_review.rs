//! What the team decides: beta signups, KYB and compliance intakes.

use super::tags;
use api::auth::Who::{Admin, Team};
use api::endpoint::{Endpoint, get, patch, post};
use api::problem::Code::StateConflict;
use backoffice::beta;
use identity::{compliance, kyb};
use platform::limits::Limit;

#[rustfmt::skip]
pub fn rows() -> Vec<Endpoint> {
    vec![
        get("/admin/beta", beta::list, "listBetaSignups", "List beta signups")
            .about("Lists the accounts of the private beta with their KYB and card status, newest first. Open to the \
                    team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::BETA_QUEUE),
        get("/admin/beta/stats", beta::stats, "getBetaStats", "Get beta queue statistics")
            .about("Returns how many accounts there are, how many are pending, and how many were approved or declined \
                    in the last 7 days. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::BETA_QUEUE),
        get("/admin/beta/{id}", beta::show, "getBetaSignup", "Get beta signup")
            .about("Returns a beta account with its traffic profile, KYB intake, card status and user emails. Open to \
                    the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::BETA_QUEUE),
        post("/admin/beta/{id}/approve", beta::approve, "approveBetaSignup", "Approve beta signup")
            .about("Moves an account to `beta_approved` and mails it a magic link with the reviewer's note. A declined \
                    account can still be approved. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("beta.approve").problems(&[StateConflict]).under(tags::BETA_QUEUE),
        post("/admin/beta/{id}/decline", beta::decline, "declineBetaSignup", "Decline beta signup")
            .about("Moves an account to `beta_declined` and mails it the reviewer's note. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("beta.decline").problems(&[StateConflict]).under(tags::BETA_QUEUE),

        get("/admin/kyb", kyb::list_all, "adminListKybIntakes", "List KYB intakes of all customers")
            .about("Lists the KYB intakes of all customers, newest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::KYB_REVIEW),
        get("/admin/kyb/{id}", kyb::admin_show, "adminGetKybIntake", "Get KYB intake of any customer")
            .about("Returns a KYB intake with download links to its documents, valid for 5 minutes; the audit log \
                    records who asked. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).audited_read("kyb.documents_shown").under(tags::KYB_REVIEW),
        post("/admin/kyb/{id}/approve", kyb::approve, "approveKybIntake", "Approve KYB intake")
            .about("Approves a submitted KYB intake; the account's onboarding status becomes `approved`. The customer \
                    is told by notification and mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("kyb.approve").problems(&[StateConflict]).under(tags::KYB_REVIEW),
        post("/admin/kyb/{id}/reject", kyb::reject, "rejectKybIntake", "Reject KYB intake")
            .about("Rejects a submitted KYB intake; the account's onboarding status returns to `docs_requested`. The \
                    customer is told by notification and mail, and can open a new intake. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("kyb.reject").problems(&[StateConflict]).under(tags::KYB_REVIEW),

        get("/admin/compliance/intakes", compliance::list_all,
            "adminListComplianceIntakes", "List compliance intakes of all customers")
            .about("Lists the compliance intakes of all customers, newest first. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::COMPLIANCE_REVIEW),
        get("/admin/compliance/intakes/{id}", compliance::admin_show,
            "adminGetComplianceIntake", "Get compliance intake of any customer")
            .about("Returns a compliance intake of any customer with its documents, without download links. Open to \
                    the team (admin or support).")
            .who(Team).limit(Limit::Reads).under(tags::COMPLIANCE_REVIEW),
        get("/admin/compliance/intakes/{id}/documents", compliance::list_documents,
            "adminListComplianceDocuments", "List documents of a compliance intake")
            .about("Lists the documents of an intake with download links valid for 5 minutes; the audit log records \
                    who asked. Open to the team (admin or support).")
            .who(Team).limit(Limit::Reads).audited_read("compliance.documents_shown").under(tags::COMPLIANCE_REVIEW),
        post("/admin/compliance/intakes/{id}/review", compliance::start_review,
             "startComplianceReview", "Start review of a compliance intake")
            .about("Moves a submitted intake to `under_review`; the customer is not told. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("compliance.review").problems(&[StateConflict])
            .under(tags::COMPLIANCE_REVIEW),
        post("/admin/compliance/intakes/{id}/approve", compliance::approve,
             "approveComplianceIntake", "Approve compliance intake")
            .about("Approves an intake in `submitted` or `under_review`, and with it the account's KYB or the number \
                    order it belongs to. The customer is told by mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("compliance.approve").problems(&[StateConflict])
            .under(tags::COMPLIANCE_REVIEW),
        post("/admin/compliance/intakes/{id}/reject", compliance::reject,
             "rejectComplianceIntake", "Reject compliance intake")
            .about("Rejects an intake in `submitted` or `under_review`; a number order it belongs to fails and is \
                    refunded. The customer is told by mail. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("compliance.reject").problems(&[StateConflict])
            .under(tags::COMPLIANCE_REVIEW),
        post("/admin/compliance/intakes/{id}/request-more", compliance::request_more,
             "requestMoreDocuments", "Request more documents")
            .about("Returns an intake to the customer as `more_info_requested`. The customer is told by \
                    `compliance.more_info` notification and mail, and submits the intake again. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("compliance.request_more").problems(&[StateConflict])
            .under(tags::COMPLIANCE_REVIEW),
        patch("/admin/compliance/intakes/{id}/documents/{doc_id}", compliance::review_document,
              "reviewComplianceDocument", "Review compliance document")
            .about("Accepts or rejects a document of an intake in `submitted` or `under_review`. `If-Match` takes the \
                    ETag of the intake. Admins only.")
            .who(Admin).limit(Limit::Writes).audit("compliance.judge_document").problems(&[StateConflict])
            .under(tags::COMPLIANCE_REVIEW),
    ]
}
