//! Over arbitrary texts and expressions: reading is total, printing and reading again gives the same, and what is
//! compiled says what the plainest evaluator of the tree says.

use super::naive;
use super::{Case, features, rules};
use crate::rules::compile::compile;
use crate::rules::parse::parse;
use crate::rules::syntax::{Comparison, Expr, Function, Node, Own, Set};
use crate::rules::types::Scope;
use proptest::prelude::*;

fn expr(node: Node) -> Expr {
    Expr { at: 0, node }
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![(-9i8..9).prop_map(f64::from), any::<f64>().prop_filter("finite", |x| x.is_finite()), Just(0.5)]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just("web".to_owned()), Just("5411".to_owned()), ".{0,6}", "['\"`\\\\]{0,4}"]
}

fn name() -> impl Strategy<Value = String> {
    let known = ["TX_AMOUNT", "MCC", "AT_NIGHT", "TRIES", "n", "m", "channel", "chip", "absent", "and", "score", "3ds"];
    prop_oneof![9 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{1,6}"]
}

fn leaf() -> impl Strategy<Value = Expr> {
    let pointer = || prop_oneof![Just("/card/country"), Just("/n"), Just("/a~1b"), Just("")];
    let node = prop_oneof![
        number().prop_map(Node::Number),
        text().prop_map(Node::Text),
        any::<bool>().prop_map(Node::Bool),
        name().prop_map(Node::Name),
        name().prop_map(Node::Name),
        pointer().prop_map(|pointer| Node::Field(crate::event::Pointer::parse(pointer).unwrap())),
        proptest::sample::select(&Own::ALL[..]).prop_map(Node::Own),
    ];
    node.prop_map(expr)
}

fn set() -> impl Strategy<Value = Set> {
    prop_oneof![
        proptest::collection::vec(number().prop_map(|x| expr(Node::Number(x))), 1..4).prop_map(Set::Values),
        proptest::collection::vec(text().prop_map(|x| expr(Node::Text(x))), 1..4).prop_map(Set::Values),
        name().prop_map(|name| Set::List(Box::new(expr(Node::Name(name))))),
    ]
}

/// Trees as the parser makes them: chains have two parts or more, calls as many values as they take.
fn tree() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(5, 40, 4, |inner| {
        let some = || proptest::collection::vec(inner.clone(), 2..4);
        let signed = || (inner.clone(), proptest::collection::vec((any::<bool>(), inner.clone()), 1..3));
        let comparison = proptest::sample::select(&Comparison::ALL[..]);
        let call = (proptest::sample::select(&Function::ALL[..]), proptest::collection::vec(inner.clone(), 3));
        let node = prop_oneof![
            some().prop_map(Node::Or),
            some().prop_map(Node::And),
            inner.clone().prop_map(|part| Node::Not(Box::new(part))),
            (comparison, inner.clone(), inner.clone())
                .prop_map(|(comparison, left, right)| Node::Compare(comparison, Box::new([left, right]))),
            (inner.clone(), any::<bool>(), set()).prop_map(|(value, not, set)| Node::In {
                value: Box::new(value),
                not,
                set
            }),
            signed().prop_map(|(first, rest)| Node::Sum(Box::new(first), rest)),
            signed().prop_map(|(first, rest)| Node::Product(Box::new(first), rest)),
            inner.clone().prop_map(|part| Node::Negate(Box::new(part))),
            call.prop_map(|(function, mut values)| {
                values.truncate(function.takes().1);
                Node::Call(function, values)
            }),
        ];
        node.prop_map(expr)
    })
}

