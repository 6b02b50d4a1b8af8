//! Random texts, for ids that cannot be guessed.

/// The alphabet of RFC 4648 base32, in lower case.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Makes a text of `N` random letters of base32, 5 bits each.
///
/// # Errors
/// Where the system gives no random bytes.
pub fn random_text<const N: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    // 32 divides 256: each letter is equally likely.
    let letter = |byte: &u8| ALPHABET.get(usize::from(byte & 31)).copied();
    Ok(bytes.iter().filter_map(letter).map(char::from).collect())
}

/// Whether a text has the form that [`random_text`] makes.
pub fn is_random_text<const N: usize>(text: &str) -> bool {
    text.len() == N && text.bytes().all(|byte| ALPHABET.contains(&byte))
}
