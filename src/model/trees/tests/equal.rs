//! Bit vectors, steps, every set of instructions, every batch: the leaf that the definition gives, and sums in
//! the order of the trees.

use super::super::*;
use super::make::{Dice, Recipe, forest, rows};
use proptest::prelude::*;

/// The raw sums by definition.
fn sums(forest: &Forest, row: &[f64]) -> Vec<f64> {
    let round = |x: f64| forest.sum.precision.cut(x);
    let base = |at: usize| round(forest.base.get(at).copied().unwrap_or(0.0));
    let first = forest.sum.base_first && forest.sum.aggregate == Aggregate::Sum;
    let mut sums: Vec<Option<f64>> = (0..forest.targets).map(|at| first.then(|| base(at))).collect();
    for tree in 0..forest.trees.len() {
        let leaf = naive(forest, tree, row).unwrap();
        for weight in &forest.weights[leaf.weights.0 as usize..leaf.weights.1 as usize] {
            let value = round(weight.value);
            let sum = &mut sums[weight.target as usize];
            *sum = Some(match (forest.sum.aggregate, *sum) {
                (Aggregate::Min, Some(sum)) => sum.min(value),
                (Aggregate::Max, Some(sum)) => sum.max(value),
                (Aggregate::Min | Aggregate::Max, None) => value,
                (_, sum) => round(sum.unwrap_or(0.0) + value),
            });
        }
    }
    let whole = |(at, sum): (usize, Option<f64>)| match (forest.sum.aggregate, sum.unwrap_or(0.0)) {
        (Aggregate::Average(over), sum) => round(round(sum / over) + base(at)),
        (_, sum) if first => sum,
        (_, sum) => round(sum + base(at)),
    };
    sums.into_iter().enumerate().map(whole).collect()
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let precision = || prop_oneof![Just(Precision::F32), Just(Precision::F64)];
    let aggregate =
        prop_oneof![Just(Aggregate::Sum), Just(Aggregate::Average(3.0)), Just(Aggregate::Min), Just(Aggregate::Max)];
    let size = prop_oneof![
        (1_usize..200, Just(6_usize)),
        (1_usize..90, Just(32)),
        (1_usize..90, Just(64)),
        (1_usize..20, Just(200))
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (size, 1_usize..9, 1_usize..4, precision(), precision(), aggregate, flags).prop_map(
        |((trees, leaves), width, targets, precision, sum, aggregate, (mixed, zeros, many))| Recipe {
            trees,
            leaves,
            width,
            targets,
            precision,
            sum,
            aggregate,
            mixed,
            zeros,
            many,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_kernel_gives_the_leaves_and_sums_of_the_definition(
        recipe in recipe(), seed: u64, count in 1_usize..80, rows_bytes in prop_oneof![Just(1_usize), Just(40_000), Just(1 << 24)],
    ) {
        let mut dice = Dice(seed);
        let forest = forest(&mut dice, &recipe);
        let rows = rows(&mut dice, recipe.width, count);
        let expected: Vec<f64> = rows.chunks(recipe.width).flat_map(|row| sums(&forest, row)).collect();
        for isa in Isa::available() {
            for way in [Way::Bits, Way::Walk, Way::Cheapest] {
                let plan = TreePlan::with(&forest, Options { isa, way, rows_bytes }).unwrap();
                for batch in [1, 3, 64] {
                    let mut scratch = plan.scratch(batch);
                    let mut out = vec![f64::NAN; count * recipe.targets];
                    plan.run(&rows, &mut out, &mut scratch);
                    for (at, (found, expected)) in out.iter().zip(&expected).enumerate() {
                        prop_assert!(same(*found, *expected), "{isa:?} {way:?} {batch} {at}: {found} {expected}");
                    }
                }
                let mut ids = vec![u32::MAX; recipe.trees];
                let mut scratch = plan.scratch(1);
                for row in rows.chunks(recipe.width).take(5) {
                    plan.leaves(row, &mut ids, &mut scratch);
                    let expected: Vec<u32> =
                        (0..recipe.trees).map(|tree| naive(&forest, tree, row).unwrap().id).collect();
                    prop_assert_eq!(&ids, &expected, "{:?} {:?}", isa, way);
                }
            }
        }
    }
}
