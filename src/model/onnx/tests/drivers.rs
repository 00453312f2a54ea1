//! What each column adds, against Shapley's definition: every set of columns counted, by runs of the whole graph.

use super::super::Drivers;
use super::*;

const FLOAT: i32 = 1;
const LONG: i32 = 7;

fn attribute(name: &str, r#type: i32) -> proto::Attribute {
    proto::Attribute { name: Some(name.to_owned()), r#type: Some(r#type), ..proto::Attribute::default() }
}

fn reals(name: &str, numbers: &[f32]) -> proto::Attribute {
    proto::Attribute { floats: numbers.to_vec(), ..attribute(name, 6) }
}

fn wholes(name: &str, numbers: &[i64]) -> proto::Attribute {
    proto::Attribute { ints: numbers.to_vec(), ..attribute(name, 7) }
}

fn words(name: &str, words: &[&str]) -> proto::Attribute {
    proto::Attribute { strings: words.iter().map(|w| w.as_bytes().to_vec().into()).collect(), ..attribute(name, 8) }
}

fn word(name: &str, word: &str) -> proto::Attribute {
    proto::Attribute { s: Some(word.as_bytes().to_vec().into()), ..attribute(name, 3) }
}

impl Model {
    fn ml(mut self, op: &str, inputs: &[&str], outputs: &[&str], attributes: &[proto::Attribute]) -> Self {
        let made = proto::Node { domain: Some("ai.onnx.ml".to_owned()), ..node(op, inputs, outputs, attributes) };
        self.nodes.push(made);
        self
    }

    /// Two numbers, of which the first is missing at times, and a category: five columns `all` of three.
    fn prepared() -> Self {
        Self::default()
            .input("a", FLOAT, &[None, Some(1)])
            .input("b", FLOAT, &[None, Some(1)])
            .input("k", LONG, &[None, Some(1)])
            .node_with("Concat", &["a", "b"], &["ab"], &[int("axis", 1)])
            .ml(
                "Imputer",
                &["ab"],
                &["known"],
                &[
                    reals("imputed_value_floats", &[0.5, 0.0]),
                    proto::Attribute { f: Some(f32::NAN), ..attribute("replaced_value_float", 1) },
                ],
            )
            .ml("Scaler", &["known"], &["scaled"], &[reals("offset", &[1.0, -2.0]), reals("scale", &[0.5, 2.0])])
            .ml("OneHotEncoder", &["k"], &["hot"], &[wholes("cats_int64s", &[1, 2, 3]), int("zeros", 1)])
            .constant(longs("flat", &[2], &[-1, 3]))
            .node("Reshape", &["hot", "flat"], &["kinds"])
            .node_with("Concat", &["scaled", "kinds"], &["all"], &[int("axis", 1)])
    }

    /// A linear model of two classes over `all`.
    fn linear(self, coefficients: &[f32], intercepts: &[f32], transform: &str) -> Self {
        let classes: Vec<i64> = (0..i64::try_from(intercepts.len().max(2)).unwrap()).collect();
        self.ml(
            "LinearClassifier",
            &["all"],
            &["label", "scores"],
            &[
                reals("coefficients", coefficients),
                reals("intercepts", intercepts),
                wholes("classlabels_ints", &classes),
                word("post_transform", transform),
            ],
        )
    }

    /// Full trees of three levels over `all`, made of a seed. `classes`: 0 for one target.
    #[allow(clippy::cast_possible_truncation)] // small whole numbers
    fn trees(self, count: i64, classes: i64, transform: &str, seed: u64) -> Self {
        let mut state = seed | 1;
        let mut dice = |sides: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % sides
        };
        let mut number = |sides: u64| f32::from(u16::try_from(dice(sides)).unwrap());
        let (mut ids, mut nodes, mut features, mut modes, mut values, mut yes, mut no) =
            (vec![], vec![], vec![], vec![], vec![], vec![], vec![]);
        let (mut at_trees, mut at_nodes, mut targets, mut weights) = (vec![], vec![], vec![], vec![]);
        for tree in 0..count {
            for place in 0..15 {
                let is_leaf = place >= 7;
                ids.push(tree);
                nodes.push(place);
                features.push(if is_leaf { 0 } else { number(5) as i64 });
                modes.push(if is_leaf { "LEAF" } else { "BRANCH_LEQ" });
                values.push(if is_leaf { 0.0 } else { number(9) / 4.0 - 1.0 });
                yes.push(if is_leaf { 0 } else { 2 * place + 1 });
                no.push(if is_leaf { 0 } else { 2 * place + 2 });
                for target in (0..classes.max(1)).filter(|_| is_leaf) {
                    at_trees.push(tree);
                    at_nodes.push(place);
                    targets.push(target);
                    weights.push(number(64) / 128.0 - 0.25);
                }
            }
        }
        let kind = if classes == 0 { "target" } else { "class" };
        let of = |name: &str| format!("{kind}_{name}");
        let mut attributes = vec![
            wholes("nodes_treeids", &ids),
            wholes("nodes_nodeids", &nodes),
            wholes("nodes_featureids", &features),
            words("nodes_modes", &modes),
            reals("nodes_values", &values),
            wholes("nodes_truenodeids", &yes),
            wholes("nodes_falsenodeids", &no),
            wholes(&of("treeids"), &at_trees),
            wholes(&of("nodeids"), &at_nodes),
            wholes(&of("ids"), &targets),
            reals(&of("weights"), &weights),
            word("post_transform", transform),
        ];
        if classes == 0 {
            attributes.push(int("n_targets", 1));
            return self.ml("TreeEnsembleRegressor", &["all"], &["scores"], &attributes);
        }
        attributes.push(wholes("classlabels_int64s", &(0..classes).collect::<Vec<_>>()));
        self.ml("TreeEnsembleClassifier", &["all"], &["label", "scores"], &attributes)
    }
}

