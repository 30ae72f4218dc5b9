//! Redaction tests: which bytes of a line are replaced, which are kept, and hostile input.

#![allow(missing_docs)]

mod fixture;

use std::fs;
use std::path::Path;
use std::time::Instant;

use commonplace_core::error::Error;
use commonplace_core::messages::redaction::{
    Redactions, count_placeholders, differs_only_by_redaction, redact_line, redact_value,
};
use commonplace_core::store::import::ImportOptions;
use fixture::TestRoot;
use proptest::prelude::*;
use serde_json::{Value, json};

fn redact(line: &[u8]) -> (Vec<u8>, Redactions) {
    let mut counts = Redactions::new();
    let done = redact_line(line, &mut counts, &|| false).unwrap();
    (done.unwrap_or_else(|| line.to_vec()), counts)
}

/// Of the right form; in parts, so that no scanner takes this file for a leak.
fn github_token() -> String {
    ["gh", "p_", "q7Rt2Lm9Xz4Vb6Nc8Kd1Wf3Hs5Jg0PaYeUiO"].concat()
}

fn aws_key() -> String {
    ["AK", "IA", "Q3ZT5WNB7XKD2LVR"].concat()
}

/// `count` lines of base64 between the lines of a private key.
fn private_key(count: usize) -> String {
    let line = "q7Rt2Lm9Xz4Vb6Nc8Kd1Wf3Hs5Jg0PaYeUiOq7Rt2Lm9Xz4Vb6Nc8Kd1Wf3Hs5Jg0";
    let lines: Vec<String> = (0..count).map(|n| format!("{n:02}{line}")).collect();
    let dashes = "-----";
    let (begin, end) = ("BEGIN RSA PRIVATE", "END RSA PRIVATE");
    format!("{dashes}{begin} KEY{dashes}\n{}\n{dashes}{end} KEY{dashes}", lines.join("\n"))
}

#[test]
fn only_the_secret_changes() {
    let token = github_token();
    for (before, after) in [
        (
            format!("{{ \"content\" :\"a \\u00e9 {token}.\\n\",\"n\": 1.0e5 }}\n"),
            "{ \"content\" :\"a \\u00e9 [redacted: GitHub token].\\n\",\"n\": 1.0e5 }\n",
        ),
        (
            format!("{{\"content\":[\"{token}\",{{\"{token}\":[]}}]}}"),
            "{\"content\":[\"[redacted: GitHub token]\",{\"[redacted: GitHub token]\":[]}]}",
        ),
        (
            "{\"input\":{\"password\":\"Tr0ub4dor&3\",\"user\":\"bob\"}}".to_owned(),
            "{\"input\":{\"password\":\"[redacted: password]\",\"user\":\"bob\"}}",
        ),
        (
            format!("{{\"a\":\"{}\"}}", token.replace('_', "\\u005f").replacen('g', "\\u0067", 1)),
            "{\"a\":\"[redacted: GitHub token]\"}",
        ),
        (format!("{{\"a\":{}}}", json!(private_key(9))), "{\"a\":\"[redacted: private key]\"}"),
        (
            format!(
                "{{\"a\":{}}}",
                json!(format!("x\n{}", private_key(20).split_once("\n-----END").unwrap().0))
            ),
            "{\"a\":\"x\\n[redacted: private key]\"}",
        ),
        (
            format!("{{\"a\":\"token={token}&x=1\"}}"),
            "{\"a\":\"token=[redacted: GitHub token]&x=1\"}",
        ),
    ] {
        let (done, counts) = redact(before.as_bytes());
        assert_eq!(String::from_utf8(done).unwrap(), after);
        assert!(counts.values().sum::<u64>() >= 1);
    }
}

#[test]
fn a_numbered_and_an_escaped_private_key_are_one_placeholder() {
    let numbered: Vec<String> = private_key(6)
        .lines()
        .enumerate()
        .map(|(n, line)| format!("{:>6}→{line}", n + 1))
        .collect();
    for text in [numbered.join("\n"), json!({ "key": private_key(6) }).to_string()] {
        let line = json!({ "content": text }).to_string();
        let (done, counts) = redact(line.as_bytes());
        assert_eq!(counts["private key"], 1, "{}", String::from_utf8_lossy(&done));
        assert_eq!(counts.len(), 1);
        assert!(!String::from_utf8_lossy(&done).contains("q7Rt2Lm9"));
    }
}

