//! Turn search tests: where turns begin, what is shown of them, and what is left out.

#![allow(missing_docs)]

mod fixture;

use commonplace_core::filter::{ExcludedLines, SearchFilter};
use commonplace_core::search::turns::Unit;
use commonplace_core::store::Store;
use commonplace_core::store::hit::Hit;
use commonplace_core::store::search::SearchRequest;
use fixture::TestRoot;
use serde_json::json;

fn turns_of(store: &Store, query: &str, filter: SearchFilter) -> Vec<Hit> {
    let (query, unit) = (query.to_owned(), Unit::Turn);
    let request = SearchRequest { query, limit: 30, filter, unit, stats: None };
    store.search(&request, &|| false).unwrap().hits
}

fn turns(store: &Store, query: &str) -> Vec<Hit> {
    turns_of(store, query, SearchFilter::default())
}

fn citations(hits: &[Hit]) -> Vec<String> {
    hits.iter().map(|hit| hit.passage().citation.clone()).collect()
}

fn said(role: &str, text: &str) -> String {
    format!("{}\n", json!({"role": role, "content": text, "session": "s"}))
}

const PATH: &str = "sessions/bakery/2026-01-05-ab/messages.jsonl";

/// A session with its record, two turns and the traffic of a tool.
fn session() -> String {
    let record = json!({"type": "session", "host": "plain", "id": "s", "title": "Ovens"});
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "input": "oven"}]});
    let answer = json!({"role": "user", "session": "s", "content": [
        {"type": "tool_result", "content": "oven"},
        {"type": "text", "text": "it was read"},
    ]});
    format!(
        "{record}\n{}{}{call}\n{answer}\n{}{}{}",
        said("user", "Why is the oven cold?"),
        said("assistant", "Let me look at the oven."),
        said("assistant", "The thermostat of the oven is broken."),
        said("user", "Order flour."),
        said("assistant", "Ordered."),
    )
}

#[test]
fn a_turn_is_a_prompt_and_all_up_to_the_next() {
    let memory = TestRoot::new();
    memory.put(PATH, session());
    memory.put("oven.md", "# Oven\n\nIt is cold.\n");
    let store = memory.open(true);
    // the turn has all the words; the next prompt stands beside a message with them, and notes are
    // found as ever
    let found = turns(&store, "cold oven thermostat");
    let all = [format!("{PATH}#L2-L6"), "oven.md#L1".to_owned(), format!("{PATH}#L7-L8")];
    assert_eq!(citations(&found), all);
    let hit = &found[0];
    let turn = hit.turn.as_ref().unwrap();
    assert_eq!(turn.prompt.as_deref(), Some("Why is the oven cold?"));
    assert_eq!(turn.title.as_deref(), Some("Ovens"));
    assert_eq!((hit.project(), turn.line), (Some("bakery"), 6));
    assert_eq!(hit.passage().snippet, "The thermostat of the oven is broken.");
    // nothing of the reply has the word: the prompt is found, the last message shown
    let found = turns(&store, "flour");
    assert_eq!(citations(&found)[0], format!("{PATH}#L7-L8"));
    assert_eq!((found[0].text.as_str(), found[0].passage().highlights.len()), ("Ordered.", 0));
}

#[test]
fn what_an_agent_says_on_its_way_counts_less_than_what_came_of_it() {
    let memory = TestRoot::new();
    let filler = said("user", "And the yeast?") + &said("assistant", "It is fresh.");
    let turn = |narration: &str, last: &str| {
        said("user", "Go on.") + &said("assistant", narration) + &said("assistant", last)
    };
    let text = turn("Now I check the kiln door.", "All is done as you wished.")
        + &filler.repeat(4)
        + &turn("All is done as you wished.", "Now I check the kiln door.");
    memory.put("a.jsonl", &text);
    let store = memory.open(true);
    assert_eq!(citations(&turns(&store, "kiln door")), ["a.jsonl#L12-L14", "a.jsonl#L1-L3"]);
}

