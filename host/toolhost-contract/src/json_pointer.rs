//! Escapes the segments of JSON pointers. Spec: RFC 6901 §3.

/// Escapes the name of an object's member.
pub fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the name of an object's member from its escaped form.
pub fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for (name, segment) in [("a/b", "a~1b"), ("~", "~0"), ("~1", "~01"), ("가", "가")] {
            assert_eq!(escape(name), segment);
            assert_eq!(unescape(segment), name);
        }
    }
}
