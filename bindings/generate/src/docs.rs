//! Whether a documentation has the words of the verbs.

use gtc::facade::VERBS;

/// The verbs of `objects` whose words `text` lacks, with the words. How the lines are broken and
/// which marks of a comment stand before them does not matter.
#[must_use]
pub fn missing(text: &str, objects: &[&str]) -> Vec<String> {
    let text = plain(text);
    let verbs = VERBS.iter().filter(|verb| objects.contains(&verb.object));
    verbs
        .filter(|verb| !text.contains(&plain(verb.doc)))
        .map(|verb| format!("{}.{}: {}", verb.object, verb.name, verb.doc))
        .collect()
}

/// The words alone, with one space between them.
fn plain(text: &str) -> String {
    const MARKS: &[&str] = &["///", "//!", "/**", "*", "#", "\"\"\""];
    let mut words = Vec::new();
    for line in text.lines() {
        let mut line = line.trim();
        for mark in MARKS {
            line = line.strip_prefix(mark).unwrap_or(line).trim_start();
        }
        let line = line.trim_end_matches("*/").trim_end_matches("\"\"\"");
        words.extend(line.split_whitespace());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_through_the_comments_of_every_language() {
        let verb = VERBS.iter().find(|verb| verb.name == "close").unwrap();
        let (first, rest) = verb.doc.split_at(verb.doc.find(' ').unwrap());
        for text in [
            format!("/// {first}\n    ///{rest}\nfn close() {{}}"),
            format!("/**\n * {first}\n *{rest}\n */"),
            format!("/** {first}{rest} */"),
            format!("    \"\"\"{first}\n    {rest}\"\"\""),
        ] {
            let lacks = missing(&text, &["coordinator"]);
            assert!(
                !lacks.iter().any(|what| what.contains("coordinator.close")),
                "{text}"
            );
            assert!(lacks.iter().any(|what| what.contains("coordinator.open")));
        }
        let other = missing(&verb.doc.replace("aborts", "commits"), &["coordinator"]);
        assert!(other.iter().any(|what| what.contains("coordinator.close")));
    }
}