#[test]
fn two_words_of_the_topic_outweigh_one_that_is_rare_by_chance() {
    let memory = TestRoot::new();
    let turn = |prompt: &str| said("user", prompt) + &said("assistant", "All is done.");
    let some = (turn("Now the limit.") + &turn("Now the list.")).repeat(14);
    let others = some + &turn("Now the flour.").repeat(60);
    memory.put("a.jsonl", turn("Now raise the oven.") + &others + &turn("Now the list limit."));
    let store = memory.open(true);
    let request = SearchRequest {
        query: "raise list limit".to_owned(),
        limit: 5,
        ..SearchRequest::default()
    };
    let by_message = store.search(&request, &|| false).unwrap().hits;
    assert_eq!(by_message[0].text, "Now raise the oven.");
    assert_eq!(citations(&turns(&store, "raise list limit"))[0], "a.jsonl#L179-L180");
}

#[test]
fn a_turn_ends_with_its_session_and_its_file() {
    let memory = TestRoot::new();
    let other = json!({"role": "assistant", "content": "walrus two", "session": "t"});
    memory.put(
        "a.jsonl",
        said("assistant", "walrus zero") + &said("user", "walrus one") + &format!("{other}\n"),
    );
    memory.put("b.jsonl", said("assistant", "walrus three"));
    let store = memory.open(true);
    let mut found = citations(&turns(&store, "walrus"));
    found.sort();
    assert_eq!(found, ["a.jsonl#L1", "a.jsonl#L2", "a.jsonl#L3", "b.jsonl#L1"]);
}

#[test]
fn a_turn_grows_with_its_transcript_and_the_title_changes() {
    let memory = TestRoot::new();
    memory.put(PATH, session());
    let store = memory.open(true);
    assert_eq!(turns(&store, "flour")[0].end_line, 8);
    let renamed =
        json!({"type": "session", "host": "plain", "id": "s", "title": " Flour\n and ovens "});
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "input": "mill"}]});
    let grown =
        session() + &format!("{call}\n{renamed}\n") + &said("assistant", "The mill is shut.");
    memory.put(PATH, &grown);
    let check = |store: &Store| {
        let found = turns(store, "mill");
        assert_eq!(citations(&found), [format!("{PATH}#L7-L11")]);
        let turn = found[0].turn.clone().unwrap();
        assert_eq!(turn.title.as_deref(), Some("Flour and ovens"));
        assert_eq!(turn.prompt.as_deref(), Some("Order flour."));
        found
    };
    let before = check(&store);
    assert_eq!(store.verify(&|| false).unwrap().differences, [""; 0]);
    store.close(&|| false).unwrap();
    // from the snapshot
    assert_eq!(check(&memory.open(false)), before);
}

#[test]
fn what_is_in_the_context_is_left_out() {
    let memory = TestRoot::new();
    memory.put(PATH, session());
    let store = memory.open(true);
    let exclude = |of: &str, first, last| SearchFilter {
        exclude: vec![ExcludedLines { of: of.to_owned(), first, last }],
        ..SearchFilter::default()
    };
    for of in [PATH, "sessions/bakery", "s"] {
        let found = turns_of(&store, "oven", exclude(of, 2, 6));
        assert_eq!(citations(&found), [format!("{PATH}#L7-L8")], "{of}");
        assert_eq!(turns_of(&store, "flour", exclude(of, 2, 6)).len(), 1, "{of}");
    }
    // what is left of a turn is found by itself
    let found = turns_of(&store, "oven", exclude("s", 3, 9));
    assert_eq!((found[0].text.as_str(), found.len()), ("Why is the oven cold?", 1));
    assert_eq!(turns_of(&store, "oven", exclude("other", 1, 9)).len(), 2);
    for wrong in [exclude("", 1, 2), exclude("s", 0, 2), exclude("s", 3, 2)] {
        let request =
            SearchRequest { query: "x".into(), filter: wrong, ..SearchRequest::default() };
        let told = store.search(&request, &|| false).unwrap_err().to_string();
        assert!(told.contains("exclude") && told.contains("(filter)"), "{told}");
    }
}

