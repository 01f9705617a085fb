//! The API reference at `/docs`: what it weighs, what it links, and that every sample in it works.

mod page;
mod samples;
