//! Finds secrets in text: those that somebody noted, and whatever has the shape of one.
//!
//! A noted secret is looked for in each form somebody might print it in (as it is, and its bytes in hexadecimal,
//! base64 or as a list of numbers) and in pieces: of each form, stretches of [`STRETCH`] characters are known, one
//! beginning every [`STRIDE`], so that a piece is found wherever it was cut, if it is STRETCH + STRIDE − 1 long.

use std::collections::HashSet;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

const STRETCH: usize = 16;
const STRIDE: usize = 8;
/// `csk_`: `cs`, the kind, `_`. Then 32 random bytes in base64url.
const MARK_CHARS: usize = 4;
const RANDOM_CHARS: usize = 43;
/// So many characters of a key are its public name: the mark and eight more.
const PUBLIC_CHARS: usize = MARK_CHARS + 8;
/// What has the shape of a key and is none. Each is a constant of a test or of the documents.
const HARMLESS: [&[u8]; 2] =
    [b"csk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", b"css_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"];

/// What must not be shown.
#[derive(Default)]
pub(crate) struct Secrets {
    stretches: HashSet<[u8; STRETCH]>,
    /// Those too short to be cut into stretches, such as a password.
    short: Vec<Vec<u8>>,
}

impl Secrets {
    /// One secret a line.
    pub(crate) fn read(text: &str) -> Self {
        let mut secrets = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !HARMLESS.contains(&line.as_bytes())) {
            secrets.add(line);
        }
        secrets
    }

    fn add(&mut self, secret: &str) {
        if secret.len() < PUBLIC_CHARS + STRETCH {
            self.short.push(secret.as_bytes().to_vec());
            return;
        }
        let is_token = is_token(secret.as_bytes());
        self.add_form(if is_token { &secret[PUBLIC_CHARS..] } else { secret });
        self.add_form(&hex::encode(secret)[2 * PUBLIC_CHARS..]);
        let bytes = if is_token {
            URL_SAFE_NO_PAD.decode(&secret[MARK_CHARS..]).ok()
        } else {
            hex::decode(secret).ok()
        };
        if let Some(bytes) = bytes {
            // The first six bytes are the eight public characters.
            let from = if is_token { (2 * 6, 8) } else { (0, 0) };
            self.add_form(&hex::encode(&bytes)[from.0..]);
            self.add_form(&URL_SAFE_NO_PAD.encode(&bytes)[from.1..]);
            self.add_form(&STANDARD_NO_PAD.encode(&bytes)[from.1..]);
        }
    }

    fn add_form(&mut self, form: &str) {
        let last = form.len().saturating_sub(STRETCH);
        for begin in (0..last).step_by(STRIDE).chain([last]) {
            if let Some(stretch) = form.as_bytes().get(begin..).and_then(|rest| rest.first_chunk()) {
                self.stretches.insert(*stretch);
            }
        }
    }

    /// Whether there is anything that was noted.
    pub(crate) fn is_empty(&self) -> bool {
        self.stretches.is_empty() && self.short.is_empty()
    }

    /// The line with everything secret in it masked, if there is anything.
    pub(crate) fn masked(&self, line: &[u8]) -> Option<String> {
        let mut found = self.noted(line);
        found.extend(shaped(line));
        found.extend(self.numbers(line));
        if found.is_empty() {
            return None;
        }
        let mut masked = line.to_vec();
        for byte in found.into_iter().flatten() {
            masked[byte] = b'*';
        }
        Some(String::from_utf8_lossy(&masked).into_owned())
    }

    fn noted(&self, line: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for (begin, end) in words(line) {
            let word = &line[begin..end];
            let known = |stretch: &[u8]| self.stretches.contains(stretch) || self.knows_lowercase(stretch);
            if word.windows(STRETCH).any(known) {
                found.push(begin..end);
            }
        }
        for short in &self.short {
            let places = line.windows(short.len()).enumerate().filter(|(_, window)| window == short);
            found.extend(places.map(|(begin, window)| begin..begin + window.len()));
        }
        found
    }

    /// Hexadecimal digits come in capitals too.
    fn knows_lowercase(&self, stretch: &[u8]) -> bool {
        let is_upper_hex = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'A'..=b'F');
        stretch.iter().all(is_upper_hex) && self.stretches.contains(stretch.to_ascii_lowercase().as_slice())
    }

    /// Bytes as `{:?}` shows them: `[251, 12, …]`.
    fn numbers(&self, line: &[u8]) -> Vec<Range<usize>> {
        let is_list = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b',' | b' ');
        let mut found = Vec::new();
        for (begin, end) in runs(line, is_list) {
            let text = String::from_utf8_lossy(&line[begin..end]);
            let bytes: Vec<u8> = text.split(',').filter_map(|number| number.trim().parse().ok()).collect();
            if hex::encode(bytes).as_bytes().windows(STRETCH).any(|stretch| self.stretches.contains(stretch))
            {
                found.push(begin..end);
            }
        }
        found
    }
}

