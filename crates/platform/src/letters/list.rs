//! How a mail is declared. Declaring one puts it on the list, and the list asks for a sample of each.

/// Makes each entry a struct that is a [`Mail`](super::Mail), and of all of them the list `SAMPLES`.
///
/// A template finds the struct as `mail`, the sender as `head`, the reader as `to`, and `subject`. Another language is
/// another pair of templates, chosen where these are rendered.
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
                #[allow(dead_code, reason = "not every mail has something of its own to say")]
                struct Html<'a> {
                    mail: &'a $Mail,
                    head: &'a Letterhead,
                    to: &'a Addressee,
                    subject: &'a str,
                }

                #[derive(askama::Template)]
                #[template(path = $text)]
                #[allow(dead_code, reason = "not every mail has something of its own to say")]
                struct Text<'a> {
                    mail: &'a $Mail,
                    head: &'a Letterhead,
                    to: &'a Addressee,
                    subject: &'a str,
                }

                impl Mail for $Mail {
                    fn subject(&self, head: &Letterhead) -> String {
                        let subject: fn(&$Mail, &Letterhead) -> String = $subject;
                        subject(self, head)
                    }

                    fn html(&self, head: &Letterhead, to: &Addressee, subject: &str) -> askama::Result<String> {
                        Html { mail: self, head, to, subject }.render()
                    }

                    fn text(&self, head: &Letterhead, to: &Addressee, subject: &str) -> askama::Result<String> {
                        Text { mail: self, head, to, subject }.render()
                    }
                }
            };
        )*

        /// Every mail there is, with believable words in it.
        pub(super) const SAMPLES: &[Sample] = &[
            $(Sample {
                html: $html,
                text: $text,
                draft: |head, to| {
                    let sample: fn(&Letterhead) -> $Mail = $sample;
                    Draft::new(&sample(head), head, to)
                },
            },)*
        ];
    };
}

pub(super) use mails;

use super::{Addressee, Draft, Letterhead};

pub struct Sample {
    pub html: &'static str,
    pub text: &'static str,
    pub draft: fn(&Letterhead, &Addressee) -> askama::Result<Draft>,
}

impl Sample {
    /// The name of its templates, without folder and extension.
    pub fn name(&self) -> &'static str {
        let file = self.html.rsplit('/').next().unwrap_or(self.html);
        file.split('.').next().unwrap_or(file)
    }
}
