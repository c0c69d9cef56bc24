#![doc = include_str!("../README.md")]

mod agent_memory;
mod agents;
mod choose;
mod configure;
mod days;
mod doctor;
mod dream;
mod error;
mod forgotten;
mod fork;
mod gc;
mod grounds;
mod guest;
mod hooks;
mod host;
mod install;
mod instructions;
mod keeper;
mod logs;
mod lookup;
mod memories;
mod opening;
mod permissions;
mod place;
mod prompt;
mod reading;
mod recall;
mod remark;
mod search;
mod servers;
mod session;
mod session_cache;
mod sessions;
mod skills;
mod spending;
mod stats;
mod top;
mod transcripts;
mod window;

pub use agent_memory::MemoryScope;
pub use agents::AgentDefinition;
pub use choose::{AgentFolders, ChosenBy, SessionChosen};
pub use configure::SettingWritten;
pub use doctor::{
    Diagnosis, HomeFacts, KeyFound, LocalServer, MemoryFacts, ModelFacts, ProgramFound,
    SandboxFacts, SettingsFileFacts, TrustFacts,
};
pub use dormouse_recall::Work;
pub use dormouse_recall::verify::Mark;
pub use dream::{
    DreamAnswer, DreamAsk, DreamChange, DreamReport, DroppedChange, ExtractAsk, ExtractReport,
    ExtractedBy, NotDreamt, ProposedMemory, UnusedMemory,
};
pub use error::HostError;
pub use forgotten::{Forgetting, ForgottenPart, NextCompaction};
pub use gc::{Garbage, GarbageFile, GcReport, NotRemovedFile, SessionLeft};
pub use grounds::{AskedFor, Grounds, UseSoFar};
pub use guest::{GuestAnswer, GuestEvent, GuestMoment, SpoolTask, Spooled};
pub use hooks::{HookBy, HookCommand, HookEvent, HookTable};
pub use host::{Host, Trusted};
pub use install::{
    Client, ClientFile, ClientState, InstallAsk, InstallError, InstallNote, InstallReport,
    InstallState,
};
pub use instructions::InstructionFiles;
pub use keeper::OpenedKeeper;
pub use logs::{Converted, LogFilter, LogIssue, LogList, LogRow};
pub use lookup::MemoryFound;
pub use memories::{
    Added, AgentForgot, AgentRemembered, Check, Chosen, Consolidation, CredentialIn, Decided,
    EntryDiff, EntryRow, FieldChanges, FileDiff, FileLeftOut, Finding, Forgotten, HistoryList,
    ImportAsk, ImportReport, InboxList, IndexMended, IndexMending, IndexState, Instruction, Kept,
    LeftOutside, ListFilter, MemoryCounts, MemoryDraft, MemoryEdited, MemoryJudged, MemoryList,
    MemoryRow, MemoryShown, MemoryStatus, Moved, NameError, NewMemoryText, PromptSection, Purge,
    Remedy, Remembered, Spending, ToolAnswer, Undone, WaitingItem, may_be_shown,
};
pub use opening::{Resume, SessionTexts};
pub use permissions::{CallText, Judged, Permissions};
pub use place::Which;
pub use prompt::{Point, PromptAt, PromptRewrite, PromptSegment, PromptView};
pub use reading::PageAnswer;
pub use recall::{Near, RecallQuestion, Recalled};
pub use remark::Remark;
pub use search::{SearchEnd, SessionMatch, SessionSearch, SessionsFound};
pub use session::{OpenedSession, SessionAsk, SessionMemory};
pub use sessions::{CompactionRow, SessionList, SessionRow};
pub use skills::Skill;
pub use spending::{GroupFigures, UsageAsk, UsageBy, UsageFigures, UsageGroup, UsageReport, Waste};
pub use stats::{
    EngineTime, FactsKept, FreedTokens, HookStats, LayerCounts, LimitState, MemoryStats, Pollution,
    ProjectStats, RecallStats, SessionStats, StatsAsk, StatsReport,
};
pub use top::{LayerAct, LiveSession, StatusInput, TopReport};
pub use transcripts::{Transcript, Transcripts};
pub use window::ContextWindow;

// Values of inner crates that doors format or name.
pub use dormouse_config::{Loaded, Places, Source as SettingsFile, SourceState};
pub use dormouse_keeper::client::NoModel;
pub use dormouse_keeper::dreaming::DreamError;
pub use dormouse_keeper::extraction::By;
pub use dormouse_keeper::reading::PageQuestion;
pub use dormouse_memdir::{MemdirError, NoPlace};
pub use dormouse_memory::extract::trial;
pub use dormouse_memory::import::Format as ImportFormat;
pub use dormouse_memory::instructions::FileDigest;
pub use dormouse_memory::tool::Overwrite;
pub use dormouse_memory::topic::Kind;
pub use dormouse_memory::write::{Judgement, WriteError};
pub use dormouse_permit::{Because, Mode, Ruling, UnknownMode, Verdict};
pub use dormouse_store::{ConvertError, LayoutError, LogPart, OpenError, ReadError, ReadLog};
