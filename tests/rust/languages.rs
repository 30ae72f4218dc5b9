//! Search in many languages: inflected queries, folded spellings, and memories that mix them.

#![allow(missing_docs)]

mod fixture;

use commonplace_core::store::Store;
use commonplace_core::text::folding::fold;
use commonplace_core::text::language::readings::{self, LanguageId};
use commonplace_core::text::language::stems::stem;
use commonplace_core::text::query_terms::query_terms;
use fixture::{TestRoot, ask, paths};
use proptest::prelude::*;

const NOTES: [(&str, &str); 14] = [
    ("ar.md", "تقع الجامعات الكبيرة في المدينة القديمة، وقد أُسِّست قبل قرون.\n"),
    ("de.md", "Die Häuser der Stadt sind nicht groß, und die Verwaltung ist klein.\n"),
    ("el.md", "Οι φοιτητές του πανεπιστημίου μένουν στην πόλη.\n"),
    ("en.md", "The universities of the city are running a museum in Paris.\n"),
    ("es.md", "Las publicaciones de la universidad no están en los archivos.\n"),
    ("fr.md", "L’hôpital de la ville est dans les rues qui sont près du château.\n"),
    ("hi.md", "लड़कियों ने विश्वविद्यालय की किताबें पढ़ीं।\n"),
    ("ja.md", "東京大学の図書館で新しい本とパリのコンピュータを借りました。\n"),
    ("ro.md", "Orașele din această regiune au fost întemeiate de către coloniști.\n"),
    ("ru.md", "Новые здания университета построили в городах ещё в прошлом веке.\n"),
    ("th.md", "นักเรียนอ่านหนังสือในห้องสมุด\n"),
    ("tr.md", "Öğrenciler İstanbul'daki üniversitenin kütüphanelerinde ve evlerinde çalışıyor.\n"),
    ("vi.md", "Bạn của tôi không có nhà ở thành phố này.\n"),
    ("zh.md", "圖書館在大學裡面，學生們都在那裡讀書。\n"),
];

fn world() -> (TestRoot, Store) {
    let memory = TestRoot::new();
    for (path, text) in NOTES {
        memory.put(path, text);
    }
    let store = memory.open(false);
    (memory, store)
}

#[test]
fn an_inflected_query_finds_the_inflected_text() {
    let (_memory, store) = world();
    for (query, path) in [
        ("جامعة", "ar.md"),
        ("اسست", "ar.md"),
        ("مدن", "ar.md"),
        ("Haus", "de.md"),
        ("GROSS", "de.md"),
        ("verwalten", "de.md"),
        ("φοιτητής", "el.md"),
        ("ΠΟΛΗ", "el.md"),
        ("museums", "en.md"),
        ("publicación", "es.md"),
        ("hôpitaux", "fr.md"),
        ("hopital", "fr.md"),
        ("लड़की", "hi.md"),
        ("図書館はどこですか", "ja.md"),
        ("コンピューター", "ja.md"),
        ("ﾊﾟﾘ", "ja.md"),
        ("oraş", "ro.md"),
        ("здание", "ru.md"),
        ("город", "ru.md"),
        ("еще в век", "ru.md"),
        ("หนังสือ", "th.md"),
        ("öğrencilerden", "tr.md"),
        ("istanbul", "tr.md"),
        ("ev", "tr.md"),
        ("bạn", "vi.md"),
        ("ban", "vi.md"),
        ("為什麼圖書館", "zh.md"),
        ("学生们在图书馆", "zh.md"),
    ] {
        assert_eq!(ask(&store, query).hits.first().map(|hit| &*hit.path), Some(path), "{query}");
    }
}

#[test]
fn words_are_highlighted_as_their_text_is_read() {
    let (memory, store) = world();
    // which has the stem of "Haus" in German, but not in English
    memory.put("plain.md", "At the bar in Hausen we had a Haus beer.\n");
    let shown = |query: &str, path: &str| -> Vec<String> {
        let answer = ask(&store, query);
        let hit = answer.hits.iter().find(|hit| hit.path == path).unwrap();
        let passage = hit.passage();
        let chars: Vec<char> = passage.snippet.chars().collect();
        let cut = |&(start, end): &(usize, usize)| chars[start..end].iter().collect();
        passage.highlights.iter().map(cut).collect()
    };
    assert_eq!(shown("Haus", "de.md"), ["Häuser"]);
    assert_eq!(shown("hôpitaux", "fr.md"), ["L’hôpital"]);
    assert_eq!(shown("öğrencilerden", "tr.md"), ["Öğrenciler"]);
    assert_eq!(shown("Häuser Haus", "plain.md"), ["Haus"]);
    assert_eq!(shown("universities", "en.md"), ["universities"]);
}