/// Words in which a token, hexadecimal or base64 would be.
fn words(line: &[u8]) -> Vec<(usize, usize)> {
    runs(line, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/'))
}

/// Where such bytes stand, if enough do.
fn runs(line: &[u8], belongs: impl Fn(&u8) -> bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut begin = 0;
    for run in line.split(|byte| !belongs(byte)) {
        if run.len() >= STRETCH {
            found.push((begin, begin + run.len()));
        }
        begin += run.len() + 1;
    }
    found
}

/// Where something begins like a key of ours and is at least as long, noted or not.
fn shaped(line: &[u8]) -> Vec<Range<usize>> {
    const CHARS: usize = MARK_CHARS + RANDOM_CHARS;
    let tokens = line.windows(CHARS).enumerate().filter(|(_, window)| is_token(window));
    tokens.filter(|(_, token)| !HARMLESS.contains(token)).map(|(begin, _)| begin..begin + CHARS).collect()
}

fn is_token(text: &[u8]) -> bool {
    let is_random = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    matches!(text, [b'c', b's', b'a'..=b'z', b'_', random @ ..]
        if random.len() == RANDOM_CHARS && random.iter().all(is_random))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that look random and are not, so that this test's own output shows no secret.
    fn bytes() -> Vec<u8> {
        (0..32u8).map(|number| number.wrapping_mul(73).wrapping_add(41)).collect()
    }

    fn token(mark: &str) -> String {
        format!("{mark}{}", URL_SAFE_NO_PAD.encode(bytes()))
    }

    fn is_found(secrets: &Secrets, text: &str) -> bool {
        secrets.masked(format!("before {text} after").as_bytes()).is_some()
    }

    #[test]
    fn a_token_is_found_in_every_form_and_in_pieces() {
        let token = token("csk_");
        let secrets = Secrets::read(&format!("{token}\n"));
        let forms = [
            token.clone(),
            token[4..].to_owned(),
            token[PUBLIC_CHARS..].to_owned(),
            token[14..38].to_owned(),
            hex::encode(bytes()),
            hex::encode_upper(bytes()),
            hex::encode(&token),
            STANDARD_NO_PAD.encode(bytes()),
            format!("{:?}", bytes()),
            format!("Some(\"Bearer {token}x\")"),
            format!("key={token}&more"),
        ];
        for (number, form) in forms.iter().enumerate() {
            assert!(is_found(&secrets, form), "form {number}");
        }
        assert!(!is_found(&secrets, &token[..PUBLIC_CHARS]), "the public name of a key is no secret");
        assert!(!is_found(&secrets, "0198c5a0-0000-7000-8000-000000000001 csk_nope [1, 2, 3]"));
    }

    #[test]
    fn a_key_of_the_hub_is_found_in_every_form() {
        let secrets = Secrets::read(&hex::encode(bytes()));
        let forms = [hex::encode(bytes()), URL_SAFE_NO_PAD.encode(bytes()), format!("{:?}", bytes())];
        for (number, form) in forms.iter().enumerate() {
            assert!(is_found(&secrets, form), "form {number}");
        }
    }

    #[test]
    fn whatever_has_the_shape_is_found_though_nobody_noted_it() {
        for mark in ["csk_", "css_", "cso_", "csd_"] {
            assert!(is_found(&Secrets::default(), &format!("x{}", token(mark))), "{mark}");
        }
        assert!(!is_found(&Secrets::default(), &token("csk_")[..46]), "too short");
        let harmless = String::from_utf8(HARMLESS[0].to_vec()).unwrap();
        assert!(!is_found(&Secrets::read(&harmless), &harmless));
    }

    #[test]
    fn a_password_is_found_as_it_is() {
        let secrets = Secrets::read("hush-hush\n");
        assert_eq!(secrets.masked(b"postgres://hub:hush-hush@db").unwrap(), "postgres://hub:*********@db");
        assert_eq!(secrets.masked(b"hush"), None);
    }

    #[test]
    fn what_is_told_holds_nothing_of_the_secret() {
        let token = token("csk_");
        let secrets = Secrets::read(&token);
        let masked = secrets.masked(format!("x {token} y {:?}", bytes()).as_bytes()).unwrap();
        assert!(masked.starts_with("x ****") && masked.contains("* y [***"));
        assert!(!is_found(&secrets, &masked));
    }
}
