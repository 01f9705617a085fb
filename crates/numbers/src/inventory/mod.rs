//! Inventory: all DIDs that the operator can rent out, and the groups that customers order from.
//!
//! The team imports DIDs from files of upstreams. A customer orders from an inventory group: numbers that are alike in
//! country, type, area, capabilities, price and documents. A group stores how many of its numbers are free; the count
//! changes in the transaction that takes or frees a number, so listing and ordering do not depend on inventory size.
//!
//! - `groups`: `/numbers/inventory` · `admin`: `/admin/did-inventory` · `import`: files of up to two million DIDs
//! - `sheet`: parses a file, as a pure function · `calling_code`: splits the country calling code off a number

mod admin;
mod calling_code;
mod groups;
mod import;
mod sheet;
mod store;
mod types;

pub use admin::{list as list_all, show as show_did, update};
pub use groups::{countries, list, show};
pub use import::{IMPORT, create as import, import_job, names_file, show as show_import};
pub use store::{GroupRow, add_free, allocate, find_group, groups_of_area, return_to_inventory, withdraw};
pub use types::{InventoryId, NumberCapability, NumberType, Regulatory, StockId};