#[test]
fn a_filter_chooses_the_messages_by_which_a_turn_is_found() {
    let memory = TestRoot::new();
    memory.put(PATH, session());
    let store = memory.open(true);
    let by = |role: &str| SearchFilter { role: Some(role.to_owned()), ..SearchFilter::default() };
    let found = turns_of(&store, "why cold oven", by("user"));
    let prompt = found[0].turn.as_ref().and_then(|turn| turn.prompt.as_deref());
    assert_eq!(prompt, Some("Why is the oven cold?"));
    assert!(found.iter().all(|hit| hit.message.as_ref().unwrap().role == "user"), "{found:?}");
    // what is of tools is found by message
    let tools = SearchFilter { tools: true, ..SearchFilter::default() };
    let found = turns_of(&store, "oven", tools);
    assert!(found.iter().any(|hit| hit.turn.is_none() && hit.first_line == 5), "{found:?}");
}

#[test]
fn turns_beyond_those_that_are_rescored_keep_their_order() {
    let memory = TestRoot::new();
    let turn = |at: usize| {
        said("user", &format!("turn {at}")) + &said("assistant", &"kelp ".repeat(1 + at % 7))
    };
    memory.put("a.jsonl", (0..60).map(turn).collect::<String>());
    let store = memory.open(true);
    let request = |limit| SearchRequest {
        query: "kelp".to_owned(),
        limit,
        unit: Unit::Turn,
        ..SearchRequest::default()
    };
    let all = store.search(&request(100), &|| false).unwrap().hits;
    assert_eq!(all.len(), 60);
    assert!(all.windows(2).all(|pair| pair[0].score >= pair[1].score));
    for limit in [0, 1, 19, 20, 21, 45] {
        let some = store.search(&request(limit), &|| false).unwrap().hits;
        assert_eq!(some, all[..limit]);
    }
}

#[test]
fn what_a_query_excludes_is_not_shown_of_a_turn() {
    let memory = TestRoot::new();
    let text = said("user", "What is in the salad?")
        + &said("assistant", "Kiwi, kiwi fruit and salad.")
        + &said("assistant", "The fruit salad has apples.");
    memory.put("a.jsonl", &text);
    let store = memory.open(true);
    assert_eq!(turns(&store, "fruit salad")[0].text, "The fruit salad has apples.");
    for query in ["fruit salad -kiwi", "\"fruit salad\""] {
        assert_eq!(turns(&store, query)[0].text, "The fruit salad has apples.", "{query}");
    }
    assert_eq!(turns(&store, "kiwi -apples")[0].text, "Kiwi, kiwi fruit and salad.");
}

/// Checks that the parts of an explanation add up to its score.
fn assert_adds_up(store: &Store, citation: &str) -> String {
    let explained = store.explain("oven", citation, Unit::Turn, &|| false).unwrap();
    let parts = explained.words.iter().map(|word| word.score).sum::<f32>() + explained.session;
    assert!((parts - explained.score).abs() < 1e-4, "{parts} in {}", explained.text);
    explained.text
}

