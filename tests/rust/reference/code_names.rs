//! Names that a query marks as code, where no two backticks stand side by side.

/// Returns the words between backticks, four at most, and those before `()`; none if these are all.
pub fn code_names(query: &str) -> Vec<String> {
    assert!(!query.contains("``"), "{query}");
    let parts: Vec<&str> = query.split('`').collect();
    let mut names: Vec<String> = Vec::new();
    let mut is_behind_span = false;
    for (at, part) in parts.iter().enumerate() {
        let words: Vec<&str> = part.split_whitespace().collect();
        let is_between = at > 0 && at + 1 < parts.len() && !is_behind_span;
        is_behind_span = is_between && (1..=4).contains(&words.len());
        if is_behind_span {
            names.extend(words.into_iter().map(str::to_owned));
            continue;
        }
        let calls = part.match_indices("()").map(|(end, _)| &part[..end]);
        let is_end = |c: char| !c.is_alphanumeric() && c != '_';
        let heads = calls.filter_map(|head| head.rsplit(is_end).next());
        names.extend(heads.filter(|name| !name.is_empty()).map(str::to_owned));
    }
    if names.len() < query.split_whitespace().count() { names } else { Vec::new() }
}
