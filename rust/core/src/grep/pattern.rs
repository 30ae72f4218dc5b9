//! Compiled pattern: the regex that decides and the literals that every match must hold.

use std::sync::Arc;

use regex_automata::meta;
use regex_automata::util::syntax;
use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::error::{Error, Result};
use crate::grep::prefilter::{Literal, MAX_LITERAL, RequiredLiterals};

/// Longer patterns are refused: a person never writes them and compiling them is costly.
pub const MAX_PATTERN: usize = 4096;
/// The most memory a compiled pattern may take.
pub const MAX_COMPILED: usize = 1 << 20;
/// A larger `{n}` is refused, even where the repeated thing is empty.
const MAX_REPEAT: u32 = 1000;

/// Whether `A` and `a` are the same letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// The same, unless the pattern holds an upper-case letter.
    #[default]
    Smart,
    /// Different letters.
    Sensitive,
    /// The same letter, by Unicode simple case folding.
    Ignore,
}

/// A compiled pattern. Matching takes linear time.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: meta::Regex,
    literals: Option<Arc<RequiredLiterals>>,
    is_literal: bool,
}

impl Pattern {
    /// Compiles `pattern`, as a regular expression or, if `fixed`, as literal text.
    ///
    /// `^` and `$` match at line ends and `.` does not cross them. The errors are
    /// [`Error::Query`] with the code `empty` or `regex`.
    pub fn new(pattern: &str, fixed: bool, case: Case) -> Result<Self> {
        let refused = |code, why: String| Error::Query {
            query: pattern.chars().take(100).collect(),
            code,
            why,
        };
        if pattern.is_empty() {
            return Err(refused(
                "empty",
                "an empty pattern matches everything; give some text".into(),
            ));
        }
        if pattern.len() > MAX_PATTERN {
            let why = format!("it has {} bytes, at most {MAX_PATTERN} are allowed", pattern.len());
            return Err(refused("regex", why));
        }
        let text = if fixed { regex_syntax::escape(pattern) } else { pattern.to_owned() };
        let wrong = |why: &dyn std::fmt::Display| refused("regex", format!("{why}"));
        let ast = ast::parse::Parser::new().parse(&text).map_err(|e| wrong(e.kind()))?;
        let facts = ast::visit(&ast, AstVisitor::default()).map_err(|why| wrong(&why))?;
        let ignore_case = match case {
            Case::Smart => !facts.has_upper,
            Case::Sensitive => false,
            Case::Ignore => true,
        };
        let hir = regex_syntax::hir::translate::TranslatorBuilder::new()
            .case_insensitive(ignore_case)
            .multi_line(true)
            .build()
            .translate(&text, &ast)
            .map_err(|e| wrong(e.kind()))?;
        let config = meta::Config::new()
            .nfa_size_limit(Some(MAX_COMPILED))
            .onepass_size_limit(Some(MAX_COMPILED))
            .hybrid_cache_capacity(2 * MAX_COMPILED);
        let regex = meta::Builder::new()
            .configure(config)
            .syntax(syntax::Config::new())
            .build_from_hir(&hir)
            .map_err(|e| {
                wrong(&std::error::Error::source(&e).map_or(e.to_string(), |s| s.to_string()))
            })?;
        let literals =
            required(&hir).and_then(|found| RequiredLiterals::new(found.literals)).map(Arc::new);
        let is_literal = literals.as_ref().is_some_and(|literals| is_literal(&hir, literals));
        Ok(Self { regex, literals, is_literal })
    }

    /// The regex that decides.
    pub(crate) fn regex(&self) -> &meta::Regex {
        &self.regex
    }

    /// Raw text that every match holds in some spelling, where there is any.
    pub(crate) fn literals(&self) -> Option<&RequiredLiterals> {
        self.literals.as_deref()
    }

    /// Whether a literal in the body of a JSON string is a match without a look at the decoded text.
    pub(crate) fn matches_at(&self, body: &[u8], at: usize) -> bool {
        self.is_literal && self.literals().is_some_and(|literals| literals.matches_at(body, at))
    }
}

/// Visitor of the syntax tree: checks and facts needed before translation.
#[derive(Default)]
struct AstVisitor {
    has_upper: bool,
}

impl ast::Visitor for AstVisitor {
    type Output = Self;
    type Err = String;

