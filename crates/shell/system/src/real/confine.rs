//! Rights that a thread gives up before it starts a program: files, sockets, signals, capabilities.
//!
//! # Model
//! Landlock binds files and signals, the filter of system calls (`calls`) sockets and the memory of
//! others, and of root's capabilities only those over the owners and rights of files are kept. All of
//! it holds for the thread and for every process that it starts, for good.
//!
//! # Not here
//! Starting programs: `sandbox` for those that read, `cell` for those that write.
#![expect(
    clippy::disallowed_methods,
    reason = "the search path of this process is where its programs lie"
)]

#[cfg(target_os = "linux")]
use super::hidden::Split;
use crate::commands::Room;
use crate::sandbox::Confinement;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Search path for programs if this process has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Folders of programs and their libraries, on the distributions known, and of the machine's
/// settings only those that every program reads: where libraries lie, the time zone, the names of
/// users, kinds of files and terminals.
#[cfg(target_os = "linux")]
const SYSTEM: [&str; 23] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/magic",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/terminfo",
    "/etc/timezone",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/dev/zero",
    "/dev/urandom",
];

/// Files that a program may read.
pub(super) enum Reading {
    Everything,
    /// Only below these, and not without confinement.
    Below(Vec<PathBuf>),
    /// Everything but hidden places, and write below some folders.
    AndWriting(Room),
}

/// Only absolute directories: in a relative one lies whatever the working directory holds.
pub(super) fn search_path(path: Option<OsString>) -> OsString {
    let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
    let absolute = env::split_paths(&path).filter(|entry| Path::is_absolute(entry));
    env::join_paths(absolute).unwrap_or_else(|_| DEFAULT_PATH.into())
}

#[cfg(target_os = "linux")]
pub(super) fn confine_this_thread(reading: &Reading) -> Confinement {
    use landlock::{ABI, LandlockStatus, RulesetStatus};
    let status = match restrict(reading) {
        Ok(status) => status,
        Err(error) => return Confinement::None(format!("Landlock refused: {error}")),
    };
    // Files first: the filter of calls does not hold what Landlock needs.
    let writes = matches!(reading, Reading::AndWriting(_));
    if let Err(why) = refuse_calls(writes) {
        return Confinement::None(format!("sockets cannot be closed: {why}"));
    }
    // Last: the steps before may need them. They also forbid new privileges, so that no program that
    // is started gets one back.
    if let Err(error) = drop_capabilities() {
        return Confinement::None(format!("capabilities cannot be given up: {error}"));
    }
    match (status.ruleset, status.landlock) {
        (RulesetStatus::FullyEnforced, _) => Confinement::Full,
        // The first version that keeps files from being cut short.
        (RulesetStatus::PartiallyEnforced, LandlockStatus::Available { effective_abi, .. })
            if effective_abi >= ABI::V3 =>
        {
            Confinement::Partial(
                "this kernel's Landlock does not hold back signals (6.12 does)".to_owned(),
            )
        }
        (RulesetStatus::PartiallyEnforced, _) => Confinement::None(
            "this kernel's Landlock does not protect files from being cut short (6.2 does)"
                .to_owned(),
        ),
        (RulesetStatus::NotEnforced, _) => {
            Confinement::None("this kernel has no Landlock, or it is switched off".to_owned())
        }
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use super::calls::refuse_calls;

#[cfg(all(target_os = "linux", not(target_pointer_width = "64")))]
fn refuse_calls(_: bool) -> Result<(), String> {
    Err("system calls of this kind of machine are not known".to_owned())
}

/// Gives up root's capabilities but those over files. With the one for performance counters, or for
/// administration, the kernel shows the memory and environment of every process before Landlock is
/// asked (since Linux 6.15).
#[cfg(target_os = "linux")]
fn drop_capabilities() -> rustix::io::Result<()> {
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
    // Builds as root work on files of other users; Landlock bounds where.
    let kept = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID;
    let held = capabilities(None)?;
    set_capabilities(
        None,
        CapabilitySets {
            effective: held.effective & kept,
            permitted: held.permitted & kept,
            inheritable: CapabilitySet::empty(),
        },
    )
}

#[cfg(target_os = "linux")]
fn restrict(reading: &Reading) -> Result<landlock::RestrictionStatus, landlock::RulesetError> {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
        RulesetCreatedAttr as _, Scope, path_beneath_rules,
    };
    // The first version with every restriction promised; older kernels give those they have.
    const WANTED: ABI = ABI::V6;
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(WANTED))?
        .handle_access(AccessNet::from_all(WANTED))?
        .scope(Scope::from_all(WANTED))?
        .create()?;
    // Paths that do not exist are left out of the rules.
    let rules = match reading {
        Reading::Everything => {
            rules.add_rules(path_beneath_rules(["/"], AccessFs::from_read(WANTED)))?
        }
        Reading::AndWriting(room) => {
            let split = Split::new(&room.hidden);
            let mut writable = Vec::new();
            for folder in &room.writable {
                writable.extend(split.visible(folder));
            }
            rules
                // Names may be listed everywhere: a program that cannot list the folders above its
                // own gives up.
                .add_rules(path_beneath_rules(["/"], AccessFs::ReadDir))?
                .add_rules(path_beneath_rules(
                    split.visible(Path::new("/")),
                    AccessFs::from_read(WANTED),
                ))?
                .add_rules(path_beneath_rules(writable, AccessFs::from_all(WANTED)))?
        }
        Reading::Below(readable) => {
            let programs = search_path(env::var_os("PATH"));
            let contents = AccessFs::ReadFile | AccessFs::ReadDir;
            rules
                .add_rules(path_beneath_rules(SYSTEM, AccessFs::from_read(WANTED)))?
                .add_rules(path_beneath_rules(
                    env::split_paths(&programs),
                    AccessFs::from_read(WANTED),
                ))?
                .add_rules(path_beneath_rules(readable, contents))?
        }
    };
    // Shells redirect to it all the time, and writing there changes nothing.
    let nowhere = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    let rules = match PathFd::new("/dev/null") {
        Ok(null) => rules.add_rule(PathBeneath::new(null, nowhere))?,
        Err(_) => rules,
    };
    rules.restrict_self()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn confine_this_thread(_: &Reading) -> Confinement {
    Confinement::None("only Linux can confine a program".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_not_looked_for_in_the_working_directory() {
        let cleaned = |path: &str| search_path(Some(path.into()));
        assert_eq!(cleaned("/a::.:b:/c:../d"), "/a:/c");
        assert_eq!(cleaned(""), "");
        assert_eq!(search_path(None), DEFAULT_PATH);
    }
}
