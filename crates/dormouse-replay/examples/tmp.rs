#![allow(warnings)]
use dormouse_replay::*;
use dormouse_core::models::ModelTable;
use dormouse_context::policy::Policy;
use dormouse_core::units::Tokens;
use std::sync::Arc;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let models = Arc::new(ModelTable::builtin().clone());
    let ticks: Arc<dyn dormouse_system::Clock> = Arc::new(dormouse_system::RealClock::new());
    let window = args.get(2).and_then(|w| w.parse().ok()).map(Tokens);
    let script = if args[1] == "gen" { Scenario::default().script() } else {
        let files = dormouse_system::RealFiles;
        let log = dormouse_store::LogFile::open(&files, args[1].as_ref()).unwrap().read_all().unwrap();
        let recording = Recording::new(&log.records, &models).unwrap();
        Script::of(&log.records, &recording, &models)
    };
    println!("{} steps, {} tool bytes, model {} prefix {}", script.steps.len(), script.tool_bytes(), script.model, script.prefix.weight().text_bytes);
    let names: Vec<&str> = args.get(3).map(|s| s.split(',').collect()).unwrap_or(Policy::NAMES.to_vec());
    for name in names {
        let mut policy = Policy::named(name.trim_end_matches(char::is_numeric)).unwrap();
        if name.ends_with('1') || name.ends_with('3') { policy.notes = dormouse_context::policy::NotesRule::Never; policy.compact.notes = false; }
        if name.ends_with('2') || name.ends_with('3') { policy.clear = dormouse_context::clear::ClearRule::Never; }
        let mut options = RunOptions::new(policy);
        options.window = window;
        options.explain = std::env::var("EXPLAIN").is_ok();
        let run = match run_policy(&script, &options, &models, &ticks) { Ok(r) => r, Err(e) => { println!("{name}: ERROR {e} {:?}", std::error::Error::source(&e).map(|s| (s.to_string(), s.source().map(|s| s.to_string())))); continue; } };
        let by: Vec<String> = run.by_purpose.iter().map(|(p, s)| format!("{p:?} {}x ${:.3}", s.requests, s.cost.as_f64())).collect();
        println!("{name:10} ${:.3} hit {:.3} peak {} rejected {} lost {:?} compactions {:?} clear {} notes {} offl {} engine {:?} | {}", run.total.cost.as_f64(), run.total.hit_rate(), run.total.peak, run.total.rejected, run.lost, run.compactions(), run.clearings(), run.notes_updates(), run.offloaded(), run.engine, by.join(", "));
        if std::env::var("V").is_ok() { for (s, n) in &run.notices { println!("   {s}: {n}"); if let dormouse_engine::Notice::Considered{layers, arithmetic, used, ..} = n { println!("  used {used}"); for l in layers { println!("      {} {} {}", l.layer, l.acts, l.why);} if let Some(a)=arithmetic {println!("{a}");} } } for (p,s,r) in run.fork_reads() { println!("   fork {p:?} {s} read {r:.3}"); } }
    }
}
