//! A terminal that the test types at and looks at.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Command;
use std::sync::Arc;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use testkit::watch;

use super::process::{Process, Said};

const END: &str = "[end]";

/// A screen and a keyboard, at the other end of which a program can be started.
pub(crate) struct Terminal {
    /// The side of the person.
    person: File,
    /// The side of the program. Kept open, so that what is on the screen can still be read when the program has ended.
    program: File,
    seen: Arc<Said>,
}

impl Terminal {
    pub(crate) fn open() -> Self {
        // The test itself must not come under its control.
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let person = openpt(flags).expect("a pseudo-terminal");
        grantpt(&person).and_then(|()| unlockpt(&person)).expect("a pseudo-terminal of ours");
        let program = File::from(ioctl_tiocgptpeer(&person, flags).expect("its other side"));
        let (person, seen) = (File::from(person), Arc::new(Said::default()));
        let (mut screen, on_screen) = (person.try_clone().unwrap(), Arc::clone(&seen));
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        // Ends when both sides are closed.
        std::thread::spawn(move || {
            let mut bytes = [0; 1024];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                watch::said(&test, &bytes[..count]);
                on_screen.hear(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { person, program, seen }
    }

    /// Starts a program that has this terminal for its own, and pipes for its output.
    pub(crate) fn start(&self, command: &Command) -> Process {
        let mut seated = Command::new("setsid");
        seated.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
        seated.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Process::start_with(seated, self.program.try_clone().unwrap().into())
    }

    pub(crate) fn type_line(&mut self, text: &str) {
        self.person.write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    /// Waits until this stands on the screen; all that stands there then.
    #[track_caller]
    pub(crate) fn until(&self, text: &str) -> String {
        self.seen.until(text, |seen| seen.contains(text))
    }

    /// All that stood on the screen, which is empty then.
    pub(crate) fn clear(&mut self) -> String {
        // What is written last is read last.
        self.program.write_all(END.as_bytes()).unwrap();
        self.until(END);
        self.seen.forget()
    }

    /// Whether what is typed is shown.
    pub(crate) fn echoes(&self) -> bool {
        tcgetattr(&self.program).unwrap().local_modes.contains(LocalModes::ECHO)
    }
}