#[test]
fn placeholders_are_counted_and_make_no_difference() {
    let whole = format!("{{\"content\":\"a {} b {} c\"}}", github_token(), aws_key());
    let (done, counts) = redact(whole.as_bytes());
    let mut counted = Redactions::new();
    count_placeholders(&done, &mut counted);
    assert_eq!(counted, counts);
    assert!(differs_only_by_redaction(&done, whole.as_bytes()));
    assert!(differs_only_by_redaction(whole.as_bytes(), &done));
    let other = whole.replace(" b ", " d ");
    assert!(!differs_only_by_redaction(&done, other.as_bytes()));
    assert!(!differs_only_by_redaction(b"{}", b"{ }"));
}

/// Texts in which secrets, their parts and what looks like them meet.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just(github_token()),
        Just(aws_key()),
        Just(private_key(3)),
        Just("password=".to_owned()),
        Just("\"token\": \"".to_owned()),
        Just("postgres://u:s3cr3tPw@h/".to_owned()),
        Just("[redacted: token]".to_owned()),
        Just("Bearer ".to_owned()),
        Just("eyJh".to_owned()),
        "[ -~]{0,12}",
        "[\"\\\\\n\t/é中😀]{0,4}",
        "[A-Za-z0-9]{8,40}",
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

/// The parts of `before` that stand around the placeholders of `after`, in the same order.
fn is_kept(after: &str, before: &str) -> bool {
    after == before || differs_only_by_redaction(after.as_bytes(), before.as_bytes())
}

proptest! {
    #[test]
    fn lines_stay_json_and_only_lose_secrets(texts in prop::collection::vec(texts(), 1..4), key in texts()) {
        let line = json!({ "role": "user", "content": texts, "input": { key: texts[0].clone() } }).to_string();
        let (done, counts) = redact(line.as_bytes());
        let text = String::from_utf8(done.clone()).unwrap();
        prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        prop_assert!(is_kept(&text, &line), "{line} -> {text}");
        prop_assert_eq!(counts.is_empty(), text == line);
        let (again, more) = redact(&done);
        prop_assert_eq!(String::from_utf8(again).unwrap(), text);
        prop_assert!(more.is_empty());
    }

    #[test]
    fn any_bytes_are_harmless(line: Vec<u8>) {
        let _ = redact(&line);
    }
}

#[test]
fn hostile_lines_take_linear_time_and_can_be_interrupted() {
    let pieces = [
        "eyJh.",
        "eyJhA-",
        "-eyJhbGciOiJIUzI1NiJ9",
        "a://a:",
        "password=",
        "\\u0067",
        "-----BEGIN PRIVATE KEY-----",
        "ghp_a\\n",
        "ghp_q7Rt2Lm9Xz4Vb6Nc8\\n",
        "Bearer ",
        "curl -u ",
        "curl -u a:",
        "mysql -u a -p",
        "mysql -u -p1",
        "sshpass -p ",
        "pass: ",
        "token=\\\"",
        "\\\\\\\\",
        "ya29.",
        "xoxb-1-",
        "authorization: ",
        ":AA",
        "api_key: \\\"a",
        "password is ",
        "A1b2C3d4E5",
        "glpat-a.",
        "glpat-a-",
    ];
    let size = if cfg!(debug_assertions) { 8_000 } else { 5_000_000 };
    let line = |piece: &str, size: usize| {
        format!("{{\"content\":\"{}\"}}", piece.repeat(size / piece.len()))
    };
    let time = |line: &str| {
        let start = Instant::now();
        let _ = redact(line.as_bytes());
        start.elapsed()
    };
    for piece in pieces {
        let (once, twice) = (line(piece, size), line(piece, 2 * size));
        // quadratic time would take four times as long; others use the processor too, so that one
        // pair of many does
        let is_linear = (0..20).any(|_| time(&twice) < time(&once) * 3);
        assert!(is_linear, "{piece}");
    }
    let line = format!("{{\"content\":\"{}\"}}", "password=x ".repeat(1 << 20));
    let stopped = redact_line(line.as_bytes(), &mut Redactions::new(), &|| true);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

/// Everything below a folder, with what it holds.
fn bytes_below(folder: &Path, all: &mut Vec<u8>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => bytes_below(&path, all),
            false => all.extend(fs::read(path).unwrap_or_default()),
        }
    }
}

