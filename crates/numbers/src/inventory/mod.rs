//! The stock: every number we may let, and the groups that customers order from.
//!
//! Numbers come from upstreams, by files. A customer does not choose a number but a group of numbers that are alike in
//! all it can see: country, type, area, what they can do, what they cost, and whether documents are needed. A group
//! knows how many of its numbers are free; that count changes in the transaction that takes a number or puts one back,
//! so listing groups and ordering from them cost the same whatever the size of the stock.
//!
//! - `groups`: `/numbers/inventory` · `admin`: `/admin/did-inventory` · `import`: numbers by the million
//! - `sheet`: what a file says, as a pure function · `calling_code`: where an area begins

mod admin;
mod calling_code;
mod groups;
mod import;
mod sheet;
mod store;
mod types;

pub use admin::{change, list as list_all};
pub use groups::{list, show};
pub use import::{IMPORT, create as import, import_job, names_file, show as show_import};
pub use store::{GroupRow, count, give_back, group, groups_of_area, take, withdraw};
pub use types::{InventoryId, NumberCapability, NumberType, Regulatory, StockId};
