//! Languages inside arguments, each reduced to its reading part.

mod awk;
mod formats;
mod jq;
mod sed;

pub(super) use awk::awk_only_prints;
pub(super) use formats::{
    cluster_output_only_prints, log_format_only_prints, printf_only_prints, ref_format_only_prints,
    setting_holds_no_secret,
};
pub(super) use jq::jq_only_reads;
pub(super) use sed::sed_only_prints;