#[test]
fn an_import_leaves_no_secret_on_the_disk() {
    let secrets = [github_token(), aws_key(), "Tr0ub4dor&3".to_owned(), "s3cr3tPw".to_owned()];
    let rows = [
        json!({ "role": "user", "content": format!("use {} please", secrets[0]) }),
        json!({ "role": "assistant", "content": [{ "type": "tool_use", "name": "Bash", "input": { "command": format!("export K={}", secrets[1]) } }] }),
        json!({ "role": "user", "content": [{ "type": "tool_result", "content": format!("password: \"{}\"", secrets[2]) }] }),
        json!({ "role": "assistant", "content": format!("postgres://app:{}@db/x", secrets[3]) }),
    ];
    let source: String = rows.iter().map(|row| format!("{row}\n")).collect();
    for keep_secrets in [false, true] {
        let memory = TestRoot::new();
        let from = memory.outside().join("source.jsonl");
        fs::write(&from, &source).unwrap();
        let import = |options| {
            let store = memory.open(false);
            let (_, done) = store
                .import_transcript(&from, "in/messages.jsonl", options, &mut |_| {}, &|| false)
                .unwrap();
            assert!(!fixture::ask(&store, "please").hits.is_empty());
            (done, store.status(&|| false).unwrap().redactions)
        };
        let (done, logged) = import(ImportOptions { keep_secrets });
        assert_eq!(done.redacted.values().sum::<u64>(), if keep_secrets { 0 } else { 4 });
        assert_eq!(done.redacted, logged);
        let mut all = Vec::new();
        bytes_below(&memory.root(), &mut all);
        for secret in &secrets {
            let there = memchr::memmem::find(&all, secret.as_bytes()).is_some();
            assert_eq!(there, keep_secrets, "{secret}");
        }
        // the same messages, whichever way they are imported now
        for keep_secrets in [false, true] {
            let (again, sum) = import(ImportOptions { keep_secrets });
            assert_eq!((again.messages, again.skipped["already there"]), (0, 4));
            assert_eq!(sum, logged);
        }
        fs::remove_file(memory.at("in/messages.jsonl")).unwrap();
        assert!(memory.open(false).status(&|| false).unwrap().redactions.is_empty());
    }
}

#[test]
fn what_names_or_computes_a_value_stays() {
    for text in [
        "[ \"$PWD\" = \"`+expected1+`\" ]",
        "\"POSTGRES_PASSWORD=\"+postgresPass1,\n\t\t\"-e\"",
        "password: urn:k8s:secret:redis2:password",
        "OLDPWD=/srv/app1 PWD=build2",
        "ftp://user:invalid@host/",
        "arn:aws:secretsmanager:us-west-2:123456789012:secret:Billing-a1b2c3",
        "\"parse-passwd\": \"^1.0.0\"",
        "\"passwd\": `root:x:0:0::/bin:/bin/false`",
        "{\"Password\": \"webdavgeneratedpassword1\", \"secret\": \"1a2b3c4d-5e6f-7g8h-9i0j-k1l2m3n4o5p6\"}",
        "aws list --starting-token eyJOZXh0VG9rZW4iOiBudWxsLCAiYm90b19",
        "\"ClientToken\": \"c9adb218-3222-4889-8216-0cf0e52dc37e:\"",
        "if (!pem.startsWith('-----BEGIN PRIVATE KEY-----')) { return 'MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQ'; }",
        "\"PolicyUpdateToken\": \"1:p+2RpKR4wPFx7mcrL1UOQQ==\"",
    ] {
        let line = json!({ "content": text }).to_string();
        assert_eq!(String::from_utf8(redact(line.as_bytes()).0).unwrap(), line);
    }
    let line = json!({ "content": "DB_PWD=Tr0ub4dor3 x" }).to_string();
    assert!(redact(line.as_bytes()).1.contains_key("password"));
}

