//! Redaction of passwords however a text is spelled, printed and escaped.

#![allow(missing_docs)]

use commonplace_core::messages::redaction::{Redactions, redact_line, redact_text};
use serde_json::{Value, json};

#[test]
fn capitals_and_quotation_marks_of_print_hide_no_password() {
    for before in [
        "Contraseña: q7Rt2Lm9x",
        "CONTRASEÑA: q7Rt2Lm9x",
        "Mot de Passe : q7Rt2Lm9x",
        "ПАРОЛЬ: q7Rt2Lm9x",
        "ŞİFRE: q7Rt2Lm9x",
        "密碼：q7Rt2Lm9x",
        "密碼改為「q7Rt2Lm9x」",
        "密码改成：“q7Rt2Lm9x”",
        "密码：「q7Rt2Lm9x」",
        "the password is “q7Rt2Lm9x”",
        "Passwort: „q7Rt2Lm9x“",
        "le mot de passe est « q7Rt2Lm9x »",
        "le mot de passe est «\u{a0}q7Rt2Lm9x\u{a0}»",
    ] {
        // the end of a value is found however much stands behind it
        let before = &*format!("{before}\n{}", "and so on ".repeat(99));
        let kept = redact_text(before);
        assert!(kept.contains("[redacted: password]") && !kept.contains("q7Rt2Lm9x"), "{kept}");
        let escaped: String = json!({ "content": before })
            .to_string()
            .chars()
            .map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", c as u32) })
            .collect();
        let mut counts = Redactions::new();
        let done = redact_line(escaped.as_bytes(), &mut counts, &|| false).unwrap().unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&done).unwrap(), json!({ "content": kept }));
    }
    let kept = "The “password” is “required” here, and password: “optional” there.";
    assert_eq!(redact_text(kept), kept);
}
