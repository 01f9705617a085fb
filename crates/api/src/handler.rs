//! Handlers are plain async functions; these traits read their arguments from the request and their documentation from
//! their types.

use std::marker::PhantomData;

use futures_util::future::BoxFuture;
use hyper::StatusCode;
use schemars::SchemaGenerator;
use serde_json::Value;

use super::answer::{Answer, Rendered};
use super::call::{Call, Done, Read};
use super::input::{Description, Inbound, Input, NO_BODY_PROBLEMS};
use super::pipeline;
use super::problem::Problem;
use db::Reader;

/// A committed change or its replay.
pub struct Committed {
    pub rendered: Rendered,
    pub replayed: bool,
}

/// A function that reads: `async fn(Read, …inputs) -> Result<Answer, Problem>`.
pub trait ReadHandler<Args>: Send + Sync + 'static {
    type Answer: Answer;
    fn run(&self, read: Read, inbound: Inbound) -> BoxFuture<'static, Result<Committed, Problem>>;
    fn describe(path: &str, schemas: &mut SchemaGenerator, description: &mut Description);
}

/// A function that changes something: `async fn(Call, …inputs) -> Result<Done<Answer>, Problem>`.
pub trait WriteHandler<Args>: Send + Sync + 'static {
    type Answer: Answer;
    fn run(&self, call: Call, inbound: Inbound) -> BoxFuture<'static, Result<Committed, Problem>>;
    fn describe(path: &str, schemas: &mut SchemaGenerator, description: &mut Description);
}

macro_rules! handlers {
    ($($input:ident),*) => {
        impl<F, Fut, A, $($input),*> ReadHandler<($($input,)*)> for F
        where
            F: Fn(Read, $($input),*) -> Fut + Copy + Send + Sync + 'static,
            Fut: Future<Output = Result<A, Problem>> + Send + 'static,
            A: Answer,
            $($input: Input,)*
        {
            type Answer = A;

            #[allow(unused_mut, unused_variables, non_snake_case)]
            fn run(&self, read: Read, mut inbound: Inbound) -> BoxFuture<'static, Result<Committed, Problem>> {
                let handler = *self;
                Box::pin(async move {
                    $(let $input = $input::read(&read.call, &mut inbound).await?;)*
                    let rendered = handler(read, $($input),*).await?.render()?;
                    Ok(Committed { rendered, replayed: false })
                })
            }

            #[allow(unused_variables)]
            fn describe(path: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
                $($input::describe(path, schemas, description);)*
            }
        }

        impl<F, Fut, A, $($input),*> WriteHandler<($($input,)*)> for F
        where
            F: Fn(Call, $($input),*) -> Fut + Copy + Send + Sync + 'static,
            Fut: Future<Output = Result<Done<A>, Problem>> + Send + 'static,
            A: Answer,
            $($input: Input,)*
        {
            type Answer = A;

            #[allow(unused_mut, non_snake_case)]
            fn run(&self, call: Call, mut inbound: Inbound) -> BoxFuture<'static, Result<Committed, Problem>> {
                let handler = *self;
                Box::pin(async move {
                    $(let $input = $input::read(&call, &mut inbound).await?;)*
                    inbound.expect_no_body(&call).await?;
                    if let Some(replay) = pipeline::claim_key(&call, &inbound).await? {
                        return Ok(Committed { rendered: replay, replayed: true });
                    }
                    let done = handler(call, $($input),*).await?;
                    Ok(Committed { rendered: done.rendered, replayed: done.replayed })
                })
            }

            #[allow(unused_variables)]
            fn describe(path: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
                $($input::describe(path, schemas, description);)*
                if description.request_body.is_none() {
                    description.problems.extend(NO_BODY_PROBLEMS);
                }
            }
        }
    };
}

handlers!();
handlers!(A1);
handlers!(A1, A2);
handlers!(A1, A2, A3);

/// A handler of either kind, its types forgotten.
pub trait AnyHandler: Send + Sync {
    /// `conn` is lent to a reader; a writer opens its own transaction.
    fn run(&self, call: Call, conn: Option<Reader>, inbound: Inbound)
    -> BoxFuture<'static, Result<Committed, Problem>>;
    fn describe(&self, path: &str, requests: &mut SchemaGenerator) -> Description;
    fn content(&self, responses: &mut SchemaGenerator) -> Option<Value>;
    fn status(&self) -> StatusCode;
    fn refusal(&self) -> Option<StatusCode>;
    fn is_tagged(&self) -> bool;
    fn headers(&self) -> &'static [&'static str];
}

pub struct Reading<H, Args>(pub H, pub PhantomData<fn(Args)>);
pub struct Writing<H, Args>(pub H, pub PhantomData<fn(Args)>);

impl<Args: 'static, H: ReadHandler<Args>> AnyHandler for Reading<H, Args> {
    fn run(
        &self,
        call: Call,
        conn: Option<Reader>,
        inbound: Inbound,
    ) -> BoxFuture<'static, Result<Committed, Problem>> {
        let Some(conn) = conn else {
            return Box::pin(async { Err(Problem::internal("a reading handler needs a connection")) });
        };
        self.0.run(Read { conn, call }, inbound)
    }

    fn describe(&self, path: &str, requests: &mut SchemaGenerator) -> Description {
        let mut description = Description::default();
        H::describe(path, requests, &mut description);
        description
    }

    fn content(&self, responses: &mut SchemaGenerator) -> Option<Value> {
        H::Answer::content(responses)
    }

    fn status(&self) -> StatusCode {
        H::Answer::STATUS
    }

    fn refusal(&self) -> Option<StatusCode> {
        H::Answer::REFUSAL
    }

    fn is_tagged(&self) -> bool {
        H::Answer::TAGGED
    }

    fn headers(&self) -> &'static [&'static str] {
        H::Answer::HEADERS
    }
}

impl<Args: 'static, H: WriteHandler<Args>> AnyHandler for Writing<H, Args> {
    fn run(&self, call: Call, _: Option<Reader>, inbound: Inbound) -> BoxFuture<'static, Result<Committed, Problem>> {
        self.0.run(call, inbound)
    }

    fn describe(&self, path: &str, requests: &mut SchemaGenerator) -> Description {
        let mut description = Description::default();
        H::describe(path, requests, &mut description);
        description
    }

    fn content(&self, responses: &mut SchemaGenerator) -> Option<Value> {
        H::Answer::content(responses)
    }

    fn status(&self) -> StatusCode {
        H::Answer::STATUS
    }

    fn refusal(&self) -> Option<StatusCode> {
        H::Answer::REFUSAL
    }

    fn is_tagged(&self) -> bool {
        false
    }

    fn headers(&self) -> &'static [&'static str] {
        H::Answer::HEADERS
    }
}
