//! `${NAME}` in the values of a configuration file.

/// Reads a variable; the tests pass a table of their own.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Replaces every `${NAME}` by the variable's value; `$${` stands for a plain `${`.
///
/// # Errors
/// What is wrong, without any value in it.
pub(super) fn substitute(text: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(kept) = before.strip_suffix('$') {
            result.push_str(kept);
            result.push_str("${");
            rest = &from[2..];
            continue;
        }
        result.push_str(before);
        let (name, after) = from[2..].split_once('}').ok_or("`${` without its `}`")?;
        result.push_str(&value_of(name, lookup)?);
        rest = after;
    }
    result.push_str(rest);
    Ok(result)
}

fn value_of(name: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let valid = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !valid {
        return Err("`${...}` holds no name of an environment variable".to_owned());
    }
    lookup(name).ok_or_else(|| format!("the environment variable `{name}` is not set"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitutes_escapes_and_refuses() {
        let lookup = |name: &str| (name == "USER_1").then(|| "a${b}".to_owned());
        let cases = [
            ("plain", Ok("plain")),
            ("", Ok("")),
            ("$", Ok("$")),
            ("x${USER_1}y", Ok("xa${b}y")),
            ("${USER_1}${USER_1}", Ok("a${b}a${b}")),
            ("$${USER_1}", Ok("${USER_1}")),
            (
                "${MISSING}",
                Err("the environment variable `MISSING` is not set"),
            ),
            ("${USER_1", Err("`${` without its `}`")),
            (
                "${}",
                Err("`${...}` holds no name of an environment variable"),
            ),
        ];
        for (text, expected) in cases {
            let found = substitute(text, &lookup);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