#[test]
fn a_turn_is_explained_behind_the_best_and_where_both_halves_are_alike() {
    let memory = TestRoot::new();
    // each is a turn and a session by itself, and a short question; alike, so the last are behind
    // the window
    let asks = |session| json!({"role": "user", "name": "Ann", "content": "Is the oven cold?", "session": session});
    let lines: String = (10..50).map(|n| format!("{}\n", asks(n.to_string()))).collect();
    memory.put("s/asks.jsonl", lines);
    let store = memory.open(false);
    let hits = turns(&store, "oven");
    assert_eq!(hits.len(), 30);
    for hit in hits {
        let citation = format!("s/asks.jsonl#L{0}-L{0}", hit.first_line);
        let score = store.explain("oven", &citation, Unit::Turn, &|| false).unwrap().score;
        assert!((score - hit.score).abs() < 1e-4, "{citation}: {score}, {}", hit.score);
    }
    let first = assert_adds_up(&store, "s/asks.jsonl#L2-L2");
    assert!(first.contains("only a short question"), "{first}");
    let last = assert_adds_up(&store, "s/asks.jsonl#L39-L39");
    assert!(!last.contains("rescoring") && !last.contains("short question"), "{last}");
    assert!(last.contains("behind the best 20"), "{last}");
    let last = assert_adds_up(&store, "s/asks.jsonl#L39");
    assert!(last.contains("behind the best 30"), "{last}");
    let memory = TestRoot::new();
    memory.put("s/echo.jsonl", said("user", "oven") + &said("assistant", "oven"));
    assert_adds_up(&memory.open(false), "s/echo.jsonl#L1-L2");
}

#[test]
fn a_turn_behind_the_best_is_explained_by_its_best_message() {
    let memory = TestRoot::new();
    // the words stand in another message of each turn, and no two turns score alike
    let turn = |number: usize| {
        let filler = "flour and water ".repeat(number + 1);
        let (asked, narrated) =
            (format!("Is the oven cold? {filler}"), format!("An oven. {filler}"));
        said("user", if number.is_multiple_of(2) { &asked } else { "And now?" })
            + &said("assistant", if number.is_multiple_of(3) { &narrated } else { "I look." })
            + &said("assistant", &format!("The cold oven is repaired. {filler}"))
    };
    memory.put("s/turns.jsonl", (0..30).map(turn).collect::<String>());
    // sections of notes stand among them
    let section =
        |number: usize| format!("# Oven {number}\n\n{}\n\n", "A cold oven. ".repeat(number));
    memory.put("ovens.md", (1..40).map(section).collect::<String>());
    let store = memory.open(false);
    for query in ["cold oven", "oven -\"cold oven\"", "\"cold oven\""] {
        let request = SearchRequest {
            query: query.to_owned(),
            limit: 100,
            unit: Unit::Turn,
            ..SearchRequest::default()
        };
        let hits = store.search(&request, &|| false).unwrap().hits;
        assert!(hits.len() > 21, "{}", hits.len());
        for hit in hits {
            let citation = &hit.passage().citation;
            let explained = store.explain(query, citation, Unit::Turn, &|| false).unwrap();
            assert!((explained.score - hit.score).abs() < 1e-4, "{citation}: {}", explained.text);
        }
    }
}

#[test]
fn a_section_is_explained_as_in_the_search_that_found_it() {
    let memory = TestRoot::new();
    // one turn, of which the messages alone fill the window, and lose a part for being questions
    let replies = said("assistant", "Is the cold oven a cold oven?").repeat(40);
    memory.put("s/long.jsonl", said("user", "Why?") + &replies);
    let section =
        |number: usize| format!("# {number}\n\nAn oven{}.\n\n", " of brick".repeat(number));
    memory.put("ovens.md", (1..9).map(section).collect::<String>());
    let store = memory.open(false);
    for unit in [Unit::Turn, Unit::Message] {
        let query = "cold oven".to_owned();
        let request = SearchRequest { query, limit: 100, unit, ..SearchRequest::default() };
        let hits = store.search(&request, &|| false).unwrap().hits;
        let notes = hits.iter().filter(|hit| hit.passage().citation.starts_with("ovens"));
        let (mut found, mut explained) = (Vec::new(), Vec::new());
        for hit in notes {
            let of = store.explain("cold oven", &hit.passage().citation, unit, &|| false).unwrap();
            found.push((hit.score * 1e4).round());
            explained.push((of.score * 1e4).round());
        }
        assert_eq!(found, explained, "{unit:?}");
    }
}
