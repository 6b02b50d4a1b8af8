//! Signatures of webhooks, as Standard Webhooks has them.

use data_encoding::BASE64;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;

/// Returns the value of `webhook-signature`: `v1,` and the base64 of the HMAC of `ID.TIMESTAMP.BODY`.
pub(super) fn sign(key: &[u8], id: &str, timestamp: u64, body: &str) -> String {
    let signed = format!("{id}.{timestamp}.{body}");
    format!("v1,{}", BASE64.encode(&hmac(key, signed.as_bytes())))
}

/// Returns the HMAC-SHA256 of a text: RFC 2104.
fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let hashed: [u8; 32];
    let key = if key.len() > BLOCK {
        hashed = Sha256::digest(key).into();
        &hashed
    } else {
        key
    };
    let padded = |pad: u8| {
        let mut block = Zeroizing::new([pad; BLOCK]);
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
        Sha256::new_with_prefix(*block)
    };
    let inner = padded(0x36).chain_update(text).finalize();
    padded(0x5c).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    #[test]
    fn the_code_is_that_of_the_standard() {
        // RFC 4231, sections 4.2, 4.3 and 4.7.
        for (key, text, code) in [
            (
                vec![0x0b; 20],
                "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(HEXLOWER.encode(&hmac(&key, text.as_bytes())), code);
        }
    }

    #[test]
    fn the_signature_is_the_one_that_standard_webhooks_publishes() {
        let key = BASE64.decode(b"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        assert_eq!(
            sign(&key, id, 1_614_265_330, "{\"test\": 2432232314}"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }
}
