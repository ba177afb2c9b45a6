//! Finds each setting's value in flags, environment and file, and collects what is wrong.

use super::Environment;
use super::file::{File, text_of};
use super::flags::ServerFlags;
use super::problem::{ConfigProblem, Shown, Source};
use super::setting::Setting;
use super::suggest::nearest;

/// Where values come from, and what has been learnt from reading them.
pub(super) struct Values<'a> {
    pub(super) flags: &'a ServerFlags,
    pub(super) env: &'a Environment,
    pub(super) file: File,
    pub(super) shown: Vec<Shown>,
    pub(super) problems: Vec<ConfigProblem>,
    /// The settings that were asked for, by both names. What nobody asks for is unknown.
    pub(super) asked: Vec<(&'static str, &'static str)>,
}

impl Values<'_> {
    /// The value of a setting. `None` if it has none, or a bad one, which is then among the problems.
    pub(super) fn get<T>(&mut self, setting: &Setting<T>) -> Option<T> {
        self.get_or(setting, setting.default)
    }

    /// The same with a default that depends on other settings.
    pub(super) fn get_or<T>(&mut self, setting: &Setting<T>, default: Option<&str>) -> Option<T> {
        self.asked.push((setting.name, setting.env));
        let (text, source) = match self.said(setting) {
            Ok(Some(said)) => said,
            Ok(None) => match default {
                Some(text) => (text.to_owned(), Source::Default),
                None => {
                    self.show(setting, "(not set)".to_owned(), Source::Default);
                    return None;
                }
            },
            Err(problem) => {
                self.problems.push(*problem);
                return None;
            }
        };
        let parsed = if text.is_empty() { Err("it is empty".to_owned()) } else { (setting.parse)(&text) };
        let value = (setting.show)(&text);
        match parsed {
            Ok(parsed) => {
                self.show(setting, value, source);
                Some(parsed)
            }
            Err(reason) => {
                self.problems.push(bad(setting, source, value, reason));
                None
            }
        }
    }

    /// What somebody said about a setting: the flag before the environment before the file.
    fn said<T>(&self, setting: &Setting<T>) -> Result<Option<(String, Source)>, Box<ConfigProblem>> {
        if let Some(text) = self.flags.given(setting.name) {
            return Ok(Some((text.to_owned(), Source::Flag(setting.name))));
        }
        if let Some(value) = self.env.get(setting.env) {
            let source = Source::Environment(setting.env.to_owned());
            return match value.to_str() {
                Some(text) => Ok(Some((text.to_owned(), source))),
                None => {
                    let shown = (setting.show)(&value.to_string_lossy());
                    Err(bad(setting, source, shown, "it is not UTF-8".to_owned()).into())
                }
            };
        }
        let Some(value) = self.file.entries.get(setting.name) else { return Ok(None) };
        let source = Source::File(self.file.path.clone());
        match text_of(value, setting.shape) {
            Ok(text) => Ok(Some((text, source))),
            Err(reason) => {
                Err(bad(setting, source, (setting.show)(&value.to_string()), reason.to_owned()).into())
            }
        }
    }

    /// Says what is wrong between settings. Not said when one of them is wrong by itself already.
    pub(super) fn refuse<T>(&mut self, setting: &Setting<T>, reason: String) {
        if let Some(shown) = self.shown.iter().find(|shown| shown.name == setting.name) {
            let instead = format!("write {}", setting.expects);
            let (source, value) = (shown.source.clone(), Some(shown.value.clone()));
            let setting = setting.name.to_owned();
            self.problems.push(ConfigProblem { setting, source, value, reason, instead });
        }
    }

    /// Every key and variable must be one that was asked for: a typing error would otherwise pass unnoticed.
    pub(super) fn refuse_unknown(&mut self) {
        for key in self.file.entries.keys().filter(|key| !self.asked.iter().any(|(name, _)| name == key)) {
            let meant = nearest(key, self.asked.iter().map(|(name, _)| *name));
            self.problems.push(unknown(key, Source::File(self.file.path.clone()), meant));
        }
        for name in self.env.claimed().filter(|name| !self.asked.iter().any(|(_, env)| env == name)) {
            let meant = nearest(name, self.asked.iter().map(|(_, env)| *env));
            self.problems.push(unknown(name, Source::Environment(name.to_owned()), meant));
        }
    }

    fn show<T>(&mut self, setting: &Setting<T>, value: String, source: Source) {
        self.shown.push(Shown { name: setting.name, value, source });
    }
}

fn bad<T>(setting: &Setting<T>, source: Source, value: String, reason: String) -> ConfigProblem {
    let instead = format!("write {}", setting.expects);
    ConfigProblem { setting: setting.name.to_owned(), source, value: Some(value), reason, instead }
}

fn unknown(name: &str, source: Source, meant: Option<&str>) -> ConfigProblem {
    let instead = match meant {
        Some(meant) => format!("did you mean {meant}?"),
        None => "remove it, or correct its name; `countersign config check` lists the settings".to_owned(),
    };
    let reason = "there is no such setting".to_owned();
    ConfigProblem { setting: name.to_owned(), source, value: None, reason, instead }
}