/// Shapley's values of a game over three columns.
fn shapley(worth: impl Fn(u32) -> f64) -> Vec<f64> {
    let of = |column: u32| {
        let sets = (0..8u32).filter(|set| set >> column & 1 == 0);
        let weight = |set: u32| if set.is_power_of_two() { 1.0 / 6.0 } else { 1.0 / 3.0 };
        sets.map(|set| weight(set) * (worth(set | 1 << column) - worth(set))).sum()
    };
    (0..3).map(of).collect()
}

/// Holds the values of number `at` against the definition; `undo` makes the sum of a number.
#[track_caller]
fn hold(plan: &Plan, at: usize, undo: impl Fn(f64) -> f64) {
    let drivers = Drivers::of(plan).expect("such values");
    assert!(drivers.explains(at));
    let mut work = drivers.work(plan).unwrap();
    let baseline = [0.5, -1.5, 1.0];
    let mut moved = 0.0;
    for row in [[2.0, 1.0, 3.0], [-3.0, -2.5, 2.0], [f64::NAN, 0.25, 9.0], [0.5, 4.0, 1.0], [1.5, -1.5, 3.0]] {
        let worth = |set: u32| {
            let cell = |n: usize| if set >> n & 1 == 1 { row[n] } else { baseline[n] };
            undo(run(plan, &[cell(0), cell(1), cell(2)])[at])
        };
        let mut found = [f64::NAN; 3];
        assert!(drivers.run(plan, at, &row, &baseline, &mut found, &mut work));
        for (found, expected) in found.iter().zip(shapley(worth)) {
            assert!((found - expected).abs() < 1e-4, "{row:?}: {found} for {expected}");
            moved += found.abs();
        }
    }
    assert!(moved > 0.1, "{moved}");
}

