//! What the tree loaders' targets hold their models to.

use verdictd::model::trees::{Body, Native, TreePlan, naive};

const CELLS: [f64; 8] = [0.0, -1.5, 0.5, 3.0, f64::NAN, 1e30, f64::NEG_INFINITY, 1e-36];

/// A model whose forest passes the check runs, and leads each row to the leaves that the definition does.
pub fn check(native: &Native) {
    let Body::Forest(forest) = &native.body else { return };
    if forest.width > 64 || forest.targets > 64 {
        return;
    }
    let Ok(plan) = TreePlan::new(forest) else { return };
    let rows: Vec<f64> = (0..CELLS.len() * forest.width).map(|n| CELLS[n * 5 % CELLS.len()]).collect();
    let mut scratch = plan.scratch(CELLS.len());
    plan.run(&rows, &mut vec![0.0; CELLS.len() * forest.targets], &mut scratch);
    let mut ids = vec![0; forest.trees.len()];
    for row in rows.chunks(forest.width.max(1)) {
        plan.leaves(row, &mut ids, &mut scratch);
        for (tree, id) in ids.iter().enumerate() {
            assert_eq!(naive(forest, tree, row).map(|leaf| leaf.id), Some(*id));
        }
    }
}
