//! Handlers are plain async functions. These traits read their arguments from the request, and describe them to OpenAPI
//! by their types.

use std::marker::PhantomData;

use futures_util::future::BoxFuture;
use hyper::StatusCode;
use schemars::SchemaGenerator;
use serde_json::Value;

use super::answer::{Answer, Rendered};
use super::context::{Committed, ReadCtx, RequestCtx};
use super::input::{Description, IncomingRequest, Input, NO_BODY_PROBLEMS};
use super::pipeline;
use super::problem::Problem;
use db::Reader;

/// A committed change or its replay.
pub struct HandlerOutput {
    pub rendered: Rendered,
    pub replayed: bool,
}

/// A function that reads: `async fn(ReadCtx, …inputs) -> Result<Answer, Problem>`.
pub trait ReadHandler<Args>: Send + Sync + 'static {
    type Answer: Answer;
    fn run(&self, ctx: ReadCtx, request: IncomingRequest) -> BoxFuture<'static, Result<HandlerOutput, Problem>>;
    fn describe(path: &str, schemas: &mut SchemaGenerator, description: &mut Description);
}

/// A function that changes something: `async fn(RequestCtx, …inputs) -> Result<Committed<Answer>, Problem>`.
pub trait WriteHandler<Args>: Send + Sync + 'static {
    type Answer: Answer;
    fn run(&self, ctx: RequestCtx, request: IncomingRequest) -> BoxFuture<'static, Result<HandlerOutput, Problem>>;
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
            fn run(&self, ctx: ReadCtx, mut request: IncomingRequest) -> BoxFuture<'static, Result<HandlerOutput, Problem>> {
                let handler = *self;
                Box::pin(async move {
                    $(let $input = $input::read(&ctx.request, &mut request).await?;)*
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
            fn run(&self, ctx: RequestCtx, mut request: IncomingRequest) -> BoxFuture<'static, Result<HandlerOutput, Problem>> {
                let handler = *self;
                Box::pin(async move {
                    let inputs = async {
                        $(let $input = $input::read(&ctx, &mut request).await?;)*
                        request.expect_no_body(&ctx).await?;
                        Ok(($($input,)*))
                    };
                    let ($($input,)*) = match inputs.await {
                        Ok(inputs) => inputs,
                        Err(refusal) => return pipeline::replay_or(&ctx, &request, refusal).await,
                    };
                    pipeline::recheck_caller(&ctx).await?;
                    if let Some(replay) = pipeline::claim_key(&ctx, &request).await? {
                        return Ok(HandlerOutput { rendered: replay, replayed: true });
                    }
                    let committed = handler(ctx, $($input),*).await?;
                    Ok(HandlerOutput { rendered: committed.rendered, replayed: committed.replayed })
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

/// A handler of either kind, with its types erased.
pub trait AnyHandler: Send + Sync {
    /// `conn` is for a reading handler; a writing handler opens its own transaction.
    fn run(
        &self,
        ctx: RequestCtx,
        conn: Option<Reader>,
        request: IncomingRequest,
    ) -> BoxFuture<'static, Result<HandlerOutput, Problem>>;
    fn describe(&self, path: &str, requests: &mut SchemaGenerator) -> Description;
    fn content(&self, responses: &mut SchemaGenerator) -> Option<Value>;
    fn status(&self) -> StatusCode;
    fn refusal(&self) -> Option<StatusCode>;
    fn is_tagged(&self) -> bool;
    /// Whether the answer is a version of a resource.
    fn names_version(&self) -> bool;
    fn headers(&self) -> &'static [&'static str];
}

pub struct Reading<H, Args>(pub H, pub PhantomData<fn(Args)>);
pub struct Writing<H, Args>(pub H, pub PhantomData<fn(Args)>);

impl<Args: 'static, H: ReadHandler<Args>> AnyHandler for Reading<H, Args> {
    fn run(
        &self,
        ctx: RequestCtx,
        conn: Option<Reader>,
        request: IncomingRequest,
    ) -> BoxFuture<'static, Result<HandlerOutput, Problem>> {
        let Some(conn) = conn else {
            return Box::pin(async { Err(Problem::internal("a reading handler needs a connection")) });
        };
        self.0.run(ReadCtx { conn, request: ctx }, request)
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

    fn names_version(&self) -> bool {
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
        request: IncomingRequest,
    ) -> BoxFuture<'static, Result<HandlerOutput, Problem>> {
        self.0.run(ctx, request)
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

    fn names_version(&self) -> bool {
        H::Answer::TAGGED
    }

    fn headers(&self) -> &'static [&'static str] {
        H::Answer::HEADERS
    }
}
