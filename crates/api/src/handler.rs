//! Handlers are plain async functions; these traits read their arguments from the request and their documentation from
//! their types.

use std::marker::PhantomData;

use futures_util::future::BoxFuture;
use hyper::StatusCode;
use schemars::SchemaGenerator;
use serde_json::Value;

use super::answer::{Answer, Rendered};
use super::context::{Committed, ReadCtx, RequestCtx};
use super::input::{Description, Inbound, Input, NO_BODY_PROBLEMS};
use super::pipeline;
use super::problem::Problem;
use db::Reader;

/// A committed change or its replay.
pub struct HandlerOutput {
    pub rendered: Rendered,
    pub replayed: bool,
}

/// A function that reads: `async fn(Read, …inputs) -> Result<Answer, Problem>`.
pub trait ReadHandler<Args>: Send + Sync + 'static {
    type Answer: Answer;
    fn run(&self, ctx: ReadCtx, inbound: Inbound) -> BoxFuture<'static, Result<HandlerOutput, Problem>>;
    fn describe(path: &str, schemas: &mut SchemaGenerator, description: &mut Description);
}

/// A function that changes something: `async fn(Call, …inputs) -> Result<Done<Answer>, Problem>`.
pub trait WriteHandler<Args>: Send + Sync + 'static {
    type Answer: Answer;
    fn run(&self, ctx: RequestCtx, inbound: Inbound) -> BoxFuture<'static, Result<HandlerOutput, Problem>>;
    fn describe(path: &str, schemas: &mut SchemaGenerator, description: &mut Description);
}

macro_rules! handlers {
    ($($input:ident),*) => {
        impl<F, Fut, A, $($input),*> ReadHandler<($($input,)*)> for F
        where
            F: Fn(ReadCtx, $($input),*) -> Fut + Copy + Send + Sync + 'static,
            Fut: Future<Output = Result<A, Problem>> + Send + 'static,
            A: Answer,
            $($input: Input,)*
        {
            type Answer = A;

            #[allow(unused_mut, unused_variables, non_snake_case)]
            fn run(&self, ctx: ReadCtx, mut inbound: Inbound) -> BoxFuture<'static, Result<HandlerOutput, Problem>> {
                let handler = *self;
                Box::pin(async move {
                    $(let $input = $input::read(&ctx.request, &mut inbound).await?;)*
                    let rendered = handler(ctx, $($input),*).await?.render()?;
                    Ok(HandlerOutput { rendered, replayed: false })
                })
            }

            #[allow(unused_variables)]
            fn describe(path: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
                $($input::describe(path, schemas, description);)*
            }
        }

        impl<F, Fut, A, $($input),*> WriteHandler<($($input,)*)> for F
        where
            F: Fn(RequestCtx, $($input),*) -> Fut + Copy + Send + Sync + 'static,
            Fut: Future<Output = Result<Committed<A>, Problem>> + Send + 'static,
            A: Answer,
            $($input: Input,)*
        {
            type Answer = A;

            #[allow(unused_mut, non_snake_case)]
            fn run(&self, ctx: RequestCtx, mut inbound: Inbound) -> BoxFuture<'static, Result<HandlerOutput, Problem>> {
                let handler = *self;
                Box::pin(async move {
                    $(let $input = $input::read(&ctx, &mut inbound).await?;)*
                    inbound.expect_no_body(&ctx).await?;
                    if let Some(replay) = pipeline::claim_key(&ctx, &inbound).await? {
                        return Ok(HandlerOutput { rendered: replay, replayed: true });
                    }
                    let done = handler(ctx, $($input),*).await?;
                    Ok(HandlerOutput { rendered: done.rendered, replayed: done.replayed })
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
    fn run(
        &self,
        ctx: RequestCtx,
        conn: Option<Reader>,
        inbound: Inbound,
    ) -> BoxFuture<'static, Result<HandlerOutput, Problem>>;
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
        ctx: RequestCtx,
        conn: Option<Reader>,
        inbound: Inbound,
    ) -> BoxFuture<'static, Result<HandlerOutput, Problem>> {
        let Some(conn) = conn else {
            return Box::pin(async { Err(Problem::internal("a reading handler needs a connection")) });
        };
        self.0.run(ReadCtx { conn, request: ctx }, inbound)
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
    fn run(
        &self,
        ctx: RequestCtx,
        _: Option<Reader>,
        inbound: Inbound,
    ) -> BoxFuture<'static, Result<HandlerOutput, Problem>> {
        self.0.run(ctx, inbound)
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