#[test]
fn a_title_never_has_a_secret_nor_a_part_of_one() {
    let long = format!("{} {} and more", "x".repeat(80), github_token());
    for (said, title) in [
        (
            format!("deploy with {}", github_token()),
            "deploy with [redacted: GitHub token]".to_owned(),
        ),
        (long, format!("{} [redacted: GitHub…", "x".repeat(80))),
    ] {
        let memory = TestRoot::new();
        let from = memory.outside().join("source.jsonl");
        fs::write(&from, format!("{}\n", json!({ "role": "user", "content": said }))).unwrap();
        for keep_secrets in [false, true] {
            let store = memory.open(false);
            let options = ImportOptions { keep_secrets };
            let path = format!("{keep_secrets}/messages.jsonl");
            let (_, done) =
                store.import_transcript(&from, &path, options, &mut |_| {}, &|| false).unwrap();
            assert_eq!(done.session().unwrap().title.as_deref(), Some(&*title));
        }
    }
    let (summary, said) =
        (format!("Use {}", aws_key()), json!({ "role": "user", "content": "hi" }));
    let source = format!(
        "{}\n{}\n",
        json!({ "type": "user", "uuid": "u1", "sessionId": "s", "message": said, "timestamp": "2026-01-01T00:00:00Z" }),
        json!({ "type": "summary", "summary": summary, "leafUuid": "u1" }),
    );
    let memory = TestRoot::new();
    let from = memory.outside().join("source.jsonl");
    fs::write(&from, source).unwrap();
    let (_, done) = memory
        .open(false)
        .import_transcript(
            &from,
            "s/messages.jsonl",
            ImportOptions::default(),
            &mut |_| {},
            &|| false,
        )
        .unwrap();
    let title = done.session().unwrap().title.as_deref();
    assert_eq!(title, Some("Use [redacted: AWS access key]"));
}

#[test]
fn an_import_that_ends_early_counts_what_it_wrote() {
    let memory = TestRoot::new();
    let from = memory.outside().join("source.jsonl");
    let row = |n: usize| {
        let (token, rest) = (github_token(), "x".repeat(1 << 20));
        format!("{}\n", json!({ "role": "user", "content": format!("{n} {token} {rest}") }))
    };
    fs::write(&from, (0..10).map(row).collect::<String>()).unwrap();
    let import = |interrupt: &(dyn Fn() -> bool + Sync)| {
        let store = memory.open(false);
        let path = "s/messages.jsonl";
        let done =
            store.import_transcript(&from, path, ImportOptions::default(), &mut |_| {}, interrupt);
        let lines = fs::read_to_string(memory.at(path)).unwrap().lines().count() as u64;
        let counted = store.status(&|| false).unwrap().redactions["GitHub token"];
        assert_eq!(counted, lines);
        (done, lines)
    };
    let (done, lines) = import(&|| memory.at("s/messages.jsonl").exists());
    assert!(matches!(done, Err(Error::Interrupted)) && lines > 0 && lines < 10, "{lines}");
    // as if it had been killed behind the log and before the append
    let log = memory.at(".commonplace/redactions.jsonl");
    let size = fs::metadata(memory.at("s/messages.jsonl")).unwrap().len();
    let ahead =
        json!({ "path": "s/messages.jsonl", "start": size, "redacted": { "GitHub token": 5 } });
    fs::write(&log, format!("{}\n{ahead}\n", fs::read_to_string(&log).unwrap())).unwrap();
    assert_eq!(memory.open(false).status(&|| false).unwrap().redactions["GitHub token"], lines);
    assert_eq!(import(&|| false).1, 10);
}

fn redact_plain(text: &str, name: Option<&str>, known: &str) -> (String, Redactions) {
    let done = redact_value(text, name, known, &|| false).unwrap();
    done.unwrap_or_else(|| (text.to_owned(), Redactions::new()))
}

#[test]
fn a_password_in_chinese_goes() {
    for (before, after) in [
        ("密码是q7Rt2Lm9x。", "密码是[redacted: password]。"),
        ("数据库的密码是 q7Rt2Lm9x，请记住", "数据库的密码是 [redacted: password]，请记住"),
        ("密码：q7Rt2Lm9x", "密码：[redacted: password]"),
        ("密码:q7Rt2Lm9x", "密码:[redacted: password]"),
        ("口令为：“q7Rt2Lm9x”。", "口令为：“[redacted: password]”。"),
        ("wifi password是q7Rt2Lm9x！", "wifi password是[redacted: password]！"),
        ("密码改成了q7Rt2Lm9x", "密码改成了[redacted: password]"),
        ("password=q7Rt2Lm9x，用户 bob", "password=[redacted: password]，用户 bob"),
    ] {
        assert_eq!(redact_plain(before, None, "").0, after);
        let line = json!({ "content": before }).to_string();
        let done = redact(line.as_bytes()).0;
        assert_eq!(serde_json::from_slice::<Value>(&done).unwrap(), json!({ "content": after }));
        // as a program writes it that leaves nothing but ASCII
        let escaped: String = line
            .chars()
            .map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", c as u32) })
            .collect();
        let done = redact(escaped.as_bytes()).0;
        assert_eq!(serde_json::from_slice::<Value>(&done).unwrap(), json!({ "content": after }));
    }
    for kept in [
        "密码是什么？",
        "密码是必填项",
        "请把密码改成更长的",
        "密码为空",
        "忘记密码：点击 https://example.com/reset",
        "密码：******",
        "密码是 your-password",
        "令牌是短期的",
    ] {
        assert_eq!(redact_plain(kept, None, ""), (kept.to_owned(), Redactions::new()));
    }
}

