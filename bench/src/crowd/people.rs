//! Who is in the crowd: names as people have them, and the secrets of their keys. Everything follows from a number.

use domain::secrets::{Secret, SecretKind};

use crate::chance::Chance;

/// Keys of each account.
pub(crate) const KEYS_EACH: u64 = 10;
/// What people type before they find somebody.
const TYPED_LETTERS_MAX: u64 = 6;

const GIVEN: [&str; 64] = [
    "Ada",
    "Ahmed",
    "Aiko",
    "Alan",
    "Amelie",
    "Ana",
    "Anders",
    "Barbara",
    "Bela",
    "Bruno",
    "Camille",
    "Carlos",
    "Chen",
    "Clara",
    "Daniel",
    "Daria",
    "Edsger",
    "Elena",
    "Emil",
    "Erika",
    "Farah",
    "Felix",
    "Fatima",
    "Georg",
    "Grace",
    "Hanna",
    "Hugo",
    "Ibrahim",
    "Ines",
    "Ivan",
    "Jamal",
    "Jana",
    "Johan",
    "Jun",
    "Karin",
    "Katherine",
    "Kofi",
    "Lars",
    "Leila",
    "Liam",
    "Lucia",
    "Margaret",
    "Maria",
    "Mateo",
    "Mehmet",
    "Mia",
    "Nadia",
    "Niklaus",
    "Noor",
    "Olga",
    "Omar",
    "Paul",
    "Priya",
    "Rafael",
    "Ravi",
    "Rosa",
    "Samuel",
    "Sofia",
    "Tim",
    "Tomas",
    "Valeria",
    "Wei",
    "Yusuf",
    "Zofia",
];

const FAMILY: [&str; 96] = [
    "Abbott",
    "Achebe",
    "Ahlberg",
    "Almeida",
    "Andersson",
    "Bauer",
    "Becker",
    "Bernard",
    "Borg",
    "Brown",
    "Carvalho",
    "Castro",
    "Chandra",
    "Cohen",
    "Costa",
    "Dahl",
    "Das",
    "Diaz",
    "Dijkstra",
    "Dubois",
    "Eriksen",
    "Evans",
    "Farkas",
    "Fernandez",
    "Fischer",
    "Fontaine",
    "Garcia",
    "Gomez",
    "Gonzalez",
    "Gray",
    "Gruber",
    "Haddad",
    "Hamilton",
    "Hansen",
    "Hoffmann",
    "Hopper",
    "Horvath",
    "Huber",
    "Ito",
    "Ivanova",
    "Jansen",
    "Jensen",
    "Johansson",
    "Johnson",
    "Jones",
    "Kaya",
    "Keller",
    "Khan",
    "Kim",
    "King",
    "Kowalski",
    "Kumar",
    "Larsen",
    "Lee",
    "Liskov",
    "Lopez",
    "Lovelace",
    "Martin",
    "Mensah",
    "Meyer",
    "Miller",
    "Moreau",
    "Mueller",
    "Nagy",
    "Nakamura",
    "Nguyen",
    "Nielsen",
    "Novak",
    "Okafor",
    "Olsen",
    "Papadopoulos",
    "Patel",
    "Perez",
    "Petrov",
    "Popescu",
    "Quispe",
    "Ramirez",
    "Rossi",
    "Sato",
    "Schmidt",
    "Schneider",
    "Silva",
    "Singh",
    "Smith",
    "Suzuki",
    "Tanaka",
    "Taylor",
    "Turing",
    "Vargas",
    "Wagner",
    "Weber",
    "Wilson",
    "Wirth",
    "Yamamoto",
    "Yilmaz",
    "Zhang",
];

/// The name of this one: given, given, family.
fn words(person: u64) -> [&'static str; 3] {
    let mut chance = Chance::of(person);
    let mut given = || chance.one_of(&GIVEN).copied().unwrap_or_default();
    let (first, second) = (given(), given());
    [first, second, chance.one_of(&FAMILY).copied().unwrap_or_default()]
}

pub(crate) fn display_name(person: u64) -> String {
    words(person).join(" ")
}

pub(crate) fn email(person: u64) -> String {
    let [first, _, family] = words(person);
    format!("{}.{}.{person}@example.org", first.to_lowercase(), family.to_lowercase())
}

/// The secret of this key, which belongs to person `key / KEYS_EACH`.
pub(crate) fn secret(key: u64) -> Secret {
    let mut bytes = [0; 32];
    for part in bytes.chunks_exact_mut(8) {
        part.copy_from_slice(&key.to_be_bytes());
    }
    Secret::from_bytes(SecretKind::ApiKey, &bytes)
}

/// What somebody types who looks for one of so many people: how a word of the name begins.
pub(crate) fn typed(chance: &mut Chance, people: u64) -> String {
    let words = words(chance.below(people));
    let word = chance.one_of(&words).copied().unwrap_or_default();
    let letters = 1 + chance.below(TYPED_LETTERS_MAX);
    word.to_lowercase().chars().take(usize::try_from(letters).unwrap_or(1)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn everybody_has_a_name_and_an_address_of_their_own() {
        let people = 0..10_000;
        let emails: HashSet<String> = people.clone().map(email).collect();
        let names: HashSet<String> = people.map(display_name).collect();
        assert_eq!(emails.len(), 10_000);
        assert!(names.len() > 9_000, "{} names: too many people are called the same", names.len());
        assert!(names.iter().all(|name| name.split(' ').count() == 3));
    }

    #[test]
    fn a_key_has_one_secret() {
        let secrets: HashSet<[u8; 32]> = (0..1_000).map(|key| secret(key).hash()).collect();
        assert_eq!(secrets.len(), 1_000);
        assert_eq!(secret(7).hash(), secret(7).hash());
        assert!(Secret::parse(secret(7).expose()).is_ok());
    }

    #[test]
    fn people_type_one_to_six_letters_that_find_somebody() {
        let names: Vec<String> = (0..100).map(|person| display_name(person).to_lowercase()).collect();
        let mut chance = Chance::of(1);
        let mut lengths = HashSet::new();
        for _ in 0..1_000 {
            let typed = typed(&mut chance, 100);
            assert!(typed.bytes().all(|letter| letter.is_ascii_lowercase()), "{typed:?} needs no escaping");
            let found = names.iter().any(|name| name.split(' ').any(|word| word.starts_with(&typed)));
            assert!(found, "nobody is called {typed:?}");
            lengths.insert(typed.len());
        }
        assert_eq!(lengths, (1..=6).collect());
    }
}