fn odds(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

const WEIGHTS: [f32; 5] = [0.5, -0.25, 1.0, -1.0, 0.25];

fn opposite() -> Vec<f32> {
    WEIGHTS.iter().map(|w| -w).chain(WEIGHTS).collect()
}

#[test]
fn a_linear_model_behind_one_hot_and_scalers_is_explained_by_the_rows_own_columns() {
    let logistic = Model::prepared().linear(&opposite(), &[-0.125, 0.125], "LOGISTIC");
    let shares = logistic.clone().ml("Normalizer", &["scores"], &["p"], &[word("norm", "L1")]).output("p").load();
    hold(&shares, 1, odds);
    hold(&shares, 0, odds);
    hold(&logistic.output("label").output("scores").load(), 2, odds);
    let two = Model::prepared().linear(&[WEIGHTS, [1.0; 5]].concat(), &[0.0, 0.5], "SOFTMAX");
    hold(&two.output("scores").load(), 0, odds);
    let one = Model::prepared().linear(&WEIGHTS, &[0.5], "NONE").output("scores").load();
    hold(&one, 1, |score| score);
    hold(&one, 0, |score| score);
}

#[test]
fn trees_are_explained_by_the_rows_own_columns() {
    for seed in 0..6 {
        hold(&Model::prepared().trees(4, 0, "NONE", seed).output("scores").load(), 0, |score| score);
        let two = Model::prepared().trees(4, 2, "SOFTMAX", seed);
        hold(&two.clone().output("scores").load(), 1, odds);
        hold(&two.ml("Normalizer", &["scores"], &["p"], &[word("norm", "L1")]).output("p").load(), 0, odds);
        let three = Model::prepared().trees(4, 3, "NONE", seed).output("scores").load();
        hold(&three, 2, |score| score);
        // Behind the trees: the sigmoid of half the sum and a little.
        let more = Model::prepared()
            .trees(4, 0, "NONE", seed)
            .constant(floats("half", &[1], &[0.5]))
            .node("Mul", &["scores", "half"], &["less"])
            .node("Add", &["less", "half"], &["sum"])
            .node("Sigmoid", &["sum"], &["p"]);
        hold(&more.output("p").load(), 0, |p| (odds(p) - 0.5) / 0.5);
    }
}

#[test]
fn what_is_no_sum_of_columns_is_not_taken_for_one() {
    let none = |what: &str, model: Model, at: usize| {
        let plan = model.load();
        assert!(Drivers::of(&plan).is_none_or(|drivers| !drivers.explains(at)), "{what}");
    };
    let three = Model::prepared().linear(&[WEIGHTS, [1.0; 5], [0.5; 5]].concat(), &[0.0; 3], "SOFTMAX");
    none("the softmax of three", three.output("scores"), 1);
    let logistic = Model::prepared().linear(&[WEIGHTS, [1.0; 5]].concat(), &[0.0; 2], "LOGISTIC");
    let shares = logistic.clone().ml("Normalizer", &["scores"], &["p"], &[word("norm", "L1")]);
    none("shares of two sums that are not opposite", shares.output("p"), 1);
    let turned = logistic.clone().constant(floats("minus", &[1], &[-1.0])).node("Mul", &["scores", "minus"], &["p"]);
    none("what falls as the score grows", turned.output("p"), 1);
    none("a product", logistic.clone().node("Mul", &["scores", "scores"], &["p"]).output("p"), 1);
    none("an absolute number", logistic.node("Abs", &["scores"], &["p"]).output("p"), 1);
    let unit = Model::floats(5).ml("Normalizer", &["x"], &["all"], &[word("norm", "L2")]);
    none("columns that are mixed", unit.linear(&WEIGHTS, &[0.0], "LOGISTIC").output("scores"), 1);
    let products = Model::floats(5).node("Mul", &["x", "x"], &["all"]);
    none("products of columns", products.linear(&WEIGHTS, &[0.0], "LOGISTIC").output("scores"), 1);
}
