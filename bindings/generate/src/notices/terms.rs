//! What an SPDX expression asks for. Only those that crates really have are read: `AND` between
//! choices, each with or without parentheses.

/// Whether a term that a user may choose is the Apache licence, as it is gtc's own.
pub(super) fn allows_apache(expression: &str) -> bool {
    terms(expression).any(chooses_apache)
}

/// Whether no term asks for another text.
pub(super) fn is_only_apache(expression: &str) -> bool {
    terms(expression).all(chooses_apache)
}

fn terms(expression: &str) -> impl Iterator<Item = &str> {
    expression.split(" AND ")
}

fn chooses_apache(term: &str) -> bool {
    let term = term.trim_matches(['(', ')']);
    let mut choices = term.split(" OR ").flat_map(|choice| choice.split('/'));
    choices.any(|choice| choice.trim() == "Apache-2.0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apache_is_chosen_where_it_can_be() {
        for (expression, allows, only) in [
            ("MIT OR Apache-2.0", true, true),
            ("MIT/Apache-2.0", true, true),
            (
                "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
                true,
                true,
            ),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true, false),
            ("Apache-2.0 AND ISC", true, false),
            ("BSD-3-Clause AND BSD-2-Clause", false, false),
            ("Unlicense OR MIT", false, false),
        ] {
            assert_eq!(allows_apache(expression), allows, "{expression}");
            assert_eq!(is_only_apache(expression), only, "{expression}");
        }
    }
}