#[test]
fn a_password_in_other_languages_goes() {
    for before in [
        "Das Passwort lautet q7Rt2Lm9x.",
        "Passwort: q7Rt2Lm9x",
        "La contraseña es q7Rt2Lm9x",
        "contraseña: q7Rt2Lm9x",
        "Mot de passe : q7Rt2Lm9x",
        "le mot de passe est q7Rt2Lm9x",
        "a senha é q7Rt2Lm9x",
        "Пароль: q7Rt2Lm9x",
        "пароль — это q7Rt2Lm9x или пароль это q7Rt2Lm9x",
        "Şifre: q7Rt2Lm9x",
        "parola: q7Rt2Lm9x",
        "パスワードは q7Rt2Lm9x です",
        "パスワード：q7Rt2Lm9x",
        "비밀번호는 q7Rt2Lm9x",
    ] {
        let kept = redact_plain(before, None, "").0;
        assert!(kept.contains("[redacted: password]"), "{kept}");
        let escaped: String = json!({ "content": before })
            .to_string()
            .chars()
            .map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", c as u32) })
            .collect();
        let done = redact(escaped.as_bytes()).0;
        assert_eq!(serde_json::from_slice::<Value>(&done).unwrap(), json!({ "content": kept }));
    }
    for kept in [
        "Das Passwort ist falsch.",
        "La contraseña es obligatoria",
        "le mot de passe est requis",
        "пароль это секрет",
        "パスワードは8文字以上",
        "비밀번호는 필수입니다",
        "Passwortlänge: 12 Zeichen",
    ] {
        assert_eq!(redact_plain(kept, None, "").0, kept);
    }
}

#[test]
fn a_password_under_a_short_name_goes() {
    for before in [
        "DB_PASS=kettle42x",
        "export SMTP_PASS='q7Rt2Lm9x'",
        "$db_pass = \"q7Rt2Lm9x\";",
        "auth: { 'user': 'bob', 'pass': 'q7Rt2Lm9x' }",
        "{\"user\": \"bob\", \"pass\": \"q7Rt2Lm9x\"}",
        "the password is set to q7Rt2Lm9x",
        "the wifi password is now q7Rt2Lm9x",
    ] {
        let after = redact_plain(before, None, "").0;
        assert!(after.contains("[redacted: password]"), "{after}");
        let line = json!({ "content": before }).to_string();
        let done = redact(line.as_bytes()).0;
        assert_eq!(serde_json::from_slice::<Value>(&done).unwrap(), json!({ "content": after }));
    }
    for kept in [
        "--- PASS: TestBranch2 (0.00s)",
        "first_pass = run_pass2(tree)",
        "render_pass: RenderPass2,",
        "test_pass: 12 of 14",
        "'passed': 'v1.2.3-rc4', \"passes\": \"2nd_round\"",
        "{\"pass\": true, \"pass\": \"yes\", \"pass\": \"1\"}",
        "the password is set to expire",
        "MAX_PASS=100",
    ] {
        assert_eq!(redact_plain(kept, None, "").0, kept);
    }
}

#[test]
fn the_value_of_a_name_goes() {
    for name in ["password", "db_password", "wifi password", "DB_PASSWORD", "PG_PWD"] {
        let (text, counts) = redact_plain("q7Rt2Lm9x", Some(name), "");
        assert_eq!((&*text, &counts["password"]), ("[redacted: password]", &1), "{name}");
    }
    for name in ["user", "password hint", "forgot password", "title"] {
        assert_eq!(redact_plain("q7Rt2Lm9x", Some(name), "").0, "q7Rt2Lm9x", "{name}");
    }
}

