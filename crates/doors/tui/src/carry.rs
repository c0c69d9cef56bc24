//! Effects of the model, carried out: commands to the agent, services of the door, the terminal.

use crate::model::{Effect, Input};
use crate::port::{Printed, ServiceFuture, Talk, Wish};
use crate::run::{Reply, Serving};
use crate::terminal;
use base64::Engine as _;
use dormouse_agent::protocol::RewindWhat;
use std::io;
use std::sync::Arc;

impl Serving {
    pub(crate) fn carry_out(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Send(ask) => {
                if let Some(asks) = &self.on.asks {
                    // The agent has ended if this fails, which its last event tells.
                    let _sent = asks.send(ask);
                }
            }
            Effect::Run { title, words } => {
                let running = self.on.services.run(words, self.screen.size().0);
                self.spawn(title, running);
            }
            Effect::Shell(line) => {
                let title = format!("!{line}");
                let running = self.on.services.shell(line);
                self.spawn(title, running);
            }
            Effect::StopRunning => self.stop_running()?,
            Effect::FindPoint { number, what } => self.find_point(number, what),
            Effect::Theme(theme) => self.screen.set_theme(theme),
            Effect::ReadMissed(after) => {
                let missed = match &self.on.talk {
                    Some(Talk::Agent(agent)) => agent.missed(after).unwrap_or_default(),
                    Some(Talk::Watched(_)) | None => Vec::new(),
                };
                for told in missed {
                    self.take(Input::Told(Box::new(told)))?;
                }
            }
            Effect::Copy(text) => {
                let coded = base64::engine::general_purpose::STANDARD.encode(text);
                self.to_terminal(&format!("\u{1b}]52;c;{coded}\u{7}"))?;
            }
            Effect::Bell if !self.quiet => terminal::write(b"\x07")?,
            Effect::Bell => {}
            Effect::Notify(text) => self.to_terminal(&notification(&text, self.tmux))?,
            Effect::Redraw => self.screen.redraw(),
            Effect::Suspend => self.suspend()?,
            Effect::Compose(text) => self.compose(text)?,
            Effect::Exit => self.end_scene()?,
            Effect::Shot(name) => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.want(name);
                }
            }
            Effect::Later(minutes) => self.on.services.later(minutes),
            Effect::ReadGauge
            | Effect::ReadKept
            | Effect::ReadPanel { .. }
            | Effect::FindFiles(_)
            | Effect::FindImage(..)
            | Effect::Act(_)
            | Effect::Open(_) => self.ask_services(effect),
        }
        Ok(())
    }

    /// Asks the door for something; the answer comes as an input.
    fn ask_services(&self, effect: Effect) {
        let session = self.on.talk.as_ref().map(Talk::session);
        let services = Arc::clone(&self.on.services);
        match (effect, session) {
            (Effect::ReadGauge, Some(session)) => {
                let gauge = services.gauge(session, self.on.model.talks_to.clone());
                self.reply(async move { gauge.await.map(Input::Gauge) });
            }
            (Effect::ReadKept, Some(session)) => {
                let kept = services.kept(session);
                self.reply(async move {
                    let (before, after) = kept.await?;
                    Some(Input::Kept { before, after })
                });
            }
            (Effect::ReadPanel { kind, words }, session) => {
                let found = services.panel(kind, session, words);
                self.reply(async move {
                    let found = found.await;
                    Some(Input::Panel { kind, found })
                });
            }
            (Effect::FindFiles(begun), _) => {
                let found = services.files(begun.clone());
                self.reply(async move {
                    let found = found.await;
                    Some(Input::Files { begun, found })
                });
            }
            (Effect::FindImage(pasted, path), _) => {
                let found = services.image(path);
                self.reply(async move {
                    let found = found.await;
                    Some(Input::Image(pasted, found))
                });
            }
            (Effect::Act(lines), _) => {
                let columns = self.screen.size().0;
                self.reply(async move {
                    let mut printed = Printed::default();
                    for words in lines {
                        printed = services.run(words, columns).await;
                        if printed.failed {
                            break;
                        }
                    }
                    Some(Input::Acted(printed))
                });
            }
            (Effect::Open(wish), _) => {
                let replies = self.replies.clone();
                let stays = matches!(wish, Wish::Fork(_) | Wish::Resume(_));
                let scene = services.scene(wish);
                tokio::spawn(async move {
                    let scene = scene.await.map(Box::new);
                    // The screen has been left if this fails.
                    let _sent = replies.send(Reply::Scene { scene, stays });
                });
            }
            _ => {}
        }
    }

    fn reply(&self, work: impl Future<Output = Option<Input>> + Send + 'static) {
        let replies = self.replies.clone();
        tokio::spawn(async move {
            if let Some(input) = work.await {
                let _sent = replies.send(Reply::Input(input));
            }
        });
    }

    /// Writes a sequence that a plain terminal would show as text.
    fn to_terminal(&self, sequence: &str) -> io::Result<()> {
        if self.plain.is_some() {
            return Ok(());
        }
        terminal::write(sequence.as_bytes())
    }

    fn stop_running(&mut self) -> io::Result<()> {
        for running in self.running.drain(..) {
            running.abort();
        }
        for title in self.on.model.running_titles() {
            self.take(Input::Ran {
                title,
                text: "stopped".to_owned(),
                failed: true,
            })?;
        }
        Ok(())
    }

    fn spawn(&mut self, title: String, running: ServiceFuture<Printed>) {
        let replies = self.replies.clone();
        let task = tokio::spawn(async move {
            let Printed { text, failed } = running.await;
            let ran = Input::Ran {
                title,
                text,
                failed,
            };
            let _sent = replies.send(Reply::Input(ran));
        });
        self.running.retain(|running| !running.is_finished());
        self.running.push(task.abort_handle());
    }

    fn find_point(&self, number: usize, what: RewindWhat) {
        let Some(talk) = &self.on.talk else {
            return;
        };
        let point = self.on.services.point(talk.session(), number);
        self.reply(async move {
            let point = point.await;
            Some(Input::Point {
                number,
                what,
                point,
            })
        });
    }
}

/// Sequence of a desktop notification. tmux keeps unknown sequences to itself; in its wrapper, with each
/// escape doubled, it hands them to the terminal outside (where `allow-passthrough` is on).
fn notification(text: &str, tmux: bool) -> String {
    if tmux {
        return format!("\u{1b}Ptmux;\u{1b}\u{1b}]9;{text}\u{7}\u{1b}\\");
    }
    format!("\u{1b}]9;{text}\u{7}")
}

#[cfg(test)]
mod tests {
    use super::notification;

    #[test]
    fn a_notification_is_wrapped_for_tmux() {
        assert_eq!(notification("done", false), "\u{1b}]9;done\u{7}");
        let wrapped = "\u{1b}Ptmux;\u{1b}\u{1b}]9;done\u{7}\u{1b}\\";
        assert_eq!(notification("done", true), wrapped);
    }
}
