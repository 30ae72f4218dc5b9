//! Import tests of whole documents and exports: Gemini CLI, opencode, ChatGPT, SpecStory.

use commonplace_core::memory_limit::MemoryLimit;
use commonplace_core::messages::formats::{Imported, import};
use commonplace_core::messages::message::{Message, ParsedLine, parse};
use serde_json::json;

fn imported(text: &str) -> (Imported, Vec<Message>) {
    let mut lines = Vec::new();
    let mut take = |line: &[u8]| {
        match parse(line) {
            ParsedLine::Message(message) => lines.push(message),
            other => panic!("{other:?}"),
        }
        Ok(())
    };
    let limit = MemoryLimit::default();
    let outcome = import(text.as_bytes(), "m", &limit, &mut take, &mut |_| {}, &|| false).unwrap();
    (outcome, lines)
}

fn spoken(messages: &[Message]) -> Vec<(&str, &str, &str)> {
    messages.iter().map(|one| (&*one.role, &*one.text, &*one.tools)).collect()
}

#[test]
fn gemini() {
    let header =
        json!({ "sessionId": "S", "projectHash": "f0", "startTime": "2025-10-18T14:57:28Z" });
    let question = json!({ "id": "1", "timestamp": "2025-10-18T14:57:29Z", "type": "user",
        "content": [{ "text": "List the files" }] });
    let answer = json!({ "id": "2", "timestamp": "2025-10-18T14:57:30Z", "type": "gemini",
        "content": "Two files.", "model": "gemini-2.5-pro",
        "toolCalls": [{ "id": "c", "name": "list_directory", "args": { "path": "." } }] });
    let info =
        json!({ "id": "3", "timestamp": "2025-10-18T14:57:31Z", "type": "info", "content": "Bye" });
    let lines =
        format!("{header}\n{question}\n{answer}\n{info}\n{{\"$set\":{{\"summary\":\"Files\"}}}}\n");
    let mut document = header.clone();
    document["messages"] = json!([question, answer, info]);
    document["summary"] = json!("Files");
    for text in [lines, document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
        let (outcome, messages) = imported(&text);
        let tools = "c\nlist_directory\n.";
        let wanted = [("user", "List the files", ""), ("assistant", "Two files.", tools)];
        assert_eq!(spoken(&messages), wanted);
        assert!(messages.iter().all(|one| one.session.as_deref() == Some("S")));
        assert_eq!((outcome.format, outcome.skipped["info"]), ("gemini", 1));
        let session = outcome.session().unwrap();
        assert_eq!(session.started.as_deref(), Some("2025-10-18T14:57:28Z"));
        assert_eq!(session.model.as_deref(), Some("gemini-2.5-pro"));
        assert_eq!(session.title.as_deref(), Some("Files"));
    }
    // a line of it lies in a root as it is
    let ParsedLine::Message(message) = parse(question.to_string().as_bytes()) else { panic!() };
    assert_eq!((&*message.role, &*message.text), ("user", "List the files"));
}

#[test]
fn what_hooks_have_put_into_a_prompt_of_gemini_is_not_the_persons() {
    let injected = "<hook_context>&lt;memory&gt;\nEarlier.\n&lt;/memory&gt;</hook_context>";
    let prompt = json!({ "id": "1", "timestamp": "2026-11-22T20:39:15Z", "type": "user",
        "content": [{ "text": format!("{injected}\n\nWhich port?") }, { "text": injected }] });
    let ParsedLine::Message(message) = parse(prompt.to_string().as_bytes()) else { panic!() };
    assert_eq!(message.text, "Which port?");
    assert!(message.tools.contains("Earlier."));
    let setup = json!({ "id": "2", "timestamp": "2026-11-22T20:39:15Z", "type": "user",
        "content": [{ "text": "<session_context>\nToday is Sunday.\n</session_context>" }] });
    let ParsedLine::Message(message) = parse(setup.to_string().as_bytes()) else { panic!() };
    assert_eq!(message.text, "");
}