#[test]
fn passwords_that_a_command_line_gives_a_client_go() {
    for (text, kind) in [
        ("mysql -u root -phunter2 shop", "MySQL"),
        ("mysqldump --user=shop -p'S3cret!x' shop > a.sql", "MySQL"),
        ("mariadb -h db -p9Zebra! shop", "MySQL"),
        ("mysql -pS3cret!x -u root", "MySQL"),
        ("mysqldump -p'S3cret!x' --host db shop", "MySQL"),
        ("sshpass -p raspberry! ssh pi@10.0.0.7", "sshpass"),
        ("sshpass -p'hunter2' scp a b:", "sshpass"),
        ("curl -u me:hunter2 https://ci.acme.dev", "curl"),
        ("curl -sSLu me:hunter2 https://ci.acme.dev", "curl"),
        ("curl --proxy-user me:hunter2 https://ci.acme.dev", "curl"),
        ("redis-cli -h cache -a hunter2 ping", "Redis"),
        ("mongosh --host db -u app -p hunter2", "MongoDB"),
        ("docker login -u me -p hunter2 reg.acme.dev", "a registry"),
        ("ldapsearch -x -D cn=me -w hunter2", "LDAP"),
    ] {
        let (done, counts) = redact_plain(text, None, "");
        assert_eq!(counts, Redactions::from([(format!("password of {kind}"), 1)]), "{done}");
        let left = ["hunter2", "S3cret", "Zebra", "raspberry"].iter().any(|it| done.contains(it));
        assert!(!left && done.starts_with(&text[..6]), "{done}");
    }
    for kept in [
        "mysql -u root -p shop",
        "mysql -u root -p$MYSQL_PASSWORD shop",
        "mysql -u root -p\"$DB_PASS\" shop",
        "mysql -uroot -p<password> shop",
        "mysql -uroot -ppassword shop",
        "mysql -h db -P3306 shop",
        "docker run --name mysql -p3306:3306 mysql",
        "docker run -h db --name mysql -p 127.0.0.1:3306:3306 mysql:8",
        "find /var/lib/mysql -print0",
        "find /var/lib/mysql -print0 | xargs -0 du -h",
        "sshpass -p password ssh me@host",
        "sshpass -p \"$PW\" ssh me@host",
        "sshpass -e ssh me@host",
        "curl -u user:pass https://example.com",
        "curl -u me:$TOKEN https://acme.dev",
        "curl -sku https://acme.dev/a",
        "redis-cli -a $REDIS_PASS ping",
        "docker run -p 8080:80 nginx",
        "docker login -u me --password-stdin",
        "mkdir -p src2/b && cp -p a1 b",
    ] {
        assert_eq!(redact_plain(kept, None, "").0, kept);
    }
}

#[test]
fn a_bare_pass_is_a_name_where_a_list_has_it() {
    for text in [
        "pass: hunter2",
        "user: bob\npass: hunter2",
        "- user: bob\n- Pass: hunter2\nhost: db",
        "user: bob, pass: hunter2",
        "login bob / pass: \"hunter2\"",
    ] {
        let (done, counts) = redact_plain(text, None, "");
        assert_eq!(counts, Redactions::from([("password".to_owned(), 1)]), "{done}");
        assert!(!done.contains("hunter2"), "{done}");
    }
    for kept in [
        "PASS: test_login2",
        "--- PASS: TestLogin2 (0.00s)",
        "second pass: sha2tree",
        "bypass: hunter2",
        "pass: 99.85%",
        "pass: 12",
        "pass: true",
        "pass: $PASS1",
        "pass: user.pass1",
        "pass: 12 tests2",
        "pass: <your-password-1>",
    ] {
        assert_eq!(redact_plain(kept, None, "").0, kept);
    }
}

#[test]
fn a_known_secret_stays() {
    let text = format!("password=q7Rt2Lm9x\n{}\n", github_token());
    let (done, counts) = redact_plain(&text, None, "it was q7Rt2Lm9x");
    assert_eq!(done, "password=q7Rt2Lm9x\n[redacted: GitHub token]\n");
    assert_eq!(counts, Redactions::from([("GitHub token".to_owned(), 1)]));
}

proptest! {
    #[test]
    fn a_text_is_redacted_as_in_a_line(parts in prop::collection::vec(prop::sample::select(vec![
        "password", "密码", "是", "：", ": ", "=", "q7Rt2Lm9x", "https://bob:q7Rt2Lm9x@db", "\"", "\\", "\n",
        " ", "é", "api_key", "q7Rt2Lm9Xz4Vb6Nc8", "“", "”", "，",
    ]), 0..12)) {
        let text = parts.concat();
        let line = json!({ "content": text }).to_string();
        let (done, counts) = redact(line.as_bytes());
        let wanted = serde_json::from_slice::<Value>(&done).unwrap()["content"].clone();
        prop_assert_eq!((Value::from(redact_plain(&text, None, "").0), redact_plain(&text, None, "").1), (wanted, counts));
    }
}
