//! Remarks of the host in words. The host names no command; the hints are added here.

use dormouse_host::Remark;

/// A remark as people read it.
pub fn words(remark: &Remark) -> String {
    match remark {
        // A number with the wrong form of its noun reads like a fault.
        Remark::SettingsIssues { count: 1 } => {
            "1 problem with the settings; see `dormouse config show`".to_owned()
        }
        Remark::SettingsIssues { count } => {
            format!("{count} problems with the settings; see `dormouse config show`")
        }
        Remark::MemoryLeftOut { path, why } => format!("{} is left out: {why}", path.display()),
        Remark::TeamUntrusted => {
            "team memory is left out until this folder is trusted (`dormouse config trust`)"
                .to_owned()
        }
        Remark::LeftOut { why } => format!("left out: {why}"),
        Remark::Redacted { count } => {
            let secrets = if *count == 1 {
                "credential is"
            } else {
                "credentials are"
            };
            format!("{count} {secrets} replaced by a mark; the session itself is as it was")
        }
        Remark::LinesSkipped { file, count } => {
            let lines = if *count == 1 { "line" } else { "lines" };
            format!(
                "{count} {lines} of `{}` could not be read in full; see `dormouse log --issues`",
                file.display()
            )
        }
        Remark::GapsBridged {
            file,
            count,
            between: (newer, older),
        } => {
            let gaps = if *count == 1 {
                "1 gap".to_owned()
            } else {
                format!("{count} gaps")
            };
            format!(
                "`{}` lacks records that others refer to; {gaps} bridged, the newest from {newer} \
                 to {older}",
                file.display()
            )
        }
        Remark::RuleUnread { why, origin } => format!("a rule of {origin} is left out: {why}"),
        Remark::RulesUntrusted { file, count } => {
            let rules = if *count == 1 { "rule" } else { "rules" };
            format!(
                "{count} {rules} of `{}` allow nothing until this folder is trusted (`dormouse config \
                 trust`)",
                file.display()
            )
        }
        Remark::HooksUntrusted { origin } => format!(
            "hooks of {origin} are not run until this folder is trusted (`dormouse config trust`)"
        ),
        Remark::ServersUntrusted { origin } => format!(
            "servers of {origin} are not started until this folder is trusted (`dormouse config trust`)"
        ),
        Remark::InstructionsUntrusted { file } => format!(
            "instructions in `{}` are not read until this folder is trusted (`dormouse config trust`)",
            file.display()
        ),
        Remark::AgentsUntrusted { folder } => format!(
            "sub-agents in `{}` are not known until this folder is trusted (`dormouse config trust`)",
            folder.display()
        ),
        Remark::AgentUnread { file, why } => {
            format!("the sub-agent `{}` is left out: {why}", file.display())
        }
        Remark::SkillsUntrusted { folder } => format!(
            "skills and commands in `{}` are not known until this folder is trusted (`dormouse config trust`)",
            folder.display()
        ),
        Remark::SkillUnread { file, why } => {
            format!(
                "the skill or command `{}` is left out: {why}",
                file.display()
            )
        }
        Remark::WithoutModel { why } => format!("without a model: {why}"),
        Remark::NoMemory { why }
        | Remark::IndexNearlyFull { what: why }
        | Remark::Unlisted { why } => why.clone(),
    }
}