#[test]
fn opencode() {
    let session = json!({
        "info": { "id": "ses_1", "parentID": "ses_0", "directory": "/app", "title": "Login",
            "time": { "created": 1_767_225_600_000_u64 } },
        "messages": [
            { "info": { "id": "msg_1", "sessionID": "ses_1", "role": "user",
                "time": { "created": 1_767_225_600_001_u64 } },
              "parts": [{ "type": "text", "text": "Fix it" },
                        { "type": "text", "text": "read first", "synthetic": true }] },
            { "info": { "id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1",
                "modelID": "m-1", "time": { "created": 1_767_225_600_002_u64 } },
              "parts": [{ "type": "step-start" }, { "type": "reasoning", "text": "hm" },
                { "type": "tool", "tool": "bash", "state": { "status": "completed",
                    "input": { "command": "ls" }, "output": "a.rs" } },
                { "type": "text", "text": "Done." }] },
            { "info": { "id": "msg_3", "sessionID": "ses_1", "role": "assistant", "summary": true },
              "parts": [{ "type": "text", "text": "What happened so far" }] },
            { "info": { "id": "msg_4", "role": "assistant" }, "parts": [{ "type": "patch" }] },
        ],
    });
    for text in [session.to_string(), serde_json::to_string_pretty(&session).unwrap()] {
        let (outcome, messages) = imported(&text);
        let wanted = [
            ("user", "Fix it", "read first"),
            ("assistant", "Done.", "hm\nbash\nls\na.rs"),
            ("assistant", "", "What happened so far"),
        ];
        assert_eq!(spoken(&messages), wanted);
        assert_eq!(messages[0].timestamp_ms, Some(1_767_225_600_001));
        assert_eq!(messages[1].id.as_deref(), Some("msg_2"));
        assert_eq!((outcome.format, outcome.skipped["no text"]), ("opencode", 1));
        let header = outcome.session().unwrap();
        let words = [&header.id, &header.parent, &header.cwd, &header.title, &header.model];
        let wanted = ["ses_1", "ses_0", "/app", "Login", "m-1"].map(Some);
        assert_eq!(words.map(Option::as_deref), wanted);
    }
}

#[test]
fn chatgpt() {
    let node = |id: &str, parent: &str, children: &[&str], message: serde_json::Value| json!({ "id": id, "parent": parent, "children": children, "message": message });
    let text = |role: &str, text: &str| {
        json!({ "id": format!("m-{text}"), "author": { "role": role }, "create_time": 1_697_000_000.5,
            "content": { "content_type": "text", "parts": [text] }, "recipient": "all",
            "metadata": { "model_slug": "gpt-4o" } })
    };
    let mut call = text("assistant", "search(x)");
    call["recipient"] = json!("web");
    let mut hidden = text("user", "about me");
    hidden["metadata"]["is_visually_hidden_from_conversation"] = json!(true);
    let export = json!([{
        "conversation_id": "C", "title": "Birds", "create_time": 1_697_000_000.0,
        "current_node": "d",
        "mapping": {
            "d": node("d", "b", &[], text("assistant", "second")),
            "c": node("c", "b", &[], text("assistant", "first")),
            "b": node("b", "h", &["c", "t", "d"], text("user", "which birds?")),
            "t": node("t", "b", &["b"], call),
            "h": node("h", "root", &["b"], hidden),
            "root": node("root", "", &["h"], json!(null)),
        },
    }, { "id": "D", "mapping": { "a": node("a", "", &[], text("user", "hi")) } }]);
    for text in [export.to_string(), serde_json::to_string_pretty(&export).unwrap()] {
        let (outcome, messages) = imported(&text);
        let wanted = [
            ("user", "", "about me"),
            ("user", "which birds?", ""),
            ("assistant", "first", ""),
            ("assistant", "", "search(x)"),
        ];
        // a child that names its parent's parent again does not go round in a circle
        assert_eq!(spoken(&messages[..4]), wanted);
        assert_eq!(messages[1].timestamp_ms, Some(1_697_000_000_500));
        assert_eq!(outcome.format, "chatgpt");
        let titles: Vec<_> = outcome.sessions.iter().map(|one| one.title.as_deref()).collect();
        assert_eq!(titles, [Some("Birds"), Some("hi")]);
        assert_eq!(outcome.sessions[0].model.as_deref(), Some("gpt-4o"));
        assert_eq!(messages.last().unwrap().session.as_deref(), Some("D"));
    }
}

