//! The audit trail: rows written with the change, sealed in chains, read back to be verified.

pub mod checks;
pub mod names;
pub mod rows;
pub mod seals;

use domain::audit::Chain;

use crate::row::{Cell, Col};

impl Col for Chain {
    fn from_cell(cell: Cell<'_>) -> Result<Self, String> {
        cell.uuid().map(Chain::from_uuid)
    }
}