#[test]
fn what_is_read_in_a_language_is_found_by_every_operator() {
    let (_memory, store) = world();
    for (query, path) in [
        ("\"die Häuser der Stadt\"", "de.md"),
        ("\"die hauser der stadt\"", "de.md"),
        ("\"las publicaciones\"", "es.md"),
        ("hause*", "de.md"),
        ("publicaciomes~1", "es.md"),
        ("body:stadt", "de.md"),
        ("kütüphane*", "tr.md"),
        ("\"thành phố này\"", "vi.md"),
    ] {
        assert_eq!(paths(&store, query), [path], "{query}");
    }
    assert!(paths(&store, "stadt -häuser").is_empty());
}

#[test]
fn syllables_that_follow_each_other_count_more_than_the_same_apart() {
    let memory = TestRoot::new();
    memory.put("apart.md", "Những kiện hàng này ở trong kho, và điều đó là của chúng tôi.\n");
    memory.put("together.md", "Điều kiện của chúng tôi là hàng này ở trong kho, và những đó.\n");
    let store = memory.open(false);
    for query in ["điều kiện", "Điều kiện là gì?", "có những điều kiện nào"] {
        assert_eq!(ask(&store, query).hits[0].path, "together.md", "{query}");
    }
    assert_eq!(ask(&store, "hàng điều").hits.len(), 2);
    let stop_words_alone = ask(&store, "và của");
    assert_eq!(stop_words_alone.hits.len(), 2);
}

#[test]
fn a_query_has_pairs_of_syllables_within_its_parts() {
    let languages: Vec<LanguageId> = LanguageId::all().filter(|one| one.code() == "vi").collect();
    let terms = |texts: &[(&str, f32)]| -> Vec<(String, f32)> {
        let terms = query_terms(texts, &languages, |_| None);
        terms.into_iter().map(|term| (term.text, term.times)).collect()
    };
    let found = terms(&[("điều", 1.0), ("kiện,", 1.0), ("nhà", 1.0), ("nhà", 0.5), ("kiện", 0.5)]);
    let expected =
        [("đieu", 0.5), ("kien", 1.5), ("điều_kiện", 1.0), ("nha", 1.5), ("nhà_kiện", 0.5)];
    assert_eq!(found, expected.map(|(text, times)| (text.to_owned(), times)));
    let both_stop = terms(&[("những điều", 1.0)]);
    assert_eq!(both_stop, [("nhung", 0.5), ("đieu", 0.5)].map(|(t, n)| (t.to_owned(), n)));
}

#[test]
fn a_name_is_found_in_every_language() {
    let memory = TestRoot::new();
    memory.put("de.md", "Wir waren gestern in Paris, und die Häuser waren nicht teuer.\n");
    memory.put("en.md", "We have been in Paris, and it was expensive.\n");
    memory.put("es.md", "Hemos estado en París y no era nada barato para nosotros.\n");
    let store = memory.open(false);
    for query in ["Paris", "Wo ist Paris?", "where is Paris", "¿Dónde está París?"] {
        assert_eq!(paths(&store, query).len(), 3, "{query}");
    }
    let hit = &ask(&store, "Haus").hits[0];
    let shown = hit.passage();
    assert_eq!(hit.path, "de.md");
    assert!(shown.snippet.contains("Häuser") && !shown.highlights.is_empty(), "{shown:?}");
}

#[test]
fn a_query_is_read_in_the_languages_that_the_memory_holds() {
    let memory = TestRoot::new();
    memory.put("en.md", "She may die hard, or die soon; the others die later.\n");
    let store = memory.open(false);
    let explained = |store: &Store| ask(store, "die hard").hits.len();
    assert_eq!((explained(&store), paths(&store, "die").len()), (1, 1));
    memory.put("de.md", "Die Rolle, die er spielt, ist nicht die beste.\n");
    assert_eq!(paths(&store, "die Rolle"), ["de.md"], "a stop word while German is there");
    std::fs::remove_file(memory.at("de.md")).unwrap();
    assert_eq!(paths(&store, "die Rolle"), ["en.md"], "and no more");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_word_can_be_read_in_any_language(
        word in "[a-zäöüßñçșțşğıİéèàãõưạ'’]{1,24}|[а-яё]{1,20}|[α-ωάέόώς]{1,20}|[ء-ي\u{64b}-\u{652}]{1,16}\
            |[\u{900}-\u{97f}]{1,16}",
    ) {
        for language in LanguageId::all() {
            if let Some(reading) = language.read(&word) {
                // what stands in the dictionary says which concept it is of
                let stem = stem(&reading.term);
                prop_assert_eq!(stem.as_deref(), Some(reading.stem()));
                prop_assert!(reading.term.starts_with(&*fold(readings::bare(&reading.term))));
                let again = language.read(&word.to_uppercase().to_lowercase());
                prop_assert!(again.is_some());
            }
        }
        let folded = fold(&word);
        prop_assert_eq!(fold(&folded), &*folded);
        if let Some(prefix) = readings::prefix_of(&folded) {
            prop_assert!(stem(&folded).is_some() && stem(&prefix).is_some(), "{}", prefix);
        }
    }
}