#[test]
fn specstory() {
    let text = "<!-- Generated by SpecStory, Markdown v2.1.0 -->

# 2026-07-13 13:40:49Z

<!-- Claude Code Session 5c7d5c23-0691 (2026-07-13 13:40:49Z) -->

_**User (2026-07-13 13:40:49Z)**_

fix the flaky test

---

_**Agent (claude-opus-4 2026-07-13 13:40:56Z)**_

<think><details><summary>Thought Process</summary>
hm
</details></think>

I'll look first.

<tool-use data-tool-type=\"shell\" data-tool-name=\"Bash\"><details>
<summary>Tool use: **Bash**</summary>

```text
_**User**_
</tool-use>
1 failed
```
</details></tool-use>

Done.

```bash
_**User**_
---
```

---

_**User**_

thanks
";
    let (outcome, messages) = imported(text);
    assert_eq!((outcome.format, messages.len()), ("specstory", 3));
    assert_eq!((&*messages[0].role, &*messages[0].text), ("user", "fix the flaky test"));
    assert_eq!(messages[0].timestamp_ms, Some(1_783_950_049_000));
    assert_eq!(messages[0].time.as_deref(), Some("2026-07-13T13:40:49Z"));
    assert_eq!(messages[1].text, "I'll look first.\nDone.\n\n```bash\n_**User**_\n---\n```");
    assert!(messages[1].tools.contains("hm\n") && messages[1].tools.contains("1 failed"));
    assert_eq!(messages[2].text, "thanks");
    assert!(messages.iter().all(|one| one.session.as_deref() == Some("5c7d5c23-0691")));
    let header = outcome.session().unwrap();
    assert_eq!(header.model.as_deref(), Some("claude-opus-4"));
    assert_eq!(header.started.as_deref(), Some("2026-07-13 13:40:49Z"));
    // a time is no title: that is then the first prompt
    assert_eq!(header.title.as_deref(), Some("fix the flaky test"));

    let old = "<!-- Generated by SpecStory -->\n\n# Avatars (2025-10-01 23:30Z)\n\n_**User**_\n\nthey \
               do not fly\n\n---\n\n_**Assistant (claude-4.5)**_\n\nI look.\n\n---\n\nTool use: \
               **grep**\n\n- a\n\n---\n\nFound it.\n\n---\n";
    let (outcome, messages) = imported(old);
    let header = outcome.session().unwrap();
    assert_eq!(header.title.as_deref(), Some("Avatars"));
    assert_eq!(header.started.as_deref(), Some("2025-10-01 23:30Z"));
    let wanted = ("assistant", "I look.\nFound it.", "Tool use: **grep**\n\n- a\n\n---");
    assert_eq!(spoken(&messages), [("user", "they do not fly", ""), wanted]);
}

#[test]
fn a_message_of_claude_ai_whose_text_stands_in_its_blocks_and_attachments() {
    let notice = "```\nThis block is not supported on your current device yet.\n```";
    let block = |text: &str| json!({ "type": "text", "text": text, "citations": [] });
    let tool = json!({ "type": "tool_use", "name": "web_search", "input": { "query": "NIF" } });
    let paste = json!({ "file_name": "paste.txt", "extracted_content": "A long letter." });
    let export = json!([{ "uuid": "c", "name": "Porto", "chat_messages": [
        { "uuid": "1", "sender": "human", "text": "Read it", "content": [block("Read it")],
          "attachments": [paste] },
        { "uuid": "2", "sender": "assistant", "text": "", "content": [block("A passport.")],
          "attachments": [] },
        { "uuid": "3", "sender": "assistant", "text": format!("{notice}\nNo fee."),
          "content": [tool, block("No fee.")] },
        { "uuid": "4", "sender": "human", "text": "Thanks", "content": [block("Thanks")] },
        { "uuid": "5", "sender": "human", "text": "", "content": [] },
        { "uuid": "6", "sender": "assistant", "text": null, "content": [block("You too.")] },
    ] }]);
    let (outcome, messages) = imported(&export.to_string());
    assert_eq!(outcome.format, "claude-ai");
    assert_eq!(
        spoken(&messages),
        [
            ("user", "Read it", "paste.txt\nA long letter."),
            ("assistant", "A passport.", ""),
            ("assistant", "No fee.", "web_search\nNIF"),
            ("user", "Thanks", ""),
            ("user", "", ""),
            ("assistant", "You too.", ""),
        ]
    );
}
