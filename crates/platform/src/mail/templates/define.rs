//! The macro that defines mails.

/// Makes each entry a struct that implements [`MailTemplate`](super::MailTemplate), and collects a sample of each in
/// `SAMPLES`.
///
/// A template sees the struct as `mail`, the sender as `brand`, the recipient as `to`, and `subject`. For another
/// language, add another pair of templates and choose between them here, where they are rendered.
macro_rules! mails {
    ($(
        $(#[$about:meta])*
        $Mail:ident { $($field:ident: $Type:ty),* $(,)? }
        templates $html:literal, $text:literal;
        subject $subject:expr;
        sample $sample:expr;
    )*) => {
        $(
            $(#[$about])*
            pub struct $Mail {
                $(pub $field: $Type,)*
            }

            const _: () = {
                #[derive(askama::Template)]
                #[template(path = $html)]
                #[allow(dead_code, reason = "not every mail has fields")]
                struct Html<'a> {
                    mail: &'a $Mail,
                    brand: &'a Branding,
                    to: &'a Recipient,
                    subject: &'a str,
                }

                #[derive(askama::Template)]
                #[template(path = $text)]
                #[allow(dead_code, reason = "not every mail has fields")]
                struct Text<'a> {
                    mail: &'a $Mail,
                    brand: &'a Branding,
                    to: &'a Recipient,
                    subject: &'a str,
                }

                impl MailTemplate for $Mail {
                    fn subject(&self, brand: &Branding) -> String {
                        let subject: fn(&$Mail, &Branding) -> String = $subject;
                        subject(self, brand)
                    }

                    fn html(&self, brand: &Branding, to: &Recipient, subject: &str) -> askama::Result<String> {
                        Html { mail: self, brand, to, subject }.render()
                    }

                    fn text(&self, brand: &Branding, to: &Recipient, subject: &str) -> askama::Result<String> {
                        Text { mail: self, brand, to, subject }.render()
                    }
                }
            };
        )*

        /// A sample of every mail, filled with plausible values.
        pub(in crate::mail) const SAMPLES: &[Sample] = &[
            $(Sample {
                html: $html,
                text: $text,
                render: |brand, to| {
                    let sample: fn(&Branding) -> $Mail = $sample;
                    RenderedMail::new(&sample(brand), brand, to)
                },
            },)*
        ];
    };
}

pub(super) use mails;