    fn finish(self) -> std::result::Result<Self, String> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> std::result::Result<(), String> {
        match ast {
            Ast::Literal(literal) => self.has_upper |= literal.c.is_uppercase(),
            Ast::Repetition(repetition) => {
                let most = match repetition.op.kind {
                    ast::RepetitionKind::Range(
                        ast::RepetitionRange::Exactly(n)
                        | ast::RepetitionRange::AtLeast(n)
                        | ast::RepetitionRange::Bounded(_, n),
                    ) => n,
                    _ => 0,
                };
                if most > MAX_REPEAT {
                    return Err(format!(
                        "it repeats {most} times, at most {MAX_REPEAT} are allowed"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_item_pre(
        &mut self,
        item: &ast::ClassSetItem,
    ) -> std::result::Result<(), String> {
        self.has_upper |= match item {
            ast::ClassSetItem::Literal(literal) => literal.c.is_uppercase(),
            ast::ClassSetItem::Range(range) => {
                range.start.c.is_uppercase() || range.end.c.is_uppercase()
            }
            _ => false,
        };
        Ok(())
    }
}

/// Literals of which every match holds at least one.
struct RequiredSet {
    literals: Vec<Literal>,
}

impl RequiredSet {
    /// Longer is rarer; more than a few literals cost speed.
    fn selectivity(&self) -> usize {
        let shortest = self.literals.iter().map(|literal| literal.selectivity()).min().unwrap_or(0);
        shortest * 8 - (self.literals.len() / 8).min(7)
    }
}

fn required(hir: &Hir) -> Option<RequiredSet> {
    let mut flat = Vec::new();
    flatten(hir, &mut flat);
    let mut best: Option<RequiredSet> = None;
    let mut offer = |found: RequiredSet| {
        if !found.literals.is_empty()
            && best.as_ref().is_none_or(|best| found.selectivity() > best.selectivity())
        {
            best = Some(found);
        }
    };
    let mut literal = Literal::default();
    for part in flat {
        let letters = single_letters(part);
        if letters.is_empty() {
            offer(RequiredSet::from(std::mem::take(&mut literal)));
            if let Some(found) = inside(part) {
                offer(found);
            }
        }
        for letter in letters {
            match letter {
                Some((c, caseless)) => literal.push(c, caseless),
                None => offer(RequiredSet::from(std::mem::take(&mut literal))),
            }
        }
    }
    offer(RequiredSet::from(literal));
    best
}

impl From<Literal> for RequiredSet {
    fn from(literal: Literal) -> Self {
        let literals = if literal.selectivity() == 0 { Vec::new() } else { literal.pieces() };
        // Of one long literal its rarest piece is enough.
        let rarest = literals.into_iter().max_by_key(Literal::selectivity);
        Self { literals: rarest.into_iter().collect() }
    }
}

/// Lays nested sequences out as one; groups and zero-width tests do not separate letters.
fn flatten<'h>(hir: &'h Hir, out: &mut Vec<&'h Hir>) {
    match hir.kind() {
        HirKind::Concat(parts) => parts.iter().for_each(|part| flatten(part, out)),
        HirKind::Capture(group) => flatten(&group.sub, out),
        HirKind::Look(_) | HirKind::Empty => {}
        _ => out.push(hir),
    }
}

/// The letters of a literal, or of a class that is one ASCII letter in both cases.
///
/// `None` stands for a letter that may be spelt in more ways than a literal can say:
/// JSON may escape it or not, or its case folds leave ASCII (k, s, é).
fn single_letters(hir: &Hir) -> Vec<Option<(char, bool)>> {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0);
            text.chars().map(|c| is_safe(c).then_some((c, false))).collect()
        }
        HirKind::Class(Class::Unicode(class)) => match class.ranges() {
            [upper, lower]
                if upper.start() == upper.end()
                    && lower.start() == lower.end()
                    && upper.start().is_ascii_uppercase()
                    && upper.start().to_ascii_lowercase() == lower.start() =>
            {
                vec![Some((lower.start(), true))]
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Whether the pattern is one literal and nothing else.
fn is_literal(hir: &Hir, literals: &RequiredLiterals) -> bool {
    let parts = match hir.kind() {
        HirKind::Concat(parts) => parts,
        _ => std::slice::from_ref(hir),
    };
    let (mut text, mut cases) = (String::new(), [false; 2]);
    for part in parts {
        let letters = single_letters(part);
        if letters.is_empty() {
            return false;
        }
        for letter in letters {
            let Some((c, caseless)) = letter else {
                return false;
            };
            text.push(c);
            cases[usize::from(caseless)] |= c.is_ascii_alphabetic();
        }
    }
    // Of `(?i:a)b` the literal is caseless, the pattern not.
    cases != [true; 2] && literals.texts().eq([&*text])
}

/// Whether JSON writers spell `c` in one way, but for `\u`.
fn is_safe(c: char) -> bool {
    !matches!(c, '/' | '\u{0}'..='\u{1f}' | char::REPLACEMENT_CHARACTER)
}

fn inside(hir: &Hir) -> Option<RequiredSet> {
    match hir.kind() {
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Alternation(branches) => {
            let mut literals = Vec::new();
            for branch in branches {
                literals.extend(required(branch)?.literals);
            }
            Some(RequiredSet { literals })
        }
        _ => None,
    }
}

const _: () = assert!(MAX_LITERAL >= 8);
