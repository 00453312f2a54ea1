//! Reason codes against Shapley's definition, every set of columns counted.

use super::super::*;
use super::make::{Dice, Recipe, covered, forest, number, rows};
use proptest::prelude::*;
use std::sync::Arc;

/// Shapley's values of a game over `columns`, the worth of a set given by its bits.
fn shapley(columns: usize, worth: impl Fn(u32) -> f64) -> Vec<f64> {
    let factorial = |n: usize| (1..=n).map(|n| n as f64).product::<f64>();
    let worths: Vec<f64> = (0..1_u32 << columns).map(worth).collect();
    let of = |column: usize| {
        let sets = (0..1_u32 << columns).filter(|set| set >> column & 1 == 0);
        sets.map(|set| {
            let size = set.count_ones() as usize;
            let weight = factorial(size) * factorial(columns - size - 1) / factorial(columns);
            weight * (worths[(set | 1 << column) as usize] - worths[set as usize])
        })
        .sum()
    };
    (0..columns).map(of).collect()
}

fn value(forest: &Forest, leaf: &Leaf, target: usize) -> f64 {
    let weights = &forest.weights[leaf.weights.0 as usize..leaf.weights.1 as usize];
    weights.iter().filter(|w| w.target as usize == target).map(|w| w.value).sum()
}

/// The mean of a tree's leaves where only the columns of `set` are known.
fn mean(forest: &Forest, tree: &Tree, place: u32, row: &[f64], set: u32, target: usize) -> f64 {
    match &tree.nodes[place as usize] {
        Node::Leaf(leaf) => value(forest, leaf, target),
        Node::Split(split) => {
            let of = |place| mean(forest, tree, place, row, set, target);
            let cell = forest.precision.cut(row[split.feature as usize]);
            if set >> split.feature & 1 == 1 {
                return of(if split.holds(cell, &forest.sets) { split.yes } else { split.no });
            }
            let cover = |place: u32| match &tree.nodes[place as usize] {
                Node::Split(split) => split.cover,
                Node::Leaf(leaf) => leaf.cover,
            };
            (of(split.yes) * cover(split.yes) + of(split.no) * cover(split.no)) / split.cover
        }
    }
}

fn margin(forest: &Forest, row: &[f64], target: usize) -> f64 {
    (0..forest.trees.len()).map(|tree| value(forest, naive(forest, tree, row).unwrap(), target)).sum()
}

fn close(found: &[f64], expected: &[f64], scale: f64) -> Result<(), TestCaseError> {
    for (found, expected) in found.iter().zip(expected) {
        prop_assert!((found - expected).abs() <= 1e-11 * scale.max(1.0), "{found} {expected}");
    }
    Ok(())
}

fn recipe(leaves: usize, width: usize, mixed: bool, many: bool) -> Recipe {
    Recipe {
        trees: 5,
        leaves,
        width,
        targets: if many { 2 } else { 1 },
        precision: Precision::F64,
        sum: Precision::F64,
        aggregate: Aggregate::Sum,
        mixed,
        zeros: mixed,
        many,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn path_values_are_shapleys_of_the_mean_over_covers(
        seed: u64, leaves in 1_usize..40, width in 1_usize..8, mixed: bool, many: bool,
    ) {
        let mut dice = Dice(seed);
        let mut forest = forest(&mut dice, &recipe(leaves, width, mixed, many));
        covered(&mut dice, &mut forest);
        let shap = PathShap::new(&forest).unwrap();
        let mut scratch = shap.scratch();
        let scale: f64 = forest.weights.iter().map(|w| w.value.abs()).fold(0.0, f64::max);
        for row in rows(&mut dice, width, 3).chunks(width) {
            for target in 0..forest.targets {
                let mut found = vec![0.0; width];
                shap.run(row, target, &mut found, &mut scratch);
                let worth = |set| forest.trees.iter().map(|tree| mean(&forest, tree, 0, row, set, target)).sum();
                close(&found, &shapley(width, worth), scale)?;
                let sum: f64 = found.iter().sum::<f64>() + shap.expected(target) - forest.base[target];
                close(&[sum], &[margin(&forest, row, target)], scale)?;
            }
        }
    }

    #[test]
    fn baseline_values_are_shapleys_of_a_row_put_together_from_two(
        seed: u64, leaves in 1_usize..40, width in 1_usize..8, mixed: bool, many: bool,
    ) {
        let mut dice = Dice(seed);
        let forest = forest(&mut dice, &recipe(leaves, width, mixed, many));
        let baseline: Vec<f64> = (0..width).map(|_| number(&mut dice)).collect();
        let shap = BaselineShap::new(Arc::new(forest.clone()), whole(width), width).unwrap();
        let mut scratch = shap.scratch();
        let room = scratch.room();
        let scale: f64 = forest.weights.iter().map(|w| w.value.abs()).fold(0.0, f64::max);
        for row in rows(&mut dice, width, 3).chunks(width) {
            for target in 0..forest.targets {
                let mut found = vec![0.0; width];
                shap.run(row, &baseline, target, &mut found, &mut scratch);
                let worth = |set: u32| {
                    let own = |at: usize| if set >> at & 1 == 1 { row[at] } else { baseline[at] };
                    margin(&forest, &(0..width).map(own).collect::<Vec<f64>>(), target)
                };
                close(&found, &shapley(width, worth), scale)?;
            }
        }
        prop_assert_eq!(scratch.room(), room, "a run allocates nothing");
    }

    #[test]
    fn columns_of_one_player_are_the_rows_or_the_baselines_together(seed: u64, leaves in 1_usize..40, many: bool) {
        // Six columns of three players; the last column is the same in every row.
        let (players, width, count) = (vec![0, 1, 1, 2, 0, u32::MAX], 6, 3);
        let mut dice = Dice(seed);
        let forest = forest(&mut dice, &recipe(leaves, width, true, many));
        let baseline: Vec<f64> = (0..width).map(|_| number(&mut dice)).collect();
        let shap = BaselineShap::new(Arc::new(forest.clone()), players.clone(), count).unwrap();
        let mut scratch = shap.scratch();
        let scale: f64 = forest.weights.iter().map(|w| w.value.abs()).fold(0.0, f64::max);
        for row in rows(&mut dice, width, 3).chunks_mut(width) {
            row[5] = baseline[5];
            for target in 0..forest.targets {
                let mut found = vec![0.0; count];
                shap.run(row, &baseline, target, &mut found, &mut scratch);
                let worth = |set: u32| {
                    let own = |at: usize| if players[at] < 3 && set >> players[at] & 1 == 1 { row[at] } else { baseline[at] };
                    margin(&forest, &(0..width).map(own).collect::<Vec<f64>>(), target)
                };
                close(&found, &shapley(count, worth), scale)?;
            }
        }
    }
}

/// Each column a player.
fn whole(width: usize) -> Vec<u32> {
    (0..u32::try_from(width).unwrap()).collect()
}

#[test]
fn forests_that_cannot_be_explained_are_refused_with_the_reason() {
    let mut dice = Dice(1);
    let mut forest = forest(&mut dice, &recipe(8, 3, false, false));
    assert!(PathShap::new(&forest).unwrap_err().contains("how many rows"));
    let fault = |forest: &Forest, players| BaselineShap::new(Arc::new(forest.clone()), players, 3).unwrap_err();
    assert!(fault(&forest, vec![0]).contains("players of 1 columns"));
    forest.sum.aggregate = Aggregate::Max;
    assert!(fault(&forest, whole(3)).contains("sums or averages"));
}