/// Conditions whose types fit more often than by chance.
fn condition() -> impl Strategy<Value = Expr> {
    let number_leaf = prop_oneof![
        number().prop_map(Node::Number),
        proptest::sample::select(&["TX_AMOUNT", "TRIES", "AT_NIGHT", "n", "half", "absent"][..])
            .prop_map(|name| Node::Name(name.to_owned())),
        Just(Node::Own(Own::Score)),
    ];
    let numbers = number_leaf.prop_map(expr).prop_recursive(3, 12, 3, |inner| {
        let signed = || (inner.clone(), proptest::collection::vec((any::<bool>(), inner.clone()), 1..3));
        let one = [Function::Abs, Function::Log1p, Function::Floor, Function::Ceil];
        let two = [Function::Min, Function::Max, Function::Default];
        let node = prop_oneof![
            signed().prop_map(|(first, rest)| Node::Sum(Box::new(first), rest)),
            signed().prop_map(|(first, rest)| Node::Product(Box::new(first), rest)),
            inner.clone().prop_map(|part| Node::Negate(Box::new(part))),
            (proptest::sample::select(one.to_vec()), inner.clone())
                .prop_map(|(function, value)| Node::Call(function, vec![value])),
            (proptest::sample::select(two.to_vec()), inner.clone(), inner.clone())
                .prop_map(|(function, a, b)| Node::Call(function, vec![a, b])),
        ];
        node.prop_map(expr)
    });
    let texts = prop_oneof![
        text().prop_map(Node::Text),
        proptest::sample::select(&["MCC", "channel", "m", "gone"][..]).prop_map(|name| Node::Name(name.to_owned())),
        Just(Node::Own(Own::Key)),
        Just(Node::Own(Own::Source)),
    ];
    let texts = texts.prop_map(expr).boxed();
    // With one side that says the type; two names that nothing says it of are compared as they come.
    let said = prop_oneof![text().prop_map(Node::Text), Just(Node::Own(Own::Key))].prop_map(expr);
    let comparison = || proptest::sample::select(&Comparison::ALL[..]);
    let compare = |(comparison, left, right)| Node::Compare(comparison, Box::new([left, right]));
    let one_of =
        |values: Vec<Expr>, value: Expr, not: bool| Node::In { value: Box::new(value), not, set: Set::Values(values) };
    let position = [Function::StartsWith, Function::EndsWith, Function::Contains];
    let test = prop_oneof![
        (comparison(), numbers.clone(), numbers.clone()).prop_map(compare),
        (comparison(), texts.clone(), said).prop_map(compare),
        (proptest::collection::vec(number().prop_map(|x| expr(Node::Number(x))), 1..4), numbers, any::<bool>())
            .prop_map(move |(values, value, not)| one_of(values, value, not)),
        (proptest::collection::vec(text().prop_map(|x| expr(Node::Text(x))), 1..4), texts.clone(), any::<bool>())
            .prop_map(move |(values, value, not)| one_of(values, value, not)),
        (proptest::sample::select(position.to_vec()), texts.clone(), texts.clone())
            .prop_map(|(function, a, b)| Node::Call(function, vec![a, b])),
        name().prop_map(|name| Node::Call(Function::Has, vec![expr(Node::Name(name))])),
        Just(Node::Not(Box::new(expr(Node::Name("chip".to_owned()))))),
        any::<bool>().prop_map(|value| {
            Node::Compare(
                Comparison::NotEqual,
                Box::new([expr(Node::Name("chip".to_owned())), expr(Node::Bool(value))]),
            )
        }),
        any::<bool>().prop_map(Node::Bool),
    ];
    test.prop_map(expr).prop_recursive(4, 20, 3, |inner| {
        let some = || proptest::collection::vec(inner.clone(), 2..4);
        let node = prop_oneof![
            some().prop_map(Node::Or),
            some().prop_map(Node::And),
            inner.clone().prop_map(|part| Node::Not(Box::new(part))),
            (any::<bool>(), inner.clone(), inner.clone()).prop_map(|(equal, left, right)| {
                let comparison = if equal { Comparison::Equal } else { Comparison::NotEqual };
                Node::Compare(comparison, Box::new([left, right]))
            }),
        ];
        node.prop_map(expr)
    })
}

const EVENTS: [&str; 4] = [
    "{}",
    r#"{"TX_AMOUNT": 250, "merchant": {"category": 5411}, "TX_DATETIME": 3600, "channel": "web", "chip": true, "n": 4,
        "m": "4", "half": 0.5, "card": {"country": "DE"}, "pin": {"tries": 2}}"#,
    r#"{"TX_AMOUNT": "250", "merchant": {"category": "web"}, "TX_DATETIME": "x", "channel": 5411, "chip": 1, "n": "4",
        "m": null, "half": [], "absent": {}, "gone": true}"#,
    r#"{"TX_AMOUNT": 1e308, "merchant": {"category": false}, "channel": "", "chip": false, "n": 0, "m": "web", "half": -0.0}"#,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_an_expression_or_an_error_with_a_place(text in ".{0,60}") {
        let problems = rules(&[&text]).1;
        prop_assert!(problems.iter().all(|problem| problem.starts_with("rule[0].when: line ")), "{problems:?}");
    }

    #[test]
    fn any_words_are_an_expression_or_an_error_with_a_place(words in proptest::collection::vec(
        proptest::sample::select(&["n", "and", "or", "not", "in", "(", ")", "[", "]", ",", "-", "+", "*", "/", "<", "==",
            "!", "1", "'a'", "min", "has", "field", "\"/a\"", "score", "true", "TX_AMOUNT", "`x y`", "&&"][..]), 0..24)) {
        let text = words.join(" ");
        let problems = rules(&[&text]).1;
        prop_assert!(problems.iter().all(|problem| problem.starts_with("rule[0].when: line 1, column ")), "{problems:?}");
        if let Ok(tree) = parse(&text) {
            let printed = tree.to_string();
            prop_assert_eq!(parse(&printed), Ok(tree), "{}", printed);
        }
    }

    #[test]
    fn what_is_printed_reads_as_the_same(tree in tree()) {
        let printed = tree.to_string();
        prop_assert_eq!(parse(&printed), Ok(tree), "{}", printed);
    }

    #[test]
    fn any_tree_compiles_or_has_a_fault_that_says_what_was_expected(tree in tree()) {
        let features = features();
        let mut scope = Scope { features: &features, lists: &[], pointers: Vec::new(), wants_score: false, uses: Vec::new(), notes: Vec::new() };
        if let Err(fault) = compile(&tree.to_string(), &mut scope) {
            prop_assert!(fault.what.starts_with("expected ") && !fault.what.contains("a fault of this program"), "{tree}: {fault:?}");
        }
    }

    #[test]
    fn what_is_compiled_says_what_a_plain_evaluator_says(condition in condition(), scored in any::<bool>()) {
        let text = condition.to_string();
        let (set, problems) = rules(&[&text]);
        // A name may have been drawn in two meanings.
        prop_assume!(problems.is_empty());
        for event in EVENTS {
            let mut case = Case::new(event, &set);
            case.score = scored.then_some(0.5);
            case.key = scored.then(|| "5411".to_owned());
            let expected = naive::holds(&condition, &case, set.pointers());
            prop_assert_eq!(set.judge(&case).is_some(), expected, "{} of {}", text, event);
        }
    }
}
