//! The service: all endpoints (`routes`), jobs (`job_registry`), HTML pages, the operations port (`ops`), and how they
//! start and stop together (`serve`). `demo` fills a database by running the service on a simulated clock.

pub mod demo;
pub mod job_registry;
pub mod ops;
pub mod pages;
pub mod routes;
pub mod serve;
